"""Plays replay.json, timelines.json and links.json against links, senders and receivers, in virtual time."""

from collections import Counter
from random import Random
from typing import Any, Callable, Optional

from chat import Chat
from clock import Clock
from composer import counts
from keys import ChatKeys, chat_name, key_from_text, secret_from_text, user_id
from limits import MAX_TEXT, MS, S
from link import Link
from node import Node
from noise import KeyPair, Result
from records import Owner, Pools, Receiver, Sender
from session import Address, Cipher, Session
from wire import (FIRST, LAST, Ack, Bye, Forward, Frame, Heartbeat, Ping, Pong, Record, Sealed, TextID, Typing, Unknown,
                  encode_frames, parse_datagram, parse_frames)

Case = dict[str, Any]
REASONS = {"quit": 0, "left": 1, "suspended": 2, "lastWill": 3, "removed": 6}
PEER: Address = ("192.0.2.1", 7001)
START = 1_000 * S           # time 0 of a timeline
KEYS = bytes(32), bytes([1]) * 32


class Mismatch(AssertionError):
    """What a case found."""


def same(actual: Any, expected: Any, what: str = "") -> None:
    if actual != expected:
        raise Mismatch(f"{what}: {actual!r} instead of {expected!r}")


def parse_chat(chat: Case) -> ChatKeys:
    if "open" in chat:
        return ChatKeys(chat_name(chat["open"]))
    return ChatKeys("any", secret_from_text(chat["secret"]), key_from_text(chat["owner"]) if "owner" in chat else b"")


def frame_from(case: Case) -> Frame:
    """A frame as the vectors write it."""
    kind = case["type"]
    status = sum(bit for bit, name in ((1, "typing"), (2, "away"), (4, "unheard")) if case.get(name))
    if kind == "heartbeat":
        return Heartbeat(status, case["interval"])
    if kind == "record":
        flags = (FIRST if case["first"] else 0) | (LAST if case["last"] else 0)
        return Record(case["number"], case["recordType"], flags, bytes.fromhex(case["body"]))
    makers: dict[str, Callable[[], Frame]] = {
        "typing": lambda: Typing(status), "ack": lambda: Ack(case["next"], case["bitmap"]),
        "ping": lambda: Ping(case["token"]), "pong": lambda: Pong(case["token"]),
        "bye": lambda: Bye(REASONS[case["reason"]]), "forward": lambda: Forward(case["next"]),
        "textID": lambda: TextID(int(case["run"], 16), case["textNumber"], case["written"]),
        "unknown": lambda: Unknown(case["code"], bytes.fromhex(case["body"]))}
    return makers[kind]()


class SimulatedNetwork:
    """A network in which all addresses are on-link."""

    def is_on_link(self, _: Address) -> bool:
        return True

    def is_unicast(self, _: Address) -> bool:
        return True

    def is_own(self, _: Address) -> bool:
        return False

    def source(self, address: Address) -> Optional[str]:
        return address[0]


class Play:
    """A node in a chat, with one link whose session is complete."""

    def __init__(self) -> None:
        self.random = Random(1)
        self.node = Node(KeyPair(self.random.randbytes(32)), "Node", START, self.random, SimulatedNetwork())
        self.chat: Chat = self.node.join("lobby")
        self.clock = self.node.clock
        self.key = KeyPair(self.random.randbytes(32)).public
        self.session = self.make_session(1)
        self.link = Link(self.node.context, self.chat, self.key, b"peersrun", 0, 0, PEER)
        self.chat.links[self.key, b"peersrun"] = self.link
        self.session.completed = self.session.proven = 1
        self.add(self.session)
        self.sent: list[tuple[float, Frame, list[Frame]]] = []
        self.changes: list[Case] = []
        self._last = ("down", "offline")

    def make_session(self, index: int) -> Session:
        session = Session(self.key, index, index, Result(index, b"peersrun", 0, *KEYS, b""), 0, PEER, False,
                          self.clock.now)
        session.chat = self.chat
        return session

    def add(self, session: Session) -> None:
        self.node.context.sessions[session.index] = session
        self.link.add_session(session)

    @property
    def now(self) -> float:
        now = (self.clock.now - START) / MS
        return int(now) if now == int(now) else now

    def observe(self) -> None:
        for output in self.node.take_datagrams():
            sealed = parse_datagram(output.data)
            if not isinstance(sealed, Sealed):
                continue
            plaintext = Cipher(KEYS[0]).open(sealed)
            assert plaintext is not None
            frames = parse_frames(plaintext)
            self.sent += [(self.now, frame, frames) for frame in frames]
        state, presence = self.link.state, self.link.presence()
        for place, (name, value) in enumerate((("state", state), ("presence", presence))):
            if value != self._last[place]:
                self.changes.append({"at": self.now, name: value})
        self._last = state, presence

    def run(self, until: int) -> None:
        """Each deadline up to and including a time, at its instant."""
        until = START + until * MS
        while (due := self.node.next_deadline()) <= until:
            self.node.advance(due)
            self.observe()
        self.node.advance(until)
        self.observe()

    def receive(self, counter: int, frames: list[Frame]) -> None:
        data = Cipher(KEYS[1]).seal(1, counter, encode_frames(frames))
        self.node.datagram(self.clock.now, data, PEER)
        self.observe()

    def show(self) -> None:
        """The link comes up, and stays so without evidence."""
        self.link.interval = 10**6 * S
        self.link._come_up()
        self.link.got_name("Peer", 0)
        self.link.sender.acknowledge(Ack(1, 0), 0, False)
        self.link.sender.round_trips.smooth = None
        self.observe()
        self.sent.clear()
        self.node.take_events()


# replay.json

def replay(_: str, case: Case) -> None:
    play = Play()
    sessions = {"a": play.session}
    for step in case["steps"]:
        name = step["session"]
        if name not in sessions:
            sessions[name] = play.make_session(len(sessions) + 1)
            play.add(sessions[name])
        session = sessions[name]
        is_will = step["counter"] == 2**32 - 1
        plaintext = encode_frames([Bye(3) if is_will and "bye" in step["datagram"] else Heartbeat(0, 10)])
        if step["datagram"] == "unparsable":
            plaintext = bytes(2)
        data = Cipher(KEYS[1]).seal(session.index, step["counter"], plaintext)
        if step["datagram"] == "altered":
            data = data[:-1] + bytes([data[-1] ^ 1])
        was_complete, drops = session.is_complete, sum(play.node.context.drops.values())
        play.node.datagram(play.clock.now, data, PEER)
        outcome = "forget" if play.link.state == "forgotten" else (
            "drop" if sum(play.node.context.drops.values()) > drops else "accept")
        same((outcome, session.is_complete and not was_complete), (step["outcome"], step["completes"]), str(step))


# timelines.json

def typing_timeline(kind: str, case: Case) -> None:
    if kind == "texts":
        same(counts(case["text"]), case["counts"])
    elif kind == "sender":
        sender_of_typing(case)
    elif kind == "receiver":
        receiver_of_typing(case)
    else:
        for row in case["rows"]:
            intervals(row)


def sender_of_typing(case: Case) -> None:
    play = Play()
    play.show()
    changes_of_away = set()
    for step in case["inputs"]:
        play.run(step["at"])
        if step["do"] == "compose":
            play.chat.composer.compose(step["text"])
        elif step["do"] == "send":
            play.node.send(play.chat, "text")
        else:
            changes_of_away.add(step["at"])
            play.node.set_away(step["do"] == "away")
        play.observe()
        play.link.sender.acknowledge(Ack(play.link.sender.next_number, 0), 1, False)
    play.run(case["until"])
    seen = []
    for at, frame, frames in play.sent:
        is_beat = isinstance(frame, Heartbeat) and (frame.status & 1 or at in changes_of_away)
        if isinstance(frame, Typing) or is_beat:
            assert isinstance(frame, (Typing, Heartbeat))
            seen.append({"at": at, "frame": "heartbeat" if is_beat else "typing", "typing": bool(frame.status & 1),
                         "away": bool(frame.status & 2),
                         **({"with": "record"} if any(isinstance(f, Record) for f in frames) else {})})
    same(seen, [{k: v for k, v in entry.items() if k != "copy"} for entry in case["expect"]])


def receiver_of_typing(case: Case) -> None:
    play = Play()
    play.show()
    seen = []

    def collect() -> None:
        for event in play.node.take_events():
            if event["on"] == "typing":
                seen.append({"at": play.now, "shown": bool(event["users"])})
    observe = play.observe
    play.observe = lambda: (observe(), collect())  # type: ignore[method-assign, assignment]
    for step in case["inputs"]:
        play.run(step["at"])
        if step["do"] == "block":
            play.node.block(user_id(play.key))
        elif step["do"] == "bye":
            play.receive(2**31, [Bye(0)])
        else:
            play.receive(step["counter"], [Typing(1 if step["typing"] else 0)])
        play.observe()
    play.run(case["until"])
    same(seen, case["expect"])


def intervals(row: Case) -> None:
    play = Play()
    play.show()
    play.node.live_links = lambda: row["links"]  # type: ignore[method-assign]
    play.link.send_heartbeat()
    low, high = row["idle"]
    waits = [play.chat.next_beat(play.link) / MS for _ in range(50)]
    same(all(low <= wait <= high for wait in waits) and max(waits) - min(waits) > (high - low) / 2, True, f"{waits}")
    play.chat.composer.is_announced = True
    same((play.chat.interval_units(), play.chat.next_beat(play.link) / MS), (row["interval"], row["typing"]))


def suspected_by_new_link(state: str) -> str:
    """L-31: the state of another link of a key when a new link is made."""
    play = Play()
    if state != "down":
        play.show()
    if state == "suspect":
        play.link.suspect(0)
    session = play.make_session(9)
    session.run = b"otherrun"
    play.chat._join(session, "make")
    return play.link.state


# links.json

def link_timeline(kind: str, case: Case) -> None:
    {"states": states, "sender": sender, "receiver": receiver}[kind](case)


def states(case: Case) -> None:
    play = Play()
    play.observe()
    tokens: dict[str, int] = {}

    def resolve(frame: Case) -> Case:
        if isinstance(frame.get("token"), str):
            pings = [f.token for _, f, _ in play.sent if isinstance(f, Ping)]
            tokens.update({f"t{i + 1}": token for i, token in enumerate(pings)})
            return {**frame, "token": tokens.get(frame["token"], 70_000)}
        return frame
    for step in case["inputs"]:
        play.run(step["at"])
        frames = [frame_from(resolve(f)) for f in step["frames"]]
        if not any(isinstance(f, Pong) and f.token > 65_535 for f in frames):
            play.receive(step["counter"], frames)
    play.run(case["until"])
    expected = [{k: v for k, v in e.items() if k != "why"} for e in case["expect"] if "frames" not in e]
    same(play.changes, expected, "changes")
    pings = [f.token for _, f, _ in play.sent if isinstance(f, Ping)]
    names = {token: f"t{i + 1}" for i, token in enumerate(pings)}

    def show(at: float, frame: Frame) -> Optional[tuple[float, str, Any]]:
        if isinstance(frame, Heartbeat):
            return (at, "unheard", 0) if frame.status & 4 else None
        if isinstance(frame, Ping):
            return at, "ping", names.get(frame.token)
        return (at, "pong", frame.token) if isinstance(frame, Pong) else (
            (at, "bye", frame.reason) if isinstance(frame, Bye) else None)

    wanted = Counter()
    for entry in case["expect"]:
        for frame in entry.get("frames", []):
            if frame["type"] == "ping":
                wanted[entry["at"], "ping", frame["token"]] += 1
            else:
                wanted[show(entry["at"], frame_from(frame))] += 1
    actual = Counter(show(at, frame) for at, frame, _ in play.sent)
    wanted.pop(None, None)
    actual.pop(None, None)
    same((sorted((actual - wanted).elements()), sorted((wanted - actual).elements())), ([], []), "frames")


class SenderOnly:
    """A sender without a link, that may send at once."""

    def __init__(self, clock: Clock, is_on_link: bool) -> None:
        self.clock = clock
        self.seen: list[Case] = []
        self.sender = Sender(clock, self, is_on_link)
        self.sender.next_number = 1

    def see(self, **entry: Any) -> None:
        self.seen.append({"at": (self.clock.now - START) // MS, **entry})

    def wants_to_send(self) -> None:
        while (record := self.sender.next_record()) is not None:
            self.sender.sent_record(record)
            self.see(record=record.number)

    def send_forward(self, number: int) -> None:
        self.see(forward=number)

    def delivered(self, message: int) -> None:
        self.see(message=message, outcome="delivered")

    def failed(self, message: int, why: str) -> None:
        self.see(message=message, outcome=why)


def run_clock(clock: Clock, until: int) -> None:
    while (due := clock.next_due()) is not None and due <= START + until * MS:
        clock.now = due
        clock.run()
    clock.now = START + until * MS


def sender(case: Case) -> None:
    clock = Clock(START)
    host = SenderOnly(clock, case["onLink"])
    host.sender.up()
    messages, is_over = 0, False
    for step in case["inputs"]:
        run_clock(clock, step["at"])
        if step["do"] == "send":
            messages += 1
            host.sender.enqueue_text(messages, b"x" * MAX_TEXT * step["records"])
        elif step["do"] == "down":
            host.sender.down()
        elif step["do"] == "up":
            host.sender.up()
        elif not is_over and not host.sender.acknowledge(Ack(step["next"], step["bitmap"]), step["counter"],
                                                         step["counter"] > max_counter(case, step)):
            is_over = True
            host.sender.close()
            host.see(state="forgotten")
    run_clock(clock, case["until"])

    def sort(entries: list[Case]) -> list[Any]:
        return [[e for e in entries if "record" in e], sorted((str(e) for e in entries if "record" not in e))]
    same(sort(host.seen), sort(case["expect"]))


def max_counter(case: Case, step: Case) -> int:
    before = case["inputs"][:case["inputs"].index(step)]
    return max((s["counter"] for s in before if "counter" in s), default=-1)


class ReceiverOnly:
    """A receiver without a link."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seen: list[Case] = []
        self.receiver = Receiver(clock, self, Pools())
        self.receiver.up()
        self.receiver.expected = 1

    def see(self, **entry: Any) -> None:
        self.seen.append({"at": (self.clock.now - START) // MS, **entry})

    def owner(self) -> Owner:
        return Owner(False, False, None, None)

    def got_text(self, text: str, owner: Owner) -> None:
        self.see(text=text)

    def got_name(self, name: str, number: int) -> None:
        pass

    def send_ack(self) -> None:
        ack = self.receiver.ack()
        self.see(ack=ack.next, bitmap=ack.bitmap)


def receiver(case: Case) -> None:
    clock = Clock(START)
    host = ReceiverOnly(clock)
    for step in case["inputs"]:
        clock.now = START + step["at"] * MS
        frame = frame_from(step["frame"])
        if isinstance(frame, Forward):
            host.receiver.forward(frame.next)
        else:
            assert isinstance(frame, Record)
            host.receiver.record(frame)
        host.send_ack()
    same(host.seen, case["expect"])
