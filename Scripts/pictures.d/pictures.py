"""Makes the recording of the README, by the program itself. Scripts/pictures runs this in namespaces of its own."""

import argparse
import os
import pathlib
import tempfile

import animation
import recording

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM, OUTPUT = ROOT / ".build/release/inkling", ROOT / ".pictures/recording.svg"


def main():
    parser = argparse.ArgumentParser(
        prog="Scripts/pictures", description="Record two prompts for the README, by the program itself.")
    parser.add_argument("--check", action="store_true",
                        help="write nothing, and fail if the recording is out of date: what it shows in the end")
    options = parser.parse_args()
    if not os.access(PROGRAM, os.X_OK):
        raise SystemExit(f"pictures: there is no {PROGRAM}: build first, with Scripts/test")
    if os.environ.get("INKLING_NAMESPACE") != "yes":
        return
    with tempfile.TemporaryDirectory(dir="/run") as folder:
        svg = recording.record(folder, str(PROGRAM))
    if not options.check:
        OUTPUT.write_text(svg)
        return
    new, old = (sorted(animation.last(text)) for text in (svg, OUTPUT.read_text()))
    for row in new:
        print(" ".join(row))
    if new != old or not new:
        raise SystemExit(f"pictures: {OUTPUT} is out of date: make it by Scripts/pictures")


if __name__ == "__main__":
    main()
