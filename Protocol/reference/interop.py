#!/usr/bin/env python3
"""Two programs in one chat, on loopback: `python3 interop.py -- COMMAND…`.

COMMAND is a driven node (api.md), as far as its own arguments go. Each scenario starts both programs afresh. Exit status 1 if one fails, with a line for whatever was missing.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Optional

Event = dict[str, Any]
OURS = [sys.executable, str(Path(__file__).with_name("node.py"))]
SECRET, OTHER_SECRET = "aaaqeayeaudaocajbifqydiob4", "777p37h37l47r57w6x2ph4xr6a"
SHORT, LONG = 5.0, 12.0
EXPIRY = 3.2           # T-15, and a little for two busy programs
LOST = 4.5             # L-27, the same, after which a peer is offline
LONG_TEXT = "é👋 long\n" * 4615  # 60,000 bytes


class Missing(Exception):
    """Something that did not come."""


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Program:
    """A driven node in a process of its own; a thread reads its events."""

    def __init__(self, command: list[str], name: str, chat: str, port: int, state: str, peers: list[int],
                 secret: Optional[str] = None) -> None:
        words = [*command, chat, "--name", name, "--port", str(port), "--state-dir", state, "--no-discovery"]
        for peer in peers:
            words += ["--peer", f"127.0.0.1:{peer}"]
        if secret:
            words += ["--secret", secret]
        self.name = name
        self.events: list[Event] = []
        self._news = threading.Condition()
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()
        self.ready = self.expect("ready", SHORT)
        self.user = self.ready["user"]

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._news:
                self.events.append({**json.loads(line), "came": time.monotonic()})
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def leaves_out(self, word: str) -> bool:
        return word in self.ready.get("unsupported", [])

    def do(self, command: str, **members: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"do": command, **members}).encode() + b"\n")
        self.process.stdin.flush()

    def mark(self) -> int:
        with self._news:
            return len(self.events)

    def expect(self, on: str, seconds: float, since: int = 0, **members: Any) -> Event:
        """The first such event; the members may also be functions that say whether a value is right."""
        def fits(event: Event) -> bool:
            return event["on"] == on and all(v(event.get(k)) if callable(v) else event.get(k) == v
                                             for k, v in members.items())
        end = time.monotonic() + seconds
        with self._news:
            while True:
                for event in self.events[since:]:
                    if fits(event):
                        return event
                if not self._news.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    wanted = {k: v for k, v in members.items() if not callable(v)}
                    raise Missing(f"{self.name} did not write {on} {wanted} within {seconds} s; "
                                  f"last: {[{k: str(v)[:60] for k, v in e.items()} for e in self.events[-3:]]}")

    def never(self, on: str, seconds: float, since: int = 0, **members: Any) -> None:
        try:
            event = self.expect(on, seconds, since, **members)
        except Missing:
            return
        raise Missing(f"{self.name} wrote {event}")

    def kill(self) -> float:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return time.monotonic()

    def end(self, seconds: float = SHORT) -> int:
        if self.process.poll() is None:
            self.do("quit")
        return self.process.wait(seconds)


class Pair:
    """Ours and theirs, with the ports and folders that they keep across restarts."""

    def __init__(self, theirs: list[str], chat: str = "kitchen", ours_calls: bool = True, theirs_calls: bool = False,
                 secret: Optional[str] = None) -> None:
        self.commands = {"ours": OURS, "theirs": theirs}
        self.chat, self.secret = chat, secret
        self.folder = tempfile.TemporaryDirectory()
        self.ports = {"ours": free_port(), "theirs": free_port()}
        self.calls = {"ours": ours_calls, "theirs": theirs_calls}
        self.programs: dict[str, Program] = {}

    def start(self, who: str, secret: Optional[str] = None) -> Program:
        other = "theirs" if who == "ours" else "ours"
        state = Path(self.folder.name) / who
        state.mkdir(exist_ok=True)
        peers = [self.ports[other]] if self.calls[who] else []
        self.programs[who] = Program(self.commands[who], who.capitalize(), self.chat, self.ports[who], str(state),
                                     peers, secret or self.secret)
        return self.programs[who]

    def start_both(self) -> tuple[Program, Program]:
        theirs, ours = self.start("theirs"), self.start("ours")
        online(ours, theirs)
        online(theirs, ours)
        return ours, theirs

    def close(self) -> None:
        for program in self.programs.values():
            if program.process.poll() is None:
                program.process.kill()
                program.process.wait()
        self.folder.cleanup()


def online(program: Program, peer: Program, since: int = 0) -> None:
    program.expect("peer", LONG, since, user=peer.user, presence="online", name=peer.name)


def types(peer: Program) -> Callable[[Any], bool]:
    return lambda users: [u["user"] for u in users] == [peer.user]


def message(sender: Program, receiver: Program, text: str, chat: str) -> None:
    since, heard = sender.mark(), receiver.mark()
    sender.do("send", text=text, tag="t", chat=chat)
    number = sender.expect("sent", SHORT, since, tag="t", to=1, chat=chat)["message"]
    receiver.expect("message", LONG, heard, text=text, chat=chat)
    sender.expect("delivered", LONG, since, message=number, user=receiver.user)


def typing_and_messages(pair: Pair) -> None:
    """Typing is shown and ends, by idleness, by an empty field and by sending; messages both ways."""
    ours, theirs = pair.start_both()
    for sender, receiver in ((ours, theirs), (theirs, ours)):
        since = receiver.mark()
        sender.do("compose", text="h")
        start = receiver.expect("typing", SHORT, since, users=types(sender))
        end = receiver.expect("typing", SHORT, since, users=[])
        if not 2.5 <= end["came"] - start["came"] <= 3.5:
            raise Missing(f"{receiver.name} showed typing for {end['came'] - start['came']:.2f} s instead of 2.9 s")
        since = receiver.mark()
        sender.do("compose", text="he")
        receiver.expect("typing", SHORT, since, users=types(sender))
        message(sender, receiver, "Hello!", pair.chat)
        kinds = [e["on"] for e in receiver.events[since:] if e["on"] in ("typing", "message")]
        if kinds != ["typing", "typing", "message"]:
            raise Missing(f"{receiver.name} told {kinds} instead of typing, its end, and the message")
        message(sender, receiver, LONG_TEXT, pair.chat)


def presence(pair: Pair) -> None:
    """Away and back, block and unblock, quit."""
    ours, theirs = pair.start_both()
    for one, other in ((ours, theirs), (theirs, ours)):
        if not one.leaves_out("away"):
            since = other.mark()
            one.do("away")
            other.expect("peer", SHORT, since, user=one.user, presence="away", why="away")
            one.do("back")
            other.expect("peer", SHORT, since, user=one.user, presence="online", why="back")
        if not one.leaves_out("block"):
            since, own = other.mark(), one.mark()
            one.do("block", user=other.user)
            one.expect("peer", SHORT, own, user=other.user, presence="offline", why="blocked")
            other.expect("peer", SHORT, since, user=one.user, presence="offline", why="bye")
            one.do("unblock", user=other.user)
            online(one, other, own)
    since = theirs.mark()
    if ours.end() != 0:
        raise Missing("ours did not exit with status 0")
    theirs.expect("peer", 2, since, user=ours.user, presence="offline", why="bye")
    since = pair.start("ours").mark()
    ours = pair.programs["ours"]
    online(ours, theirs)
    if theirs.end() != 0:
        raise Missing("theirs did not exit with status 0")
    ours.expect("peer", 2, user=theirs.user, presence="offline", why="bye")


def killed(pair: Pair, victim: str) -> None:
    """Typing ends within 3 s after the typist was killed, the link soon after; then it starts again."""
    pair.start_both()
    dead, left = pair.programs[victim], pair.programs["ours" if victim == "theirs" else "theirs"]
    since = left.mark()
    dead.do("compose", text="x")
    left.expect("typing", SHORT, since, users=types(dead))
    at = dead.kill()
    end = left.expect("typing", SHORT, since, users=[])
    if end["came"] - at > EXPIRY:
        raise Missing(f"{left.name} showed the typing of a dead peer for {end['came'] - at:.2f} s")
    left.expect("peer", LOST, since, user=dead.user, presence="offline")
    since = left.mark()
    again = pair.start(victim)
    if again.user != dead.user:
        raise Missing(f"{victim} has another identity after its restart")
    online(again, left)
    online(left, again, since)
    message(left, again, "welcome back", pair.chat)
    message(again, left, "thank you", pair.chat)


def restarted_at_once(pair: Pair, victim: str) -> None:
    """Killed and started again before its link fell silent: messages go on, and there is one presence."""
    pair.start_both()
    dead, left = pair.programs[victim], pair.programs["ours" if victim == "theirs" else "theirs"]
    dead.kill()
    again = pair.start(victim)
    online(again, left)
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        since = left.mark()
        left.do("send", text="still here?", tag="t")
        number = left.expect("sent", SHORT, since, tag="t")["message"]
        outcome = left.expect("delivered", LONG, since, message=number, user=again.user)
        if outcome:
            return
    raise Missing(f"{left.name} did not deliver a message after the restart")


def stopped(pair: Pair, victim: str) -> None:
    """Stopped for longer than a link lives (L-30, L-42): it goes on with the peer, and tells its user nothing."""
    pair.start_both()
    still, left = pair.programs[victim], pair.programs["ours" if victim == "theirs" else "theirs"]
    since, own = left.mark(), still.mark()
    still.process.send_signal(signal.SIGSTOP)
    left.expect("peer", LOST, since, user=still.user, presence="offline", why="silence")
    time.sleep(1)
    still.process.send_signal(signal.SIGCONT)
    online(left, still, since)
    message(left, still, "slept well?", pair.chat)
    message(still, left, "yes", pair.chat)
    still.never("peer", 0.1, own)


def secrets(pair: Pair) -> None:
    """The same secret joins; another one does not."""
    ours, theirs = pair.start_both()
    message(ours, theirs, "in private", pair.chat)
    message(theirs, ours, "indeed", pair.chat)
    since = theirs.mark()
    ours.end()
    theirs.expect("peer", SHORT, since, user=ours.user, presence="offline")
    since = theirs.mark()
    ours = pair.start("ours", OTHER_SECRET)
    ours.never("peer", 2)
    theirs.never("peer", 0.1, since)


def second_chat(pair: Pair) -> None:
    """Join, talk in two chats, leave one."""
    ours, theirs = pair.start_both()
    if ours.leaves_out("chats") or theirs.leaves_out("chats"):
        return
    for secret in (None, SECRET):
        chat = "balcony" if secret is None else "attic"
        members = {"chat": chat} if secret is None else {"chat": chat, "secret": secret}
        theirs.do("join", **members)
        ours.do("join", **members)
        ours.expect("peer", LONG, user=theirs.user, presence="online", chat=chat)
        theirs.expect("peer", LONG, user=ours.user, presence="online", chat=chat)
        message(ours, theirs, f"in the {chat}", chat)
        leaver, other = (ours, theirs) if secret is None else (theirs, ours)
        since = other.mark()
        leaver.do("leave", chat=chat)
        leaver.expect("peer", SHORT, user=other.user, presence="offline", why="bye", chat=chat)
        other.expect("peer", SHORT, since, user=leaver.user, presence="offline", why="bye", chat=chat)
    message(theirs, ours, "still in the kitchen", pair.chat)


def scenarios(command: list[str]) -> list[tuple[str, Pair, Callable[[Pair], None]]]:
    return [
        ("typing and messages, ours calls", Pair(command), typing_and_messages),
        ("typing and messages, theirs calls", Pair(command, ours_calls=False, theirs_calls=True), typing_and_messages),
        ("typing and messages, both call", Pair(command, theirs_calls=True), typing_and_messages),
        ("away, block, quit", Pair(command, theirs_calls=True), presence),
        ("theirs is killed", Pair(command, theirs_calls=True), lambda p: killed(p, "theirs")),
        ("ours is killed", Pair(command, ours_calls=False, theirs_calls=True), lambda p: killed(p, "ours")),
        ("theirs restarts at once", Pair(command), lambda p: restarted_at_once(p, "theirs")),
        ("ours restarts at once", Pair(command), lambda p: restarted_at_once(p, "ours")),
        ("theirs is stopped", Pair(command, theirs_calls=True), lambda p: stopped(p, "theirs")),
        ("ours is stopped", Pair(command), lambda p: stopped(p, "ours")),
        ("secret chats", Pair(command, secret=SECRET, theirs_calls=True), secrets),
        ("a second chat", Pair(command, theirs_calls=True), second_chat),
    ]


def main() -> int:
    if "--" not in sys.argv or sys.argv[-1] == "--":
        print("usage: interop.py -- COMMAND...", file=sys.stderr)
        return 64
    command = sys.argv[sys.argv.index("--") + 1:]
    failed: list[str] = []

    def run(title: str, pair: Pair, scenario: Callable[[Pair], None]) -> None:
        begun = time.monotonic()
        try:
            scenario(pair)
            print(f"passed {title} ({time.monotonic() - begun:.1f} s)", flush=True)
        except Exception as error:  # noqa: BLE001: each scenario tells what it lacks
            failed.append(title)
            print(f"FAILED {title}: {type(error).__name__}: {error}", flush=True)
        finally:
            pair.close()

    todo = scenarios(command)
    for some in (todo[:6], todo[6:]):
        threads = [threading.Thread(target=run, args=one) for one in some]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"{len(todo) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
