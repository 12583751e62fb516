"""A session: the keys and counters of one handshake, and what its hellos and statuses have said (W-19 to W-23)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from clock import Timer, cancel
from limits import (FORBIDDEN_COUNTER, LAST_COUNTER, LAST_WILL_COUNTER, REPLAY_WINDOW, SESSION_LIFETIME)
from wire import SEALED, VERSION, Bye, Frame, Sealed, WireError, parse_frames

if TYPE_CHECKING:
    from chat import Chat
    from link import Link
    from opening import Opening

Address = tuple[str, int]


class ReplayWindow:
    """W-22: which counters have been marked."""

    def __init__(self) -> None:
        self.highest = -1
        self._marks = 0  # bit i: highest - i

    def admits(self, counter: int) -> bool:
        below = self.highest - counter
        if below < 0:
            return True
        return below < REPLAY_WINDOW and not self._marks >> below & 1

    def mark(self, counter: int) -> None:
        above = counter - self.highest
        if above > 0:
            # A counter can leap by 2^32: the marks are not moved further than out of the window.
            self._marks = (self._marks << min(above, REPLAY_WINDOW) | 1) & (1 << REPLAY_WINDOW) - 1
            self.highest = counter
        else:
            self._marks |= 1 << -above


class Cipher:
    """W-19: one direction of a session."""

    def __init__(self, key: bytes) -> None:
        self._aead = ChaCha20Poly1305(key)

    @staticmethod
    def nonce(counter: int) -> bytes:
        return bytes(4) + counter.to_bytes(8, "little")

    def seal(self, index: int, counter: int, plaintext: bytes) -> bytes:
        header = bytes([VERSION << 4 | SEALED]) + index.to_bytes(4, "big") + counter.to_bytes(4, "big")
        return header + self._aead.encrypt(self.nonce(counter), plaintext, header)

    def open(self, datagram: Sealed) -> Optional[bytes]:
        try:
            return self._aead.decrypt(self.nonce(datagram.counter), datagram.ciphertext, datagram.header())
        except InvalidTag:
            return None


class Session:
    """One handshake's session with a peer in a chat."""

    def __init__(self, chat: "Chat", key: bytes, begun_here: bool, index: int, remote: int,
                 send: bytes, receive: bytes, now: int, address: Address) -> None:
        self.chat = chat
        self.key = key                    # the peer's static key
        self.begun_here = begun_here
        self.index = index
        self.remote = remote
        self._send, self._receive = Cipher(send), Cipher(receive)
        self.created = now                # L-21: when the response opened, or the initiation was answered
        self.address = address            # where the last datagram, or the response, came from
        self.opening: Optional["Opening"] = None  # what began it, if this node did
        self.complete = begun_here        # a responder's is not until something opens on it
        self.completed_at = now
        self.link: Optional["Link"] = None
        self.timer: Optional[Timer] = None        # L-12, then L-19, then L-21
        self.hello_timer: Optional[Timer] = None  # L-16
        self.counter = 0                  # W-20: of the next datagram
        self.window = ReplayWindow()
        self.last_came = now              # when something last came and opened
        self.came_before = now            # and the one before that (L-34)
        self.superseded = now
        # What this node said on it
        self.fresh_stream = 0             # L-47: named while there is no link
        self.hello_said = b""
        self.hello_said_at: Optional[int] = None
        self.hello_missing_since = now    # L-16: since when the peer holds not our stream
        self.hello_answers = 0
        # What the peer said on it
        self.hellos_came = 0
        self.hello_counter = -1           # L-22: the highest of all hellos
        self.hello_applied = False
        self.held = 0                     # the stream that the hello applied last holds, since this session sends
        self.hello_since_taken = True     # L-43: false from the taking to the peer's next hello
        self.resent = False               # M-5
        self.status_counter = -1          # T-13: the highest of all statuses
        self.status_typing = False        # what the status with that counter says
        self.carried_status = False

    def is_over(self, now: int) -> bool:
        """L-38."""
        return now - self.created >= SESSION_LIFETIME or self.counter > LAST_COUNTER

    def seal(self, frames: list[Frame]) -> bytes:
        """W-20: each datagram has a counter of its own."""
        datagram = self._send.seal(self.remote, self.counter, b"".join(f.encode() for f in frames))
        self.counter += 1
        return datagram

    def open(self, datagram: Sealed) -> Optional[list[Frame]]:
        """W-20 to W-24: the frames of a datagram that passes all checks; its counter is marked then."""
        if datagram.counter == FORBIDDEN_COUNTER:
            return None
        will = datagram.counter == LAST_WILL_COUNTER
        if not will and not self.window.admits(datagram.counter):
            return None
        plaintext = self._receive.open(datagram)
        if plaintext is None:
            return None
        if not will:
            self.window.mark(datagram.counter)
        try:
            frames = parse_frames(plaintext)
        except WireError:
            return None
        if will and not (len(frames) == 1 and isinstance(frames[0], Bye)):
            return None  # W-21
        return frames

    def note_status(self, counter: int, typing: bool) -> bool:
        """T-13: remember a status; says whether it is above all before it in this session."""
        self.carried_status = True
        if counter <= self.status_counter:
            return False
        self.status_counter, self.status_typing = counter, typing
        return True

    def stop_timers(self) -> None:
        cancel(self.timer)
        cancel(self.hello_timer)
        self.timer = self.hello_timer = None
