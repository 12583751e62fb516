"""Who is shown in a chat: all links of a person as one (T-17, T-19, T-20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from clock import Bucket, Timer, cancel
from limits import LIST_BURST, LIST_RATE, MS, REPEATED_BURST, REPEATED_RATE, REPEATED_WITHIN
from names import key_to_text, user_id

if TYPE_CHECKING:
    from chat import Chat
    from core import Node

NAMES_REMEMBERED = 1_024
RANK = {"offline": 0, "away": 1, "online": 2}


def why_there(before: str, presence: str) -> str:
    """The word for a change of someone who is there (api.md)."""
    if presence == "away" and before != "offline":
        return "away"
    return "back" if before == "away" else "hello"


@dataclass
class Person:
    key: bytes
    user: str
    name: str = ""
    presence: str = "offline"
    typing_since: Optional[int] = None

    def shown(self) -> dict[str, str]:
        return {"user": self.user, "name": self.name}

    def known(self) -> dict[str, Any]:
        """A-10. This node remembers nobody, so nobody is verified or blocked for good."""
        return {**self.shown(), "presence": self.presence, "key": key_to_text(self.key), "verified": False,
                "blocked": False}


class People:
    """The people of a chat, by their whole keys (T-17)."""

    def __init__(self, node: "Node", chat: "Chat") -> None:
        self.node, self.chat = node, chat
        self.known: dict[bytes, Person] = {}
        self._typists: list[dict[str, str]] = []
        self._keys_of_names: dict[str, bytes] = {}
        self._lists = Bucket(LIST_RATE, LIST_BURST, node.now)
        self._repeated = Bucket(REPEATED_RATE, REPEATED_BURST, node.now)
        self._told_at: dict[bytes, int] = {}     # T-22: of whom, within the last second
        self._untold: dict[bytes, str] = {}      # T-22: whose change waits, and why they would be offline
        self._list_timer: Optional[Timer] = None
        self._untold_timer: Optional[Timer] = None
        self._messages: list[tuple[bytes, dict[str, Any]]] = []  # T-22: those that wait for the list

    def get(self, key: bytes) -> Person:
        if key not in self.known:
            self.known[key] = Person(key, user_id(key))
        return self.known[key]

    def _now(self, key: bytes) -> tuple[str, str]:
        """T-19: the best of the person's links, and the name of the one made last."""
        links = self.chat.links_of(key)
        presence = max((link.presence() for link in links), key=RANK.__getitem__, default="offline")
        return presence, links[-1].name if links else self.get(key).name

    def update(self, key: bytes, why_offline: str = "", at_once: bool = False) -> None:
        """T-19, T-22: tells the user of each change of a person."""
        person = self.get(key)
        presence, name = self._now(key)
        before = person.presence
        self._untold.pop(key, None)
        if (presence, name) != (before, person.name):
            if not at_once and self._has_to_wait(key):
                self._untold[key] = why_offline
                self._wait()
                return self.update_typing()
            person.presence, person.name = presence, name
            self.node.emit({"on": "peer", "chat": self.chat.name, **person.known(),
                            "why": why_offline if presence == "offline" else why_there(before, presence)})
            if name:
                self._notice_key(person)
        self.update_typing()
        if presence == "offline":
            self.known.pop(key, None)

    def _has_to_wait(self, key: bytes) -> bool:
        """T-22: whether a change of that person can't be told yet; if it can, it counts."""
        now = self.node.now
        if any(author == key for author, _ in self._messages):
            return True
        self._told_at = {k: at for k, at in self._told_at.items() if now - at < REPEATED_WITHIN}
        if key in self._told_at and not self._repeated.take(now):
            return True
        self._told_at[key] = now
        return False

    def _wait(self) -> None:
        if self._untold_timer is None or self._untold_timer.action is None:
            self._untold_timer = self.node.at(self.node.now + self._repeated.wait(self.node.now) + MS, self._tell_untold)

    def _tell_untold(self) -> None:
        for key, why in list(self._untold.items()):
            self.update(key, why)

    def tell_all(self) -> None:
        """T-22: what the user did shows at once."""
        self.update_typing(at_once=True)
        for key, why in list(self._untold.items()):
            self.update(key, why, at_once=True)

    def message(self, key: bytes, event: dict[str, Any]) -> None:
        """T-22: a message waits for a list that ends its author's typing."""
        listed = any(user["user"] == self.get(key).user for user in self._typists)
        ended = listed and not any(link.typing for link in self.chat.links_of(key))
        if self._list_timer is not None and (ended or self._messages):
            self._messages.append((key, event))
        else:
            self.node.emit(event)

    def _notice_key(self, person: Person) -> None:
        """Someone uses a known name with a different key; so many names are remembered."""
        if len(self._keys_of_names) >= NAMES_REMEMBERED:
            self._keys_of_names.clear()
        if self._keys_of_names.setdefault(person.name, person.key) != person.key:
            self._keys_of_names[person.name] = person.key
            self.node.notice("key-changed", f"{person.name} now has a different key", self.chat)

    def update_typing(self, at_once: bool = False) -> None:
        """T-19, T-20, T-22: the latest start first, ties by name, then by user ID."""
        for person in self.known.values():
            typing = any(link.typing for link in self.chat.links_of(person.key))
            if not typing:
                person.typing_since = None
            elif person.typing_since is None:
                person.typing_since = self.node.now
        typists = sorted((p for p in self.known.values() if p.typing_since is not None and p.presence != "offline"),
                         key=lambda p: (-(p.typing_since or 0), p.name, p.user))
        users = [p.shown() for p in typists]
        if users != self._typists:
            if not at_once and not self._lists.take(self.node.now):
                if self._list_timer is None:
                    self._list_timer = self.node.at(self.node.now + self._lists.wait(self.node.now), self.update_typing)
                elif self._list_timer.due <= self.node.now:
                    self._list_timer = None
                    self.update_typing()
                return
            self._typists = users
            names = [p.name or p.user for p in typists]
            text = ", ".join(names) + (" typing now" if names else "")
            self.node.emit({"on": "typing", "chat": self.chat.name, "users": users, "text": text})
        cancel(self._list_timer)
        self._list_timer = None
        messages, self._messages = self._messages, []
        for _, event in messages:
            self.node.emit(event)
