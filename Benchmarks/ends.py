"""How fast programs start, how soon a peer sees that one was killed, and how long commands take."""

import time
from contextlib import contextmanager

from processes import Daemon, Program, Terminal, is_online, is_ready, is_typing, nobody_types, peers

PARTS = {
    "start": "exec → prompt, and exec → `ready`",
    "kill": "kill -9 while typing → cleared at the other node",
}


class Ends:
    def __init__(self, benchmark):
        self.benchmark = benchmark
        self.count = min(benchmark.samples, 40)

    def measure(self):
        for part in PARTS:
            if self.benchmark.wants(part):
                self.benchmark.say(f"{part}: {self.count} times")
                getattr(self, part)()

    def start(self):
        prompts = {build: [] for build in self.benchmark.builds}
        readies = {build: [] for build in self.benchmark.builds}
        port, state = self.benchmark.ports(1), self.benchmark.work / "start"
        for _ in range(self.count + 1):
            for build in self.benchmark.builds:
                with Terminal(*build.chat("Alice", port, state, json=False)) as terminal:
                    prompts[build].append((terminal.wait_for(b"kitchen (open)> ") - terminal.began) / 1000)
                time.sleep(0.1)
                with Program(*build.chat("Alice", port, state)) as program:
                    _, read = program.wait_for(is_ready, "`ready`")
                    readies[build].append((read - program.began) / 1000)
                time.sleep(0.1)
        # The first one makes an identity.
        for build in self.benchmark.builds:
            self.benchmark.table.times("start", f"{build.name}: exec → prompt", prompts[build][1:])
            self.benchmark.table.times("start", f"{build.name}: exec → `ready`", readies[build][1:])

    def kill(self):
        for index, build in enumerate(self.benchmark.builds):
            state = self.benchmark.work / f"kill-{index}"
            alice, bob = self.benchmark.ports(1), self.benchmark.ports(1)

            @contextmanager
            def begin():
                with build.node("Alice", alice, state, *peers(bob)) as node:
                    node.wait_for(is_online("Bob"), "Bob")
                    yield node, node

            with build.node("Bob", bob, state) as receiver:
                self.killed(f"{build.name}: kill -9 while typing → cleared", receiver, begin, nobody_types)

    def daemon(self, build, daemon, bob, state):
        """The daemon of the present build, which is Alice: commands, and ends of front ends and of daemons."""
        times = self.benchmark.table.times
        for command in "send kitchen tea", "peers kitchen", "watch kitchen --once":
            daemon.command(*command.split())
            taken = [daemon.command(*command.split()) for _ in range(self.count)]
            times("commands that a daemon answers", f"{build.name}: `{command}`, exec → end", taken, True)

        @contextmanager
        def front_end():
            with daemon.at_socket(), daemon.attached() as program:
                program.wait_for(is_ready, "`ready`")
                yield program, program

        @contextmanager
        def whole():
            with Daemon(build, "Carol", port, state, *peers(bob.port)) as carol, carol.at_socket() as speaker:
                speaker.wait_for(is_online("Bob"), "Bob")
                yield speaker, carol

        port = self.benchmark.ports(1)
        name = f"{build.name}: kill -9 of a"
        self.killed(f"{name} front end that types → cleared", bob, front_end, nobody_types)
        self.killed(f"{name} daemon → gone", bob, whole, is_online("Carol", "offline"), "Carol")

    def killed(self, label, bob, begin, has_ended, name="Alice"):
        """Measures from the end of a process that types until Bob sees it. `begin` gives the speaker and the victim."""
        times = []
        for _ in range(self.count):
            with begin() as (speaker, victim):
                time.sleep(0.3)  # The helper has what it sends at the end.
                speaker.compose(b"a")
                bob.wait_for(is_typing(name), "the typing")
                time.sleep(0.55)  # at most two beginnings a second
                bob.skip()
                began = victim.kill()
                event, _ = bob.wait_for(has_ended, "the end")
                times.append(event["at"] * 1_000_000 - began / 1000)
        self.benchmark.table.times("end", label, times)
