"""The JSON-lines interface (api.md): commands as lines in, events as lines out."""

from __future__ import annotations

import json
import re
import time
from typing import Any, Callable, Optional

from chat import Chat
from core import Node, QueueFull
from limits import MAX_ID, MAX_MESSAGE
from names import TextError, chat_name, entered_chat_name, secret_from_text
from questions import INTERFACE, VERSION, CommandError, Questions, bad, invited, text_of

UNSUPPORTED = ["discovery", "last-will", "people", "sightings", "suspend"]  # J-13, A-31
# which requests are answered by something else than `ok`.
RESULTS = {do: do for do in ("chats", "fingerprint", "identity", "invite", "stats", "status", "who")} | {"send": "sent"}
HIGHEST_ID = 2**53 - 1
MAX_LINE = 1024 * 1024                               # J-4
USER_ID = re.compile(r"[a-z2-7]{16}")
SURROGATE = re.compile("[\ud800-\udfff]")


class Output:
    """J-1, J-2: each line is one object, written as soon as it is made."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._held: Optional[list[dict[str, Any]]] = None

    def hold(self) -> None:
        """Writes nothing until `release`."""
        self._held = []

    def release(self) -> list[dict[str, Any]]:
        """What was held back, for the caller to write."""
        held, self._held = self._held or [], None
        return held

    def emit(self, event: dict[str, Any]) -> None:
        if self._held is not None:
            self._held.append(event)
            return
        line = {"on": event["on"], "at": round(time.time(), 6), **event}
        self._write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


class Lines:
    """Cuts the input into lines; one that is too long comes as None, once."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[Optional[bytes]]:
        parts = (self._rest + data).split(b"\n")
        self._rest = parts.pop()
        lines: list[Optional[bytes]] = []
        for part in parts:
            if self._skipping or len(part) > MAX_LINE:
                lines.append(None)
                self._skipping = False
            else:
                lines.append(part)
        if len(self._rest) > MAX_LINE:
            self._rest, self._skipping = b"", True
        elif self._skipping:
            self._rest = b""
        return lines

    def end(self) -> list[Optional[bytes]]:
        """A last line without a line feed."""
        return self.feed(b"\n") if self._rest or self._skipping else []


def check_strings(command: dict[str, Any]) -> None:
    """J-4: no half surrogate pair anywhere, and strings where strings belong, whatever the command."""
    try:
        json.dumps(command, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise bad("the line holds half of a surrogate pair") from None
    for member in ("text", "tag", "chat", "secret", "user"):
        if member in command:
            text_of(command[member], member)


def is_id(value: Any) -> bool:
    """A-2."""
    if isinstance(value, str):
        return 1 <= len(value.encode("utf-8", "surrogatepass")) <= MAX_ID and not SURROGATE.search(value)
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST_ID


class Driver(Questions):
    """Drives a node by commands. The open chat is the one that has the user's attention."""

    def __init__(self, node: Node, output: Output, is_temporary: bool = True) -> None:
        self.node, self.output, self.is_temporary = node, output, is_temporary
        self.since = time.time()
        self.port = 0
        self.open: Optional[Chat] = None
        self.line = 0
        self.wants_to_quit = False

    def ready(self, port: int, chat: str) -> None:
        """J-3."""
        self.port = port
        self.output.emit({"on": "ready", **self.who_is_this(), "chat": chat, "version": VERSION, "interface": INTERFACE,
                          "unsupported": UNSUPPORTED})

    def read(self, line: Optional[bytes]) -> None:
        """J-4: one line of input; the time has been brought forward before."""
        self.line += 1
        echo: dict[str, Any] = {}  # what an error repeats of the line (J-6, A-5)
        try:
            if line is None:
                raise bad("the line is longer than 1 MiB")
            if not line.strip(b" \t\r"):
                return
            command = self._parse(line)
            if "id" in command and is_id(command["id"]):
                echo["id"] = command["id"]
            if command.get("do") == "send" and "tag" in command:
                echo["tag"] = text_of(command["tag"], "tag")
            if "id" in command and "id" not in echo:
                raise bad("id is neither a string of 1 to 64 bytes nor a whole number")
            check_strings(command)
            self._answer(command)
        except CommandError as error:
            self.output.emit({"on": "error", "code": error.code, "text": str(error), "line": self.line, **echo})

    def _answer(self, command: dict[str, Any]) -> None:
        """A-3, A-4: the answer first, then what the request brought about."""
        self.output.hold()
        try:
            more = self._run(command)
        finally:
            events = self.output.release()
        result = next((e for e in events if e["on"] == RESULTS.get(command["do"])), None)
        if result is not None:
            events.remove(result)
        if "id" in command:
            self.output.emit({**(result or {"on": "ok", **(more or {})}), "id": command["id"]})
        elif result is not None:
            self.output.emit(result)
        for event in events:
            self.output.emit(event)

    @staticmethod
    def _parse(line: bytes) -> dict[str, Any]:
        def refuse(constant: str) -> None:
            raise ValueError(constant)
        try:
            command = json.loads(line.decode("utf-8"), parse_constant=refuse)
        except (ValueError, RecursionError):
            raise bad("the line is not valid JSON") from None
        if not isinstance(command, dict):
            raise bad("the line is not an object")
        return command

    def _run(self, command: dict[str, Any]) -> Optional[dict[str, Any]]:
        """Carries it out. What an `ok` to it holds, if there is such."""
        do = command.get("do")
        action = getattr(self, f"_do_{do}", None) if isinstance(do, str) and do.isalpha() else None
        if action is None:
            raise bad("there is no such command")
        return action(command)

    # Members

    @staticmethod
    def _needed(command: dict[str, Any], member: str) -> str:
        if member not in command:
            raise bad(f"{member} is missing")
        return text_of(command[member], member)

    def _name(self, command: dict[str, Any]) -> str:
        try:
            return entered_chat_name(self._needed(command, "chat"))  # W-2
        except TextError:
            raise bad("chat is not a chat name") from None

    def _chat(self, command: dict[str, Any]) -> Chat:
        if "chat" in command:
            try:
                return self.node.chats[chat_name(command["chat"])]
            except (TextError, KeyError):
                raise CommandError("unknown-chat", "this node is not in that chat") from None
        if self.open is None:
            raise bad("no chat is open")
        return self.open

    def _user(self, command: dict[str, Any]) -> str:
        user = self._needed(command, "user")
        if not USER_ID.fullmatch(user):
            raise bad("user is not a user ID")
        return user

    # Commands

    def _do_compose(self, command: dict[str, Any]) -> None:
        text = self._needed(command, "text")
        self._chat(command).composer.compose(text, self)

    def _do_send(self, command: dict[str, Any]) -> None:
        text = self._needed(command, "text")
        if not 1 <= len(text.encode()) <= MAX_MESSAGE:
            raise bad("a message has 1 to 65,536 bytes")  # M-1
        try:
            self.node.send_text(self._chat(command), text, command.get("tag"), self)
        except QueueFull:
            raise CommandError("queue-full", "too much text waits for a peer") from None

    def _chat_to_join(self, command: dict[str, Any]) -> tuple[str, Optional[bytes]]:
        """The name and the secret."""
        if "invite" in command:
            if "chat" in command or "secret" in command:
                raise bad("invite comes in place of chat and secret")
            return invited(text_of(command["invite"], "invite"))
        name = self._name(command)
        if "secret" not in command:
            return name, None
        try:
            return name, secret_from_text(text_of(command["secret"], "secret"))
        except TextError:
            raise bad("secret is not a chat secret") from None

    def _do_join(self, command: dict[str, Any]) -> dict[str, Any]:
        name, secret = self._chat_to_join(command)
        opens = self._flag(command, "open", otherwise=True)
        if self._flag(command, "keep"):
            raise CommandError("unsupported", "this node is no daemon")
        if name in self.node.chats or (secret and any(c.secret == secret for c in self.node.chats.values())):
            raise CommandError("already-joined", "this node is in that chat")
        if not self.node.may_join():
            raise CommandError("too-many-chats", "this node is in 32 chats")  # L-39
        chat = self.node.join(name, secret)
        if opens:
            self.open = self.open or chat
        return {"chat": chat.name, "peers": self.peers(chat), **self.invitation(chat)}

    def _do_leave(self, command: dict[str, Any]) -> None:
        self._needed(command, "chat")
        chat = self._chat(command)
        self.node.leave(chat)
        if chat is self.open:
            self.open = None

    def _do_open(self, command: dict[str, Any]) -> None:
        self._needed(command, "chat")
        chosen = self._chat(command)
        if chosen is self.open:
            return
        if self.open is not None:
            self.open.composer.compose("", self)  # T-10
        self.open = chosen

    def _do_away(self, command: dict[str, Any]) -> None:
        self.node.set_away(True)

    def _do_back(self, command: dict[str, Any]) -> None:
        self.node.set_away(False)

    def _do_block(self, command: dict[str, Any]) -> None:
        self.node.block(self._user_to_block(command))

    def _do_unblock(self, command: dict[str, Any]) -> None:
        self.node.unblock(self._user_to_block(command))

    def _user_to_block(self, command: dict[str, Any]) -> str:
        if "key" not in command:
            return self._user(command)
        if "user" in command:
            raise bad("key comes in place of user")
        raise CommandError("unsupported", "this node remembers nobody")

    def _do_who(self, command: dict[str, Any]) -> None:
        """J-9."""
        if "chat" not in command and self.open is None:
            self.output.emit({"on": "who", "peers": []})
            return
        chat = self._chat(command)
        self.output.emit({"on": "who", "chat": chat.name, "peers": self.peers(chat)})

    def _do_stats(self, command: dict[str, Any]) -> None:
        """J-9."""
        node = self.node
        self.output.emit({"on": "stats", "chats": len(node.chats), "links": len(node.all_links()),
                          "sessions": len(node.sessions), "pending": len(node.pending),
                          "unconfirmed": len(node.answering.unconfirmed), "retries": node.answering.retries_sent,
                          "roundTrips": [link.round_trip for link in node.all_links()]})

    def _do_quit(self, command: dict[str, Any]) -> None:
        self.wants_to_quit = True
