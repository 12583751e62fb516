"""Datagrams and frames (wire.md) as tables: a parser and a writer for each, all numbers big-endian (W-1)."""

import struct
from dataclasses import dataclass, make_dataclass
from typing import Any, Optional, Sequence

from limits import MAX_DATAGRAM

VERSION = 2
TYPING, AWAY, UNHEARD = 1, 2, 4                                     # bits of a status
FIRST, LAST = 1, 2                                                  # flags of a record
TEXT, NAME, INVITE, SUCCESSOR = range(4)                            # types of a record
REASONS = QUIT, LEFT, SUSPENDED, WILL, REMOVED = 0, 1, 2, 3, 6     # reasons of a bye
FIRST_SKIPPED = 0x40                                                # W-26
Datagram = Any                                                      # one of the classes below
Frame = Any


class WireError(ValueError):
    """A datagram or plaintext to drop: the word of the vectors, and the index of the frame in error."""

    def __init__(self, code: str, offset: int = 0) -> None:
        super().__init__(code)
        self.code, self.offset = code, offset


def _layout(name: str, code: int, form: str, fields: str) -> Any:
    """A class whose values are written as its code (a first byte, or a type) and its fields."""
    def encode(value: Any) -> bytes:
        values = [getattr(value, field) for field in value.__slots__]
        fixed = len(struct.unpack(form, bytes(struct.calcsize(form))))
        return bytes([code]) + struct.pack(form, *values[:fixed]) + b"".join(values[fixed:])
    return make_dataclass(name, fields.split(), frozen=True, slots=True,
                          namespace={"encode": encode, "CODE": code, "FORM": form, "SIZE": 1 + struct.calcsize(form)})


Initiation = _layout("Initiation", 0x21, ">I8s108s", "sender check noise cookie")
Response = _layout("Response", 0x22, ">I64s", "receiver noise")
Sealed = _layout("Sealed", 0x23, ">II", "receiver counter ciphertext")
Retry = _layout("Retry", 0x24, ">I16s", "receiver cookie")
Ask = _layout("Ask", 0x25, ">8s8s", "token check zeros")
Tell = _layout("Tell", 0x26, ">8s8s48s", "token nonce key")
ZEROS = bytes(48)                                                   # W-14: the end of an ask
LENGTHS = {Initiation: (121, 137), Response: (69,), Sealed: range(27, MAX_DATAGRAM + 1), Retry: (21,), Ask: (65,),
           Tell: (65,)}                                             # W-13


def parse_datagram(data: bytes) -> Datagram:
    """W-12 to W-14."""
    if not data:
        raise WireError("empty")
    if data[0] >> 4 != VERSION:
        raise WireError("version")
    kind = next((kind for kind in LENGTHS if kind.CODE == data[0]), None)
    if kind is None:
        raise WireError("kind")
    if len(data) not in LENGTHS[kind]:
        raise WireError("length")
    values = struct.unpack(kind.FORM, data[1:kind.SIZE])
    datagram = kind(*values, data[kind.SIZE:]) if len(values) < len(kind.__slots__) else kind(*values)
    if kind is Ask and datagram.zeros != ZEROS:
        raise WireError("zeros")
    return datagram


def sealed_header(receiver: int, counter: int) -> bytes:
    """The associated data of a sealed datagram (W-19)."""
    return Sealed(receiver, counter, b"").encode()


Heartbeat = _layout("Heartbeat", 0x01, ">BB", "status interval")
Typing = _layout("Typing", 0x02, ">B", "status")
Ack = _layout("Ack", 0x05, ">IH", "next bitmap")
Ping = _layout("Ping", 0x06, ">H", "token")
Pong = _layout("Pong", 0x07, ">H", "token")
Bye = _layout("Bye", 0x08, ">B", "reason")
Forward = _layout("Forward", 0x09, ">I", "next")


@dataclass(frozen=True, slots=True)
class Record:
    """Type and flags share a byte; the body goes on to the end of the datagram."""

    CODE, SIZE = 0x04, 6
    number: int
    kind: int
    flags: int
    body: bytes

    def encode(self) -> bytes:
        return struct.pack(">BIB", self.CODE, self.number, self.kind << 4 | self.flags) + self.body


@dataclass(frozen=True, slots=True)
class Unknown:
    code: int
    body: bytes

    def encode(self) -> bytes:
        return struct.pack(">BH", self.code, len(self.body)) + self.body


TextID = _layout("TextID", 0x41, ">QQQ", "run number written")
TextID.encode = lambda frame: struct.pack(">BHQQQ", TextID.CODE, 24, frame.run, frame.number, frame.written)


def _parse_skippable(code: int, body: bytes) -> Frame:
    """A frame from 0x40 on. A text ID of another length, or with the number 0, has no effect (M-81)."""
    values = struct.unpack(TextID.FORM, body) if code == TextID.CODE and len(body) == 24 else (0, 0, 0)
    return TextID(*values) if values[1] else Unknown(code, body)


FRAMES = {kind.CODE: kind for kind in (Heartbeat, Typing, Record, Ack, Ping, Pong, Bye, Forward)}


def encode_frames(frames: Sequence[Frame]) -> bytes:
    return b"".join(frame.encode() for frame in frames)


def parse_frames(data: bytes) -> list[Frame]:
    """Returns all frames of a plaintext, or raises for the whole of it (W-24)."""
    if not data:
        raise WireError("empty")
    frames: list[Frame] = []
    at = 0
    while at < len(data):
        kind = FRAMES.get(data[at])
        if data[at] >= FIRST_SKIPPED:
            end = at + 3 + int.from_bytes(data[at + 1:at + 3], "big")
        elif kind is None:
            raise WireError("unknownType", at)                      # W-25
        else:
            end = at + kind.SIZE
            if kind in (Heartbeat, Typing) and any(type(f) in (Heartbeat, Typing) for f in frames):
                raise WireError("twoStatuses", at)                  # W-27
            if any(type(frame) is kind for frame in frames):
                raise WireError("duplicate", at)                    # W-25
        if len(data) < max(end, at + 3 if kind is None else 0):
            raise WireError("truncated", at)
        if kind is Record:
            end = len(data)
        frames.append(_parse_skippable(data[at], data[at + 3:end]) if kind is None
                      else _parse_frame(kind, data[at + 1:end], at))
        at = end
    return frames


def _parse_frame(kind: Any, body: bytes, at: int) -> Frame:
    if kind is Record:
        number, flags = struct.unpack(">IB", body[:5])
        return _parse_record(Record(number, flags >> 4, flags & (FIRST | LAST), body[5:]), at)
    values = struct.unpack(kind.FORM, body)
    if kind in (Heartbeat, Typing):
        values = values[0] & (TYPING | AWAY | UNHEARD), *values[1:]
    return kind(*values) if kind is not Bye or values[0] in REASONS else Bye(QUIT)


def _parse_record(record: Record, at: int) -> Record:
    if record.kind in (NAME, INVITE, SUCCESSOR) and record.flags != FIRST | LAST:
        raise WireError("flags", at)                                # W-40
    if record.kind == TEXT and not record.body:
        raise WireError("emptyText", at)                            # W-28
    if record.kind == TEXT and decode_utf8(record.body) is None:
        raise WireError("notUTF8", at)
    return record


def decode_utf8(data: bytes) -> Optional[str]:
    """W-33: Python's decoder is strict; nothing is a byte order mark."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
