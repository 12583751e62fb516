"""The people of one column: the user, whose node has a door, and two others on the same LAN with a daemon each."""

import itertools
import os
import signal
import socket
import subprocess
import threading
import time

import harness
from harness import PROGRAM, FrontEnd, Process, environment_of_programs

numbers = itertools.count(1)
cell = threading.local()  # `patience`, the limit of each wait in the cell that runs in this thread


def until(condition, what, timeout=None):
    """As `harness.wait`, for conditions that ask a program."""
    def slowly():
        found = condition()
        if not found:
            time.sleep(0.03)
        return found
    return harness.wait(slowly, what, timeout or cell.patience)


def fresh(word):
    """A name that no other chat of this run has."""
    return f"{word}-{next(numbers)}"


class Lines:
    """Somebody who speaks JSON lines, by `ask`."""

    def peer(self, chat, name):
        """The person of that name in a chat."""
        found = [one for one in self.ask(do="who", chat=chat)["peers"] if one["name"] == name]
        return found[0] if found else None

    def sees(self, chat, name, *presence):
        """Waits until somebody is there, or until their presence is one of these."""
        presence = presence or ("online", "away")
        def seen():
            one = self.peer(chat, name)
            return one and one["presence"] in presence and one
        return until(seen, lambda: f"{self.name} sees {name} as {' or '.join(presence)} in {chat}, "
                                   f"not {self.ask(do='who', chat=chat)['peers']}")


class Person(Lines):
    """Somebody with a home of their own, and perhaps a daemon."""

    def __init__(self, name, has_daemon=True):
        self.name = self.first_name = name
        self.home = harness.work() / f"{name.lower()}-{next(numbers)}"
        self.home.mkdir(mode=0o700)
        self.environment = environment_of_programs(self.home)
        self.state = self.home / ".local/state/inkling"
        self.daemon = self._front_end = None
        self.has_daemon = has_daemon
        if has_daemon:
            self.start("--name", name)

    def start(self, *options):
        self.daemon = Process(f"daemon-{self.name}", [PROGRAM, "daemon", *options], self.environment)
        try:
            until(lambda: self.daemon.check() or self.front_end, f"the daemon of {self.name} answers", harness.TIMEOUT)
        except AssertionError:
            self.daemon.stop()
            raise

    def stop(self):
        """Ends the daemon, with its goodbye."""
        self.close()
        if self.daemon is not None:
            self.daemon.stop()

    def kill(self):
        self.close()
        self.daemon.kill()

    def close(self):
        if self._front_end is not None:
            self._front_end.stop()
            self._front_end = None

    @property
    def front_end(self):
        if self._front_end is None:
            self._front_end = FrontEnd(self.state)
        return self._front_end

    def ask(self, **request):
        return self.front_end.ask(**request)

    def command(self, *words, status=0):
        """What a command prints."""
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=harness.TIMEOUT,
                              stdin=subprocess.DEVNULL, env=self.environment, cwd=self.home)
        if status is not None and done.returncode != status:
            raise AssertionError(f"inkling {' '.join(map(str, words))} ended with {done.returncode}: "
                                 f"{done.stdout} {done.stderr}")
        return done.stdout

    def settings(self, text):
        """Writes the settings file; an empty one is none."""
        file = self.home / ".config/inkling/config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def driven(self, chat, *options):
        """A node on standard streams."""
        ours, theirs = socket.socketpair()
        log = self.home / "driven.log"
        with theirs, open(log, "wb") as errors:
            process = subprocess.Popen(
                [PROGRAM, "chat", *([chat] if chat else []), "--json", *options], stdin=theirs, stdout=theirs,
                stderr=errors, env=self.environment, cwd=self.home, start_new_session=True)
        try:
            return process, FrontEnd(None, ours)
        except harness.Ended:
            process.wait()
            raise AssertionError(f"the node ended: {log.read_text(encoding='utf-8')}") from None

    def joins(self, chat, **more):
        return self.ask(do="join", chat=chat, **more) if "invite" not in more else self.ask(do="join", **more)

    def makes(self, chat):
        """A private chat of this person; returns its invite."""
        invite = self.command("invite", chat).split()[0]
        self.joins(chat, invite=invite, keep=True)
        return invite

    def reads(self, chat, text):
        """Waits for a message, and returns it."""
        return until(lambda: next((one for one in self.ask(do="messages", chat=chat, count=200)["messages"] if one["text"] == text),
                                  None),
                     lambda: f"{self.name} reads {text!r} in {chat}, not {self.texts(chat)}")

    def texts(self, chat):
        return [one["text"] for one in self.ask(do="messages", chat=chat, count=200)["messages"]]

    def typing(self, chat, *names):
        """Waits until just these people type."""
        self.front_end.wait_for(lambda line: line["on"] == "typing" and line["chat"] == chat
                                and [one["name"] for one in line["users"]] == [*names],
                                f"{names} type in {chat}", cell.patience)

    def learns_removal(self, chat):
        self.front_end.wait_for(lambda line: line["on"] == "peer" and line["chat"] == chat and line["why"] == "removed",
                                f"{self.name} was removed from {chat}", cell.patience)

    def writes(self, chat, text):
        return self.ask(do="send", chat=chat, text=text)

    def chats(self):
        """The chats of the daemon by name."""
        return {one["chat"]: one for one in self.ask(do="chats")["chats"]}

    def invitation(self, sender):
        """Waits for an invitation of somebody, and returns it."""
        return until(lambda: next((one for one in self.ask(do="invitations")["invitations"] if one["name"] == sender),
                                  None), f"{self.name} is invited by {sender}")

    def reset(self):
        """Leaves all chats, and ends all decisions about people."""
        for one in self.ask(do="invitations")["invitations"]:
            self.ask(do="decline", invitation=one["invitation"])
        for one in self.ask(do="people")["people"]:
            for decision, undo in ("blocked", "unblock"), ("verified", "unverify"):
                if one[decision]:
                    self.ask(do=undo, key=one["key"])
        self.ask(do="back")
        self.close()  # a front end that is in a chat
        for chat, one in self.chats().items():
            if one["kept"]:
                self.ask(do="leave", chat=chat)


def ended(process):
    """Waits for the end of a process that has been asked to end."""
    try:
        return process.wait(harness.TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(f"{process.args} did not end") from None
