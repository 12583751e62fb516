"""The sender's side of typing in one chat (T-1 to T-10)."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Optional

from clock import Timer, cancel
from limits import COPIES, TYPING_HEARTBEAT, TYPING_IDLE_STOP, TYPING_START_INTERVAL
from wire import Typing

if TYPE_CHECKING:
    from chat import Chat
    from core import Node

UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"))
DEFAULT_IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF))


def is_visible(character: str) -> bool:
    """White space lies wholly within the categories that are not seen."""
    if unicodedata.category(character) in UNSEEN_CATEGORIES:
        return False
    return not any(low <= ord(character) <= high for low, high in DEFAULT_IGNORABLE)


def counts(text: str) -> bool:
    """T-3: whether an edit to this text begins typing."""
    return not text.startswith("/") and any(is_visible(c) for c in text)


class Draft:
    """An input field, and whether its user types in it."""

    def __init__(self) -> None:
        self.text, self.types = "", False
        self.end: Optional[Timer] = None       # T-9


class Composer:
    """The input fields of a chat, one for each front end (A-21), and what is announced of them."""

    def __init__(self, node: "Node", chat: "Chat") -> None:
        self.node, self.chat = node, chat
        self._drafts: dict[object, Draft] = {}
        self.under_way = False
        self.announced = False
        self._last_start: Optional[int] = None
        self._due: Optional[Timer] = None      # T-5
        self._beat: Optional[Timer] = None     # T-8
        self._copies: list[Timer] = []         # T-6

    def compose(self, text: str, front_end: object = None) -> None:
        """T-3, T-4."""
        draft = self._drafts.setdefault(front_end, Draft())
        same = unicodedata.normalize("NFD", text) == unicodedata.normalize("NFD", draft.text)
        draft.text = text
        if same:
            return
        if not counts(text):
            self._rest(draft)  # T-10
            return
        now = self.node.now
        cancel(draft.end)
        draft.types, draft.end = True, self.node.at(now + TYPING_IDLE_STOP, lambda: self._rest(draft))  # T-9
        if self.under_way:
            return
        self.under_way = True
        if self._last_start is None or now - self._last_start >= TYPING_START_INTERVAL:
            self._start()
        else:
            self._due = self.node.at(self._last_start + TYPING_START_INTERVAL, self._start)  # T-5

    def _start(self) -> None:
        self._last_start = self.node.now
        self._edge(True)
        self.chat.send_status(Typing)

    def _rest(self, draft: Draft) -> None:
        """A-21: typing ends with the last draft."""
        draft.types = False
        cancel(draft.end)
        if not any(other.types for other in self._drafts.values()):
            self.end()

    def drop(self, front_end: object) -> None:
        """A front end has left the chat, or is gone."""
        draft = self._drafts.pop(front_end, None)
        if draft is not None:
            self._rest(draft)

    def text_of(self, front_end: object = None) -> str:
        return self._drafts[front_end].text if front_end in self._drafts else ""

    def empty(self, front_end: object) -> None:
        """After a send, which has ended all typing."""
        self._drafts.pop(front_end, None)

    def end(self) -> None:
        """T-9, T-10: the end, announced if the start was."""
        if self.end_quietly():
            self.chat.send_status(Typing)

    def end_quietly(self) -> bool:
        """The same, but the caller sends the stop; says whether there is one to send."""
        self.under_way = False
        self._rest_all()
        cancel(self._due)
        if not self.announced:
            return False
        self._edge(False)
        return True

    def _rest_all(self) -> None:
        for draft in self._drafts.values():
            draft.types = False
            cancel(draft.end)

    def _edge(self, typing: bool) -> None:
        """T-6, T-7: a new edge cancels the copies that are due; each copy says what holds at its moment."""
        self.announced = typing
        for copy in self._copies:
            copy.cancel()
        self._copies = [self.node.at(self.node.now + d, lambda: self.chat.send_status(Typing)) for d in COPIES]
        cancel(self._beat)
        if typing:
            self._beat = self.node.at(self.node.now + TYPING_HEARTBEAT, self._heartbeat)

    def _heartbeat(self) -> None:
        """T-8: without jitter."""
        self._beat = self.node.at(self.node.now + TYPING_HEARTBEAT, self._heartbeat)
        self.chat.send_heartbeats()

    def stop(self) -> None:
        """On leaving, suspending and quitting the bye says the stop, so that nothing is sent here."""
        self.under_way = self.announced = False
        self._rest_all()
        for timer in (self._due, self._beat, *self._copies):
            cancel(timer)
