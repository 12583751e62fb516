"""Datagrams and frames as bytes (W-12 to W-14, W-24 to W-29). Nothing here knows a key or a time."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Optional, Union

from limits import MAX_DATAGRAM, MAX_NAME

VERSION = 1
INITIATION, RESPONSE, SEALED, RETRY, ASK, TELL = 1, 2, 3, 4, 5, 6
LENGTHS = {INITIATION: (109, 125), RESPONSE: (57,), RETRY: (21,), ASK: (45,), TELL: (45,),
           SEALED: range(27, MAX_DATAGRAM + 1)}
ASK_PADDING = bytes(32)

TYPING_BIT, AWAY_BIT = 0x01, 0x02
FIRST, LAST = 0x01, 0x02
QUIT, LEFT, SUSPENDED, LAST_WILL, REMOVED, UNHEARD = range(6)


class WireError(ValueError):
    """A datagram or frame in error: `code` is the word of the vectors, `offset` where the frame begins."""

    def __init__(self, code: str, offset: int = 0) -> None:
        super().__init__(f"{code} at {offset}")
        self.code, self.offset = code, offset


@dataclass(frozen=True)
class Initiation:
    sender: int
    tag: bytes
    noise: bytes
    cookie: bytes = b""

    def header(self) -> bytes:
        return struct.pack(">BI8s", VERSION << 4 | INITIATION, self.sender, self.tag)

    def encode(self) -> bytes:
        return self.header() + self.noise + self.cookie


@dataclass(frozen=True)
class Response:
    receiver: int
    noise: bytes

    def encode(self) -> bytes:
        return struct.pack(">BI", VERSION << 4 | RESPONSE, self.receiver) + self.noise


@dataclass(frozen=True)
class Sealed:
    receiver: int
    counter: int
    ciphertext: bytes

    def header(self) -> bytes:
        return struct.pack(">BII", VERSION << 4 | SEALED, self.receiver, self.counter)

    def encode(self) -> bytes:
        return self.header() + self.ciphertext


@dataclass(frozen=True)
class Retry:
    receiver: int
    cookie: bytes

    def encode(self) -> bytes:
        return struct.pack(">BI", VERSION << 4 | RETRY, self.receiver) + self.cookie


@dataclass(frozen=True)
class Ask:
    tag: bytes
    token: int

    def encode(self) -> bytes:
        return struct.pack(">B8sI", VERSION << 4 | ASK, self.tag, self.token) + ASK_PADDING


@dataclass(frozen=True)
class Tell:
    token: int
    nonce: bytes
    key: bytes

    def encode(self) -> bytes:
        return struct.pack(">BI8s32s", VERSION << 4 | TELL, self.token, self.nonce, self.key)


Datagram = Union[Initiation, Response, Sealed, Retry, Ask, Tell]


def parse_datagram(data: bytes) -> Datagram:
    """W-12 to W-14: the datagram, or a WireError; the caller sends nothing for one (W-15)."""
    if not data:
        raise WireError("empty")
    if data[0] >> 4 != VERSION:
        raise WireError("version")
    kind = data[0] & 0x0F
    if kind not in LENGTHS:
        raise WireError("kind")
    if len(data) not in LENGTHS[kind]:
        raise WireError("length")
    if kind == INITIATION:
        return Initiation(int.from_bytes(data[1:5], "big"), data[5:13], data[13:109], data[109:])
    if kind == RESPONSE:
        return Response(int.from_bytes(data[1:5], "big"), data[5:])
    if kind == SEALED:
        return Sealed(int.from_bytes(data[1:5], "big"), int.from_bytes(data[5:9], "big"), data[9:])
    if kind == RETRY:
        return Retry(int.from_bytes(data[1:5], "big"), data[5:])
    if kind == TELL:
        return Tell(int.from_bytes(data[1:5], "big"), data[5:13], data[13:])
    if data[13:] != ASK_PADDING:
        raise WireError("padding")
    return Ask(data[1:9], int.from_bytes(data[9:13], "big"))


@dataclass(frozen=True)
class Heartbeat:
    status: int
    interval: int

    def encode(self) -> bytes:
        return struct.pack(">BBB", 0x01, self.status, self.interval)


@dataclass(frozen=True)
class Typing:
    status: int

    def encode(self) -> bytes:
        return struct.pack(">BB", 0x02, self.status)


@dataclass(frozen=True)
class Hello:
    run: bytes
    stream: int
    held: int
    next: int
    name: str

    def encode(self) -> bytes:
        name = self.name.encode()
        return struct.pack(">B8sIIIB", 0x03, self.run, self.stream, self.held, self.next, len(name)) + name


@dataclass(frozen=True)
class Message:
    stream: int
    record: int
    flags: int
    text: str

    def encode(self) -> bytes:
        return struct.pack(">BIIB", 0x04, self.stream, self.record, self.flags) + self.text.encode()


@dataclass(frozen=True)
class Ack:
    stream: int
    next: int
    bitmap: int

    def encode(self) -> bytes:
        return struct.pack(">BIIH", 0x05, self.stream, self.next, self.bitmap)


@dataclass(frozen=True)
class Ping:
    token: int

    def encode(self) -> bytes:
        return struct.pack(">BH", 0x06, self.token)


@dataclass(frozen=True)
class Pong:
    token: int

    def encode(self) -> bytes:
        return struct.pack(">BH", 0x07, self.token)


@dataclass(frozen=True)
class Bye:
    reason: int

    def encode(self) -> bytes:
        return struct.pack(">BB", 0x08, self.reason)


@dataclass(frozen=True)
class Unknown:
    code: int
    body: bytes

    def encode(self) -> bytes:
        return struct.pack(">BH", self.code, len(self.body)) + self.body


Frame = Union[Heartbeat, Typing, Hello, Message, Ack, Ping, Pong, Bye, Unknown]
# The bytes of each type that every frame of it has, its type included.
FIXED = {0x01: 3, 0x02: 2, 0x03: 22, 0x04: 10, 0x05: 11, 0x06: 3, 0x07: 3, 0x08: 2}


def parse_frames(data: bytes) -> list[Frame]:
    """W-24 to W-29: all frames of a plaintext, or a WireError for the whole of it."""
    if not data:
        raise WireError("empty")
    frames: list[Frame] = []
    seen: set[int] = set()
    at = 0
    while at < len(data):
        kind = data[at]
        if kind >= 0x40:
            size = int.from_bytes(data[at + 1:at + 3], "big")
            if len(data) < at + 3 + size:
                raise WireError("truncated", at)
            frames.append(Unknown(kind, data[at + 3:at + 3 + size]))  # W-26: skipped by its length
            at += 3 + size
            continue
        if kind not in FIXED:
            raise WireError("unknownType", at)  # W-25
        if kind in seen:
            raise WireError("duplicate", at)  # W-25
        if kind in (0x01, 0x02) and seen & {0x01, 0x02}:
            raise WireError("twoStatuses", at)  # W-27
        seen.add(kind)
        frame, size = _parse_frame(kind, data, at)
        frames.append(frame)
        at += size
    return frames


def _parse_frame(kind: int, data: bytes, at: int) -> tuple[Frame, int]:
    size = FIXED[kind]
    if len(data) < at + size:
        raise WireError("truncated", at)
    body = data[at + 1:at + size]
    if kind == 0x01:
        return Heartbeat(body[0] & (TYPING_BIT | AWAY_BIT), body[1]), size
    if kind == 0x02:
        return Typing(body[0] & (TYPING_BIT | AWAY_BIT)), size
    if kind == 0x03:
        return _parse_hello(body, data, at)
    if kind == 0x04:
        return _parse_message(body, data, at)
    if kind == 0x05:
        return Ack(*struct.unpack(">IIH", body)), size
    if kind == 0x06:
        return Ping(*struct.unpack(">H", body)), size
    if kind == 0x07:
        return Pong(*struct.unpack(">H", body)), size
    return Bye(body[0] if body[0] <= UNHEARD else QUIT), size


def _parse_hello(body: bytes, data: bytes, at: int) -> tuple[Frame, int]:
    run, stream, held, expected, length = struct.unpack(">8sIIIB", body)
    if length > MAX_NAME:
        raise WireError("nameTooLong", at)  # W-29
    size = 22 + length
    if len(data) < at + size:
        raise WireError("truncated", at)
    name = _text(data[at + 22:at + size], at)
    if stream == 0:
        raise WireError("zeroStream", at)  # W-29
    return Hello(run, stream, held, expected, name), size


def _parse_message(body: bytes, data: bytes, at: int) -> tuple[Frame, int]:
    """W-28: the text goes to the end, so that the message is the last frame."""
    stream, record, flags = struct.unpack(">IIB", body)
    rest = data[at + 10:]
    if not rest:
        raise WireError("emptyMessage", at)
    return Message(stream, record, flags & (FIRST | LAST), _text(rest, at)), len(data) - at


def _text(data: bytes, at: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise WireError("invalidText", at) from None


def status_of(frames: list[Frame]) -> Optional[Union[Heartbeat, Typing]]:
    """The status-bearing frame of a datagram; there is at most one (W-27)."""
    return next((f for f in frames if isinstance(f, (Heartbeat, Typing))), None)
