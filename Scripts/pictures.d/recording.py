"""A recording of two real prompts side by side: what Alice and Bob see in their terminals while they chat."""

import os
import re
import subprocess
import threading
import time

import animation

COLUMNS, ROWS = 56, 10
INTERVAL = 0.1  # seconds between two looks at the terminals
KEY = 0.09  # seconds between two keys

# The steps of the recording: (person, action, value). A pause is in seconds.
SCENE = [
    (None, "pause", 0.5),
    ("bob", "type", "inkling chat"),
    (None, "pause", 0.3),
    ("bob", "press", "Enter"),
    ("alice", "wait", "Bob is here"),
    (None, "pause", 1.2),
    ("alice", "type", "Is the kettle on?"),
    (None, "pause", 0.7),
    ("alice", "press", "Enter"),
    (None, "pause", 1.0),
    ("bob", "type", "Just boiled, come over!"),
    (None, "still", None),
    (None, "pause", 0.5),
    ("bob", "press", "Enter"),
    (None, "pause", 0.8),
    ("bob", "type", "I have bisc"),
    (None, "pause", 0.7),
    ("bob", "press", "C-u"),
    (None, "pause", 1.2),
    ("alice", "type", "On my way"),
    (None, "pause", 0.4),
    ("alice", "press", "Enter"),
    (None, "pause", 0.9),
    ("alice", "press", "C-d"),
    (None, "pause", 2.5),
]
SEPARATOR = "=== cursor "


class Terminals:
    """Two terminals of one tmux server, each with a shell, in which `inkling chat` joins one secret chat."""

    def __init__(self, folder, program):
        self.socket = f"{folder}/tmux"
        invite = subprocess.run([program, "invite", "kitchen"], check=True, capture_output=True, text=True).stdout
        removed = [name for name in os.environ if name.startswith(("XDG_", "TMUX")) or name == "NO_COLOR"]
        for name in "alice", "bob":
            home = f"{folder}/{name}"
            os.makedirs(f"{home}/.config/inkling", mode=0o700)
            settings = f"{home}/.config/inkling/config.toml"
            with open(os.open(settings, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(f'name = "{name.title()}"\nchat = "{invite.strip()}"\n')
            path = f"{os.path.dirname(program)}:{os.environ['PATH']}"
            environment = [f"-u{name}" for name in removed]
            environment += [f"HOME={home}", f"PATH={path}", "PS1=$ ", "LC_ALL=C.UTF-8"]
            self.tmux("-f", "/dev/null", "new-session", "-d", "-s", name, "-x", str(COLUMNS), "-y", str(ROWS),
                      "-c", home, "env", *environment, "sh")
            # One row would be the status line's.
            self.tmux("set", "-t", name, "status", "off")

    def tmux(self, *arguments):
        command = ["tmux", "-u", "-S", self.socket, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def type(self, name, text):
        self.tmux("send-keys", "-t", name, "-l", "--", text)

    def press(self, name, key):
        self.tmux("send-keys", "-t", name, key)

    def look(self):
        """For each terminal its rows, with escape sequences, and the column and row of its cursor."""
        command = []
        for name in "alice", "bob":
            command += ["capture-pane", "-e", "-p", "-t", name, ";", "display-message", "-p", "-t", name,
                        SEPARATOR + "#{cursor_x} #{cursor_y}", ";"]
        screens, rows = [], []
        for line in self.tmux(*command[:-1]).split("\n"):
            if line.startswith(SEPARATOR):
                column, row = map(int, line.removeprefix(SEPARATOR).split())
                screens.append((rows, (column, row)))
                rows = []
            else:
                rows.append(line)
        return screens

    def wait(self, name, words, seconds=20):
        """Waits until a terminal shows words, however they are wrapped."""
        end = time.monotonic() + seconds
        while True:
            rows, _ = self.look()["alice bob".split().index(name)]
            if re.sub(r"\s+", "", words) in re.sub(r"\s+|\x1b\[[0-9;]*m", "", "".join(rows)):
                return
            if time.monotonic() > end:
                raise SystemExit(f"{name} does not see {words!r}:\n" + "\n".join(rows))
            time.sleep(0.05)

    def begin(self):
        """Alice is in the chat, and sees a clear screen."""
        self.type("alice", "inkling chat")
        self.press("alice", "Enter")
        self.wait("alice", "Still alone in kitchen.")
        self.wait("alice", "kitchen>")
        self.type("alice", "/clear")
        self.press("alice", "Enter")
        time.sleep(1)


def perform(terminals, stills):
    """Plays the scene, in real time."""
    for who, what, value in SCENE:
        if what == "pause":
            time.sleep(value)
        elif what == "still":
            stills.append(time.monotonic())
        elif what == "wait":
            terminals.wait(who, value)
        elif what == "press":
            terminals.press(who, value)
        else:
            for character in value:
                terminals.type(who, character)
                time.sleep(KEY)


def record(folder, program):
    """The recording as SVG."""
    terminals = Terminals(folder, program)
    terminals.begin()
    stills = []
    player = threading.Thread(target=perform, args=(terminals, stills))
    start = time.monotonic()
    frames = [(0, terminals.look())]
    player.start()
    while player.is_alive():
        time.sleep(INTERVAL)
        seen = time.monotonic() - start
        screens = terminals.look()
        if screens != frames[-1][1]:
            frames.append((seen, screens))
    duration = time.monotonic() - start
    seen = [" ".join(frame[1][1][0]) for frame in frames]
    if not any("Alice is typing" in text for text in seen) or "Alice has left" not in seen[-1]:
        raise SystemExit("the recording does not show what it should:\n" + "\n".join(frames[-1][1][1][0]))
    description = (
        "Two terminals side by side. Bob joins the chat in which Alice is. While Alice types, his terminal shows that "
        "she is typing, and the dots move; then her message is there, and she sees that it was delivered. Bob answers, "
        "begins another message and deletes it, and the indicator goes with it. When Alice leaves, he sees it at once.")
    return animation.draw(frames, duration, stills[0] - start, COLUMNS, ROWS, ["Alice", "Bob"], description)
