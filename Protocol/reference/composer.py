"""The sender of typing in one chat: drafts, edges and their copies (T-1 to T-10)."""

import unicodedata
from typing import Callable, Optional

from clock import Clock, Timer, cancel
from limits import COPIES, IDLE_STOP, START_INTERVAL

UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"))
IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF))


def is_visible(character: str) -> bool:
    if unicodedata.category(character) in UNSEEN or character.isspace():
        return False
    return not any(low <= ord(character) <= high for low, high in IGNORABLE)


def counts(text: str) -> bool:
    """T-3: whether an edit to this text begins typing."""
    return not text.startswith("/") and any(is_visible(c) for c in text)


class Composer:
    """The field of a chat, and what is announced of it. `send_status` sends one typing frame to all peers."""

    def __init__(self, clock: Clock, send_status: Callable[[], None], beats_change: Callable[[], None]) -> None:
        self._clock, self._send_status, self._beats_change = clock, send_status, beats_change
        self.text = ""
        self.is_announced = False
        self._last_start: Optional[int] = None
        self._start: Optional[Timer] = None     # T-5
        self._end: Optional[Timer] = None       # T-9
        self._copies: list[Timer] = []          # T-6

    def compose(self, text: str) -> None:
        """T-3, T-4."""
        is_same = unicodedata.normalize("NFD", text) == unicodedata.normalize("NFD", self.text)
        self.text = text
        if is_same:
            return
        if not counts(text):
            return self.stop()
        cancel(self._end)
        self._end = self._clock.after(IDLE_STOP, self.stop)
        if self.is_announced or self._start is not None and self._start.is_set:
            return
        due = self._clock.now if self._last_start is None else self._last_start + START_INTERVAL
        if due <= self._clock.now:
            self._begin()
        else:
            self._start = self._clock.at(due, self._begin)

    def _begin(self) -> None:
        self._last_start = self._clock.now
        self._edge(True)
        self._send_status()

    def _edge(self, is_start: bool) -> None:
        """T-6, T-7: a new edge cancels the copies that are due."""
        self.is_announced = is_start
        for timer in self._copies:
            timer.cancel()
        self._copies = [self._clock.after(delay, self._send_status) for delay in COPIES]
        self._beats_change()

    def stop_quietly(self) -> bool:
        """T-10: ends typing; the caller sends the stop, if there is one to send."""
        cancel(self._start)
        cancel(self._end)
        if not self.is_announced:
            return False
        self._edge(False)
        return True

    def stop(self) -> None:
        if self.stop_quietly():
            self._send_status()

    def close(self) -> None:
        """The chat is left: the bye says the stop."""
        for timer in (self._start, self._end, *self._copies):
            cancel(timer)
        self.is_announced = False
