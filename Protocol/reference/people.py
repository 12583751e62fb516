"""Who is shown in a chat: all links of a person as one (T-17, T-19, T-20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from names import user_id

if TYPE_CHECKING:
    from chat import Chat
    from core import Node

NAMES_REMEMBERED = 1_024
RANK = {"offline": 0, "away": 1, "online": 2}


def why_there(before: str, presence: str) -> str:
    """The word for a change of someone who is there (driver.md)."""
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


class People:
    """The people of a chat, by their whole keys (T-17)."""

    def __init__(self, node: "Node", chat: "Chat") -> None:
        self.node, self.chat = node, chat
        self.known: dict[bytes, Person] = {}
        self._typists: list[dict[str, str]] = []
        self._keys_of_names: dict[str, bytes] = {}

    def get(self, key: bytes) -> Person:
        if key not in self.known:
            self.known[key] = Person(key, user_id(key))
        return self.known[key]

    def update(self, key: bytes, why_offline: str = "") -> None:
        """T-19: the best of the person's links, and the name of the one made last; tells the user of each change."""
        person = self.get(key)
        links = self.chat.links_of(key)
        presence = max((link.presence() for link in links), key=RANK.__getitem__, default="offline")
        name = links[-1].name if links else person.name
        before = person.presence
        if (presence, name) != (before, person.name):
            person.presence, person.name = presence, name
            self.node.emit({"on": "peer", "chat": self.chat.name, "user": person.user, "name": name,
                            "presence": presence, "why": why_offline if not links else why_there(before, presence)})
            if name:
                self._notice_key(person)
        self.update_typing()
        if presence == "offline":
            self.known.pop(key)

    def _notice_key(self, person: Person) -> None:
        """Someone uses a known name with a different key; so many names are remembered."""
        if len(self._keys_of_names) >= NAMES_REMEMBERED:
            self._keys_of_names.clear()
        if self._keys_of_names.setdefault(person.name, person.key) != person.key:
            self._keys_of_names[person.name] = person.key
            self.node.notice("key-changed", f"{person.name} now has a different key", self.chat)

    def update_typing(self) -> None:
        """T-19, T-20: the latest start first, ties by name, then by user ID."""
        for person in self.known.values():
            typing = any(link.typing for link in self.chat.links_of(person.key))
            if not typing:
                person.typing_since = None
            elif person.typing_since is None:
                person.typing_since = self.node.now
        typists = sorted((p for p in self.known.values() if p.typing_since is not None),
                         key=lambda p: (-(p.typing_since or 0), p.name, p.user))
        users = [p.shown() for p in typists]
        if users == self._typists:
            return
        self._typists = users
        names = [p.name or p.user for p in typists]
        text = ", ".join(names) + (" typing now" if names else "")
        self.node.emit({"on": "typing", "chat": self.chat.name, "users": users, "text": text})
