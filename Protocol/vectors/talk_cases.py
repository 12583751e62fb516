"""The cases of derivations.json about talks (W-41), and those of frames.json about invites between people (M-46)."""

import reference as ref
from cases import ALICE, BAD_KEYS, BOB, NOT_UTF8, SECRET, case, table
from sealed_cases import LOW_ORDER

# The key pairs of RFC 7748, section 6.1.
RFC = [bytes.fromhex(key) for key in ("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
                                      "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")]
LOWER = [(name, key) for name, key in LOW_ORDER if 0 < int.from_bytes(key, "little") < ref.FIELD_PRIME]


def talk(private, public):
    """The chat that the owner of a private key computes for the talk with the owner of a public key."""
    keys = b"".join(sorted((ref.public_key(private), public)))
    secret = ref.kdf(ref.exchange(private, public), keys, "inkling/2 talk")[:16]
    return secret, ref.Chat(secret=secret)


def talks():
    pairs = [("two people", ALICE.static_private, BOB.static_private), ("the keys of RFC 7748", *RFC)]
    rows = []
    for name, *privates in pairs:
        smaller, larger = sorted(privates, key=ref.public_key)
        for side, own, other in (("smaller", smaller, larger), ("larger", larger, smaller)):
            secret, chat = talk(own, ref.public_key(other))
            rows.append((f"{name}, by the owner of the {side} key", own, ref.public_key(other), ref.base32(secret), chat.chat_key))
        assert rows[-1][-2:] == rows[-2][-2:]
    return {"talks": table("talk", "W-38 W-41", "privateKey publicKey secret chatKey", rows),
            "invalidTalks": [case(f"no talk: a key of low order, {n}", "W-4 W-41", privateKey=ALICE.static_private, publicKey=k)
                             for n, k in LOWER]}


def invites():
    """Bodies of invite records, all from Alice."""
    secret, alice, bob = ref.base32(SECRET), *(ref.base64url(side.static) for side in (ALICE, BOB))
    invite = f"inkling:team#{secret}"
    rows = [("no byte", b"", "knock"), ("a chat without an owner", invite, "invite"),
            ("the sender's own chat", f"{invite}@{alice}", "invite"), ("escapes in lower case", f"inkling:caf%c3%a9#{secret}", "invite"),
            ("unescaped bytes", f"inkling:caf\u00e9#{secret}", "invite"), ("the scheme in capitals", f"INKLING:team#{secret}", "invite"),
            ("another owner's chat", f"{invite}@{bob}", "nothing"), ("an open chat", "inkling:team", "nothing"),
            ("no secret", "inkling:team#", "nothing"), ("a secret of 25 characters", invite[:-1], "nothing"),
            ("a blank behind it", invite + " ", "nothing"), ("a zero byte behind it", invite + "\0", "nothing"),
            ("a blank alone", " ", "nothing"), ("a text", "Come to my chat!", "nothing"),
            ("a name with a line feed", f"inkling:te%0Aam#{secret}", "nothing"),
            ("a name of 65 bytes", f"inkling:{'n' * 65}#{secret}", "nothing"),
            ("1,167 bytes", "inkling:" + "n" * 1_132 + f"#{secret}", "nothing")]
    rows += [(f"{n} in the name", b"inkling:" + b + b"#" + secret.encode(), "nothing") for n, b in NOT_UTF8]
    rows += [(f"an owner's key: {n}", f"{invite}@{ref.base64url(k)}", "nothing") for n, k in BAD_KEYS]
    return {"invites": table("invite record", "M-46", "sender body takes",
                             [(n, alice, b if isinstance(b, bytes) else b.encode(), t) for n, b, t in rows])}
