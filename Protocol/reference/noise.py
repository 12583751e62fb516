"""The handshake `Noise_IKpsk2_25519_ChaChaPoly_SHA256` (W-38, W-17, W-18), with the checks of W-3 and W-4."""

import hashlib
import hmac
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from keys import key_is_valid

PROTOCOL = hashlib.sha256(b"Noise_IKpsk2_25519_ChaChaPoly_SHA256").digest()     # longer than 32 bytes


class HandshakeError(ValueError):
    """A message that does not open: `authentication`, `invalidKey` or `ownKey`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class KeyPair:
    """A private key and its public key."""

    def __init__(self, private: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private)
        self.public = self._key.public_key().public_bytes_raw()

    def exchange(self, public: bytes) -> bytes:
        """Refuses a result of 32 zero bytes (W-4)."""
        try:
            result = self._key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise HandshakeError("invalidKey") from None
        if result == bytes(32):
            raise HandshakeError("invalidKey")
        return result


def nonce(counter: int) -> bytes:
    """W-19, and Noise's own."""
    return bytes(4) + struct.pack("<Q", counter)


class Symmetric:
    """The symmetric state of Noise, section 5.2."""

    def __init__(self, prologue: bytes, responder_key: bytes) -> None:
        self.hash = self._chain = PROTOCOL
        self._key, self._count = b"", 0
        self.mix_hash(prologue)
        self.mix_hash(responder_key)

    def copy(self) -> "Symmetric":
        other = object.__new__(Symmetric)
        other.__dict__.update(self.__dict__)
        return other

    def mix_hash(self, data: bytes) -> None:
        self.hash = hashlib.sha256(self.hash + data).digest()

    def _expand(self, material: bytes, count: int) -> list[bytes]:
        secret = hmac.digest(self._chain, material, "sha256")
        outputs = [b""]
        for number in range(1, count + 1):
            outputs.append(hmac.digest(secret, outputs[-1] + bytes([number]), "sha256"))
        return outputs[1:]

    def mix_key(self, *materials: bytes) -> None:
        for material in materials:
            self._chain, self._key = self._expand(material, 2)
            self._count = 0

    def mix_psk(self, psk: bytes) -> None:
        self._chain, mixed, self._key = self._expand(psk, 3)
        self._count = 0
        self.mix_hash(mixed)

    def encrypt(self, plaintext: bytes) -> bytes:
        sealed = ChaCha20Poly1305(self._key).encrypt(nonce(self._count), plaintext, self.hash)
        self._count += 1
        self.mix_hash(sealed)
        return sealed

    def decrypt(self, sealed: bytes) -> bytes:
        try:
            plaintext = ChaCha20Poly1305(self._key).decrypt(nonce(self._count), sealed, self.hash)
        except InvalidTag:
            raise HandshakeError("authentication") from None
        self._count += 1
        self.mix_hash(sealed)
        return plaintext

    def split(self) -> tuple[bytes, bytes]:
        first, second = self._expand(b"", 2)
        return first, second


@dataclass(frozen=True)
class Result:
    """What a handshake gives: the peer's index, run and epoch, and the transport keys."""

    index: int
    run: bytes
    epoch: int
    send_key: bytes
    receive_key: bytes
    hash: bytes


class Initiator:
    """The side that sends message 1. A response that does not open leaves it as it was (L-7)."""

    def __init__(self, identity: KeyPair, ephemeral: bytes, responder: bytes, psk: bytes, prologue: bytes,
                 run: bytes, epoch: int) -> None:
        self._psk, self._identity, self._ephemeral = psk, identity, KeyPair(ephemeral)
        state = self._state = Symmetric(prologue, responder)
        state.mix_hash(self._ephemeral.public)
        state.mix_key(self._ephemeral.public, self._ephemeral.exchange(responder))
        self.message = self._ephemeral.public + state.encrypt(identity.public)
        state.mix_key(identity.exchange(responder))
        self.message += state.encrypt(run + struct.pack(">I", epoch))           # W-18

    def finish(self, message: bytes) -> Result:
        state, remote = self._state.copy(), message[:32]
        state.mix_hash(remote)
        state.mix_key(remote, self._ephemeral.exchange(remote), self._identity.exchange(remote))
        state.mix_psk(self._psk)
        index, run, epoch = struct.unpack(">I8sI", state.decrypt(message[32:]))
        send, receive = state.split()
        return Result(index, run, epoch, send, receive, state.hash)


class Responder:
    """The side that reads message 1, and may then answer."""

    def __init__(self, identity: KeyPair, message: bytes, prologue: bytes, takes_own_key: bool = False) -> None:
        state = self._state = Symmetric(prologue, identity.public)
        self.ephemeral = message[:32]
        state.mix_hash(self.ephemeral)
        state.mix_key(self.ephemeral, identity.exchange(self.ephemeral))
        self.static = state.decrypt(message[32:80])
        state.mix_key(identity.exchange(self.static))
        self.run, self.epoch = struct.unpack(">8sI", state.decrypt(message[80:]))
        if not key_is_valid(self.static):
            raise HandshakeError("invalidKey")                                  # W-3
        if self.static == identity.public and not takes_own_key:
            raise HandshakeError("ownKey")                                      # D-7, M-94

    def answer(self, ephemeral: bytes, psk: bytes, index: int, run: bytes, epoch: int) -> tuple[bytes, Result]:
        """Returns message 2, and the result with the initiator's run and epoch; its index is not in it."""
        pair, state = KeyPair(ephemeral), self._state
        state.mix_hash(pair.public)
        state.mix_key(pair.public, pair.exchange(self.ephemeral), pair.exchange(self.static))
        state.mix_psk(psk)
        message = pair.public + state.encrypt(struct.pack(">I8sI", index, run, epoch))
        receive, send = state.split()
        return message, Result(0, self.run, self.epoch, send, receive, state.hash)
