"""The cases of the byte vectors. Every case names itself in a sentence and the clauses that it shows."""

import reference as ref
from reference import Side

ALICE, BOB = sorted((Side("alice", 0x01020304), Side("bob", 0xA1B2C3D4)), key=lambda side: side.static)
SECRET = bytes(range(16))
OTHER_SECRET = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0")
NONCE = bytes.fromhex("0123456789abcdef")
NON_CANONICAL = [ref.FIELD_PRIME.to_bytes(32, "little"), (ref.FIELD_PRIME + 1).to_bytes(32, "little"), b"\xff" * 32]
LOW_ORDER = [
    ("zero", "00" * 32),
    ("one", "01" + "00" * 31),
    ("of order eight, the first", "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    ("of order eight, the second", "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    ("p - 1", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ("p, another form of zero", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ("p + 1, another form of one", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]
# Characters that no chat's name has (W-2).
REFUSED = [("a line feed", "\n"), ("a zero byte", "\0"), ("an escape character", "\x1b"), ("a C1 control", "\x9b"),
           ("a soft hyphen", "\u00ad"), ("a zero-width space", "\u200b"), ("a zero-width joiner", "\u200d"),
           ("a bidirectional override", "\u202e"), ("a bidirectional isolate", "\u2067"), ("a byte order mark", "\ufeff"),
           ("a tag character", "\U000e0041"), ("a line separator", "\u2028"), ("a paragraph separator", "\u2029"),
           ("a no-break space", "\u00a0"), ("an ideographic space", "\u3000")]
assert all(ref.unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Zs") for _, c in REFUSED)
LOREM = "All quiet on the wire, and still somebody types. "


def case(name, clauses, **fields):
    fields = {key: value.hex() if isinstance(value, bytes) else value for key, value in fields.items()}
    return {"name": name, "clauses": clauses, **fields}


def percent(text):
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8"))


def top_bit(key):
    return key[:31] + bytes([key[31] | 0x80])


# derivations.json

def derivations():
    keys = [("zeroes and a nine", bytes([9]) + bytes(31)), ("Alice's", ALICE.static), ("Bob's", BOB.static)]
    names = [("a name in ASCII", "lobby"), ("a name with blanks and capitals", "Team Lunch"),
             ("a name of one byte", "x"), ("a name beyond ASCII", "caf\u00e9 \U0001f95e"),
             ("a name of 64 bytes", "n" * 64)]
    secrets = [("counting bytes", SECRET), ("other bytes", OTHER_SECRET), ("zeroes", bytes(16))]
    return {
        "userIDs": [case(f"the user ID of the key {n}", ["W-5"], publicKey=k, userID=ref.user_id(k)) for n, k in keys],
        "openChats": [case(f"an open chat: {n}", ["W-1", "W-8"], chatName=c, tag=ref.open_tag(c), psk=ref.open_psk(c))
                      for n, c in names]
        + [case("a decomposed name is composed first", ["W-2", "W-8"], chatName="cafe\u0301",
                tag=ref.open_tag("caf\u00e9"), psk=ref.open_psk("caf\u00e9"))],
        "secretChats": [case(f"a secret chat: {n}", ["W-9"], secret=s, tag=ref.secret_tag(s), psk=ref.secret_psk(s))
                        for n, s in secrets],
        "keyMasks": [case(f"a masked key under nonce {n.hex()} and the secret of {w}", ["W-10"], secret=s, nonce=n,
                          mask=ref.key_mask(s, n), publicKey=ALICE.static,
                          maskedKey=ref.xor(ALICE.static, ref.key_mask(s, n)))
                     for w, s in secrets[:2] for n in (NONCE, bytes(8), b"\xff" * 8)],
        "invalidChatNames": [case(n, ["W-2"], chatName=c) for n, c in (
            ("an empty name", ""), ("a name of 65 bytes", "n" * 65), ("a name of 66 bytes in 33 characters", "\u00e9" * 33))]
        + [case(f"a name with {n}", ["W-2"], chatName=f"a{c}b") for n, c in REFUSED],
        "secrets": [case(f"the text of a secret: {n}", ["W-7"], text=ref.base32(s), bytes=s) for n, s in secrets],
        "invalidSecrets": invalid_secrets(),
        "keys": [case(f"the text of a key: {n}", ["W-6"], text=ref.base64url(k), bytes=k) for n, k in keys],
        "invalidKeys": invalid_keys(),
        "invites": invites(),
        "invalidInvites": invalid_invites(),
        "serviceRecords": service_records(),
        "invalidServiceRecords": invalid_service_records(),
    }


def invalid_secrets():
    good = ref.base32(SECRET)
    rows = [("empty", "", "length"), ("one character short", good[:25], "length"),
            ("one character long", good + "a", "length"), ("padded", good + "======", "length"),
            ("in capitals", good.upper(), "alphabet"), ("with the digit 1", "1" + good[1:], "alphabet"),
            ("with a blank", good[:12] + " " + good[13:], "alphabet"),
            ("with a character beyond ASCII", good[:25] + "\u00e4", "alphabet"),
            ("the lower spare bit set", ref.base32(bytes(16))[:25] + "b", "spareBits"),
            ("the upper spare bit set", ref.base32(bytes(16))[:25] + "c", "spareBits"),
            ("a passphrase", "correct horse battery stap", "alphabet"),
            ("a short passphrase", "sesame", "length")]
    return [case(f"no secret: {n}", ["W-7"], text=t, error=e) for n, t, e in rows]


def invalid_keys():
    good = ref.base64url(ALICE.static)
    standard = ref.base64url(b"\xfb\xff" * 16)
    assert "-" in standard or "_" in standard
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spare = good[:42] + last[last.index(good[42]) + 1]
    rows = [("empty", "", "length"), ("one character short", good[:42], "length"),
            ("one character long", good + "A", "length"), ("padded", good + "=", "length"),
            ("the standard alphabet", "+/" + good[2:], "alphabet"), ("with a blank", " " + good[1:], "alphabet"),
            ("a spare bit set", spare, "spareBits"), ("32 zero bytes", ref.base64url(bytes(32)), "key"),
            ("the top bit set", ref.base64url(top_bit(ALICE.static)), "key")]
    rows += [(f"not below the field prime: {k.hex()[:4]}", ref.base64url(k), "key") for k in NON_CANONICAL]
    return [case(f"no key: {n}", ["W-3" if e == "key" else "W-6"], text=t, error=e) for n, t, e in rows]


def invites():
    secret = ref.base32(SECRET)
    rows = [("a plain name", "lobby", "lobby", True),
            ("a name with a blank, a percent sign and a hash", "a%20b%25%23c", "a b%#c", True),
            ("a name beyond ASCII", "caf%C3%A9", "caf\u00e9", True),
            ("all characters that need no escape", "aZ0-._~", "aZ0-._~", True),
            ("escapes in lower case", "caf%c3%a9", "caf\u00e9", False),
            ("a needless escape", "%6cobby", "lobby", False),
            ("a decomposed name", "cafe%CC%81", "caf\u00e9", False),
            ("a name beyond ASCII that is not escaped", "caf\u00e9", "caf\u00e9", False),
            ("a name of 64 bytes", "n" * 64, "n" * 64, True)]
    valid = [case(f"an invite: {n}", ["W-11"], text=f"inkling:{t}#{secret}", chatName=c, secret=secret, canonical=k)
             for n, t, c, k in rows]
    valid.append(case("an invite: the scheme in capitals", ["W-11"], text=f"INKLING:lobby#{secret}", chatName="lobby",
                      secret=secret, canonical=False))
    return valid


def invalid_invites():
    secret = ref.base32(SECRET)
    rows = [("empty", ""), ("a name alone", "inkling:lobby"), ("no secret", "inkling:lobby#"),
            ("no name", f"inkling:#{secret}"), ("another scheme", f"http:lobby#{secret}"),
            ("no scheme", f"lobby#{secret}"), ("a cut escape", f"inkling:a%4#{secret}"),
            ("a bad escape", f"inkling:a%zz#{secret}"), ("an escape that is not UTF-8", f"inkling:%ff#{secret}"),
            ("an overlong escape", f"inkling:%c0%af#{secret}"), ("a name of 65 bytes", f"inkling:{'n' * 65}#{secret}"),
            ("a bad secret", f"inkling:lobby#{secret[:25]}"), ("a secret in capitals", f"inkling:lobby#{secret.upper()}"),
            ("a second hash", f"inkling:a#b#{secret}")]
    rows += [(f"a name with {n}", f"inkling:a{percent(c)}b#{secret}") for n, c in REFUSED]
    return [case(f"no invite: {n}", ["W-11"], text=t) for n, t in rows]


def in_open_chat(name, clauses, record, **fields):
    return case(name, clauses, chat={"open": "lobby"}, bytes=record, **fields)


def in_secret_chat(name, clauses, record, **fields):
    return case(name, clauses, chat={"secret": ref.base32(SECRET)}, bytes=record, **fields)


def masked_text(key, nonce=NONCE, secret=SECRET):
    return ref.base64url(ref.xor(key, ref.key_mask(secret, nonce)))


def service_records():
    k, masked, n = "k=" + ref.base64url(ALICE.static), "k=" + masked_text(ALICE.static), "n=" + NONCE.hex()
    filler = ["x" + str(i) + "=" + "y" * 200 for i in range(5)]
    full = ref.txt("txtvers=1", k, *filler)
    full += ref.txt("z=" + "y" * (1_300 - len(full) - 3))
    assert len(full) == 1_300
    return [
        in_open_chat("a record of an open chat", ["D-3"], ref.txt("txtvers=1", k), publicKey=ALICE.static.hex(), canonical=True),
        in_secret_chat("a record of a secret chat", ["D-3", "W-10"], ref.txt("txtvers=1", masked, n), nonce=NONCE.hex(),
                       publicKey=ALICE.static.hex(), canonical=True),
    ] + [in_open_chat(name, ["D-6"], record, publicKey=ALICE.static.hex(), canonical=False) for name, record in (
        ("unknown keys are ignored", ref.txt("txtvers=1", "q=1", k, "flag", "n=zz")),
        ("the order is free", ref.txt(k, "txtvers=1")),
        ("keys are compared without regard to case", ref.txt("TxtVers=1", "K" + k[1:])),
        ("of a doubled key the first counts", ref.txt("txtvers=1", k, "k=" + ref.base64url(BOB.static), "txtvers=2")),
        ("an empty string means nothing", ref.txt("", "txtvers=1", "", k)),
        ("a string without a key means nothing", ref.txt("txtvers=1", "=k", k)),
        ("a value that is not UTF-8 in an unknown key", ref.txt("txtvers=1", b"q=\xff\xfe", k)),
    )] + [
        in_open_chat("a record of 1,300 bytes", ["D-5"], full, publicKey=ALICE.static.hex(), canonical=False),
        in_secret_chat("the nonce before the key", ["D-6"], ref.txt("txtvers=1", n, masked), nonce=NONCE.hex(),
                       publicKey=ALICE.static.hex(), canonical=False),
    ]


def invalid_service_records():
    k, masked, n = "k=" + ref.base64url(ALICE.static), "k=" + masked_text(ALICE.static), "n=" + NONCE.hex()
    long = ref.txt("txtvers=1", k, *["x" + str(i) + "=" + "y" * 200 for i in range(5)])
    long += ref.txt("z=" + "y" * (1_301 - len(long) - 3))
    good = ref.txt("txtvers=1", k)
    bad_key = ref.FIELD_PRIME.to_bytes(32, "little")
    rows = [("an empty record", b"", "version"), ("one empty string", b"\0", "version"),
            ("1,301 bytes", long, "length"), ("a string that runs over the end", good[:-1], "format"),
            ("a length byte alone at the end", good + b"\x05", "format"),
            ("no version", ref.txt(k), "version"), ("version 2", ref.txt("txtvers=2", k), "version"),
            ("version 01", ref.txt("txtvers=01", k), "version"), ("a version without a value", ref.txt("txtvers", k), "version"),
            ("no key", ref.txt("txtvers=1"), "key"), ("a key without a value", ref.txt("txtvers=1", "k"), "key"),
            ("an empty key", ref.txt("txtvers=1", "k="), "key"), ("a short key", ref.txt("txtvers=1", k[:-1]), "key"),
            ("a padded key", ref.txt("txtvers=1", k + "="), "key"),
            ("a bad key before a good one", ref.txt("txtvers=1", "k=AAAA", k), "key"),
            ("a key of zeroes", ref.txt("txtvers=1", "k=" + ref.base64url(bytes(32))), "key"),
            ("a key not below the field prime", ref.txt("txtvers=1", "k=" + ref.base64url(bad_key)), "key")]
    secret_rows = [("no nonce", ref.txt("txtvers=1", masked), "nonce"),
                   ("a short nonce", ref.txt("txtvers=1", masked, n[:-1]), "nonce"),
                   ("a long nonce", ref.txt("txtvers=1", masked, n + "0"), "nonce"),
                   ("a nonce in capitals", ref.txt("txtvers=1", masked, "n=" + NONCE.hex().upper()), "nonce"),
                   ("a nonce that is not hex", ref.txt("txtvers=1", masked, "n=" + "g" * 16), "nonce"),
                   ("a key that is not below the field prime when unmasked",
                    ref.txt("txtvers=1", "k=" + masked_text(bad_key), n), "key"),
                   ("a key of zeroes when unmasked", ref.txt("txtvers=1", "k=" + masked_text(bytes(32)), n), "key")]
    return [in_open_chat(f"no record of an open chat: {name}", ["D-5"], r, error=e) for name, r, e in rows] + [
        in_secret_chat(f"no record of a secret chat: {name}", ["D-5"], r, error=e) for name, r, e in secret_rows]


# datagrams.json

def filler(label, count):
    block = ref.hashlib.shake_256(b"inkling vectors " + label.encode()).digest(count)
    return block


def datagrams():
    tag, noise1, noise2 = ref.open_tag("lobby"), filler("noise 1", 96), filler("noise 2", 52)
    cookie, key = filler("cookie", 16), ALICE.static
    sealed = [("the shortest", 18), ("one byte longer", 19), ("the longest", 1_191)]
    valid = [
        case("an initiation", ["W-1", "W-12"], bytes=ref.initiation(0x01020304, tag, noise1), kind="initiation",
             senderIndex=0x01020304, tag=tag, noise=noise1, cookie=None),
        case("an initiation with a cookie", ["W-12", "W-13"], bytes=ref.initiation(2**32 - 1, tag, noise1, cookie),
             kind="initiation", senderIndex=2**32 - 1, tag=tag, noise=noise1, cookie=cookie),
        case("an initiation of index 0", ["W-16"], bytes=ref.initiation(0, tag, noise1), kind="initiation",
             senderIndex=0, tag=tag, noise=noise1, cookie=None),
        case("a response", ["W-1", "W-12"], bytes=ref.response(0x01020304, noise2), kind="response",
             receiverIndex=0x01020304, noise=noise2),
    ] + [
        case(f"a sealed datagram: {n}", ["W-1", "W-13"], bytes=ref.sealed_header(0xA1B2C3D4, c) + filler("sealed", count),
             kind="sealed", receiverIndex=0xA1B2C3D4, counter=c, ciphertext=filler("sealed", count))
        for (n, count), c in zip(sealed, (0, 1, ref.LAST_WILL_COUNTER))
    ] + [
        case("a retry", ["W-12"], bytes=ref.retry(0x01020304, cookie), kind="retry", receiverIndex=0x01020304, cookie=cookie),
        case("an ask", ["W-12", "W-14"], bytes=ref.ask(tag, 0x0A0B0C0D), kind="ask", tag=tag, token=0x0A0B0C0D),
        case("a tell in an open chat", ["W-12"], bytes=ref.tell(0x0A0B0C0D, bytes(8), key), kind="tell",
             token=0x0A0B0C0D, nonce=bytes(8), key=key),
        case("a tell in a secret chat", ["W-10", "W-12"], kind="tell", token=1, nonce=NONCE,
             bytes=ref.tell(1, NONCE, ref.xor(key, ref.key_mask(SECRET, NONCE))),
             key=ref.xor(key, ref.key_mask(SECRET, NONCE))),
    ]
    return {"valid": valid, "invalid": invalid_datagrams(tag, noise1, noise2, cookie, key)}


def invalid_datagrams(tag, noise1, noise2, cookie, key):
    whole = ref.initiation(1, tag, noise1)
    rows = [("an empty datagram", b"", "empty", "W-12")]
    rows += [(f"version {v}", bytes([v << 4 | 1]) + whole[1:], "version", "W-12") for v in (0, 2, 15)]
    rows += [(f"version {v} alone", bytes([v << 4 | 1]), "version", "W-12") for v in (0, 2)]
    rows += [(f"kind {k}", bytes([0x10 | k]) + whole[1:], "kind", "W-12") for k in (0, 7, 8, 15)]
    exact = [("initiation", whole), ("initiation with a cookie", whole + cookie), ("response", ref.response(1, noise2)),
             ("retry", ref.retry(1, cookie)), ("ask", ref.ask(tag, 1)), ("tell", ref.tell(1, bytes(8), key))]
    for name, datagram in exact:
        rows += [(f"{name}: one byte short", datagram[:-1], "length", "W-13"),
                 (f"{name}: one byte long", datagram + b"\0", "length", "W-13"),
                 (f"{name}: the first byte alone", datagram[:1], "length", "W-13")]
    rows += [("initiation: half a cookie", whole + cookie[:8], "length", "W-13"),
             ("sealed: the header alone", ref.sealed_header(1, 0), "length", "W-13"),
             ("sealed: a tag alone", ref.sealed_header(1, 0) + filler("sealed", 16), "length", "W-13"),
             ("sealed: a frame of one byte", ref.sealed_header(1, 0) + filler("sealed", 17), "length", "W-13"),
             ("sealed: 1,201 bytes", ref.sealed_header(1, 0) + filler("sealed", 1_192), "length", "W-13"),
             ("ask: the first zero is one", ref.ask(tag, 1)[:13] + b"\x01" + bytes(31), "padding", "W-14"),
             ("ask: the last zero has its top bit set", ref.ask(tag, 1)[:-1] + b"\x80", "padding", "W-14")]
    return [case(n, [c], bytes=d, error=e) for n, d, e, c in rows]


# frames.json

def heartbeat(typing=False, away=False, interval=10):
    return {"type": "heartbeat", "typing": typing, "away": away, "interval": interval}


def typing(on=False, away=False):
    return {"type": "typing", "typing": on, "away": away}


def hello(name="Alice", run="0123456789abcdef", stream=0x11223344, held=0, next=0):
    return {"type": "hello", "run": run, "stream": stream, "held": held, "next": next, "name": name}


def message(text, stream=0x11223344, record=0, first=True, last=True):
    return {"type": "message", "stream": stream, "record": record, "first": first, "last": last, "text": text}


def ack(stream=0x55667788, next=1, bitmap=0):
    return {"type": "ack", "stream": stream, "next": next, "bitmap": bitmap}


def frames():
    plain = [
        ("a heartbeat", ["T-2", "W-24"], [heartbeat()]),
        ("a heartbeat while typing", ["T-2"], [heartbeat(typing=True)]),
        ("a heartbeat while away", ["T-2"], [heartbeat(away=True)]),
        ("a heartbeat with both bits and the longest interval", ["T-2"], [heartbeat(True, True, 255)]),
        ("a heartbeat with interval 0", ["T-12"], [heartbeat(interval=0)]),
        ("typing on", ["T-2"], [typing(True)]),
        ("typing off", ["T-2"], [typing()]),
        ("typing off and away", ["T-2"], [typing(False, True)]),
        ("a first hello", ["W-1", "M-4"], [hello()]),
        ("a hello that holds a stream, with a heartbeat", ["M-4"],
         [hello("Bob", "fedcba9876543210", 1, 0x11223344, 7), heartbeat()]),
        ("a hello with no name", ["W-29"], [hello("")]),
        ("a hello with a name of 64 bytes", ["W-29"], [hello("\u00e9" * 32)]),
        ("a hello with the highest numbers", ["W-1"], [hello("x", "f" * 16, 2**32 - 1, 2**32 - 1, 2**32 - 1)]),
        ("a name with control characters is taken as it is", ["W-29"], [hello("a\u0000\u001b[2J\u202e")]),
        ("a message of one record", ["M-1", "W-28"], [message("Hello, Bob!")]),
        ("a message behind its typing frame", ["M-9", "W-28"], [typing(), message("h\u00e9llo \U0001f44b")]),
        ("the first of several records", ["M-1"], [message("One ", last=False)]),
        ("a record in the middle", ["M-1"], [message("two ", record=1, first=False, last=False)]),
        ("the last of several records", ["M-1"], [message("three", record=2, first=False)]),
        ("the highest record", ["W-1"], [message("x", 2**32 - 1, 2**32 - 1)]),
        ("a text of one byte", ["W-28"], [message("x")]),
        ("a text with a byte order mark, a zero and a noncharacter", ["W-28"], [message("\ufeff\u0000\uffff")]),
        ("a text that looks like frames", ["W-28"], [message("\u0001\u0000\n\b\u0000")]),
        ("the longest text behind a typing frame", ["M-1", "W-28"], [typing(), message((LOREM * 30)[:1_163])]),
        ("an ack", ["M-15"], [ack()]),
        ("an ack with records received beyond", ["M-15"], [ack(next=5, bitmap=0b101)]),
        ("an ack with all bits", ["M-15"], [ack(next=2**32 - 1, bitmap=0xFFFF)]),
        ("a ping", ["L-28"], [{"type": "ping", "token": 0xBEEF}]),
        ("a pong with its heartbeat", ["L-28"], [heartbeat(), {"type": "pong", "token": 0xBEEF}]),
        ("a status, an ack and a message", ["W-24", "W-28"], [typing(True), ack(), message("and")]),
        ("one of each frame that can stand together", ["W-24"],
         [typing(), hello(), ack(), {"type": "ping", "token": 0}, {"type": "pong", "token": 65_535},
          {"type": "bye", "reason": "quit"}, {"type": "unknown", "code": 0x40, "body": ""}, message("end")]),
        ("an unknown extension without a body", ["W-26"], [{"type": "unknown", "code": 0x40, "body": ""}, heartbeat()]),
        ("an unknown extension with a body", ["W-26", "X-3"],
         [typing(True), {"type": "unknown", "code": 0xFF, "body": "0102030405"}]),
        ("two unknown extensions of one type", ["W-25", "W-26"],
         [{"type": "unknown", "code": 0x41, "body": "aa"}, {"type": "unknown", "code": 0x41, "body": "bb"}]),
        ("an unknown extension before a message", ["X-3"],
         [typing(), {"type": "unknown", "code": 0xF0, "body": "00" * 300}, message("x")]),
    ] + [(f"a bye, reason {i}", ["L-32"], [{"type": "bye", "reason": r}]) for i, r in enumerate(ref.REASONS)]
    valid = [case(n, c, bytes=b"".join(map(ref.encode, f)), frames=f) for n, c, f in plain]
    loose = [
        ("the reserved bits of a heartbeat's status", ["X-1"], b"\x01\xff\x0a", [heartbeat(True, True)]),
        ("the reserved bits of a typing status", ["X-1"], b"\x02\xfc", [typing()]),
        ("the reserved flags of a message", ["X-1"], ref.message(1, 2, 0, 0, "x")[:9] + b"\xfdx",
         [message("x", 1, 2, True, False)]),
    ] + [(f"the unassigned bye reason {r}", ["X-2"], ref.bye(r), [{"type": "bye", "reason": "quit"}]) for r in (6, 64, 255)]
    valid += [case(n, c, bytes=b, frames=f, reencodes=False) for n, c, b, f in loose]
    return {"valid": valid, "invalid": invalid_frames()}


def invalid_frames():
    on, beat, greeting = ref.typing_frame(True), ref.heartbeat(), ref.hello(1, 2, 0, 0, "Al")
    rows = [("no frame", b"", "empty", 0, "W-24")]
    kinds = [("heartbeat", beat), ("typing", on), ("hello", greeting), ("ack", ref.ack(1, 2, 3)), ("ping", ref.ping(1)),
             ("pong", ref.pong(1)), ("bye", ref.bye(0)), ("extension", ref.extension(0x40, b"\x01\x02"))]
    for name, frame in kinds:
        rows += [(f"{name}: the type alone", frame[:1], "truncated", 0, "W-24"),
                 (f"{name}: one byte short", frame[:-1], "truncated", 0, "W-24")]
    rows += [
        ("hello: cut within its numbers", greeting[:20], "truncated", 0, "W-24"),
        ("hello: cut before the name's length", greeting[:21], "truncated", 0, "W-24"),
        ("extension: half a length", b"\x40\x00", "truncated", 0, "W-24"),
        ("extension: longer than the datagram", b"\x40\xff\xff" + bytes(10), "truncated", 0, "W-24"),
        ("message: cut before its flags", ref.message(1, 2, 1, 1, "")[:9], "truncated", 0, "W-24"),
        ("a good frame before one cut off", on + ref.ping(1)[:2], "truncated", 2, "W-24"),
    ]
    rows += [(f"the unassigned type 0x{t:02x}", bytes([t]) + bytes(8), "unknownType", 0, "W-25") for t in (0, 9, 0x3F)]
    rows += [("an unassigned type behind a good frame", beat + b"\x10\x00", "unknownType", 3, "W-25")]
    rows += [(f"{name}: twice", frame * 2, "duplicate", len(frame), "W-25")
             for name, frame in kinds[2:7]]
    rows += [
        ("ping: twice with frames between", ref.ping(1) + on + ref.ack(1, 2, 3) + ref.ping(2), "duplicate", 16, "W-25"),
        ("heartbeat and typing", beat + on, "twoStatuses", 3, "W-27"),
        ("typing and heartbeat", on + beat, "twoStatuses", 2, "W-27"),
        ("typing, ping and heartbeat", on + ref.ping(1) + beat, "twoStatuses", 5, "W-27"),
        ("hello: a name of 65 bytes", ref.hello(1, 2, 0, 0, "n" * 65), "nameTooLong", 0, "W-29"),
        ("hello: a name of 255 bytes", ref.hello(1, 2, 0, 0, "n" * 255), "nameTooLong", 0, "W-29"),
        ("hello: own stream 0", ref.hello(1, 0, 0, 0, "Al"), "zeroStream", 0, "W-29"),
        ("hello: own stream 0, behind a heartbeat", beat + ref.hello(1, 0, 0, 0, "Al"), "zeroStream", 3, "W-29"),
        ("message: no text", ref.message(1, 2, 1, 1, ""), "emptyMessage", 0, "W-28"),
        ("message: no text behind a typing frame", on + ref.message(1, 2, 1, 1, ""), "emptyMessage", 2, "W-28"),
    ]
    for name, text in (("a lone continuation", b"a\x80"), ("an overlong slash", b"\xc0\xaf"),
                       ("a surrogate", b"\xed\xa0\x80"), ("a scalar cut off", b"ab\xf0\x9f\x91"),
                       ("above U+10FFFF", b"\xf4\x90\x80\x80"), ("the byte 0xff", b"\xff")):
        rows += [(f"message: {name}", on + ref.message(1, 2, 1, 1, text), "invalidText", 2, "W-28"),
                 (f"hello: {name}", ref.hello(1, 2, 0, 0, text), "invalidText", 0, "W-29")]
    return [case(n, [c], bytes=b, error=e, offset=o) for n, b, e, o, c in rows]
