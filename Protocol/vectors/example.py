"""`example.md`, one folder up: the first handshake of handshake.json as a conversation, byte by byte."""

import textwrap

# The meaning of each sealed datagram of that handshake, in order.
MEANINGS = [
    "Alice's session has joined (L-67): unheard heartbeat, ping `00a1`",
    "Bob's link is made, still down, so he pings too (L-74): unheard heartbeat, ping `00b1`",
    "Unheard heartbeat, and the pong to Alice's ping (L-28). The pong brings her link up (L-80)",
    "Alice's pong to Bob's ping, sealed while her link was down. The pong brings his link up",
    "Alice's name as record 0, both flags, behind a typing frame (M-9, M-24)",
    "Bob's link is up: heartbeat with status 0 and the interval of 1 s (L-82)",
    "Bob's status, the ack of record 0, and his name (M-15)",
    "Alice's ack. Each now sees the other as online (T-28)",
    "Alice types: a start.",
    "500 ms later, a heartbeat while typing (T-8)",
    "Alice sends `Hello, Bob!`: the stop, and record 1 (M-9)",
    "Bob's ack of record 1: Alice's message is delivered (M-17)",
    "Bob gives up a message of his, which would have been record 2: a forward to 3 (M-37)",
    "Alice's last will (W-21), sealed in advance and sent if her node dies (L-33)",
    "Bob's last will",
]


def block(bytes_):
    """Hex in groups of four bytes, eight groups a line."""
    groups = " ".join(textwrap.wrap(bytes_, 8))
    return "```hex\n" + "\n".join(textwrap.wrap(groups, 71)) + "\n```"


def find(cases, **members):
    return next(case for case in cases if all(case[key] == value for key, value in members.items()))


def text(derivations, handshakes):
    shake = handshakes["valid"][0]
    alice, bob, chat = shake["initiator"], shake["responder"], shake["chat"]
    keys = find(derivations["chats"], chat=chat)
    record = find(derivations["serviceRecords"], chat=chat, publicKey=alice["staticPublic"], canonical=True)
    instance = find(derivations["instanceNames"], chat=chat, nonce=record["nonce"], canonical=True)
    users = {case["publicKey"]: case["userID"] for case in derivations["userIDs"]}
    assert len(shake["sealed"]) == len(MEANINGS)
    parts = [
        "# A conversation in hex",
        "`generate.py` in [vectors](vectors/README.md) writes this text from the first handshake of "
        "[handshake.json](vectors/handshake.json). The keys are fixed for the example: never use them elsewhere.",
        "## Keys",
        f"Alice's static key has the user ID `{users[alice['staticPublic']]}` (W-5). Private and public key:",
        block(alice["staticPrivate"]), block(alice["staticPublic"]),
        "Bob's:",
        block(bob["staticPrivate"]), block(bob["staticPublic"]),
        f"The open chat is `{chat['open']}`. Its chat key, `psk` and `prologue_key` (W-8, W-36):",
        block(keys["chatKey"]), block(keys["psk"]), block(keys["prologueKey"]),
        "## Discovery",
        f"With the nonce `{record['nonce']}`, Alice's instance of `_inkling._udp` is named `{instance['text']}` (D-2). "
        "The strings of its TXT record, with their lengths (D-3):",
        block(record["bytes"]),
        "## Handshake",
        f"Alice's key is the smaller one, so she begins at once (L-1). Her index is {alice['index']:#010x}, her run "
        f"`{alice['run']}`, and her epoch for Bob's key {alice['epoch']}. Ephemeral private key, prologue (W-17), Noise "
        "message 1 and the initiation:",
        block(alice["ephemeralPrivate"]), block(shake["prologue"]), block(shake["message1"]), block(shake["initiation"]),
        f"Bob's index is {bob['index']:#010x}, his run `{bob['run']}`, and his epoch for Alice's key {bob['epoch']}. "
        "Ephemeral private key, Noise message 2 and the response:",
        block(bob["ephemeralPrivate"]), block(shake["message2"]), block(shake["response"]),
        "The key of what Alice sends, and of what Bob sends:",
        block(shake["initiatorToResponderKey"]), block(shake["responderToInitiatorKey"]),
        "## Sealed datagrams",
        "They come in the order of sealing, each with its counter (W-20), its frames and its bytes. Copies (T-6), and the "
        "heartbeats of L-82 and T-11 but one, are left out, so counters have no gaps.",
    ]
    for meaning, sealed in zip(MEANINGS, shake["sealed"]):
        sender = "Alice" if sealed["from"] == "initiator" else "Bob"
        counter = "2^32 − 1" if sealed["counter"] == 2**32 - 1 else sealed["counter"]
        parts += [f"**{sender}, counter {counter}.** {meaning}:", block(sealed["plaintext"]), block(sealed["bytes"])]
    return "\n\n".join(parts) + "\n"
