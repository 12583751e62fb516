"""Datagrams and frames (wire.md): parsers and writers, side by side, all numbers big-endian (W-1)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Optional, Sequence, Union

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


@dataclass(frozen=True, slots=True)
class Typing:
    status: int


@dataclass(frozen=True, slots=True)
class Record:
    number: int
    kind: int
    flags: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Ack:
    next: int
    bitmap: int


@dataclass(frozen=True, slots=True)
class Ping:
    token: int


@dataclass(frozen=True, slots=True)
class Pong:
    token: int


@dataclass(frozen=True, slots=True)
class Bye:
    reason: int


@dataclass(frozen=True, slots=True)
class Forward:
    next: int


@dataclass(frozen=True, slots=True)
class Unknown:
    code: int
    body: bytes


Frame = Union[Heartbeat, Typing, Record, Ack, Ping, Pong, Bye, Forward, Unknown]
# The frames of one form, by type: their fields behind the type.
FORMS: dict[int, tuple[Any, str]] = {0x01: (Heartbeat, ">BB"), 0x02: (Typing, ">B"), 0x05: (Ack, ">IH"),
                                     0x06: (Ping, ">H"), 0x07: (Pong, ">H"), 0x08: (Bye, ">B"), 0x09: (Forward, ">I")}
TYPES = {form[0]: kind for kind, form in FORMS.items()}
RECORD, RECORD_SIZE = 0x04, 6                                       # and the body, to the end of the datagram
SIZES = {kind: 1 + struct.calcsize(form) for kind, (_, form) in FORMS.items()} | {RECORD: RECORD_SIZE}


def encode_frame(frame: Frame) -> bytes:
    if isinstance(frame, Record):
        return struct.pack(">BIB", RECORD, frame.number, frame.kind << 4 | frame.flags) + frame.body
    if isinstance(frame, Unknown):
        return struct.pack(">BH", frame.code, len(frame.body)) + frame.body
    kind = TYPES[type(frame)]
    return bytes([kind]) + struct.pack(FORMS[kind][1], *(getattr(frame, name) for name in frame.__slots__))


def encode_frames(frames: Sequence[Frame]) -> bytes:
    return b"".join(map(encode_frame, frames))


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
            end = at + SIZES[kind] if kind != RECORD else len(data)
            if len(data) < at + SIZES[kind]:
                raise WireError("truncated", at)
            frames.append(_parse_frame(kind, data[at + 1:end], at))
        at = end
    return frames


def _parse_frame(kind: int, body: bytes, at: int) -> Frame:
    if kind == RECORD:
        return _parse_record(body, at)
    maker, form = FORMS[kind]
    values = struct.unpack(form, body)
    if kind <= 0x02:
        values = (values[0] & (TYPING | AWAY | UNHEARD), *values[1:])
    return maker(*values) if maker is not Bye or values[0] <= WILL else Bye(QUIT)


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
