"""Writes the order in which the linker lays out the functions of the program's main paths.

Between two events of a chat a processor forgets most of the program. So the time of an event depends on how many pages
and lines of the program it takes. callgrind records the functions of an event on each path. With this order they lie
side by side, each near its caller: a path then takes fewer than half as many pages.
"""

import sys
import tempfile
from pathlib import Path

from instructions import ORDER, Failure, graph, measure, shipped, symbols


def along(calls):
    """The functions of an event, each before the functions that it calls."""
    called = {name for names in calls.values() for name in names}
    waiting = [name for name in reversed(calls) if name not in called]
    found = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += reversed(calls.get(name, []))
    return found


def main():
    found = {}
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        kept = work / "kept"
        kept.mkdir()
        try:
            measure(shipped(work), work, kept)
        except Failure as failure:
            sys.exit(f"benchmark: {failure}")
        # Starts of typing take the longest paths. The node's own paths come before those of a daemon.
        for file in sorted(kept.iterdir(), key=lambda file: (file.suffix != ".start", "daemon" in file.stem, file.name)):
            found |= along(graph(file.read_text()))
    known = symbols()
    ORDER.write_text("".join(f"{name}\n" for name in found if name in known))


if __name__ == "__main__":
    main()
