"""python3 Tests/Tray [--events FILE] [-k TEXT]...: runs the tests of the icon and its notifications, prints each with
its time, and closes with their count. With `-k` only those tests run whose name contains one of these texts."""

import argparse
import os
import pathlib
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Browser")]

import harness
import test_tray


class Result(unittest.TestResult):
    """Prints a line for each test, and writes its events."""

    def __init__(self, events):
        super().__init__()
        self.events = events
        self.passed = 0
        self.began = time.monotonic()

    def write(self, test, kind, symbol=None):
        if self.events is not None:
            self.events.write(harness.test_event(kind, f"Tray.{test.id().partition('.')[2].replace('.', '/')}",
                                                 "test_tray", symbol == "fail"))
            self.events.flush()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.write(test, "testStarted")

    def close(self, test, word, symbol=None, text=""):
        print(f"{time.monotonic() - self.began:6.2f} s {word} {test.id()}", *([text.rstrip()] if text else []),
              sep="\n" if text else "", flush=True)
        self.write(test, "testEnded", symbol)

    def addSuccess(self, test):
        self.passed += 1
        self.close(test, "passed")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.close(test, "FAILED", "fail", self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.close(test, "FAILED", "fail", self.errors[-1][1])


def main():
    parser = argparse.ArgumentParser(prog="Tests/Tray", description=__doc__)
    parser.add_argument("--events", type=argparse.FileType("a"))
    parser.add_argument("-k", action="append", default=[], metavar="TEXT")
    options = parser.parse_args()
    for program in harness.PROGRAM, test_tray.TRAY:
        if not os.access(program, os.X_OK):
            parser.error(f"there is no {program}: build first, with Scripts/test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [f"*{text}*" for text in options.k]
    result = Result(options.events)
    began = time.monotonic()
    try:
        loader.loadTestsFromModule(test_tray).run(result)
    finally:
        harness.stop_all()
    failed = len(result.failures) + len(result.errors)
    print(f"{time.monotonic() - began:.0f} s in all")
    print(f"{result.passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not result.passed else 0)


main()
