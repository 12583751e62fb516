"""Invitations: what peers' invite records ask of the user (M-46 to M-48, A-40, A-41), and talks (W-41)."""

from dataclasses import dataclass
from typing import Any, Callable, Optional

from context import Context
from keys import ChatKeys, TextError, base64url, read_invite, talk_secret, user_id
from limits import MAX_INVITATIONS, MAX_STRANGERS_INVITATIONS
from noise import HandshakeError, KeyPair
from wire import decode_utf8


def secret_of_talk(identity: KeyPair, key: bytes) -> bytes:
    """W-41. Raises HandshakeError for a key of low order (W-4)."""
    return talk_secret(identity.exchange(key), identity.public, key)


@dataclass(frozen=True)
class Target:
    """The chat to which an invite leads. A knock leads to the talk with `with_key`, which has no name yet."""

    name: Optional[str]
    secret: bytes
    owner: bytes = b""
    with_key: bytes = b""

    @property
    def keys(self) -> ChatKeys:
        return ChatKeys("", self.secret, self.owner)

    @property
    def chat_key(self) -> bytes:
        return self.keys.chat_key


def read_record(body: bytes, sender: bytes, identity: KeyPair) -> Optional[Target]:
    """M-46: an invite record of a sender; None if the node passes over it."""
    try:
        if not body:
            return Target(None, secret_of_talk(identity, sender), with_key=sender)
        name, secret, owner = read_invite(decode_utf8(body) or "")
    except (TextError, HandshakeError):
        return None
    return None if owner not in (b"", sender) else Target(name, secret, owner)


@dataclass(frozen=True)
class Invitation:
    """An invite that waits for the user's word."""

    number: int
    target: Target
    chat: str                               # where the sender is
    key: bytes
    name: str

    def members(self) -> dict[str, Any]:
        """A-40. This node remembers nobody, so nobody is verified."""
        target = self.target
        return {"invitation": self.number, "user": user_id(self.key), "name": self.name, "key": base64url(self.key),
                "verified": False, "chat": self.chat, **({} if target.name is None else {"to": target.name}),
                **({"owner": base64url(target.owner)} if target.owner else {})}


class Invitations:
    """The open invitations of a node, the oldest first. `friends` are the keys that are verified or met (M-48)."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.open: dict[int, Invitation] = {}
        self.friends: set[bytes] = set()    # always empty, but in the self-test: this node remembers nobody
        self._number = 0

    def receive(self, body: bytes, chat: str, key: bytes, name: str,
                passes_over: Callable[[ChatKeys], bool]) -> None:
        """An invite record of a named peer. The node passes over its own chats, and those that it left by a move."""
        target = read_record(body, key, self._context.identity)
        if target is None or passes_over(target.keys):
            return                                              # M-46, M-47, A-45
        if any((i.key, i.target.chat_key) == (key, target.chat_key) for i in self.open.values()):
            return                                              # M-47
        if not self._make_room(key):
            return
        self._number += 1
        invitation = self.open[self._number] = Invitation(self._number, target, chat, key, name)
        to = "a talk" if target.name is None else f"\"{target.name}\", a private chat"
        self._context.emit({"on": "notice", "code": "invited", "text": f"\"{name}\" invites you to {to}",
                            **invitation.members()})

    def _make_room(self, key: bytes) -> bool:
        """M-48."""
        strangers = [i.number for i in self.open.values() if i.key not in self.friends]
        if key not in self.friends and len(strangers) >= MAX_STRANGERS_INVITATIONS:
            return False
        if len(self.open) < MAX_INVITATIONS:
            return True
        if key not in self.friends or not strangers:
            return False
        self.close(strangers[0], "replaced")
        return True

    def close(self, number: int, why: str) -> None:
        invitation = self.open.pop(number)
        self._context.emit({"on": "notice", "code": "invitation-over", "text": f"an invitation was {why}",
                            "chat": invitation.chat, "invitation": number, "why": why})

    def joined(self, chat_key: bytes) -> None:
        """A-41."""
        for number in [i.number for i in self.open.values() if i.target.chat_key == chat_key]:
            self.close(number, "accepted")

    def blocked(self, user: str) -> None:
        for number in [i.number for i in self.open.values() if user_id(i.key) == user]:
            self.close(number, "blocked")
