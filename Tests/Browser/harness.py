"""The processes of the tests in a browser: daemons, page servers, front ends and Chromium. Each ends with its `stop`,
and `stop_all` ends those that are left."""

import itertools
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("INKLING", str(ROOT / ".build/release/inkling"))
TIMEOUT = float(os.environ.get("INKLING_BROWSER_TIMEOUT", 15))  # seconds, for each awaited condition
LOOPBACK = "127.0.0.1"
# All lines of all front ends, for Scripts/conformance.d/schema.py.
TRANSCRIPT = os.environ.get("INKLING_TRANSCRIPT") and open(os.environ["INKLING_TRANSCRIPT"], "ab", buffering=0)

_running = []
_marks = itertools.count(1)
_work = None


def work():
    """The folder of all state directories, profiles and logs of this run."""
    global _work
    if _work is None:
        _work = tempfile.TemporaryDirectory(prefix="inkling-web-")
        os.chmod(_work.name, 0o711)  # another user must reach the sockets in it, to be refused by them
    return pathlib.Path(_work.name)


def stop_all():
    """Ends all processes of this run, the latest first, and removes their files."""
    global _work
    while _running:
        _running[-1].stop()
    if _work is not None:
        _work.cleanup()
        _work = None


def wait(condition, what, timeout=TIMEOUT):
    """Returns the first true value of `condition`. `what` is its name, or makes it at the end. An exception counts as
    false: the page may just change."""
    deadline = time.monotonic() + timeout
    last = None
    while True:
        try:
            if last := condition():
                return last
        except Exception as error:
            if isinstance(error, Ended):
                raise
            last = error
        if time.monotonic() > deadline:
            what = what() if callable(what) else what
            raise AssertionError(f"{what}: not within {timeout} s; at the end: {str(last).strip()[:600]}")
        time.sleep(0.01)


def free_port():
    """A UDP port that nothing uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


class Ended(AssertionError):
    """A process or connection that a test needs has ended."""


class Running:
    """Something that this run ends."""

    def __init__(self):
        _running.append(self)

    def stop(self):
        if self in _running:
            _running.remove(self)
            self.end()


class Process(Running):
    """A program whose output goes to a file."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.log = work() / f"{name}-{time.monotonic_ns()}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env=environment or environment_of_programs(), cwd=work(), start_new_session=True)
        super().__init__()

    @property
    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def check(self):
        """Fails if the process has ended."""
        if (status := self.process.poll()) is not None:
            raise Ended(f"{self.name} ended with {status}: {self.output[-2000:]}")

    def signal(self, number):
        """Sends a signal. After SIGSTOP, waits until all threads stand still: one of them takes the signal, and on a busy
        machine the others go on meanwhile."""
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
            wait(lambda: all((task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in tasks.iterdir()),
                 f"{self.name} stands still")

    def kill(self):
        """Ends the process without a goodbye."""
        self.process.kill()
        self.stop()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


def environment_of_programs(home=None):
    """No settings and no session of the user who runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "HOME": str(home or work()), "LANG": "C.UTF-8", "TMPDIR": str(work())}


def test_event(kind, name, module, failed=False):
    """A line that Scripts/test.d/summary.py reads. `name` is that of a test, as Target.Suite/test."""
    return json.dumps({"kind": "event", "payload": {
        "kind": kind, "testID": f"{name}()/{module}.py:1:1", "instant": {"absolute": time.monotonic()},
        "messages": [{"symbol": "fail"}] if failed else []}}) + "\n"


class Daemon(Process):
    """A daemon with its own state directory."""

    def __init__(self, name, port, peers, state):
        self.state = state
        state.mkdir(mode=0o700, exist_ok=True)
        options = [word for peer in peers for word in ("--peer", f"{LOOPBACK}:{peer}")]
        super().__init__(f"daemon-{name}", [
            PROGRAM, "daemon", "--no-config", "--name", name, "--port", port, "--state-dir", state, "--no-discovery",
            *options])
        try:
            wait(self.answers, f"the daemon of {name} answers")
        except AssertionError:
            self.stop()
            raise

    def answers(self):
        self.check()
        front_end = FrontEnd(self.state)
        front_end.stop()
        return True


class FrontEnd(Running):
    """A connection to a daemon's socket, or to the standard streams of a node."""

    def __init__(self, state, connection=None):
        self.socket = connection or socket.socket(socket.AF_UNIX)
        self.unread = b""
        self.number = 0
        self.mark = f"lines {next(_marks)}".encode()
        self.lines = []  # events that nobody has waited for yet
        try:
            if connection is None:
                self.socket.connect(str(state / "socket"))
            super().__init__()
            self.ready = self.wait_for(lambda line: line["on"] == "ready", "ready")
        except BaseException:
            self.socket.close()
            if self in _running:
                _running.remove(self)
            raise

    def say(self, **request):
        line = json.dumps(request).encode()
        self.record(b">", line)
        self.socket.sendall(line + b"\n")

    def record(self, way, line):
        if TRANSCRIPT:
            TRANSCRIPT.write(b"%s %s %s\n" % (self.mark, way, line))

    def ask(self, **request):
        """The answer to a request."""
        self.number += 1
        number = self.number
        self.say(**request, id=number)
        answer = self.wait_for(lambda line: line.get("id") == number, f"the answer to {request['do']}")
        if answer["on"] == "error":
            raise AssertionError(f"{request}: {answer}")
        return answer

    def next(self, timeout):
        """The next line, or None."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self.unread:
            if not select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
                return None
            content = self.socket.recv(1 << 16)
            if not content:
                raise Ended("the node ended the connection")
            self.unread += content
        line, self.unread = self.unread.split(b"\n", 1)
        self.record(b"<", line)
        return json.loads(line)

    def wait_for(self, condition, what, timeout=TIMEOUT):
        """The first line that meets the condition, and that no earlier call returned."""
        for index, line in enumerate(self.lines):
            if condition(line):
                return self.lines.pop(index)
        deadline = time.monotonic() + timeout
        while True:
            line = self.next(max(0, deadline - time.monotonic()))
            if line is None:
                raise AssertionError(f"{what} did not come within {timeout} s; other lines: {self.lines[-5:]}")
            if condition(line):
                return line
            self.lines.append(line)

    def end(self):
        self.socket.close()


class PageServer(Process):
    """`inkling web`, which prints the address of the page."""

    def __init__(self, name, state, *options):
        self.state = state
        self.options = options
        super().__init__(f"web-{name}", self.command(state, *options))
        try:
            self.first = wait(self.printed, f"the page server of {name} prints its address")
        except AssertionError:
            self.stop()
            raise
        self.origin = self.first.split("/#")[0]
        self.host, port = self.origin.removeprefix("http://").split(":")
        self.port = int(port)

    @staticmethod
    def command(state, *options):
        return [PROGRAM, "web", "--no-open", "--state-dir", state, *options]

    def printed(self):
        address = address_in(self.output)
        if not address:
            self.check()
        return address

    def address(self):
        """An address with a fresh ticket, from a second `inkling web`."""
        done = subprocess.run(
            [str(word) for word in self.command(self.state)], capture_output=True, text=True, timeout=TIMEOUT,
            env=environment_of_programs(), cwd=work())
        address = address_in(done.stdout)
        if done.returncode != 0 or not address:
            raise AssertionError(f"a second inkling web: {done.returncode} {done.stdout} {done.stderr}")
        return address


def address_in(text):
    """The page's address in what a program printed."""
    for word in text.split():
        if word.startswith("http://127.") and "/#ticket=" in word:
            return word
    return None
