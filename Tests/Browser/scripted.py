"""A daemon of the tests, for what no real one shows at once: messages of other days, hostile names, people long gone."""

import base64
import fcntl
import json
import os
import socket
import threading
import time

import harness

USER = "alicealicealicea"
ANSWERS = {"sightings": {"on": "sightings", "found": []},
           "fingerprint": {"on": "fingerprint", "groups": ["12345"] * 12}}


def key(number):
    """A static public key in base64url."""
    return base64.urlsafe_b64encode(number.to_bytes(32, "big")).decode().rstrip("=")


def user(number):
    """A user ID of a person with this number."""
    digits = "abcdefghijklmnopqrstuvwxyz234567"
    return "".join(digits[number >> (5 * place) & 31] for place in range(4)) * 4


def person(number, name, presence="online", **more):
    return {"user": user(number), "name": name, "presence": presence, "key": key(number), "verified": False,
            "blocked": False, "names": [name], "firstSeen": time.time() - 1000, "namedSince": time.time() - 1000, **more}


def owner(content):
    return {"owner": content["owner"]} if "owner" in content else {}


class ScriptedDaemon(harness.Running):
    """Serves the socket of a state directory. `chats` has the people and the recent messages of each chat, and perhaps
    the owner of a private one. `errors` has the text of the error that answers a request."""

    def __init__(self, state, chats, name="Alice"):
        self.chats = chats
        self.name = name
        self.requests = []
        self.errors = {}
        self.waiting = []
        self.people = []
        self.connections = []
        self.current = set()  # the connections in whose front end a chat is open
        state.mkdir(mode=0o700, exist_ok=True)
        self.lock = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # as a daemon does, by which others see that it runs
        status = os.stat(state)
        self.state = f"{status.st_dev}:{status.st_ino}"
        self.path = state / "socket"
        self.path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.path))
        self.path.chmod(0o600)
        self.socket.listen()
        super().__init__()
        threading.Thread(target=self.accept, daemon=True).start()

    def end(self):
        for connection in [self.socket, *self.connections]:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected any more
            connection.close()
        self.path.unlink(missing_ok=True)
        os.close(self.lock)

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            self.write(connection, on="ready", user=USER, name=self.name, port=1, version="0", key=key(0), interface=1,
                       state=self.state)
            for line in connection.makefile("r", encoding="utf-8", newline="\n"):
                request = json.loads(line)
                self.requests.append(request)
                self.answer(connection, request)
        except (OSError, ValueError):
            pass  # the connection or the test ended

    def write(self, connection, **line):
        connection.sendall(json.dumps({"at": time.time(), **line}).encode() + b"\n")

    def say(self, **line):
        """Writes a line to all front ends."""
        for connection in list(self.connections):
            try:
                self.write(connection, **line)
            except OSError:
                self.connections.remove(connection)

    def answer(self, connection, request):
        do, chat = request["do"], request.get("chat")
        answer = dict(ANSWERS.get(do, {"on": "ok"}))
        if do in ("status", "chats"):
            chats = [{"chat": name, "secret": "owner" in content, "kept": True, "present": len(content["people"]),
                      "unread": 0, "looking": False, **owner(content)} for name, content in self.chats.items()]
            answer = {"on": do, "chats": chats, "user": USER, "name": self.name, "version": "0", "interface": 1,
                      "since": 1.0, "away": False, "frontEnds": 1, "key": key(0), "port": 1}
        elif do == "join":
            answer |= {"chat": chat, "peers": self.chats[chat]["people"], **owner(self.chats[chat])}
            if "owner" in answer:
                answer["invite"] = f"inkling:{chat}#{'a' * 26}@{answer['owner']}"
        elif do == "people":
            answer = {"on": "people", "people": self.people}
        elif do == "waiting":
            answer = {"on": "waiting", "waiting": self.waiting}
        elif do == "who":
            answer = {"on": "who", "chat": chat, "peers": self.chats[chat]["people"]}
        elif do == "messages":
            answer = {"on": "messages", "chat": chat, "messages": self.chats[chat]["messages"]}
        elif do == "send":
            answer = {"on": "sent", "chat": chat, "message": len(self.requests), "to": 1}
        elif do == "fingerprint":
            answer |= {"key": request.get("key")}
        if do in self.errors:
            answer = {"on": "error", "code": "refused", "text": self.errors[do], "line": 1}
        if "id" in request:
            self.write(connection, **answer, id=request["id"])
        if do == "subscribe":
            for name, content in self.chats.items():
                for one in content["people"]:
                    self.write(connection, on="peer", chat=name, why="hello", **one)


def message(number, author, text, at=None, **more):
    """A received message, as `recent` has it."""
    return {"at": at or time.time(), "from": {"user": author["user"], "name": author["name"]}, "text": text,
            "message": number, **more}
