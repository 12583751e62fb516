"""summary.py FILE...: prints the time of each suite, the slowest tests, the skipped and the failed tests and a closing
line, from the events that `swift test` wrote. Exits with 1 if a test failed or did not end. A name with "attached" marks
the tests of its file: these run twice, in two ways. `--self-test` checks this program."""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SLOWEST = 20


class Summary:
    def __init__(self):
        self.begun = {}
        self.unended = []
        self.times = {}
        self.failed = []
        self.skipped = set()

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
        self.unended += self.begun
        self.begun = {}

    def add(self, test, event):
        time = event["instant"]["absolute"]
        if event["kind"] == "testStarted":
            self.begun[test] = time
        elif event["kind"] == "testSkipped":
            # A test of `unittest` begins before it skips itself.
            self.begun.pop(test, None)
            self.skipped.add(test)
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
        # Another part of the run, such as that of root, may have run a skipped test.
        skipped = sorted(self.skipped - self.times.keys() - set(self.unended))
        suites = collections.Counter(test.rpartition("/")[0] for test in skipped)
        yield from (f"skipped: {count} in {suite}" for suite, count in suites.items())
        yield from (f"failed: {test}" for test in self.failed)
        yield from (f"begun and not ended: {test}" for test in self.unended)
        passed = len(self.times) - len(self.failed)
        yield f"{passed} passed, {len(self.failed) + len(self.unended)} failed, {len(skipped)} skipped"

    @property
    def has_failures(self):
        return bool(self.failed or self.unended)


def self_test():
    """Runs this program on events of each kind."""
    def event(kind, test="one", *symbols, target="A.B"):
        return {"kind": "event", "payload": {
            "kind": kind, "testID": f"{target}/{test}()/C.swift:1:1", "instant": {"absolute": 1.0},
            "messages": [{"symbol": symbol} for symbol in symbols]}}

    begun, passed, skipped = event("testStarted"), event("testEnded", "one", "pass"), event("testSkipped")
    for what, files, status, last in [
        ("a test that passes", [[begun, passed]], 0, "1 passed, 0 failed, 0 skipped"),
        ("a test that fails", [[begun, event("testEnded", "one", "fail")]], 1, "0 passed, 1 failed, 0 skipped"),
        ("a test that does not end", [[begun], [event("testStarted", "two"), event("testEnded", "two", "pass")]], 1,
         "1 passed, 1 failed, 0 skipped"),
        ("a test that never begins", [[skipped]], 0, "0 passed, 0 failed, 1 skipped"),
        ("a test that begins and skips itself", [[begun, skipped]], 0, "0 passed, 0 failed, 1 skipped"),
        ("a test that one part skips and another runs", [[skipped], [begun, passed]], 0,
         "1 passed, 0 failed, 0 skipped"),
        ("a test that one part skips and that fails in another", [[begun, event("testEnded", "one", "fail")], [skipped]],
         1, "0 passed, 1 failed, 0 skipped"),
        ("a test that one part skips and another does not end", [[skipped], [begun]], 1, "0 passed, 1 failed, 0 skipped"),
        ("no test", [[]], 0, "0 passed, 0 failed, 0 skipped"),
    ]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, str(number)) for number in range(len(files))]
            for path, records in zip(paths, files):
                path.write_text("".join(json.dumps(record) + "\n" for record in records) + '{"kind":', encoding="utf-8")
            done = subprocess.run([sys.executable, __file__, *paths], capture_output=True, text=True)
        printed = done.stdout.splitlines()[-1] if done.stdout else done.stderr
        if (done.returncode, printed) != (status, last):
            sys.exit(f"summary.py: of {what} it says '{printed}' and ends with {done.returncode}")


if sys.argv[1:] == ["--self-test"]:
    self_test()
    sys.exit()
summary = Summary()
for name in sys.argv[1:]:
    summary.read(pathlib.Path(name))
print("\n".join(summary.lines()))
sys.exit(1 if summary.has_failures else 0)
