"""Timelines of links: what a scripted peer does, and what one node sends and tells in answer.

The expectations are written by hand from the texts; the model of `link_model.py` checks each against the others.
"""

import link_model

TRANSMISSIONS = [(0, 0), (225, 375), (225, 375), (450, 750), (900, 1_500)]


# Inputs

def found(at, *addresses, instance="one"):
    return {"at": at, "do": "found", "instance": instance, "addresses": list(addresses or "A")}


def peer_by_hand(at, address="A"):
    return {"at": at, "do": "addPeer", "address": address}


def tell(at, source="A"):
    return {"at": at, "do": "tell", "from": source}


def initiation(at, session, source="A"):
    return {"at": at, "do": "initiation", "session": session, "from": source}


def response(at, to, session, source="A"):
    return {"at": at, "do": "response", "to": to, "session": session, "from": source}


def sealed(at, session, *frames, source="A", **extra):
    return {"at": at, "do": "sealed", "session": session, "from": source, **extra, "frames": list(frames)}


def command(at, do, **extra):
    return {"at": at, "do": do, **extra}


# Frames, of the peer or expected

def hello(stream, held=0, following=0, run=1):
    return {"type": "hello", "run": f"{run:016x}", "stream": stream, "held": held, "next": following, "name": "Peer"}


def beat(typing=False, interval=10):
    return {"type": "heartbeat", "typing": typing, "away": False, "interval": interval}


def typing(value):
    return {"type": "typing", "typing": value, "away": False}


def message(stream, record, text):
    return {"type": "message", "stream": stream, "record": record, "first": True, "last": True, "text": text}


def ack(stream, following):
    return {"type": "ack", "stream": stream, "next": following, "bitmap": 0}


def ping(token):
    return {"type": "ping", "token": token}


def pong(token):
    return {"type": "pong", "token": token}


def bye(reason):
    return {"type": "bye", "reason": reason}


# Expected datagrams and events

def sends(at, session, *frames, to="A", **extra):
    return {"at": at, "to": to, "kind": "sealed", "session": session, **extra, "frames": list(frames)}


def greets(at, session, stream, held=0, following=0, **extra):
    named = {"type": "hello", "stream": stream, "held": held, "next": following}
    return sends(at, session, named, {"type": "heartbeat"}, **extra)


def pongs(at, session, token, **extra):
    return sends(at, session, {"type": "heartbeat"}, {"type": "pong", "token": token}, **extra)


def pings(times, session, to="A"):
    return [sends(at, session, {"type": "ping"}, to=address, same=f"ping at {at}") for at in times for address in to]


def byes(at, session, reason, **extra):
    return [sends(at + delay, session, bye(reason), **extra) for delay in (0, 30, 120)]


def answers(at, session):
    return {"at": at, "to": "A", "kind": "response", "session": session}


def asks(at):
    return {"at": at, "to": "A", "kind": "ask"}


def opens(at, name, to="A", count=5, late=None):
    """An attempt that begins at an instant or within a range; its transmissions vary by L-4."""
    low, high = at if isinstance(at, tuple) else (at, at)
    entries = []
    for index, (least, most) in enumerate(TRANSMISSIONS[:count]):
        low, high = low + least, high + most
        for address in to:
            entry = {"at": low if low == high else [low, high], "to": address, "kind": "initiation", "initiation": name}
            if index:
                entry["step"] = [least, most]
            entries.append(entry)
    if late is not None:
        entries[-1] = {**entries[-1], "at": [entries[-1]["at"][0], late], "optional": True}
    return entries


def peer(at, presence, why):
    return {"at": at, "event": "peer", "presence": presence, "why": why}


def types(at, shown):
    return {"at": at, "event": "typing", "shown": shown}


def shows(at, text):
    return {"at": at, "event": "message", "text": text}


def delivered(at):
    return {"at": at, "event": "delivered"}


def failed(at, why):
    return {"at": at, "event": "failed", "why": why}


ONLINE = peer(10, "online", "hello")
# A link that the peer opened, on the session p1, with the streams 77 and s1.
LINKED = [initiation(0, "p1"), sealed(10, "p1", hello(77), beat()), sealed(20, "p1", hello(77, "s1"), beat())]
LINKING = [answers(0, "p1"), greets(10, "p1", "s1", 77)]
# The same, and a second session that the peer begins and that sends from then on.
TWICE = LINKED + [initiation(100, "p2"), sealed(120, "p2", hello(77, "s1"), beat())]
TWICE_SENT = LINKING + [answers(100, "p2"), greets(120, "p2", "s1", 77)]


def opened(interval=10):
    """A link that the node opened, on the session n1: inputs and datagrams."""
    return (
        [found(0), response(20, "i1", "n1"), sealed(40, "n1", hello(77, "s1"), beat(interval=interval))],
        [*opens(0, "i1", count=1), greets(20, "n1", "s1"), greets(40, "n1", "s1", 77)],
    )


def late_hello(at):
    """The larger key's own session n1 is in use when the first datagram on the peer's earlier p1 comes."""
    return (
        [found(0), initiation(0, "p1"), response(320, "i1", "n1"), sealed(340, "n1", hello(77, "s1"), beat()),
         sealed(at, "p1", hello(77), beat())],
        [answers(0, "p1"), *opens(300, "i1", count=1), greets(320, "n1", "s1"), greets(340, "n1", "s1", 77)],
    )


OPENED, OPENED_SENT = opened()
LATE, LATE_SENT = late_hello(1_200)
LATER, LATER_SENT = late_hello(1_500)
HOUR = 3_600_000
AWAKE = 2 * HOUR + 100_000

# name, clauses, the node's key, until, inputs, datagrams, events
TIMELINES = [
    # Opening
    ("the smaller key opens at once: the same bytes five times, then another attempt, and pauses that grow",
     ["L-1", "L-2", "L-4", "L-5"], "smaller", 11_500, [found(0, "A", "B")],
     opens(0, "i1", "AB") + opens(3_000, "i2", "AB") + opens((6_937, 7_563), "i3", "AB"), []),
    ("the larger key opens after 300 ms", ["L-1"], "larger", 500, [found(0)], opens(300, "i1", count=1), []),
    ("the larger key leaves the opening to the peer that has begun", ["L-1", "L-3"], "larger", 1_500,
     [found(0), initiation(200, "p1"), sealed(220, "p1", hello(77), beat()), sealed(240, "p1", hello(77, "s1"), beat())],
     [answers(200, "p1"), greets(220, "p1", "s1", 77)], [peer(220, "online", "hello")]),
    ("the larger key opens 300 ms after an initiation that came to nothing", ["L-1"], "larger", 700,
     [found(0), initiation(200, "p1")], [answers(200, "p1"), *opens(500, "i1", count=1)], []),
    ("the same initiation gets the same response", ["L-8"], "larger", 700,
     [initiation(0, "p1"), initiation(300, "p1", "B")],
     [answers(0, "p1"), {**answers(300, "p1"), "to": "B"}], []),
    ("a peer by hand: the tell begins the opening of the smaller key, with a second ask", ["D-11", "L-1"], "smaller",
     200, [peer_by_hand(0), tell(10)], [asks(0), asks(10), *opens(10, "i1", count=1)], []),
    ("a peer by hand: the larger key waits for 300 ms from the tell", ["D-11", "L-1"], "larger", 500,
     [peer_by_hand(0), tell(10)], [asks(0), asks(310), *opens(310, "i1", count=1)], []),
    ("an instance that is listed with another address: the next transmissions go there, and so does the next attempt",
     ["L-5", "L-2"], "smaller", 3_100, [found(0, "A"), found(800, "B")],
     [*opens(0, "i1", count=3), {"at": [900, 1_500], "to": "B", "kind": "initiation", "initiation": "i1"},
      {**opens(0, "i1")[4], "to": "B"}, *opens(3_000, "i2", "B", count=1)], []),
    # Crossed openings
    ("the larger key answers and abandons its own, and opens again when the peer's came to nothing", ["L-14", "L-7"],
     "larger", 5_500, [found(0), initiation(350, "p1"), response(360, "i1", "n1")],
     [*opens(300, "i1", count=1), answers(350, "p1"), *opens(5_350, "i2", count=1)], []),
    ("it does so 5 s after its answer, also if it waited in vain for the hello on the peer's session", ["L-14", "L-19"],
     "larger", 5_500, [found(0), initiation(350, "p1"), sealed(400, "p1", ping(1))],
     [*opens(300, "i1", count=1), answers(350, "p1"), *[greets(at, "p1", "s1") for at in range(400, 3_400, 250)],
      *opens(5_350, "i2", count=1)], []),
    ("the smaller key answers, and abandons its own when the peer's is confirmed first", ["L-15", "L-7"], "smaller",
     1_500, [found(0), initiation(10, "p1"), sealed(20, "p1", hello(77), beat()), response(30, "i1", "n1"),
             sealed(40, "p1", hello(77, "s1"), beat())],
     [*opens(0, "i1", count=1), answers(10, "p1"), greets(20, "p1", "s1", 77)], [peer(20, "online", "hello")]),
    # Hellos
    ("a first contact that the peer begins takes three hellos", ["L-16", "L-17", "L-48"], "larger", 700, LINKED,
     LINKING, [ONLINE]),
    ("a first contact that the node begins takes three hellos", ["L-16", "L-17", "L-47"], "smaller", 700, OPENED,
     OPENED_SENT, [peer(40, "online", "hello")]),
    ("the responder says hello every 250 ms, and drops the session after 3 s without the peer's",
     ["L-16", "L-19", "L-20"], "larger", 4_000, [initiation(0, "p1"), sealed(10, "p1", ping(1)),
                                               sealed(3_100, "p1", hello(77, "s1"), beat())],
     [answers(0, "p1")] + [greets(at, "p1", "s1") for at in range(10, 3_010, 250)], []),
    ("the initiator says hello every 250 ms, and opens again after 3 s without the peer's", ["L-16", "L-19"],
     "smaller", 3_200, [found(0), response(20, "i1", "n1")],
     [*opens(0, "i1", count=1), *[greets(at, "n1", "s1") for at in range(20, 3_020, 250)],
      *opens(3_020, "i2", count=1)], []),
    ("a hello is answered if ours is 200 ms old, and hellos go on until one holds our stream", ["L-16", "L-17"],
     "larger", 740, LINKED + [sealed(at, "p1", hello(77, held), beat())
                              for at, held in ((230, "s1"), (330, "s1"), (430, "s1"), (450, 0), (710, "s1"))],
     [*LINKING, greets(230, "p1", "s1", 77), greets(430, "p1", "s1", 77), greets(700, "p1", "s1", 77)], [ONLINE]),
    ("until the peer holds our stream everything carries our hello, and messages wait", ["L-16", "L-18"], "larger",
     700, LINKED[:2] + [command(50, "send", text="hi"), sealed(100, "p1", ping(9)),
                        sealed(400, "p1", hello(77, "s1"), beat()), sealed(410, "p1", ack("s1", 1))],
     [*LINKING, sends(100, "p1", {"type": "hello", "stream": "s1", "held": 77, "next": 0}, {"type": "heartbeat"},
                      {"type": "pong", "token": 9}),
      greets(350, "p1", "s1", 77),
      sends(400, "p1", {"type": "typing", "typing": False},
            {"type": "message", "stream": "s1", "record": 0, "text": "hi"})], [ONLINE, delivered(410)]),
    ("the hello comes first among the frames of a datagram, and the bye last", ["W-30", "L-34"], "larger", 500,
     [initiation(0, "p1"), sealed(10, "p1", ping(5), beat(typing=True), hello(77)),
      sealed(50, "p1", bye("quit"), beat(typing=True))],
     [answers(0, "p1"), greets(10, "p1", "s1", 77),
      sends(10, "p1", {"type": "hello"}, {"type": "heartbeat"}, {"type": "pong", "token": 5}, then=True)],
     [ONLINE, types(10, True), types(50, False), peer(50, "offline", "bye")]),
    ("a datagram that does not parse changes nothing, but its counter is used up", ["W-23", "W-24"], "larger", 1_000,
     LINKED + [{**sealed(100, "p1", counter=5), "plaintext": "020106"}, sealed(110, "p1", typing(True), counter=5),
               sealed(120, "p1", typing(True), counter=6)],
     LINKING, [ONLINE, types(120, True)]),
    ("before the peer's hello on a new session, ours names the streams of the link that is there", ["L-47", "L-17"],
     "larger", 700, LINKED + [initiation(100, "p2"), sealed(110, "p2", beat()),
                              sealed(120, "p2", hello(77, "s1"), beat()), sealed(200, "p1", ping(7))],
     [*LINKING, answers(100, "p2"), greets(110, "p2", "s1", 77), pongs(200, "p2", 7)], [ONLINE]),
    ("a hello with a counter below that of one before is not applied", ["L-22"], "larger", 600,
     LINKED + [sealed(100, "p1", hello(88, "s1"), counter=10), sealed(110, "p1", hello(77, "s1"), counter=9),
               sealed(400, "p1", hello(88, "s1"), counter=11)],
     [*LINKING, greets(100, "p1", "s1", 88), greets(400, "p1", "s1", 88)], [ONLINE]),
    # Which session sends
    ("row 1: a joining session sends where the sending one has reached its end", ["L-21", "L-38", "L-42"], "smaller",
     AWAKE + 500, LINKED + [command(100, "sleep", until=AWAKE), response(AWAKE + 20, "i1", "n1"),
                            sealed(AWAKE + 40, "n1", hello(77, "s1"), beat()), sealed(AWAKE + 100, "n1", ping(7))],
     [*LINKING, *opens(AWAKE, "i1", count=1), greets(AWAKE + 20, "n1", "s1", 77), pongs(AWAKE + 100, "n1", 7)],
     [ONLINE]),
    ("row 2: of two that one side began the one created later sends", ["L-21"], "larger", 700,
     TWICE + [sealed(200, "p1", ping(7))], [*TWICE_SENT, pongs(200, "p2", 7)], [ONLINE]),
    ("row 2: of two that were created 5 s apart the later one sends, whoever began it", ["L-21"], "smaller", 6_500,
     opened(255)[0] + [initiation(6_000, "p2"), sealed(6_020, "p2", hello(77, "s1"), beat(interval=255)),
                       sealed(6_100, "n1", ping(7))],
     [*OPENED_SENT, answers(6_000, "p2"), greets(6_020, "p2", "s1", 77), pongs(6_100, "p2", 7)],
     [peer(40, "online", "hello")]),
    ("row 3: a peer that lost the link is heard on the later session, an interval apart", ["L-21", "M-6", "M-7"],
     "smaller", 2_400,
     OPENED + [sealed(1_000, "n1", beat()), initiation(2_000, "p2"), sealed(2_020, "p2", hello(99), beat()),
               sealed(2_020, "p2", hello(99, "s1"), beat()), sealed(2_100, "n1", ping(7))],
     [*OPENED_SENT, answers(2_000, "p2"), greets(2_020, "p2", "s1", 99), pongs(2_100, "p2", 7)],
     [peer(40, "online", "hello")]),
    ("rows 5 and 3: a peer that lost the link within an interval gets no hello until it opens again",
     ["L-21", "L-16", "L-43", "L-19"], "smaller", 4_300,
     OPENED + [initiation(900, "p2")] + [sealed(at, "p2", hello(99), beat()) for at in (920, 1_900, 2_900)]
     + [initiation(3_920, "p3"), sealed(3_940, "p3", hello(99), beat()), sealed(3_940, "p3", hello(99, "s1"), beat()),
        sealed(4_000, "n1", ping(7))],
     [*OPENED_SENT, answers(900, "p2"), *[greets(at, "n1", "s1", 77) for at in (920, 1_900, 2_900)],
      answers(3_920, "p3"), greets(3_940, "p3", "s1", 99), pongs(4_000, "p3", 7)], [peer(40, "online", "hello")]),
    ("row 4: a hello that was on its way for an interval does not turn a session in use away", ["L-21"], "larger",
     1_500, LATE + [sealed(1_250, "p1", ping(7))], [*LATE_SENT, pongs(1_250, "n1", 7)], [peer(340, "online", "hello")]),
    ("row 5: the same hello counts where nothing came on the sending session for an interval", ["L-21"], "larger",
     1_900, LATER + [sealed(1_500, "p1", hello(77, "s1"), beat()), sealed(1_600, "n1", ping(7))],
     [*LATER_SENT, greets(1_500, "p1", "s1", 77), pongs(1_600, "p1", 7)], [peer(340, "online", "hello")]),
    ("row 5: of two that crossed the one that the smaller key began sends", ["L-15", "L-21", "L-47"], "smaller", 700,
     [found(0), initiation(10, "p1"), response(20, "i1", "n1"), sealed(30, "p1", hello(77), beat()),
      sealed(40, "n1", hello(77, "s1"), beat()), sealed(50, "n1", hello(77, "s2"), beat()), sealed(100, "p1", ping(7))],
     [*opens(0, "i1", count=1), answers(10, "p1"), greets(20, "n1", "s1"), greets(30, "p1", "s2", 77),
      greets(40, "n1", "s2", 77), pongs(100, "n1", 7)], [peer(30, "online", "hello")]),
    ("row 5: the late hello of a crossed opening changes nothing, as in the worked example", ["L-15", "L-21", "L-22"],
     "smaller", 700, [found(0), initiation(0, "p1"), response(400, "i1", "n1"), sealed(402, "n1", hello(77, "s1"), beat()),
                      sealed(450, "p1", hello(99), beat()), sealed(500, "p1", ping(7))],
     [*opens(0, "i1", count=2), answers(0, "p1"), greets(400, "n1", "s1"), greets(402, "n1", "s1", 77),
      pongs(500, "n1", 7)], [peer(402, "online", "hello")]),
    ("row 5: the larger key follows to the session that the smaller one began", ["L-21"], "larger", 700,
     late_hello(400)[0] + [sealed(410, "p1", hello(77, "s1"), beat()), sealed(500, "n1", ping(7))],
     [*late_hello(400)[1], greets(400, "p1", "s1", 77), pongs(500, "p1", 7)], [peer(340, "online", "hello")]),
    ("the larger key goes where it hears hellos, when its own session is silent for 1.75 intervals", ["L-43"],
     "larger", 2_000,
     TWICE + [sealed(at, "p1", hello(77, "s1"), beat()) for at in (300, 1_000, 1_869, 1_870, 1_870)]
     + [sealed(1_900, "p1", ping(7))],
     [*TWICE_SENT, greets(1_870, "p1", "s1", 77), greets(1_870, "p1", "s1", 77, optional=True), pongs(1_900, "p1", 7)],
     [ONLINE]),
    ("the smaller key says hello where it sends, at most every 200 ms", ["L-43"], "smaller", 800,
     TWICE + [sealed(at, "p1", hello(77, "s1"), beat()) for at in (400, 500, 600)],
     [*TWICE_SENT, greets(400, "p2", "s1", 77), greets(600, "p2", "s1", 77)], [ONLINE]),
    ("a status beside a message on an older session ends typing", ["T-13", "W-30"], "larger", 1_000,
     TWICE + [sealed(200, "p2", beat(typing=True)), sealed(210, "p1", beat(), counter=90),
              sealed(220, "p1", typing(False), message(77, 0, "hi"), counter=89)],
     [*TWICE_SENT, sends(220, "p2", {"type": "ack", "stream": 77, "next": 1})],
     [ONLINE, types(200, True), types(220, False), shows(220, "hi")]),
    ("it does not if a later status on that session says typing", ["T-13"], "larger", 1_000,
     TWICE + [sealed(200, "p2", beat(typing=True)), sealed(210, "p1", beat(typing=True), counter=90),
              sealed(220, "p1", typing(False), message(77, 0, "hi"), counter=89)],
     [*TWICE_SENT, sends(220, "p2", {"type": "ack", "stream": 77, "next": 1})],
     [ONLINE, types(200, True), shows(220, "hi")]),
    # Silence
    ("ten pings to all candidates, then the link is down, with a bye and a new opening", ["L-26", "L-27", "L-44", "L-1"],
     "smaller", 3_200, [found(0, "A", "B"), *OPENED[1:]],
     [*opens(0, "i1", "AB", count=1), *OPENED_SENT[1:], *pings(range(1_790, 3_040, 125), "n1", "AB"),
      *byes(3_040, "n1", "unheard"), *opens(3_040, "i2", "AB", count=1)],
     [peer(40, "online", "hello"), peer(3_040, "offline", "silence")]),
    ("evidence ends the suspicion", ["L-27"], "larger", 3_900, LINKED + [sealed(2_000, "p1", beat())],
     [*LINKING, *pings((1_770, 1_895), "p1"), *pings((3_750, 3_875), "p1")], [ONLINE]),
    ("a datagram under a counter below the highest one brings its message, but is no evidence", ["L-23", "L-24"],
     "larger", 3_100, LINKED + [sealed(1_000, "p1", beat(), counter=50),
                                sealed(2_000, "p1", typing(False), message(77, 0, "late"), counter=20, source="B")],
     [*LINKING, sends(2_000, "p1", {"type": "ack", "stream": 77, "next": 1}),
      *pings(range(2_750, 3_101, 125), "p1")], [ONLINE, shows(2_000, "late")]),
    ("a peer that hears nothing has five pings left, and a new handshake", ["L-45", "L-44"], "smaller", 1_300,
     LINKED + [sealed(500, "p1", bye("unheard"))],
     [*LINKING, *opens(500, "i1", count=3, late=1_124), *pings(range(500, 1_125, 125), "p1"),
      *byes(1_125, "p1", "unheard")], [ONLINE, peer(1_125, "offline", "silence")]),
    ("the address does not follow the bye of a peer that hears nothing", ["L-45", "L-24"], "smaller", 600,
     LINKED + [sealed(500, "p1", bye("unheard"), source="B")],
     [*LINKING, *opens(500, "i1", count=1), *pings((500,), "p1")], [ONLINE]),
    ("evidence from another address draws pings there, at most one in 125 ms, and moves nothing", ["L-51", "L-24"],
     "larger", 700,
     LINKED + [sealed(at, "p1", beat(), source="B") for at in (100, 150, 224, 225, 230)]
     + [sealed(300, "p1", ping(7))],
     [*LINKING, *pings((100, 225), "p1", "B"), pongs(300, "p1", 7)], [ONLINE]),
    ("a pong goes to where the ping came from, and the hello goes on where the link is", ["L-28", "L-51", "L-18"],
     "larger", 300,
     [initiation(0, "p1"), sealed(10, "p1", hello(77), beat()), sealed(100, "p1", ping(7), source="B")],
     [answers(0, "p1"), greets(10, "p1", "s1", 77), *pings((100,), "p1", "B"), pongs(100, "p1", 7, to="B"),
      greets(260, "p1", "s1", 77)], [ONLINE]),
    ("a session without a link stays where its initiation came from", ["L-24"], "larger", 300,
     [initiation(0, "p1"), sealed(10, "p1", beat()), sealed(100, "p1", beat(), source="B")],
     [answers(0, "p1"), greets(10, "p1", "s1"), greets(260, "p1", "s1")], []),
    ("a peer that hears nothing is there after all, on the new session", ["L-45", "L-47", "L-21"], "smaller", 1_200,
     LINKED + [sealed(500, "p1", bye("unheard")), response(520, "i1", "n1"), sealed(540, "n1", hello(99), beat()),
               sealed(560, "n1", hello(99, "s1"), beat())],
     [*LINKING, *opens(500, "i1", count=1), *pings((500,), "p1"), greets(520, "n1", "s1", 77),
      greets(540, "n1", "s1", 99)], [ONLINE]),
    ("a new run makes the other link suspect; what waits there fails as replaced", ["L-31", "L-48", "M-18", "M-11"],
     "larger", 1_500,
     LINKED + [command(50, "send", text="hi"), initiation(100, "p2"),
               sealed(120, "p2", hello(99, run=2), beat()), sealed(130, "p2", hello(99, "s2", run=2), beat())],
     [*LINKING, *[sends(at, "p1", {"type": "typing", "typing": False},
                        {"type": "message", "stream": "s1", "record": 0, "text": "hi"}) for at in (50, 550)],
      answers(100, "p2"), greets(120, "p2", "s2", 99), *pings(range(120, 1_370, 125), "p1"),
      *byes(1_370, "p1", "unheard")], [ONLINE, failed(1_370, "replaced")]),
    # Farewells
    ("a farewell goes out on each session, the sending one first", ["L-32"], "larger", 600,
     TWICE + [command(300, "quit")],
     [*TWICE_SENT, *byes(300, "p2", "quit"), {**byes(300, "p1", "quit")[0], "then": True}, *byes(300, "p1", "quit")[1:]],
     [ONLINE, peer(300, "offline", "bye")]),
    ("a bye on an older session ends that session alone, and one on the newest the link", ["L-34"], "larger", 700,
     TWICE + [sealed(300, "p1", bye("quit")), sealed(310, "p1", ping(8)), sealed(400, "p2", ping(7)),
              sealed(500, "p2", bye("quit")), sealed(510, "p2", ping(8))],
     [*TWICE_SENT, pongs(400, "p2", 7)], [ONLINE, peer(500, "offline", "bye")]),
    ("a bye on the sending session leaves the one that was heard of since", ["L-34", "L-43"], "larger", 700,
     TWICE + [sealed(300, "p1", beat()), sealed(320, "p2", bye("quit")), sealed(330, "p1", hello(77, "s1"), beat()),
              sealed(400, "p1", ping(7))],
     [*TWICE_SENT, greets(320, "p1", "s1", 77), pongs(400, "p1", 7)], [ONLINE]),
    ("after a bye a discovered peer is left alone for 60 s, and answered", ["L-35"], "smaller", 64_000,
     OPENED + [sealed(500, "n1", bye("quit")), found(10_000, "A"), initiation(30_000, "p1")],
     [*OPENED_SENT, answers(30_000, "p1"), *opens(60_500, "i2")],
     [peer(40, "online", "hello"), peer(500, "offline", "bye")]),
    ("after a bye a peer by hand gets neither ask nor initiation for 5 s", ["L-35", "D-11"], "smaller", 5_300,
     [peer_by_hand(0), tell(10), response(30, "i1", "n1"), sealed(50, "n1", hello(77, "s1"), beat()),
      sealed(100, "n1", bye("suspended"))],
     [asks(0), asks(10), *opens(10, "i1", count=1), greets(30, "n1", "s1"), greets(50, "n1", "s1", 77), asks(5_100),
      *opens(5_100, "i2", count=1)], [peer(50, "online", "hello"), peer(100, "offline", "bye")]),
    ("after these 5 s the larger key does not wait, either", ["L-35", "D-11"], "larger", 5_600,
     [peer_by_hand(0), tell(10), response(330, "i1", "n1"), sealed(350, "n1", hello(77, "s1"), beat()),
      sealed(400, "n1", bye("quit"))],
     [asks(0), asks(310), *opens(310, "i1", count=1), greets(330, "n1", "s1"), greets(350, "n1", "s1", 77),
      asks(5_400), *opens(5_400, "i2", count=1)], [peer(350, "online", "hello"), peer(400, "offline", "bye")]),
    ("a bye before the peer's hello ends its session", ["L-34", "L-20"], "larger", 700,
     [initiation(0, "p1"), sealed(10, "p1", bye("quit")), sealed(20, "p1", hello(77), beat())], [answers(0, "p1")], []),
    # Streams
    ("a hello that no longer holds our stream fails what was sent, and another stream begins", ["M-6", "M-18"],
     "larger", 700,
     LINKED + [command(100, "send", text="one"), sealed(200, "p1", hello(77), beat()),
               sealed(210, "p1", hello(77, "s2"), beat()), command(300, "send", text="two"),
               sealed(310, "p1", ack("s2", 1))],
     [*LINKING, *[sends(at, "p1", {"type": "typing", "typing": False},
                        {"type": "message", "stream": stream, "record": 0, "text": text})
                  for at, stream, text in ((100, "s1", "one"), (300, "s2", "two"))],
      greets(200, "p1", "s2", 77)], [ONLINE, failed(200, "lost-state"), delivered(310)]),
    ("a hello that holds a stream foreign to the link brings no new one, nor does one that was given up",
     ["M-7", "M-8", "M-15"], "larger", 600,
     LINKED + [sealed(50, "p1", typing(False), message(77, 0, "first")), sealed(230, "p1", hello(88, 4_242), beat()),
               sealed(240, "p1", typing(False), message(88, 0, "lost")), sealed(250, "p1", hello(99, "s1"), beat()),
               sealed(260, "p1", typing(False), message(99, 0, "kept")), sealed(300, "p1", hello(77, "s1"), beat()),
               sealed(310, "p1", typing(False), message(77, 1, "lost"))],
     [*LINKING, sends(50, "p1", {"type": "ack", "stream": 77, "next": 1}), greets(230, "p1", "s1", 77, 1),
      greets(250, "p1", "s1", 99), sends(260, "p1", {"type": "ack", "stream": 99, "next": 1}),
      greets(300, "p1", "s1", 99, 1)],
     [ONLINE, shows(50, "first"), shows(260, "kept")]),
    ("the first hello on a new session has what is in flight sent again; later ones and acks of the future do not",
     ["M-5", "M-15"], "larger", 590,
     LINKED + [command(100, "send", text="hi"), initiation(140, "p2"), sealed(150, "p2", hello(77, "s1"), beat()),
               sealed(160, "p2", ack("s1", 5)), sealed(400, "p2", hello(77, "s1"), beat()),
               sealed(450, "p2", ack("s1", 1))],
     [*LINKING, sends(100, "p1", {"type": "typing"}, {"type": "message", "stream": "s1", "record": 0}),
      answers(140, "p2"), greets(150, "p2", "s1", 77),
      sends(150, "p2", {"type": "typing"}, {"type": "message", "stream": "s1", "record": 0}, then=True),
      greets(400, "p2", "s1", 77)], [ONLINE, delivered(450)]),
]


def timelines():
    return {"timelines": [link_model.timeline(row) for row in TIMELINES]}
