"""The JSON-lines interface (../../api.md): requests as lines in, answers and events as lines out."""

import json
import re
import time
from typing import Any, Callable, Iterable, Optional

from chat import Chat, QueueFull
from invitations import Invitation, secret_of_talk
from keys import (ChatKeys, TextError, base32, base64url, chat_name, fingerprint, key_from_text, read_invite, secret_from_text,
                  user_id, write_invite)
from limits import MAX_CHATS, MAX_MESSAGE, MAX_MOVE_KEYS, MAX_NAME, MAX_REMOVED, S
from moves import NotKept
from moving import NoRoom, NotMoved, Removed, TooOften
from node import Node
from noise import HandshakeError
from session import Address

VERSION, INTERFACE = "2.0-reference", 1
UNSUPPORTED = ["discovery", "last-will", "people", "sightings", "suspend"]      # J-13, A-31
RESULTS = ("chats", "fingerprint", "identity", "invitations", "invite", "stats", "status", "who")
HIGHEST_ID, MAX_ID = 2**53 - 1, 64
MAX_LINE = 1 << 20                                                              # J-4
LOOKING = 3 * S
Request = dict[str, Any]
USER_ID = re.compile("[a-z2-7]{16}")
SURROGATE = re.compile("[\ud800-\udfff]")


class CommandError(Exception):
    """A request that changes nothing (J-4)."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def bad(text: str) -> CommandError:
    return CommandError("bad-command", text)


def text_of(value: Any, member: str) -> str:
    if not isinstance(value, str) or SURROGATE.search(value):
        raise bad(f"{member} is not a string of Unicode text")
    return value


def parse_address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not re.fullmatch(r"(\d{1,3}\.){3}\d{1,3}", host) or not port.isdigit() or not 0 < int(port) < 65_536:
        raise bad(f"{text} is not HOST:PORT")
    return host, int(port)


class Lines:
    """Cuts the input into lines; one that is too long comes as None, once."""

    def __init__(self) -> None:
        self._rest, self._is_skipping = b"", False

    def feed(self, data: bytes) -> list[Optional[bytes]]:
        parts = (self._rest + data).split(b"\n")
        self._rest = parts.pop()
        lines: list[Optional[bytes]] = []
        for part in parts:
            lines.append(None if self._is_skipping or len(part) > MAX_LINE else part)
            self._is_skipping = False
        if self._is_skipping or len(self._rest) > MAX_LINE:
            self._rest, self._is_skipping = b"", True
        return lines

    def end(self) -> list[Optional[bytes]]:
        return self.feed(b"\n") if self._rest or self._is_skipping else []


class KeptChats:
    """A-70: the secret chats that the user has joined and not left. `write` puts all of them on disk."""

    def __init__(self, chats: Iterable[dict[str, str]] = (), write: Callable[[Any], bool] = lambda _: True) -> None:
        self._write = write
        self._chats = {chat["name"]: (bytes.fromhex(chat["secret"]), bytes.fromhex(chat["owner"]),
                                      bytes.fromhex(chat["with"])) for chat in chats}

    def find(self, name: str) -> Optional[tuple[bytes, bytes, bytes]]:
        """The secret, the owner's key, and the other key of a talk."""
        return self._chats.get(name)

    def keep(self, name: str, secret: bytes, owner: bytes, with_key: bytes) -> bool:
        self._chats[name] = (secret, owner, with_key)
        return self._store()

    def drop(self, name: str) -> bool:
        return self._chats.pop(name, None) is None or self._store()

    def _store(self) -> bool:
        return self._write([{"name": name, "secret": secret.hex(), "owner": owner.hex(), "with": with_key.hex()}
                            for name, (secret, owner, with_key) in self._chats.items()])


class Driver:
    """Drives a node by requests. `write` takes each line at once (J-1)."""

    def __init__(self, node: Node, port: int, is_temporary: bool, write: Callable[[bytes], None],
                 kept: KeptChats) -> None:
        self.node, self.port, self.is_temporary, self._write = node, port, is_temporary, write
        self.kept = kept
        self.since = time.time()
        self._current: Optional[str] = None
        self.wants_to_quit = False
        self._line = 0

    @property
    def current(self) -> Optional[Chat]:
        """A chat that moves stays current, by its name."""
        return None if self._current is None else self.node.chats.get(self._current)

    @current.setter
    def current(self, chat: Optional[Chat]) -> None:
        self._current = None if chat is None else chat.name

    def write(self, event: dict[str, Any]) -> None:
        line = {"on": event["on"], "at": round(time.time(), 6), **event}
        self._write(json.dumps(line, ensure_ascii=False).encode() + b"\n")

    def flush(self) -> None:
        """Writes what happened."""
        for event in self.node.take_events():
            self.write(event)

    def ready(self, chat: str) -> None:
        """J-3."""
        self.write({"on": "ready", **self._identity(), "chat": chat, "version": VERSION, "interface": INTERFACE,
                    "unsupported": UNSUPPORTED})

    def read(self, line: Optional[bytes]) -> None:
        """J-4: one line; the node's time was brought forward before."""
        self.flush()
        self._line += 1
        echo: dict[str, Any] = {}
        try:
            if line is None:
                raise bad("the line is longer than 1 MiB")
            if not line.strip(b" \t\r"):
                return
            request = self._parse(line)
            if "id" in request and self._is_id(request["id"]):
                echo["id"] = request["id"]
            if request.get("do") == "send" and "tag" in request:
                echo["tag"] = text_of(request["tag"], "tag")
            if "id" in request and "id" not in echo:
                raise bad("id is neither a string of 1 to 64 bytes nor a whole number")
            self._check(request)
            self._answer(request)
        except CommandError as error:
            self.write({"on": "error", "code": error.code, "text": str(error), "line": self._line, **echo})

    @staticmethod
    def _parse(line: bytes) -> dict[str, Any]:
        def refuse(constant: str) -> None:
            raise ValueError(constant)
        try:
            request = json.loads(line.decode("utf-8"), parse_constant=refuse)
        except (ValueError, RecursionError):
            raise bad("the line is not valid JSON") from None
        if not isinstance(request, dict):
            raise bad("the line is not an object")
        return request

    @staticmethod
    def _is_id(value: Any) -> bool:
        if isinstance(value, str):
            return not SURROGATE.search(value) and 1 <= len(value.encode()) <= MAX_ID
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST_ID

    @staticmethod
    def _check(request: dict[str, Any]) -> None:
        if SURROGATE.search(json.dumps(request, ensure_ascii=False)):
            raise bad("the line holds half of a surrogate pair")
        for member in ("text", "tag", "chat", "secret", "user"):
            if member in request:
                text_of(request[member], member)

    def _answer(self, request: dict[str, Any]) -> None:
        """A-3, A-4: the answer first, then what the request brought about."""
        do = request.get("do")
        if not isinstance(do, str) or do not in REQUESTS:
            raise bad("there is no such request")
        try:
            more = REQUESTS[do](self, request)
        except NotKept:
            raise CommandError("not-kept", "the state directory takes no change") from None
        events = self.node.take_events()
        answer = {"on": do if do in RESULTS else "ok", **(more or {})}
        if do == "send" or do == "invite" and "key" in request:
            answer = next(event for event in events if event["on"] == "sent")
            events.remove(answer)
        if "id" in request:
            self.write({**answer, "id": request["id"]})
        elif answer["on"] != "ok":
            self.write(answer)
        for event in events:
            self.write(event)

    @staticmethod
    def _needed(request: dict[str, Any], member: str) -> str:
        if member not in request:
            raise bad(f"{member} is missing")
        return text_of(request[member], member)

    @staticmethod
    def _flag(request: dict[str, Any], member: str, otherwise: bool = False) -> bool:
        value = request.get(member, otherwise)
        if not isinstance(value, bool):
            raise bad(f"{member} is neither true nor false")
        return value

    def _chat(self, request: dict[str, Any]) -> Chat:
        if "chat" in request:
            try:
                return self.node.chats[chat_name(request["chat"])]
            except (TextError, KeyError):
                raise CommandError("unknown-chat", "this node is not in that chat") from None
        if self.current is None:
            raise bad("no chat is open")
        return self.current

    def _user(self, request: dict[str, Any]) -> str:
        if "key" in request:
            raise CommandError("unsupported", "this node remembers nobody")
        user = self._needed(request, "user")
        if not USER_ID.fullmatch(user):
            raise bad("user is not a user ID")
        return user

    def _key(self, request: dict[str, Any], member: str = "key") -> bytes:
        try:
            return key_from_text(self._needed(request, member))
        except TextError:
            raise bad(f"{member} is not a static key") from None

    @staticmethod
    def _keys(request: dict[str, Any], member: str, most: int) -> list[bytes]:
        texts = request.get(member, [])
        if not isinstance(texts, list) or len(texts) > most:
            raise bad(f"{member} is not a list of at most {most} keys")
        try:
            return [key_from_text(text_of(text, member)) for text in texts]
        except TextError:
            raise bad(f"{member} has something else than static keys") from None

    def _identity(self) -> dict[str, Any]:
        key = self.node.identity.public
        return {"user": user_id(key), "name": self.node.context.name, "key": base64url(key), "port": self.port}

    @staticmethod
    def _peers(chat: Chat) -> list[dict[str, Any]]:
        return sorted((person.known() for person in chat.people.known.values()), key=lambda known: known["user"])

    @staticmethod
    def _with(chat: Chat) -> dict[str, str]:
        return {"with": base64url(chat.with_key)} if chat.with_key else {}

    def _secret(self, chat: Chat) -> dict[str, str]:
        """The invite to a secret chat, or a talk's person and secret."""
        if chat.secret is None:
            return {}
        if chat.with_key:
            return {**self._with(chat), "secret": base32(chat.secret)}
        return {"invite": write_invite(chat.name, chat.secret, chat.owner_key), **self._owner(chat)}

    @staticmethod
    def _owner(chat: Chat) -> dict[str, str]:
        return {"owner": base64url(chat.owner_key)} if chat.owner_key else {}

    def _chats(self) -> list[dict[str, Any]]:
        return [{"chat": chat.name, "secret": chat.secret is not None, "kept": False, "unread": 0,
                 "present": sum(known["presence"] != "offline" for known in self._peers(chat)),
                 "looking": self.node.clock.now - chat.joined_at < LOOKING, "history": False, "hold": False,
                 **self._with(chat), **self._owner(chat)}
                for chat in self.node.chats.values()]

    def _compose(self, request: Request) -> None:
        text = self._needed(request, "text")
        self._chat(request).composer.compose(text)

    def _send(self, request: Request) -> None:
        text, chat = self._needed(request, "text"), self._chat(request)
        if not 1 <= len(text.encode()) <= MAX_MESSAGE:
            raise bad("a message has 1 to 65,536 bytes")
        try:
            self.node.send(chat, text, request.get("tag"))
        except QueueFull:
            raise CommandError("queue-full", "too much text waits for a peer") from None

    def _join(self, request: Request) -> Request:
        return self._enter(request, *self._chat_to_join(request))

    def _enter(self, request: Request, name: str, secret: Optional[bytes], owner: bytes = b"",
               with_key: bytes = b"") -> Request:
        opens = self._flag(request, "open", otherwise=True)
        if self._flag(request, "keep"):
            raise CommandError("unsupported", "this node is no daemon")
        known = self.node.chats.get(name)
        chain = self.node.moving.moves.leading_from(ChatKeys(name, secret, owner))
        if chain is not None:                                                   # M-91, A-45
            if chain.is_left:
                raise CommandError("chat-moved", "the chat has moved, and you left the chat to which it moved")
            secret, owner = chain.secret, chain.owner
        if with_key and known and known.secret == secret:
            self.current = self.current or known if opens else self.current
            return {"chat": name, "peers": self._peers(known), **self._secret(known)}
        if name in self.node.chats or secret and any(c.secret == secret for c in self.node.chats.values()):
            raise CommandError("already-joined", "this node is in that chat")
        if len(self.node.chats) >= MAX_CHATS:
            raise CommandError("too-many-chats", "this node is in 32 chats")
        chat = self.join(name, secret, owner, with_key)
        self.node.moving.joined(chat)
        if secret is not None:
            self._need_kept(self.kept.keep(name, secret, owner, with_key))
        self.current = self.current or chat if opens else self.current
        return {"chat": name, "peers": self._peers(chat), **self._secret(chat)}

    def _need_kept(self, is_kept: bool) -> None:
        if not is_kept:
            self.node.context.emit({"on": "notice", "code": "chats-not-kept",
                                    "text": "the list of secret chats can't be written, so the next start lacks this"})

    def join(self, name: str, secret: Optional[bytes], owner: bytes = b"", with_key: bytes = b"") -> Chat:
        chat = self.node.join(name, secret, owner, with_key)
        if secret is None:                                                      # S-4
            self.node.context.emit({"on": "notice", "code": "open-chat", "chat": name,
                                    "text": "this chat is open: anybody on the network can join and read it"})
        return chat

    def _chat_to_join(self, request: Request) -> tuple[str, Optional[bytes], bytes, bytes]:
        if "invite" in request:
            if "chat" in request or "secret" in request:
                raise bad("invite comes in place of chat and secret")
            try:
                return *read_invite(text_of(request["invite"], "invite")), b""
            except TextError:
                raise CommandError("bad-invite", "this is not an invite") from None
        try:
            secret = secret_from_text(request["secret"]) if "secret" in request else None
            name = chat_name(self._needed(request, "chat"))
        except TextError:
            raise bad("chat is not a chat name, or secret not a chat secret") from None
        if secret is None and name not in self.node.chats and not self._flag(request, "confirm"):
            kept = self.kept.find(name)
            if kept:
                return name, *kept
        return name, secret, b"", b""

    def _other_key(self, request: Request) -> bytes:
        key = self._key(request)
        if key == self.node.identity.public:
            raise CommandError("unknown-peer", "this is the node's own key")
        return key

    def _talk(self, request: Request) -> Request:
        """A-39."""
        key = self._other_key(request)
        try:
            secret = secret_of_talk(self.node.identity, key)
        except HandshakeError:
            raise CommandError("unknown-peer", "nobody has such a key") from None
        answer = self._enter(request, self._label(request, self._name_of(key), key), secret, with_key=key)
        try:
            self.node.knock(key)
        except QueueFull:
            pass                                                                # the talk itself is joined
        return answer

    def _name_of(self, key: bytes) -> str:
        names = [chat.people.known[key].name for chat in self.node.chats.values() if key in chat.people.known]
        return next(iter(names), "")

    def _label(self, request: Request, name: str, key: bytes) -> str:
        """The name of a talk: as given, or the one that it has, or theirs, or their user ID."""
        if "chat" in request:
            return self._chat_name(request["chat"])
        for chat in self.node.chats.values():
            if chat.with_key == key:
                return chat.name
        for label in (name, f"{name} {user_id(key)}"):
            try:
                if chat_name(label) not in self.node.chats:
                    return chat_name(label)
            except TextError:
                pass
        return user_id(key)

    @staticmethod
    def _chat_name(text: str) -> str:
        try:
            return chat_name(text)
        except TextError:
            raise bad("chat is not a chat name") from None

    def _asked(self, request: Request) -> Invitation:
        number = request.get("invitation")
        if not isinstance(number, int) or isinstance(number, bool):
            raise bad("invitation is not a number")
        if number not in self.node.invitations.open:
            raise CommandError("unknown-invitation", "there is no such invitation")
        return self.node.invitations.open[number]

    def _invitations(self, _: Request) -> Request:
        return {"invitations": [invitation.members() for invitation in self.node.invitations.open.values()]}

    def _accept(self, request: Request) -> Request:
        """A-41: joining ends the invitation."""
        invitation = self._asked(request)
        target = invitation.target
        if target.name is None or "chat" in request:
            name = self._label(request, invitation.name, invitation.key)
        else:
            name = target.name
        return self._enter(request, name, target.secret, target.owner, target.with_key)

    def _decline(self, request: Request) -> None:
        self.node.invitations.close(self._asked(request).number, "declined")

    def _leave(self, request: Request) -> None:
        self._needed(request, "chat")
        chat = self._chat(request)
        self.node.leave(chat)
        self._need_kept(self.kept.drop(chat.name))
        self.current = None if chat is self.current else self.current

    def _open(self, request: Request) -> None:
        chosen = self._chat(request) if "chat" in request else None
        if self.current is not None and chosen is not self.current:
            self.current.composer.compose("")                                   # T-10
        self.current = chosen

    def _nick(self, request: Request) -> None:
        name = self._needed(request, "name")
        if not 1 <= len(name.encode()) <= MAX_NAME:
            raise CommandError("bad-name", "a name has 1 to 64 bytes")
        self.node.rename(name)

    def _who(self, request: Request) -> Request:
        if "chat" not in request and self.current is None:
            return {"peers": []}
        chat = self._chat(request)
        return {"chat": chat.name, "peers": self._peers(chat)}

    def _status(self, _: Request) -> Request:
        return {"user": user_id(self.node.identity.public), "name": self.node.context.name, "version": VERSION,
                "interface": INTERFACE, "since": round(self.since, 6), "away": self.node.context.is_away,
                "frontEnds": 1, "chats": self._chats()}

    def _fingerprint(self, request: Request) -> Request:
        key = self._key(request)
        digits = fingerprint(self.node.identity.public, key)
        return {"key": base64url(key), "groups": [digits[at:at + 5] for at in range(0, 60, 5)]}

    def _invite(self, request: Request) -> Request:
        chat = self._chat(request)
        if "key" in request:
            return self._invite_person(chat, self._other_key(request))
        if chat.with_key:
            raise CommandError("no-invite", "a talk has no invite")
        return {"chat": chat.name, **{k: v for k, v in self._secret(chat).items() if k == "invite"}}

    def _move(self, request: Request) -> Request:
        """A-42."""
        if "keys" not in request:
            raise bad("keys is missing")
        own = self.node.identity.public
        keys, removed = self._keys(request, "keys", MAX_MOVE_KEYS), self._keys(request, "removed", MAX_REMOVED)
        owner = self._key(request, "owner") if "owner" in request else own
        if owner not in (own, *keys):
            raise bad("owner is not one of keys")
        chat = self._chat(request)
        if not chat.is_own:
            raise CommandError("not-owner", "the chat has another owner, or none")
        try:
            moved = self.node.moving.move(chat, keys, removed, owner, time.time())
        except NoRoom:
            raise CommandError("too-many-chats", "this node is in 32 chats") from None
        except TooOften:
            raise CommandError("moved-too-often", "the chat moves at most once in 10 s; move it again later") from None
        return {"chat": moved.name, **self._secret(moved)}

    def _admit(self, request: Request) -> None:
        """A-43."""
        key, chat = self._key(request), self._chat(request)
        try:
            self.node.moving.admit(chat, key)
        except NotMoved:
            raise CommandError("not-moved", "this node moved no chat there") from None
        except Removed:
            raise CommandError("removed", "the chat refuses this key; move again to choose it") from None

    def _invite_person(self, chat: Chat, key: bytes) -> Request:
        """A-38: `sent` becomes the answer."""
        if chat.secret is None or chat.with_key or chat.owner_key not in (b"", self.node.identity.public):
            raise CommandError("no-invite", "this node's user can't invite to this chat")
        if chat.has(key):
            raise CommandError("already-there", "this person is in the chat")
        if key in chat.refused:
            raise CommandError("removed", "the chat refuses this key; move again to choose it")
        if not self.node.chats_with(key):
            raise CommandError("unknown-peer", "this person is in no chat of this node")
        try:
            self.node.invite(key, write_invite(chat.name, chat.secret, chat.owner_key).encode())
        except QueueFull:
            raise CommandError("queue-full", "too much text waits for this person") from None
        return {}

    def _stats(self, _: Request) -> Request:
        links = self.node.links()
        return {"chats": len(self.node.chats), "links": len(links), "drops": dict(self.node.context.drops),
                "sessions": sum(len(link.sessions) for link in links), "states": [link.state for link in links],
                "pending": len(self.node.context.pending), "unconfirmed": len(self.node.unconfirmed)}

    def _add(self, request: Request) -> None:
        address = parse_address(self._needed(request, "address"))
        key = self._key(request) if "key" in request else None
        for chat in [self._chat(request)] if "chat" in request else self.node.chats.values():
            chat.openings.add_by_hand(address, key)

    def _candidates(self, request: Request) -> None:
        name, openings = self._needed(request, "instance"), self._chat(request).openings
        candidates = [parse_address(text_of(a, "addresses")) for a in request.get("addresses", [])]
        if candidates:
            openings.listed(name, self._key(request), candidates)
        else:
            openings.vanished(name)

    def _quit(self, _: Request) -> None:
        self.wants_to_quit = True

    def _unsupported(self, _: Request) -> None:
        raise CommandError("unsupported", "this node leaves that out")


# The last two are not in the API: a peer by hand, and what discovery would find of an instance, or no address.
REQUESTS: dict[str, Callable[[Driver, Request], Optional[Request]]] = {
    "compose": Driver._compose, "send": Driver._send, "join": Driver._join, "leave": Driver._leave,
    "open": Driver._open, "nick": Driver._nick, "who": Driver._who, "status": Driver._status,
    "fingerprint": Driver._fingerprint, "invite": Driver._invite, "stats": Driver._stats, "quit": Driver._quit,
    "stop": Driver._quit, "talk": Driver._talk, "invitations": Driver._invitations, "accept": Driver._accept,
    "decline": Driver._decline, "move": Driver._move, "admit": Driver._admit,
    "away": lambda driver, _: driver.node.set_away(True),
    "back": lambda driver, _: driver.node.set_away(False),
    "block": lambda driver, request: driver.node.block(driver._user(request)),
    "unblock": lambda driver, request: driver.node.unblock(driver._user(request)),
    "chats": lambda driver, _: {"chats": driver._chats()},
    "identity": lambda driver, _: {**driver._identity(), "temporary": driver.is_temporary},
    **dict.fromkeys(("people", "verify", "unverify", "sightings", "subscribe", "read", "messages", "history"),
                    Driver._unsupported),
    "add": Driver._add, "candidates": Driver._candidates}
