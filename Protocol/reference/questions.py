"""The requests of answering nodes (api.md), for a node on standard streams: who it is, its chats, fingerprints, invites."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Optional

from limits import LOOKING, MAX_NAME
from names import TextError, invite, key_from_text, key_to_text, read_invite, secret_from_text, user_id

if TYPE_CHECKING:
    from chat import Chat
    from core import Node
    from driver import Output

VERSION = "1.2-reference"
INTERFACE = 1
GROUPS, DIGITS = 12, 5


class CommandError(Exception):
    """A command that changes nothing (J-4)."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def bad(text: str) -> CommandError:
    return CommandError("bad-command", text)


def text_of(value: Any, what: str) -> str:
    """A string that is Unicode text: JSON can also name surrogates."""
    if not isinstance(value, str):
        raise bad(f"{what} is not a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise bad(f"{what} is not valid Unicode") from None
    return value


def invited(text: str) -> tuple[str, bytes]:
    """A-6: the name and the secret of an invite; people copy blanks along."""
    try:
        return read_invite(text.strip())
    except TextError as error:
        if error.code in ("prefix", "secret", "escape", "utf-8"):
            raise CommandError("bad-invite", "this is not an invite") from None
    try:
        secret_from_text(text.strip().partition("#")[2])
    except TextError:
        raise CommandError("bad-secret", "the secret of this invite is none") from None
    raise CommandError("bad-chat-name", "the name in this invite is no name of a chat")


def fingerprint(one: bytes, other: bytes) -> list[str]:
    """A-8."""
    pair = b"inkling fingerprint 1 pair" + b"".join(sorted((one, other)))
    number = int.from_bytes(hashlib.sha256(pair).digest(), "big") % 10 ** (GROUPS * DIGITS)
    digits = f"{number:0{GROUPS * DIGITS}d}"
    return [digits[at:at + DIGITS] for at in range(0, len(digits), DIGITS)]


class Questions:
    """What a driver answers that changes nothing, or the name alone. The driver has `_chat` and `_needed`."""

    node: "Node"
    output: "Output"
    open: Optional["Chat"]
    port: int
    since: float
    is_temporary: bool
    wants_to_quit: bool

    # Members

    @staticmethod
    def _flag(command: dict[str, Any], member: str, otherwise: bool = False) -> bool:
        value = command.get(member, otherwise)
        if not isinstance(value, bool):
            raise bad(f"{member} is neither true nor false")
        return value

    def _key(self, command: dict[str, Any]) -> bytes:
        try:
            return key_from_text(self._needed(command, "key"))  # type: ignore[attr-defined]
        except TextError:
            raise bad("key is not a static key") from None

    # Parts of lines

    def who_is_this(self) -> dict[str, Any]:
        key = self.node.identity.public
        return {"user": user_id(key), "name": self.node.name, "key": key_to_text(key), "port": self.port}

    @staticmethod
    def peers(chat: "Chat") -> list[dict[str, Any]]:
        return sorted((person.known() for person in chat.people.known.values()), key=lambda p: p["user"])

    @staticmethod
    def invitation(chat: "Chat") -> dict[str, str]:
        return {} if chat.secret is None else {"invite": invite(chat.name, chat.secret)}

    def _chats(self) -> list[dict[str, Any]]:
        return [{"chat": chat.name, "secret": chat.secret is not None, "kept": False,
                 "present": sum(p["presence"] != "offline" for p in self.peers(chat)), "waiting": 0,
                 "looking": self.node.now - chat.joined < LOOKING}
                for chat in self.node.chats.values()]

    def _front_ends(self) -> int:
        return 1

    # Commands

    def _do_chats(self, command: dict[str, Any]) -> None:
        self.output.emit({"on": "chats", "chats": self._chats()})

    def _do_status(self, command: dict[str, Any]) -> None:
        who = self.who_is_this()
        self.output.emit({"on": "status", "user": who["user"], "name": who["name"], "version": VERSION,
                          "interface": INTERFACE, "since": round(self.since, 6), "away": self.node.away, "frontEnds": self._front_ends(),
                          "chats": self._chats()})

    def _do_identity(self, command: dict[str, Any]) -> None:
        self.output.emit({"on": "identity", **self.who_is_this(), "temporary": self.is_temporary})

    def _do_nick(self, command: dict[str, Any]) -> None:
        name = self._needed(command, "name")  # type: ignore[attr-defined]
        if not 1 <= len(name.encode()) <= MAX_NAME:
            raise CommandError("bad-name", "a name has 1 to 64 bytes")
        self.node.rename(name)

    def _do_fingerprint(self, command: dict[str, Any]) -> None:
        key = self._key(command)
        self.output.emit({"on": "fingerprint", "key": key_to_text(key),
                          "groups": fingerprint(self.node.identity.public, key)})

    def _do_invite(self, command: dict[str, Any]) -> None:
        chat = self._chat(command)  # type: ignore[attr-defined]
        self.output.emit({"on": "invite", "chat": chat.name, **self.invitation(chat)})

    def _do_stop(self, command: dict[str, Any]) -> None:
        self.wants_to_quit = True

    def _unsupported(self, command: dict[str, Any]) -> None:
        raise CommandError("unsupported", "this node leaves that out")

    _do_people = _do_verify = _do_unverify = _do_sightings = _do_subscribe = _do_read = _unsupported
