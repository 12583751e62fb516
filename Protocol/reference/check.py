#!/usr/bin/env python3
"""Runs this node's code against the vectors: `python3 check.py [folder]`. Exits with 1 if a case fails.

The conformance suite plays replay.json, timelines.json and the links of links.json against the whole node.
"""

import json
import sys
from pathlib import Path
from typing import Any, Callable

import epochs
from clock import Clock
from invitations import read_record, secret_of_talk
from keys import (ChatKeys, TextError, base32, base64url, chat_name, display_name, fingerprint, key_from_text,
                  read_invite, read_successor, secret_from_text, user_id, write_invite)
from moves import Successor
from noise import HandshakeError, Initiator, KeyPair, Responder, Result
from session import Cipher
from limits import MAX_TEXT, MS, S, UNUSED_COUNTER, WILL_COUNTER
from records import Sender
from wire import (FIRST, LAST, Ack, Ask, Bye, Forward, Frame, Heartbeat, Initiation, Ping, Pong, Record, Response, Retry,
                  Sealed, Tell, TextID, Typing, Unknown, WireError, encode_frames, parse_datagram, parse_frames)

Case = dict[str, Any]
START = 1_000 * S           # time 0 of a timeline
REASONS = {"quit": 0, "left": 1, "suspended": 2, "lastWill": 3, "removed": 6}


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


def refused(action: Callable[[], Any], code: str | None) -> None:
    try:
        result = action()
    except (TextError, WireError, HandshakeError) as error:
        if code is not None:
            same(error.code, code, "error")
        return
    raise Mismatch(f"accepted as {result!r}")


def h(text: str) -> bytes:
    return bytes.fromhex(text)


def token_of(case: Case) -> bytes | None:
    return None if case["token"] is None else h(case["token"])


# derivations.json

def derivation(kind: str, case: Case) -> None:
    chat = parse_chat(case["chat"]) if "chat" in case else ChatKeys("")
    if kind == "userIDs":
        same(user_id(h(case["publicKey"])), case["userID"])
    elif kind == "fingerprints":
        one, other = map(h, case["publicKeys"])
        same((fingerprint(one, other), fingerprint(other, one)), (case["digits"],) * 2)
    elif kind == "chats":
        names = ("chat_key", "psk", "prologue_key", "seal_key", "initiation_key", "ask_key", "name_key")
        fields = ("chatKey", "psk", "prologueKey", "sealKey", "initiationKey", "askKey", "nameKey")
        same([getattr(chat, name).hex() for name in names], [case[field] for field in fields])
    elif kind == "successors":
        successor, former = Successor.read(h(case["body"])), parse_chat(case["former"])
        same((successor.seed.hex(), base64url(successor.owner), [base64url(key) for key in successor.removed]),
             (case["seed"], case["owner"], case["removed"]))
        same((successor.body, base32(successor.secret(former))), (h(case["body"]), case["secret"]))
        same(successor.keys(former).chat_key, chat.chat_key)
    elif kind == "invalidSuccessors":
        refused(lambda: read_successor(h(case["body"])), case["error"])
    elif kind == "chatNames":
        same(chat_name(case["chatName"]).encode(), h(case["bytes"]))
    elif kind == "invalidChatNames":
        refused(lambda: chat_name(case["chatName"]), None)
    elif kind == "secrets":
        same((secret_from_text(case["text"]), base32(h(case["bytes"]))), (h(case["bytes"]), case["text"]))
    elif kind == "keys":
        same((key_from_text(case["text"]), base64url(h(case["bytes"]))), (h(case["bytes"]), case["text"]))
    elif kind in ("invalidSecrets", "invalidKeys"):
        read = secret_from_text if kind == "invalidSecrets" else key_from_text
        refused(lambda: read(case["text"]), case["error"])
    elif kind == "invites":
        owner = key_from_text(case["owner"]) if case["owner"] else b""
        expected = (case["chatName"], secret_from_text(case["secret"]), owner)
        same(read_invite(case["text"]), expected)
        if case["canonical"]:
            same(write_invite(*expected), case["text"])
    elif kind == "invalidInvites":
        refused(lambda: read_invite(case["text"]), None)
    elif kind in ("askChecks", "invalidAskChecks"):
        same(chat.ask_check(h(case["token"])) == h(case["check"]), kind == "askChecks", "fits")
    elif kind == "sealedKeys":
        key, nonce, sealed = h(case["publicKey"]), h(case["nonce"]), h(case["sealedKey"])
        same(chat.seal_static(key, nonce, token_of(case)), sealed)
        same(chat.open_static(sealed, nonce, token_of(case)), key)
    elif kind == "invalidSealedKeys":
        refused(lambda: chat.open_static(h(case["sealedKey"]), h(case["nonce"]), token_of(case)), case["error"])
    elif kind == "instanceNames":
        same(chat.read_instance_name(case["text"]), h(case["nonce"]))
        if case["canonical"]:
            same(chat.instance_name(h(case["nonce"])), case["text"])
    elif kind == "invalidInstanceNames":
        refused(lambda: chat.read_instance_name(case["text"]), case["error"])
    elif kind == "serviceRecords":
        same(chat.read_service_record(h(case["bytes"]), h(case["nonce"])), h(case["publicKey"]))
        if case["canonical"]:
            same(chat.service_record(h(case["publicKey"]), h(case["nonce"])), h(case["bytes"]))
    elif kind == "invalidServiceRecords":
        refused(lambda: chat.read_service_record(h(case["bytes"]), h(case["nonce"])), case["error"])
    elif kind == "talks":
        secret = secret_of_talk(KeyPair(h(case["privateKey"])), h(case["publicKey"]))
        same((base32(secret), ChatKeys("", secret).chat_key), (case["secret"], h(case["chatKey"])))
    elif kind == "invalidTalks":
        refused(lambda: secret_of_talk(KeyPair(h(case["privateKey"])), h(case["publicKey"])), None)
    else:
        raise Mismatch(f"no check for {kind}")


# datagrams.json and frames.json

def datagram(kind: str, case: Case) -> None:
    if kind == "invalid":
        return refused(lambda: parse_datagram(h(case["bytes"])), case["error"])
    of = {key: h(value) if isinstance(value, str) and key not in ("kind", "name") else value
          for key, value in case.items()}
    makers: dict[str, Callable[[], Any]] = {
        "initiation": lambda: Initiation(of["senderIndex"], of["check"], of["noise"], of["cookie"] or b""),
        "response": lambda: Response(of["receiverIndex"], of["noise"]),
        "sealed": lambda: Sealed(of["receiverIndex"], of["counter"], of["ciphertext"]),
        "retry": lambda: Retry(of["receiverIndex"], of["cookie"]),
        "ask": lambda: Ask(of["token"], of["check"], bytes(48)),
        "tell": lambda: Tell(of["token"], of["nonce"], of["key"])}
    expected = makers[case["kind"]]()
    same(parse_datagram(of["bytes"]), expected)
    same(expected.encode(), of["bytes"], "encoded")


def frame(kind: str, case: Case) -> None:
    if kind == "names":
        return same(display_name(h(case["body"])), case["displayName"])
    if kind == "invites":
        target = read_record(h(case["body"]), key_from_text(case["sender"]), KeyPair(bytes(range(32))))
        return same("nothing" if target is None else "knock" if target.name is None else "invite", case["takes"])
    data = h(case["bytes"])
    if kind == "invalid":
        refused(lambda: parse_frames(data), case["error"])
        try:
            parse_frames(data)
        except WireError as error:
            same(error.offset, case["offset"], "offset")
        return
    expected = [frame_from(f) for f in case["frames"]]
    same(parse_frames(data), expected)
    if case["reencodes"]:
        same(encode_frames(expected), data, "encoded")


# handshake.json

VALID: list[Case] = []


def initiator(case: Case, chat: ChatKeys) -> Initiator:
    side = case["initiator"]
    return Initiator(KeyPair(h(side["staticPrivate"])), h(side["ephemeralPrivate"]),
                     h(case["responder"]["staticPublic"]), chat.psk, chat.prologue(side["index"]), h(side["run"]),
                     side["epoch"])


def answer(case: Case, chat: ChatKeys, data: bytes) -> tuple[bytes, Result]:
    """All that a responder does with an initiation; a zero result in its own message counts as the initiation's."""
    parsed, side = parse_datagram(data), case["responder"]
    assert isinstance(parsed, Initiation)
    noise = Responder(KeyPair(h(side["staticPrivate"])), parsed.noise, chat.prologue(parsed.sender))
    return noise.answer(h(side["ephemeralPrivate"]), chat.psk, side["index"], h(side["run"]), side["epoch"])


def handshake(kind: str, case: Case) -> None:
    if kind == "valid":
        VALID.append(case)
        return valid_handshake(case)
    of = VALID[case["of"]]
    chat = parse_chat(of["chat"])
    data = h(case.get("initiation") or case["response"])
    if case["stage"] == "parse":
        refused(lambda: parse_datagram(data), case["error"])
    elif case["stage"] == "check":
        parsed = parse_datagram(data)
        assert isinstance(parsed, Initiation)
        same(parsed.check == chat.initiation_check(parsed.sender, parsed.noise), False, "check")
    elif case["stage"] == "index":
        parsed = parse_datagram(data)
        assert isinstance(parsed, Response)
        same(parsed.receiver == of["initiator"]["index"], False, "pending")
    elif case["stage"] == "initiation":
        parsed = parse_datagram(data)
        assert isinstance(parsed, Initiation)
        same(parsed.check, chat.initiation_check(parsed.sender, parsed.noise), "check")
        refused(lambda: answer(of, chat, data), case["error"])
    else:
        side = initiator(of, chat)
        refused(lambda: side.finish(data[5:]), case["error"])
        side.finish(h(of["message2"]))                          # L-7: it is as it was


def valid_handshake(case: Case) -> None:
    chat = parse_chat(case["chat"])
    first, sender = initiator(case, chat), case["initiator"]["index"]
    same(chat.prologue(sender), h(case["prologue"]), "prologue")
    if first.message[:32] != h(case["message1"])[:32]:          # a key that no node sends, and each takes
        return valid_answer(case, chat, h(case["initiation"]))
    same(first.message, h(case["message1"]), "message 1")
    check = chat.initiation_check(sender, first.message)
    same(check, h(case["check"]), "check")
    same(Initiation(sender, check, first.message, b"").encode(), h(case["initiation"]), "initiation")
    with_cookie = Initiation(sender, check, first.message, h(case["cookie"]))
    same(with_cookie.encode(), h(case["initiationWithCookie"]), "cookie")
    keys = (h(case["initiatorToResponderKey"]), h(case["responderToInitiatorKey"]))
    digest = h(case["handshakeHash"])
    one, other = case["initiator"], case["responder"]
    message = valid_answer(case, chat, h(case["initiation"]))
    same(first.finish(message), Result(other["index"], h(other["run"]), other["epoch"], *keys, digest), "initiator")
    for entry in case["sealed"]:
        is_initiators = entry["from"] == "initiator"
        sealed("valid", {**entry, "key": keys[not is_initiators].hex(),
                         "receiverIndex": (other if is_initiators else one)["index"]})


def valid_answer(case: Case, chat: ChatKeys, data: bytes) -> bytes:
    one = case["initiator"]
    keys, digest = (h(case["responderToInitiatorKey"]), h(case["initiatorToResponderKey"])), h(case["handshakeHash"])
    message, result = answer(case, chat, data)
    same(message, h(case["message2"]), "message 2")
    same(Response(one["index"], message).encode(), h(case["response"]), "response")
    same(result, Result(0, h(one["run"]), one["epoch"], *keys, digest), "responder")
    return message


# sealed.json

def sealed(kind: str, case: Case) -> None:
    cipher, data = Cipher(h(case["key"])), h(case["bytes"])
    try:
        parsed = parse_datagram(data)
    except WireError as error:
        return same((kind, error.code), ("invalid", case["error"]))
    assert isinstance(parsed, Sealed)
    plaintext = cipher.open(parsed)
    if kind == "valid":
        same(cipher.seal(case["receiverIndex"], case["counter"], h(case["plaintext"])), data, "sealed")
        return same(plaintext, h(case["plaintext"]), "opened")
    if plaintext is None:
        return same("authentication", case["error"])
    if parsed.counter == UNUSED_COUNTER:
        return same("counter", case["error"])
    try:
        frames = parse_frames(plaintext)
    except WireError:
        return same(case["error"] in ("frames", "lastWill"), True)
    is_will = len(frames) == 1 and isinstance(frames[0], Bye)
    same((parsed.counter, is_will, case["error"]), (WILL_COUNTER, False, "lastWill"))


# epochs.json

class LinkOf:
    def __init__(self, case: Case) -> None:
        self.own_epoch, self.peer_epoch, self.is_down = case["own"], case["peer"], case["state"] == "down"


def link_of(case: Case | None) -> LinkOf | None:
    return None if case is None else LinkOf(case)


def epoch_case(kind: str, case: Case) -> None:
    if kind == "counters":
        return counter_case(case)
    for row in case["rows"]:
        same(epoch_row(kind, row), row["result"], str(row))


def epoch_row(kind: str, row: Case) -> Any:
    link = link_of(row.get("link"))
    if kind == "answers":
        epoch = epochs.epoch_to_answer(link, row["keyEpoch"], row["epoch"])
        return {"decision": "drop"} if epoch is None else {"decision": "answer", "epoch": epoch}
    if kind == "initiations":
        return epochs.epoch_to_name(link, [LinkOf(other) for other in row["downLinks"]], row["keyEpoch"])
    if kind == "responses":
        decision, epoch = epochs.decide_on_response(link, row["keyEpoch"], row["named"], row["epoch"], row["isSecond"])
        if decision == epochs.HANDSHAKE:
            return {"decision": decision, "epoch": epoch}
        pair = (row["named"], row["epoch"])
    else:
        decision, pair = epochs.decide_on_joining(link, row["own"], row["peer"]), (row["own"], row["peer"])
    return {"decision": decision, **({"pair": list(pair)} if decision in ("make", "join", "replace") else {})}


def counter_case(case: Case) -> None:
    counters: dict[str, epochs.EpochCounter] = {}
    for step in case["steps"]:
        counter = counters.setdefault(step["chat"], epochs.EpochCounter(case["counter"]))
        key, result = step["key"].encode(), {}
        if step["do"] == "drop":
            counter.drop(key)
        else:
            try:
                if step["do"] == "forget":
                    counter.advance(key)
                result = {"epoch": counter.of(key)}
            except epochs.EpochsUsedUp:
                result = {"newRun": True}
        same(result, step["result"], str(step))


# links.json

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


def sender(_: str, case: Case) -> None:
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


FILES: dict[str, Callable[[str, Case], None]] = {
    "derivations": derivation, "datagrams": datagram, "frames": frame, "handshake": handshake, "sealed": sealed,
    "epochs": epoch_case, "links": sender}
# The conformance suite tries these on the whole node: L-31, and both ends of a link.
PLAYED = {("epochs", "others"), ("links", "states"), ("links", "receiver")}


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "vectors"
    passed: dict[str, int] = {}
    failed = 0
    for file, run in FILES.items():
        for kind, cases in json.loads((folder / f"{file}.json").read_text("utf-8")).items():
            for case in cases if (file, kind) not in PLAYED else []:
                try:
                    run(kind, case)
                    passed[file] = passed.get(file, 0) + 1
                except Exception as error:  # noqa: BLE001: whatever a case does, the others run
                    failed += 1
                    print(f"FAILED {file} {kind}: {case['name']}: {type(error).__name__}: {error}")
    print(", ".join(f"{file} {count}" for file, count in passed.items()), f"passed; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
