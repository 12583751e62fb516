"""The measured processes: nodes, daemons and their front ends, which write one object of JSON a line."""

import fcntl
import json
import os
import pty
import select
import socket
import struct
import subprocess
import termios
import time

TIMEOUT = 15  # seconds, for each awaited event


class Failure(Exception):
    """The failure of a measurement."""


def is_ready(event):
    return event["on"] == "ready"


def is_online(name, presence="online"):
    return lambda event: event["on"] == "peer" and event["name"] == name and event["presence"] == presence


class Running:
    """A process or connection that ends with its `with` block."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Lines(Running):
    """A source and sink of JSON, one object a line, by its descriptors."""

    def __init__(self, name, output, input):
        self.name = name
        self.output = output
        self.input = input
        self.unread = b""
        self.read = 0  # when the last of what is unread was read

    def say(self, line):
        """Writes a line; returns the time just before, in nanoseconds since 1970."""
        content = line + b"\n"
        began = time.time_ns()
        os.write(self.input, content)
        return began

    def compose(self, text):
        return self.say(b'{"do":"compose","text":"%s"}' % text)

    def next(self, timeout=TIMEOUT):
        """The next object and the time at which its line was read; None, 0 if none comes in so many seconds."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self.unread:
            if not select.select([self.output], [], [], max(0, deadline - time.monotonic()))[0]:
                return None, 0
            content = os.read(self.output, 1 << 20)
            self.read = time.time_ns()
            if not content:
                raise Failure(f"{self.name} has ended")
            self.unread += content
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line), self.read

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


class Process(Running):
    """A process that can be killed."""

    def kill(self):
        """Kills the process; returns the time just before, in nanoseconds since 1970."""
        began = time.time_ns()
        self.process.kill()
        return began

    def stop(self):
        self.process.kill()
        self.process.wait()


class Program(Lines, Process):
    """A running program that takes lines on standard input."""

    def __init__(self, *arguments):
        arguments = [str(argument) for argument in arguments]
        self.began = time.time_ns()
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        super().__init__(" ".join(arguments), self.process.stdout.fileno(), self.process.stdin.fileno())

    def stop(self):
        Process.stop(self)
        self.process.stdin.close()
        self.process.stdout.close()


class FrontEnd(Lines):
    """A connection to the socket of a daemon."""

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(daemon.state / "socket"))
        super().__init__("a front end", self.socket.fileno(), self.socket.fileno())
        self.wait_for(is_ready, "`ready`")

    def stop(self):
        self.socket.close()


class Terminal(Running):
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
            if not select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))[0]:
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


class Build:
    """A folder with Inkling's programs, and its name in the table."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder.resolve()

    def chat(self, name, port, state, *options, json=True):
        """The arguments of a node in the chat `kitchen`."""
        return [self.folder / "inkling", "chat", "kitchen", *(["--json"] if json else []), "--no-config",
                "--name", name, "--port", port, "--state-dir", state / f"{name}-{port}", *options]

    def node(self, name, port, state, *options):
        """A node without discovery that is ready."""
        program = Program(*self.chat(name, port, state, "--no-discovery", *options))
        program.wait_for(is_ready, "`ready`")
        return program


def peers(*ports):
    """The options that name peers on this host."""
    return [word for port in ports for word in ("--peer", f"127.0.0.1:{port}")]


class Daemon(Process):
    """A daemon with its own state directory."""

    def __init__(self, build, name, port, state, *options, under=(), timeout=TIMEOUT):
        """`under` is a command that runs the daemon."""
        self.inkling = build.folder / "inkling"
        self.state = state / f"{name}-{port}"
        arguments = [*under, self.inkling, "daemon", "--no-config", "--name", name, "--port", port, "--state-dir",
                     self.state, "--no-discovery", *options]
        self.process = subprocess.Popen([str(argument) for argument in arguments], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + timeout
        while True:
            try:
                return FrontEnd(self).stop()
            except (OSError, Failure) as failure:
                if time.monotonic() > deadline:
                    self.stop()
                    raise Failure(f"no daemon for {name}: {failure}") from None
                time.sleep(0.02)

    def at_socket(self):
        """A front end with its own connection, in the chat `kitchen`."""
        front_end = FrontEnd(self)
        front_end.say(b'{"do":"join","chat":"kitchen"}')
        return front_end

    def attached(self, under=()):
        """A program that passes JSON lines between standard streams and the daemon, in the chat `kitchen`. `under` is a
        command that runs the program."""
        return Program(*under, self.inkling, "chat", "kitchen", "--json", "--no-config", "--attach",
                       "--state-dir", self.state)

    def command(self, *arguments):
        """Runs a command to its end, and returns its time in microseconds."""
        command = [str(word) for word in (self.inkling, *arguments, "--no-config", "--state-dir", self.state)]
        began = time.perf_counter_ns()
        done = subprocess.run(command, capture_output=True, text=True)
        took = time.perf_counter_ns() - began
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {done.stderr}")
        return took / 1000
