"""Seals datagrams and makes handshakes, as wire.md says; needs nothing but the standard library."""

import hashlib
import hmac
import struct


def chacha20_block(key, counter, nonce):
    start = struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<I", counter) + nonce)
    state = list(start)

    def step(a, b, d, bits):
        state[a] = state[a] + state[b] & 0xFFFFFFFF
        state[d] ^= state[a]
        state[d] = (state[d] << bits | state[d] >> 32 - bits) & 0xFFFFFFFF

    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for a, b, c, d in (columns + diagonals) * 10:
        step(a, b, d, 16)
        step(c, d, b, 12)
        step(a, b, d, 8)
        step(c, d, b, 7)
    return struct.pack("<16I", *((x + y) & 0xFFFFFFFF for x, y in zip(state, start)))


def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(message), 16):
        total = (total + int.from_bytes(message[at : at + 16] + b"\1", "little")) * r % (2**130 - 5)
    return (total + int.from_bytes(key[16:32], "little") & 2**128 - 1).to_bytes(16, "little")


def seal(key, nonce, header, plaintext):
    """ChaCha20-Poly1305."""
    stream = b"".join(chacha20_block(key, 1 + at, nonce) for at in range((len(plaintext) + 63) // 64))
    ciphertext = bytes(x ^ y for x, y in zip(plaintext, stream))
    padded = b"".join(part + bytes(-len(part) % 16) for part in (header, ciphertext))
    lengths = struct.pack("<QQ", len(header), len(ciphertext))
    return ciphertext + poly1305(chacha20_block(key, 0, nonce)[:32], padded + lengths)


def sealed(key, index, counter, plaintext):
    """A sealed datagram (W-19)."""
    header = struct.pack(">BII", 0x23, index, counter)
    return header + seal(key, bytes(4) + struct.pack("<Q", counter), header, plaintext)


def x25519(private, public):
    """RFC 7748, section 5."""
    p = 2**255 - 19
    scalar = int.from_bytes(private, "little") & 2**255 - 8 | 2**254
    u = int.from_bytes(public, "little") % 2**255
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in range(254, -1, -1):
        if is_set := scalar >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
        da, cb = (x3 - z3) * (x2 + z2), (x3 + z3) * (x2 - z2)
        aa, bb = (x2 + z2) ** 2 % p, (x2 - z2) ** 2 % p
        x3, z3 = (da + cb) ** 2 % p, u * (da - cb) ** 2 % p
        x2, z2 = aa * bb % p, (aa - bb) * (aa + 121665 * (aa - bb)) % p
        if is_set:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, p - 2, p) % p).to_bytes(32, "little")


def hkdf(salt, material, info, count):
    secret, outputs = hmac.digest(salt, material, "sha256"), [b""]
    for number in range(1, count + 1):
        outputs.append(hmac.digest(secret, outputs[-1] + info + bytes([number]), "sha256"))
    return outputs[1:]


class OpenChat:
    """The keys of an open chat."""

    def __init__(self, name):
        self.key = hashlib.sha256(b"inkling/2 open chat\0" + name.encode()).digest()

    def derived(self, use):
        return hkdf(b"", self.key, f"inkling/2 {use}".encode(), 1)[0]


class End:
    """One end of a handshake; its private keys come from its name."""

    def __init__(self, name, index, run, epoch):
        self.index, self.run, self.epoch = index, run, epoch
        self.static_private, self.ephemeral_private = (
            hashlib.sha256(f"{name} {use}".encode()).digest() for use in ("static", f"ephemeral {index} {epoch}"))
        self.static, self.ephemeral = (x25519(private, b"\x09" + bytes(31))
                                       for private in (self.static_private, self.ephemeral_private))
        self.state = run + struct.pack(">I", epoch)


def handshake(chat, initiator, responder):
    """Returns the initiation, the response and both transport keys (W-17, W-18, W-38)."""
    state = hashlib.sha256(b"Noise_IKpsk2_25519_ChaChaPoly_SHA256").digest()
    chain = state
    index = struct.pack(">I", initiator.index)

    def mix(*data):
        nonlocal state
        for one in data:
            state = hashlib.sha256(state + one).digest()

    def encrypt(key, text):
        result = seal(key, bytes(12), state, text)
        mix(result)
        return result

    mix(b"inkling/2\0\x21" + index + chat.derived("prologue"), responder.static, initiator.ephemeral)
    chain = hkdf(chain, initiator.ephemeral, b"", 2)[0]
    chain, key = hkdf(chain, x25519(initiator.ephemeral_private, responder.static), b"", 2)
    message = initiator.ephemeral + encrypt(key, initiator.static)
    chain, key = hkdf(chain, x25519(initiator.static_private, responder.static), b"", 2)
    message += encrypt(key, initiator.state)
    check = hmac.digest(chat.derived("check initiation"), b"\x21" + index + message, "sha256")[:8]
    mix(responder.ephemeral)
    chain = hkdf(chain, responder.ephemeral, b"", 2)[0]
    for public in (initiator.ephemeral, initiator.static):
        chain = hkdf(chain, x25519(responder.ephemeral_private, public), b"", 2)[0]
    chain, mixed, key = hkdf(chain, chat.derived("psk"), b"", 3)
    mix(mixed)
    answer = responder.ephemeral + encrypt(key, struct.pack(">I", responder.index) + responder.state)
    return b"\x21" + index + check + message, b"\x22" + index + answer, hkdf(chain, b"", b"", 2)
