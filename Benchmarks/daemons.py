"""Daemons, and the front ends that attach to them."""

import json
import os
import select
import socket
import subprocess
import time

import proc
from processes import TIMEOUT, Failure, Lines, Nodes, Program, chat, is_online, is_typing, nobody_types

FRONT_ENDS = 64
MESSAGES = 3000


class FrontEnd(Lines):
    """A connection to the socket of a daemon, spoken to by lines."""

    name = "a front end"

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(daemon.state / "socket"))
        self.unread = b""

    def say(self, line):
        """Writes a line; returns the time just before, in nanoseconds since 1970."""
        content = line + b"\n"
        began = time.time_ns()
        self.socket.sendall(content)
        return began

    def next(self, timeout=TIMEOUT):
        """The next object and the time at which its line was read; None, 0 if none comes in so many seconds."""
        deadline = time.monotonic() + timeout
        read = time.time_ns()
        while b"\n" not in self.unread:
            if not select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
                return None, 0
            content = self.socket.recv(1 << 20)
            read = time.time_ns()
            if not content:
                raise Failure("the daemon ended a connection")
            self.unread += content
        line, self.unread = self.unread.split(b"\n", 1)
        return json.loads(line), read

    def stop(self):
        self.socket.close()


class Daemon:
    """A daemon with its own state directory."""

    def __init__(self, build, name, port, state, *options):
        self.build = build
        self.state = state / f"{name}-{port}"
        arguments = [build.folder / "inkling", "daemon", "--no-config", "--name", name, "--port", port, "--state-dir",
                     self.state, "--no-discovery", *options]
        self.process = subprocess.Popen([str(argument) for argument in arguments], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                self.front_end().stop()
                return
            except (OSError, Failure) as failure:
                if time.monotonic() > deadline:
                    self.stop()
                    raise Failure(f"no daemon for {name}: {failure}") from None
                time.sleep(0.02)

    def front_end(self):
        """Connects to the daemon."""
        front_end = FrontEnd(self)
        front_end.wait_for(lambda line: line["on"] == "ready", "`ready`")
        return front_end

    def attached(self):
        """A program that passes JSON lines between standard streams and the daemon, in the chat `kitchen`."""
        return Program(self.build.folder / "inkling", "chat", "kitchen", "--json", "--no-config", "--attach",
                       "--state-dir", self.state)

    def command(self, *arguments):
        """Runs a command to its end, and returns its time in microseconds."""
        arguments = [self.build.folder / "inkling", *arguments, "--no-config", "--state-dir", self.state]
        began = time.perf_counter_ns()
        done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
        took = time.perf_counter_ns() - began
        if done.returncode != 0:
            raise Failure(f"{' '.join(map(str, arguments[1:]))}: {done.stderr}")
        return took / 1000

    def kill(self):
        """Kills the daemon; returns the time just before, in nanoseconds since 1970."""
        began = time.time_ns()
        self.process.kill()
        return began

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Daemons(Nodes):
    """Alice and Bob with a daemon each: Alice types into a front end of hers, and Bob sees it in one of his."""

    daemons = ()

    def __init__(self, *arguments, begin):
        super().__init__(*arguments)
        self.begin = begin

    def start(self):
        alice, bob = self.ports
        self.daemons = [
            Daemon(self.build, "Bob", bob, self.state),
            Daemon(self.build, "Alice", alice, self.state, "--peer", f"127.0.0.1:{bob}"),
        ]
        self.receiver, self.sender = (self.begin(daemon) for daemon in self.daemons)
        self.receiver.wait_for(is_online("Alice"), "Alice")
        self.sender.wait_for(is_online("Bob"), "Bob")

    def stop(self):
        super().stop()
        for daemon in self.daemons:
            daemon.stop()


def at_socket(daemon):
    """A front end with its own connection to the daemon."""
    front_end = daemon.front_end()
    front_end.say(b'{"do":"join","chat":"kitchen"}')
    return front_end


def measure(benchmark, build, table):
    """All measurements of a build's daemons."""
    state = benchmark.work / f"daemon-{build.name}"
    alice_port, bob_port = benchmark.ports(1), benchmark.ports(1)
    bob = Program(*chat(build, "Bob", bob_port, state, "--no-discovery"))
    alice = None
    try:
        bob.wait_for(lambda event: event["on"] == "ready", "`ready`")
        alice = Daemon(build, "Alice", alice_port, state, "--peer", f"127.0.0.1:{bob_port}")
        keeper = alice.front_end()
        keeper.say(b'{"do":"join","chat":"kitchen","keep":true,"id":1}')
        keeper.wait_for(lambda line: line.get("id") == 1, "`ok`")
        keeper.stop()
        bob.wait_for(lambda event: event["on"] == "peer" and event["presence"] == "away", "Alice")
        commands(alice, build, table, min(benchmark.samples, 40))
        killed_front_ends(alice, bob, build, table, min(benchmark.samples, 40))
        crowd(alice, bob, build, table)
    finally:
        bob.stop()
        if alice:
            alice.stop()
    killed_daemons(benchmark, build, table, state, min(benchmark.samples, 20))
    memory(benchmark, build, table, state)


def commands(alice, build, table, count):
    """exec → end of commands that the daemon answers; delivery is part of `send`."""
    wanted = {"send": ["send", "kitchen", "tea"], "peers": ["peers", "kitchen"],
              "watch --once": ["watch", "kitchen", "--once"]}
    for name, arguments in wanted.items():
        alice.command(*arguments)
        times = [alice.command(*arguments) for _ in range(count)]
        table.times("commands that a daemon answers", f"{build.name}: `{name}`, exec → end", times, True)


def killed_front_ends(alice, bob, build, table, count):
    """A front end that is killed while its user types, beside another one that types nothing."""
    other = at_socket(alice)
    times = []
    try:
        for _ in range(count):
            front_end = alice.attached()
            try:
                front_end.wait_for(lambda event: event["on"] == "ready", "`ready`")
                front_end.say(b'{"do":"compose","text":"a"}')
                bob.wait_for(is_typing("Alice"), "the typing")
                time.sleep(0.55)  # at most two beginnings a second
                bob.skip()
                began = front_end.kill()
                event, _ = bob.wait_for(nobody_types, "its end")
                times.append(event["at"] * 1_000_000 - began / 1000)
            finally:
                front_end.stop()
    finally:
        other.stop()
    table.times("end", f"{build.name}: kill -9 of a front end that types → cleared", times, True)


def killed_daemons(benchmark, build, table, state, count):
    """A daemon that is killed while a front end of it types."""
    bob_port, alice_port = benchmark.ports(1), benchmark.ports(1)
    bob = Program(*chat(build, "Bob", bob_port, state, "--no-discovery"))
    times = []
    try:
        bob.wait_for(lambda event: event["on"] == "ready", "`ready`")
        for _ in range(count):
            alice = Daemon(build, "Alice", alice_port, state, "--peer", f"127.0.0.1:{bob_port}")
            try:
                front_end = at_socket(alice)
                front_end.wait_for(is_online("Bob"), "Bob")
                time.sleep(0.3)  # the helper has what it sends at the end
                front_end.say(b'{"do":"compose","text":"a"}')
                bob.wait_for(is_typing("Alice"), "the typing")
                time.sleep(0.2)
                began = alice.kill()
                event, _ = bob.wait_for(lambda event: event["on"] == "peer" and event["presence"] == "offline", "the end")
                times.append(event["at"] * 1_000_000 - began / 1000)
                front_end.stop()
            finally:
                alice.stop()
    finally:
        bob.stop()
    table.times("end", f"{build.name}: kill -9 of a daemon → gone", times, True)


def crowd(alice, bob, build, table):
    """Many front ends, of which one does not read, while messages come."""
    group = f"{FRONT_ENDS} front ends, one of which does not read, and {MESSAGES:,} messages"
    front_ends = [at_socket(alice) for _ in range(FRONT_ENDS)]
    for front_end in front_ends:
        front_end.wait_for(is_online("Bob"), "Bob")
    reading = front_ends[1:]
    waiting = {front_end.socket.fileno(): front_end for front_end in reading}
    poll = select.poll()
    for descriptor in waiting:
        poll.register(descriptor, select.POLLIN)
    got = {front_end: 0 for front_end in reading}
    late = []
    text = "m" * 900  # so that what waits for the one passes its bound
    began = time.monotonic()
    sent = 0
    try:
        while min(got.values()) < MESSAGES:
            if time.monotonic() - began > 120:
                raise Failure(f"of {MESSAGES} messages a front end got {min(got.values())} in 120 s")
            # As fast as they are taken.
            while sent < MESSAGES and sent < min(got.values()) + 32:
                bob.say(b'{"do":"send","text":"%s"}' % text.encode())
                sent += 1
            bob.skip()
            for descriptor, _ in poll.poll(100):
                front_end = waiting[descriptor]
                event, read = front_end.next(0)
                while event:
                    if event["on"] == "message" and event.get("text") == text:
                        got[front_end] += 1
                        late.append(read / 1000 - event["at"] * 1_000_000)
                    if event["on"] == "error":
                        raise Failure(f"a front end that reads: {event}")
                    event, read = front_end.next(0)
        took = time.monotonic() - began
        table.times(group, f"{build.name}: received by the daemon → read by a front end", late, True)
        table.text(group, f"{build.name}: messages a second", f"{MESSAGES / took:,.0f}")
        size = proc.status(alice.process.pid, "VmRSS")
        table.text(group, f"{build.name}: resident, the daemon", f"{size / 1024:.1f} MiB")
        missed = 0
        while (line := front_ends[0].next(2)[0]) and line["on"] != "error":
            missed += line["messages"] if line["on"] == "missed" else 0
        text = f"{missed:,}" if not line else f"{missed:,}, and then `{line['code']}`"
        table.text(group, f"{build.name}: messages that the other one missed", text)
    finally:
        for front_end in front_ends:
            front_end.stop()


def memory(benchmark, build, table, state):
    """A daemon with ten peers and four front ends."""
    running = []
    try:
        ports = [benchmark.ports(1) for _ in range(10)]
        for number, port in enumerate(ports):
            peer = Program(*chat(build, f"peer {number}", port, state, "--no-discovery"))
            running.append(peer)
            peer.wait_for(lambda event: event["on"] == "ready", "`ready`")
        peers = list(running)
        options = [word for port in ports for word in ("--peer", f"127.0.0.1:{port}")]
        daemon = Daemon(build, "Alice", benchmark.ports(1), state, *options)
        running.append(daemon)
        front_ends = [at_socket(daemon) for _ in range(4)]
        running += front_ends
        met = set()
        while len(met) < 10:
            event, _ = front_ends[0].wait_for(lambda event: event["on"] == "peer", "ten peers")
            met.add(event["user"])
        for program in peers + front_ends:
            program.say(b'{"do":"compose","text":"a"}')
            program.say(b'{"do":"send","text":"hello"}')
        time.sleep(3)
        group = "a daemon with ten peers and four front ends"
        process = daemon.process.pid
        for label, name in ("resident", "VmRSS"), ("of it, not of files", "RssAnon"):
            table.text(group, f"{build.name}: {label}", f"{proc.status(process, name) / 1024:.1f} MiB")
        for helper in proc.children(process):
            size = proc.status(helper, "VmRSS")
            table.text(group, f"{build.name}: resident, its helper", f"{size / 1024:.1f} MiB")
    finally:
        for program in running:
            program.stop()
