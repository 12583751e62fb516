"""The measured processes: programs that write one object of JSON a line, and pairs of them."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

TIMEOUT = 15  # seconds, for whatever has to happen at all


class Failure(Exception):
    """The failure of a measurement."""


class Lines:
    """A source of JSON, one object a line: next() returns the next object, and `name` is the source's name."""

    def wait_for(self, condition, what, timeout=TIMEOUT):
        """Returns the first object that meets the condition, and the time of reading it."""
        deadline = time.monotonic() + timeout
        while True:
            found, read = self.next(max(0, deadline - time.monotonic()))
            if found is None:
                raise Failure(f"{self.name}: {what} did not come within {timeout} s")
            if condition(found):
                return found, read

    def skip(self):
        """Reads all waiting output."""
        while self.next(0)[0] is not None:
            pass


class Program(Lines):
    """A running program that takes lines on standard input."""

    def __init__(self, *arguments):
        self.arguments = [str(argument) for argument in arguments]
        self.name = " ".join(self.arguments)
        self.began = time.time_ns()
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.output = self.process.stdout.fileno()
        self.unread = b""
        self.read = 0  # when the last of what is unread was read

    def say(self, line):
        """Writes a line; returns the time just before, in nanoseconds since 1970."""
        content = line + b"\n"
        began = time.time_ns()
        os.write(self.process.stdin.fileno(), content)
        return began

    def next(self, timeout=TIMEOUT):
        """The next object and the time at which its line was read; None, 0 if none comes in so many seconds."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.output], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None, 0
            content = os.read(self.output, 65536)
            self.read = time.time_ns()
            if not content:
                raise Failure(f"{Path(self.arguments[0]).name} ended with status {self.process.wait()}")
            self.unread += content
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line), self.read

    def kill(self):
        """Kills the program; returns the time just before, in nanoseconds since 1970."""
        began = time.time_ns()
        self.process.kill()
        return began

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Terminal:
    """A program on its own terminal of 80 columns and 24 rows."""

    def __init__(self, *arguments):
        self.began = time.time_ns()
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "xterm-256color"
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.execv(str(arguments[0]), [str(argument) for argument in arguments])
        self.screen = b""

    def press(self, key):
        """Presses a key; returns the time just before, in nanoseconds since 1970."""
        began = time.time_ns()
        os.write(self.descriptor, key)
        return began

    def wait_for(self, text):
        """Waits until the program has written that text; returns the time in nanoseconds since 1970."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.screen:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise Failure(f"the terminal did not show {text!r} within {TIMEOUT} s")
            try:
                self.screen += os.read(self.descriptor, 65536)
            except OSError:
                raise Failure(f"the program on the terminal ended before it showed {text!r}") from None
        return time.time_ns()

    def skip(self):
        """Reads all waiting output."""
        while select.select([self.descriptor], [], [], 0)[0]:
            os.read(self.descriptor, 65536)

    def stop(self):
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)
        os.close(self.descriptor)


def chat(build, name, port, state, *options, json=True):
    """The arguments of a node of that build in the chat `kitchen`."""
    return [
        build.folder / "inkling", "chat", "kitchen", *(["--json"] if json else []), "--no-config", "--name", name,
        "--port", port, "--state-dir", state / f"{name}-{port}", *options,
    ]


class Spans:
    """How long one event took, in microseconds: from the line on the sender's standard input to `at`, which is when the
    receiver had it; to the line on the receiver's standard output; and from the call that sends it to `at`."""

    def __init__(self, began, sent, at, read):
        self.to_event = (at - began) / 1000
        self.to_line = (read - began) / 1000
        self.from_call = None if sent is None else (at - sent) / 1000


class Pair:
    """A sender and a receiver of some system, which report events by number."""

    def __init__(self, name, sender, receiver, broker=None):
        self.name = name
        self.commands = sender, receiver, broker
        self.broker = None
        self.running = []

    def start(self):
        sender, receiver, broker = self.commands
        if broker:
            self.broker = subprocess.Popen([str(word) for word in broker])
            time.sleep(0.5)
        self.receiver = self.begin(receiver)
        self.sender = self.begin(sender)

    def begin(self, command):
        program = Program(*command)
        self.running.append(program)
        program.wait_for(lambda _: True, "the sign that it is ready")
        return program

    def sample(self, number):
        """Sends the event of that number; None if it does not arrive within a second."""
        self.receiver.skip()
        began = self.sender.say(b"%d" % number)
        deadline = time.monotonic() + 1
        while True:
            event, read = self.receiver.next(max(0, deadline - time.monotonic()))
            if event is None:
                return None
            if event["number"] == number:
                return Spans(began, event["sent"], event["at"], read)

    def stop(self):
        for program in self.running:
            program.stop()
        if self.broker:
            self.broker.kill()
            self.broker.wait()


def is_online(name):
    return lambda event: event["on"] == "peer" and event["name"] == name and event["presence"] == "online"


def is_typing(name):
    return lambda event: event["on"] == "typing" and any(user["name"] == name for user in event["users"])


def nobody_types(event):
    return event["on"] == "typing" and not event["users"]


class Nodes:
    """Alice, who types into JSON lines or, if `at_terminal`, at the prompt; and Bob, who sees it."""

    def __init__(self, name, build, port, state, at_terminal=False):
        self.name = name
        self.build = build
        self.ports = port, port + 1
        self.state = state
        self.at_terminal = at_terminal
        self.receiver = self.sender = None

    def start(self):
        alice, bob = self.ports
        self.receiver = Program(*chat(self.build, "Bob", bob, self.state, "--no-discovery"))
        self.receiver.wait_for(lambda event: event["on"] == "ready", "`ready`")
        options = "--no-discovery", "--peer", f"127.0.0.1:{bob}"
        if self.at_terminal:
            self.sender = Terminal(*chat(self.build, "Alice", alice, self.state, *options, json=False))
        else:
            self.sender = Program(*chat(self.build, "Alice", alice, self.state, *options))
            self.sender.wait_for(is_online("Bob"), "Bob")
        self.receiver.wait_for(is_online("Alice"), "Alice")

    def sample(self, number):
        """Alice begins to type with an odd number, and ends with an even one. None if Bob sees nothing in 1 s."""
        begins = number % 2 == 1
        self.receiver.skip()
        self.sender.skip()
        if self.at_terminal:
            began = self.sender.press(b"a" if begins else b"\x7f")
        else:
            began = self.sender.say(b'{"do":"compose","text":"%s"}' % (b"a" if begins else b""))
        deadline = time.monotonic() + 1
        while True:
            event, read = self.receiver.next(max(0, deadline - time.monotonic()))
            if event is None:
                return None
            if event["on"] == "typing" and bool(event["users"]) == begins:
                at = round(event["at"] * 1_000_000) * 1000
                self.began, self.at = began, at
                return Spans(began, None, at, read)

    def stop(self):
        for program in self.sender, self.receiver:
            if program:
                program.stop()
