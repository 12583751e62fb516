"""python3 Tests/Doors [--all] [--table] [--events FILE] [-k TEXT]...: does each act behind each door, prints each cell
with its time, and closes with their count. `--all` adds the slow cells. `--table` prints the table for
Documentation/doors.md instead, from cells that passed. `--events` appends the events that Scripts/test.d/summary.py
reads. With `-k`, only cells run whose name contains one of these texts."""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import threading
import time
import traceback

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Browser")]

import harness
import lan
import table
from doors import AttachedPrompt, Commands, Prompt
from programs import JSONAlone, JSONAttached
from rows import ROWS

PATIENCE = harness.TIMEOUT  # seconds
PATIENCE_WITH_FAULTS = 5  # a cell with a known fault ends by its limit


def doors():
    """The doors in the order of the table, with what makes them. The page has none without a browser."""
    page = None
    if shutil.which("chromium") and shutil.which("chromedriver"):
        from web import PageDoor as page
    return {"prompt alone": Prompt, "prompt, attached": AttachedPrompt, "page": page, "commands": Commands,
            "JSON alone": JSONAlone, "JSON, attached": JSONAttached}


class Column(threading.Thread):
    """The cells of one door, one after the other, with people of their own."""

    def __init__(self, title, make, rows, report):
        super().__init__(daemon=True)
        self.title, self.make, self.rows, self.report = title, make, rows, report
        self.door = self.bob = self.carol = None

    def run(self):
        for row in self.rows:
            began = time.monotonic()
            self.report.begun(self.title, row)
            kind, text = self.outcome(row)
            self.report.ended(self.title, row, kind, text, time.monotonic() - began)
        self.stop()

    def outcome(self, row):
        """What became of a cell: its kind, and the reason or the error."""
        if self.make is None:
            return "skipped", "there is no Chromium"
        reason = next((self.make.cannot[act] for act in row.needs if act in self.make.cannot), None)
        if reason := row.purpose.get(self.title, reason):
            return "purpose", reason
        sight, words = row.faults.get(self.title, (None, None))
        lan.cell.patience = PATIENCE_WITH_FAULTS if sight else PATIENCE
        error = self.attempt(row)
        if sight is None:
            return ("failed", error) if error else ("passed", "")
        if error is None:
            return "failed", f"the known fault is gone, so remove its mark: {sight}"
        return ("fault", sight) if words in error else ("failed", f"not the known fault ({words!r}):\n{error}")

    def attempt(self, row):
        """Runs a cell, and returns its error."""
        error = None
        try:
            self.meet(row.wants_carol)
            row.run(self.door, self.bob, *([self.carol] if row.wants_carol else []))
        except Exception:
            error = short(traceback.format_exc())
        try:
            lan.cell.patience = PATIENCE
            for one in self.door, self.bob, self.carol:
                if one is not None:
                    one.reset()
        except Exception:
            self.stop()
            error = error or short(traceback.format_exc())
        return error

    def meet(self, wants_carol):
        self.door = self.door or self.make()
        self.bob = self.bob or lan.Person("Bob")
        if wants_carol:
            self.carol = self.carol or lan.Person("Carol")

    def stop(self):
        """Ends these people. The next cell gets new ones."""
        for one in self.door, self.bob, self.carol:
            if one is not None:
                one.stop()
        self.door = self.bob = self.carol = None


def short(error):
    """The lines of a traceback that lie in a row or a door, and the error."""
    frames, _, last = error.rpartition("\nAssertionError: ")
    if not frames:
        return error
    places = [line for line in frames.split("\n  File ") if "/Doors/" in line and "in until" not in line]
    return "\n".join([*(line.split("/Doors/")[1] for line in places[1:]), "AssertionError: " + last])


class Report:
    def __init__(self, events, stream):
        self.events, self.stream = events, stream
        self.cells = {}  # by row and column
        self.lock = threading.Lock()

    def event(self, kind, column, row, failed=False):
        if self.events is not None:
            name = f"Doors.{row.name}/{column.replace(' ', '_').replace(',', '')}"
            self.events.write(harness.test_event(kind, name, "rows", failed))
            self.events.flush()

    def begun(self, column, row):
        with self.lock:
            self.event("testStarted", column, row)

    def ended(self, column, row, kind, text, seconds):
        with self.lock:
            self.cells[row.name, column] = kind, text
            words = {"failed": "FAILED", "fault": "known fault", "purpose": "on purpose"}.get(kind, kind)
            print(f"{seconds:6.2f} s {words} {row.name}, {column}", *([text.rstrip()] if text else []),
                  sep="\n         " if kind != "failed" else "\n", flush=True, file=self.stream)
            self.event("testSkipped" if kind == "skipped" else "testEnded", column, row, kind == "failed")


def main():
    parser = argparse.ArgumentParser(prog="Tests/Doors", description=__doc__)
    parser.add_argument("--events", type=argparse.FileType("a"))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("-k", action="append", default=[], metavar="TEXT")
    options = parser.parse_args()
    if not os.access(harness.PROGRAM, os.X_OK):
        parser.error(f"there is no {harness.PROGRAM}: build first, with Scripts/test")
    if os.environ.get("INKLING_BROWSER_TESTS") == "required" and doors()["page"] is None:
        parser.error("there is no Chromium for the cells of the page")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    report = Report(options.events, sys.stderr if options.table else sys.stdout)
    columns = []
    for title, make in doors().items():
        rows = [row for row in ROWS if options.all or title not in row.slow]
        rows = [row for row in rows if not options.k or any(text in f"{row.name}, {title}" for text in options.k)]
        columns.append(Column(title, make, rows, report))
    began = time.monotonic()
    try:
        for column in columns:
            column.start()
        for column in columns:
            column.join()
    finally:
        harness.stop_all()
    kinds = [kind for kind, _ in report.cells.values()]
    failed, skipped = kinds.count("failed"), kinds.count("skipped")
    if options.table:
        print(table.text(ROWS, list(doors()), report.cells))
    print(f"{time.monotonic() - began:.0f} s in all; {kinds.count('fault')} known faults, "
          f"{kinds.count('purpose')} differ on purpose", file=report.stream)
    print(f"{len(kinds) - failed - skipped} passed, {failed} failed, {skipped} skipped", file=report.stream)
    sys.exit(1 if failed or not kinds else 0)


main()
