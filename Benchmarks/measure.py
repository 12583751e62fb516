"""Measures Inkling beside other systems: the program that Scripts/benchmark runs in namespaces of its own.

Standard output gets one table in Markdown. .build/benchmark gets it too."""

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

import footprint
import speed
from processes import Build, Failure
from starts import PARTS as STARTS, Starts
from table import Table

ROOT = Path(__file__).resolve().parents[1]
PARTS = {**speed.PARTS, **STARTS, **footprint.PARTS}
EPILOG = """

All systems of the first four parts take turns in one run, so that whatever else the machine does meets all of them.
Close what else runs: the figures in the column "99 of 100" depend on it most. Samples begin with the time at which the
measuring program is about to write a line or a key. The table names the parts for which a program or a library is
missing.

`Scripts/benchmark --install` installs all of them. Where an init system runs, the package mosquitto starts a broker of
its own, which is not used here."""


class Benchmark:
    def __init__(self, options, work):
        self.samples = options.samples
        self.parts = options.only
        self.cache = ROOT / ".build/benchmark"
        self.work = work
        self.table = Table()
        self.lost = 0
        self.builds = [Build("Inkling", ROOT / ".build/release")]
        if options.before:
            self.builds.append(Build("Inkling before", options.before))
        self.next_port = 7000

    def say(self, text):
        print(f"benchmark: {text}", file=sys.stderr, flush=True)

    def ports(self, count):
        self.next_port += count
        return self.next_port - count

    def wants(self, part):
        return part in self.parts

    def leave_out(self, part, why):
        """Records that a requested part is not measured."""
        self.say(f"{part} is left out: {why}")
        self.table.notes.append(f"Left out: {part}, as {why}.")
        self.parts = [other for other in self.parts if other != part]

    def run(self):
        speed.Speed(self).measure()
        Starts(self).measure()
        footprint.measure(self)


def parsed(arguments):
    parser = argparse.ArgumentParser(
        prog="Scripts/benchmark", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measure Inkling beside other systems, in a network namespace of its own, and print one table.",
        epilog="parts:\n" + "\n".join(f"  {part:14}{text}" for part, text in PARTS.items()) + EPILOG)
    parser.add_argument("--only", metavar="PARTS", type=lambda text: text.split(","), default=list(PARTS),
                        help="measure only these parts, separated by commas")
    parser.add_argument("--samples", metavar="N", type=int, default=300,
                        help="so many events of each system (300), and of starts at most 40")
    parser.add_argument("--before", metavar="FOLDER", type=Path,
                        help="measure the programs of another build too, in turn with those in .build/release")
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.only if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}: {', '.join(PARTS)}")
    if options.samples < 1:
        parser.error("--samples: at least 1")
    for folder in ROOT / ".build/release", options.before:
        for program in "inkling", "inkling-lastwill":
            if folder and not os.access(folder / program, os.X_OK):
                parser.error(f"there is no {program} in {folder}: build first, with Scripts/test")
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
    benchmark.cache.mkdir(parents=True, exist_ok=True)
    (benchmark.cache / "benchmark.md").write_text(text)
    print(text, end="")
    sys.exit(1 if benchmark.lost else 0)


if __name__ == "__main__":
    main()
