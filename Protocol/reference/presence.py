"""Who is shown in a chat: all links of a person as one (T-17, T-19, T-20, T-22, T-26 to T-29)."""

from dataclasses import dataclass
from typing import Any, Callable, Optional

from clock import Bucket, Timer, cancel
from context import Context
from keys import base64url, user_id
from limits import KEPT_SHOWN, LIST_BURST, LIST_RATE, MESSAGE_WAIT, MS, REPEATED_WITHIN

RANKS = {"offline": 0, "away": 1, "online": 2}


@dataclass
class Person:
    key: bytes
    user: str
    name: str = ""
    presence: str = "offline"
    types_since: Optional[int] = None

    def shown(self) -> dict[str, str]:
        return {"user": self.user, "name": self.name}

    def known(self) -> dict[str, Any]:
        """A-10. This node remembers nobody: nobody is verified, or blocked for good."""
        return {**self.shown(), "presence": self.presence, "key": base64url(self.key), "verified": False,
                "blocked": False}


def why_there(before: str, after: str) -> str:
    if after == "away" and before != "offline":
        return "away"
    return "back" if before == "away" and after == "online" else "hello"


class People:
    """The people of a chat by their whole keys. `links_of` gives the links of a key, the one made last at the end."""

    def __init__(self, context: Context, chat: str, links_of: Callable[[bytes], list[Any]],
                 hides: Callable[[bytes], bool]) -> None:
        self._context, self._clock, self._chat, self._links_of = context, context.clock, chat, links_of
        self._hides = hides
        self.known: dict[bytes, Person] = {}
        self._typists: list[dict[str, str]] = []
        self._lists = Bucket(LIST_RATE, LIST_BURST, self._clock.now)
        self._repeats = Bucket(LIST_RATE, LIST_BURST, self._clock.now)
        self._reported_at: dict[bytes, int] = {}
        self._kept: dict[bytes, int] = {}               # until when people stay shown (L-103)
        self._waiting: dict[bytes, str] = {}            # people whose change waits, and why they would be offline
        self._list_timer: Optional[Timer] = None
        self._person_timer: Optional[Timer] = None
        self._messages: list[tuple[int, dict[str, Any]]] = []

    def person(self, key: bytes) -> Person:
        return self.known.setdefault(key, Person(key, user_id(key)))

    def _state(self, key: bytes) -> tuple[str, str]:
        """T-19, T-28."""
        links = [link for link in self._links_of(key) if link.is_named]
        presence = max((link.presence() for link in links), key=RANKS.__getitem__, default="offline")
        alive = [link for link in links if link.presence() != "offline"]
        return presence, (alive or links)[-1].name if links else self.person(key).name

    def name(self, key: bytes) -> str:
        """T-28."""
        return self._state(key)[1]

    def update(self, key: bytes, why: str = "silence", at_once: bool = False) -> None:
        """Reports what changed of a person: presence before typing, or after it when a link ended (T-29)."""
        if self._hides(key):
            return self.hide(key, why)
        presence, _ = self._state(key)
        if presence == "offline":
            self.update_typing(at_once)
            self._update_person(key, why, at_once)
        else:
            self._update_person(key, why, at_once)
            self.update_typing(at_once)

    def _update_person(self, key: bytes, why: str, at_once: bool) -> None:
        person = self.person(key)
        presence, name = self._state(key)
        if presence == "offline" and why == "silence" and self._clock.now < self._kept.get(key, 0):
            return
        self._kept.pop(key, None)
        self._waiting.pop(key, None)
        if (presence, name) != (person.presence, person.name):
            if not at_once and self._must_wait(key):
                self._waiting[key] = why
                if self._person_timer is None or not self._person_timer.is_set:
                    wait = self._repeats.wait(self._clock.now)
                    self._person_timer = self._clock.after(max(MS, wait), self._report_waiting)
                return
            before, person.presence, person.name = person.presence, presence, name
            self._context.emit({"on": "peer", "chat": self._chat, **person.known(),
                                "why": why if presence == "offline" else why_there(before, presence)})
        if presence == "offline" and not self._links_of(key):
            self.known.pop(key, None)

    def hide(self, key: bytes, why: str) -> None:
        """M-92, M-94: nobody shows by links with the key."""
        person = self.known.pop(key, None)
        self._waiting.pop(key, None)
        self.update_typing(at_once=True)
        if person is not None and person.presence != "offline":
            self._context.emit({"on": "peer", "chat": self._chat, **person.known(), "presence": "offline", "why": why})

    def keep_shown(self, key: bytes) -> None:
        """L-103."""
        self._kept[key] = self._clock.now + KEPT_SHOWN
        self._clock.after(KEPT_SHOWN, lambda: self.update(key))

    def _must_wait(self, key: bytes) -> bool:
        """T-26."""
        now = self._clock.now
        self._reported_at = {k: at for k, at in self._reported_at.items() if now - at < REPEATED_WITHIN}
        if key in self._reported_at and not self._repeats.take(now):
            return True
        self._reported_at[key] = now
        return False

    def _report_waiting(self) -> None:
        for key, why in list(self._waiting.items()):
            self.update(key, why)

    def report_all(self) -> None:
        """T-27: what the node's own user causes is reported at once."""
        self.update_typing(at_once=True)
        for key, why in list(self._waiting.items()):
            self.update(key, why, at_once=True)

    def message(self, key: bytes, event: dict[str, Any]) -> None:
        """T-27: a message waits for a list that ends its author's typing."""
        is_listed = any(user["user"] == user_id(key) for user in self._typists)
        has_ended = is_listed and not any(link.is_typing for link in self._links_of(key))
        if self._list_timer is not None and self._list_timer.is_set and (has_ended or self._messages):
            self._messages.append((self._clock.now + MESSAGE_WAIT, event))
            self._clock.after(MESSAGE_WAIT, self._report_messages)
        else:
            self._context.emit(event)

    def _report_messages(self, all_of_them: bool = False) -> None:
        while self._messages and (all_of_them or self._messages[0][0] <= self._clock.now):
            self._context.emit(self._messages.pop(0)[1])

    def update_typing(self, at_once: bool = False) -> None:
        """T-19, T-20, T-22."""
        for person in self.known.values():
            types = any(link.is_typing for link in self._links_of(person.key))
            person.types_since = None if not types else person.types_since or self._clock.now
        typists = [p for p in self.known.values() if p.types_since is not None]
        typists.sort(key=lambda p: (-(p.types_since or 0), p.name.encode(), p.user))
        users = [person.shown() for person in typists]
        if users != self._typists:
            if not at_once and not self._lists.take(self._clock.now):
                if self._list_timer is None or not self._list_timer.is_set:
                    wait = max(MS, self._lists.wait(self._clock.now))
                    self._list_timer = self._clock.after(wait, self.update_typing)
                return
            self._typists = users
            names = " and ".join(person.name or person.user for person in typists)
            text = f"{names} {'is' if len(users) == 1 else 'are'} typing" if users else ""
            self._context.emit({"on": "typing", "chat": self._chat, "users": users, "text": text})
        cancel(self._list_timer)
        self._report_messages(all_of_them=True)
