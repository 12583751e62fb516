#!/usr/bin/env python3
"""Front ends that attach to a daemon (api.md), on loopback: `python3 attach.py [--only WORD] -- COMMAND…`.

COMMAND is a daemon; it gets the arguments of J-12 but for CHAT and --secret. Each scenario starts it afresh, with the
reference node as a peer where one is needed, and attaches to the socket in its state directory. Exit status 1 if one
fails, with a line for whatever was missing. With the package `jsonschema` all lines are held against the schema. What only
root can try, it leaves out for anybody else.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Optional

from interop import LONG, OURS, SHORT, Missing, Program, free_port

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

CHAT, SECRET = "kitchen", "aaaqeayeaudaocajbifqydiob4"
MOMENT = 0.5   # so long nothing comes that is not to come
GRACE = 5.0
IDLE = 2.9     # T-9
CHECKED = 50   # so many lines of a kind of each front end are held against the schema, which takes long


def schema() -> Any:
    if Draft202012Validator is None:
        return None
    text = Path(__file__).parent.with_name("driver.schema.json").read_text("utf-8")
    return Draft202012Validator({"$ref": "#/$defs/output", "$defs": json.loads(text)["$defs"]})


SCHEMA = schema()


def checked(event: dict[str, Any]) -> dict[str, Any]:
    """The event, or what is wrong with it."""
    error = None if SCHEMA is None else next(SCHEMA.iter_errors(event), None)
    return event if error is None else {"on": "not valid", "line": event, "why": error.message[:200]}


class FrontEnd(Program):
    """A connection to the daemon; a thread reads its lines unless it is deaf."""

    def __init__(self, path: Path, name: str = "a front end", deaf: bool = False) -> None:
        self.name, self.events, self._news = name, [], threading.Condition()
        self.ended, self._asked = threading.Event(), 0
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if deaf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(str(path))
        if not deaf:
            self.listen()

    def listen(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        counts: dict[str, int] = {}
        with self.socket.makefile("rb") as lines:
            try:
                for line in lines:
                    # Where the daemon ends a connection, its last line can be cut off.
                    event = json.loads(line) if line.endswith(b"\n") else {"on": "half a line"}
                    counts[event["on"]] = counts.get(event["on"], 0) + 1
                    if counts[event["on"]] <= CHECKED and line.endswith(b"\n"):
                        event = checked(event)
                    with self._news:
                        self.events.append({**event, "came": time.monotonic()})
                        self._news.notify_all()
            except OSError:
                pass
        with self._news:
            self.ended.set()
            self._news.notify_all()

    def feed(self, data: bytes) -> None:
        self.socket.sendall(data)

    def do(self, command: str, **members: Any) -> None:
        self.feed(json.dumps({"do": command, **members}).encode() + b"\n")

    def ask(self, command: str, refused: Optional[str] = None, **members: Any) -> dict[str, Any]:
        """The answer to a request; with `refused`, the code that it has to have."""
        self._asked += 1
        mark = self.mark()
        self.do(command, **members, id=self._asked)
        end = time.monotonic() + SHORT
        with self._news:
            while True:
                answer = next((e for e in self.events[mark:] if e.get("id") == self._asked), None)
                if answer is not None:
                    break
                if not self._news.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise Missing(f"{self.name}: no answer to {command} {members}")
        if (answer["on"] == "error") != (refused is not None) or refused not in (None, "", answer.get("code")):
            raise Missing(f"{self.name}: {answer} to {command} {members}, and not {refused or 'a result'}")
        return answer

    def await_end(self, seconds: float = SHORT) -> list[dict[str, Any]]:
        """All that was written, once the daemon has closed the connection."""
        if not self.ended.wait(seconds):
            raise Missing(f"{self.name}: the connection is still open")
        return self.events

    def close(self) -> None:
        """As when its process was killed."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class House:
    """A daemon, its peers and its front ends."""

    def __init__(self, command: list[str], keeps: bool = False) -> None:
        self.command = command
        self.folder = tempfile.TemporaryDirectory()
        self.state = Path(self.folder.name) / "daemon"
        self.state.mkdir(mode=0o700)
        self.path = self.state / "socket"
        self.port, self.ports = free_port(), {"Bob": free_port(), "Carol": free_port()}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.front_ends: list[FrontEnd] = []
        self.process = self.start()
        if keeps:
            with_it = self.attach()
            with_it.ask("join", chat=CHAT, keep=True, open=False)
            with_it.close()

    def words(self) -> list[str]:
        words = [*self.command, "--name", "Alice", "--port", str(self.port), "--state-dir", str(self.state),
                 "--no-discovery"]
        for port in self.ports.values():
            words += ["--peer", f"127.0.0.1:{port}"]
        return words

    def start(self) -> subprocess.Popen[bytes]:
        self.process = self.spawn(self.words())
        end = time.monotonic() + LONG
        while True:
            try:
                self.attach().close()
                return self.process
            except OSError as error:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise Missing(f"nobody listens at {self.path}: {error}") from None
            time.sleep(0.02)

    def spawn(self, words: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def restart(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SHORT)
        self.start()

    def attach(self, name: str = "a front end", deaf: bool = False) -> FrontEnd:
        front_end = FrontEnd(self.path, name, deaf)
        self.front_ends.append(front_end)
        return front_end

    def in_chat(self, name: str = "a front end", **members: Any) -> FrontEnd:
        end = self.attach(name)
        end.ask("join", chat=CHAT, **members)
        return end

    def peer(self, name: str = "Bob") -> Program:
        state = Path(self.folder.name) / name
        state.mkdir(exist_ok=True)
        program = Program(OURS, name, CHAT, self.ports[name], str(state), [self.port])
        self.processes.append(program.process)
        return program

    def judge_lines(self) -> None:
        for front_end in self.front_ends:
            bad = next((e for e in front_end.events if e["on"] == "not valid"), None)
            need(bad is None, f"{front_end.name} was written what does not fit the schema: {bad}")

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.folder.cleanup()


def need(truth: bool, what: str) -> None:
    if not truth:
        raise Missing(what)


def sees(peer: Program, presence: str, since: int = 0, seconds: float = LONG) -> dict[str, Any]:
    return peer.expect("peer", seconds, since, name="Alice", presence=presence)


def typing(peer: Program, shown: bool, since: int, seconds: float = SHORT) -> dict[str, Any]:
    return peer.expect("typing", seconds, since, users=lambda users: bool(users) == shown)


# Scenarios


def begins(house: House) -> None:
    """A-11, A-12, A-15: the socket, its modes, and `ready`."""
    ready = house.attach().expect("ready", SHORT)
    status = house.state.stat()
    need(ready.get("state") == f"{status.st_dev}:{status.st_ino}", f"{ready} does not name device and inode")
    need("chat" not in ready and ready.get("interface") == 1, f"{ready}: no chat, and the interface")
    need(stat.S_IMODE(house.path.stat().st_mode) == 0o600, "the socket has not the mode 0600")
    need(stat.S_IMODE(house.state.stat().st_mode) & 0o022 == 0, "others can write in the folder of the socket")
    environment = {**os.environ, "XDG_RUNTIME_DIR": house.folder.name, "HOME": house.folder.name,
                   "XDG_STATE_HOME": house.folder.name + "/elsewhere"}
    words = [*house.command, "--port", str(free_port()), "--no-discovery"]
    house.spawn(words, env=environment)
    folder = Path(house.folder.name) / "inkling"
    end = time.monotonic() + LONG
    while not (folder / "socket").exists():
        need(time.monotonic() < end, f"no socket in {folder}, with XDG_RUNTIME_DIR")
        time.sleep(0.05)
    need(stat.S_IMODE(folder.stat().st_mode) == 0o700, "the folder that it made has not the mode 0700")


def turns_away(house: House) -> None:
    """A-13: another user, who gets as far as the socket, is told so and gets nothing else."""
    if os.geteuid() != 0:
        return
    Path(house.folder.name).chmod(0o755)
    house.state.chmod(0o755)
    house.path.chmod(0o666)
    script = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX); os.setgid(65534); os.setuid(65534); "
              "s.connect(sys.argv[1]); sys.stdout.write(s.makefile().read())")
    said = subprocess.run([sys.executable, "-c", script, str(house.path)], capture_output=True, timeout=LONG)
    lines = [json.loads(line) for line in said.stdout.splitlines()]
    need(len(lines) == 1 and lines[0]["on"] == "error" and lines[0]["code"] == "other-user" and "line" not in lines[0],
         f"another user was told {lines}, {said.stderr!r}")
    house.attach().expect("ready", SHORT)


def is_alone(house: House) -> None:
    """A-14: a second daemon on the state directory ends, the first lives on; a stale socket is replaced."""
    first = house.attach()
    second = house.spawn([*house.words()[:-4], "--port", str(free_port())])
    need(second.wait(LONG) != 0, "a second daemon on the same state directory ended well")
    first.ask("status")
    house.attach().expect("ready", SHORT)
    house.process.kill()
    house.process.wait()
    first.await_end()
    need(house.path.exists(), "the scenario needs a stale socket")
    house.start()


def waits_for_state(house: House) -> None:
    """A-17: handed a socket while another node holds the state directory, it says so, and begins when it is free."""
    path = Path(house.folder.name) / "handed"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    script = 'exec 3<&"$0"; shift 0; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
    house.spawn(["/bin/sh", "-c", script, str(listener.fileno()), *house.words()], pass_fds=[listener.fileno()])
    for _ in range(2):
        lines = FrontEnd(path).await_end(LONG)
        need(len(lines) == 1 and lines[0].get("code") == "state-in-use", f"{lines}, and not state-in-use")
    house.process.send_signal(signal.SIGTERM)
    house.process.wait(SHORT)
    end = time.monotonic() + LONG
    while True:
        front_end = FrontEnd(path)
        try:
            front_end.expect("ready", SHORT)
            return
        except Missing:
            need(time.monotonic() < end, "it does not begin when the state directory is free")


def answers(house: House) -> None:
    """A-3 to A-5, A-27: bad lines harm nobody, and have their number and id."""
    front_end, other = house.attach(), house.attach()
    front_end.feed(b'{"do":"dance","id":"x"}\n\n{"do":"who"}\n')
    error = front_end.expect("error", SHORT)
    need(error["line"] == 1 and error["id"] == "x", f"{error}: line 1, id x")
    front_end.expect("who", SHORT, peers=[])
    front_end.ask("compose", refused="bad-command", text="h")
    front_end.ask("open", refused="unknown-chat", chat=CHAT)
    front_end.ask("leave", refused="unknown-chat", chat=CHAT)
    front_end.ask("subscribe", refused="bad-command", events=["sent"])
    front_end.ask("subscribe", refused="bad-command", chats=[str(n) for n in range(33)])
    front_end.ask("subscribe", chats=[str(n) for n in range(32)], events=[])
    mark = front_end.mark()
    front_end.feed(b"garbage\n" * 10_000)
    front_end.feed(b'{"do":"compose","text":"' + b"x" * 1_100_000 + b'"}\n')
    front_end.ask("status")
    errors = [e for e in front_end.events[mark:] if e["on"] == "error"]
    need(len(errors) == 10_001, f"{len(errors)} errors for 10,001 bad lines")
    front_end.feed(b'{"do":"status"')
    front_end.close()
    other.ask("status")


def is_in_chats(house: House) -> None:
    """A-18, A-20, A-28: a chat lasts as long as one front end is in it; who comes later sees who is there."""
    bob, first = house.peer(), house.in_chat("the first")
    sees(bob, "online")
    first.expect("peer", LONG, user=bob.user, presence="online")
    first.ask("join", refused="", chat=CHAT)
    second = house.attach("the second")
    second.ask("compose", refused="unknown-chat", text="h", chat=CHAT)
    second.ask("join", refused="", chat=CHAT, secret=SECRET)
    second.do("join", chat=CHAT)
    second.expect("peer", SHORT, user=bob.user, presence="online", why="hello", verified=False)
    third = house.attach("the third")
    listed = third.ask("join", chat=CHAT)["peers"]
    need([p["user"] for p in listed if p["presence"] == "online"] == [bob.user], f"{listed}: Bob alone")
    third.never("peer", MOMENT)
    mark = bob.mark()
    first.ask("leave", chat=CHAT)
    first.ask("who", chat=CHAT)
    second.close()
    bob.never("peer", MOMENT, mark)
    third.close()
    sees(bob, "offline", mark, SHORT)
    first.ask("who", refused="unknown-chat", chat=CHAT)


def keeps_chats(house: House) -> None:
    """A-18, A-19: a kept chat needs no front end, and is there after a restart, until somebody leaves it."""
    bob, front_end = house.peer(), house.attach()
    front_end.ask("join", chat=CHAT, keep=True)
    front_end.ask("join", invite="inkling:cellar#" + SECRET, keep=True, open=False)
    sees(bob, "online")
    front_end.ask("quit")
    mark = bob.mark()
    house.restart()
    sees(bob, "away", mark)
    front_end = house.attach()
    chats = {c["chat"]: c for c in front_end.ask("chats")["chats"]}
    need(chats.keys() == {CHAT, "cellar"} and chats["cellar"]["secret"] and all(c["kept"] for c in chats.values()),
         f"{chats}: two that are kept")
    need(front_end.ask("invite", chat="cellar")["invite"] == "inkling:cellar#" + SECRET, "the invite of the cellar")
    loose = [p.name for p in house.state.iterdir() if p.is_file() and p.stat().st_mode & 0o077]
    need(loose == [], f"others can read {loose}")
    joined = front_end.ask("join", chat="cellar")
    need(joined["invite"].endswith(SECRET), f"{joined}: the chat with the secret")
    front_end.ask("join", refused="chat-exists", chat="cellar", confirm=True)
    for chat in (CHAT, "cellar"):
        front_end.ask("leave", chat=chat)
    for name in ("cellar", "Cellar"):
        front_end.ask("join", refused="private-name", chat=name)
    front_end.ask("join", refused="open-name", chat=CHAT, secret=SECRET)
    need(front_end.ask("chats")["chats"] == [], "it is still in a chat that was left")
    sees(bob, "offline", mark, SHORT)
    house.restart()
    need(house.attach().ask("chats")["chats"] == [], "a chat that was left is kept")


def detaches(house: House) -> None:
    """A-16: who goes gets what it asked for, and what it sent is delivered."""
    bob, stays = house.peer(), house.in_chat("who stays")
    sees(bob, "online")
    goes = house.attach("who goes")
    goes.feed(b'{"do":"send","chat":"kitchen","text":"bye for now","id":1}\n{"do":"chats","id":2}')
    goes.socket.shutdown(socket.SHUT_WR)
    kinds = [e["on"] for e in goes.await_end() if "id" in e]
    need(kinds == ["sent", "chats"], f"{kinds}: sent, and chats")
    bob.expect("message", SHORT, text="bye for now")
    quits = house.attach("who quits")
    quits.ask("quit")
    need(quits.await_end()[-1]["on"] == "ok", "the answer is the last line")
    stays.ask("status")


def types_together(house: House) -> None:
    """A-21: the user types while any draft does; who goes takes its draft along; to send ends all."""
    bob, first, second = house.peer(), house.in_chat("the first"), house.in_chat("the second")
    sees(bob, "online")
    mark = bob.mark()
    first.do("compose", text="h")
    second.do("compose", text="w")
    typing(bob, True, mark)
    first.close()
    bob.never("typing", MOMENT, mark + 1)
    second.do("compose", text="")
    typing(bob, False, mark, MOMENT)
    first, mark = house.in_chat("the first"), bob.mark()
    first.do("compose", text="h")
    typing(bob, True, mark)
    first.close()
    typing(bob, False, mark, MOMENT)
    first, mark = house.in_chat("the first"), bob.mark()
    first.do("compose", text="h")
    began = typing(bob, True, mark)["came"]
    time.sleep(1.5)
    second.do("compose", text="wo")
    ended = typing(bob, False, mark, 8)["came"] - began
    need(abs(ended - 1.5 - IDLE) < 0.4, f"typing ended {ended:.1f} s after the first draft")
    mark = bob.mark()
    first.do("compose", text="ha")
    second.do("compose", text="wor")
    typing(bob, True, mark)
    first.do("send", text="ha")
    typing(bob, False, mark, MOMENT)
    bob.expect("message", SHORT, mark, text="ha")
    mark = bob.mark()
    bob.never("typing", MOMENT, mark)
    second.do("compose", text="worl")
    typing(bob, True, mark)
    second.ask("join", chat="cellar")
    second.do("open", chat="cellar")
    typing(bob, False, mark, MOMENT)


def mirrors(house: House) -> None:
    """A-25: outcomes go to the sender alone, and the others see the message as their user's own."""
    bob, first, second = house.peer(), house.in_chat("the first"), house.in_chat("the second")
    deaf = house.attach("who is in no chat")
    sees(bob, "online")
    sent = first.ask("send", text="tea?", tag="t")
    need(sent["to"] == 1 and sent["tag"] == "t", f"{sent}: to one, with the tag")
    first.expect("delivered", SHORT, message=sent["message"], user=bob.user)
    own = second.expect("message", SHORT, text="tea?")
    need(own.get("own") is True and own.get("sent") == sent["message"] and "message" not in own
         and own["from"] == {"user": second.expect("ready", SHORT)["user"], "name": "Alice"}, f"{own}: marked as own")
    for front_end, kind in ((first, "message"), (second, "sent"), (second, "delivered"), (deaf, "message")):
        front_end.never(kind, 0.2)


def waits(house: House) -> None:
    """A-22 to A-24: what nobody saw waits, is handed over with its time, and is told until it was read."""
    bob = house.peer()
    sees(bob, "away")
    bar = house.in_chat("a status bar", open=False)
    for text in ("one", "two"):
        bob.do("send", text=text)
        bob.expect("delivered", SHORT)
    bar.expect("message", SHORT, text="two", waited=None)
    need(bar.ask("chats")["chats"][0]["waiting"] == 2, "two messages wait")
    time.sleep(MOMENT)
    first, second = house.in_chat("the first"), house.in_chat("the second")
    for front_end in (first, second):
        front_end.expect("message", SHORT, text="two", waited=True)
        told = [e for e in front_end.events if e["on"] == "message"]
        need([e["text"] for e in told] == ["one", "two"] and all(e["waited"] for e in told), f"{told}: one, two")
        need(told[0]["at"] < told[1]["at"] < front_end.expect("ready", SHORT)["at"], "the times at which they came")
    bob.do("send", text="three")
    first.expect("message", SHORT, text="three", waited=None)
    need(first.ask("chats")["chats"][0]["waiting"] == 2, "what comes while it is shown does not wait")
    mark = bar.mark()
    bar.ask("open", chat=CHAT)
    bar.never("message", MOMENT, mark)
    first.ask("read")
    need(first.ask("chats")["chats"][0]["waiting"] == 0, "what was read does not wait")
    third = house.in_chat("the third")
    third.never("message", MOMENT)


def is_bounded(house: House) -> None:
    """A-22, A-23: of one stranger the first 125 messages wait in a chat, and the loss of later ones is told first."""
    bob = house.peer()
    sees(bob, "away")
    for number in range(130):
        bob.do("send", text=f"message {number}")
    bob.expect("delivered", LONG, message=130)
    front_end = house.in_chat()
    front_end.expect("message", SHORT, text="message 124")
    told = [e for e in front_end.events if e["on"] in ("message", "missed")]
    need(told[0]["on"] == "missed" and told[0]["messages"] == 5 and told[0].get("waited") is True, f"{told[0]}")
    need([e["text"] for e in told[1:]] == [f"message {n}" for n in range(125)], "the first 125, in order")
    front_end.ask("read")
    house.in_chat().never("missed", MOMENT)


def is_away(house: House) -> None:
    """A-26, A-32: away while nobody looks, after 5 s; at once at the start; `away` of the user lasts, and is told."""
    bob = house.peer()
    sees(bob, "away")
    need(house.attach().ask("status")["away"] is True, "`away` in `status`")
    mark = bob.mark()
    house.in_chat("a status bar", open=False)
    bob.never("peer", MOMENT, mark)
    front_end = house.in_chat()
    sees(bob, "online", mark, 1)
    mark = bob.mark()
    front_end.close()
    time.sleep(2)
    front_end = house.in_chat()
    bob.never("peer", GRACE, mark)
    front_end.close()
    went = time.monotonic()
    took = sees(bob, "away", mark, GRACE + 2)["came"] - went
    need(GRACE - 0.3 < took < GRACE + 1, f"away after {took:.1f} s")
    front_end, mark = house.in_chat(), bob.mark()
    sees(bob, "online", mark - 1, 1)
    other = house.attach("another one")
    other.never("self", MOMENT)
    front_end.ask("away")
    sees(bob, "away", mark, 1)
    for end in front_end, other:
        end.expect("self", SHORT, name="Alice", away=True)
    mark = bob.mark()
    front_end.close()
    front_end = house.in_chat()
    front_end.expect("self", SHORT, away=True)
    bob.never("peer", GRACE + 1, mark)
    front_end.ask("back")
    sees(bob, "online", mark, 1)
    other.expect("self", SHORT, away=False)
    front_end.ask("nick", name="Alicia")
    other.expect("self", SHORT, name="Alicia", away=False)


def subscribes(house: House) -> None:
    """A-27, A-28: a front end gets what it wants of the chats that it names, and first how things are."""
    bob, reader = house.peer(), house.in_chat()
    sees(bob, "online")
    bar = house.attach("a status bar")
    bar.never("peer", 0.2)
    bob.do("compose", text="h")
    reader.expect("typing", SHORT, users=lambda users: bool(users))
    bar.ask("subscribe", events=["typing"])
    bar.expect("typing", SHORT, chat=CHAT, users=[{"user": bob.user, "name": "Bob"}])
    bob.do("send", text="x")
    bar.expect("typing", SHORT, users=[])
    reader.expect("message", SHORT, text="x")
    bar.never("message", MOMENT)
    bar.never("peer", 0)
    bar.ask("subscribe", events=["peer", "message"], chats=[CHAT, "not yet"])
    bar.expect("peer", SHORT, user=bob.user, why="hello")
    bob.do("send", text="y")
    bar.expect("message", SHORT, text="y")
    bar.ask("subscribe", chats=[])
    after = bar.mark()
    bob.do("send", text="z")
    reader.expect("message", SHORT, text="z")
    bar.never("message", MOMENT, after)


def cuts_off(house: House) -> None:
    """A-29: who does not read is cut off with `too-slow`, and delays nobody."""
    bob, reader = house.peer(), house.in_chat("who reads")
    deaf = house.attach("who does not read", deaf=True)
    deaf.do("join", chat=CHAT)
    sees(bob, "online")
    text = "x" * 2_000
    began = time.monotonic()
    for number in range(1_500):
        bob.do("send", text=text + str(number))
    reader.expect("message", 4 * LONG, text=text + "1499")
    need(len([e for e in reader.events if e["on"] == "message"]) == 1_500, "one message is missing")
    time.sleep(max(0.0, 12 - (time.monotonic() - began)))
    need(reader.ask("status")["frontEnds"] == 1, "who does not read is still there")
    deaf.listen()
    lines = deaf.await_end()
    need(len([e for e in lines if e["on"] == "message"]) < 1_500, "nothing was left out")
    # It can be written only if the connection takes it.
    errors = [(e["code"], e.get("line")) for e in lines if e["on"] == "error"]
    need(errors in ([], [("too-slow", None)]) and (not errors or lines[-1]["on"] == "error"), f"{errors}, at the end")


def is_full(house: House) -> None:
    """A-30: 64 front ends, and no more."""
    many = [house.attach(f"front end {number}") for number in range(64)]
    for front_end in many:
        front_end.expect("ready", SHORT)
    lines = house.attach("one too many").await_end()
    need(len(lines) == 1 and lines[0].get("code") == "too-many-front-ends", f"{lines}, and not too-many-front-ends")
    need(many[0].ask("status")["frontEnds"] == 64, "64 front ends in `status`")
    many[1].close()
    end = time.monotonic() + SHORT
    while not admitted(house):
        need(time.monotonic() < end, "nobody comes in place of one that went")


def admitted(house: House) -> bool:
    front_end = house.attach()
    try:
        front_end.expect("ready", 1)
        return True
    except Missing:
        return False


def stops(house: House) -> None:
    """A-17, J-10: `stop` says bye, tells everybody, and ends with status 0."""
    bob, first, second = house.peer(), house.in_chat("the first"), house.attach("the second")
    sees(bob, "online")
    mark = bob.mark()
    first.ask("stop")
    for front_end in (first, second):
        last = front_end.await_end()[-1]
        need(last["on"] == "error" and last["code"] == "stopped" and "line" not in last, f"{last}, and not stopped")
    need(house.process.wait(SHORT) == 0, "the exit status is not 0")
    need(sees(bob, "offline", mark)["why"] == "bye", "a bye")


SCENARIOS: list[tuple[Callable[[House], None], bool]] = [
    (begins, False), (turns_away, False), (is_alone, False), (waits_for_state, False), (answers, False),
    (is_in_chats, False), (keeps_chats, False), (detaches, False), (types_together, False), (mirrors, False),
    (waits, True), (is_bounded, True), (is_away, True), (subscribes, False), (cuts_off, False), (is_full, False),
    (stops, False),
]


def main(words: list[str]) -> int:
    if "--" not in words:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    options, command = words[:words.index("--")], words[words.index("--") + 1:]
    only = options[1:] if options[:1] == ["--only"] else []
    failures = 0
    for scenario, keeps in SCENARIOS:
        if only and scenario.__name__ not in only:
            continue
        house: Optional[House] = None
        began, word = time.monotonic(), "passed"
        try:
            house = House(command, keeps)
            scenario(house)
            house.judge_lines()
        except (Missing, OSError, subprocess.TimeoutExpired, KeyError) as missing:
            word, failures = f"FAILED: {type(missing).__name__} {missing}", failures + 1
        finally:
            if house is not None:
                house.close()
        summary = (scenario.__doc__ or "").strip()
        print(f"{scenario.__name__}: {word} ({time.monotonic() - began:.1f} s) — {summary}", flush=True)
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
