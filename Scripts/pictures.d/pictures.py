"""Makes the pictures of the README, by the programs themselves. Scripts/pictures runs this in namespaces of its own."""

import argparse
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/Benchmarks")

import animation
import chart
import crowd
import instructions
import lines
import recording
from processes import Build

SIZES = [1, 5, 10, 20, 30, 40, 50]
SECONDS = 10  # of each measurement


def make_recording(programs, folder):
    return recording.record(folder, f"{programs}/inkling")


def make_accuracy(programs, folder):
    """`inkling-sim accuracy` prints a line for each rate: of the time typed shown, of the time shown true, flickers."""
    minutes, seeds = 10, 20
    command = ["inkling-sim", "accuracy", "--minutes", str(minutes), "--seeds", str(seeds)]
    text = subprocess.run([f"{programs}/{command[0]}", *command[1:]], check=True, capture_output=True, text=True).stdout
    print(text, end="")
    pattern = r"^(\d+) %( in bursts of 5)?: ([\d.]+) %, ([\d.]+) %, (\d+) in (\d+) min typed$"
    rates = re.findall(pattern, text, re.MULTILINE)
    if len(rates) != len(text.splitlines()) - 1:
        raise SystemExit("inkling-sim accuracy prints something else now")

    def series(index):
        points = {bursts: [(int(rate[0]), float(rate[index])) for rate in rates if bool(rate[1]) == bursts]
                  for bursts in (False, True)}
        return [("one by one", True, points[False]), ("five in a row", False, points[True])]

    flickers, typed = sum(int(rate[4]) for rate in rates), sum(int(rate[5]) for rate in rates)
    return lines.draw(
        "The indicator while the network loses datagrams",
        f"{' '.join(command)}: four people, {typed / 60:,.0f} hours typed in all, {flickers} flickers",
        "datagrams lost, %",
        [("Shown, % of the time that somebody typed", 90, 100, series(2)),
         ("True, % of the time that somebody was shown", 90, 100, series(3))])


def make_peers(programs, folder):
    build, ports = Build("Inkling", pathlib.Path(programs)), itertools.count(40000)
    results = []
    for size, idle, typing in crowd.measure(build, lambda: next(ports), pathlib.Path(folder), SIZES, SECONDS):
        results.append((size, idle, typing))
        print(f"{size} peers: idle {idle[0]:.1f} datagrams/s, {idle[1]:.0f} bytes/s, {idle[2]:.2%}; "
              f"typing {typing[0]:.1f} datagrams/s, {typing[1]:.0f} bytes/s, {typing[2]:.2%}")

    def series(index, factor=1):
        return [(label, is_own, [(row[0], row[column][index] * factor) for row in results])
                for label, is_own, column in (("idle", False, 1), ("typing", True, 2))]

    panels = [("Datagrams a second, both ways", series(0)), ("Bytes a second, both ways", series(1)),
              ("Processor, % of one core", series(2, 100))]
    return lines.draw(
        "What a node takes",
        "Scripts/pictures peers: a real node on loopback, while nobody types and while its user does", "peers",
        [(title, 0, max(y for _, _, points in of for _, y in points) * 1.05, of) for title, of in panels])


def make_latency(programs, folder):
    """The first part of the table that `Scripts/benchmark` made last."""
    try:
        with open(f"{ROOT}/.build/benchmark/benchmark.md") as file:
            text = file.read()
    except FileNotFoundError:
        raise SystemExit("pictures: for latency, first run Scripts/benchmark --only udp,mqtt,inkling,zenoh,cyclonedds")
    part = re.search(r"^\| \*\*(.*?)\*\*.*\n((?:\| [^*].*\n)+)", text, re.MULTILINE)

    def microseconds(words):
        value, unit = words.split()
        return float(value) * {"µs": 1, "ms": 1000}[unit]

    rows = []
    for line in part[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows.append((cells[0], microseconds(cells[1]), microseconds(cells[4]), cells[0].startswith("Inkling")))
    return chart.draw("A typing edge, beside an event of other systems", f"Scripts/benchmark: {text.splitlines()[0]}",
                      [(part[1], rows)])


KINDS = {"Inkling": {"core", "wire", "node", "model", "control", "program"}, "SwiftNIO": {"SwiftNIO"},
         "ciphers": {"libsodium"}, "C library": {"C library"}}


def make_instructions(*_):
    """A bar for each path, from the table that `Scripts/benchmark instructions --write` wrote."""
    kinds, bars = [*KINDS, "Swift: its library and runtime"], []
    for path, counts in instructions.committed().items():
        parts = dict.fromkeys(kinds, 0)
        for module, count in counts.items():
            parts[next((kind for kind, modules in KINDS.items() if module in modules), kinds[-1])] += count
        bars.append((f"{path[0].upper()}{path[1:]}", [*parts.values()]))
    return chart.bars("Instructions of the main paths", "Scripts/benchmark instructions, with one peer", kinds, bars)


def check(programs, output):
    """Whether a new recording ends like the committed one."""
    with tempfile.TemporaryDirectory(dir="/run") as folder, open(f"{output}/recording.svg") as file:
        new, old = (sorted(animation.last(svg)) for svg in (make_recording(programs, folder), file.read()))
    for row in new:
        print(" ".join(row))
    if new != old or not new:
        raise SystemExit(f"pictures: {output}/recording.svg is out of date: make it by Scripts/pictures recording")


PARTS = {"recording": make_recording, "accuracy": make_accuracy, "peers": make_peers, "latency": make_latency,
         "instructions": make_instructions}


def main():
    parser = argparse.ArgumentParser(
        prog="Scripts/pictures", description="Make the pictures of the README again, by the programs themselves.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (all of them)")
    parser.add_argument("--check", action="store_true",
                        help="make no picture, and fail if the recording is out of date: what it shows in the end")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no picture '{part}'")
    programs, output = f"{ROOT}/.build/release", f"{ROOT}/.pictures"
    for program in "inkling", "inkling-sim":
        if not os.access(f"{programs}/{program}", os.X_OK):
            raise SystemExit(f"pictures: there is no {program} in {programs}: build first, with Scripts/test")
    if os.environ.get("INKLING_NAMESPACE") != "yes":
        return
    if options.check:
        return check(programs, output)
    os.makedirs(output, exist_ok=True)
    for part, make in PARTS.items():
        if options.parts and part not in options.parts:
            continue
        with tempfile.TemporaryDirectory(dir="/run") as folder:
            svg = make(programs, folder)
        path = f"{output}/{part}.svg"
        with open(path, "w") as file:
            file.write(svg)
        print(f"{path}: {len(svg) / 1024:.0f} KiB", flush=True)


if __name__ == "__main__":
    main()
