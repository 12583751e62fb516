"""Links between two nodes: the time to open, their end and return, and the traffic."""

import random
import shutil
import subprocess
import time
from collections import Counter
from contextlib import ExitStack, contextmanager

import crowd
from capture import Capture
from processes import Failure, Program, is_online, is_ready, nobody_types, peers
from systems import Nodes

CUT = 15  # seconds
LOSS = 10  # of 100 datagrams
MESSAGES = 300
CROWD = 10, 50, 100  # peers
PARTS = {
    "found": "exec → both nodes show each other: by discovery, and after an end in the middle of an opening",
    "cut": f"a cut of {CUT} s: silence → offline, return, and messages that were written in it",
    "loss": f"{MESSAGES} messages while {LOSS} of 100 datagrams are lost",
    "wire": "bytes of a typing edge, a heartbeat, a message and its ack",
    "crowd": "datagrams and bytes of a node with many peers",
}
CUT_ROWS = {
    "typing": "last datagram → not typing",
    "offline": "last datagram → offline",
    "noticed": "end of the cut, which the hosts notice → both show each other",
    "unnoticed": "end of the cut, unnoticed → both show each other",
    "message": "end of the cut → message shows",
}


class Filter:
    """Datagrams that the kernel drops before they reach their node. The sender notices nothing."""

    def __init__(self):
        self.nft("add table inet benchmark")
        self.nft("add chain inet benchmark input { type filter hook input priority 0; }")

    def nft(self, command):
        if subprocess.run(["nft", command]).returncode:
            raise Failure(f"nft does not take: {command}")

    def drop(self, match):
        self.nft(f"add rule inet benchmark input {match} drop")

    def clear(self):
        self.nft("flush chain inet benchmark input")


def times_of(program, conditions, timeout):
    """The time of the node's first event that meets each condition, in nanoseconds since 1970; None for none."""
    found = [None] * len(conditions)
    deadline = time.monotonic() + timeout
    while None in found:
        event, _ = program.next(max(0, deadline - time.monotonic()))
        if event is None:
            break
        for index, condition in enumerate(conditions):
            if found[index] is None and condition(event):
                found[index] = event["at"] * 1e9
    return found


class Links:
    """All measurements of this file, of each build in turn or at once."""

    def __init__(self, benchmark):
        self.benchmark = benchmark
        self.table = benchmark.table
        self.filter = Filter() if shutil.which("nft") else None

    def measure(self):
        missing = {part: "nft" for part in ("found", "cut", "loss") if not self.filter}
        if not shutil.which("avahi-daemon"):
            missing["found"] = "avahi-daemon"
        for part in PARTS:
            if self.benchmark.wants(part) and part in missing:
                self.benchmark.leave_out(part, f"`{missing[part]}` is not installed")
            elif self.benchmark.wants(part):
                self.benchmark.say(part)
                getattr(self, part)()

    @contextmanager
    def pairs(self, part):
        """A pair of nodes of each build, all of them started. At the end no datagrams are dropped any more."""
        pairs = [Nodes(build.name, build, self.benchmark.ports(2), self.benchmark.work / f"{part}-{index}")
                 for index, build in enumerate(self.benchmark.builds)]
        with ExitStack() as running:
            if self.filter:
                running.callback(self.filter.clear)
            for pair in pairs:
                running.callback(pair.stop)
                pair.start()
            yield pairs

    def found(self):
        """Each time both nodes are new to each other."""
        for build in self.benchmark.builds:
            ways = {"by discovery": self.by_discovery, "after an end in its opening": self.after_end}
            for way, measure in ways.items():
                values = [measure(build, self.benchmark.work / f"found-{build.folder.name}-{way[:2]}-{number}")
                          for number in range(min(self.benchmark.samples, 10))]
                self.table.times("exec → both show each other", f"{build.name}, {way}", values)

    def by_discovery(self, build, state):
        with Program(*build.chat("Bob", self.benchmark.ports(1), state)) as bob:
            bob.wait_for(is_ready, "`ready`")
            time.sleep(2)  # its announcement is out
            return self.start_alice(build, bob, build.chat("Alice", self.benchmark.ports(1), state))

    def after_end(self, build, state):
        """Bob's answers don't arrive until Alice was killed and starts again."""
        bob_port, port = self.benchmark.ports(1), self.benchmark.ports(1)
        arguments = build.chat("Alice", port, state, "--no-discovery", *peers(bob_port))
        with build.node("Bob", bob_port, state) as bob:
            # The tell arrives, and the response does not: a filter knows them by their sizes.
            self.filter.drop(f"udp dport {port} udp length {{ 65, 77 }}")
            try:
                with Program(*arguments) as alice:
                    alice.wait_for(is_ready, "`ready`")
                    time.sleep(0.5)
            finally:
                self.filter.clear()
            return self.start_alice(build, bob, arguments)

    def start_alice(self, build, bob, arguments):
        """Microseconds from exec until both show each other."""
        with Program(*arguments) as alice:
            times = times_of(alice, [is_online("Bob")], 20) + times_of(bob, [is_online("Alice")], 20)
            if None in times:
                raise Failure(f"{build.name}: Alice and Bob do not find each other")
            return (max(times) - alice.began) / 1000

    def cut(self):
        """Alice types when the cut begins, and writes a message 5 s later."""
        count = min(self.benchmark.samples, 20)
        with self.pairs("cut") as pairs:
            rows = {pair: {key: [] for key in CUT_ROWS} for pair in pairs}
            time.sleep(10)  # a younger link is forgotten at the first cut (L-84)
            for number in range(count):
                self.one_cut(pairs, rows, number)
        group = f"a cut of {CUT} s"
        for key, label in CUT_ROWS.items():
            for pair in pairs:
                self.table.times(group, f"{pair.name}: {label}", rows[pair][key])
        for pair in pairs:
            text = f"{len(rows[pair]['message'])} of {count}"
            self.table.text(group, f"{pair.name}: messages written in it that arrive", text)

    def one_cut(self, pairs, rows, number):
        """Every second time the host notices the end, by a new address."""
        text = f"message {number}"
        time.sleep(1)
        for pair in pairs:
            pair.skip()
            pair.sender.compose(b"a")
        capture = Capture()
        time.sleep(1 + random.random())
        self.filter.drop("udp dport 7000-65535")
        began = time.time_ns()
        datagrams = capture.datagrams()
        time.sleep(5)
        for pair in pairs:
            pair.sender.say(b'{"do":"send","text":"%s"}' % text.encode())
        time.sleep(max(0, began / 1e9 + CUT - time.time()))
        for pair in pairs:
            last = max(at for source, destination, at, _ in datagrams if (source, destination) == pair.ports)
            ended, offline = times_of(pair.receiver, [nobody_types, is_online("Alice", "offline")], 0)
            if ended is None or offline is None:
                raise Failure(f"{pair.name}: a cut of {CUT} s does not show")
            rows[pair]["typing"].append((ended - last) / 1000)
            rows[pair]["offline"].append((offline - last) / 1000)
            pair.sender.skip()
        restored = time.time_ns()
        self.filter.clear()
        if number % 2:
            subprocess.run(["ip", "address", "add", f"10.0.0.{number}/32", "dev", "lo"], check=True)
        for pair in pairs:
            came, message = times_of(
                pair.receiver, [is_online("Alice"), lambda event: event.get("text") == text], 8)
            came_back, = times_of(pair.sender, [is_online("Bob")], 20)
            if came is None or came_back is None:
                raise Failure(f"{pair.name}: the nodes do not return after a cut of {CUT} s")
            rows[pair]["noticed" if number % 2 else "unnoticed"].append((max(came, came_back) - restored) / 1000)
            if message is not None:
                rows[pair]["message"].append((message - restored) / 1000)

    def loss(self):
        with self.pairs("loss") as pairs:
            values = {pair: [] for pair in pairs}
            for number in range(min(self.benchmark.samples, 5)):
                for pair in pairs:
                    values[pair].append(self.one_loss(pair, number))
        for pair in pairs:
            label = f"{pair.name}: first written → last one shows"
            self.table.times(f"{MESSAGES} messages, {LOSS} of 100 datagrams lost", label, values[pair])

    def one_loss(self, pair, number):
        alice, bob = pair.ports
        self.filter.drop(f"udp dport {{ {alice}, {bob} }} numgen random mod 100 < {LOSS}")
        pair.skip()
        began = time.time_ns()
        for index in range(MESSAGES):
            pair.sender.say(b'{"do":"send","text":"%d of round %d"}' % (index, number))
        for index in range(MESSAGES):
            event, _ = pair.receiver.wait_for(lambda event: event["on"] == "message", "a message", 60)
            if event["text"] != f"{index} of round {number}":
                raise Failure(f"{pair.name}: {event['text']!r} shows as message {index}")
        self.filter.clear()
        time.sleep(2)
        return event["at"] * 1_000_000 - began / 1000

    def wire(self):
        """The sizes of UDP payloads."""
        group = "bytes of UDP payload"
        with self.pairs("wire") as pairs:
            for pair in pairs:
                capture = Capture()
                time.sleep(6)
                ports = pair.ports
                sizes = [size for source, destination, _, size in capture.datagrams()
                         if (source, destination) in (ports, ports[::-1])]
                found = {"a heartbeat": Counter(sizes).most_common(1)[0][0]}
                pair.sender.compose(b"a")
                time.sleep(0.02)
                found["a typing edge"] = next(s for a, b, _, s in capture.datagrams() if (a, b) == ports)
                time.sleep(1)
                capture.datagrams()
                pair.sender.say(b'{"do":"send","text":"hello"}')
                time.sleep(0.02)
                after = capture.datagrams()
                found["a message of 5 bytes"] = max(s for a, b, _, s in after if (a, b) == ports)
                found["its ack"] = max(s for a, b, _, s in after if (a, b) == ports[::-1])
                for label, size in found.items():
                    self.table.text(group, f"{pair.name}: {label}", str(size))
                rate = f"{len(sizes) / 6:.1f} datagrams, {sum(sizes) / 6:.0f} bytes"
                self.table.text(group, f"{pair.name}: an idle link, a second, both ways", rate)

    def crowd(self):
        for index, build in enumerate(self.benchmark.builds):
            state = self.benchmark.work / f"crowd-{index}"
            for size, *ways in crowd.measure(build, lambda: self.benchmark.ports(1), state, CROWD, 10):
                for way, (datagrams, count, processor) in zip(("idle", "its user types"), ways):
                    text = f"{datagrams:.1f} datagrams, {count:,.0f} bytes, {processor:.1%} of a processor"
                    self.table.text("a node, a second, both ways", f"{build.name}: {size} peers, {way}", text)
