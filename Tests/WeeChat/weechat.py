"""WeeChat with the script, in a terminal and without one."""

import pathlib
import re
import shutil

import harness
import lan
from lan import numbers, until
from terminal import Terminal

SCRIPT = harness.ROOT / "Protocol/examples/weechat/inkling.py"
# Times and the list of buffers would stand beside what the tests look for. Lines that come at once are no paste.
SETTINGS = ["/set buflist.look.enabled off", "/set weechat.look.buffer_time_format \"\"",
            "/set weechat.look.paste_max_lines -1"]

lan.cell.patience = harness.TIMEOUT


class Node(lan.Lines):
    """Somebody with a daemon on the loopback, and one front end."""

    def __init__(self, name, port, peers):
        self.name, self.port, self.peers = name, port, peers
        self.state = harness.work() / f"{name}-{port}"
        self.start()

    def start(self):
        self.daemon = harness.Daemon(self.name, self.port, self.peers, self.state)
        self.front_end = harness.FrontEnd(self.state)

    def ask(self, **request):
        return self.front_end.ask(**request)

    def stop(self):
        self.front_end.stop()
        self.daemon.stop()

    def kill(self):
        self.front_end.stop()
        self.daemon.kill()

    @property
    def key(self):
        return self.front_end.ready["key"]

    def label(self):
        """This person's piece of the user ID in labels."""
        return "~" + self.front_end.ready["user"][:4]

    def types(self, chat, *names, within=None):
        """Waits until just these people type."""
        self.front_end.wait_for(
            lambda line: line["on"] == "typing" and line["chat"] == chat
            and [one["name"] for one in line["users"]] == [*names],
            f"{names} type in {chat}", within or harness.TIMEOUT)

    def reads(self, chat, text):
        return self.front_end.wait_for(
            lambda line: line["on"] == "message" and line["chat"] == chat and line["text"] == text,
            f"{text!r} in {chat}")


def folder_of(socket, script):
    """A folder of WeeChat, with the script as a user installs it."""
    folder = harness.work() / f"weechat-{next(numbers)}"
    autoload = folder / "python/autoload"
    autoload.mkdir(parents=True)
    shutil.copy(script, autoload.parent)
    (autoload / script.name).symlink_to(f"../{script.name}")
    (folder / "plugins.conf").write_text(f'[var]\npython.inkling.socket = "{socket}"\n', encoding="utf-8")
    return folder


def command_of(process):
    """The command line of a process; none if it has ended."""
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


class WeeChat(Terminal):
    """WeeChat in tmux, as a user sees it."""

    def __init__(self, socket):
        self.home = harness.work() / f"terminal-of-weechat-{next(numbers)}"
        self.home.mkdir()
        self.folder = folder_of(socket, SCRIPT)
        super().__init__(self.home, harness.environment_of_programs(self.home))
        commands = " ".join(f"-r '{command}'" for command in SETTINGS)
        self.enter(f"weechat -d {self.folder} {commands}")
        self.wait("its bar", lambda: re.search(r"\[\d\d:\d\d\]", self.status()))
        self.open("inkling")
        self.wait_for("Connected to Inkling")

    def wait(self, what, condition):
        return until(condition, lambda: f"WeeChat shows {what}, not:\n" + "\n".join(
            row for row in self.rows() if row.strip(" │")))

    def rows(self):
        """The rows of the screen, without empty ones at the end."""
        return [row.rstrip() for row in self.tmux("capture-pane", "-p").rstrip().split("\n")]

    def text(self):
        return "\n".join(self.rows())

    def open(self, buffer):
        """Shows a buffer, by its name behind `inkling.`."""
        name = buffer if buffer in ("inkling", "core.weechat") else f"inkling.{buffer}"
        self.enter(f"/buffer {name}")
        shown = name.removeprefix("core.")
        self.wait(f"the buffer {buffer}", lambda: re.search(rf"\d:{re.escape(shown)}(\W|$)", self.status()))

    def status(self):
        """The rows of the bars above the input field."""
        return "\n".join(row for row in self.rows()[-5:] if row)

    def bar(self):
        """The line that says who is typing."""
        return next((self.rows()[index - 1] for index in range(len(self.rows()) - 1, 0, -1)
                     if re.match(r"\[\d\d:\d\d\]", self.rows()[index])), "")

    def row(self, text):
        """The last row with a text, without the list of people."""
        found = [row.split("│")[0].rstrip() for row in self.rows() if text in row]
        return found[-1] if found else ""

    def people(self):
        """The rows of the list of people."""
        return [row.rsplit("│", 1)[1].strip() for row in self.rows() if "│" in row]

    def pipe(self):
        """The pipe from which WeeChat takes lines. Its name ends with the ID of WeeChat's process."""
        return next(self.folder.glob("weechat_fifo_*"))

    def clear(self):
        """Empties the input field."""
        self.press("C-u")

    def says(self, text):
        """Waits for a row with a text."""
        return self.wait(repr(text), lambda: self.row(text))

    def end(self):
        """Closes the terminal, and waits until WeeChat has written its settings."""
        processes = [pipe.name.rpartition("_")[2] for pipe in self.folder.glob("weechat_fifo_*")]
        super().end()
        until(lambda: not any(map(command_of, processes)), "WeeChat ends")


class Headless(harness.Process):
    """WeeChat without a terminal, which takes lines from a pipe."""

    def __init__(self, socket):
        self.folder = folder_of(socket, SCRIPT)
        super().__init__("weechat-headless", ["weechat-headless", "-d", self.folder])
        self.pipe = until(lambda: next(self.folder.glob("weechat_fifo_*"), None), "the pipe of WeeChat")

    def enter(self, buffer, text):
        with open(self.pipe, "w", encoding="utf-8") as pipe:
            pipe.write(f"{buffer} *{text}\n")
