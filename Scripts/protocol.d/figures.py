#!/usr/bin/env python3
"""Scripts/protocol-figures [--check]: draws the figures of the specification, Protocol/figures/*.svg, with times from
limits.md, sizes from wire.md and state charts from figures/charts.json. With --check it draws nothing, and fails if a figure
is not what it would draw, or is shown in no text. The sizes of the fields in wire.md have to add up."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "protocol.d"))
sys.dont_write_bytecode = True

import charts
import layouts
import sequences
import texts
import timelines


def main():
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        return print(__doc__)
    if arguments not in ([], ["--check"]):
        sys.exit("protocol-figures: it takes --check alone; --help says what it does")
    folder = texts.FOLDER / "figures"
    layouts.check()
    pictures = [*charts.pictures(), *sequences.pictures(), *timelines.pictures()]
    faults = [fault for picture in pictures for fault in picture.faults]
    if faults:
        sys.exit("\n".join(faults))
    drawn = {f"{picture.name}.svg": picture.svg() for picture in pictures}
    if arguments:
        there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
        faults += [f"{name} is missing" for name in drawn.keys() - there.keys()]
        faults += [f"{name} is drawn by nothing" for name in there.keys() - drawn.keys()]
        faults += [
            f"{name} is old: run Scripts/protocol-figures"
            for name in drawn
            if there.get(name, drawn[name]) != drawn[name]
        ]
        shown = "".join(path.read_text(encoding="utf-8") for path in texts.FOLDER.glob("*.md"))
        faults += [f"{name} is shown in no text" for name in drawn if f"](figures/{name})" not in shown]
    else:
        for name, content in drawn.items():
            (folder / name).write_text(content, encoding="utf-8")
    for fault in sorted(faults):
        print(f"Protocol/figures: {fault}", file=sys.stderr)
    print(f"{len(drawn)} figures" + (", as they should be" if arguments and not faults else ""))
    sys.exit(1 if faults else 0)


main()
