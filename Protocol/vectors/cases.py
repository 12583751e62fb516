"""The cases of `derivations.json`, `datagrams.json` and `frames.json`."""

import hashlib
import unicodedata

import reference as ref
from reference import Chat, Side

RUN_A, RUN_B = "0123456789abcdef", "fedcba9876543210"
ALICE, BOB = sorted((Side("alice", 0x01020304, RUN_A, 5), Side("bob", 0xA1B2C3D4, RUN_B, 2)), key=lambda s: s.static)
SECRET, NONCE, TOKEN = bytes(range(16)), bytes.fromhex("0123456789abcdef"), bytes.fromhex("f0e1d2c3b4a59687")
OPEN, CLOSED, OWNED = Chat("lobby"), Chat(secret=SECRET), Chat(secret=SECRET, owner=ALICE.static)
SEED = bytes(range(16, 32))
CHATS = [("an open chat", OPEN), ("a secret chat", CLOSED), ("a secret chat with an owner", OWNED)]
PRIME = ref.FIELD_PRIME
BAD_KEYS = [("32 zero bytes", bytes(32)), ("p", PRIME.to_bytes(32, "little")), ("p + 1", (PRIME + 1).to_bytes(32, "little")),
            ("32 bytes of 0xff", b"\xff" * 32), ("its top bit set", ALICE.static[:31] + bytes([ALICE.static[31] | 0x80]))]
REFUSED = [("a line feed", "\n"), ("a zero byte", "\0"), ("an escape character", "\x1b"), ("a C1 control", "\x9b"),
           ("a soft hyphen", "\u00ad"), ("a zero-width space", "\u200b"), ("a zero-width joiner", "\u200d"),
           ("a bidirectional override", "\u202e"), ("a bidirectional isolate", "\u2067"),
           ("a byte order mark", "\ufeff"), ("a tag character", "\U000e0041"), ("a line separator", "\u2028"),
           ("a paragraph separator", "\u2029"), ("a no-break space", "\u00a0"), ("an ideographic space", "\u3000")]
assert all(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Zs") for _, c in REFUSED)
NOT_UTF8 = [("a lone continuation byte", b"a\x80"), ("an overlong slash", b"\xc0\xaf"), ("a surrogate", b"\xed\xa0\x80"),
            ("a scalar cut off", b"ab\xf0\x9f\x91"), ("a scalar above U+10FFFF", b"\xf4\x90\x80\x80"),
            ("the byte 0xff", b"\xff")]
LOREM = ("All quiet on the wire, and somebody still types. " * 30).encode()


KEY_ERRORS = {error: "W-6" for error in ("length", "alphabet", "spareBits")} | {"key": "W-3"}
NAME_ERRORS = {error: "D-21" for error in ("length", "alphabet", "spareBits")} | {"check": "W-37"}
RECORD_ERRORS = {error: "D-5" for error in ("length", "format", "version", "text")} | {"seal": "D-5 W-37", "key": "D-5 W-3"}
DATAGRAM_ERRORS = {error: "W-12" for error in ("empty", "version", "kind")} | {"length": "W-13", "zeros": "W-14"}
FRAME_ERRORS = {"empty": "W-24", "truncated": "W-24", "unknownType": "W-25", "duplicate": "W-25", "twoStatuses": "W-27",
                "emptyText": "W-28", "notUTF8": "W-28 W-33", "flags": "W-40"}
FRAME_CLAUSES = {"heartbeat": "T-2", "typing": "T-2", "record": "W-28 W-40", "ack": "M-15", "ping": "L-28", "pong": "L-28",
                 "bye": "L-32", "forward": "M-37", "unknown": "W-26 X-3",
                 "textID": "M-80"}


def plain(value):
    return value.hex() if isinstance(value, bytes) else value.json if isinstance(value, Chat) else value


def case(name, clauses, **fields):
    return {"name": name, "clauses": clauses.split(), **{key: plain(value) for key, value in fields.items()}}


def table(prefix, clauses, fields, rows):
    """Cases whose rows hold the end of the name, and then the values of `fields`; `clauses` may depend on the error."""
    cases = []
    for name, *values in rows:
        values = dict(zip(fields.split(), values, strict=True))
        cases.append(case(f"{prefix}: {name}", clauses if isinstance(clauses, str) else clauses[values["error"]], **values))
    return cases


def flipped(data, index, bit=0):
    return data[:index] + bytes([data[index] ^ 1 << bit]) + data[index + 1:]


def filler(label, count):
    return hashlib.shake_256(b"inkling vectors " + label.encode()).digest(count)


# derivations.json

def derivations():
    named = [("9 and zeros", bytes([9]) + bytes(31)), ("Alice's", ALICE.static), ("Bob's", BOB.static)]
    secrets = [("counting bytes", SECRET), ("zeros", bytes(16)), ("bytes of 0xff", b"\xff" * 16)]
    chats = CHATS + [("an open chat with blanks and capitals", Chat("Team Lunch")),
                     ("an open chat beyond ASCII", Chat("caf\u00e9 \U0001f95e")), ("another owner", Chat(secret=SECRET, owner=BOB.static)),
                     ("a decomposed name has the keys of the composed one", Chat("cafe\u0301")),
                     ("another secret", Chat(secret=b"\xff" * 16, owner=ALICE.static))]
    seals = [(f"{chat_name}, {use}, {key_name}", chat, token, NONCE, key, chat.sealed_key(key, NONCE, token))
             for chat_name, chat in CHATS for use, token in (("an instance key", None), ("a tell key", TOKEN))
             for key_name, key in named[1:]]
    return {
        "userIDs": table("user ID", "W-5", "publicKey userID", [(n, k, ref.user_id(k)) for n, k in named]),
        "fingerprints": [case(f"the fingerprint of two people, {order}", "W-36", publicKeys=[k.hex() for k in keys],
                              digits=ref.fingerprint(*keys))
                         for order, keys in (("the smaller key first", (ALICE.static, BOB.static)),
                                             ("the larger key first", (BOB.static, ALICE.static)))]
        + [leading_zero()],
        "chats": table("keys of a chat", "W-8 W-9 W-36", "chat chatKey psk prologueKey sealKey initiationKey askKey nameKey",
                       [(n, c, c.chat_key, c.psk, c.prologue_key, c.seal_key, c.initiation_key, c.ask_key, c.name_key)
                        for n, c in chats]),
        "chatNames": chat_names(),
        "invalidChatNames": invalid_chat_names(),
        "secrets": table("secret", "W-7", "text bytes", [(n, ref.base32(s), s) for n, s in secrets]),
        "invalidSecrets": invalid_secrets(),
        "keys": table("key", "W-6", "text bytes", [(n, ref.base64url(k), k) for n, k in named]),
        "invalidKeys": invalid_keys(),
        "invites": invites(),
        "invalidInvites": invalid_invites(),
        "askChecks": table("ask check", "W-36 D-13", "chat token check", [(n, c, TOKEN, c.ask_check(TOKEN)) for n, c in CHATS]),
        "invalidAskChecks": table("invalid ask check", "W-36 W-37", "chat token check", [
            ("a flipped bit", OPEN, TOKEN, flipped(OPEN.ask_check(TOKEN), 7)),
            ("the check of another token", OPEN, TOKEN, OPEN.ask_check(NONCE)),
            ("the check of another chat", CLOSED, TOKEN, OWNED.ask_check(TOKEN)),
            ("the check of an instance name", OPEN, NONCE, ref.check(OPEN.name_key, NONCE))]),
        "sealedKeys": table("sealed key", "W-10 D-3 D-13", "chat token nonce publicKey sealedKey", seals),
        "invalidSealedKeys": invalid_sealed_keys(),
        "instanceNames": instance_names(),
        "invalidInstanceNames": invalid_instance_names(),
        "serviceRecords": service_records(),
        "invalidServiceRecords": invalid_service_records(),
        "successors": successors(),
        "invalidSuccessors": invalid_successors(),
    }


def leading_zero():
    keys = next(pair for pair in ((ALICE.static, filler(f"key {i}", 31) + b"\x01") for i in range(1_000))
                if ref.fingerprint(*pair)[0] == "0")
    return case("a fingerprint with a leading zero", "W-36", publicKeys=[k.hex() for k in keys], digits=ref.fingerprint(*keys))


def chat_names():
    names = [("ASCII", "lobby"), ("blanks and capitals", "Team Lunch"), ("one byte", "x"), ("64 bytes", "n" * 64),
             ("beyond ASCII", "caf\u00e9 \U0001f95e"), ("96 bytes that compose to 64", "e\u0301" * 32),
             ("inkling without a colon", "inkling"), ("inkling: with a dotless i", "\u0131nkling:x"),
             ("inkling: behind a blank", " inkling:x")]
    return table("chat name", "W-2 W-35", "chatName bytes", [(n, c, ref.nfc(c).encode()) for n, c in names])


def invalid_chat_names():
    rows = [("empty", ""), ("65 bytes", "n" * 65), ("66 bytes in 33 characters", "\u00e9" * 33),
            ("33 bytes that normalise to 66", "\u0958" * 11), ("an invite", f"inkling:lobby#{ref.base32(SECRET)}"),
            ("inkling: alone", "inkling:"), ("inkling: in capitals", "INKLING:x"),
            ("inkling: with a Kelvin sign, which normalises to K", "in\u212aling:x")]
    return table("invalid chat name", "W-2 W-35", "chatName", rows + [(n, f"a{c}b") for n, c in REFUSED])


def invalid_secrets():
    good = ref.base32(SECRET)
    return table("invalid secret", "W-7", "text error", [
        ("empty", "", "length"), ("25 characters", good[:25], "length"), ("27 characters", good + "a", "length"),
        ("padding", good + "======", "length"), ("capitals", good.upper(), "alphabet"),
        ("the digit 1", "1" + good[1:], "alphabet"), ("a blank", good[:12] + " " + good[13:], "alphabet"),
        ("a character beyond ASCII", good[:25] + "\u00e4", "alphabet"),
        ("the lower unused bit set", "a" * 25 + "b", "spareBits"), ("the upper unused bit set", "a" * 25 + "c", "spareBits"),
        ("a passphrase", "correct horse battery stap", "alphabet")])


def invalid_keys():
    good = ref.base64url(ALICE.static)
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    rows = [("empty", "", "length"), ("42 characters", good[:42], "length"), ("44 characters", good + "A", "length"),
            ("padding", good + "=", "length"), ("the standard alphabet", "+/" + good[2:], "alphabet"),
            ("a blank", " " + good[1:], "alphabet")]
    rows += [(f"unused bits {bits}", good[:42] + digits[digits.index(good[42]) + bits], "spareBits") for bits in (1, 2, 3)]
    return table("invalid key", KEY_ERRORS, "text error", rows + [(n, ref.base64url(k), "key") for n, k in BAD_KEYS])


def invites():
    secret, owner = ref.base32(SECRET), ref.base64url(ALICE.static)
    rows = [("ASCII", "lobby", "lobby", True), ("a blank, a percent sign, a hash and an at sign", "a%20b%25%23%40c", "a b%#@c", True),
            ("beyond ASCII", "caf%C3%A9", "caf\u00e9", True), ("all characters without an escape", "aZ0-._~", "aZ0-._~", True),
            ("64 bytes", "n" * 64, "n" * 64, True), ("escapes in lower case", "caf%c3%a9", "caf\u00e9", False),
            ("an escape without need", "%6cobby", "lobby", False), ("a decomposed name", "cafe%CC%81", "caf\u00e9", False),
            ("unescaped bytes", "caf\u00e9 a:b@c", "caf\u00e9 a:b@c", False)]
    cases = [(n, f"inkling:{t}#{secret}", c, secret, None, k) for n, t, c, k in rows]
    cases += [(f"{n}, with an owner", f"inkling:{t}#{secret}@{owner}", c, secret, owner, k) for n, t, c, k in rows]
    cases += [("the scheme in capitals", f"INKLING:lobby#{secret}@{owner}", "lobby", secret, owner, False)]
    return table("invite", "W-11 W-34", "text chatName secret owner canonical", cases)


def invalid_invites():
    secret, owner = ref.base32(SECRET), ref.base64url(ALICE.static)
    escaped = [(n, "".join(f"%{byte:02X}" for byte in c.encode())) for n, c in REFUSED]
    rows = [("empty", ""), ("a name alone", "inkling:lobby"), ("no secret", "inkling:lobby#"), ("no name", f"inkling:#{secret}"),
            ("another scheme", f"http:lobby#{secret}"), ("no scheme", f"lobby#{secret}"),
            ("a cut escape", f"inkling:a%4#{secret}"), ("an escape without hex", f"inkling:a%zz#{secret}"),
            ("an escape that is not UTF-8", f"inkling:%ff#{secret}"), ("an overlong escape", f"inkling:%c0%af#{secret}"),
            ("a name of 65 bytes", f"inkling:{'n' * 65}#{secret}"), ("a secret of 25 characters", f"inkling:lobby#{secret[:25]}"),
            ("a secret in capitals", f"inkling:lobby#{secret.upper()}"), ("a second hash", f"inkling:a#b#{secret}"),
            ("an empty owner", f"inkling:lobby#{secret}@"), ("an owner of 42 characters", f"inkling:lobby#{secret}@{owner[:42]}"),
            ("two owners", f"inkling:lobby#{secret}@{owner}@{owner}"), ("an owner without a secret", f"inkling:lobby#@{owner}"),
            ("a blank at the end", f"inkling:lobby#{secret} "), ("an owner behind another sign", f"inkling:lobby#{secret}#{owner}")]
    rows += [(f"an owner's key: {n}", f"inkling:lobby#{secret}@{ref.base64url(k)}") for n, k in BAD_KEYS]
    return table("invalid invite", "W-2 W-3 W-33 W-34", "text",
                 rows + [(f"a name with {n}", f"inkling:a{c}b#{secret}") for n, c in escaped])


def invalid_sealed_keys():
    rows = []
    for use, token in (("an instance key", None), ("a tell key", TOKEN)):
        good = OWNED.sealed_key(ALICE.static, NONCE, token)
        rows += [(f"{use}, bit {bit} of byte {index} flipped", OWNED, token, NONCE, flipped(good, index, bit), "seal")
                 for index, bit in ((0, 0), (31, 7), (32, 0), (47, 7))]
        rows += [(f"{use}, another nonce", OWNED, token, TOKEN, good, "seal"),
                 (f"{use}, another chat", CLOSED, token, NONCE, good, "seal")]
        rows += [(f"{use}: {n}", OWNED, token, NONCE, OWNED.sealed_key(key, NONCE, token), "key") for n, key in BAD_KEYS]
    rows += [("a tell key, another token", OWNED, NONCE, NONCE, OWNED.sealed_key(ALICE.static, NONCE, TOKEN), "seal"),
             ("an instance key as a tell key", OWNED, TOKEN, NONCE, OWNED.sealed_key(ALICE.static, NONCE), "seal"),
             ("a tell key as an instance key", OWNED, None, NONCE, OWNED.sealed_key(ALICE.static, NONCE, TOKEN), "seal")]
    return table("invalid sealed key", {"seal": "W-10 W-37", "key": "W-3 D-12"}, "chat token nonce sealedKey error", rows)


def instance_names():
    good = OPEN.instance_name(NONCE)
    rows = [(n, c, NONCE, c.instance_name(NONCE), True) for n, c in CHATS]
    rows += [("a nonce of zeros", OPEN, bytes(8), OPEN.instance_name(bytes(8)), True), ("capitals", OPEN, NONCE, good.upper(), False),
             ("a renamed instance", OPEN, NONCE, good + " (2)", False), ("a dot behind it", OPEN, NONCE, good + ".x", False)]
    return table("instance name", "D-2 D-21", "chat nonce text canonical", rows)


def invalid_instance_names():
    good = OPEN.instance_name(NONCE)
    kelvin = next(name for name in (OPEN.instance_name(bytes([i] * 8)) for i in range(256)) if "k" in name)
    last = "abcdefghijklmnopqrstuvwxyz234567"
    return table("invalid instance name", NAME_ERRORS, "chat text error", [
        ("empty", OPEN, "", "length"), ("25 characters", OPEN, good[:25], "length"), ("a blank first", OPEN, " " + good, "alphabet"),
        ("the digit 1", OPEN, "1" + good[1:], "alphabet"),
        ("a Kelvin sign in place of k", OPEN, kelvin.replace("k", "\u212a"), "alphabet"),
        ("an unused bit set", OPEN, good[:25] + last[last.index(good[25]) + 1], "spareBits"),
        ("an altered nonce", OPEN, ref.base32(flipped(NONCE, 0) + ref.check(OPEN.name_key, NONCE)), "check"),
        ("an altered check", OPEN, ref.base32(NONCE + flipped(ref.check(OPEN.name_key, NONCE), 7)), "check"),
        ("another chat", OWNED, CLOSED.instance_name(NONCE), "check"),
        ("the check of an ask", OPEN, ref.base32(NONCE + OPEN.ask_check(NONCE)), "check")])


def full_record(key, size):
    record = ref.txt("txtvers=2", key, *[f"x{i}=" + "y" * 200 for i in range(5)])
    return record + ref.txt("z=" + "y" * (size - len(record) - 3))


def service_records():
    key, other = (f"k={ref.base64url(OPEN.sealed_key(side.static, NONCE))}" for side in (ALICE, BOB))
    rows = [(n, c, NONCE, ref.txt("txtvers=2", f"k={ref.base64url(c.sealed_key(ALICE.static, NONCE))}"), ALICE.static, True)
            for n, c in CHATS]
    rows += [(name, OPEN, NONCE, record, ALICE.static, False) for name, record in (
        ("unknown keys", ref.txt("txtvers=2", "q=1", key, "flag", "n=zz")), ("another order", ref.txt(key, "txtvers=2")),
        ("keys in the other case", ref.txt("TxtVers=2", "K" + key[1:])),
        ("repeated keys", ref.txt("txtvers=2", key, other, "k", "txtvers=3")),
        ("empty strings", ref.txt("", "txtvers=2", "", key)), ("strings without a key", ref.txt("=3", "txtvers=2", "=k", key)),
        ("an unknown key whose value is not UTF-8", ref.txt("txtvers=2", b"q=\xff\xfe", key)),
        ("1,300 bytes", full_record(key, 1_300)))]
    return table("service record", "D-3 D-5 D-6", "chat nonce bytes publicKey canonical", rows)


def invalid_service_records():
    sealed = OPEN.sealed_key(ALICE.static, NONCE)
    key = "k=" + ref.base64url(sealed)
    good = ref.txt("txtvers=2", key)
    rows = [("empty", b"", "version"), ("one empty string", b"\0", "version"), ("1,301 bytes", full_record(key, 1_301), "length"),
            ("a string beyond the end", good[:-1], "format"), ("a length byte at the end", good + b"\x05", "format"),
            ("no version", ref.txt(key), "version"), ("version 1", ref.txt("txtvers=1", key), "version"),
            ("version 02", ref.txt("txtvers=02", key), "version"), ("a version without a value", ref.txt("txtvers", key), "version"),
            ("another version first", ref.txt("txtvers=1", "txtvers=2", key), "version"),
            ("no key", ref.txt("txtvers=2"), "text"), ("a key without a value", ref.txt("txtvers=2", "k"), "text"),
            ("an empty key", ref.txt("txtvers=2", "k="), "text"), ("a key of 63 characters", ref.txt("txtvers=2", key[:-1]), "text"),
            ("a key with padding", ref.txt("txtvers=2", key + "="), "text"),
            ("the standard alphabet", ref.txt("txtvers=2", "k=+/" + key[4:]), "text"),
            ("a key that is not sealed", ref.txt("txtvers=2", "k=" + ref.base64url(ALICE.static)), "text"),
            ("a bad key before a good one", ref.txt("txtvers=2", "k=AAAA", key), "text"),
            ("a flipped bit", ref.txt("txtvers=2", "k=" + ref.base64url(flipped(sealed, 20))), "seal"),
            ("another chat", ref.txt("txtvers=2", "k=" + ref.base64url(CLOSED.sealed_key(ALICE.static, NONCE))), "seal")]
    rows += [(f"a key: {n}", ref.txt("txtvers=2", "k=" + ref.base64url(OPEN.sealed_key(k, NONCE))), "key") for n, k in BAD_KEYS]
    return table("invalid service record", RECORD_ERRORS, "chat nonce bytes error", [(n, OPEN, NONCE, r, e) for n, r, e in rows])


def successors():
    keys = [BOB.static] + [ref.public_key(filler(f"removed {i}", 32)) for i in range(31)]
    rows = [("nobody is removed", OWNED, SEED, ALICE.static, []), ("the same body in another chat", CLOSED, SEED, ALICE.static, []),
            ("another seed", OWNED, b"\xff" * 16, ALICE.static, []), ("one key is removed", OWNED, SEED, ALICE.static, keys[:1]),
            ("32 keys are removed, and the chat is handed over", OWNED, bytes(16), keys[31], keys[:31] + [ALICE.static]),
            ("a key twice", OWNED, SEED, ALICE.static, keys[:2] * 2)]
    cases = []
    for name, former, seed, owner, removed in rows:
        body = ref.successor(seed, owner, removed)
        secret = former.successor_secret(body)
        cases.append(case(
            f"successor: {name}", "M-89 W-42", former=former, body=body, seed=seed, owner=ref.base64url(owner),
            removed=[ref.base64url(k) for k in removed], secret=ref.base32(secret), chat=Chat(secret=secret, owner=owner)))
    return cases


def invalid_successors():
    other = ref.public_key(filler("removed 0", 32))
    good, two = ref.successor(SEED, ALICE.static), ref.successor(SEED, ALICE.static, [BOB.static, other])
    rows = [("empty", b"", "length"), ("one byte short", good[:-1], "length"), ("one byte long", good + b"\0", "length"),
            ("a removed key cut off", two[:-1], "length"), ("a removed key too many", two + BOB.static, "length"),
            ("a count above the keys", good[:-1] + b"\1", "length"), ("no key of 32", good[:-1] + b"\x20", "length"),
            ("33 removed keys", ref.successor(SEED, ALICE.static, [BOB.static] * 33), "count"),
            ("the highest count", good[:-2] + b"\xff\xff", "count"),
            ("zeros", bytes(50), "key"),
            ("the owner is removed", ref.successor(SEED, ALICE.static, [ALICE.static]), "ownerRemoved"),
            ("the owner is the last of 32 removed", ref.successor(SEED, ALICE.static, [BOB.static] * 31 + [ALICE.static]),
             "ownerRemoved")]
    for name, key in BAD_KEYS:
        rows += [(f"an owner's key: {name}", ref.successor(SEED, key), "key"),
                 (f"a removed key: {name}", ref.successor(SEED, ALICE.static, [BOB.static, key]), "key")]
    return table("invalid successor", {e: "M-89" for e in ("length", "count", "ownerRemoved")} | {"key": "M-89 W-3"}, "body error", rows)


# datagrams.json

NOISE1, NOISE2, COOKIE = filler("noise 1", 108), filler("noise 2", 64), filler("cookie", 16)
INITIATION, CHECK = OPEN.initiation(0x01020304, NOISE1), OPEN.ask_check(TOKEN)
EXACT = [("initiation", INITIATION), ("initiation with a cookie", INITIATION + COOKIE), ("response", ref.response(1, NOISE2)),
         ("retry", ref.retry(1, COOKIE)), ("ask", ref.ask(TOKEN, CHECK)),
         ("tell", ref.tell(TOKEN, NONCE, OPEN.sealed_key(BOB.static, NONCE, TOKEN)))]


def datagrams():
    valid = []
    for name, index, cookie in (("without a cookie", 0x01020304, b""), ("with a cookie", 2**32 - 1, COOKIE), ("of index 0", 0, b"")):
        whole = OPEN.initiation(index, NOISE1)
        valid.append(case(f"an initiation {name}", "W-1 W-13 W-16", bytes=whole + cookie, kind="initiation", senderIndex=index,
                          check=whole[5:13], noise=NOISE1, cookie=cookie or None))
    for name, count, counter in (("the shortest", 18, 0), ("one byte more", 19, 1), ("the longest", 1_191, ref.WILL)):
        text = filler("sealed", count)
        valid.append(case(f"a sealed datagram: {name}", "W-1 W-13", bytes=ref.sealed_header(0xA1B2C3D4, counter) + text,
                          kind="sealed", receiverIndex=0xA1B2C3D4, counter=counter, ciphertext=text))
    key = EXACT[5][1][17:]
    return {"valid": valid + [
        case("a response", "W-1 W-13", bytes=ref.response(1, NOISE2), kind="response", receiverIndex=1, noise=NOISE2),
        case("a retry", "W-13", bytes=ref.retry(1, COOKIE), kind="retry", receiverIndex=1, cookie=COOKIE),
        case("an ask", "W-13 W-14", bytes=EXACT[4][1], kind="ask", token=TOKEN, check=CHECK),
        case("a tell", "W-13", bytes=EXACT[5][1], kind="tell", token=TOKEN, nonce=NONCE, key=key),
    ], "invalid": table("invalid datagram", DATAGRAM_ERRORS, "bytes error", invalid_datagrams())}


def invalid_datagrams():
    rows = [("empty", b"", "empty")]
    rows += [(f"version {v}", bytes([v << 4 | 1]) + INITIATION[1:], "version") for v in (0, 1, 3, 15)]
    rows += [(f"version {v} alone", bytes([v << 4 | 1]), "version") for v in (1, 3)]
    rows += [("another version and kind", b"\x10" + INITIATION[1:], "version")]
    rows += [(f"kind {k}", bytes([0x20 | k]) + INITIATION[1:], "kind") for k in (0, 7, 8, 15)]
    for name, datagram in EXACT:
        rows += [(f"{name}, one byte short", datagram[:-1], "length"), (f"{name}, one byte long", datagram + b"\0", "length"),
                 (f"{name}, the first byte alone", datagram[:1], "length")]
    rows += [("initiation, half a cookie", INITIATION + COOKIE[:8], "length"),
             ("sealed, the header alone", ref.sealed_header(1, 0), "length"),
             *((f"sealed, {n + 9} bytes", ref.sealed_header(1, 0) + filler("sealed", n), "length") for n in (16, 17, 1_192))]
    ask = EXACT[4][1]
    return rows + [("ask, one in place of the first zero", ask[:17] + b"\x01" + ask[18:], "zeros"),
                   ("ask, the top bit of the last zero set", ask[:-1] + b"\x80", "zeros")]


# frames.json

def heartbeat(typing=False, away=False, unheard=False, interval=10):
    return {"type": "heartbeat", "typing": typing, "away": away, "unheard": unheard, "interval": interval}


def typing(on=False, away=False, unheard=False):
    return {"type": "typing", "typing": on, "away": away, "unheard": unheard}


def record(number, body, first=True, last=True, kind=0):
    body = body.encode() if isinstance(body, str) else body
    return {"type": "record", "number": number, "recordType": kind, "first": first, "last": last, "body": body.hex()}


def ack(following, bitmap=0):
    return {"type": "ack", "next": following, "bitmap": bitmap}


def small(kind, value):
    return {"type": kind, {"bye": "reason", "forward": "next"}.get(kind, "token"): value}


def text_id(run, number, written):
    return {"type": "textID", "run": run, "textNumber": number, "written": written}


def unknown(code, body=b""):
    return {"type": "unknown", "code": code, "body": body.hex()}


def frames():
    on, all_bits = typing(True), {"typing": True, "away": True, "unheard": True}
    rows = [(f"the status of {name} with the bits {bits:03b}", [make(bool(bits & 1), bool(bits & 2), bool(bits & 4))])
            for name, make in (("a heartbeat", heartbeat), ("a typing frame", typing)) for bits in range(8)]
    rows += [(f"a heartbeat with the interval {i}", [heartbeat(interval=i)]) for i in (0, 9, 255)]
    rows += [(f"a bye for the reason {r}", [small("bye", r)]) for r in ref.REASONS]
    rows += [
        ("a text of one record", [typing(), record(1, "h\u00e9llo \U0001f44b")]), ("a text without a typing frame", [record(1, "x")]),
        ("the first record of a text", [record(1, "One ", last=False)]), ("a record within a text", [record(2, "two ", False, False)]),
        ("the last record of a text", [record(3, "three", False)]), ("the highest number", [record(2**32 - 1, "x")]),
        ("a text with a byte order mark, a zero and a noncharacter", [record(1, "\ufeff\0\uffff")]),
        ("a text that reads as frames", [record(1, "\1\0\n\b\0")]), ("the longest text", [typing(), record(1, LOREM[:1_167])]),
        ("a name", [typing(), record(0, "Alice", kind=1)]), ("an empty name", [typing(), record(0, "", kind=1)]),
        ("a name of 65 bytes", [typing(), record(0, "n" * 65, kind=1)]), ("a name that is not UTF-8", [record(0, b"\xff", kind=1)]),
        ("an invite", [record(4, "inkling:lobby#", kind=2)]), ("a knock", [record(4, "", kind=2)]),
        ("a successor", [record(4, bytes(50), kind=3)]),
        ("an unassigned record type without flags", [record(4, b"\xff", False, False, 4)]),
        ("a greasing record without a body", [record(4, "", kind=14)]), ("an experimental record", [record(4, "x", kind=15)]),
        ("an ack", [ack(1)]), ("an ack with a bitmap", [ack(5, 0b101)]), ("an ack with all bits", [ack(2**32 - 1, 0xFFFF)]),
        ("a ping", [small("ping", 0xBEEF)]), ("a heartbeat and a pong", [heartbeat(), small("pong", 0xBEEF)]),
        ("a forward", [small("forward", 0x01020304)]), ("a status, an ack and a record", [on, ack(1), record(1, "and")]),
        ("all frames that can stand together",
         [on, *(small(t, v) for t, v in (("ping", 0), ("pong", 65_535), ("forward", 9), ("bye", "quit"))),
                                               ack(1), unknown(0x40), record(1, "end")]),
        ("an unknown frame without a body", [unknown(0x40), heartbeat()]),
        ("an unknown frame behind a status", [on, unknown(0xFF, b"\1\2\3")]),
        ("two unknown frames of one type", [unknown(0x5A, b"a"), unknown(0x5A, b"b")]),
        ("an unknown frame before a record", [typing(), unknown(0xF0, bytes(300)), record(1, "x")]),
        ("an unknown frame alone", [unknown(0xDA)]),
        ("a text ID before a record", [on, text_id("0102030405060708", 9, 1_764_000_000_000), record(1, "kept")]),
        ("a text ID before a first record", [text_id("ff" * 8, 1, 0), record(1, "One ", last=False)]),
        ("a text ID without a record", [text_id("00" * 8, 2**53 - 1, 2**53 - 1)]),
        ("two text IDs", [text_id("00" * 8, 1, 2), text_id("00" * 8, 3, 4), record(1, "x")]),
        ("a text ID with the number 0", [unknown(0x41, bytes(24)), record(1, "x")]),
        ("a text ID that is too short", [unknown(0x41, b"\1" * 23), record(1, "x")]),
        ("a text ID that is too long", [unknown(0x41, b"\1" * 25), record(1, "x")])]
    valid = [case(n, " ".join(dict.fromkeys(FRAME_CLAUSES[frame["type"]] for frame in f)), bytes=ref.plaintext(*f), frames=f,
                  reencodes=True) for n, f in rows]
    loose = [("unassigned bits of a heartbeat's status", b"\x01\xff\x0a", [{"type": "heartbeat", **all_bits, "interval": 10}]),
             ("unassigned bits of a typing frame's status", b"\x02\xf8", [typing()]),
             ("unassigned flags of a text", b"\x04\0\0\0\1\x0dx", [record(1, "x", True, False)]),
             ("unassigned flags of a name", b"\x04\0\0\0\0\x1fx", [record(0, "x", kind=1)])]
    loose += [(f"the bye reason {r}", bytes([8, r]), [small("bye", "quit")]) for r in (4, 5, 7, 255)]
    valid += [case(n, "X-1 X-2", bytes=b, frames=f, reencodes=False) for n, b, f in loose]
    names = [("64 bytes", "\u00e9".encode() * 32, "\u00e9" * 32), ("65 bytes", b"n" * 65, ""), ("no byte", b"", ""),
             ("control characters", b"a\0\x1b[2J", "a\0\x1b[2J"), ("a decomposed name", "e\u0301".encode(), "e\u0301")]
    return {"valid": valid, "invalid": invalid_frames(),
            "names": table("display name", "M-25", "body displayName", names + [(n, b, "") for n, b in NOT_UTF8])}


def invalid_frames():
    on, beat, ping = ref.encode(typing(True)), ref.encode(heartbeat()), ref.encode(small("ping", 1))
    kinds = [("heartbeat", beat), ("typing", on), ("ack", ref.encode(ack(2, 3))), ("ping", ping), ("pong", ref.encode(small("pong", 1))),
             ("bye", ref.encode(small("bye", "quit"))), ("forward", ref.encode(small("forward", 7))),
             ("unknown", ref.encode(unknown(0x40, b"ab")))]
    rows = [("empty", b"", "empty", 0)]
    for name, frame in kinds:
        rows += [(f"{name}, the type alone", frame[:1], "truncated", 0), (f"{name}, one byte short", frame[:-1], "truncated", 0)]
    rows += [("unknown, half a length", b"\x40\0", "truncated", 0),
             ("unknown, longer than the datagram", b"\x40\xff\xff" + bytes(9), "truncated", 0),
             ("record, the type alone", b"\x04", "truncated", 0), ("record, no flags", b"\x04\0\0\0\1", "truncated", 0),
             ("a cut frame behind a whole one", on + ping[:2], "truncated", 2)]
    rows += [(f"type 0x{t:02x}", bytes([t]) + bytes(8), "unknownType", 0) for t in (0, 3, 0x0A, 0x3F)]
    rows += [("an unlisted type behind a heartbeat", beat + b"\x10\0", "unknownType", 3)]
    rows += [(f"{name}, twice", frame * 2, "duplicate", len(frame)) for name, frame in kinds[2:7]]
    rows += [("ping, twice with a frame between", ping + on + ping, "duplicate", 5), ("heartbeat, twice", beat * 2, "twoStatuses", 3),
             ("typing, twice", on * 2, "twoStatuses", 2), ("heartbeat and typing", beat + on, "twoStatuses", 3),
             ("typing, ping and heartbeat", on + ping + beat, "twoStatuses", 5),
             ("text, no body", on + ref.encode(record(1, "")), "emptyText", 2)]
    rows += [(f"text, {n}", on + ref.encode(record(1, b)), "notUTF8", 2) for n, b in NOT_UTF8]
    rows += [(f"{name} with the flags {f | l << 1:02b}", on + ref.encode(record(1, "x", bool(f), bool(l), kind)), "flags", 2)
             for name, kind in (("name", 1), ("invite", 2), ("successor", 3)) for f, l in ((0, 0), (1, 0), (0, 1))]
    return table("invalid frames", FRAME_ERRORS, "bytes error offset", rows)
