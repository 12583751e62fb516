"""A session, which is keys alone, and the replay window of a state (W-19 to W-23)."""

from typing import Any, Optional

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from limits import REPLAY_WINDOW
from noise import Result, nonce
from wire import Sealed, sealed_header

Address = tuple[str, int]


class Cipher:
    """One transport key."""

    def __init__(self, key: bytes) -> None:
        self._cipher = ChaCha20Poly1305(key)

    def seal(self, index: int, counter: int, plaintext: bytes) -> bytes:
        header = sealed_header(index, counter)
        return header + self._cipher.encrypt(nonce(counter), plaintext, header)

    def open(self, datagram: Sealed) -> Optional[bytes]:
        try:
            header = sealed_header(datagram.receiver, datagram.counter)
            return self._cipher.decrypt(nonce(datagram.counter), datagram.ciphertext, header)
        except InvalidTag:
            return None


class ReplayWindow:
    """The marked counters of a state in one direction (W-22)."""

    def __init__(self) -> None:
        self.highest = -1
        self._marked: set[int] = set()

    def is_marked(self, counter: int) -> bool:
        return counter in self._marked

    def is_old(self, counter: int) -> bool:
        return self.highest - counter >= REPLAY_WINDOW

    def mark(self, counter: int) -> bool:
        """Returns whether the counter is above all marked before."""
        self._marked.add(counter)
        is_newest = counter > self.highest
        if is_newest:
            self.highest = counter
            if len(self._marked) > 2 * REPLAY_WINDOW:
                self._marked = {c for c in self._marked if not self.is_old(c)}
        return is_newest


class Session:
    """The transport keys of one handshake: unconfirmed, joined, complete (L-12, L-67, L-70)."""

    def __init__(self, key: bytes, index: int, remote_index: int, result: Result, own_epoch: int,
                 address: Address, is_initiator: bool, now: int) -> None:
        self.key, self.index, self.remote_index = key, index, remote_index
        self.run, self.own_epoch, self.peer_epoch = result.run, own_epoch, result.epoch
        self.address, self.is_initiator = address, is_initiator
        self.opened_at = now
        self.joined_at: Optional[int] = None
        self.completed = 0          # the order of completion, or 0
        self.proven = 0             # the order of the first newest datagrams, or 0
        self.rekey_at = 0
        self.chat: Any = None
        self.link: Any = None       # from joining on
        self._send, self._receive = Cipher(result.send_key), Cipher(result.receive_key)

    @property
    def is_complete(self) -> bool:
        return self.completed > 0

    def seal(self, counter: int, plaintext: bytes) -> bytes:
        return self._send.seal(self.remote_index, counter, plaintext)

    def open(self, datagram: Sealed) -> Optional[bytes]:
        return self._receive.open(datagram)
