"""Datagrams and frames (wire.md): parsers and writers, side by side, all numbers big-endian (W-1)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Optional, Union

from limits import MAX_DATAGRAM

VERSION = 2
INITIATION, RESPONSE, SEALED, RETRY, ASK, TELL = (VERSION << 4 | kind for kind in range(1, 7))
LENGTHS = {INITIATION: (121, 137), RESPONSE: (69,), SEALED: range(27, MAX_DATAGRAM + 1), RETRY: (21,), ASK: (65,),
           TELL: (65,)}                                             # W-13
TYPING, AWAY, UNHEARD = 1, 2, 4                                     # bits of a status
FIRST, LAST = 1, 2                                                  # flags of a record
TEXT, NAME, INVITE, SUCCESSOR = range(4)                            # types of a record
QUIT, LEFT, SUSPENDED, WILL = range(4)                              # reasons of a bye
FIRST_SKIPPED = 0x40                                                # W-26


class WireError(ValueError):
    """A datagram or plaintext to drop: the word of the vectors, and the index of the frame in error."""

    def __init__(self, code: str, offset: int = 0) -> None:
        super().__init__(code)
        self.code, self.offset = code, offset


# Datagrams

@dataclass(frozen=True, slots=True)
class Initiation:
    sender: int
    check: bytes
    noise: bytes
    cookie: bytes = b""

    def encode(self) -> bytes:
        return struct.pack(">BI", INITIATION, self.sender) + self.check + self.noise + self.cookie


@dataclass(frozen=True, slots=True)
class Response:
    receiver: int
    noise: bytes

    def encode(self) -> bytes:
        return struct.pack(">BI", RESPONSE, self.receiver) + self.noise


@dataclass(frozen=True, slots=True)
class Sealed:
    receiver: int
    counter: int
    ciphertext: bytes

    @property
    def header(self) -> bytes:
        """The associated data (W-19)."""
        return struct.pack(">BII", SEALED, self.receiver, self.counter)

    def encode(self) -> bytes:
        return self.header + self.ciphertext


@dataclass(frozen=True, slots=True)
class Retry:
    receiver: int
    cookie: bytes

    def encode(self) -> bytes:
        return struct.pack(">BI", RETRY, self.receiver) + self.cookie


@dataclass(frozen=True, slots=True)
class Ask:
    token: bytes
    check: bytes

    def encode(self) -> bytes:
        return bytes([ASK]) + self.token + self.check + bytes(48)


@dataclass(frozen=True, slots=True)
class Tell:
    token: bytes
    nonce: bytes
    key: bytes

    def encode(self) -> bytes:
        return bytes([TELL]) + self.token + self.nonce + self.key


Datagram = Union[Initiation, Response, Sealed, Retry, Ask, Tell]


def parse_datagram(data: bytes) -> Datagram:
    """W-12 to W-14."""
    if not data:
        raise WireError("empty")
    kind = data[0]
    if kind >> 4 != VERSION:
        raise WireError("version")
    if kind not in LENGTHS:
        raise WireError("kind")
    if len(data) not in LENGTHS[kind]:
        raise WireError("length")
    index = int.from_bytes(data[1:5], "big")
    if kind == INITIATION:
        return Initiation(index, data[5:13], data[13:121], data[121:])
    if kind == RESPONSE:
        return Response(index, data[5:])
    if kind == SEALED:
        return Sealed(index, int.from_bytes(data[5:9], "big"), data[9:])
    if kind == RETRY:
        return Retry(index, data[5:])
    if kind == TELL:
        return Tell(data[1:9], data[9:17], data[17:])
    if any(data[17:]):
        raise WireError("zeros")
    return Ask(data[1:9], data[9:17])


# Frames

@dataclass(frozen=True, slots=True)
class Heartbeat:
    status: int
    interval: int

    def encode(self) -> bytes:
        return bytes([0x01, self.status, self.interval])


@dataclass(frozen=True, slots=True)
class Typing:
    status: int

    def encode(self) -> bytes:
        return bytes([0x02, self.status])


@dataclass(frozen=True, slots=True)
class Record:
    number: int
    kind: int
    flags: int
    body: bytes

    def encode(self) -> bytes:
        return struct.pack(">BIB", 0x04, self.number, self.kind << 4 | self.flags) + self.body


@dataclass(frozen=True, slots=True)
class Ack:
    next: int
    bitmap: int

    def encode(self) -> bytes:
        return struct.pack(">BIH", 0x05, self.next, self.bitmap)


@dataclass(frozen=True, slots=True)
class Ping:
    token: int

    def encode(self) -> bytes:
        return struct.pack(">BH", 0x06, self.token)


@dataclass(frozen=True, slots=True)
class Pong:
    token: int

    def encode(self) -> bytes:
        return struct.pack(">BH", 0x07, self.token)


@dataclass(frozen=True, slots=True)
class Bye:
    reason: int

    def encode(self) -> bytes:
        return bytes([0x08, self.reason])


@dataclass(frozen=True, slots=True)
class Forward:
    next: int

    def encode(self) -> bytes:
        return struct.pack(">BI", 0x09, self.next)


@dataclass(frozen=True, slots=True)
class Unknown:
    code: int
    body: bytes

    def encode(self) -> bytes:
        return struct.pack(">BH", self.code, len(self.body)) + self.body


Frame = Union[Heartbeat, Typing, Record, Ack, Ping, Pong, Bye, Forward, Unknown]
# The bytes that each frame of a type has at least.
SIZES = {0x01: 3, 0x02: 2, 0x04: 6, 0x05: 7, 0x06: 3, 0x07: 3, 0x08: 2, 0x09: 5}


def encode_frames(frames: list[Frame]) -> bytes:
    return b"".join(frame.encode() for frame in frames)


def parse_frames(data: bytes) -> list[Frame]:
    """Returns all frames of a plaintext, or raises for the whole of it (W-24)."""
    if not data:
        raise WireError("empty")
    frames: list[Frame] = []
    seen: set[int] = set()
    at = 0
    while at < len(data):
        kind = data[at]
        if kind >= FIRST_SKIPPED:
            end = at + 3 + int.from_bytes(data[at + 1:at + 3], "big")
            if len(data) < at + 3 or len(data) < end:
                raise WireError("truncated", at)
            frames.append(Unknown(kind, data[at + 3:end]))
        else:
            if kind not in SIZES:
                raise WireError("unknownType", at)                  # W-25
            if kind <= 0x02 and seen & {0x01, 0x02}:
                raise WireError("twoStatuses", at)                  # W-27
            if kind in seen:
                raise WireError("duplicate", at)                    # W-25
            seen.add(kind)
            end = at + SIZES[kind] if kind != 0x04 else len(data)
            if len(data) < at + SIZES[kind]:
                raise WireError("truncated", at)
            frames.append(_parse_frame(kind, data[at + 1:end], at))
        at = end
    return frames


def _parse_frame(kind: int, body: bytes, at: int) -> Frame:
    if kind == 0x01:
        return Heartbeat(body[0] & 7, body[1])
    if kind == 0x02:
        return Typing(body[0] & 7)
    if kind == 0x04:
        return _parse_record(body, at)
    if kind == 0x05:
        return Ack(*struct.unpack(">IH", body))
    if kind == 0x06:
        return Ping(*struct.unpack(">H", body))
    if kind == 0x07:
        return Pong(*struct.unpack(">H", body))
    if kind == 0x08:
        return Bye(body[0] if body[0] <= WILL else QUIT)
    return Forward(*struct.unpack(">I", body))


def _parse_record(body: bytes, at: int) -> Record:
    record = Record(int.from_bytes(body[:4], "big"), body[4] >> 4, body[4] & (FIRST | LAST), body[5:])
    if record.kind in (NAME, INVITE, SUCCESSOR) and record.flags != FIRST | LAST:
        raise WireError("flags", at)                                # W-40
    if record.kind == TEXT:
        if not record.body:
            raise WireError("emptyText", at)                        # W-28
        if decode_utf8(record.body) is None:
            raise WireError("notUTF8", at)
    return record


def decode_utf8(data: bytes) -> Optional[str]:
    """W-33: Python's decoder is strict; nothing is a byte order mark."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
