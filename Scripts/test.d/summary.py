"""summary.py FILE...: prints the time of each suite, the slowest tests, the failed tests and a closing line, from the
events that `swift test` wrote. A name with "attached" marks the tests of its file: these run twice, in two ways."""

import collections
import json
import pathlib
import re
import sys

SLOWEST = 20


class Summary:
    def __init__(self):
        self.begun = {}
        self.times = {}
        self.failed = []
        self.skipped = 0

    def read(self, path):
        prefix = "attached: " if "attached" in path.name else ""
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # a process that was killed wrote a part of the line
            event = record["payload"]
            # A test, as Target.Suite/test()/File.swift:1:2; a suite has no parentheses.
            name, _, place = event.get("testID", "").rpartition("/")
            if record["kind"] == "event" and "(" in name and re.fullmatch(r".*:\d+:\d+", place):
                self.add(prefix + name, event)

    def add(self, test, event):
        time = event["instant"]["absolute"]
        if event["kind"] == "testStarted":
            self.begun[test] = time
        elif event["kind"] == "testSkipped":
            self.skipped += 1
        elif event["kind"] == "testEnded":
            self.times[test] = time - self.begun.pop(test, time)
            if any(message["symbol"] == "fail" for message in event["messages"]):
                self.failed.append(test)

    def lines(self):
        suites = collections.defaultdict(list)
        for test, time in self.times.items():
            suites[test.rpartition("/")[0]].append(time)
        yield "The time of each suite:"
        for suite, times in sorted(suites.items(), key=lambda item: -sum(item[1])):
            yield f"{sum(times):8.1f} s {len(times):4} test{'s in' if len(times) > 1 else '  in'} {suite}"
        yield "The slowest tests:"
        for test, time in sorted(self.times.items(), key=lambda item: -item[1])[:SLOWEST]:
            yield f"{time:8.1f} s {test}"
        yield from (f"failed: {test}" for test in self.failed)
        yield from (f"begun and not ended: {test}" for test in self.begun)
        passed, failed = len(self.times) - len(self.failed), len(self.failed) + len(self.begun)
        yield f"{passed} passed, {failed} failed, {self.skipped} skipped"


summary = Summary()
for name in sys.argv[1:]:
    summary.read(pathlib.Path(name))
print("\n".join(summary.lines()))
