"""The cases of `handshake.json`, `sealed.json` and `replay.json`."""

import struct
import warnings

from noise.connection import Keypair, NoiseConnection

import reference as ref
from cases import (ALICE, BAD_KEYS, BOB, CHATS, COOKIE, LOREM, OPEN, OWNED, RUN_A, RUN_B, ack, case, filler, flipped, heartbeat,
                   record, small, table, typing, unknown)
from reference import Handshake, Side

LOW_ORDER = [
    ("0", bytes(32)), ("1", b"\1" + bytes(31)),
    ("the first of order 8", bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")),
    ("the second of order 8", bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"))]
LOW_ORDER += [(name, (ref.FIELD_PRIME + i).to_bytes(32, "little")) for i, name in enumerate(("p - 1", "p", "p + 1"), -1)]
ZERO = bytes(32)


# handshake.json

def package(shake, side, psk=None):
    """The same handshake by the package `noiseprotocol`, at one side."""
    noise = NoiseConnection.from_name(ref.NOISE_NAME)
    noise.set_psks(psk or shake.chat.psk)
    noise.set_prologue(shake.chat.prologue(shake.initiator.index))
    if side is shake.initiator:
        noise.set_as_initiator()
        noise.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, shake.responder.static)
    else:
        noise.set_as_responder()
    noise.set_keypair_from_private_bytes(Keypair.STATIC, side.static_private)
    noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, side.ephemeral_private)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        noise.start_handshake()
    return noise


def refuses(noise, message):
    try:
        noise.read_message(message)
    except (ref.InvalidTag, ValueError):
        return True
    return False


def check_by_package(shake):
    initiator, responder = package(shake, shake.initiator), package(shake, shake.responder)
    assert initiator.write_message(shake.payload1) == shake.message1
    assert responder.read_message(shake.message1) == shake.payload1
    assert responder.write_message(shake.payload2) == shake.message2
    assert initiator.read_message(shake.message2) == shake.payload2
    assert initiator.get_handshake_hash() == responder.get_handshake_hash() == shake.hash
    assert initiator.noise_protocol.cipher_state_encrypt.k == shake.forward
    assert initiator.noise_protocol.cipher_state_decrypt.k == shake.backward


def conversation(shake, where, counters, lines):
    """Sealed datagrams of both sides of a handshake, under counters that go on over all sessions of a state."""
    sealed = []
    for name, sender, *frames in lines:
        key, index = (shake.forward, shake.responder.index) if sender == "initiator" else (shake.backward, shake.initiator.index)
        side = shake.initiator if sender == "initiator" else shake.responder
        is_will = frames == [small("bye", "lastWill")]
        counter = ref.WILL if is_will else counters[side.static]
        counters[side.static] += not is_will
        text = ref.plaintext(*frames)
        sealed.append(case(f"{where}: {name}", "W-19 W-21" if is_will else "W-19 W-20", **{"from": sender}, counter=counter,
                           plaintext=text, bytes=ref.seal(key, index, counter, text)))
    return sealed


FIRST_CONTACT = [
    ("the initiator's first ping", "initiator", heartbeat(unheard=True), small("ping", 0xA1)),
    ("the responder's first ping", "responder", heartbeat(unheard=True), small("ping", 0xB1)),
    ("the pong of the responder", "responder", heartbeat(unheard=True), small("pong", 0xA1)),
    ("the pong of the initiator", "initiator", heartbeat(unheard=True), small("pong", 0xB1)),
    ("the name of the initiator", "initiator", typing(), record(0, "Alice", kind=1)),
    ("the heartbeat of the responder", "responder", heartbeat()),
    ("the name of the responder, behind an ack", "responder", typing(), ack(1), record(0, "Bob", kind=1)),
    ("the ack of the initiator", "initiator", ack(1)), ("a start", "initiator", typing(True)),
    ("a heartbeat while typing", "initiator", heartbeat(typing=True)),
    ("a text behind the stop", "initiator", typing(), record(1, "Hello, Bob!")), ("the ack of the text", "responder", ack(2)),
    ("a forward", "responder", small("forward", 3))]
WILLS = [("the last will of the initiator", "initiator", small("bye", "lastWill")),
         ("the last will of the responder", "responder", small("bye", "lastWill"))]
LATER = [("a ping of the second session", "initiator", heartbeat(), small("ping", 0xC1)),
         ("the pong of the second session", "responder", heartbeat(), small("pong", 0xC1)),
         ("a bye on the second session", "initiator", small("bye", "quit"))]


def valid_handshake(name, shake, sealed):
    return case(
        name, "W-17 W-18 W-36 W-38", chat=shake.chat, initiator=shake.initiator.json, responder=shake.responder.json,
        prologue=shake.prologue, message1Payload=shake.payload1, message1=shake.message1, check=shake.initiation[5:13],
        initiation=shake.initiation, cookie=COOKIE, initiationWithCookie=shake.initiation + COOKIE,
        message2Payload=shake.payload2, message2=shake.message2, response=shake.response, handshakeHash=shake.hash,
        initiatorToResponderKey=shake.forward, responderToInitiatorKey=shake.backward, sealed=sealed)


def handshakes():
    valid = []
    for name, chat in CHATS:
        shake = Handshake(chat, ALICE, BOB)
        check_by_package(shake)
        counters = {ALICE.static: 0, BOB.static: 0}
        valid.append(valid_handshake(f"a handshake in {name}", shake,
                                     conversation(shake, f"in {name}", counters, FIRST_CONTACT + WILLS)))
        if chat is OPEN:
            second = Handshake(OPEN, Side("bob", 0xC3D4E5F6, RUN_B, 2, " 2"), Side("alice", 0x05060708, RUN_A, 5, " 2"))
            check_by_package(second)
            sealed = conversation(second, "on a second session", counters, LATER)
    valid.append(valid_handshake("a second handshake of the first state, begun by the other side", second, sealed))
    top_bit = ALICE.ephemeral[:31] + bytes([ALICE.ephemeral[31] | 0x80])
    shake = Handshake(OPEN, ALICE, BOB, ephemeral1=top_bit)
    assert not refuses(package(shake, BOB), shake.message1)
    valid.append({**valid_handshake("an ephemeral key that is not canonical", shake, []), "clauses": ["W-3", "W-38"]})
    good = Handshake(OPEN, ALICE, BOB)
    return {"valid": valid, "invalid": invalid_initiations(good) + invalid_responses(good)}


def refused(rows, field):
    return [case(f"invalid {field}: {n}", c, of=0, **{field: d}, stage=s, error=e) for n, c, d, s, e in rows]


def invalid_initiations(good):
    data, index = good.initiation, ALICE.index
    rows = [("version 1", "W-12", b"\x11" + data[1:], "parse", "version"), ("one byte short", "W-13", data[:-1], "parse", "length")]
    rows += [(f"bit 0 of byte {i} ({part}) flipped", "W-37", flipped(data, i), "check", "check")
             for part, i in (("index", 4), ("check", 5), ("check", 12), ("ephemeral key", 13), ("static key", 45), ("payload", 93))]
    rows += [("the check of another chat", "W-37", OWNED.initiation(index, good.message1), "check", "check"),
             ("the check under the key for asks", "W-36", data[:5] + ref.check(OPEN.ask_key, data[:5] + data[13:]) + data[13:],
              "check", "check")]
    forged = [(f"bit 7 of byte {i} flipped, with its check", "W-17", OPEN.initiation(index, flipped(good.message1, i, 7)))
              for i in (0, 32, 79, 80, 107)]
    forged += [(name, "W-17", Handshake(OPEN, ALICE, BOB, prologue=prologue).initiation) for name, prologue in (
        ("the prologue of another chat", OWNED.prologue(index)), ("the prologue of another index", OPEN.prologue(index + 1)),
        ("an empty prologue", b""))]
    forged += [("a message for another responder", "W-38", Handshake(OPEN, ALICE, ALICE).initiation)]
    rows += [(n, c, d, "initiation", "authentication") for n, c, d in forged]
    bad = [(f"an ephemeral key of low order: {n}", "W-4", {"ephemeral1": p, "es": ZERO}) for n, p in LOW_ORDER]
    bad += [(f"a static key of low order: {n}", "W-4", {"static1": p, "ss": ZERO}) for n, p in LOW_ORDER]
    bad += [("a static key with its top bit set", "W-3", {"static1": BAD_KEYS[-1][1]})]
    rows += [(n, c, Handshake(OPEN, ALICE, BOB, **f).initiation, "initiation", "invalidKey") for n, c, f in bad]
    rows += [("the responder's own static key", "D-7", Handshake(OPEN, Side("bob", index, RUN_A, 5, " 2"), BOB).initiation,
              "initiation", "ownKey")]
    for name, clauses, datagram, stage, _ in rows:
        assert stage != "initiation" or clauses in ("W-3", "D-7") or refuses(package(good, BOB), datagram[13:]), name
    return refused(rows, "initiation")


def invalid_responses(good):
    data = good.response
    rows = [("version 1", "W-12", b"\x12" + data[1:], "parse", "version"), ("one byte short", "W-13", data[:-1], "parse", "length"),
            ("another index", "L-7", flipped(data, 4), "index", "notPending")]
    forged = [(f"bit 0 of byte {i} ({part}) flipped", "L-7", flipped(data, i))
              for part, i in (("ephemeral key", 5), ("payload", 37), ("tag", 68))]
    forged += [("another pre-shared key", "W-17 L-7", Handshake(OPEN, ALICE, BOB, psk=OWNED.psk).response),
               ("a pre-shared key of zeros", "W-17 L-7", Handshake(OPEN, ALICE, BOB, psk=ZERO).response),
               ("the response to another initiation", "L-7", Handshake(OPEN, Side("alice", ALICE.index, RUN_A, 5, " 2"), BOB).response)]
    rows += [(n, c, d, "response", "authentication") for n, c, d in forged]
    rows += [(f"an ephemeral key of low order: {n}", "W-4 L-7", Handshake(OPEN, ALICE, BOB, ephemeral2=p, ee=ZERO, se=ZERO).response,
              "response", "invalidKey") for n, p in LOW_ORDER]
    for name, _, datagram, stage, _ in rows:
        initiator = package(good, ALICE)
        initiator.write_message(good.payload1)
        assert stage != "response" or refuses(initiator, datagram[5:]), name
    return refused(rows, "response")


# sealed.json

SEALED_ERRORS = {"length": "W-13", "authentication": "W-19 W-23", "counter": "W-20", "lastWill": "W-21", "frames": "W-24"}
KEY, INDEX = filler("transport key", 32), 0xA1B2C3D4


def sealed():
    rows = [("an edge, the shortest datagram", 3, [typing(True)]), ("a heartbeat", 4, [heartbeat(typing=True)]),
            ("a text", 5, [typing(), record(1, "Hello, Bob!")]), ("a name", 0, [typing(), record(0, "Alice", kind=1)]),
            ("an ack", 6, [ack(3, 0b10)]), ("a ping", 7, [heartbeat(), small("ping", 0xBEEF)]), ("a bye", 9, [small("bye", "left")]),
            ("a forward", 11, [small("forward", 5)]), ("a counter above 16 bits", 65_536, [typing()]),
            ("a counter with each byte set", 0x01020304, [heartbeat()]), ("the highest ordinary counter", ref.HIGHEST, [heartbeat()]),
            ("the longest datagram", 10, [typing(), record(1, LOREM[:1_167], last=False)]),
            ("the last will", ref.WILL, [small("bye", "lastWill")])]
    rows = [(n, c, ref.plaintext(*f)) for n, c, f in rows] + [("a last will of another reason, taken for 3", ref.WILL, b"\x08\0")]
    cases = [case(n, "W-21" if c == ref.WILL else "W-19", key=KEY, receiverIndex=INDEX, counter=c, plaintext=p,
                  bytes=ref.seal(KEY, INDEX, c, p))
             for n, c, p in rows]
    assert [len(entry["bytes"]) // 2 for entry in cases[:2] + cases[11:12]] == [27, 28, 1_200]
    return {"valid": cases, "invalid": invalid_sealed()}


def invalid_sealed():
    text = ref.plaintext(typing(True))
    good = ref.seal(KEY, INDEX, 3, text)
    seal = ref.ChaCha20Poly1305(KEY).encrypt
    rows = [(f"bit 0 of byte {i} ({part}) flipped", flipped(good, i), "authentication") for part, i in (
        ("index", 1), ("index", 4), ("counter", 8), ("frame", 9), ("frame", 10), ("tag", 11), ("tag", 26))]
    rows += [("one byte cut out", good[:9] + good[10:], "length"), ("one byte more", good[:9] + b"\0" + good[9:], "authentication"),
             ("another key", ref.seal(filler("another key", 32), INDEX, 3, text), "authentication"),
             ("a big-endian nonce", good[:9] + seal(struct.pack(">IQ", 0, 3), text, good[:9]), "authentication"),
             ("no associated data", good[:9] + seal(ref.nonce(3), text, b""), "authentication")]
    rows += [(n, ref.seal(KEY, INDEX, c, p), e) for n, c, p, e in (
        ("the counter 2^32 - 2", ref.WILL - 1, ref.plaintext(heartbeat()), "counter"),
        ("a heartbeat as last will", ref.WILL, ref.plaintext(heartbeat()), "lastWill"),
        ("a typing frame and a bye as last will", ref.WILL, ref.plaintext(typing(), small("bye", "lastWill")), "lastWill"),
        ("a bye and an unknown frame as last will", ref.WILL, ref.plaintext(small("bye", "lastWill"), unknown(0x40)), "lastWill"),
        ("two byes as last will", ref.WILL, ref.plaintext(small("bye", "lastWill")) * 2, "lastWill"),
        ("two statuses, well sealed", 3, text + ref.plaintext(heartbeat()), "frames"),
        ("a cut frame, well sealed", 3, text + b"\x06", "frames"))]
    for name, datagram, error in rows:
        assert ref.opens(KEY, datagram) == (error not in ("authentication", "length")), name
    return table("invalid sealed datagram", SEALED_ERRORS, "key bytes error", [(n, KEY, d, e) for n, d, e in rows])


# replay.json

HIGH = ref.HIGHEST
WINDOW = [
    ("counters in order", "0+ 1+ 2+ 3+"), ("doubled counters", "0+ 0- 1+ 1- 0-"), ("another order", "5+ 3+ 4+ 0+ 3- 4- 5- 0- 6+"),
    ("a first counter above 0", "77+ 76+ 77-"), ("the oldest counter below 1,024", "1024+ 1+ 0- 1-"),
    ("the oldest counter below 1,023", "1023+ 0+ 0-"), ("too old by one", "5000+ 3976- 3977+ 3977- 3978+"),
    ("a window that moves", "0+ 1000+ 1+ 1025+ 1- 2+ 1026+ 3+ 2-"), ("a jump within the window", "10+ 1000+ 1033+ 10- 11+ 1000- 999+"),
    ("a jump by one window", "100+ 1124+ 100- 101+ 1124-"), ("a jump by many windows", "3+ 1000000+ 3- 999999+ 998977+ 998976- 1000000-"),
    ("a word of 64 bits", "63+ 64+ 65+ 62+ 64- 63- 128+ 127+ 127-"),
    ("a counter too old changes nothing", "2000+ 900- 977+ 900- 2001+ 977-"),
    ("the highest ordinary counters", f"{HIGH - 1}+ {HIGH}+ {HIGH - 1023}+ {HIGH - 1024}- {HIGH}- 0-"),
    ("the counter 2^32 - 2 leaves the window in place", f"5+ {HIGH + 1}- 4+ 6+"),
    ("a heartbeat as last will marks nothing", f"5+ {HIGH + 2}- 4+ 6+"), ("an altered datagram marks nothing", "5+ 2000x 6x 6+ 4+"),
    ("a datagram whose frames do not parse marks its counter", "5+ 6g 6- 7+ 2000g 976- 977+"),
    ("two sessions share the window", "0+ 1+ b:2+ 1- 2- b:1- 3+ b:4+"),
    ("a datagram outside the window completes a session", "2000+ b:5- b:2001+ b:5- 6-"),
    ("a session that completes with a marked counter ends the link", "0+ 1+ b:0!"),
    ("a datagram that does not parse completes a session", "0+ b:1g b:1- b:2+"),
    ("the counter 2^32 - 2 completes a session", f"0+ b:{HIGH + 1}- b:1+"), ("an altered datagram completes no session", "0+ b:1x b:1+"),
    ("a heartbeat as last will completes no session", f"0+ b:{HIGH + 2}- b:1+")]
STEPS = {"+": ("good", "accept"), "-": ("good", "drop"), "x": ("altered", "drop"), "g": ("unparsable", "drop"), "!": ("good", "forget")}


def replays():
    cases = []
    for name, text in WINDOW:
        marked, complete, steps = set(), {"a"}, []
        for word in text.split():
            session, _, number = word.rpartition(":")
            session, counter, (datagram, outcome) = session or "a", int(number[:-1]), STEPS[number[-1]]
            opens = datagram != "altered"
            completes = session not in complete and opens and counter != ref.WILL
            complete |= {session} if completes else set()
            fits = counter <= HIGH and counter not in marked and counter > max(marked, default=-1) - 1_024
            assert (datagram == "good" and fits) == (outcome == "accept"), (name, word)
            assert (completes and counter in marked) == (outcome == "forget"), (name, word)
            marked |= {counter} if fits and opens else set()
            steps.append({"session": session, "counter": counter, "datagram": datagram, "outcome": outcome, "completes": completes})
        clauses = [("W-22", ""), ("W-39", "b:"), ("W-23", "x"), ("W-23 W-24", "g"), ("W-20", str(HIGH + 1)), ("W-21", str(HIGH + 2)),
                   ("L-93", "!")]
        cases.append(case(name, " ".join(clause for clause, sign in clauses if sign in text), steps=steps))
    return {"sequences": cases}
