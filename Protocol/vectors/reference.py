"""Encodings and derivations of the Inkling protocol, version 2, written from its texts alone."""

import base64
import hashlib
import hmac
import struct
import unicodedata

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NOISE_NAME = b"Noise_IKpsk2_25519_ChaChaPoly_SHA256"
FIELD_PRIME = 2**255 - 19
WILL, HIGHEST = 2**32 - 1, 2**32 - 3
REASONS = {"quit": 0, "left": 1, "suspended": 2, "lastWill": 3, "removed": 6}
TYPES = {"typing": 0x02, "heartbeat": 0x01, "record": 0x04, "ack": 0x05, "ping": 0x06, "pong": 0x07, "bye": 0x08,
         "forward": 0x09}


# Keys and texts

def sha256(data):
    return hashlib.sha256(data).digest()


def hkdf(key, salt, info, length=32):
    return HKDF(hashes.SHA256(), length, salt or None, info).derive(key)


def kdf(key, salt, label):
    return hkdf(key, salt, label.encode("ascii"))


def check(key, data):
    return hmac.digest(key, data, "sha256")[:8]


def public_key(private):
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def exchange(private, public):
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))


def base32(data):
    return base64.b32encode(data).decode("ascii").rstrip("=").lower()


def base64url(data):
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def user_id(public):
    return base32(sha256(public)[:10])


def fingerprint(one, other):
    smaller, larger = sorted((one, other))
    number = int.from_bytes(sha256(b"inkling fingerprint 1 pair" + smaller + larger), "big")
    return f"{number % 10**60:060}"


def nfc(name):
    return unicodedata.normalize("NFC", name)


def txt(*strings):
    strings = [s.encode("utf-8") if isinstance(s, str) else s for s in strings]
    return b"".join(bytes([len(s)]) + s for s in strings)


class Chat:
    """The keys of an open chat with a name, or of a secret chat with a secret and perhaps an owner's key."""

    def __init__(self, name=None, secret=None, owner=b""):
        if secret is None:
            self.json = {"open": name}
            self.chat_key = sha256(b"inkling/2 open chat\0" + nfc(name).encode("utf-8"))
        else:
            self.json = {"secret": base32(secret), **({"owner": base64url(owner)} if owner else {})}
            self.chat_key = kdf(secret, owner, "inkling/2 secret chat")
        labels = ["psk", "prologue", "seal", "check initiation", "check ask", "check name"]
        self.psk, self.prologue_key, self.seal_key, self.initiation_key, self.ask_key, self.name_key = (
            kdf(self.chat_key, b"", f"inkling/2 {label}") for label in labels)

    def prologue(self, index):
        return b"inkling/2\0\x21" + struct.pack(">I", index) + self.prologue_key

    def initiation(self, index, noise):
        data = b"\x21" + struct.pack(">I", index) + noise
        return data[:5] + check(self.initiation_key, data) + noise

    def ask_check(self, token):
        return check(self.ask_key, token)

    def successor_secret(self, body):
        return kdf(self.chat_key, body, "inkling/2 successor")[:16]

    def instance_name(self, nonce):
        return base32(nonce + check(self.name_key, nonce))

    def sealed_key(self, public, nonce, token=None):
        """The instance key, or with a token the tell key."""
        label = "inkling/2 instance" if token is None else "inkling/2 tell"
        return ChaCha20Poly1305(kdf(self.seal_key, (token or b"") + nonce, label)).encrypt(bytes(12), public, b"")


def successor(seed, owner, removed=()):
    return seed + owner + struct.pack(">H", len(removed)) + b"".join(removed)


# Datagrams

def response(index, noise):
    return b"\x22" + struct.pack(">I", index) + noise


def sealed_header(index, counter):
    return b"\x23" + struct.pack(">II", index, counter)


def nonce(counter):
    return bytes(4) + struct.pack("<Q", counter)


def seal(key, index, counter, plaintext):
    header = sealed_header(index, counter)
    return header + ChaCha20Poly1305(key).encrypt(nonce(counter), plaintext, header)


def opens(key, datagram):
    try:
        ChaCha20Poly1305(key).decrypt(nonce(struct.unpack(">I", datagram[5:9])[0]), datagram[9:], datagram[:9])
        return True
    except InvalidTag:
        return False


def retry(index, cookie):
    return b"\x24" + struct.pack(">I", index) + cookie


def ask(token, check_bytes):
    return b"\x25" + token + check_bytes + bytes(48)


def tell(token, nonce_bytes, key):
    return b"\x26" + token + nonce_bytes + key


# Frames

def encode(frame):
    """The bytes of a frame with the fields of `frames.json`."""
    if frame["type"] == "textID":
        run = bytes.fromhex(frame["run"])
        return struct.pack(">BH", 0x41, 24) + run + struct.pack(">QQ", frame["textNumber"], frame["written"])
    if frame["type"] == "unknown":
        body = bytes.fromhex(frame["body"])
        return struct.pack(">BH", frame["code"], len(body)) + body
    head = bytes([TYPES[frame["type"]]])
    match frame["type"]:
        case "heartbeat" | "typing":
            status = frame["typing"] | frame["away"] << 1 | frame["unheard"] << 2
            return head + bytes([status, frame["interval"]] if "interval" in frame else [status])
        case "record":
            flags = frame["first"] | frame["last"] << 1 | frame["recordType"] << 4
            return head + struct.pack(">IB", frame["number"], flags) + bytes.fromhex(frame["body"])
        case "ack":
            return head + struct.pack(">IH", frame["next"], frame["bitmap"])
        case "ping" | "pong":
            return head + struct.pack(">H", frame["token"])
        case "bye":
            return head + bytes([REASONS[frame["reason"]]])
        case "forward":
            return head + struct.pack(">I", frame["next"])


def plaintext(*frames):
    return b"".join(map(encode, frames))


# The handshake

class Side:
    """The keys, index, run and epoch of one side of a handshake."""

    def __init__(self, name, index, run, epoch, handshake=""):
        self.index, self.run, self.epoch = index, bytes.fromhex(run), epoch
        self.static_private = sha256(b"inkling vectors " + name.encode() + b" static")
        self.ephemeral_private = sha256(b"inkling vectors " + name.encode() + b" ephemeral" + handshake.encode())
        self.static, self.ephemeral = public_key(self.static_private), public_key(self.ephemeral_private)
        self.json = {
            "index": index, "staticPrivate": self.static_private.hex(), "staticPublic": self.static.hex(),
            "ephemeralPrivate": self.ephemeral_private.hex(), "ephemeralPublic": self.ephemeral.hex(), "run": run,
            "epoch": epoch}


class Symmetric:
    """The SymmetricState of Noise (revision 34, section 5.2)."""

    def __init__(self, prologue, responder):
        self.chaining = self.hash = sha256(NOISE_NAME)
        self.mix_hash(prologue)
        self.mix_hash(responder)

    def mix_hash(self, data):
        self.hash = sha256(self.hash + data)

    def mix_key(self, *inputs):
        for data in inputs:
            keys = hkdf(data, self.chaining, b"", 64)
            self.chaining, self.key, self.count = keys[:32], keys[32:], 0

    def mix_psk(self, psk):
        keys = hkdf(psk, self.chaining, b"", 96)
        self.chaining, self.key, self.count = keys[:32], keys[64:], 0
        self.mix_hash(keys[32:64])

    def encrypt(self, text):
        sealed = ChaCha20Poly1305(self.key).encrypt(nonce(self.count), text, self.hash)
        self.count += 1
        self.mix_hash(sealed)
        return sealed

    def split(self):
        keys = hkdf(b"", self.chaining, b"", 64)
        return keys[:32], keys[32:]


class Handshake:
    """A handshake in a chat. `forged` replaces keys, X25519 results, the prologue, the psk or payloads by name."""

    def __init__(self, chat, initiator, responder, **forged):
        self.chat, self.initiator, self.responder = chat, initiator, responder

        def result(name, private, public):
            return forged[name] if name in forged else exchange(private, public)

        self.prologue = forged.get("prologue", chat.prologue(initiator.index))
        self.payload1 = initiator.run + struct.pack(">I", initiator.epoch)
        self.payload2 = struct.pack(">I", responder.index) + responder.run + struct.pack(">I", responder.epoch)
        ephemeral1, static1 = forged.get("ephemeral1", initiator.ephemeral), forged.get("static1", initiator.static)
        ephemeral2 = forged.get("ephemeral2", responder.ephemeral)
        state = Symmetric(self.prologue, responder.static)
        state.mix_hash(ephemeral1)
        state.mix_key(ephemeral1, result("es", initiator.ephemeral_private, responder.static))
        self.message1 = ephemeral1 + state.encrypt(static1)
        state.mix_key(result("ss", initiator.static_private, responder.static))
        self.message1 += state.encrypt(self.payload1)
        self.initiation = chat.initiation(initiator.index, self.message1)
        state.mix_hash(ephemeral2)
        state.mix_key(ephemeral2, result("ee", responder.ephemeral_private, initiator.ephemeral),
                      result("se", responder.ephemeral_private, initiator.static))
        state.mix_psk(forged.get("psk", chat.psk))
        self.message2 = ephemeral2 + state.encrypt(self.payload2)
        self.response = response(initiator.index, self.message2)
        self.hash, (self.forward, self.backward) = state.hash, state.split()
