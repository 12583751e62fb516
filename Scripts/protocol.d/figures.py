"""figures.py [--check]: draws the figures of the specification, Protocol/figures/*.svg. With --check it draws nothing,
and fails if a figure is old, or if no text shows it."""

import sys

import layouts
import sequences
import texts


def check(drawn):
    """The faults of the committed figures."""
    there = {path.name: path.read_text(encoding="utf-8") for path in (texts.FOLDER / "figures").glob("*.svg")}
    shown = "".join(path.read_text(encoding="utf-8") for path in texts.FOLDER.glob("*.md"))
    for name in sorted(drawn.keys() | there.keys()):
        if name not in drawn:
            yield f"{name} is drawn by nothing: delete it"
        elif there.get(name) != drawn[name]:
            yield f"{name} is missing or old: run Scripts/protocol figures"
        elif f"](figures/{name})" not in shown:
            yield f"no text shows {name}"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: Scripts/protocol figures [--check]", file=sys.stderr)
        return 64
    layouts.check()
    pictures = sequences.conversation(), sequences.records()
    faults = [fault for picture in pictures for fault in picture.faults]
    drawn = {f"{picture.name}.svg": picture.svg() for picture in pictures}
    if arguments:
        faults += check(drawn)
    elif not faults:
        for name, content in drawn.items():
            (texts.FOLDER / "figures" / name).write_text(content, encoding="utf-8")
    for fault in faults:
        print(f"Protocol/figures: {fault}", file=sys.stderr)
    print(f"{len(drawn)} figures" + (", as they should be" if arguments and not faults else ""))
    return bool(faults)


sys.exit(main(sys.argv[1:]))
