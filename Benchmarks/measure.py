"""Measures Inkling beside other systems: the program that Scripts/benchmark runs in namespaces of its own.

Standard output gets one table in Markdown; FILE.svg of --output gets a chart of the times, and FILE.md the table.
"""

import argparse
import gc
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import daemons
import links
import proc
from capture import Capture
from processes import Failure, Nodes, Pair, Program, Terminal, chat, is_online, is_typing, nobody_types
from table import Table

HERE = Path(__file__).resolve().parent
PARTS = {
    "udp": "bare datagrams between two programs in C",
    "mqtt": "MQTT with QoS 0 through mosquitto, its clients in C",
    "inkling": "typing edges between two nodes that speak JSON lines",
    "attached": "the same between two front ends that are attached to a daemon each",
    "zenoh": "Zenoh, by its Python binding",
    "cyclonedds": "Cyclone DDS, by its Python binding",
    "key": "a key at the terminal, and a line on standard input → its datagram on loopback",
    **links.PARTS,
    "memory": "memory and threads of a node with ten peers, memory of its helper",
    "start": "exec → prompt, and exec → `ready`",
    "kill": "kill -9 while typing → cleared at the other node",
    "daemon": "commands that a daemon answers, front ends and daemons that are killed, 64 front ends, memory",
    "instructions": "instructions of the core's main paths, counted by callgrind",
}
SLOT = 0.075  # seconds between two events, so that no copy of an edge, 30 and 120 ms later, goes out with another event
JITTER = 0.010  # seconds, so that no timer of the systems stays in step with the events
LEAST_ROUND = 0.3  # seconds between two events of one system: Inkling begins to type at most twice a second
INSTRUCTION_RUNS = 20
WARM_UP = 6  # events of each system that do not count; even, as typing begins and ends in turn


def say(text):
    print(f"benchmark: {text}", file=sys.stderr, flush=True)


class Build:
    """A folder with Inkling's programs, and its name in the table."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder.resolve()


class Benchmark:
    def __init__(self, options, work):
        self.options = options
        self.samples = options.samples
        self.parts = options.only
        self.work = work
        self.table = Table()
        self.lost = 0
        self.builds = [Build("Inkling", options.program)]
        if options.before:
            self.builds.append(Build("Inkling before", options.before))
        self.next_port = 7000

    def ports(self, count):
        self.next_port += count
        return self.next_port - count

    def wants(self, part):
        return part in self.parts

    def leave_out(self, part, why):
        """Records that a requested part is not measured."""
        say(f"{part} is left out: {why}")
        self.table.notes.append(f"Left out: {part}, as {why}.")
        self.parts = [other for other in self.parts if other != part]

    def run(self):
        self.speed()
        if self.wants("key"):
            self.keys()
        if self.wants("start"):
            self.starts()
        if self.wants("kill"):
            self.kills()
        links.Links(self).measure()
        if self.wants("memory"):
            self.memory()
        if self.wants("daemon"):
            daemons.measure(self, self.builds[0], self.table)
        if self.wants("instructions"):
            self.instructions()

    # Speed

    def compile(self, name, *libraries):
        program = self.options.cache / name
        source = HERE / f"{name}.c"
        newest = max(source.stat().st_mtime, (HERE / "exchange.h").stat().st_mtime)
        if not program.exists() or program.stat().st_mtime < newest:
            command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source, *libraries]
            if subprocess.run(command).returncode != 0:
                raise Failure(f"{source.name} does not compile: see above")
        return program

    def udp(self):
        program, port = self.compile("udp"), self.ports(1)
        return Pair("UDP, in C", [program, "send", port], [program, "receive", port])

    def mqtt(self):
        broker = shutil.which("mosquitto")
        if not broker or not Path("/usr/include/mosquitto.h").exists():
            return self.leave_out("mqtt", "mosquitto or libmosquitto-dev is not installed")
        port = self.ports(1)
        settings = self.work / "mosquitto.conf"
        settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
                            "persistence false\nlog_type error\n")
        program = self.compile("mqtt", "-lmosquitto")
        return Pair("MQTT, mosquitto", [program, "send", port], [program, "receive", port], [broker, "-c", settings])

    def binding(self, part, module, label):
        python = self.options.cache / "venv/bin/python"
        if not python.exists() or subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
            return self.leave_out(part, "its Python package is not installed")
        command = [python, HERE / "bindings.py", module]
        port = self.ports(1)
        return Pair(label, [*command, "send", port], [*command, "receive", port])

    def speed(self):
        makers = {
            "udp": self.udp,
            "mqtt": self.mqtt,
            "zenoh": lambda: self.binding("zenoh", "zenoh", "Zenoh, from Python"),
            "cyclonedds": lambda: self.binding("cyclonedds", "cyclonedds", "Cyclone DDS, from Python"),
        }
        systems = [make() for part, make in makers.items() if self.wants(part)]
        systems = [system for system in systems if system]
        own = []
        if self.wants("inkling"):
            own = [Nodes(build.name, build, self.ports(2), self.work / f"speed-{index}")
                   for index, build in enumerate(self.builds)]
        if self.wants("attached"):
            own += self.attached()
        # After the two that it is held against.
        systems[2:2] = own
        if not systems:
            return
        found = self.interleave(systems, "speed")
        groups = {
            "line on standard input → at the other process": lambda spans: spans.to_event,
            "line on standard input → line on standard output": lambda spans: spans.to_line,
            "call that sends → at the other process": lambda spans: spans.from_call,
        }
        for group, span in groups.items():
            for system in systems:
                values = [span(spans) for spans in found[system]]
                if None not in values:
                    self.table.times(group, system.name, values, system in own)
        # Beside what the others take without the way to the call.
        for system in own:
            name = f"{system.name}, from the line on"
            self.table.times(group, name, [spans.to_event for spans in found[system]], True)

    def attached(self):
        """Measures the present build only: older ones have no daemons."""
        build = self.builds[0]
        ways = {"two front ends at standard streams": daemons.Daemon.attached, "two front ends at sockets": daemons.at_socket}
        return [
            daemons.Daemons(f"{build.name}, {way}", build, self.ports(2), self.work / f"attached-{index}", begin=begin)
            for index, (way, begin) in enumerate(ways.items())
        ]

    def interleave(self, systems, what, note=None):
        """Has the systems take turns, one event each; their spans, or what `note` makes of each event."""
        found = {system: [] for system in systems}
        lost = {system: 0 for system in systems}
        jitter = random.Random(1)
        slot = max(SLOT, LEAST_ROUND / len(systems))
        events = WARM_UP + self.samples
        say(f"{what}: {len(systems)} systems, {self.samples} events each, {events * len(systems) * slot:.0f} s")
        try:
            for system in systems:
                system.start()
            time.sleep(1)
            gc.collect()
            gc.disable()
            for number in range(1, events + 1):
                for system in systems:
                    # After a delay, the next events don't catch up: a start of typing that comes too early waits.
                    time.sleep(slot + jitter.uniform(0, JITTER))
                    spans = system.sample(number)
                    if spans is None:
                        lost[system] += 1
                    elif number > WARM_UP:
                        found[system].append(note(system, spans) if note else spans)
        finally:
            gc.enable()
            for system in systems:
                system.stop()
        for system in systems:
            if lost[system]:
                self.lost += lost[system]
                self.table.notes.append(f"{system.name}, {what}: {lost[system]} events did not arrive within a second.")
        return found

    def keys(self):
        capture = Capture()

        def note(nodes, _):
            """The sending time of the event's datagram, and the time from there."""
            on_wire = [time for source, destination, time, _ in capture.datagrams()
                       if (source, destination) == nodes.ports and nodes.began <= time <= nodes.at]
            return ((on_wire[-1] - nodes.began) / 1000, (nodes.at - on_wire[-1]) / 1000) if on_wire else None

        systems = []
        for index, build in enumerate(self.builds):
            for is_key in (True, False):
                name = f"{build.name}: {'key at the terminal' if is_key else 'line on standard input'} → datagram"
                systems.append(Nodes(name, build, self.ports(2), self.work / f"key-{index}", at_terminal=is_key))
        found = self.interleave(systems, "key", note)
        group = "to the datagram on loopback, and from there"
        for system in systems:
            values = [times for times in found[system] if times]
            self.table.times(group, system.name, [to_wire for to_wire, _ in values], True)
            if not system.at_terminal:
                name = f"{system.build.name}: datagram → at the other process"
                self.table.times(group, name, [from_wire for _, from_wire in values], True)

    # Starts and ends

    def starts(self):
        count = min(self.samples, 40)
        say(f"start: {count} times each")
        prompts = {build: [] for build in self.builds}
        readies = {build: [] for build in self.builds}
        port = self.ports(1)
        for _ in range(count + 1):
            for build in self.builds:
                state = self.work / "start"
                terminal = Terminal(*chat(build, "Alice", port, state, json=False))
                try:
                    prompts[build].append((terminal.wait_for(b"kitchen (open)> ") - terminal.began) / 1000)
                finally:
                    terminal.stop()
                time.sleep(0.1)
                program = Program(*chat(build, "Alice", port, state))
                try:
                    _, read = program.wait_for(lambda event: event["on"] == "ready", "`ready`")
                    readies[build].append((read - program.began) / 1000)
                finally:
                    program.stop()
                time.sleep(0.1)
        # The first one makes an identity.
        for build in self.builds:
            self.table.times("start", f"{build.name}: exec → prompt", prompts[build][1:], True)
            self.table.times("start", f"{build.name}: exec → `ready`", readies[build][1:], True)

    def kills(self):
        count = min(self.samples, 40)
        say(f"kill: {count} times")
        for index, build in enumerate(self.builds):
            state = self.work / f"kill-{index}"
            alice, bob = self.ports(1), self.ports(1)
            times = []
            receiver = Program(*chat(build, "Bob", bob, state, "--no-discovery"))
            try:
                receiver.wait_for(lambda event: event["on"] == "ready", "`ready`")
                for _ in range(count):
                    options = "--no-discovery", "--peer", f"127.0.0.1:{bob}"
                    sender = Program(*chat(build, "Alice", alice, state, *options))
                    try:
                        receiver.wait_for(is_online("Alice"), "Alice")
                        sender.wait_for(is_online("Bob"), "Bob")
                        # The helper has what it sends at the end.
                        time.sleep(0.3)
                        sender.say(b'{"do":"compose","text":"a"}')
                        receiver.wait_for(is_typing("Alice"), "the typing")
                        time.sleep(0.2)
                        began = sender.kill()
                        event, _ = receiver.wait_for(nobody_types, "its end")
                        times.append(event["at"] * 1_000_000 - began / 1000)
                    finally:
                        sender.stop()
            finally:
                receiver.stop()
            self.table.times("end", f"{build.name}: kill -9 while typing → cleared", times, True)

    # Memory

    def memory(self):
        group = "a node with ten peers"
        for index, build in enumerate(self.builds):
            say(f"memory of {build.name}")
            state = self.work / f"memory-{index}"
            programs = []
            try:
                ports = []
                for number in range(10):
                    ports.append(self.ports(1))
                    peer = Program(*chat(build, f"peer {number}", ports[-1], state, "--no-discovery"))
                    programs.append(peer)
                    peer.wait_for(lambda event: event["on"] == "ready", "`ready`")
                options = [word for port in ports for word in ("--peer", f"127.0.0.1:{port}")]
                node = Program(*chat(build, "Alice", self.ports(1), state, *options))
                programs.append(node)
                met = set()
                while len(met) < 10:
                    event, _ = node.wait_for(lambda event: event["on"] == "peer", "ten peers")
                    met.add(event["user"])
                # Some traffic, as memory grows with the first of it.
                for program in programs:
                    program.say(b'{"do":"compose","text":"a"}')
                    program.say(b'{"do":"send","text":"hello"}')
                time.sleep(3)
                process = node.process.pid
                threads = len(proc.threads(process))
                library = proc.threads_of_library(process, "libdns_sd")
                helpers = proc.children(process)
                size = proc.status(process, "VmRSS")
                own = proc.status(process, "RssAnon")
                self.table.text(group, f"{build.name}: resident", f"{size / 1024:.1f} MiB")
                self.table.text(group, f"{build.name}: of it, not of files", f"{own / 1024:.1f} MiB")
                self.table.text(group, f"{build.name}: threads of its own", f"{threads - library}")
                self.table.text(group, f"{build.name}: threads of the discovery library", f"{library}")
                for helper in helpers:
                    size = proc.status(helper, "VmRSS")
                    self.table.text(group, f"{build.name}: resident, its helper", f"{size / 1024:.1f} MiB")
            finally:
                for program in programs:
                    program.stop()

    # Instructions

    def instructions(self):
        for program in "valgrind", "strip":
            if not shutil.which(program):
                return self.leave_out("instructions", f"`{program}` is not installed")
        paths = {  # the path, its function, what one run of it is, and how many datagrams that are
            "heartbeat": ("measuredHeartbeat", "a heartbeat received", 1),
            "edge": ("measuredEdge", "a typing edge sent to ten peers", 10),
            "handshake": ("measuredHandshake", "a handshake, both sides", None),
        }
        group = "instructions of the core"
        for build in self.builds:
            say(f"instructions of {build.name}")
            # valgrind fails on debug information that it can't read.
            stripped = self.work / "inkling-sim"
            subprocess.run(["strip", "--strip-debug", "-o", stripped, build.folder / "inkling-sim"], check=True)
            for path, (function, label, datagrams) in paths.items():
                command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
                           f"--toggle-collect=*{function}*", stripped, "cost", path, "--count", str(INSTRUCTION_RUNS)]
                # Otherwise each run has hash tables of its own.
                environment = os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"}
                done = subprocess.run(command, capture_output=True, text=True, env=environment)
                found = re.search(r"Collected : (\d+)", done.stderr)
                if not found or int(found[1]) == 0:
                    raise Failure(f"callgrind counted nothing for {path}:\n{done.stderr}")
                count = int(found[1]) / INSTRUCTION_RUNS
                text = f"{count:,.0f}"
                if datagrams and datagrams > 1:
                    text += f", {count / datagrams:,.0f} a datagram"
                self.table.text(group, f"{build.name}: {label}", text)


def parsed(arguments):
    root = HERE.parent.parent
    parser = argparse.ArgumentParser(
        prog="Scripts/benchmark", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measure Inkling beside other systems, in a network namespace of its own, and print one table.",
        epilog="parts:\n" + "\n".join(f"  {part:14}{text}" for part, text in PARTS.items()) + """

All systems of the first six parts take turns in one run, so that whatever else the machine does meets all of them.
Close what else runs: the figures in the column "99 of 100" depend on it most. Samples begin with the time at which the
measuring program is about to write a line or a key. Zenoh and Cyclone DDS are measured from Python, which takes
some tens of microseconds at either end.

Needs root, and the packages gcc, iproute2, libc6-dev and python3; mosquitto and libmosquitto-dev for MQTT; binutils and
valgrind for instructions; nftables for found, cut and loss; avahi-daemon and dbus for discovery in found, start and
memory; python3-venv, and eclipse-zenoh and cyclonedds from PyPI, for those two. What is missing after the first four is
left out, and the table says so. --install installs all of it, those from PyPI in .build/benchmark/venv; where an init
system runs, the package mosquitto starts a broker of its own, which is not used here.""")
    parser.add_argument("--only", metavar="PARTS", type=lambda text: text.split(","), default=list(PARTS),
                        help="measure only these parts, separated by commas")
    parser.add_argument("--samples", metavar="N", type=int, default=300,
                        help="so many events of each system (300), and of starts and kills at most 40")
    parser.add_argument("--output", metavar="FILE.svg", type=Path, default=root / ".build/benchmark/benchmark.svg",
                        help="where to write the chart, and beside it the table as FILE.md "
                             "(.build/benchmark/benchmark.svg)")
    parser.add_argument("--program", metavar="FOLDER", type=Path, default=root / ".build/release",
                        help="the folder with the programs to measure (.build/release)")
    parser.add_argument("--before", metavar="FOLDER", type=Path,
                        help="measure the programs of another build too, in turn with these")
    parser.add_argument("--install", action="store_true", help="first install what is missing")
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.only if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}: {', '.join(PARTS)}")
    if options.samples < 1:
        parser.error("--samples: at least 1")
    if options.output.suffix != ".svg":
        parser.error("--output: a name that ends in .svg")
    programs = ["inkling", "inkling-lastwill"] + ["inkling-sim"] * ("instructions" in options.only)
    for folder in options.program, options.before:
        for program in programs:
            if folder and not os.access(folder / program, os.X_OK):
                parser.error(f"there is no {program} in {folder}: build first, with Scripts/test")
    options.cache = root / ".build/benchmark"
    return options


def load():
    return f"{os.getloadavg()[0]:.1f}"


def main():
    options = parsed(sys.argv[1:])
    if os.environ.get("INKLING_NAMESPACE") != "yes":
        return  # the options were checked
    before = load()
    with tempfile.TemporaryDirectory(dir="/run") as work:
        benchmark = Benchmark(options, Path(work))
        try:
            benchmark.run()
        except Failure as failure:
            sys.exit(f"benchmark: {failure}")
    conditions = (f"{os.cpu_count()} processors ({platform.machine()}), {platform.system()} "
                  f"{platform.release().split('-')[0]}; load {before} before and {load()} after")
    text = benchmark.table.markdown(conditions + ".")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.with_suffix(".md").write_text(text)
    if svg := benchmark.table.svg(conditions):
        options.output.write_text(svg)
    print(text, end="")
    sys.exit(1 if benchmark.lost else 0)


if __name__ == "__main__":
    main()
