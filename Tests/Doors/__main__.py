"""python3 Tests/Doors [--all] [--table] [--events FILE] [-k TEXT]...: does each act behind each door, prints each cell
with its time, and closes with their count. `--all` adds the slow cells. `--table` only writes Documentation/doors.md,
and without `-k` this file has to be the present one. `--events` appends the events that Scripts/test.d/summary.py
reads. With `-k`, only cells run whose name contains one of these texts."""

import argparse
import os
import pathlib
import re
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

DOCUMENT = HERE.parents[1] / "Documentation/doors.md"
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
        if reason:
            return "purpose", reason
        sight, words = row.faults.get(self.title, (None, None))
        lan.cell.patience = PATIENCE_WITH_FAULTS if sight else PATIENCE
        error = self.attempt(row)
        if sight is None:
            reason = row.purpose.get(self.title)
            return ("failed", error) if error else ("purpose", reason) if reason else ("passed", "")
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
        if error:
            self.stop()
            return error
        try:
            for one in self.door, self.bob, self.carol:
                if one is not None:
                    one.reset()
        except Exception:
            self.stop()
            error = short(traceback.format_exc())
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
    """The places of a traceback in rows and doors, and the error."""
    frames, mark, last = error.rpartition('\n  File "')
    places = [line for line in f"{frames}{mark}{last}".split('\n  File "') if "/Doors/" in line]
    places = [line.split("/Doors/")[1].split("\n")[:2] for line in places[1:]]
    words = re.split(r"\n(?=[\w.]+: )", last, maxsplit=1)
    return "\n".join([*(f"  {place[0]}: {place[1].strip()}" for place in places), words[-1].rstrip()])


class Report:
    def __init__(self, events):
        self.events = events
        self.kinds = []
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
            self.kinds.append(kind)
            words = {"failed": "FAILED", "fault": "known fault", "purpose": "on purpose"}.get(kind, kind)
            print(f"{seconds:6.2f} s {words} {row.name}, {column}", *([text.rstrip()] if text else []),
                  sep="\n         " if kind != "failed" else "\n", flush=True)
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
    if options.table:
        DOCUMENT.write_text(table.text(ROWS, doors()), encoding="utf-8")
        return
    harness.work()  # before the threads that use it
    report = Report(options.events)
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
    kinds = report.kinds
    if left := sum(len(column.rows) for column in columns) - len(kinds):
        kinds += ["failed"] * left
        print(f"{left} cells did not end, because their column ended before: see above")
    if not options.k and doors()["page"] and DOCUMENT.read_text(encoding="utf-8") != table.text(ROWS, doors()):
        kinds.append("failed")
        print("Documentation/doors.md is not the present table: run Scripts/test.d/doors --table")
    failed, skipped = kinds.count("failed"), kinds.count("skipped")
    print(f"{time.monotonic() - began:.0f} s in all; {kinds.count('fault')} known faults, "
          f"{kinds.count('purpose')} differ on purpose")
    print(f"{len(kinds) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not kinds else 0)


main()
