"""Plays timelines.json and links.json against the state machine, in virtual time."""

from __future__ import annotations

from random import Random
from typing import Any, Optional

from chat import Chat
from core import Node
from handshake import Initiator, KeyPair, Responder
from limits import MS
from opening import Instance
from session import Address, Cipher
from wire import (Ack, Ask, Bye, Frame, Heartbeat, Hello, Initiation, Message, Response, Sealed, Tell, Typing,
                  parse_datagram, parse_frames)

Case = dict[str, Any]
PLACES = {"A": ("192.0.2.1", 7001), "B": ("192.0.2.2", 7002)}
NAMES = {address: name for name, address in PLACES.items()}
REASONS = ["quit", "left", "suspended", "lastWill", "removed", "unheard"]
START = 1_000_000 * MS  # time 0 of a timeline


class EverythingOnLink:
    """A network in which all addresses are on-link, and none is the node's own."""

    @staticmethod
    def is_on_link(_: Address) -> bool:
        return True

    @staticmethod
    def source(address: Address) -> str:
        return address[0]

    @staticmethod
    def is_own(_: Address) -> bool:
        return False

    @staticmethod
    def is_unicast(_: Address) -> bool:
        return True


class PeerSession:
    """The peer's end of a session."""

    def __init__(self, remote: int, send: bytes, receive: bytes) -> None:
        self.remote = remote
        self.seal, self.open = Cipher(send), Cipher(receive)
        self.counter = 0


class Play:
    """One node, one peer, and a record of all that the node sends and says."""

    def __init__(self, node_is_smaller: bool, seed: str) -> None:
        self.random = Random(seed)
        pairs = sorted((KeyPair(self.random.randbytes(32)) for _ in range(2)), key=lambda k: k.public)
        self.keys, node_keys = (pairs[1], pairs[0]) if node_is_smaller else (pairs[0], pairs[1])
        self.time = START
        self.sent: list[Case] = []
        self.events: list[Case] = []
        self.node = Node(node_keys, "Node", b"nodesrun", self.time, self.random, EverythingOnLink(), self._sent,
                         self._said)
        self.chat: Chat = self.node.join("lobby", None)
        self.handshakes: list[tuple[int, bytes]] = []       # i1, i2 …: index and bytes
        self.streams: list[int] = []                        # s1, s2 …
        self.sessions: dict[str, PeerSession] = {}
        self.begun: dict[str, tuple[int, bytes, Initiator]] = {}
        self.found_before: dict[str, Instance] = {}
        self.token = 0
        self.acknowledges = False

    # What the node does

    def _said(self, event: dict[str, Any]) -> None:
        entry: Case = {"at": (self.time - START) / MS, "event": event["on"]}
        if event["on"] == "peer":
            entry.update(presence=event["presence"], why=event["why"])
        elif event["on"] == "typing":
            entry["shown"] = bool(event["users"])
        elif event["on"] in ("message", "failed"):
            field = "text" if event["on"] == "message" else "why"
            entry[field] = event[field]
        elif event["on"] != "delivered":
            return
        self.events.append(entry)

    def _sent(self, address: Address, data: bytes) -> None:
        datagram = parse_datagram(data)
        entry: Case = {"at": (self.time - START) / MS, "to": NAMES[address], "kind": type(datagram).__name__.lower(),
                       "bytes": data}
        if isinstance(datagram, Initiation):
            if datagram.sender not in [i for i, _ in self.handshakes]:
                self.handshakes.append((datagram.sender, data))
            entry["initiation"] = f"i{[i for i, _ in self.handshakes].index(datagram.sender) + 1}"
        elif isinstance(datagram, Response):
            entry["session"] = self._response(datagram)
        elif isinstance(datagram, Sealed):
            self._sealed(datagram, entry)
        elif isinstance(datagram, Ask):
            self.token = datagram.token
        self.sent.append(entry)

    def _response(self, response: Response) -> str:
        name = next(n for n, (index, _, _) in self.begun.items() if index == response.receiver)
        if name not in self.sessions:
            remote, send, receive, _ = self.begun[name][2].finish(response.noise)
            self.sessions[name] = PeerSession(remote, send, receive)
        return name

    def _index(self, name: str) -> int:
        """The peer's index of a session."""
        return self.begun[name][0] if name in self.begun else int(name[1:]) + 1000

    def _sealed(self, datagram: Sealed, entry: Case) -> None:
        entry["session"] = next(n for n in self.sessions if self._index(n) == datagram.receiver)
        plaintext = self.sessions[entry["session"]].open.open(datagram)
        assert plaintext is not None
        entry["frames"] = parse_frames(plaintext)
        for frame in entry["frames"]:
            if isinstance(frame, Hello) and frame.stream not in self.streams:
                self.streams.append(frame.stream)
            if isinstance(frame, Message) and self.acknowledges:
                ack = Ack(frame.stream, frame.record + 1, 0)
                self.node.at(self.node.now, lambda: self.seal(entry["session"], PLACES["A"], [ack]))

    # What the peer and the user do

    def resolve(self, value: Any) -> int:
        return self.streams[int(value[1:]) - 1] if isinstance(value, str) else value

    def run_to(self, time: int) -> None:
        """All deadlines up to and including a time, each at its own."""
        due = self.node.timers.next_due()
        while due is not None and due <= time:
            self.time = max(self.time, due)
            self.node.advance(self.time)
            due = self.node.timers.next_due()
        self.time = time
        self.node.advance(time)

    def seal(self, name: str, source: Address, frames: list[Frame], counter: Optional[int] = None,
             plaintext: bytes = b"") -> None:
        session = self.sessions[name]
        if counter is None:
            counter = session.counter
        session.counter = max(session.counter, counter + 1)
        plaintext = plaintext or b"".join(f.encode() for f in frames)
        self.node.datagram(self.time, session.seal.seal(session.remote, counter, plaintext), source)

    def begin(self, name: str, source: Address) -> None:
        if name not in self.begun:
            index = self.random.getrandbits(32)
            header = Initiation(index, self.chat.tag, b"").header()
            noise = Initiator(self.keys, self.random.randbytes(32), self.node.identity.public, self.chat.psk, header)
            self.begun[name] = (index, header + noise.message, noise)
        self.node.datagram(self.time, self.begun[name][1], source)

    def respond(self, to: str, name: str, source: Address) -> None:
        index, data = self.handshakes[int(to[1:]) - 1]
        initiation = parse_datagram(data)
        assert isinstance(initiation, Initiation)
        noise = Responder(self.keys, initiation.noise, initiation.header())
        message, send, receive, _ = noise.answer(self.random.randbytes(32), self.chat.psk, self._index(name))
        self.sessions[name] = PeerSession(0, send, receive)
        before = set(self.node.sessions)
        pending = self.node.pending.get(index)
        self.sessions[name].remote = index
        self.node.datagram(self.time, Response(index, message).encode(), source)
        assert pending is None or before != set(self.node.sessions)

    def found(self, name: str, addresses: list[str]) -> None:
        """As discovery would: the same instance again, or a new one."""
        candidates = [PLACES[a] for a in addresses]
        if name in self.found_before:
            self.found_before[name].listed(candidates)
            return
        instance = self.found_before[name] = Instance(self.node, self.chat, self.keys.public, candidates)
        self.chat.instances.append(instance)
        instance.begin()

    def do(self, step: Case) -> None:
        from check import frame_from
        kind, source = step["do"], PLACES[step.get("from", "A")]
        if kind == "found":
            self.found(step["instance"], step["addresses"])
        elif kind == "addPeer":
            self.node.add_peer(PLACES[step["address"]])
        elif kind == "tell":
            self.node.datagram(self.time, Tell(self.token, bytes(8), self.keys.public).encode(), source)
        elif kind == "initiation":
            self.begin(step["session"], source)
        elif kind == "response":
            self.respond(step["to"], step["session"], source)
        elif kind == "sealed":
            frames = [frame_from(f, self.resolve) for f in step.get("frames", [])]
            self.seal(step["session"], source, frames, step.get("counter"), bytes.fromhex(step.get("plaintext", "")))
        elif kind == "send":
            self.node.send_text(self.chat, step["text"], None)
        elif kind == "quit":
            self.node.quit()
        elif kind == "sleep":
            self.time = START + step["until"] * MS
            self.node.advance(self.time)


# links.json

def link_timeline(_: str, case: Case) -> None:
    play = Play(case["key"] == "smaller", case["name"])
    for step in case["inputs"]:
        at = START + step["at"] * MS
        if at > play.time:
            play.node.socket_empty()
        play.run_to(at)
        play.do(step)
    play.node.socket_empty()
    play.run_to(START + case["until"] * MS)
    actual = [s for s in play.sent if not (s["kind"] == "sealed" and is_heartbeat_alone(s["frames"]))]
    match(play, actual, case["datagrams"])
    if play.events != [{**e, "at": float(e["at"])} for e in case["events"]]:
        raise AssertionError(f"events {play.events}")


def is_heartbeat_alone(frames: list[Frame]) -> bool:
    return len(frames) == 1 and isinstance(frames[0], Heartbeat)


def match(play: Play, actual: list[Case], expected: list[Case]) -> None:
    taken: dict[int, int] = {}
    same: dict[str, bytes] = {}
    last: dict[tuple[str, str], float] = {}
    for place, seen in enumerate(actual):
        for number, want in enumerate(expected):
            if number not in taken and fits(play, seen, want, last):
                taken[number] = place
                if "same" in want and same.setdefault(want["same"], seen["bytes"]) != seen["bytes"]:
                    raise AssertionError(f"other bytes in {want}")
                if want.get("then") and taken.get(number - 1, place) > place:
                    raise AssertionError(f"too early: {want}")
                break
        else:
            raise AssertionError(f"not listed: {seen}")
        if "initiation" in seen:
            last[seen["initiation"], seen["to"]] = seen["at"]
    for number, want in enumerate(expected):
        if number not in taken and not want.get("optional"):
            raise AssertionError(f"missing: {want}")


def fits(play: Play, seen: Case, want: Case, last: dict[tuple[str, str], float]) -> bool:
    low, high = want["at"] if isinstance(want["at"], list) else (want["at"], want["at"])
    if not low <= seen["at"] <= high or any(seen.get(f) != want.get(f) for f in ("to", "kind", "session",
                                                                                "initiation")):
        return False
    if "step" in want:
        step = seen["at"] - last[seen["initiation"], seen["to"]]
        if not want["step"][0] <= step <= want["step"][1]:
            return False
    if "frames" not in want:
        return True
    rest = list(seen["frames"])
    for frame in want["frames"]:
        found = next((f for f in rest if frame_fits(play, f, frame)), None)
        if found is None:
            return False
        rest.remove(found)
    return not rest


def frame_fits(play: Play, frame: Frame, want: Case) -> bool:
    if type(frame).__name__.lower() != want["type"]:
        return False
    for field, value in want.items():
        if field == "type":
            continue
        if field == "reason":
            value = REASONS.index(value)
        elif field in ("stream", "held"):
            value = play.resolve(value) if not isinstance(value, str) or int(value[1:]) <= len(play.streams) else None
        actual = bool(frame.status & 1) if field == "typing" else getattr(frame, field)  # type: ignore[union-attr]
        if actual != value:
            return False
    return True


# timelines.json

def confirmed(with_status: bool) -> Play:
    """A node with one link, that is idle, and the peer's session `p`."""
    play = Play(False, "typing")
    play.begin("p", PLACES["A"])
    play.seal("p", PLACES["A"], [Hello(b"peersrun", 77, 0, 0, "Peer")])
    if with_status:
        play.seal("p", PLACES["A"], [Hello(b"peersrun", 77, play.streams[0], 0, "Peer"), Heartbeat(0, 10)])
    play.sent.clear()
    play.events.clear()
    return play


def keep_alive(play: Play, time: int) -> None:
    """Runs to a time; typing alone is looked at, so that the link is kept by hand."""
    while play.time < time:
        for link in play.chat.links.values():
            link.last_evidence = play.time
        due = play.node.timers.next_due()
        play.run_to(min(time, due if due is not None else time))


def typing_timeline(kind: str, case: Case) -> None:
    play = confirmed(kind == "sender")
    play.acknowledges = kind == "sender"
    for step in case["inputs"]:
        keep_alive(play, START + step["at"] * MS)
        if step.get("do") == "compose":
            play.chat.composer.compose(step["text"])
        elif step.get("do") == "send":
            play.node.send_text(play.chat, play.chat.composer.text_of() or "some text", None)
        elif step.get("do") == "away":
            play.node.set_away(True)
        elif "bye" in step:
            play.seal("p", PLACES["A"], [Bye(0)], 2**31)
        elif "block" in step:
            from names import user_id
            play.node.block(user_id(play.keys.public))
        else:
            play.seal("p", PLACES["A"], [Typing(step["typing"])], step["counter"])
    keep_alive(play, START + case["until"] * MS)
    if kind == "sender":
        actual = typing_frames(play)
        expected = [{k: v for k, v in e.items() if k not in ("copy", "frame")} for e in case["expect"]]
    else:
        actual = [{"at": e["at"], "shown": e["shown"]} for e in play.events if e["event"] == "typing"]
        expected = case["expect"]
    if actual != expected:
        raise AssertionError(f"{actual} instead of {expected}")


def typing_frames(play: Play) -> list[Case]:
    frames = []
    for sent in play.sent:
        for frame in sent.get("frames", []):
            if isinstance(frame, Typing):
                entry: Case = {"at": sent["at"], "typing": bool(frame.status & 1)}
                if any(isinstance(f, Message) for f in sent["frames"]):
                    entry["with"] = "message"
                frames.append(entry)
    return frames
