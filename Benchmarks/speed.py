"""How long an event takes from one process to another: Inkling and other systems in turn."""

import gc
import random
import shutil
import subprocess
import time
from pathlib import Path

from capture import Capture
from processes import Daemon, Failure
from systems import Daemons, Library, Nodes, Pair

HERE = Path(__file__).resolve().parent
PARTS = {
    "udp": "bare datagrams between two programs in C",
    "mqtt": "MQTT with QoS 0 through mosquitto, its clients in C",
    "inkling": "typing edges between two nodes that speak JSON lines",
    "library": "the same between two programs that use the library, from the call to a callback, and to `for await`",
    "attached": "the same between two front ends that are attached to a daemon each",
    "key": "a key at the terminal, and a line on standard input → its datagram on loopback",
}
SLOT = 0.075  # seconds between two events, so that no copy of an edge, 30 and 120 ms later, goes out with another event
JITTER = 0.010  # seconds, so that no timer of the systems stays in step with the events
LEAST_ROUND = 0.3  # seconds between two events of one system: Inkling begins to type at most twice a second
WARM_UP = 6  # events of each system that do not count; even, as typing begins and ends in turn


class Speed:
    def __init__(self, benchmark):
        self.benchmark = benchmark
        self.ports = benchmark.ports

    def measure(self):
        self.speed()
        if self.benchmark.wants("key"):
            self.key()

    def compile(self, name, *libraries):
        program, source = self.benchmark.cache / name, HERE / f"{name}.c"
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
            return self.benchmark.leave_out("mqtt", "mosquitto or libmosquitto-dev is not installed")
        port = self.ports(1)
        settings = self.benchmark.work / "mosquitto.conf"
        settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
                            "persistence false\nlog_type error\n")
        program = self.compile("mqtt", "-lmosquitto")
        return Pair("MQTT, mosquitto", [program, "send", port], [program, "receive", port], [broker, "-c", settings])

    def own(self):
        """The nodes of each build, and the daemons of the present one: older ones have no daemons."""
        builds, work = self.benchmark.builds, self.benchmark.work
        systems = []
        if self.benchmark.wants("inkling"):
            systems += [Nodes(build.name, build, self.ports(2), work / f"speed-{index}")
                        for index, build in enumerate(builds)]
        if self.benchmark.wants("library"):
            program = builds[0].folder / "inkling-benchmark"
            ways = {"call": "callback", "task": "`for await` on the node's thread", "sequence": "`for await`"}
            for way, end in ways.items():
                systems.append(Library(f"Inkling's library, call → {end}", program, self.ports(2), way))
        if self.benchmark.wants("attached"):
            for way, begin in ("standard streams", Daemon.attached), ("sockets", Daemon.at_socket):
                name = f"{builds[0].name}, two front ends at {way}"
                systems.append(Daemons(name, builds[0], self.ports(2), work / f"attached-{way[:2]}", begin=begin))
        return systems

    def speed(self):
        parts = [part for part in ("udp", "mqtt") if self.benchmark.wants(part)]
        others = [system for part in parts if (system := getattr(self, part)())]
        own = self.own()
        systems = [*others, *own]
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
                    self.benchmark.table.times(group, system.name, values)
        # Beside what the others take without the way to the call.
        for system in own:
            name = f"{system.name}, from the line on"
            self.benchmark.table.times(group, name, [spans.to_event for spans in found[system]])

    def interleave(self, systems, what, note=lambda system, spans: spans):
        """Has the systems take turns, one event each; what `note` makes of each event of a system."""
        found = {system: [] for system in systems}
        lost = {system: 0 for system in systems}
        jitter = random.Random(1)
        slot = max(SLOT, LEAST_ROUND / len(systems))
        events = WARM_UP + self.benchmark.samples
        self.benchmark.say(f"{what}: {len(systems)} systems, {events} events each, {events * len(systems) * slot:.0f} s")
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
                        found[system].append(note(system, spans))
        finally:
            gc.enable()
            for system in systems:
                system.stop()
        for system in (system for system in systems if lost[system]):
            self.benchmark.lost += lost[system]
            self.benchmark.table.notes.append(
                f"{system.name}, {what}: {lost[system]} events did not arrive within a second.")
        return found

    def key(self):
        capture = Capture()

        def note(nodes, _):
            """The sending time of the event's datagram, and the time from there."""
            on_wire = [time for source, destination, time, _ in capture.datagrams()
                       if (source, destination) == nodes.ports and nodes.began <= time <= nodes.at]
            return ((on_wire[-1] - nodes.began) / 1000, (nodes.at - on_wire[-1]) / 1000) if on_wire else None

        systems = []
        for index, build in enumerate(self.benchmark.builds):
            for is_key in (True, False):
                name = f"{build.name}: {'key at the terminal' if is_key else 'line on standard input'} → datagram"
                systems.append(Nodes(name, build, self.ports(2), self.benchmark.work / f"key-{index}", is_key))
        found = self.interleave(systems, "key", note)
        group = "to the datagram on loopback, and from there"
        for system in systems:
            values = [times for times in found[system] if times]
            self.benchmark.table.times(group, system.name, [to_wire for to_wire, _ in values])
            if not system.at_terminal:
                name = f"{system.build.name}: datagram → at the other process"
                self.benchmark.table.times(group, name, [from_wire for _, from_wire in values])
