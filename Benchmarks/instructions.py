"""Counts the instructions of the program's main paths, with valgrind's callgrind.

Each path runs in a node of its own under callgrind, which counts only inside the function that reads the socket or
standard input. The peer is an ordinary node. Two runs of one build give the same figures within 2 %, however busy the
machine is.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from processes import Build, Daemon, Failure, FrontEnd, Program, is_online, peers

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = Path(__file__).with_suffix(".txt")
ALLOWED = 1.05
SAMPLES = 18
WARM_UP = 4
# Longer than any copy of an edge takes, and than the shortest time between two starts of typing.
GAP = 1.3
# Valgrind slows a program to a fiftieth.
PATIENCE = 60
READERS = {"line": "BaseStreamSocketChannel.readFromSocket()", "datagram": "DatagramChannel.readFromSocket()"}
# The core's function for a received datagram.
RECEIVE = "$s11InklingCore8EndpointV7receive_4from8hopLimit"
PATHS = {
    "line to datagram": "a line with a key is read, and the typing datagram is sent",
    "datagram to line": "a typing datagram is received, and its line is written",
    "heartbeat": "a heartbeat is received that changes nothing",
    "daemon: line to datagram": "the first, in a daemon for an attached front end",
    "daemon: datagram to line": "the second, in a daemon for an attached front end",
}
# The modules of the table, by the beginning of a symbol's mangled name, or by the library that holds the symbol.
MODULES = [
    ("core", r"\$s11InklingCore"), ("wire", r"\$s11InklingWire"), ("node", r"\$s7Inkling"),
    ("model", r"\$s12InklingModel"), ("control", r"\$s14InklingControl"), ("program", r"\$s\d+Inkling"),
    ("SwiftNIO", r"\$s\d+NIO|\$s\d+CNIO"), ("Crypto", r"\$s6Crypto|\$s19CryptoBoringWrapper"),
    ("BoringSSL", r"CCryptoBoringSSL|_?chacha20|_?poly1305"), ("Foundation", r"\$s20FoundationEssentials"),
    ("Swift's library", r"\$s"), ("Swift's runtime", r"_?swift_|_ZN5swift|_ZNK5swift|__swift|_ZL\d+swift|_swift"),
]


def symbol(program, name):
    """The mangled name of the one function that demangles to `name`."""
    names = [line.split()[-1] for line in subprocess.run(
        ["nm", program], capture_output=True, text=True, check=True).stdout.splitlines()]
    names = [mangled for mangled in names if mangled.startswith("$s")]
    readable = subprocess.run(["swift", "demangle", "--simplified", "--compact"], input="\n".join(names),
                              capture_output=True, text=True, check=True).stdout.splitlines()
    found = [mangled for mangled, text in zip(names, readable) if text == name]
    if len(found) != 1:
        raise Failure(f"{program} has {len(found)} functions {name}")
    return found[0]


def module(name, library):
    for module, pattern in MODULES:
        if re.match(pattern, name):
            return module
    return "C library" if "libc" in library or "ld-linux" in library else "other"


def costs(file):
    """The instructions of a callgrind file, by module, and the number of datagrams that the core received."""
    names, counts, datagrams = {}, Counter(), 0

    def named(kind, text):
        number, _, name = text.partition(" ")
        if name:
            names[kind, number] = name
        return names[kind, number]

    library, function, called, is_call = "", "", "", False
    for line in file.read_text(errors="replace").splitlines():
        if line.startswith("ob="):
            library = named("ob", line[3:])
        elif line.startswith("fn="):
            function = named("fn", line[3:])
        elif line.startswith("cfn="):
            called = named("fn", line[4:])
        elif line.startswith("cob="):
            named("ob", line[4:])
        elif line.startswith("calls="):
            is_call = True
            if called.startswith(RECEIVE):
                datagrams += int(line[6:].split()[0])
        elif re.match(r"[+*\d-]", line):
            # The line after `calls=` has the cost of the called function, which has lines of its own.
            if not is_call:
                counts[module(function, library)] += int(line.split()[1])
            is_call = False
    return counts, datagrams


class Measured:
    """One node or daemon under callgrind, its peer, and the counts between two instants."""

    def __init__(self, build, work, reader, port, *, is_daemon):
        self.file = work / f"callgrind-{port}"
        toggle = f"--toggle-collect={symbol(build.folder / 'inkling', READERS[reader])}"
        valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={self.file}", "--collect-atstart=no",
                    toggle]
        # Otherwise each run has hash tables of its own.
        os.environ["SWIFT_DETERMINISTIC_HASHING"] = "1"
        self.peer = build.node("Peer", port + 1, work, *peers(port))
        if is_daemon:
            daemon = Daemon(build, "Own", port, work, *peers(port + 1), under=valgrind, timeout=PATIENCE)
            self.process, self.own = daemon.process, FrontEnd(daemon)
            self.own.say(b'{"do":"join","chat":"kitchen"}')
        else:
            self.own = Program(*valgrind, *build.chat("Own", port, work, "--no-discovery", *peers(port + 1)))
            self.process = self.own.process
        self.own.wait_for(is_online("Peer"), "the peer", PATIENCE)
        self.peer.wait_for(is_online("Own"), "the measured node", PATIENCE)
        time.sleep(GAP)

    def samples(self, speaker=None):
        """The instructions by module, and the received datagrams, of several edges that `speaker` makes, or of as many
        pauses."""
        counted = []
        for index in range(WARM_UP + SAMPLES):
            if speaker:
                speaker.compose(b"hello" if index % 2 == 0 else b"")
            time.sleep(GAP)
            # Writes the counts since the last time.
            subprocess.run(["callgrind_control", "-d", str(self.process.pid)], check=True, capture_output=True)
            counted.append(costs(self.file.with_name(f"{self.file.name}.{index + 1}")))
        return counted[WARM_UP:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.peer.stop()


def scaled(counts, factor):
    return Counter({name: count * factor for name, count in counts.items()})


def plus(one, other):
    return Counter({name: one[name] + other[name] for name in {*one, *other}})


def middle(samples):
    """The pair of samples with the median total. A pair is a start and an end of typing. In some samples, the deadline
    of another datagram passed meanwhile."""
    pairs = [scaled(plus(one, other), 0.5) for one, other in zip(samples[::2], samples[1::2])]
    return sorted(pairs, key=Counter.total)[len(pairs) // 2]


def measure(build, work):
    """The instructions of each path, by module."""
    runs = [("line", False), ("datagram", False), ("datagram", False), ("line", True), ("datagram", True)]

    def run(number):
        reader, is_daemon = runs[number]
        with Measured(build, work, reader, 7000 + 10 * number, is_daemon=is_daemon) as measured:
            if number == 2:
                return measured.samples()
            return measured.samples(measured.own if reader == "line" else measured.peer)

    with ThreadPoolExecutor(len(runs)) as pool:
        results = list(pool.map(run, range(len(runs))))
    heartbeat = middle([scaled(counts, 1 / datagrams) for counts, datagrams in results[2] if datagrams])

    # The copies of an edge, and heartbeats, change nothing and cost the same.
    def edge(samples):
        return middle([plus(counts, scaled(heartbeat, 1 - datagrams)) for counts, datagrams in samples])

    sent = [middle([counts for counts, _ in results[number]]) for number in (0, 3)]
    return dict(zip(PATHS, [sent[0], edge(results[1]), heartbeat, sent[1], edge(results[4])]))


def table(paths):
    names = [name for name, _ in sum(paths.values(), Counter()).most_common()]
    lines = ["| module | " + " | ".join(paths) + " |", "| --- |" + " ---: |" * len(paths)]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(f"{counts[name]:,.0f}" for counts in paths.values()) + " |")
    lines.append("| **all** | " + " | ".join(f"**{sum(counts.values()):,.0f}**" for counts in paths.values()) + " |")
    return "\n".join(lines)


def exceeded(totals):
    """The paths whose totals are more than 5 % above the committed ones."""
    for line in COMMITTED.read_text().splitlines():
        name, _, allowed = line.rpartition(": ")
        if totals[name] > ALLOWED * int(allowed):
            yield f"{name}: {totals[name]:,} instructions, {int(allowed):,} are committed ({PATHS[name]})"


def main():
    parser = argparse.ArgumentParser(
        prog="Scripts/benchmark instructions", description="Count the instructions of the program's main paths.")
    parser.add_argument("--check", action="store_true", help="fail if a path takes 5 %% more than is committed")
    parser.add_argument("--write", action="store_true", help=f"write the totals to Benchmarks/{COMMITTED.name}")
    options = parser.parse_args()
    for program in "valgrind", "strip", "nm", "swift":
        if not shutil.which(program):
            sys.exit(f"benchmark: `{program}` is not installed")
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        # valgrind fails on debug information that it can't read.
        subprocess.run(["strip", "--strip-debug", "-o", work / "inkling", ROOT / ".build/release/inkling"], check=True)
        shutil.copy2(ROOT / ".build/release/inkling-lastwill", work)
        try:
            paths = measure(Build("Inkling", work), work)
        except Failure as failure:
            sys.exit(f"benchmark: {failure}")
    print(table(paths))
    totals = {name: round(sum(counts.values())) for name, counts in paths.items()}
    if options.write:
        COMMITTED.write_text("".join(f"{name}: {total}\n" for name, total in totals.items()))
    if options.check and (found := list(exceeded(totals))):
        sys.exit("\n".join(f"benchmark: {line}" for line in found))


if __name__ == "__main__":
    main()
