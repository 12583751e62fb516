#!/usr/bin/env python3
"""Tests the Wireshark dissector with tshark; needs nothing but the standard library.

    test.py                 against the vectors, and on sessions of its own
    test.py PROGRAM         and on a capture of two nodes, PROGRAM being `inkling` or main.py of the reference; needs
                            root, unshare and ip
    test.py --example FOLDER    tests nothing; writes the example of README.md as example.pcap and example.keys

Exit status 0 if all is as it should be, 1 with what is not, 77 if a program that the test needs is missing.
"""

import json
import os
import shutil
import struct
import sys
import tempfile
import unicodedata
from pathlib import Path

from captures import Capture, dissected, dns_record, dns_response, infos, infos_while, shown
from nodes import capture_nodes
from sealing import End, OpenChat, handshake, sealed

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "vectors"
FORCED_PORT = 7000
LAST_WILL_COUNTER = 2**32 - 1
KINDS = {"initiation": 1, "response": 2, "sealed": 3, "retry": 4, "ask": 5, "tell": 6}
REASONS = {0: "quit", 1: "left", 2: "suspended", 3: "lastWill", 6: "removed"}
FRAME_TYPES = {"textID": 0x41, "heartbeat": 1, "typing": 2, "record": 4, "ack": 5, "ping": 6, "pong": 7, "bye": 8, "forward": 9}
# The frame errors of the vectors by the names that the dissector has for them.
FRAME_ERRORS = {
    "empty": "no_frames", "truncated": "truncated", "unknownType": "unknown_type", "duplicate": "duplicate",
    "twoStatuses": "two_statuses", "flags": "flags", "emptyText": "empty_text", "notUTF8": "not_utf8",
}

problems = []
checks = 0


def check(what, found, expected):
    global checks
    checks += 1
    if found != expected:
        problems.append(f"{what}: {found!r}, not {expected!r}")


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


def entry_of(chat):
    """A chat of the vectors as the preference `chats` has it."""
    if "open" in chat:
        return unicodedata.normalize("NFC", chat["open"]).replace("%", "%25").replace(",", "%2C")
    return f"inkling:secret#{chat['secret']}" + (f"@{chat['owner']}" if "owner" in chat else "")


# Datagrams

def check_datagram(name, packet, case):
    """Compares a datagram with its vector."""
    check(f"{name}: version", packet.number("version"), 2)
    check(f"{name}: kind", packet.number("kind"), KINDS[case["kind"]])
    for field, key in [("sender_index", "senderIndex"), ("receiver_index", "receiverIndex"), ("counter", "counter")]:
        check(f"{name}: {field}", packet.number(field), case.get(key))
    for field, key in [("check", "check"), ("noise", "noise"), ("cookie", "cookie"), ("token", "token"),
                       ("nonce", "nonce"), ("sealed_key", "key")]:
        check(f"{name}: {field}", packet.hex(field), [case[key]] if case.get(key) else [])
    parts = "".join("".join(packet.hex(f"noise.{part}")) for part in ("ephemeral", "static", "payload"))
    check(f"{name}: the parts of the Noise message", parts, case.get("noise", ""))
    if "ciphertext" in case:
        check(f"{name}: ciphertext", packet.hex("frames.sealed") + packet.hex("authentication_tag"),
              [case["ciphertext"][:-32], case["ciphertext"][-32:]])
        check(f"{name}: length", packet.number("frames.length"), len(case["ciphertext"]) // 2 - 16)
    check(f"{name}: errors", packet.errors(), [])


def test_datagrams(folder):
    cases = vectors("datagrams")
    by_form, by_port = Capture(), Capture()
    decode_as = ["-d", f"udp.port=={FORCED_PORT},inkling"]
    everything = cases["valid"] + cases["invalid"]
    for number, case in enumerate(everything):
        payload = bytes.fromhex(case["bytes"])
        # Each between two endpoints of its own, so that none is recognised by what came before it.
        by_form.add(((1, 1), 20000 + number), ((1, 2), 30000 + number), payload)
        by_port.add(((1, 1), 20000 + number), ((1, 2), FORCED_PORT), payload)
    ports = {"ports": f"1-9,{FORCED_PORT}-{FORCED_PORT + 9}"}
    for capture, arguments, preferences in [(by_form, [], {}), (by_port, [], ports), (by_port, decode_as, {})]:
        path = folder / "datagrams.pcap"
        capture.write(path)
        for case, packet in zip(everything, dissected(path, *arguments, **preferences), strict=True):
            if "kind" in case:
                check_datagram(case["name"], packet, case)
            elif capture is by_form or not case["bytes"]:
                check(f"{case['name']}: recognised", packet.inkling is not None, False)
            else:
                check(f"{case['name']}: errors", packet.errors(), [case["error"]])


# Frames

def check_frames(name, packet, frames):
    """Compares opened frames with those of a vector."""
    codes = [frame["code"] if frame["type"] == "unknown" else FRAME_TYPES[frame["type"]] for frame in frames]
    check(f"{name}: types", [int(show, 0) for show in packet.shown("frame.type")], codes)

    def of(*types):
        return [frame for frame in frames if frame["type"] in types]

    def numbers(field, expected):
        check(f"{name}: {field}", [int(show, 0) for show in packet.shown(field)], [int(one) for one in expected])

    for bit in ["typing", "away", "unheard"]:
        numbers(f"status.{bit}", [frame[bit] for frame in of("heartbeat", "typing")])
    numbers("interval", [frame["interval"] for frame in of("heartbeat")])
    numbers("record", [frame["number"] for frame in of("record")])
    numbers("record.type", [frame["recordType"] for frame in of("record")])
    for flag in ["first", "last"]:
        numbers(f"record.{flag}", [frame[flag] for frame in of("record")])
    for record in of("record"):
        field = {0: "text", 1: "name", 2: "invite"}.get(record["recordType"], "body")
        body = packet.hex(f"record.{field}")
        if record["recordType"] == 3 and not body:
            body = ["".join(body) + "".join("".join(packet.hex(f"successor.{part}")) for part in
                                            ("seed", "owner", "count", "removed"))]
        check(f"{name}: body", "".join(body), record["body"])
    for field in ["next", "bitmap"]:
        numbers(f"ack.{field}", [frame[field] for frame in of("ack")])
    for kind in ["ping", "pong"]:
        numbers(f"{kind}.token", [frame["token"] for frame in of(kind)])
    numbers("forward.next", [frame["next"] for frame in of("forward")])
    # An unassigned reason counts as quit.
    reasons = [int(show, 0) for show in packet.shown("bye.reason")]
    check(f"{name}: reason", [REASONS.get(reason, "quit") for reason in reasons],
          [frame["reason"] for frame in of("bye")])
    check(f"{name}: text ID", [*zip(packet.hex("text_id.run"), map(int, packet.shown("text_id.number")))],
          [(frame["run"], frame["textNumber"]) for frame in of("textID")])
    check(f"{name}: body", packet.hex("unknown.body"), [frame["body"] for frame in of("unknown") if frame["body"]])
    check(f"{name}: errors", packet.errors(), [])


def displayed(body):
    """Whether a name is shown as it is (M-25)."""
    return len(body) <= 64 and is_utf8(body)


def notes_of(case):
    """The notes of valid frames: something unassigned or passed over, and a name that is taken as empty."""
    is_skipped = any(frame["type"] == "unknown" or frame.get("recordType", 0) > 3 for frame in case["frames"])
    names = [bytes.fromhex(frame["body"]) for frame in case["frames"] if frame.get("recordType") == 1]
    return (["no_name"] if not all(map(displayed, names)) else []) + (
        ["unassigned"] if is_skipped or not case["reencodes"] else [])


def test_frames(folder):
    """Frames as in frames.json, sealed here; the file of keys has others for the same index before the right one."""
    cases = vectors("frames")
    key, index = bytes(range(32)), 0x0A0B0C0D
    capture = Capture()
    # The shortest frames are 2 bytes; a datagram of less is not one of this kind.
    everything = [case for case in cases["valid"] + cases["invalid"] if len(case["bytes"]) >= 4]
    # A successor whose bytes all differ, and one with another count of removed keys.
    for count, name in [(2, "a successor with two removed keys"), (3, "a successor of another form")]:
        body = bytes(range(48)) + count.to_bytes(2, "big") + bytes(range(100, 164))
        record = {"type": "record", "number": 4, "recordType": 3, "first": True, "last": True, "body": body.hex()}
        everything.append({"name": name, "bytes": "040000000433" + body.hex(), "frames": [record], "reencodes": True})
    plaintexts = [case["bytes"] for case in everything] + ["040000000013" + case["body"] for case in cases["names"]]
    for counter, plaintext in enumerate(plaintexts):
        capture.add(((1, 1), 20000), ((1, 2), 30000), sealed(key, index, counter, bytes.fromhex(plaintext)))
    path, key_file = folder / "frames.pcap", folder / "frames.keys"
    capture.write(path)
    others = "".join(f"{index:08x} {bytes([number] * 32).hex()}\n" for number in range(3))
    key_file.write_text(f"# a comment\n\n{others}{index:08X}  {key.hex().upper()} # what Alice gets\n")
    packets = dissected(path, key_file=key_file)
    for case, packet in zip(everything, packets):
        if case["name"].startswith("a successor "):
            has_form = "two" in case["name"]
            check(f"{case['name']}: keys", len(packet.hex("successor.removed")), 2 if has_form else 0)
            owner = bytes(range(16, 48)).hex()
            check(f"{case['name']}: owner", packet.hex("successor.owner"), [owner] if has_form else [])
        if "frames" in case:
            check_frames(case["name"], packet, case["frames"])
            check(f"{case['name']}: notes", packet.notes(), notes_of(case))
        else:
            check(f"{case['name']}: errors", packet.errors(), [FRAME_ERRORS[case["error"]]])
            check(f"{case['name']}: offset", len("".join(packet.hex("frame")[:-1])) // 2, case["offset"])
    for case, packet in zip(cases["names"], packets[len(everything):], strict=True):
        body = bytes.fromhex(case["body"])
        check(f"{case['name']}: shown", packet.hex("record.name"), [case["body"]])
        check(f"{case['name']}: taken", "no_name" not in packet.notes(), body.decode("utf-8", "replace") ==
              case["displayName"] if displayed(body) else False)
    for info in infos(path):
        check("frames without a key", info.endswith("of frames"), True)


def is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_acks(folder):
    """The words for records that an ack names beyond the next one, and for a forward."""
    key, index = bytes(32), 1
    acks = [(1, 0, "ack 1"), (5, 5, "ack 5 and 6, 8"), (0, 0x8000, "ack 0 and 16"),
            (2**32 - 1, 1, "ack 4294967295 and 4294967296")]
    capture = Capture()
    plaintexts = [struct.pack(">BIH", 5, expected, bitmap) for expected, bitmap, _ in acks]
    for counter, plaintext in enumerate([*plaintexts, bytes.fromhex("0900000003")]):
        capture.add(((1, 1), 5001), ((1, 2), 5002), sealed(key, index, counter, plaintext))
    path, key_file = folder / "acks.pcap", folder / "acks.keys"
    capture.write(path)
    key_file.write_text(f"{index:08x} {key.hex()}")
    found = [info.split(", ", 1)[1] for info in infos(path, key_file=key_file)]
    check("the words for acks", found, [words for _, _, words in acks] + ["forward to 3"])


def test_sealed(folder):
    cases = vectors("sealed")
    everything = cases["valid"] + cases["invalid"]
    capture = Capture()
    for number, case in enumerate(everything):
        capture.add(((1, 1), 20000 + number), ((1, 2), FORCED_PORT), bytes.fromhex(case["bytes"]))
    path, key_file = folder / "sealed.pcap", folder / "sealed.keys"
    capture.write(path)
    indices = {case["bytes"][2:10] for case in everything if len(case["bytes"]) >= 54}
    keys = {(index, case["key"]) for case in everything for index in indices if "another key" not in case["name"]}
    key_file.write_text("".join(f"{index} {key}\n" for index, key in sorted(keys)))
    for case, packet in zip(everything, dissected(path, ports=FORCED_PORT, key_file=key_file), strict=True):
        name = case["name"]
        if "error" not in case:
            check(f"{name}: index", packet.number("receiver_index"), case["receiverIndex"])
            check(f"{name}: counter", packet.number("counter"), case["counter"])
            check(f"{name}: errors", packet.errors(), [])
            check(f"{name}: last will", "last_will" in packet.notes(), case["counter"] == LAST_WILL_COUNTER)
            # The bytes of all frames, in order, are the plaintext.
            check(f"{name}: frames", "".join(packet.hex("frame")), case["plaintext"])
        elif case["error"] == "frames":
            check(f"{name}: errors", len(packet.errors()) == 1 and packet.errors()[0] in FRAME_ERRORS.values(), True)
        else:
            # Two byes are an error in any datagram.
            error = "last_will" if case["error"] == "lastWill" else case["error"]
            check(f"{name}: errors", packet.errors(), ["duplicate" if "two byes" in name else error])


# Handshakes

def private_lines(*ends):
    """Lines of a key file, for ends of a handshake of the vectors."""
    return "".join(f"private {end[key]}\n" for end in ends for key in ("staticPrivate", "ephemeralPrivate"))


def handshake_capture():
    """The valid handshakes and the datagrams after them. Each datagram has its case, the fields that are always shown,
    and those that private keys open.
    """
    capture, expected = Capture(), []
    users = {case["publicKey"]: case["userID"] for case in vectors("derivations")["userIDs"]}
    for session, case in enumerate(vectors("handshake")["valid"]):
        initiator, responder = ((2 + session, 1), 5001), ((2 + session, 2), 5002)
        state = {3: 0, 4: 0}.get(session, session)
        opened_initiator, opened_responder = (
            {"run": case[end]["run"], "epoch": case[end]["epoch"]} for end in ("initiator", "responder"))

        def add(is_initiator, payload, opened=None, **fields):
            ends = (initiator, responder) if is_initiator else (responder, initiator)
            expected.append((case, {"session": session, **fields}, {"state": state, **(opened or {})}))
            return capture.add(*ends, bytes.fromhex(payload))

        index, first = case["initiator"]["index"], len(capture.packets) + 1
        frames = {"initiation_frame": first, "response_frame": first + 3}
        opened_initiator |= {"key": case["initiator"]["staticPublic"], "user_id": users.get(
            case["initiator"]["staticPublic"])}
        add(True, case["initiation"], opened_initiator, kind=1, sender_index=index, response_frame=first + 3)
        add(False, struct.pack(">BI", 0x24, index).hex() + case["cookie"], kind=4, receiver_index=index, **frames)
        add(True, case["initiationWithCookie"], opened_initiator, kind=1, sender_index=index, first_frame=first,
            retry_frame=first + 1, response_frame=first + 3)
        add(False, case["response"], {**opened_responder, "responder_index": case["responder"]["index"]}, kind=2,
            receiver_index=index, initiation_frame=first)
        for datagram in case["sealed"]:
            is_initiator = datagram["from"] == "initiator"
            sender, receiver = (case[end] for end in (("initiator", "responder") if is_initiator else
                                                      ("responder", "initiator")))
            add(is_initiator, datagram["bytes"], {"sender": users.get(sender["staticPublic"])}, kind=3,
                receiver_index=receiver["index"], counter=datagram["counter"], direction=1 if is_initiator else 2,
                plaintext=datagram["plaintext"], **frames)
    return capture, expected


CHATS = "lobby, inkling:Team%20Lunch#aaaqeayeaudaocajbifqydiob4," \
    "inkling:a%2Cb#aaaqeayeaudaocajbifqydiob4@zEQ4EaeBoq0nuAbKAJVpbKa4s4sXP4MxwehdbjanFiE"


def check_handshakes(name, packets, expected, is_opened, has_keys):
    for number, ((case, fields, opened), packet) in enumerate(zip(expected, packets), 1):
        what = f"{name}, {case['name']}, frame {number}"
        for field in ["kind", "session", "sender_index", "receiver_index", "counter", "direction", "initiation_frame",
                      "response_frame", "retry_frame", "first_frame"]:
            check(f"{what}: {field}", packet.number(field), fields.get(field))
        for field in ["state", "epoch", "responder_index"]:
            check(f"{what}: {field}", packet.number(field), opened.get(field) if is_opened else None)
        for field in ["run", "key"]:
            check(f"{what}: {field}", packet.hex(field), [opened[field]] if is_opened and field in opened else [])
        for field in ["user_id", "sender"]:
            if opened.get(field):
                check(f"{what}: {field}", packet.shown(field), [opened[field]] if is_opened else [])
        chat = case["chat"].get("open") or ("a,b" if "owner" in case["chat"] else "Team Lunch")
        check(f"{what}: chat", packet.shown("chat"), [chat])
        check(f"{what}: frames", "".join(packet.hex("frame")), fields.get("plaintext", "") if has_keys else "")
        check(f"{what}: errors", packet.errors(), [])


def test_handshakes(folder):
    """Whole sessions, though the indices of two repeat: without keys, with transport keys, and with private keys."""
    capture, expected = handshake_capture()
    # A datagram again, and one that is cut off by the capture.
    cases = vectors("handshake")["valid"]
    last = bytes.fromhex(cases[0]["sealed"][4]["bytes"])
    ends = ((2, 1), 5001), ((2, 2), 5002)
    capture.add(*ends, last)
    again = len(capture.packets)
    for captured in (12, 8):
        capture.add(*ends, last, 14 + 20 + 8 + captured)
    path, key_file = folder / "handshakes.pcap", folder / "handshakes.keys"
    capture.write(path)
    check_handshakes("without keys", dissected(path, chats=CHATS), expected, False, False)
    transport = "".join(f"{case['responder']['index']:08x} {case['initiatorToResponderKey']}\n"
                        f"{case['initiator']['index']:08x} {case['responderToInitiatorKey']}\n" for case in cases)
    key_file.write_text(transport)
    packets = dissected(path, key_file=key_file, chats=CHATS)
    check_handshakes("with transport keys", packets, expected, False, True)
    check("a datagram again: notes", packets[again - 1].notes(), ["repeated"])
    check("a datagram again: counter", packets[again - 1].number("counter"),
          packets[packets[again - 1].number("first_frame") - 1].number("counter"))
    check("a datagram cut off: notes", packets[again].notes(), ["cut", "repeated"])
    check("a datagram cut off: counter", packets[again].number("counter"), packets[again - 1].number("counter"))
    check("a datagram cut off in its header: notes", packets[again + 1].notes(), ["cut"])
    check("a datagram cut off in its header: counter", packets[again + 1].number("counter"), None)
    check("the count of packets", len(packets), again + 2)
    # All private keys; those of the initiators, with the static keys of the responders; and those of the responders.
    everything = "".join(private_lines(case["initiator"], case["responder"]) for case in cases)
    one_side = "".join(f"{private_lines(case['initiator'])}public {case['responder']['staticPublic']}\n"
                       for case in cases)
    other_side = "".join(private_lines(case["responder"]) for case in cases)
    for name, text in [("with all private keys", everything), ("with the initiators' private keys", one_side),
                       ("with the responders' private keys", other_side)]:
        key_file.write_text(text)
        # A private key gives a canonical public key, which the last handshake lacks.
        left_out = cases[-1]["name"] if text == one_side else None
        count = len([case for case, *_ in expected if case["name"] != left_out])
        packets = dissected(path, key_file=key_file, chats=CHATS)
        check_handshakes(name, packets[:count], expected[:count], True, True)
    # The static key of the responder opens message 1 alone.
    key_file.write_text(f"private {cases[0]['responder']['staticPrivate']}\n")
    packets = dissected(path, key_file=key_file, chats=CHATS)
    check("a static key: the epoch of message 1", packets[0].number("epoch"), cases[0]["initiator"]["epoch"])
    check("a static key: the epoch of message 2", packets[3].number("epoch"), None)
    check("a static key: frames", packets[4].hex("frame"), [])
    # Without the chat, no key helps.
    key_file.write_text(everything)
    packets = dissected(path, key_file=key_file, chats="another")
    check("without the chat", {(packet.number("epoch"), *packet.shown("chat")) for packet in packets}, {(None,)})


def test_invalid_handshakes(folder):
    cases = vectors("handshake")
    valid, capture, everything = cases["valid"], Capture(), []
    for number, case in enumerate(cases["invalid"]):
        initiator, responder = ((20 + number, 1), 5001), ((20 + number, 2), FORCED_PORT)
        if "response" in case:
            capture.add(initiator, responder, bytes.fromhex(valid[case["of"]]["initiation"]))
            everything.append(None)
            capture.add(responder, initiator, bytes.fromhex(case["response"]))
        else:
            capture.add(initiator, responder, bytes.fromhex(case["initiation"]))
        everything.append(case)
    path, key_file = folder / "invalid.pcap", folder / "invalid.keys"
    capture.write(path)
    key_file.write_text(private_lines(valid[0]["initiator"], valid[0]["responder"]))
    packets = dissected(path, key_file=key_file, chats="lobby", ports=FORCED_PORT)
    for case, packet in zip(everything, packets, strict=True):
        if case is None:
            check("the initiation of an invalid response", packet.number("epoch"), valid[0]["initiator"]["epoch"])
            continue
        name, error = case["name"], case["error"]
        errors = {"parse": [error], "initiation": ["key"], "response": ["key"]}.get(case["stage"], [])
        if error in ("authentication", "ownKey"):
            errors = []
        # One message is for the initiator itself, whose key is in the file too.
        is_own = error == "ownKey" or "another responder" in name
        check(f"{name}: errors", packet.errors(), errors)
        check(f"{name}: opened", packet.number("epoch") is not None, error == "invalidKey" or is_own)
        check(f"{name}: chat", packet.shown("chat"), ["lobby"] if case["stage"] in ("initiation", "response") else [])
        check(f"{name}: own key", "own_key" in packet.notes(), is_own)


def test_epochs(folder):
    """Runs and epochs of handshakes that follow each other; sessions of one state share its counters."""
    chat, capture = OpenChat("lobby"), Capture()
    alice, bob = ((9, 1), 5001), ((9, 2), 5002)
    lines, expected = set(), []

    def meet(index, run, epoch, bob_epoch, state, notes, bob_notes, *datagrams):
        ends = End("Alice", index, bytes([run] * 8), epoch), End("Bob", index + 1, b"bob's ru", bob_epoch)
        lines.update(f"private {key.hex()}" for end in ends for key in (end.static_private, end.ephemeral_private))
        initiation, response, keys = handshake(chat, *ends)
        capture.add(alice, bob, initiation)
        capture.add(bob, alice, response)
        expected.extend([(state, notes), (state, bob_notes)])
        for counter, note in datagrams:
            capture.add(alice, bob, sealed(keys[0], index + 1, counter, b"\2\1"))
            expected.append((state, note))
            # Bob counts his datagrams separately.
            if counter < 1000:
                capture.add(bob, alice, sealed(keys[1], index, counter + 100, b"\2\1"))
                expected.append((state, note if note == ["repeated"] else []))

    meet(10, 1, 0, 4, 0, [], [], (0, []), (1, []), (2000, []))
    # Another session of the state: its window continues.
    meet(20, 1, 0, 4, 0, [], [], (2000, ["repeated"]), (0, ["repeated"]), (976, ["old"]), (977, []),
         (2001, []))
    # Alice forgot a link; then both did; then Alice started again.
    meet(30, 1, 1, 4, 1, ["new_epoch"], [], (0, []), (2000, []))
    meet(40, 1, 2, 6, 2, ["new_epoch"], ["new_epoch"], (2000, []))
    meet(50, 2, 0, 7, 3, ["new_run"], ["new_epoch"], (2000, []))
    # An initiation of long ago, which somebody repeats.
    meet(60, 2, 1, 7, 4, ["new_epoch"], [])
    meet(70, 2, 0, 7, 3, ["old_epoch"], [], (2000, ["repeated"]))
    # Bob alone forgot the link.
    meet(80, 2, 0, 8, 5, [], ["new_epoch"], (2000, []))
    path, key_file = folder / "epochs.pcap", folder / "epochs.keys"
    capture.write(path)
    key_file.write_text("\n".join(sorted(lines)))
    for number, ((state, notes), packet) in enumerate(zip(expected, dissected(path, key_file=key_file, chats="lobby"),
                                                          strict=True), 1):
        check(f"epochs, frame {number}: state", packet.number("state"), state)
        check(f"epochs, frame {number}: notes", packet.notes(), notes)
        check(f"epochs, frame {number}: errors", packet.errors(), [])


def write_example(folder):
    """The first handshake of the vectors, and the datagrams after it."""
    case = vectors("handshake")["valid"][0]
    alice, bob = ((0, 1), 40123), ((0, 2), 40124)
    capture = Capture()
    capture.add(alice, bob, bytes.fromhex(case["initiation"]))
    capture.add(bob, alice, bytes.fromhex(case["response"]))
    for datagram in case["sealed"]:
        ends = (alice, bob) if datagram["from"] == "initiator" else (bob, alice)
        capture.add(*ends, bytes.fromhex(datagram["bytes"]))
    capture.write(folder / "example.pcap")
    lines = []
    for name, end in [("Alice", case["initiator"]), ("Bob", case["responder"])]:
        lines += [f"# {name}'s static key, and the ephemeral one of the handshake", *private_lines(end).splitlines()]
    (folder / "example.keys").write_text("\n".join(lines) + "\n")


def test_example(folder):
    """README.md shows tshark's output for the example."""
    write_example(folder)
    blocks = (HERE / "README.md").read_text().split("```")[1::2]
    texts = {block.split("\n")[0]: block.splitlines()[1:] for block in blocks}
    check("README.md: keys", texts["keys"], (folder / "example.keys").read_text().splitlines())
    path, key_file = folder / "example.pcap", folder / "example.keys"
    sealed_infos, opened_infos = infos(path, chats="lobby"), infos(path, chats="lobby", key_file=key_file)
    check("README.md: without keys", [line.split("  ", 1)[1] for line in texts["sealed"]], sealed_infos)
    check("README.md: with keys", [line.split("  ", 1)[1] for line in texts["opened"]], opened_infos)
    for name, number in [("handshake", 1), ("datagram", 13)]:
        check(f"README.md: {name}", texts[name], shown(path, number, chats="lobby", key_file=key_file))


def test_counters(folder):
    """Counters that a receiver drops, with a key that opens each datagram, and without."""
    key, index = bytes(range(32)), 0x01020304
    capture = Capture()
    # (counter, whether it is sealed with the key, notes with the key, notes without)
    cases = [(5000, True, [], []), (3977, True, [], []), (3976, True, ["old"], ["old"]), (4000, False, [], []),
             (4000, True, [], ["repeated"]), (4000, True, ["repeated"], ["repeated"]),
             (LAST_WILL_COUNTER, True, ["last_will"], ["last_will"]),
             (LAST_WILL_COUNTER, True, ["last_will"], ["last_will"]), (5001, True, [], [])]
    for counter, is_authentic, _, _ in cases:
        datagram = sealed(key if is_authentic else bytes(32), index, counter, b"\x08\3")
        capture.add(((1, 1), 5001), ((1, 2), 5002), datagram)
    path, key_file = folder / "counters.pcap", folder / "counters.keys"
    capture.write(path)
    key_file.write_text(f"{index:08x} {key.hex()}")
    opened, unopened = dissected(path, key_file=key_file), dissected(path)
    for number, (_, is_authentic, with_key, without_key) in enumerate(cases):
        name = f"counters, frame {number + 1}"
        check(f"{name}: errors", opened[number].errors(), [] if is_authentic else ["authentication"])
        check(f"{name}: notes", opened[number].notes(), with_key)
        check(f"{name}: notes without a key", unopened[number].notes(), without_key)


def test_ambiguity(folder):
    """Two handshakes between the same nodes at once: either may be the session of the initiator's datagrams."""
    capture = Capture()
    alice, bob = ((9, 1), 5001), ((9, 2), 5002)
    first, other, third = (vectors("handshake")["valid"][number] for number in (0, 3, 1))
    for case in (first, other):
        capture.add(alice, bob, bytes.fromhex(case["initiation"]))
    for case in (first, other):
        capture.add(bob, alice, bytes.fromhex(case["response"]))
    capture.add(alice, bob, sealed(bytes(32), 0x11111111, 0, b"\2\1"))
    # By now these are over, so the third is not in doubt.
    capture.pause = 6
    capture.add(alice, bob, bytes.fromhex(third["initiation"]))
    capture.add(bob, alice, bytes.fromhex(third["response"]))
    capture.add(alice, bob, sealed(bytes(32), 0x77777777, 5000, b"\2\1"))
    # The old index continues from a new address, as when a node moved.
    capture.add(((9, 3), 5003), ((9, 4), 5004), sealed(bytes(32), 0x77777777, 5001, b"\2\1"))
    path = folder / "ambiguity.pcap"
    capture.write(path)
    packets = dissected(path)
    check("two at once: session", packets[4].shown("session"), [])
    check("two at once: initiations", packets[4].shown("initiation_frame"), ["1", "2"])
    check("two at once: notes", packets[4].notes(), ["ambiguous"])
    for packet in packets[7:]:
        check("after two at once: session", packet.shown("session"), ["2"])
        check("after two at once: initiations", packet.shown("initiation_frame"), ["6"])
        check("after two at once: notes", packet.notes(), [])


def test_other_sessions(folder):
    """Indices that first occur when the session of a handshake is over, or has an index."""
    capture = Capture()
    alice, bob = ((9, 1), 5001), ((9, 2), 5002)
    case = vectors("handshake")["valid"][0]
    capture.add(alice, bob, bytes.fromhex(case["initiation"]))
    capture.add(bob, alice, bytes.fromhex(case["response"]))
    capture.pause = 6
    capture.add(alice, bob, sealed(bytes(32), 0x22222222, 0, b"\2\1"))
    capture.add(bob, alice, bytes.fromhex(case["response"]))
    capture.add(alice, bob, sealed(bytes(32), 0x33333333, 63, b"\2\1"))
    capture.add(alice, bob, sealed(bytes(32), 0x44444444, 63, b"\2\1"))
    path = folder / "others.pcap"
    capture.write(path)
    packets = dissected(path)
    sessions, directions = ([packet.shown(field) for packet in packets] for field in ("session", "direction"))
    check("other sessions", sessions, [["0"], ["0"], ["1"], ["0"], ["0"], ["2"]])
    check("other sessions: directions", directions, [[], [], ["0"], [], ["1"], ["0"]])


def test_growing_keys(folder):
    """The file of keys gets its lines while the capture is running, one of them in two pieces."""
    capture = Capture()
    keys = [bytes([number] * 32) for number in range(3)]
    for counter, key in enumerate(keys):
        capture.add(((4, 1), 5001), ((4, 2), 5002), sealed(key, 0x01020304, counter, b"\2\1"))
    key_file = folder / "growing.keys"
    pieces = ["# none yet\n", f"01020304 {keys[1].hex()[:20]}", f"{keys[1].hex()[20:]}\n01020304 {keys[2].hex()}"]
    key_file.write_text("")

    def grow(number):
        with key_file.open("a") as file:
            file.write(pieces[number])

    # The second key is whole only when the third packet comes; the third has no line feed after it.
    expected = ["2 bytes of frames", "2 bytes of frames", "typing"]
    found = infos_while(capture.records(), grow, key_file=key_file)
    check("a file of keys that grows", [info.split(", ", 1)[-1] for info in found], expected)


# Discovery

def test_asks(folder):
    cases = {case["name"]: case for case in vectors("datagrams")["valid"]}
    asker, node = ((3, 1), 5001), ((3, 2), 5002)
    ask, tell = (bytes.fromhex(cases[name]["bytes"]) for name in ("an ask", "a tell"))
    derivations = vectors("derivations")
    key = next(case["publicKey"] for case in derivations["sealedKeys"] if case["sealedKey"] == tell[17:].hex())
    bad_keys = [case for case in derivations["invalidSealedKeys"] if case["error"] == "key" and case["token"]]
    capture = Capture()
    capture.add(asker, node, ask)
    capture.add(asker, node, ask)
    capture.add(node, asker, tell)
    capture.add(node, ((3, 9), 5001), tell)
    capture.add(node, asker, tell[:-1] + b"\0")
    # After an ask, datagrams of these endpoints are Inkling's even if they are malformed.
    capture.add(asker, node, ask[:-1])
    # An ICMP error quotes a datagram that the capture has already.
    capture.add_quoted(asker, node, ask)
    for case in bad_keys:
        capture.add(node, ((3, 9), 5001), b"\x26" + bytes.fromhex(case["token"] + case["nonce"] + case["sealedKey"]))
    path = folder / "asks.pcap"
    capture.write(path)
    packets = dissected(path, chats="another," + CHATS)
    tellers = [packet.number("tell_frame") for packet in packets]
    askers = [packet.number("ask_frame") for packet in packets]
    check("tells of asks", tellers[:3], [3, 3, None])
    check("asks of tells", askers[:5], [None, None, 1, None, 1])
    check("an ask again", packets[1].number("first_frame"), 1)
    check("the chats", [packet.shown("chat") for packet in packets[:5]], [["lobby"]] * 5)
    users = {case["publicKey"]: case["userID"] for case in derivations["userIDs"]}
    for number in (2, 3):
        check("the key of a tell", packets[number].hex("key"), [key])
        check("the user of a tell", packets[number].shown("user_id"), [users[key]])
    check("a tell that does not open", (packets[4].errors(), packets[4].hex("key")), (["seal"], []))
    check("an ask cut short", packets[5].errors(), ["length"])
    check("quoted", (packets[6].is_quoted, packets[6].inkling is not None), (True, False))
    for packet in packets[7:]:
        check("a key that is not valid", packet.errors(), ["key"])
    check("the count of packets", len(packets), 7 + len(bad_keys))
    for packet in dissected(path, chats="another"):
        check("asks and tells of a chat that is not known", packet.shown("chat") + packet.hex("key"), [])


def test_instances(folder):
    """Instances in packets of multicast DNS, with the TXT records of the vectors."""
    derivations = vectors("derivations")
    names = {(entry_of(case["chat"]), case["nonce"]): case["text"] for case in derivations["instanceNames"]
             if case["canonical"]}
    cases = [case for case in derivations["serviceRecords"] + derivations["invalidServiceRecords"]
             if case.get("error") in (None, "seal", "key", "text") and (entry_of(case["chat"]), case["nonce"]) in names]
    check("instances: cases", len(cases) > 15, True)
    capture = Capture()
    service = "_inkling._udp.local"
    for case in cases:
        name = f"{names[entry_of(case['chat']), case['nonce']]}.{service}"
        other = f"{'a' * 26}.{service}"
        records = [dns_record(service, 12, other), dns_record(service, 12, name),
                   dns_record(other, 16, b"\x09txtvers=2\x04k=AA"), dns_record(name, 16, bytes.fromhex(case["bytes"]))]
        capture.add(((1, 1), 5353), ((1, 2), 5353), dns_response(records))
    path = folder / "instances.pcap"
    capture.write(path)
    for case, packet in zip(cases, dissected(path, chats=CHATS), strict=True):
        name = case["name"]
        check(f"{name}: chat", packet.shown("chat"), [case["chat"].get("open") or (
            "a,b" if "owner" in case["chat"] else "Team Lunch")])
        check(f"{name}: nonce", packet.hex("nonce"), [case["nonce"]])
        error = case.get("error")
        if error is None:
            check(f"{name}: key", packet.hex("key"), [case["publicKey"]])
        missing = error == "text" and packet.errors() == [] and packet.hex("key") == []
        check(f"{name}: errors", ["seal"] if missing else packet.errors(),
              {None: [], "key": ["key"]}.get(error, ["seal"]))
    for packet in dissected(path, chats="another"):
        check("instances of other chats", packet.fields, {})


def test_recognition(folder):
    """Datagrams that are taken for Inkling by their form alone."""
    capture = Capture()
    datagrams = [(sealed(bytes(32), 1, LAST_WILL_COUNTER, b"\x08\3"), True),
                 (sealed(bytes(32), 2, 2**24, b"\2\1"), False),
                 (sealed(bytes(32), 3, 2**24 - 1, b"\2\1"), True),
                 # The index is known by now.
                 (sealed(bytes(32), 3, 2**24, b"\2\1"), True),
                 # An initiation of version 1, and a record of DTLS.
                 (b"\x11" + bytes(108), False), (bytes.fromhex("16fefd00000000000000000008") + bytes(8), False)]
    for number, (datagram, _) in enumerate(datagrams):
        capture.add(((3, 3), 6000 + number), ((3, 4), 6100 + number), datagram)
    path = folder / "recognition.pcap"
    capture.write(path)
    for number, ((datagram, expected), packet) in enumerate(zip(datagrams, dissected(path), strict=True), 1):
        check(f"recognised by form, frame {number} of {len(datagram)} bytes", packet.inkling is not None, expected)


def test_nodes(program, folder):
    path, key_file = folder / "nodes.pcapng", folder / "nodes.keys"
    statuses, identities = capture_nodes(program, folder, path)
    check("exit statuses of the nodes", statuses, [0, 0])
    key_file.write_text("".join(f"private {key.hex()}\n" for key in identities))
    packets = [packet for packet in dissected(path, chats="lobby", key_file=key_file)
               if packet.udp is not None and not packet.is_quoted]
    counters, kinds, epochs, seen = {}, set(), 0, set()
    for number, packet in enumerate(packets, 1):
        check(f"datagram {number} of the nodes is recognised", packet.inkling is not None, True)
        check(f"datagram {number} of the nodes: errors", packet.errors(), [])
        if packet.inkling is None:
            continue
        # Copies of byes are the same bytes (L-32).
        tag = "".join(packet.hex("authentication_tag"))
        check(f"datagram {number} of the nodes: notes", packet.notes(), ["repeated"] if tag in seen else [])
        seen |= {tag} - {""}
        kind = packet.number("kind")
        kinds.add(kind)
        epochs += packet.number("epoch") is not None
        check(f"datagram {number} of the nodes: chat", packet.shown("chat"), ["lobby"])
        if kind == KINDS["sealed"]:
            counters.setdefault(packet.number("receiver_index"), []).append(packet.number("counter"))
            check(f"datagram {number} of the nodes has a handshake",
                  len(packet.shown("initiation_frame") + packet.shown("response_frame")), 2)
    check("kinds of the nodes", kinds, {KINDS[kind] for kind in ("ask", "tell", "initiation", "response", "sealed")})
    check("indices of the nodes", len(counters) >= 2, True)
    if identities:
        check("initiations are opened with the identities", epochs > 0, True)
    for index, list_of_counters in counters.items():
        check(f"counters under 0x{index:08x} grow", list_of_counters, sorted(list_of_counters))
    print(f"two nodes: {len(packets)} datagrams, {sum(map(len, counters.values()))} of them sealed under "
          f"{len(counters)} indices")


def need(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        sys.exit(77)


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--example":
        write_example(Path(arguments[1]))
        return 0
    need("tshark")
    program = str(Path(arguments[0]).resolve()) if arguments else None
    if program and "INKLING_OWN_NETWORK" not in os.environ:
        # The nodes and the capture get a network of their own, which ends with them.
        need("dumpcap", "unshare", "ip")
        command = 'ip link set lo up && exec "$@"'
        os.execvpe("unshare", ["unshare", "--net", "sh", "-c", command, "sh", sys.executable, __file__, program],
                   {**os.environ, "INKLING_OWN_NETWORK": "1"})
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for test in (test_datagrams, test_frames, test_acks, test_sealed, test_handshakes, test_invalid_handshakes,
                     test_epochs, test_example, test_counters, test_ambiguity, test_other_sessions,
                     test_growing_keys, test_asks, test_instances, test_recognition):
            test(folder)
        if program:
            test_nodes(program, folder)
    for problem in problems[:100]:
        print(problem)
    print(f"{checks} checks, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
