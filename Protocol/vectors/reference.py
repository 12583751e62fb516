"""The encodings and derivations of the Inkling protocol, written from the specification alone.

Needs the packages `cryptography` and `noiseprotocol` (0.3.1).
"""

import base64
import hashlib
import struct
import unicodedata
import warnings

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from noise.backends.default import noise_backend
from noise.connection import Keypair, NoiseConnection
from noise.noise_protocol import NoiseProtocol
from noise.state import SymmetricState

PROTOCOL_NAME = b"Noise_IKpsk2_25519_ChaChaPoly_SHA256"
FIELD_PRIME = 2**255 - 19
LAST_WILL_COUNTER = 2**32 - 1
HIGHEST_ORDINARY_COUNTER = 2**32 - 3
REASONS = ["quit", "left", "suspended", "lastWill", "removed", "unheard"]


# Keys and what is derived from them

def labelled_hash(label, data):
    return hashlib.sha256(label.encode("ascii") + b"\0" + data).digest()


def hkdf(secret, salt, info):
    return HKDF(hashes.SHA256(), 32, salt or None, info.encode("ascii")).derive(secret)


def private_key(label):
    return hashlib.sha256(b"inkling vectors " + label.encode("ascii")).digest()


def public_key(private):
    key = X25519PrivateKey.from_private_bytes(private).public_key()
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def exchange(private, public):
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))


def base32(data):
    return base64.b32encode(data).decode("ascii").rstrip("=").lower()


def base64url(data):
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def user_id(public):
    return base32(hashlib.sha256(public).digest()[:10])


def open_tag(name):
    return labelled_hash("inkling/1 open chat tag", nfc(name))[:8]


def open_psk(name):
    return labelled_hash("inkling/1 open chat psk", nfc(name))


def secret_tag(secret):
    return labelled_hash("inkling/1 secret chat tag", secret)[:8]


def secret_psk(secret):
    return hkdf(secret, b"", "inkling/1 secret chat psk")


def key_mask(secret, nonce):
    return hkdf(secret, nonce, "inkling/1 key mask")


def nfc(name):
    return unicodedata.normalize("NFC", name).encode("utf-8")


def xor(left, right):
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def txt(*strings):
    strings = [s.encode("utf-8") if isinstance(s, str) else s for s in strings]
    return b"".join(bytes([len(s)]) + s for s in strings)


# Datagrams

def initiation(index, tag, noise, cookie=b""):
    return b"\x11" + struct.pack(">I", index) + tag + noise + cookie


def initiation_header(index, tag):
    return initiation(index, tag, b"")


def prologue(header):
    return b"inkling/1\0" + header


def response(index, noise):
    return b"\x12" + struct.pack(">I", index) + noise


def sealed_header(index, counter):
    return b"\x13" + struct.pack(">II", index, counter)


def nonce(counter):
    return bytes(4) + struct.pack("<Q", counter)


def seal(key, index, counter, plaintext):
    header = sealed_header(index, counter)
    return header + ChaCha20Poly1305(key).encrypt(nonce(counter), plaintext, header)


def opens(key, datagram):
    """The frames of a sealed datagram, or None if it does not authenticate."""
    counter = struct.unpack(">I", datagram[5:9])[0]
    try:
        return ChaCha20Poly1305(key).decrypt(nonce(counter), datagram[9:], datagram[:9])
    except InvalidTag:
        return None


def retry(index, cookie):
    return b"\x14" + struct.pack(">I", index) + cookie


def ask(tag, token):
    return b"\x15" + tag + struct.pack(">I", token) + bytes(32)


def tell(token, nonce_bytes, key):
    return b"\x16" + struct.pack(">I", token) + nonce_bytes + key


# Frames

def status(typing=False, away=False):
    return typing | away << 1


def heartbeat(typing=False, away=False, interval=10):
    return bytes([0x01, status(typing, away), interval])


def typing_frame(typing=False, away=False):
    return bytes([0x02, status(typing, away)])


def hello(run, stream, held, next_record, name):
    name = name.encode("utf-8") if isinstance(name, str) else name
    return b"\x03" + struct.pack(">QIIIB", run, stream, held, next_record, len(name)) + name


def message(stream, record, first, last, text):
    text = text.encode("utf-8") if isinstance(text, str) else text
    return b"\x04" + struct.pack(">IIB", stream, record, first | last << 1) + text


def ack(stream, next_record, bitmap):
    return b"\x05" + struct.pack(">IIH", stream, next_record, bitmap)


def ping(token):
    return b"\x06" + struct.pack(">H", token)


def pong(token):
    return b"\x07" + struct.pack(">H", token)


def bye(reason):
    return bytes([0x08, reason])


def extension(code, body):
    return bytes([code]) + struct.pack(">H", len(body)) + body


def encode(frame):
    """The bytes of a frame given as in `frames.json`."""
    kind = frame["type"]
    if kind == "heartbeat":
        return heartbeat(frame["typing"], frame["away"], frame["interval"])
    if kind == "typing":
        return typing_frame(frame["typing"], frame["away"])
    if kind == "hello":
        return hello(int(frame["run"], 16), frame["stream"], frame["held"], frame["next"], frame["name"])
    if kind == "message":
        return message(frame["stream"], frame["record"], frame["first"], frame["last"], frame["text"])
    if kind == "ack":
        return ack(frame["stream"], frame["next"], frame["bitmap"])
    if kind == "ping":
        return ping(frame["token"])
    if kind == "pong":
        return pong(frame["token"])
    if kind == "bye":
        return bye(REASONS.index(frame["reason"]))
    return extension(frame["code"], bytes.fromhex(frame["body"]))


# The handshake

class Side:
    """One side's keys in a handshake."""

    def __init__(self, label, index):
        self.index = index
        self.static_private = private_key(label + " static")
        self.static = public_key(self.static_private)
        self.ephemeral_private = private_key(label + " ephemeral")
        self.ephemeral = public_key(self.ephemeral_private)

    def json(self):
        return {
            "index": self.index,
            "staticPrivate": self.static_private.hex(),
            "staticPublic": self.static.hex(),
            "ephemeralPrivate": self.ephemeral_private.hex(),
            "ephemeralPublic": self.ephemeral.hex(),
        }


def connection(side, psk, prologue_bytes, remote=None):
    noise = NoiseConnection.from_name(PROTOCOL_NAME)
    noise.set_psks(psk)
    noise.set_prologue(prologue_bytes)
    if remote is None:
        noise.set_as_responder()
    else:
        noise.set_as_initiator()
        noise.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, remote)
    noise.set_keypair_from_private_bytes(Keypair.STATIC, side.static_private)
    noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, side.ephemeral_private)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        noise.start_handshake()
    return noise


class Handshake:
    """A whole handshake between two sides, done by the package `noiseprotocol`."""

    def __init__(self, initiator, responder, tag, psk):
        self.initiator, self.responder, self.tag, self.psk = initiator, responder, tag, psk
        self.header = initiation_header(initiator.index, tag)
        self.prologue = prologue(self.header)
        opener = connection(initiator, psk, self.prologue, responder.static)
        answerer = connection(responder, psk, self.prologue)
        self.message1 = bytes(opener.write_message())
        assert bytes(answerer.read_message(self.message1)) == b""
        self.payload2 = struct.pack(">I", responder.index)
        self.message2 = bytes(answerer.write_message(self.payload2))
        assert bytes(opener.read_message(self.message2)) == self.payload2
        self.hash = opener.get_handshake_hash()
        assert self.hash == answerer.get_handshake_hash()
        self.forward = opener.noise_protocol.cipher_state_encrypt.k
        self.backward = opener.noise_protocol.cipher_state_decrypt.k
        assert self.forward == answerer.noise_protocol.cipher_state_decrypt.k
        assert self.backward == answerer.noise_protocol.cipher_state_encrypt.k
        self.initiation = initiation(initiator.index, tag, self.message1)
        self.response = response(initiator.index, self.message2)


def symmetric_state(prologue_bytes, responder_static):
    noise = NoiseProtocol(PROTOCOL_NAME, noise_backend)
    state = SymmetricState.initialize_symmetric(noise)
    state.mix_hash(prologue_bytes)
    state.mix_hash(responder_static)
    return state


def forged_message1(prologue_bytes, responder_static, ephemeral, es, static, ss):
    """Message 1 with keys and shared secrets of the forger's choice, and the state after it."""
    state = symmetric_state(prologue_bytes, responder_static)
    state.mix_hash(ephemeral)
    state.mix_key(ephemeral)
    state.mix_key(es)
    message1 = ephemeral + state.encrypt_and_hash(static)
    state.mix_key(ss)
    return message1 + state.encrypt_and_hash(b""), state


def forged_message2(state, psk, ephemeral, ee, se, payload):
    """Message 2 after `forged_message1`, with shared secrets of the forger's choice."""
    state.mix_hash(ephemeral)
    state.mix_key(ephemeral)
    state.mix_key(ee)
    state.mix_key(se)
    state.mix_key_and_hash(psk)
    return ephemeral + state.encrypt_and_hash(payload)


def accepts_message1(responder, psk, prologue_bytes, message1):
    try:
        connection(responder, psk, prologue_bytes).read_message(message1)
        return True
    except (InvalidTag, ValueError):
        return False
