#!/usr/bin/env python3
"""Runs the node's own code against the vectors: `python3 check.py [folder of the vectors]`. Exit status 1 if one fails.

Left out are the TXT records of derivations.json, as this node has no discovery.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import check_timelines
from handshake import HandshakeError, Initiator, KeyPair, Responder
from limits import FORBIDDEN_COUNTER
from names import (TextError, chat_keys, chat_name, invite, key_from_text, key_mask, key_to_text, masked, read_invite,
                   secret_from_text, secret_to_text, user_id)
from session import Cipher, Session
from wire import (Ack, Ask, Bye, Frame, Heartbeat, Hello, Initiation, Message, Ping, Pong, Response, Retry, Sealed,
                  Tell, Typing, Unknown, WireError, parse_datagram, parse_frames)

Case = dict[str, Any]
REASONS = ["quit", "left", "suspended", "lastWill", "removed", "unheard"]


class Mismatch(AssertionError):
    """What a case found."""


def same(actual: Any, expected: Any, what: str = "") -> None:
    if actual != expected:
        raise Mismatch(f"{what}: {actual!r} instead of {expected!r}")


def refused(action: Callable[[], Any], code: str | None, *errors: type[Exception]) -> None:
    try:
        result = action()
    except errors as error:
        if code is not None:
            same(error.code, code, "error")  # type: ignore[attr-defined]
        return
    raise Mismatch(f"accepted as {result!r}")


def h(text: str) -> bytes:
    return bytes.fromhex(text)


# derivations.json

def secret_of(chat: Case) -> bytes | None:
    return secret_from_text(chat["secret"]) if "secret" in chat else None


def derivation(kind: str, case: Case) -> None:
    if kind == "userIDs":
        same(user_id(h(case["publicKey"])), case["userID"])
    elif kind == "openChats":
        same(chat_keys(chat_name(case["chatName"]), None), (h(case["tag"]), h(case["psk"])))
    elif kind == "secretChats":
        same(chat_keys("any", h(case["secret"])), (h(case["tag"]), h(case["psk"])))
    elif kind == "keyMasks":
        secret, nonce, key = (h(case[f]) for f in ("secret", "nonce", "publicKey"))
        same(key_mask(secret, nonce), h(case["mask"]), "mask")
        same(masked(key, secret, nonce), h(case["maskedKey"]), "masked key")
    elif kind == "invalidChatNames":
        refused(lambda: chat_name(case["chatName"]), None, TextError)
    elif kind == "secrets":
        same((secret_from_text(case["text"]), secret_to_text(h(case["bytes"]))), (h(case["bytes"]), case["text"]))
    elif kind == "keys":
        same((key_from_text(case["text"]), key_to_text(h(case["bytes"]))), (h(case["bytes"]), case["text"]))
    elif kind in ("invalidSecrets", "invalidKeys"):
        read = secret_from_text if kind == "invalidSecrets" else key_from_text
        refused(lambda: read(case["text"]), case["error"], TextError)
    elif kind == "invites":
        secret = secret_from_text(case["secret"])
        same(read_invite(case["text"]), (case["chatName"], secret))
        if case["canonical"]:
            same(invite(case["chatName"], secret), case["text"])
    elif kind == "invalidInvites":
        refused(lambda: read_invite(case["text"]), None, TextError)


# datagrams.json

def datagram(kind: str, case: Case) -> None:
    if kind == "invalid":
        refused(lambda: parse_datagram(h(case["bytes"])), case["error"], WireError)
        return
    makers: dict[str, Callable[[], Any]] = {
        "initiation": lambda: Initiation(case["senderIndex"], h(case["tag"]), h(case["noise"]),
                                         h(case["cookie"] or "")),
        "response": lambda: Response(case["receiverIndex"], h(case["noise"])),
        "sealed": lambda: Sealed(case["receiverIndex"], case["counter"], h(case["ciphertext"])),
        "retry": lambda: Retry(case["receiverIndex"], h(case["cookie"])),
        "ask": lambda: Ask(h(case["tag"]), case["token"]),
        "tell": lambda: Tell(case["token"], h(case["nonce"]), h(case["key"]))}
    expected = makers[case["kind"]]()
    same(parse_datagram(h(case["bytes"])), expected)
    same(expected.encode(), h(case["bytes"]), "encoded")


# frames.json

def frame_from(case: Case, resolve: Callable[[Any], int] = int) -> Frame:
    """A frame as the vectors write it."""
    kind = case["type"]
    status = (1 if case.get("typing") else 0) | (2 if case.get("away") else 0)
    if kind == "heartbeat":
        return Heartbeat(status, case["interval"])
    if kind == "typing":
        return Typing(status)
    if kind == "hello":
        return Hello(h(case["run"]), case["stream"], resolve(case["held"]), case["next"], case["name"])
    if kind == "message":
        flags = (1 if case["first"] else 0) | (2 if case["last"] else 0)
        return Message(resolve(case["stream"]), case["record"], flags, case["text"])
    if kind == "ack":
        return Ack(resolve(case["stream"]), case["next"], case["bitmap"])
    if kind in ("ping", "pong"):
        return (Ping if kind == "ping" else Pong)(case["token"])
    if kind == "bye":
        return Bye(REASONS.index(case["reason"]))
    return Unknown(case["code"], h(case["body"]))


def frame(kind: str, case: Case) -> None:
    data = h(case["bytes"])
    if kind == "invalid":
        refused(lambda: parse_frames(data), case["error"], WireError)
        try:
            parse_frames(data)
        except WireError as error:
            same(error.offset, case["offset"], "offset")
        return
    expected = [frame_from(f) for f in case["frames"]]
    same(parse_frames(data), expected)
    if case.get("reencodes", True):
        same(b"".join(f.encode() for f in expected), data, "encoded")


# handshake.json

VALID: list[Case] = []


def handshake(kind: str, case: Case) -> None:
    if kind == "valid":
        VALID.append(case)
        valid_handshake(case)
        return
    of = VALID[case["of"]]
    if case["stage"] == "parse":
        refused(lambda: parse_datagram(h(case.get("initiation") or case["response"])), case["error"], WireError)
    elif case["stage"] == "initiation":
        refused(lambda: read_initiation(of, h(case["initiation"])), case["error"], HandshakeError)
    else:
        side = initiator(of)
        refused(lambda: side.finish(h(case["response"])[5:]), case["error"], HandshakeError)
        side.finish(h(of["message2"]))  # L-7: as it was


def initiator(case: Case) -> Initiator:
    side = case["initiator"]
    return Initiator(KeyPair(h(side["staticPrivate"])), h(side["ephemeralPrivate"]),
                     h(case["responder"]["staticPublic"]), h(case["psk"]), h(case["header"]))


def read_initiation(case: Case, data: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """All that a responder does; a zero result in its own message counts as the initiation's."""
    parsed = parse_datagram(data)
    assert isinstance(parsed, Initiation)
    side = case["responder"]
    noise = Responder(KeyPair(h(side["staticPrivate"])), parsed.noise, parsed.header())
    same(noise.static, h(case["initiator"]["staticPublic"]), "static key")
    return noise.answer(h(side["ephemeralPrivate"]), h(case["psk"]), side["index"])


def valid_handshake(case: Case) -> None:
    first = initiator(case)
    header, sender = h(case["header"]), case["initiator"]["index"]
    same(Initiation(sender, h(case["tag"]), b"").header(), header, "header")
    same(chat_keys(case["chat"].get("open", "any"), secret_of(case["chat"])), (h(case["tag"]), h(case["psk"])))
    same(first.message, h(case["message1"]), "message 1")
    same(header + first.message + h(case["cookie"]), h(case["initiationWithCookie"]), "with cookie")
    keys = (h(case["initiatorToResponderKey"]), h(case["responderToInitiatorKey"]))
    message, send, receive, digest = read_initiation(case, h(case["initiation"]))
    same((message, receive, send, digest), (h(case["message2"]), *keys, h(case["handshakeHash"])), "responder")
    same(Response(sender, message).encode(), h(case["response"]), "response")
    same(first.finish(message), (case["responder"]["index"], *keys, h(case["handshakeHash"])), "initiator")
    for sealed_case in case["sealed"]:
        by_initiator = sealed_case["from"] == "initiator"
        sealed("valid", {**sealed_case, "key": keys[not by_initiator].hex(),
                         "receiverIndex": case["responder" if by_initiator else "initiator"]["index"]})


# sealed.json and replay.json

def session_with(key: bytes) -> Session:
    return Session(None, b"", True, 0, 0, bytes(32), key, 0, ("", 0))  # type: ignore[arg-type]


def sealed(kind: str, case: Case) -> None:
    key, data = h(case["key"]), h(case["bytes"])
    if kind == "valid":
        same(Cipher(key).seal(case["receiverIndex"], case["counter"], h(case["plaintext"])), data, "sealed")
        parsed = parse_datagram(data)
        assert isinstance(parsed, Sealed)
        same(Cipher(key).open(parsed), h(case["plaintext"]), "opened")
        return
    try:
        parsed = parse_datagram(data)
    except WireError:
        same(case["error"], "length")
        return
    assert isinstance(parsed, Sealed)
    opens = Cipher(key).open(parsed) is not None
    same(opens, case["error"] != "authentication", "authenticates")
    if case["error"] == "counter":
        same(parsed.counter, FORBIDDEN_COUNTER)
    same(session_with(key).open(parsed), None, "frames")


def replay(kind: str, case: Case) -> None:
    session, key = session_with(bytes(32)), Cipher(bytes(32))
    for step in case["counters"]:
        will = step["counter"] == 2**32 - 1
        parsed = parse_datagram(key.seal(0, step["counter"], (Bye(3) if will else Typing(0)).encode()))
        assert isinstance(parsed, Sealed)
        same(session.open(parsed) is not None, step["accept"], f"counter {step['counter']}")


FILES: dict[str, Callable[[str, Case], None]] = {
    "derivations": derivation, "datagrams": datagram, "frames": frame, "handshake": handshake, "sealed": sealed,
    "replay": replay, "timelines": check_timelines.typing_timeline, "links": check_timelines.link_timeline}
LEFT_OUT = ("serviceRecords", "invalidServiceRecords")


def cases(folder: Path) -> Iterator[tuple[str, str, Case]]:
    for file in FILES:
        for kind, listed in json.loads((folder / f"{file}.json").read_text("utf-8")).items():
            if isinstance(listed, list) and kind not in LEFT_OUT:
                yield from ((file, kind, case) for case in listed)


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "vectors"
    passed: dict[str, int] = {}
    failed = 0
    for file, kind, case in cases(folder):
        try:
            FILES[file](kind, case)
            passed[file] = passed.get(file, 0) + 1
        except Exception as error:  # noqa: BLE001: whatever a case does, the others are run
            failed += 1
            print(f"FAILED {file} {kind}: {case['name']}: {type(error).__name__}: {error}")
    print(", ".join(f"{file} {count}" for file, count in passed.items()), f"passed; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.modules["check"] = sys.modules["__main__"]
    sys.exit(main())
