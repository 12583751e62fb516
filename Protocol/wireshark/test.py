#!/usr/bin/env python3
"""Tests the Wireshark dissector with tshark; needs nothing but the standard library.

    test.py                 against the vectors
    test.py PROGRAM         and on a capture of two nodes, PROGRAM being `inkling`; needs root, unshare and ip
    test.py --example FOLDER    tests nothing; writes the example of README.md as example.pcap and example.keys

Exit status 0 if all is as it should be, 1 with what is not, 77 if a program that the test needs is missing.
"""

import hashlib
import json
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from captures import Capture, dissected, infos, infos_while, poly1305, sealed, shown, tshark
from nodes import capture_nodes

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "vectors"
FORCED_PORT = 7000
LAST_WILL_COUNTER = 2**32 - 1
KINDS = {"initiation": 1, "response": 2, "sealed": 3, "retry": 4, "ask": 5, "tell": 6}
REASONS = ["quit", "left", "suspended", "lastWill", "removed", "unheard"]
FRAME_TYPES = ["heartbeat", "typing", "hello", "message", "ack", "ping", "pong", "bye"]

problems = []
checks = 0


def check(what, found, expected):
    global checks
    checks += 1
    if found != expected:
        problems.append(f"{what}: {found!r}, not {expected!r}")


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


# The vectors

def check_datagram(name, packet, case):
    """Compares a datagram with its vector."""
    check(f"{name}: version", packet.number("version"), 1)
    check(f"{name}: kind", packet.number("kind"), KINDS[case["kind"]])
    for field, key in [("sender_index", "senderIndex"), ("receiver_index", "receiverIndex"), ("counter", "counter"),
                       ("token", "token")]:
        check(f"{name}: {field}", packet.number(field), case.get(key))
    check(f"{name}: tag", packet.number("tag"), int(case["tag"], 16) if "tag" in case else None)
    for field in ["noise", "cookie", "nonce", "key"]:
        check(f"{name}: {field}", packet.hex(field), [case[field]] if case.get(field) else [])
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


def check_frames(name, packet, frames):
    """Compares opened frames with those of a vector."""
    codes = [frame["code"] if frame["type"] == "unknown" else 1 + FRAME_TYPES.index(frame["type"]) for frame in frames]
    check(f"{name}: types", [int(show, 0) for show in packet.shown("frame.type")], codes)

    def of(*types):
        return [frame for frame in frames if frame["type"] in types]

    def numbers(field, expected):
        check(f"{name}: {field}", [int(show, 0) for show in packet.shown(field)], expected)

    def values(field, expected):
        check(f"{name}: {field}", packet.hex(field), expected)

    def flags(field, expected):
        check(f"{name}: {field}", [int(show, 0) for show in packet.shown(field)], [int(flag) for flag in expected])

    flags("status.typing", [frame["typing"] for frame in of("heartbeat", "typing")])
    flags("status.away", [frame["away"] for frame in of("heartbeat", "typing")])
    numbers("interval", [frame["interval"] for frame in of("heartbeat")])
    values("hello.run", [frame["run"] for frame in of("hello")])
    for field in ["stream", "held", "next"]:
        numbers(f"hello.{field}", [frame[field] for frame in of("hello")])
    values("hello.name", [frame["name"].encode().hex() for frame in of("hello")])
    for field in ["stream", "record"]:
        numbers(f"message.{field}", [frame[field] for frame in of("message")])
    for field in ["first", "last"]:
        flags(f"message.{field}", [frame[field] for frame in of("message")])
    values("message.text", [frame["text"].encode().hex() for frame in of("message")])
    for field in ["stream", "next", "bitmap"]:
        numbers(f"ack.{field}", [frame[field] for frame in of("ack")])
    for kind in ["ping", "pong"]:
        numbers(f"{kind}.token", [frame["token"] for frame in of(kind)])
    # An unassigned reason counts as quit.
    reasons = [int(show, 0) for show in packet.shown("bye.reason")]
    check(f"{name}: reason", [REASONS[reason] if reason < len(REASONS) else "quit" for reason in reasons],
          [frame["reason"] for frame in of("bye")])
    values("unknown.body", [frame["body"] for frame in of("unknown") if frame["body"]])
    check(f"{name}: errors", packet.errors(), [])


# The errors of frames.json by the names that the dissector has for them.
FRAME_ERRORS = {
    "empty": "no_frames", "truncated": "truncated", "unknownType": "unknown_type", "duplicate": "duplicate",
    "twoStatuses": "two_statuses", "nameTooLong": "name_too_long", "invalidText": "invalid_text",
    "zeroStream": "zero_stream", "emptyMessage": "empty_message",
}


def test_frames(folder):
    """Frames as in frames.json, sealed here; the file of keys has others for the same index before the right one."""
    cases = vectors("frames")
    key, index = bytes(range(32)), 0x0A0B0C0D
    capture = Capture()
    # The shortest frames are 2 bytes; a datagram of less is not one of this kind.
    everything = [case for case in cases["valid"] + cases["invalid"] if len(case["bytes"]) >= 4]
    for counter, case in enumerate(everything):
        capture.add(((1, 1), 20000), ((1, 2), 30000), sealed(key, index, counter, bytes.fromhex(case["bytes"])))
    path, key_file = folder / "frames.pcap", folder / "frames.keys"
    capture.write(path)
    others = "".join(f"{index:08x} {bytes([number] * 32).hex()}\n" for number in range(3))
    key_file.write_text(f"# a comment\n\n{others}{index:08X}  {key.hex().upper()} # what Alice gets\n")
    for case, packet in zip(everything, dissected(path, key_file=key_file), strict=True):
        if "frames" in case:
            check_frames(case["name"], packet, case["frames"])
            unassigned = case.get("reencodes", True) is False or any(f["type"] == "unknown" for f in case["frames"])
            check(f"{case['name']}: notes", packet.notes(), ["unassigned"] if unassigned else [])
        else:
            check(f"{case['name']}: errors", packet.errors(), [FRAME_ERRORS[case["error"]]])
            check(f"{case['name']}: offset", len("".join(packet.hex("frame")[:-1])) // 2, case["offset"])
    for info in infos(path):
        check("frames without a key", info.endswith("of frames"), True)


def is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_texts(folder):
    """Texts at each border of UTF-8, judged as Python does."""
    leads = bytes.fromhex("7f 80 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
    seconds = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
    texts = [bytes([lead, second]) + b"\x80" * more for lead in leads for second in seconds for more in range(3)]
    texts += [b"\xe1\x80\x7f", b"\xf1\x80\x80\xc0", b"\xc2", b"\xe1\x80", b"\xf1\x80\x80", b"a\xc3\xa9b"]
    key, index = bytes(32), 1
    capture = Capture()
    for counter, text in enumerate(texts):
        plaintext = bytes.fromhex("04000000010000000003") + text
        capture.add(((1, 1), 5001), ((1, 2), 5002), sealed(key, index, counter, plaintext))
    path, key_file = folder / "texts.pcap", folder / "texts.keys"
    capture.write(path)
    key_file.write_text(f"{index:08x} {key.hex()}")
    for text, packet in zip(texts, dissected(path, key_file=key_file), strict=True):
        check(f"the text {text.hex()}", packet.errors(), [] if is_utf8(text) else ["invalid_text"])


def test_crypto(folder):
    """The cryptography by itself, on what the vectors don't reach: numbers about 2^130 - 5, and all lengths."""
    no, full = bytes(16), b"\xff" * 16
    one, two = (bytes([number]) + bytes(15) for number in (1, 2))
    cases = [(two + no, full), (two + full, two), (one + no, full + b"\xf0" + full[1:] + b"\x11" + no[1:]),
             (one + no, full + b"\xfb" + b"\xfe" * 15 + b"\1" * 16), (two + no, b"\xfd" + full[1:]),
             (one + no, full * 5), (full + full, full * 5 + b"\1")]
    texts = [bytes(range(length)) for length in range(130)]
    lines = [f"poly1305 {key.hex()} {message.hex()}" for key, message in cases]
    lines += [f"sha256 {text.hex()}" for text in texts]
    (folder / "crypto.txt").write_text("\n".join(lines))
    (folder / "crypto.lua").write_text(f"""
        local crypto = dofile("{HERE / 'inkling_crypto.lua'}")
        local function unhex(text)
            return (text:gsub("..", function(digits) return string.char(tonumber(digits, 16)) end))
        end
        for line in io.lines("{folder / 'crypto.txt'}") do
            local name, first, second = line:match("^(%w+) (%x*) ?(%x*)$")
            local result = crypto[name](unhex(first), unhex(second))
            print("= " .. result:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
        end""")
    Capture().write(folder / "empty.pcap")
    output = tshark(folder / "empty.pcap", ["-X", f"lua_script:{folder / 'crypto.lua'}"], {}).decode()
    expected = [poly1305(key, message).hex() for key, message in cases]
    expected += [hashlib.sha256(text).hexdigest() for text in texts]
    check("cryptography", [line[2:] for line in output.splitlines() if line.startswith("= ")], expected)


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
            check(f"{name}: errors", packet.errors(), ["last_will" if case["error"] == "lastWill" else case["error"]])


def test_handshakes(folder):
    """Whole sessions: the datagrams of each are tied to its handshake, though the indices of two repeat."""
    capture, expected, keys = Capture(), [], []
    for session, case in enumerate(vectors("handshake")["valid"]):
        initiator, responder = ((2 + session, 1), 5001), ((2 + session, 2), 5002)

        def add(is_initiator, payload, **fields):
            ends = (initiator, responder) if is_initiator else (responder, initiator)
            frame = capture.add(*ends, bytes.fromhex(payload))
            expected.append((case, {"session": session, "tag": int(case["tag"], 16), **fields}))
            return frame

        first = len(capture.packets) + 1
        frames = {"initiation_frame": first, "response_frame": first + 3}
        add(True, case["initiation"], kind=1, sender_index=case["initiator"]["index"], response_frame=first + 3)
        retry = struct.pack(">BI", 0x14, case["initiator"]["index"]).hex() + case["cookie"]
        add(False, retry, kind=4, receiver_index=case["initiator"]["index"], **frames)
        add(True, case["initiationWithCookie"], kind=1, sender_index=case["initiator"]["index"], repeat_of=first,
            retry_frame=first + 1, response_frame=first + 3)
        add(False, case["response"], kind=2, receiver_index=case["initiator"]["index"], initiation_frame=first)
        for datagram in case["sealed"]:
            is_initiator = datagram["from"] == "initiator"
            receiver = case["responder" if is_initiator else "initiator"]
            add(is_initiator, datagram["bytes"], kind=3, receiver_index=receiver["index"],
                counter=datagram["counter"], direction=1 if is_initiator else 2, plaintext=datagram["plaintext"],
                **frames)
        keys.append((case["responder"]["index"], case["initiatorToResponderKey"]))
        keys.append((case["initiator"]["index"], case["responderToInitiatorKey"]))
    # A datagram again, and one that is cut off by the capture.
    last_case, last_fields = expected[-1]
    last = bytes.fromhex(last_case["sealed"][-1]["bytes"])
    capture.add(initiator, responder, last)
    again = len(capture.packets)
    for captured in (12, 8):
        capture.add(initiator, responder, last, snap_length=14 + 20 + 8 + captured)
    path, key_file = folder / "handshakes.pcap", folder / "handshakes.keys"
    capture.write(path)
    key_file.write_text("".join(f"{index:08x} {key}\n" for index, key in keys))
    # The name of the second chat, which is secret, is that of its tag.
    tag = vectors("handshake")["valid"][1]["tag"]
    packets = dissected(path, key_file=key_file, chats=f"Team Lunch, lobby, a %3D b={tag}")
    for number, ((case, fields), packet) in enumerate(zip(expected, packets), 1):
        name = f"{case['name']}, frame {number}"
        for field in ["kind", "session", "tag", "sender_index", "receiver_index", "counter", "direction",
                      "initiation_frame", "response_frame", "retry_frame", "repeat_of"]:
            check(f"{name}: {field}", packet.number(field), fields.get(field))
        chat = case["chat"].get("open", "a = b")
        check(f"{name}: chat", packet.shown("chat"), [chat])
        check(f"{name}: frames", "".join(packet.hex("frame")), fields.get("plaintext", ""))
        check(f"{name}: errors", packet.errors(), [])
    check("a datagram again: notes", packets[again - 1].notes(), ["repeated"])
    check("a datagram again: its first frame", packets[again - 1].number("repeat_of"), again - 1)
    check("a datagram cut off: notes", packets[again].notes(), ["cut", "repeated"])
    check("a datagram cut off: counter", packets[again].number("counter"), last_fields["counter"])
    check("a datagram cut off in its header: notes", packets[again + 1].notes(), ["cut"])
    check("a datagram cut off in its header: counter", packets[again + 1].number("counter"), None)
    check("the count of packets", len(packets), again + 2)


def write_example(folder):
    """The first handshake of the vectors, and what follows it."""
    case = vectors("handshake")["valid"][0]
    alice, bob = ((0, 1), 40123), ((0, 2), 40124)
    capture = Capture()
    capture.add(alice, bob, bytes.fromhex(case["initiation"]))
    capture.add(bob, alice, bytes.fromhex(case["response"]))
    for datagram in case["sealed"]:
        ends = (alice, bob) if datagram["from"] == "initiator" else (bob, alice)
        capture.add(*ends, bytes.fromhex(datagram["bytes"]))
    capture.write(folder / "example.pcap")
    (folder / "example.keys").write_text(
        f"# what Alice sends to Bob, then what Bob sends to Alice\n"
        f"{case['responder']['index']:08x} {case['initiatorToResponderKey']}\n"
        f"{case['initiator']['index']:08x} {case['responderToInitiatorKey']}\n")


def test_example(folder):
    """README.md shows what tshark shows of the example."""
    write_example(folder)
    blocks = (HERE / "README.md").read_text().split("```")[1::2]
    texts = {block.split("\n")[0]: block.splitlines()[1:] for block in blocks}
    check("README.md: keys", texts["keys"], (folder / "example.keys").read_text().splitlines())
    path, key_file = folder / "example.pcap", folder / "example.keys"
    sealed_infos, opened_infos = infos(path, chats="lobby"), infos(path, chats="lobby", key_file=key_file)
    check("README.md: without keys", [line.split("  ", 1)[1] for line in texts["sealed"]], sealed_infos)
    check("README.md: with keys", [line.split("  ", 1)[1] for line in texts["opened"]], opened_infos)
    check("README.md: a datagram", texts["datagram"], shown(path, 10, chats="lobby", key_file=key_file))


def test_counters(folder):
    """What a receiver would drop, with a key that opens each datagram, and without."""
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
    first, other, third = (vectors("handshake")["valid"][number] for number in (0, 1, 2))
    for case in (first, other):
        capture.add(alice, bob, bytes.fromhex(case["initiation"]))
    for case in (first, other):
        capture.add(bob, alice, bytes.fromhex(case["response"]))
    for case in (first, other):
        index = case["responder"]["index"] ^ 0xFF
        capture.add(alice, bob, sealed(bytes(32), index, 0, b"\2\1"))
    # Both are taken now, so the third is no longer in doubt.
    capture.add(alice, bob, bytes.fromhex(third["initiation"]))
    capture.add(bob, alice, bytes.fromhex(third["response"]))
    capture.add(alice, bob, sealed(bytes(32), 0x77777777, 0, b"\2\1"))
    # The old index goes on from a new address, as when a node moved.
    capture.add(((9, 3), 5003), ((9, 4), 5004), sealed(bytes(32), 0x77777777, 1, b"\2\1"))
    path = folder / "ambiguity.pcap"
    capture.write(path)
    packets = dissected(path)
    for number in (5, 6):
        packet = packets[number - 1]
        check(f"two at once, frame {number}: session", packet.shown("session"), [])
        check(f"two at once, frame {number}: initiations", packet.shown("initiation_frame"), ["1", "2"])
        check(f"two at once, frame {number}: notes", packet.notes(), ["ambiguous"])
    for number in (9, 10):
        packet = packets[number - 1]
        check(f"after two at once, frame {number}: session", packet.shown("session"), ["2"])
        check(f"after two at once, frame {number}: initiations", packet.shown("initiation_frame"), ["7"])
        check(f"after two at once, frame {number}: notes", packet.notes(), [])


def test_other_sessions(folder):
    """What goes to the responder of a handshake, but is of an older session, or comes when its own is dropped."""
    capture = Capture()
    alice, bob = ((9, 1), 5001), ((9, 2), 5002)
    case = vectors("handshake")["valid"][0]
    capture.add(alice, bob, bytes.fromhex(case["initiation"]))
    capture.add(bob, alice, bytes.fromhex(case["response"]))
    capture.add(alice, bob, sealed(bytes(32), 0x11111111, 64, b"\2\1"))
    capture.pause = 6
    capture.add(alice, bob, sealed(bytes(32), 0x22222222, 0, b"\2\1"))
    capture.add(bob, alice, bytes.fromhex(case["response"]))
    capture.add(alice, bob, sealed(bytes(32), 0x33333333, 63, b"\2\1"))
    path = folder / "others.pcap"
    capture.write(path)
    packets = dissected(path)
    sessions, directions = ([packet.shown(field) for packet in packets] for field in ("session", "direction"))
    check("other sessions", sessions, [["0"], ["0"], ["1"], ["2"], ["0"], ["0"]])
    check("other sessions: directions", directions, [[], [], ["0"], ["0"], [], ["1"]])


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


def test_asks(folder):
    cases = {case["name"]: case for case in vectors("datagrams")["valid"]}
    asker, node = ((3, 1), 5001), ((3, 2), 5002)
    ask, tell = cases["an ask"], cases["a tell in an open chat"]
    capture = Capture()
    capture.add(asker, node, bytes.fromhex(ask["bytes"]))
    capture.add(asker, node, bytes.fromhex(ask["bytes"]))
    capture.add(node, asker, bytes.fromhex(tell["bytes"]))
    capture.add(node, ((3, 9), 5001), bytes.fromhex(tell["bytes"]))
    # A key that is not valid, in an open chat: 2^255 - 19.
    capture.add(node, asker, bytes.fromhex(tell["bytes"])[:13] + (2**255 - 19).to_bytes(32, "little"))
    # After an ask, datagrams of these endpoints are Inkling's even if they are malformed.
    capture.add(asker, node, bytes.fromhex(ask["bytes"])[:-1])
    # An ICMP error quotes a datagram that the capture has already.
    capture.add_quoted(asker, node, bytes.fromhex(ask["bytes"]))
    path = folder / "asks.pcap"
    capture.write(path)
    packets = dissected(path)
    tellers = [packet.number("tell_frame") for packet in packets]
    askers = [packet.number("ask_frame") for packet in packets]
    check("tells of asks", tellers[:3], [3, 3, None])
    check("asks of tells", askers[:4], [None, None, 1, None])
    check("an ask again", packets[1].number("repeat_of"), 1)
    check("the tag of a tell", packets[2].number("tag"), int(ask["tag"], 16))
    users = {case["publicKey"]: case["userID"] for case in vectors("derivations")["userIDs"]}
    check("the user of a tell", packets[2].shown("user_id"), [users[tell["key"]]])
    check("a key that is not valid", packets[4].errors(), ["key"])
    check("an ask cut short", packets[5].errors(), ["length"])
    check("quoted", (packets[6].is_quoted, packets[6].inkling is not None), (True, False))
    check("the count of packets", len(packets), 7)


def test_recognition(folder):
    """What is taken for Inkling by its form alone."""
    capture = Capture()
    # Records of DTLS with the lengths of a tell and a retry.
    records = [bytes.fromhex("16fefd00000000000000000020") + bytes(32),
               bytes.fromhex("14fefd00000000000000000008") + bytes(8)]
    datagrams = [(sealed(bytes(32), 1, LAST_WILL_COUNTER, b"\x08\3"), True),
                 (sealed(bytes(32), 2, 2**24, b"\2\1"), False),
                 (sealed(bytes(32), 3, 2**24 - 1, b"\2\1"), True),
                 # The index is known by now.
                 (sealed(bytes(32), 3, 2**24, b"\2\1"), True),
                 *((record, False) for record in records)]
    for number, (datagram, _) in enumerate(datagrams):
        capture.add(((3, 3), 6000 + number), ((3, 4), 6100 + number), datagram)
    path = folder / "recognition.pcap"
    capture.write(path)
    packets = dissected(path, "--disable-heuristic", "dtls_udp")
    for number, ((datagram, expected), packet) in enumerate(zip(datagrams, packets, strict=True), 1):
        check(f"recognised by form, frame {number} of {len(datagram)} bytes", packet.inkling is not None, expected)


def test_nodes(program, folder):
    path = folder / "nodes.pcapng"
    check("exit statuses of the nodes", capture_nodes(program, folder, path), [0, 0])
    packets = [packet for packet in dissected(path, chats="lobby") if packet.udp is not None and not packet.is_quoted]
    counters = {}
    kinds = set()
    for number, packet in enumerate(packets, 1):
        check(f"datagram {number} of the nodes is recognised", packet.inkling is not None, True)
        check(f"datagram {number} of the nodes: errors", packet.errors(), [])
        check(f"datagram {number} of the nodes: notes", packet.notes(), [])
        if packet.inkling is None:
            continue
        kind = packet.number("kind")
        kinds.add(kind)
        check(f"datagram {number} of the nodes: chat", packet.shown("chat"), ["lobby"])
        if kind == KINDS["sealed"]:
            counters.setdefault(packet.number("receiver_index"), []).append(packet.number("counter"))
            check(f"datagram {number} of the nodes has a handshake",
                  len(packet.shown("initiation_frame") + packet.shown("response_frame")), 2)
    check("kinds of the nodes", kinds, {KINDS[kind] for kind in ("ask", "tell", "initiation", "response", "sealed")})
    check("indices of the nodes", len(counters) >= 2, True)
    for index, list_of_counters in counters.items():
        check(f"counters under 0x{index:08x}", list_of_counters, list(range(len(list_of_counters))))
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
        for test in (test_crypto, test_datagrams, test_frames, test_texts, test_sealed, test_handshakes,
                     test_example, test_counters, test_ambiguity, test_other_sessions, test_growing_keys, test_asks,
                     test_recognition):
            test(folder)
        if program:
            test_nodes(program, folder)
    for problem in problems:
        print(problem)
    print(f"{checks} checks, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
