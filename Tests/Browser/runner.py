"""Runs tests of `unittest`, prints each with its time, and writes the events that Scripts/test.d/summary.py reads."""

import argparse
import os
import signal
import sys
import time
import unittest

import harness


class Result(unittest.TestResult):
    """Prints a line for each test, and writes its events. `target` is the first word of the tests' names there."""

    def __init__(self, events, target):
        super().__init__()
        self.events = events
        self.target = target
        self.passed = 0
        self.began = {}

    def write(self, test, kind, symbol=None):
        if self.events is None:
            return
        module, _, name = test.id().partition(".")
        suite, _, method = name.rpartition(".")
        self.events.write(harness.test_event(kind, f"{self.target}.{suite}/{method}", module, symbol == "fail"))
        self.events.flush()

    def startTest(self, test):
        super().startTest(test)
        self.began[test.id()] = time.monotonic()
        self.write(test, "testStarted")

    def close(self, test, word, symbol=None, text=""):
        took = time.monotonic() - self.began.pop(test.id(), time.monotonic())
        print(f"{took:6.2f} s {word} {test.id()}", *([text.rstrip()] if text else []), sep="\n" if text else "",
              flush=True)
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

    def addSubTest(self, test, subtest, error):
        if error is not None:
            super().addSubTest(test, subtest, error)
            print(f"         in {subtest.id()}", (self.failures + self.errors)[-1][1].rstrip(), sep="\n", flush=True)

    def stopTest(self, test):
        super().stopTest(test)
        if test.id() in self.began:  # one of its parts failed
            self.close(test, "FAILED", "fail")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.began.pop(test.id(), None)
        print(f"         skipped {test.id()}: {reason}", flush=True)
        self.write(test, "testSkipped")


def parser(folder, description):
    """The arguments that all suites have."""
    arguments = argparse.ArgumentParser(prog=f"Tests/{folder.name}", description=description)
    arguments.add_argument("--events", type=argparse.FileType("a"))
    arguments.add_argument("-k", action="append", default=[], metavar="TEXT")
    return arguments


def run(folder, arguments, options):
    """Runs the tests of a folder, and ends this program."""
    if not os.access(harness.PROGRAM, os.X_OK):
        arguments.error(f"there is no {harness.PROGRAM}: build first, with Scripts/test")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    loader = unittest.TestLoader()
    if options.k:
        loader.testNamePatterns = [f"*{text}*" for text in options.k]
    result = Result(options.events, folder.name)
    began = time.monotonic()
    try:
        loader.discover(str(folder)).run(result)
    finally:
        harness.stop_all()
    failed = len(result.failures) + len(result.errors)
    print(f"{time.monotonic() - began:.0f} s in all")
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(1 if failed or not result.passed else 0)
