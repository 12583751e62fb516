"""The pairs of processes that take turns: a sender and a receiver of each system, which report events by number."""

import subprocess
import time
from contextlib import ExitStack

from processes import Daemon, Program, Terminal, is_online, peers


class Spans:
    """How long one event took, in microseconds: from the line on the sender's standard input to `at`, which is when the
    receiver had it; to the line on the receiver's standard output; and from the call that sends it to `at`."""

    def __init__(self, began, sent, at, read):
        self.to_event = (at - began) / 1000
        self.to_line = (read - began) / 1000
        self.from_call = None if sent is None else (at - sent) / 1000


class System:
    """A pair under a name, with its running processes."""

    def __init__(self, name):
        self.name = name
        self.running = ExitStack()

    def event(self, condition):
        """The receiver's first event that meets the condition, and its time; None, 0 if none comes within 1 s."""
        deadline = time.monotonic() + 1
        while True:
            event, read = self.receiver.next(max(0, deadline - time.monotonic()))
            if event is None or condition(event):
                return event, read

    def stop(self):
        self.running.close()


class Pair(System):
    """The programs of another system, and its broker."""

    def __init__(self, name, sender, receiver, broker=None):
        super().__init__(name)
        self.commands = sender, receiver, broker

    def start(self):
        sender, receiver, broker = self.commands
        if broker:
            process = subprocess.Popen([str(word) for word in broker])
            self.running.callback(lambda: (process.kill(), process.wait()))
            time.sleep(0.5)
        self.receiver, self.sender = self.begin(receiver), self.begin(sender)

    def begin(self, command):
        program = self.running.enter_context(Program(*command))
        program.wait_for(lambda _: True, "the sign that it is ready")
        return program

    def sample(self, number):
        """Sends the event of that number; None if it does not arrive within a second."""
        self.receiver.skip()
        began = self.sender.say(b"%d" % number)
        event, read = self.event(lambda event: event["number"] == number)
        return event and Spans(began, event["sent"], event["at"], read)


class Nodes(System):
    """Alice, who types into JSON lines or, if `at_terminal`, at the prompt; and Bob, who sees it."""

    def __init__(self, name, build, port, state, at_terminal=False):
        super().__init__(name)
        self.build = build
        self.ports = port, port + 1
        self.state = state
        self.at_terminal = at_terminal

    def start(self):
        alice, bob = self.ports
        self.receiver = self.running.enter_context(self.build.node("Bob", bob, self.state))
        options = "--no-discovery", *peers(bob)
        arguments = self.build.chat("Alice", alice, self.state, *options, json=not self.at_terminal)
        self.sender = self.running.enter_context((Terminal if self.at_terminal else Program)(*arguments))
        if not self.at_terminal:
            self.sender.wait_for(is_online("Bob"), "Bob")
        self.receiver.wait_for(is_online("Alice"), "Alice")

    def skip(self):
        self.receiver.skip()
        self.sender.skip()

    def sample(self, number):
        """Alice begins to type with an odd number, and ends with an even one. None if Bob sees nothing in 1 s."""
        begins = number % 2 == 1
        self.skip()
        if self.at_terminal:
            began = self.sender.press(b"a" if begins else b"\x7f")
        else:
            began = self.sender.compose(b"a" if begins else b"")
        event, read = self.event(lambda event: event["on"] == "typing" and bool(event["users"]) == begins)
        if event:
            self.began, self.at = began, round(event["at"] * 1_000_000) * 1000
            return Spans(began, None, self.at, read)


class Daemons(Nodes):
    """Alice and Bob with a daemon each: Alice types into a front end of hers, and Bob sees it in one of his."""

    def __init__(self, *arguments, begin):
        super().__init__(*arguments)
        self.begin = begin

    def start(self):
        alice, bob = self.ports
        daemons = (Daemon(self.build, "Bob", bob, self.state),
                   Daemon(self.build, "Alice", alice, self.state, *peers(bob)))
        for daemon in daemons:
            self.running.enter_context(daemon)
        self.receiver, self.sender = (self.running.enter_context(self.begin(daemon)) for daemon in daemons)
        self.receiver.wait_for(is_online("Alice"), "Alice")
        self.sender.wait_for(is_online("Bob"), "Bob")


class Library(System):
    """Two programs with a node of the library each: one composes, and the other gets the typists."""

    def __init__(self, name, program, port, way):
        super().__init__(name)
        self.program, self.ports, self.way = program, (port, port + 1), way

    def start(self):
        own, other = self.ports
        self.receiver, self.sender = (self.running.enter_context(Program(self.program, way, *ports)) for way, ports in
                                      ((self.way, (other, own)), ("send", (own, other))))
        for end in self.receiver, self.sender:
            end.wait_for(lambda _: True, "the other end")

    def sample(self, number):
        """The sender begins to type with an odd number, and ends with an even one."""
        self.receiver.skip()
        began = self.sender.say(b"%d" % number)
        event, read = self.event(lambda event: event["typists"] == number % 2)
        sent, _ = self.sender.next()
        return event and Spans(began, sent["sent"], event["at"], read)
