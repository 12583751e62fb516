"""The cases of `handshake.json`, `sealed.json` and `replay.json`."""

import reference as ref
from cases import ALICE, BOB, LOREM, LOW_ORDER, SECRET, case, filler, top_bit
from reference import Handshake, Side

RUN_A, RUN_B, STREAM_A, STREAM_B = 0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x11223344, 0x55667788
STREAM_CROSSED = 0x99AABBCC


# handshake.json

def conversation(shake, where):
    """A first contact, typing, a message and a bye, sealed in both directions."""
    sealed = sealed_steps(shake, where, [
        ("the initiator's hello", "initiator", ref.hello(RUN_A, STREAM_A, 0, 0, "Alice") + ref.heartbeat()),
        ("the responder's hello", "responder", ref.hello(RUN_B, STREAM_B, STREAM_A, 0, "Bob") + ref.heartbeat()),
        ("the hello that holds the other's stream", "initiator",
         ref.hello(RUN_A, STREAM_A, STREAM_B, 0, "Alice") + ref.heartbeat()),
        ("typing begins", "initiator", ref.typing_frame(True)),
        ("the first copy", "initiator", ref.typing_frame(True)),
        ("the second copy", "initiator", ref.typing_frame(True)),
        ("the heartbeat while typing", "initiator", ref.heartbeat(typing=True)),
        ("the message, behind the stop", "initiator",
         ref.typing_frame() + ref.message(STREAM_A, 0, 1, 1, "Hello, Bob!")),
        ("the ack", "responder", ref.ack(STREAM_A, 1, 0)),
        ("a ping", "responder", ref.ping(0xBEEF)),
        ("its pong", "initiator", ref.heartbeat() + ref.pong(0xBEEF)),
        ("the bye", "responder", ref.bye(0)),
    ])
    will = ref.bye(3)
    sealed.append(case(f"{where}: the initiator's last will", ["W-21", "L-33"], **{"from": "initiator"}, counter=ref.LAST_WILL_COUNTER,
                       plaintext=will, bytes=ref.seal(shake.forward, shake.responder.index, ref.LAST_WILL_COUNTER, will)))
    return sealed


def late_hello(shake, where):
    """All that is said on a session that comes second: its initiator's hello, which names a stream of its own."""
    return sealed_steps(shake, where, [
        ("the initiator's hello", "initiator", ref.hello(RUN_B, STREAM_CROSSED, 0, 0, "Bob") + ref.heartbeat())])


def sealed_steps(shake, where, steps):
    """Datagrams of both sides, each under its sender's next counter."""
    counters, sealed = {"initiator": 0, "responder": 0}, []
    for name, sender, plaintext in steps:
        from_initiator = sender == "initiator"
        key = shake.forward if from_initiator else shake.backward
        index = shake.responder.index if from_initiator else shake.initiator.index
        counter = counters[sender]
        counters[sender] += 1
        datagram = ref.seal(key, index, counter, plaintext)
        sealed.append(case(f"{where}: {name}", ["W-19", "W-20"], **{"from": sender}, counter=counter, plaintext=plaintext, bytes=datagram))
    return sealed


def handshake_case(where, chat, shake, talk=conversation):
    cookie = filler("handshake cookie", 16)
    return case(
        f"a handshake {where}", ["W-1", "W-17", "W-18"], chat=chat, tag=shake.tag, psk=shake.psk, initiator=shake.initiator.json(),
        responder=shake.responder.json(), header=shake.header, prologue=shake.prologue, message1=shake.message1,
        message2Payload=shake.payload2, message2=shake.message2, initiation=shake.initiation, cookie=cookie,
        initiationWithCookie=shake.initiation + cookie, response=shake.response, handshakeHash=shake.hash,
        initiatorToResponderKey=shake.forward, responderToInitiatorKey=shake.backward, sealed=talk(shake, where))


def open_handshake():
    return Handshake(ALICE, BOB, ref.open_tag("lobby"), ref.open_psk("lobby"))


def crossed_handshake():
    """Bob's own opening, which crosses Alice's: the same static keys, other ephemeral ones."""
    bob, alice = Side("bob", 0xC3D4E5F6), Side("alice", 0x05060708)
    for label, side in (("bob crossed", bob), ("alice crossed", alice)):
        side.ephemeral_private = ref.private_key(label + " ephemeral")
        side.ephemeral = ref.public_key(side.ephemeral_private)
    assert (alice.static, bob.static) == (ALICE.static, BOB.static)
    return Handshake(bob, alice, ref.open_tag("lobby"), ref.open_psk("lobby"))


def secret_handshake():
    return Handshake(BOB, ALICE, ref.secret_tag(SECRET), ref.secret_psk(SECRET))


def handshakes():
    opened, secret = open_handshake(), secret_handshake()
    return {
        "valid": [handshake_case("in the open chat lobby", {"open": "lobby"}, opened),
                  handshake_case("in a secret chat", {"secret": ref.base32(SECRET)}, secret),
                  handshake_case("that crosses the first one", {"open": "lobby"}, crossed_handshake(), late_hello)],
        "invalid": invalid_initiations(opened) + invalid_responses(opened),
    }


def flipped(data, index, bit=0):
    return data[:index] + bytes([data[index] ^ 1 << bit]) + data[index + 1:]


def invalid_initiations(shake):
    """What the responder of `shake` refuses; sealed and parsed otherwise as the good initiation."""
    rows = [
        ("a version of 2", ["W-12"], b"\x21" + shake.initiation[1:], "parse", "version"),
        ("one byte cut off", ["W-13"], shake.initiation[:-1], "parse", "length"),
        ("a sender index altered", ["W-17"], flipped(shake.initiation, 4), "initiation", "authentication"),
        ("a chat tag altered", ["W-17"], flipped(shake.initiation, 12, 7), "initiation", "authentication"),
        ("an ephemeral key altered", ["W-17"], flipped(shake.initiation, 13), "initiation", "authentication"),
        ("the encrypted static key altered", ["W-17"], flipped(shake.initiation, 45), "initiation", "authentication"),
        ("the static key's tag altered", ["W-17"], flipped(shake.initiation, 77, 3), "initiation", "authentication"),
        ("the payload's tag altered", ["W-17"], flipped(shake.initiation, 108, 7), "initiation", "authentication"),
        ("an initiation for another responder", ["W-17"],
         Handshake(ALICE, ALICE, shake.tag, shake.psk).initiation, "initiation", "authentication"),
    ]
    header, target = shake.header, shake.responder.static
    for name, point in LOW_ORDER:
        point = bytes.fromhex(point)
        es = bytes(32)
        ss = ref.exchange(shake.initiator.static_private, target)
        forged, _ = ref.forged_message1(shake.prologue, target, point, es, shake.initiator.static, ss)
        rows.append((f"an ephemeral key of low order: {name}", ["W-4"], header + forged, "initiation", "invalidKey"))
    es = ref.exchange(shake.initiator.ephemeral_private, target)
    for name, point in LOW_ORDER:
        point = bytes.fromhex(point)
        forged, _ = ref.forged_message1(shake.prologue, target, shake.initiator.ephemeral, es, point, bytes(32))
        rows.append((f"a static key of low order: {name}", ["W-4"], header + forged, "initiation", "invalidKey"))
    static = top_bit(shake.initiator.static)
    ss = ref.exchange(shake.initiator.static_private, target)
    forged, _ = ref.forged_message1(shake.prologue, target, shake.initiator.ephemeral, es, static, ss)
    rows.append(("a static key with its top bit set", ["W-3"], header + forged, "initiation", "invalidKey"))
    cases = []
    for name, clauses, datagram, stage, error in rows:
        # The package does not refuse the non-canonical key: the exchange itself is sound.
        if stage == "initiation" and clauses != ["W-3"]:
            assert not ref.accepts_message1(shake.responder, shake.psk, ref.prologue(datagram[:13]), datagram[13:]), name
        cases.append(case(f"no initiation: {name}", clauses, of=0, initiation=datagram, stage=stage, error=error))
    forged, _ = ref.forged_message1(shake.prologue, target, shake.initiator.ephemeral, es, shake.initiator.static, ss)
    assert forged == shake.message1
    return cases


def answer_under(shake, psk):
    """A response of a responder that holds another pre-shared key."""
    noise = ref.connection(shake.responder, psk, shake.prologue)
    noise.read_message(shake.message1)
    return ref.response(shake.initiator.index, bytes(noise.write_message(shake.payload2)))


def forged_response(shake, ephemeral, ee, se):
    target = shake.responder.static
    es = ref.exchange(shake.initiator.ephemeral_private, target)
    ss = ref.exchange(shake.initiator.static_private, target)
    _, state = ref.forged_message1(
        shake.prologue, target, shake.initiator.ephemeral, es, shake.initiator.static, ss)
    message2 = ref.forged_message2(state, shake.psk, ephemeral, ee, se, shake.payload2)
    return ref.response(shake.initiator.index, message2)


def invalid_responses(shake):
    """What the initiator of `shake` refuses."""
    responder, initiator = shake.responder, shake.initiator
    ee = ref.exchange(responder.ephemeral_private, initiator.ephemeral)
    se = ref.exchange(responder.ephemeral_private, initiator.static)
    assert forged_response(shake, responder.ephemeral, ee, se) == shake.response
    rows = [
        ("a kind of 9", ["W-12"], b"\x19" + shake.response[1:], "parse", "kind"),
        ("one byte cut off", ["W-13"], shake.response[:-1], "parse", "length"),
        ("an ephemeral key altered", ["L-7"], flipped(shake.response, 5), "response", "authentication"),
        ("the encrypted index altered", ["L-7"], flipped(shake.response, 37), "response", "authentication"),
        ("the tag altered", ["L-7"], flipped(shake.response, 56, 7), "response", "authentication"),
        ("another pre-shared key at the responder", ["W-8", "L-7"],
         answer_under(shake, ref.open_psk("Lobby")), "response", "authentication"),
    ]
    for name, point in LOW_ORDER:
        forged = forged_response(shake, bytes.fromhex(point), bytes(32), bytes(32))
        rows.append((f"an ephemeral key of low order: {name}", ["W-4"], forged, "response", "invalidKey"))
    return [case(f"no response: {n}", c, of=0, response=d, stage=s, error=e) for n, c, d, s, e in rows]


# sealed.json

def sealed():
    key, index = filler("transport key", 32), 0xA1B2C3D4
    greeting = ref.hello(RUN_A, STREAM_A, STREAM_B, 0, "Alice")
    rows = [
        ("typing, the shortest datagram", 3, ref.typing_frame(True)),
        ("a heartbeat", 4, ref.heartbeat(typing=True)),
        ("a hello with a heartbeat", 0, greeting + ref.heartbeat()),
        ("a message behind a typing frame", 5, ref.typing_frame() + ref.message(STREAM_A, 0, 1, 1, "Hello, Bob!")),
        ("an ack", 6, ref.ack(STREAM_B, 3, 0b10)),
        ("a ping", 7, ref.ping(0xBEEF)),
        ("a heartbeat and a pong", 8, ref.heartbeat() + ref.pong(0xBEEF)),
        ("a bye", 9, ref.bye(1)),
        ("the counter above 16 bits", 65_536, ref.typing_frame()),
        ("the counter at which a new handshake is due", 2**31, ref.heartbeat()),
        ("the highest ordinary counter", ref.HIGHEST_ORDINARY_COUNTER, ref.heartbeat()),
        ("the longest datagram", 10, ref.typing_frame() + ref.message(STREAM_A, 1, 1, 0, (LOREM * 30)[:1_163])),
    ]
    valid = [case(n, ["W-19"], key=key, receiverIndex=index, counter=c, plaintext=p, bytes=ref.seal(key, index, c, p))
             for n, c, p in rows]
    will = ref.bye(3)
    valid.append(case("the last will", ["W-21"], key=key, receiverIndex=index, counter=ref.LAST_WILL_COUNTER, plaintext=will,
                      bytes=ref.seal(key, index, ref.LAST_WILL_COUNTER, will)))
    other = ref.bye(5)
    valid.append(case("a last will, whatever its reason byte", ["W-21"], key=key, receiverIndex=index,
                      counter=ref.LAST_WILL_COUNTER, plaintext=other,
                      bytes=ref.seal(key, index, ref.LAST_WILL_COUNTER, other)))
    assert len(bytes.fromhex(valid[0]["bytes"])) == 27 and len(bytes.fromhex(valid[1]["bytes"])) == 28
    assert max(len(entry["bytes"]) for entry in valid) == 2_400
    return {"valid": valid, "invalid": invalid_sealed(key, index)}


def invalid_sealed(key, index):
    good = ref.seal(key, index, 3, ref.typing_frame(True))
    rows = [
        ("the tag altered", "W-23", flipped(good, 26), "authentication"),
        ("the first byte of the tag altered", "W-23", flipped(good, 11, 7), "authentication"),
        ("a frame altered", "W-23", flipped(good, 10), "authentication"),
        ("the receiver index altered", "W-19", flipped(good, 4), "authentication"),
        ("the counter altered", "W-19", flipped(good, 8), "authentication"),
        ("the frames cut by one byte and the tag kept", "W-23", good[:9] + good[10:], "length"),
        ("one byte inserted", "W-23", good[:9] + b"\0" + good[9:], "authentication"),
        ("sealed under another key", "W-19", ref.seal(filler("another key", 32), index, 3, ref.typing_frame(True)),
         "authentication"),
        ("a big-endian nonce", "W-19", good[:9] + ref.ChaCha20Poly1305(key).encrypt(
            bytes(8) + b"\0\0\0\3", ref.typing_frame(True), good[:9]), "authentication"),
        ("no associated data", "W-19", good[:9] + ref.ChaCha20Poly1305(key).encrypt(
            ref.nonce(3), ref.typing_frame(True), b""), "authentication"),
    ]
    under = [
        ("the counter 2^32 - 2", "W-20", ref.LAST_WILL_COUNTER - 1, ref.heartbeat(), "counter"),
        ("a heartbeat under the last will's counter", "W-21", ref.LAST_WILL_COUNTER, ref.heartbeat(), "lastWill"),
        ("a bye with a typing frame under the last will's counter", "W-21", ref.LAST_WILL_COUNTER,
         ref.typing_frame() + ref.bye(3), "lastWill"),
        ("a bye with an extension under the last will's counter", "W-21", ref.LAST_WILL_COUNTER,
         ref.bye(3) + ref.extension(0x40, b""), "lastWill"),
        ("two statuses, well sealed", "W-24", 3, ref.typing_frame(True) + ref.heartbeat(), "frames"),
        ("a cut frame, well sealed", "W-24", 3, ref.typing_frame(True) + b"\x06", "frames"),
    ]
    rows += [(n, c, ref.seal(key, index, counter, p), e) for n, c, counter, p, e in under]
    for name, _, datagram, error in rows:
        assert (ref.opens(key, datagram) is None) == (error in ("authentication", "length")), name
    return [case(n, [c], key=key, bytes=d, error=e) for n, c, d, e in rows]


# replay.json

HIGHEST = ref.HIGHEST_ORDINARY_COUNTER
REPLAYS = [
    ("counters in order", [(0, 1), (1, 1), (2, 1), (3, 1)]),
    ("a doubled counter", [(0, 1), (0, 0), (1, 1), (1, 0), (0, 0)]),
    ("reordered counters, each once", [(5, 1), (3, 1), (4, 1), (0, 1), (3, 0), (4, 0), (5, 0), (0, 0), (6, 1)]),
    ("the first counter need not be 0", [(77, 1), (76, 1), (77, 0)]),
    ("at the edge of the window from a first counter of 1,024", [(1_024, 1), (1, 1), (0, 0), (1, 0)]),
    ("at the edge of the window from a first counter of 1,023", [(1_023, 1), (0, 1), (0, 0)]),
    ("too old by one, and just not", [(5_000, 1), (3_976, 0), (3_977, 1), (3_977, 0), (3_978, 1)]),
    ("the window moves with the highest", [(0, 1), (1_000, 1), (1, 1), (1_025, 1), (1, 0), (2, 1), (1_026, 1), (3, 1), (2, 0)]),
    ("a far jump forgets no counter within the window", [(10, 1), (1_000, 1), (1_033, 1), (10, 0), (11, 1), (1_000, 0), (999, 1)]),
    ("a far jump leaves nothing behind in the window",
     [(c, 1) for c in range(8)] + [(1_024, 1)] + [(c, 0) for c in range(8)] + [(8, 1)] + [(2_048 + c, 1) for c in range(8)]
     + [(1_032 + c, 1) for c in range(8)]),
    ("a jump of many windows", [(3, 1), (1_000_000, 1), (3, 0), (999_999, 1), (998_977, 1), (998_976, 0), (1_000_000, 0)]),
    ("a jump by exactly one window", [(100, 1), (1_124, 1), (100, 0), (101, 1), (1_124, 0)]),
    ("across a word of 64 bits", [(63, 1), (64, 1), (65, 1), (62, 1), (64, 0), (63, 0), (128, 1), (127, 1), (127, 0)]),
    ("up to the highest ordinary counter", [(HIGHEST - 1, 1), (HIGHEST, 1), (HIGHEST - 1_023, 1), (HIGHEST - 1_024, 0),
                                          (HIGHEST, 0), (0, 0)]),
    ("a counter refused for its age changes nothing", [(2_000, 1), (900, 0), (977, 1), (900, 0), (2_001, 1), (977, 0)]),
]


def replays():
    cases = []
    for name, steps in REPLAYS:
        seen, highest = set(), -1
        for counter, accept in steps:
            fits = counter not in seen and highest - counter < 1_024
            assert fits == bool(accept), (name, counter)
            if fits:
                seen.add(counter)
                highest = max(highest, counter)
        cases.append(case(name, ["W-22"], counters=[{"counter": c, "accept": bool(a)} for c, a in steps]))
    return {"sequences": cases}
