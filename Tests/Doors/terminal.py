"""A terminal with a shell, in tmux."""

import re
import subprocess

import harness
from lan import numbers, until


class Terminal(harness.Running):
    def __init__(self, home, environment):
        self.socket = home / f"terminal-{next(numbers)}"
        settings = home / "tmux.conf"
        settings.write_text("set -g history-limit 20000\nset -g status off\nset -sg escape-time 0\n")
        self.environment = {**environment, "PS1": "$ ", "TERM": "xterm-256color"}
        self.tmux("-f", settings, "new-session", "-d", "-x", 200, "-y", 50, "-c", home, "exec sh")
        super().__init__()
        self.wait("the shell", lambda: self.rows()[-1] == "$")

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *map(str, words)], capture_output=True, text=True,
                              env=self.environment, timeout=harness.TIMEOUT)
        if done.returncode != 0:
            raise AssertionError(f"tmux {words}: {done.stderr}")
        return done.stdout

    def rows(self):
        """All rows since the last `clear`."""
        rows = [row.rstrip() for row in self.tmux("capture-pane", "-p", "-J", "-S", "-").split("\n")]
        while len(rows) > 1 and not rows[-1]:
            rows.pop()
        return rows

    def text(self):
        """What the terminal shows, without the times of lines."""
        return "\n".join(re.sub(r"^\d\d:\d\d ", "", row) for row in self.rows())

    def enter(self, line):
        """Types a line and presses Enter."""
        self.tmux("send-keys", "-l", "--", line)
        self.tmux("send-keys", "Enter")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def last(self):
        return self.rows()[-1]

    def wait(self, what, condition):
        return until(condition, lambda: f"the terminal shows {what}, not:\n" + "\n".join(self.rows()[-25:]))

    def is_bold(self, text):
        """Whether bold text on the screen begins so."""
        return re.search(rf"\x1b\[1m{re.escape(text)}", self.tmux("capture-pane", "-p", "-e"))

    def wait_for(self, text):
        self.wait(repr(text), lambda: text in self.text())

    def answer(self, line, pattern):
        """Enters a line, and returns the latest match of a pattern, which has to be a new one."""
        def found():
            return list(re.finditer(pattern, self.text(), re.M))
        before = len(found())
        self.enter(line)
        return self.wait(f"{pattern!r} after {line!r}", lambda: found()[-1] if len(found()) > before else None)
