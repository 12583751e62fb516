"""Links between two nodes: the time to open, their end and return, and the traffic."""

import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter

from capture import Capture
from processes import Failure, Nodes, Program, chat, is_online, nobody_types

CUT = 15  # seconds
LOSS = 10  # of 100 datagrams
MESSAGES = 300
GARBAGE = 10_000
CROWD = 10, 50, 100  # peers
PARTS = {
    "found": "exec → both nodes show each other: by discovery, and after an end in the middle of an opening",
    "cut": f"a cut of {CUT} s: silence → offline, return, and messages that were written in it",
    "loss": f"{MESSAGES} messages while {LOSS} of 100 datagrams are lost",
    "wire": "bytes of a typing edge, a heartbeat, a message and its ack",
    "garbage": "answers to garbage from a stranger",
    "crowd": "datagrams and bytes that a node with many peers sends",
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


def is_offline(name):
    return lambda event: event["on"] == "peer" and event["name"] == name and event["presence"] == "offline"


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
                print(f"benchmark: {part}", file=sys.stderr, flush=True)
                getattr(self, part)()

    def pairs(self, part):
        """A pair of nodes of each build, all of them started."""
        pairs = [Nodes(build.name, build, self.benchmark.ports(2), self.benchmark.work / f"{part}-{index}")
                 for index, build in enumerate(self.benchmark.builds)]
        for pair in pairs:
            pair.start()
        return pairs

    def found(self):
        """Each time both nodes are new to each other."""
        for build in self.benchmark.builds:
            ways = {"by discovery": self.by_discovery, "after an end in its opening": self.after_end}
            for way, measure in ways.items():
                values = [measure(build, self.benchmark.work / f"found-{build.folder.name}-{way[:2]}-{number}")
                          for number in range(min(self.benchmark.samples, 10))]
                self.table.times("exec → both show each other", f"{build.name}, {way}", values, True)

    def by_discovery(self, build, state):
        bob = Program(*chat(build, "Bob", self.benchmark.ports(1), state))
        try:
            bob.wait_for(lambda event: event["on"] == "ready", "`ready`")
            time.sleep(2)  # its announcement is out
            return self.start_alice(build, state, bob)
        finally:
            bob.stop()

    def after_end(self, build, state):
        """Bob's answers don't arrive until Alice was killed and starts again."""
        bob_port, alice_port = self.benchmark.ports(1), self.benchmark.ports(1)
        bob = Program(*chat(build, "Bob", bob_port, state, "--no-discovery"))
        arguments = chat(build, "Alice", alice_port, state, "--no-discovery", "--peer", f"127.0.0.1:{bob_port}")
        try:
            bob.wait_for(lambda event: event["on"] == "ready", "`ready`")
            # The tell arrives, and the response does not: a filter knows them by their sizes.
            self.filter.drop(f"udp dport {alice_port} udp length {{ 65, 77 }}")
            alice = Program(*arguments)
            alice.wait_for(lambda event: event["on"] == "ready", "`ready`")
            time.sleep(0.5)
            alice.stop()
            self.filter.clear()
            return self.start_alice(build, state, bob, arguments)
        finally:
            self.filter.clear()
            bob.stop()

    def start_alice(self, build, state, bob, arguments=None):
        """Microseconds from exec until both show each other."""
        alice = Program(*(arguments or chat(build, "Alice", self.benchmark.ports(1), state)))
        try:
            times = times_of(alice, [is_online("Bob")], 20) + times_of(bob, [is_online("Alice")], 20)
            if None in times:
                raise Failure(f"{build.name}: Alice and Bob do not find each other")
            return (max(times) - alice.began) / 1000
        finally:
            alice.stop()

    def cut(self):
        """Alice types when the cut begins, and writes a message 5 s later."""
        pairs = self.pairs("cut")
        rows = {pair: {key: [] for key in CUT_ROWS} for pair in pairs}
        count = min(self.benchmark.samples, 20)
        time.sleep(10)  # a younger link is forgotten at the first cut (L-84)
        try:
            for number in range(count):
                self.one_cut(pairs, rows, number)
        finally:
            self.filter.clear()
            for pair in pairs:
                pair.stop()
        for key, label in CUT_ROWS.items():
            for pair in pairs:
                self.table.times(f"a cut of {CUT} s", f"{pair.name}: {label}", rows[pair][key], True)
        for pair in pairs:
            text = f"{len(rows[pair]['message'])} of {count}"
            self.table.text(f"a cut of {CUT} s", f"{pair.name}: messages written in it that arrive", text)

    def one_cut(self, pairs, rows, number):
        """Every second time the host notices the end, by a new address."""
        text = f"message {number}"
        time.sleep(1)
        for pair in pairs:
            pair.receiver.skip()
            pair.sender.skip()
            pair.sender.say(b'{"do":"compose","text":"a"}')
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
            ended, offline = times_of(pair.receiver, [nobody_types, is_offline("Alice")], 0)
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
        pairs = self.pairs("loss")
        values = {pair: [] for pair in pairs}
        try:
            for number in range(min(self.benchmark.samples, 5)):
                for pair in pairs:
                    values[pair].append(self.one_loss(pair, number))
        finally:
            self.filter.clear()
            for pair in pairs:
                pair.stop()
        for pair in pairs:
            label = f"{pair.name}: first written → last one shows"
            self.table.times(f"{MESSAGES} messages, {LOSS} of 100 datagrams lost", label, values[pair], True)

    def one_loss(self, pair, number):
        alice, bob = pair.ports
        self.filter.drop(f"udp dport {{ {alice}, {bob} }} numgen random mod 100 < {LOSS}")
        pair.receiver.skip()
        pair.sender.skip()
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
        pairs = self.pairs("wire")
        try:
            for pair in pairs:
                capture = Capture()
                time.sleep(6)
                ports = pair.ports
                sizes = [size for source, destination, _, size in capture.datagrams()
                         if (source, destination) in (ports, ports[::-1])]
                found = {"a heartbeat": Counter(sizes).most_common(1)[0][0]}
                pair.sender.say(b'{"do":"compose","text":"a"}')
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
                    self.table.text("bytes of UDP payload", f"{pair.name}: {label}", str(size))
                rate = f"{len(sizes) / 6:.1f} datagrams, {sum(sizes) / 6:.0f} bytes"
                self.table.text("bytes of UDP payload", f"{pair.name}: an idle link, a second, both ways", rate)
        finally:
            for pair in pairs:
                pair.stop()

    def garbage(self):
        """Random bytes of all sizes and kinds that a datagram has in version 1 or 2."""
        sizes = {1: (109, 125, 121, 137), 2: (57, 69), 3: (27, 28, 300, 1_200), 4: (21,), 5: (45, 65), 6: (45, 65)}
        pairs = self.pairs("garbage")
        try:
            for pair in pairs:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                    stranger.bind(("127.0.0.1", 0))
                    stranger.setblocking(False)
                    for _ in range(GARBAGE):
                        kind = random.choice(list(sizes))
                        first = random.choice((0x10, 0x20)) | kind
                        content = os.urandom(random.choice(sizes[kind]) - 1)
                        if kind == 5:
                            content = content[:16] + bytes(len(content) - 16)
                        stranger.sendto(bytes([first]) + content, ("127.0.0.1", pair.ports[1]))
                        time.sleep(0.0002)
                    time.sleep(1)
                    answers = 0
                    while True:
                        try:
                            stranger.recv(2048)
                            answers += 1
                        except BlockingIOError:
                            break
                pair.receiver.skip()
                self.table.text("garbage", f"{pair.name}: answers to {GARBAGE:,} datagrams", str(answers))
        finally:
            for pair in pairs:
                pair.stop()

    def crowd(self):
        """A node in the middle of many, who know only that one."""
        for index, build in enumerate(self.benchmark.builds):
            state = self.benchmark.work / f"crowd-{index}"
            port = self.benchmark.ports(1)
            node = Program(*chat(build, "Alice", port, state, "--no-discovery"))
            running = [node]
            try:
                node.wait_for(lambda event: event["on"] == "ready", "`ready`")
                for size in CROWD:
                    while len(running) <= size:
                        peer = Program(*chat(build, f"peer {len(running)}", self.benchmark.ports(1), state,
                                             "--no-discovery", "--peer", f"127.0.0.1:{port}"))
                        running.append(peer)
                        node.wait_for(is_online(f"peer {len(running) - 1}"), "a peer", 30)
                    time.sleep(5)
                    before, after = self.sent(node), None
                    time.sleep(10)
                    after = self.sent(node)
                    took = after[0] - before[0]
                    rates = [(late - early) / took for early, late in zip(before[1:], after[1:])]
                    text = f"{rates[0]:.1f} datagrams, {rates[1]:,.0f} bytes"
                    self.table.text("a node sends, a second", f"{build.name}: {size} peers", text)
            finally:
                for program in running:
                    program.stop()

    def sent(self, node):
        node.say(b'{"do":"stats"}')
        stats, _ = node.wait_for(lambda event: event["on"] == "stats", "`stats`")
        return time.monotonic(), sum(stats["datagramsSent"].values()), stats["bytesSent"]
