"""Counts the instructions of the program's main paths, with valgrind's callgrind.

Each path runs in a node of its own, beside an ordinary node. callgrind counts only inside the function in which
SwiftNIO's loop handles one event of a socket or of standard input, and writes a file after each. So the event that
sends or shows an edge stands apart from heartbeats and from copies of the edge, and no count has what timers do. The
work after `sendmsg` and `write` counts too. The loop takes some 1,500 instructions more around an event.

Two runs of one build give the same figures within 1 %, however busy the machine is.
"""

import argparse
import bisect
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
COMMITTED = Path(__file__).with_suffix(".md")
PROGRAM = ROOT / ".build/release/inkling"
# The order in which the linker lays out functions: see order.py. Names change with the code.
ORDER = ROOT / "Sources/Program/InklingProgram/Linking/order.txt"
LEAST_SHARE = 0.8
ALLOWED = 1.05
SAMPLES = 20
WARM_UP = 4
# Longer than copies of an edge follow it, and than the shortest time between two starts of typing.
GAP = 1.3
# Valgrind slows a program to a fiftieth.
PATIENCE = 60
# closure #1 in closure #2 in SelectableEventLoop.run(), which handles an event. callgrind can't both count in a function
# and write a file after it. But this one has a caller of its own: the same name with "TA".
COUNTED = [
    "$s8NIOPosix19SelectableEventLoopC3runyyKFyyKXEfU0_yAA08SelectorC0VyAA15NIORegistrationVGXEfU_",
]
# Of each path: the system calls in its events, and what happens.
PATHS = {
    "line to datagram": ({"read", "sendmsg"}, "a line with a key is read, and the typing datagram is sent"),
    "datagram to line": ({"recvmsg", "read", "write"}, "a typing datagram is received, and its line is written"),
    "heartbeat": ({"recvmsg", "read"}, "a heartbeat is received that changes nothing"),
    "daemon: line to datagram": ({"read", "sendmsg"}, "the first, in a daemon for an attached front end"),
    "daemon: datagram to line": ({"recvmsg", "read", "write"}, "the second, in a daemon for an attached front end"),
    "attached: line to daemon": ({"read", "write"}, "a line with a key is read, and written to the daemon"),
    "attached: line from daemon": ({"read", "write"}, "the daemon's line of who types is read, and written"),
}
# The modules of the table, by the beginning of a function's mangled name. The first match counts.
MODULES = [(name, re.compile(pattern)) for name, pattern in [
    ("core", r"\$s11InklingCore"), ("wire", r"\$s11InklingWire"), ("node", r"\$s7Inkling"),
    ("model", r"\$s12InklingModel"), ("control", r"\$s14InklingService"), ("program", r"\$s\d+Inkling"),
    ("SwiftNIO", r"\$s\d+C?NIO|c_nio"),
    ("libsodium", r"crypto_|sodium_|chacha20_|poly1305_|SHA256_|blake2"), ("Foundation", r"\$s20FoundationEssentials"),
    ("hashing", r"\$ss\d*_?Hasher|\$ss22__RawDictionaryStorage|\$s\w*4hash4into"),
    ("Swift's library", r"\$s|__u?(div|mod)ti3"),
    ("retain and release", r"_?swift_(\w*(retain|release|Retain|Release)|isUnique)|_ZNK?5swift9RefCounts"),
    ("exclusivity", r"swift_(begin|end)Access|_ZN5swift7runtime(9AccessSet|15SwiftTLSContext)"),
    ("allocation", r"swift_(slow|alloc|dealloc|initStack)|\w*(malloc|calloc|realloc|free)|unlink_chunk"),
    ("metadata and casts", r"_*(swift|Z)\w*([Mm]etadata|Witness|dynamicCast|ConcreteType|Conformance)|_ZL8getCache"),
    ("Swift's runtime", r"_*swift_|_Z"),
]]


def module(name, library):
    for module, pattern in MODULES:
        if pattern.match(name):
            return module
    return "C library" if "libc" in library or "ld-linux" in library else "other"


class Names:
    """The names in a file of callgrind's, which gives each of them once, with a number."""

    def __init__(self):
        self.known = {}

    def of(self, kind, text):
        number, _, name = text.partition(" ")
        if name:
            self.known[kind, number] = name
        return self.known[kind, number]


def costs(text):
    """The instructions in a file of callgrind's, by module, and how often each function was called."""
    names, counts, calls = Names(), Counter(), Counter()
    library, function, called, is_call, times = "", "", "", False, 0
    for line in text.splitlines():
        if line.startswith("ob="):
            library = names.of("ob", line[3:])
        elif line.startswith("fn="):
            function = names.of("fn", line[3:])
        elif line.startswith("cfn="):
            called = names.of("fn", line[4:])
        elif line.startswith("cob="):
            names.of("ob", line[4:])
        elif line.startswith("calls="):
            is_call, times = True, int(line[6:].split()[0])
        elif re.match(r"[+*\d-]", line):
            count = int(line.split()[1])
            # The line after `calls=` has the cost of the called function, which has lines of its own. That cost is 0
            # for a call by a timer.
            if not is_call:
                counts[module(function, library)] += count
            elif count > 0:
                calls[called] += times
            is_call = False
    return counts, calls


def graph(text):
    """The functions in a file of callgrind's, each with those that it calls, in the order of their addresses."""
    names, calls, function = Names(), {}, ""
    for line in text.splitlines():
        if line.startswith("fn="):
            # callgrind adds the depth of a recursion to a name.
            function = names.of("fn", line[3:]).split("'")[0]
            calls.setdefault(function, [])
        elif line.startswith("cfn="):
            calls[function].append(names.of("fn", line[4:]).split("'")[0])
    return calls


class Measured:
    """One node, daemon or attached program under callgrind, and its peer."""

    def __init__(self, build, work, port, path):
        self.path = path
        self.files = work / f"callgrind-{port}"
        valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={self.files}", "--demangle=no",
                    "--collect-atstart=no", *(f"--toggle-collect={name}" for name in COUNTED),
                    *(f"--dump-after={name}TA" for name in COUNTED)]
        self.peer = build.node("Peer", port + 1, work, *peers(port))
        self.others = [self.peer]
        if path.startswith("daemon"):
            daemon = Daemon(build, "Own", port, work, *peers(port + 1), under=valgrind, timeout=PATIENCE)
            self.process, self.own = daemon.process, FrontEnd(daemon)
            self.own.say(b'{"do":"join","chat":"kitchen"}')
        elif path.startswith("attached"):
            daemon = Daemon(build, "Own", port, work, *peers(port + 1))
            self.others.append(daemon)
            self.own = daemon.attached(under=valgrind)
            self.process = self.own.process
        else:
            self.own = Program(*valgrind, *build.chat("Own", port, work, "--no-discovery", *peers(port + 1)))
            self.process = self.own.process
        self.own.wait_for(is_online("Peer"), "the peer", PATIENCE)
        self.peer.wait_for(is_online("Own"), "the measured node", PATIENCE)
        time.sleep(GAP)

    def samples(self):
        """The instructions by module, and the file, of starts of typing, and of ends; or of heartbeats, in two lists."""
        wanted, _ = PATHS[self.path]
        edges, samples = [], ([], [])
        for index in range(WARM_UP + SAMPLES):
            edges.append(time.time())
            if self.path != "heartbeat":
                (self.own if "line to" in self.path else self.peer).compose(b"hello" if index % 2 == 0 else b"")
            time.sleep(GAP)
        self.kill()
        events = []
        for file in sorted(self.files.parent.glob(f"{self.files.name}.*"), key=lambda file: int(file.suffix[1:])):
            text = file.read_text()
            if "\ntotals:" not in text:
                continue  # the end came while callgrind wrote it
            counts, calls = costs(text)
            events.append((counts, calls, file))
        for counts, calls, file in events:
            edge = bisect.bisect(edges, file.stat().st_mtime)
            if edge > WARM_UP and {*calls} & {"read", "recvmsg", "sendmsg", "write"} == wanted:
                samples[1 - edge % 2].append((calls["recvmsg"], counts, file))
        # Some events read several datagrams: only the others count.
        reads = min((reads for reads, _, _ in samples[0] + samples[1]), default=0)
        samples = [[(counts, file) for number, counts, file in found if number == reads] for found in samples]
        if min(map(len, samples)) < SAMPLES / 4:
            raise Failure(f"callgrind counted too few events: {self.path}")
        return samples

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        for other in self.others:
            other.stop()


def measure(build, work, kept):
    """The instructions of each path, by module."""
    # Otherwise each run has hash tables of its own.
    os.environ["SWIFT_DETERMINISTIC_HASHING"] = "1"

    def run(number, path):
        with Measured(build, work, 7000 + 10 * number, path) as measured:
            # In some reads, a buffer or a table grows: hence the medians.
            middle = [sorted(samples, key=lambda sample: sample[0].total())[len(samples) // 2]
                      for samples in measured.samples()]
        if kept:
            for (_, file), edge in zip(middle, ("start", "end")):
                shutil.copy(file, kept / f"{path.replace(': ', '-').replace(' ', '-')}.{edge}")
        return Counter({name: sum(counts[name] for counts, _ in middle) / 2
                        for name in {name for counts, _ in middle for name in counts}})

    with ThreadPoolExecutor(len(PATHS)) as pool:
        return dict(zip(PATHS, pool.map(run, range(len(PATHS)), PATHS)))


def table(paths):
    names = [name for name, _ in sum(paths.values(), Counter()).most_common()]
    lines = ["| module | " + " | ".join(paths) + " |", "| --- |" + " ---: |" * len(paths)]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(f"{counts[name]:,.0f}" for counts in paths.values()) + " |")
    lines.append("| **all** | " + " | ".join(f"**{counts.total():,.0f}**" for counts in paths.values()) + " |")
    return "\n".join(lines)


def committed():
    """The committed instructions of each path, by module."""
    head, _, *rows, _ = [[cell.strip(" *") for cell in line.strip("|").split("|")]
                         for line in COMMITTED.read_text().splitlines()]
    return {name: Counter({row[0]: int(row[column].replace(",", "")) for row in rows})
            for column, name in enumerate(head) if column}


def exceeded(totals):
    """The paths whose totals are more than 5 % above the committed ones."""
    for name, counts in committed().items():
        if totals[name] > ALLOWED * counts.total():
            yield f"{name}: {totals[name]:,} instructions, {counts.total():,} are committed ({PATHS[name][-1]})"


def shipped(folder):
    """The build, copied to that folder without debug information, which valgrind can't read."""
    subprocess.run(["strip", "--strip-debug", "-o", folder / "inkling", PROGRAM], check=True)
    shutil.copy2(PROGRAM.with_name("inkling-lastwill"), folder)
    return Build("Inkling", folder)


def symbols(program):
    """The names of a program's functions."""
    command = ["nm", "--defined-only", "--format=just-symbols", program]
    return {*subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")}


def main():
    parser = argparse.ArgumentParser(
        prog="Scripts/benchmark instructions", description="Count the instructions of the program's main paths.")
    parser.add_argument("--check", action="store_true", help="fail if a path takes 5 %% more than is committed")
    parser.add_argument("--write", action="store_true", help=f"write the table to Benchmarks/{COMMITTED.name}")
    parser.add_argument("--keep", metavar="FOLDER", type=Path,
                        help="put there callgrind's file of one start and one end of typing on each path, for "
                        "callgrind_annotate")
    options = parser.parse_args()
    for program in "valgrind", "strip":
        if not shutil.which(program):
            sys.exit(f"benchmark: `{program}` is not installed")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        try:
            paths = measure(shipped(work), work, options.keep)
        except Failure as failure:
            sys.exit(f"benchmark: {failure}")
    print(table(paths))
    totals = {name: round(counts.total()) for name, counts in paths.items()}
    if options.write:
        COMMITTED.write_text(table(paths) + "\n")
    ordered = ORDER.read_text().split()
    share = len(symbols(PROGRAM) & {*ordered}) / len(ordered)
    print(f"\nThe program has {share:.0%} of the {len(ordered):,} functions in {ORDER.name}.")
    found = list(exceeded(totals))
    if share < LEAST_SHARE:
        found.append(f"{ORDER.name} is old: run Scripts/benchmark order")
    if options.check and found:
        sys.exit("\n".join(f"benchmark: {line}" for line in found))


if __name__ == "__main__":
    main()
