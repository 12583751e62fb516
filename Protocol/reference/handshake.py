"""The handshake: Noise_IKpsk2_25519_ChaChaPoly_SHA256 (W-17, W-18), with the checks of W-3 and W-4."""

from __future__ import annotations

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from names import key_is_valid

NAME = b"Noise_IKpsk2_25519_ChaChaPoly_SHA256"
LABEL = b"inkling/1\0"


class HandshakeError(ValueError):
    """A message that does not open; `code` is `authentication` or `invalidKey`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class KeyPair:
    """A private key and its public key, as bytes."""

    def __init__(self, private: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private)
        self.private = private
        self.public = self._key.public_key().public_bytes_raw()

    def exchange(self, public: bytes) -> bytes:
        """W-4: refuses a result of 32 zero bytes."""
        try:
            result = self._key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise HandshakeError("invalidKey") from None
        if result == bytes(32):
            raise HandshakeError("invalidKey")
        return result


class Symmetric:
    """The symmetric state of the Noise framework."""

    def __init__(self, prologue: bytes, responder_key: bytes) -> None:
        self.hash = NAME.ljust(32, b"\0") if len(NAME) <= 32 else hashlib.sha256(NAME).digest()
        self.chain = self.hash
        self.key = b""
        self.nonce = 0
        self.mix_hash(prologue)
        self.mix_hash(responder_key)

    def mix_hash(self, data: bytes) -> None:
        self.hash = hashlib.sha256(self.hash + data).digest()

    def _expand(self, material: bytes, count: int) -> list[bytes]:
        secret = hmac.digest(self.chain, material, "sha256")
        outputs = [b""]
        for i in range(1, count + 1):
            outputs.append(hmac.digest(secret, outputs[-1] + bytes([i]), "sha256"))
        return outputs[1:]

    def mix_key(self, material: bytes) -> None:
        self.chain, self.key = self._expand(material, 2)
        self.nonce = 0

    def mix_key_and_hash(self, material: bytes) -> None:
        self.chain, mixed, self.key = self._expand(material, 3)
        self.mix_hash(mixed)
        self.nonce = 0

    def _next_nonce(self) -> bytes:
        nonce = bytes(4) + self.nonce.to_bytes(8, "little")
        self.nonce += 1
        return nonce

    def seal(self, plaintext: bytes) -> bytes:
        ciphertext = ChaCha20Poly1305(self.key).encrypt(self._next_nonce(), plaintext, self.hash)
        self.mix_hash(ciphertext)
        return ciphertext

    def open(self, ciphertext: bytes) -> bytes:
        try:
            plaintext = ChaCha20Poly1305(self.key).decrypt(self._next_nonce(), ciphertext, self.hash)
        except InvalidTag:
            raise HandshakeError("authentication") from None
        self.mix_hash(ciphertext)
        return plaintext

    def split(self) -> tuple[bytes, bytes]:
        first, second = self._expand(b"", 2)
        return first, second

    def copy(self) -> "Symmetric":
        other = object.__new__(Symmetric)
        other.__dict__.update(self.__dict__)
        return other


class Initiator:
    """The side that sends message 1. A response that fails leaves it as it was (L-7)."""

    def __init__(self, identity: KeyPair, ephemeral: bytes, responder: bytes, psk: bytes, header: bytes) -> None:
        self.psk = psk
        self.identity = identity
        self.ephemeral = KeyPair(ephemeral)
        state = Symmetric(LABEL + header, responder)  # W-17
        state.mix_hash(self.ephemeral.public)
        state.mix_key(self.ephemeral.public)
        state.mix_key(self.ephemeral.exchange(responder))
        static = state.seal(identity.public)
        state.mix_key(identity.exchange(responder))
        self.message = self.ephemeral.public + static + state.seal(b"")  # W-18: an empty payload
        self.state = state

    def finish(self, message: bytes) -> tuple[int, bytes, bytes, bytes]:
        """Message 2: the responder's index, the key to send with, the key to receive with, and the hash."""
        state = self.state.copy()
        remote = message[:32]
        state.mix_hash(remote)
        state.mix_key(remote)
        state.mix_key(self.ephemeral.exchange(remote))
        state.mix_key(self.identity.exchange(remote))
        state.mix_key_and_hash(self.psk)
        payload = state.open(message[32:])
        send, receive = state.split()
        return int.from_bytes(payload, "big"), send, receive, state.hash


class Responder:
    """The side that reads message 1, and may then answer."""

    def __init__(self, identity: KeyPair, message: bytes, header: bytes) -> None:
        state = Symmetric(LABEL + header, identity.public)  # W-17
        self.remote = message[:32]
        state.mix_hash(self.remote)
        state.mix_key(self.remote)
        state.mix_key(identity.exchange(self.remote))
        self.static = state.open(message[32:80])
        if not key_is_valid(self.static):
            raise HandshakeError("invalidKey")  # W-3
        state.mix_key(identity.exchange(self.static))
        state.open(message[80:])
        self.state = state

    def answer(self, ephemeral: bytes, psk: bytes, index: int) -> tuple[bytes, bytes, bytes, bytes]:
        """Message 2, the key to send with, the key to receive with, and the hash."""
        pair = KeyPair(ephemeral)
        state = self.state
        state.mix_hash(pair.public)
        state.mix_key(pair.public)
        state.mix_key(pair.exchange(self.remote))
        state.mix_key(pair.exchange(self.static))
        state.mix_key_and_hash(psk)
        message = pair.public + state.seal(index.to_bytes(4, "big"))  # W-18
        receive, send = state.split()
        return message, send, receive, state.hash
