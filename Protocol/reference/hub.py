"""One node and its front ends (api.md): who is in which chat, who gets what, what waits, and who is away."""

from __future__ import annotations

import json
import os
import tempfile
import time
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional

from chat import Chat
from clock import Timer, cancel
from core import Node
from driver import UNSUPPORTED, Driver, Output
from limits import (FRONT_ENDS, GRACE, MAX_SUBSCRIBED, OPEN_NAMES, PRIVATE_NAMES, WAITING, WAITING_EXTRA,
                    WAITING_OF_ONE, WAITING_TEXT, WAITING_TEXT_OF_ONE)
from names import TextError, chat_name
from questions import INTERFACE, VERSION, CommandError, bad, text_of

Event = dict[str, Any]
KINDS = {"peer": "peer", "typing": "typing", "message": "message", "missed": "message", "notice": "notice"}
OPEN_CHAT = "Anyone who knows the name of this chat can read and write in it"


def size_of(event: Event) -> int:
    """A-22, A-29."""
    return len(event.get("text", "").encode()) + WAITING_EXTRA


class Waiting:
    """A-22: messages that nobody saw, of all chats in the order in which they came. This node remembers nobody, so the
    members of private chats rank above all others."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lost: dict[str, int] = {}
        self.is_private: Callable[[str], bool] = lambda chat: False

    def of(self, chat: str) -> list[Event]:
        return [event for event in self.events if event["chat"] == chat]

    def add(self, event: Event) -> None:
        self.events.append(event)
        chat, user = event["chat"], event["from"]["user"]
        def of_one(e: Event) -> bool:
            return bool(e["from"]["user"] == user)
        bounds: list[tuple[Callable[[Event], bool], Callable[[Event], int], int]] = [
            (lambda e: of_one(e) and e["chat"] == chat, lambda e: 1, WAITING_OF_ONE), (of_one, size_of, WAITING_TEXT_OF_ONE),
            (lambda e: bool(e["chat"] == chat), lambda e: 1, WAITING), (lambda e: True, size_of, WAITING_TEXT)]
        for is_meant, count, bound in bounds:
            while sum(count(e) for e in self.events if is_meant(e)) > bound:
                victim = self._victim([e for e in self.events if is_meant(e)])
                self.events.remove(victim)
                self.lost[victim["chat"]] = self.lost.get(victim["chat"], 0) + 1

    def _victim(self, meant: list[Event]) -> Event:
        """Of the lowest rank, and of the chat that takes the most: the newest of strangers, the oldest of others."""
        strangers = [e for e in meant if not self.is_private(e["chat"])]
        lowest = strangers or meant
        sizes: dict[str, int] = {}
        for event in lowest:
            sizes[event["chat"]] = sizes.get(event["chat"], 0) + size_of(event)
        fullest = max(sorted(sizes), key=lambda chat: sizes[chat])
        return [e for e in lowest if e["chat"] == fullest][-1 if strangers else 0]

    def read(self, chat: str, numbers: set[int]) -> None:
        """A-24."""
        self.events = [e for e in self.events if e["chat"] != chat or e["message"] not in numbers]
        self.lost.pop(chat, None)

    def forget(self, chat: str) -> None:
        self.events = [e for e in self.events if e["chat"] != chat]
        self.lost.pop(chat, None)


class Names:
    """A-33, A-34: the names that private and open chats had in a state directory."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @staticmethod
    def _folded(name: str) -> str:
        return unicodedata.normalize("NFKC", name).casefold()

    def _read(self) -> dict[str, list[str]]:
        try:
            names = json.loads(self._file.read_text("utf-8"))
            return {kind: [str(name) for name in names[kind]] for kind in ("private", "open")}
        except FileNotFoundError:
            return {"private": [], "open": []}

    def admit(self, name: str, is_private: bool, is_confirmed: bool) -> None:
        """Refuses a name, or has it on disk."""
        try:
            names = self._read()
        except (OSError, ValueError, TypeError, KeyError):
            if is_private or is_confirmed:
                return
            raise CommandError("names-unknown", f"{self._file} can't be used; repair or remove it, or confirm") from None
        def has(kind: str) -> bool:
            return self._folded(name) in map(self._folded, names[kind])
        if not is_confirmed and not is_private and has("private"):
            raise CommandError("private-name", "a private chat had this name, or a similar one")
        if not is_confirmed and is_private and name not in names["private"] and (
                has("open") or self._folded(name) == "lobby"):
            raise CommandError("open-name", "an open chat has this name, or a similar one")
        kind = "private" if is_private else "open"
        if name in names[kind]:
            return
        if is_private and len(names[kind]) >= PRIVATE_NAMES:
            raise CommandError("name-not-kept", "there is no room for the name of another private chat")
        names[kind] = (names[kind] + [name])[-(PRIVATE_NAMES if is_private else OPEN_NAMES):]
        # A new file has the mode 0600.
        with tempfile.NamedTemporaryFile("w", dir=self._file.parent, delete=False, encoding="utf-8") as file:
            json.dump(names, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, self._file)


@dataclass
class Hub:
    """What the front ends share."""

    node: Node
    state: str
    keep: Callable[[dict[str, Optional[bytes]]], None]
    names: Names
    front_ends: list["FrontEnd"] = field(default_factory=list)
    kept: dict[str, Optional[bytes]] = field(default_factory=dict)
    waiting: Waiting = field(default_factory=Waiting)
    typing: dict[str, Event] = field(default_factory=dict)
    away_by_word: bool = False
    unattended: bool = True
    wants_to_stop: bool = False
    is_ending: bool = False
    since: float = field(default_factory=time.time)
    _senders: dict[int, "FrontEnd"] = field(default_factory=dict)
    _asking: Optional["FrontEnd"] = None
    _grace: Optional[Timer] = None

    def begin(self, kept: dict[str, Optional[bytes]]) -> None:
        """A-19, A-26."""
        self.kept = kept
        self.waiting.is_private = lambda name: name in self.node.chats and self.node.chats[name].secret is not None
        self.note_presence()
        for name, secret in kept.items():
            self.names.admit(name, secret is not None, True)
            self.node.join(name, secret)

    def has_room(self) -> bool:
        return len(self.front_ends) < FRONT_ENDS

    def shows(self, chat: str) -> bool:
        return any(front_end.shown() == chat for front_end in self.front_ends)

    def emit(self, event: Event) -> None:
        """What the node says, to whom it concerns."""
        kind, chat = event["on"], event.get("chat", "")
        if self.is_ending and kind in ("peer", "typing"):
            return  # that the node's own links end is nothing that others did
        if kind == "sent":
            self._sent(event)
        elif kind in ("delivered", "failed"):
            sender = self._senders.get(event["message"])
            if sender in self.front_ends:
                sender.output.emit(event)
        elif event.get("code") != "open-chat":  # said to each who joins
            event = {**event, "at": self.clock()}
            if kind == "typing":
                self.typing[chat] = event
            if kind == "message" and not self.shows(chat):
                self.waiting.add(event)
            for front_end in list(self.front_ends):
                if front_end.wants(KINDS[kind], chat):
                    front_end.tell(event)

    @staticmethod
    def clock() -> float:
        return round(time.time(), 6)

    def _sent(self, event: Event) -> None:
        """A-25."""
        sender = self._asking
        assert sender is not None
        self._senders[event["message"]] = sender
        sender.output.emit(event)
        who = sender.who_is_this()
        own = {"on": "message", "chat": event["chat"], "from": {"user": who["user"], "name": who["name"]}, "own": True,
               "sent": event["message"], "text": sender.sending}
        for front_end in self.front_ends:
            if front_end is not sender and front_end.wants("message", event["chat"]):
                front_end.output.emit(own)

    def tell_user(self, front_ends: list["FrontEnd"]) -> None:
        """A-32."""
        for front_end in front_ends:
            name = front_end.who_is_this()["name"]
            front_end.output.emit({"on": "self", "name": name, "away": self.away_by_word})

    def asking(self, front_end: Optional["FrontEnd"]) -> None:
        self._asking = front_end

    def release(self, name: str) -> None:
        """A-18."""
        if name in self.kept or name not in self.node.chats or any(name in f.chats for f in self.front_ends):
            return
        self.node.leave(self.node.chats[name])
        self.waiting.forget(name)
        self.typing.pop(name, None)

    def detach(self, front_end: "FrontEnd") -> None:
        """A-16."""
        if front_end not in self.front_ends:
            return
        self.front_ends.remove(front_end)
        for chat in list(self.node.chats.values()):
            chat.composer.drop(front_end)
        self._senders = {number: sender for number, sender in self._senders.items() if sender is not front_end}
        for name in sorted(front_end.chats):
            self.release(name)
        self.note_presence()

    #

    def note_presence(self) -> None:
        if any(front_end.shown() for front_end in self.front_ends):
            cancel(self._grace)
            self._grace, self.unattended = None, False
        elif not self.unattended and self._grace is None:
            self._grace = self.node.at(self.node.now + GRACE, self._grace_is_over)
        self.node.set_away(self.away_by_word or self.unattended)

    def _grace_is_over(self) -> None:
        self._grace, self.unattended = None, True
        self.note_presence()


class FrontEnd(Driver):
    """A connection: its chats, its open one, and what it wants to be told."""

    def __init__(self, hub: Hub, output: Output, port: int) -> None:
        super().__init__(hub.node, output, False)
        self.hub, self.port = hub, port
        self.since = hub.since
        self.chats: set[str] = set()
        self.sending = ""
        self._kinds: set[str] = set(KINDS.values())
        self._wanted: Optional[set[str]] = None
        self._of_own_chats = True
        self._told: dict[str, set[int]] = {}
        self._told_lost: dict[str, int] = {}

    def greet(self) -> None:
        """A-15."""
        self.output.emit({"on": "ready", **self.who_is_this(), "version": VERSION, "interface": INTERFACE,
                          "state": self.hub.state, "unsupported": UNSUPPORTED})

    # What it is told

    def wants(self, kind: str, chat: str) -> bool:
        """A-27."""
        if kind not in self._kinds:
            return False
        if self._of_own_chats:
            return chat in self.chats
        return self._wanted is None or chat in self._wanted

    def shown(self) -> Optional[str]:
        return self.open.name if self.open is not None and self.wants("message", self.open.name) else None

    def tell(self, event: Event) -> None:
        if event["on"] == "message" and event in self.hub.waiting.events:
            self._told.setdefault(event["chat"], set()).add(event["message"])
        self.output.emit(event)

    def _answer(self, command: dict[str, Any]) -> None:
        before = (self.who_is_this()["name"], self.hub.away_by_word)
        super()._answer(command)
        if (self.who_is_this()["name"], self.hub.away_by_word) != before:
            self.hub.tell_user(self.hub.front_ends)

    def _run(self, command: dict[str, Any]) -> Optional[dict[str, Any]]:
        names = set(self.node.chats)
        before = {(kind, name) for kind in ("peer", "typing") for name in names if self.wants(kind, name)}
        shown = self.shown()
        self.hub.asking(self)
        more = super()._run(command)
        self.hub.asking(None)
        for name, chat in self.node.chats.items():
            self._tell_state(chat, {kind for kind in ("peer", "typing") if self.wants(kind, name)
                                    and (kind, name) not in before}, command)
        if self.shown() not in (None, shown):
            self._hand_over(self.shown() or "")
        self.hub.note_presence()
        return more

    def _tell_state(self, chat: Chat, kinds: set[str], command: dict[str, Any]) -> None:
        """A-28."""
        listed = command["do"] == "join" and "id" in command
        if "peer" in kinds and not listed:
            for person in self.peers(chat):
                if person["presence"] != "offline":
                    why = "away" if person["presence"] == "away" else "hello"
                    self.output.emit({"on": "peer", "chat": chat.name, **person, "why": why})
        typing = self.hub.typing.get(chat.name)
        if "typing" in kinds and typing is not None and typing["users"]:
            self.output.emit({**typing, "at": self.hub.clock()})

    def _hand_over(self, name: str) -> None:
        """A-23."""
        lost, told = self.hub.waiting.lost.get(name, 0), self._told_lost.get(name, 0)
        if lost > told:
            self.output.emit({"on": "missed", "chat": name, "messages": lost - told, "outcomes": 0, "waited": True})
        self._told_lost[name] = lost
        numbers = self._told.setdefault(name, set())
        for event in self.hub.waiting.of(name):
            if event["message"] not in numbers:
                numbers.add(event["message"])
                self.output.emit({**event, "waited": True})

    # Commands

    def _own_chat(self, command: dict[str, Any]) -> Chat:
        chat = self._chat(command)
        if chat.name not in self.chats:
            raise CommandError("unknown-chat", "this front end is not in that chat")
        return chat

    def _do_compose(self, command: dict[str, Any]) -> None:
        self._needed(command, "text")
        self._own_chat(command)
        super()._do_compose(command)

    def _do_open(self, command: dict[str, Any]) -> None:
        self._needed(command, "chat")
        self._own_chat(command)
        super()._do_open(command)

    def _do_send(self, command: dict[str, Any]) -> None:
        self.sending = command.get("text", "")
        super()._do_send(command)

    def _do_join(self, command: dict[str, Any]) -> dict[str, Any]:
        """A-18, A-20."""
        name, secret = self._chat_to_join(command)
        opens, keeps = self._flag(command, "open", otherwise=True), self._flag(command, "keep")
        is_confirmed = self._flag(command, "confirm")
        chat = self.node.chats.get(name)
        if chat is None:
            if secret is not None and any(c.secret == secret for c in self.node.chats.values()):
                raise CommandError("chat-exists", "this node is in a chat with that secret")
            if not self.node.may_join():
                raise CommandError("too-many-chats", "this node is in 32 chats")
            self.hub.names.admit(name, secret is not None, is_confirmed)
            chat = self.node.join(name, secret)
        elif (secret != chat.secret and (secret is not None or is_confirmed)) or (name in self.chats and not keeps):
            raise CommandError("chat-exists", "this node is in a chat of that name")
        self.chats.add(name)
        if keeps and name not in self.hub.kept:
            self.hub.kept[name] = chat.secret
            self.hub.keep(self.hub.kept)
        if chat.secret is None and "notice" in self._kinds:
            self.output.emit({"on": "notice", "code": "open-chat", "text": OPEN_CHAT, "chat": name})
        if opens:
            self.open = self.open or chat
        return {"chat": name, "peers": self.peers(chat), **self.invitation(chat)}

    def _do_leave(self, command: dict[str, Any]) -> None:
        self._needed(command, "chat")
        chat = self._chat(command)
        if chat.name not in self.chats and chat.name not in self.hub.kept:
            raise CommandError("unknown-chat", "this front end is not in that chat")
        chat.composer.drop(self)
        self.chats.discard(chat.name)
        if self.hub.kept.pop(chat.name, self) is not self:
            self.hub.keep(self.hub.kept)
        if self.open is chat:
            self.open = None
        self.hub.release(chat.name)

    def _do_away(self, command: dict[str, Any]) -> None:
        self.hub.away_by_word = True

    def _do_back(self, command: dict[str, Any]) -> None:
        self.hub.away_by_word = False

    def _do_read(self, command: dict[str, Any]) -> None:
        name = self._chat(command).name
        self.hub.waiting.read(name, self._told.pop(name, set()))
        for front_end in self.hub.front_ends:
            front_end._told_lost.pop(name, None)

    def _do_subscribe(self, command: dict[str, Any]) -> None:
        kinds = self._words(command, "events", sorted(set(KINDS.values())))
        if not set(kinds) <= set(KINDS.values()):
            raise bad("there are no such events")
        chats: Optional[set[str]] = None
        if "chats" in command:
            try:
                names = self._words(command, "chats", [])
                chats = {chat_name(name) for name in names}
            except TextError:
                raise bad("chats holds what is no name of a chat") from None
            if len(names) > MAX_SUBSCRIBED:
                raise bad("chats holds more than 32 names")
        self._kinds, self._wanted, self._of_own_chats = set(kinds), chats, False

    @staticmethod
    def _words(command: dict[str, Any], member: str, otherwise: list[str]) -> list[str]:
        words = command.get(member, otherwise)
        if not isinstance(words, list):
            raise bad(f"{member} is not a list")
        return [text_of(word, f"an element of {member}") for word in words]

    def _do_stop(self, command: dict[str, Any]) -> None:
        self.hub.wants_to_stop = True

    # Parts of lines

    def _chats(self) -> list[dict[str, Any]]:
        return [{**chat, "kept": chat["chat"] in self.hub.kept, "waiting": len(self.hub.waiting.of(chat["chat"]))}
                for chat in super()._chats()]

    def _front_ends(self) -> int:
        return len(self.hub.front_ends)
