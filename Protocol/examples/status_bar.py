#!/usr/bin/env python3
"""A status bar: who is typing, and how many messages wait, in all chats of your daemon. One line for each change.

waybar:   "custom/inkling": {"exec": "status_bar.py", "return-type": "json"}
i3blocks: [inkling]  command=status_bar.py  interval=persist  format=json  markup=pango
tmux:     set -g status-right '#(status_bar.py --tmux)'

It attaches to `inkling daemon` (Protocol/api.md) and joins no chat, so you don't look as if you were there. While no
daemon runs, the line is empty. --socket PATH names the socket of another one. Needs Python 3.10, and nothing else.
"""

import argparse
import html
import json
import os
import socket
import time
import unicodedata

RETRY, POLL = 2.0, 5.0  # seconds


def default_socket():
    """Where a daemon listens that was started without --state-dir (A-11)."""
    for folder in (os.environ.get("XDG_RUNTIME_DIR"), f"/run/user/{os.getuid()}"):
        if folder and os.path.isdir(folder):
            return os.path.join(folder, "inkling", "socket")
    return os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "inkling", "socket")


def harmless(text):
    """Names come as their owners chose them: without control and format characters, and short."""
    shown = "".join(c for c in text if c == " " or unicodedata.category(c)[0] not in "CZ")
    return shown if len(shown) <= 60 else shown[:59] + "…"


def lines(connection):
    """The lines of a daemon, as they come, and None after POLL seconds without one. Ends with the connection."""
    connection.settimeout(POLL)
    buffer = b""
    while True:
        try:
            data = connection.recv(65536)
        except TimeoutError:
            yield None
            continue
        if not data:
            return
        *complete, buffer = (buffer + data).split(b"\n")
        yield from map(json.loads, complete)


def states(path):
    """What to show, whenever it may have changed, until the daemon is gone."""
    typing, unread = {}, {}  # by chat
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(b'{"do":"subscribe","events":["typing","message"]}\n{"do":"chats"}\n')
        for line in lines(connection):
            if line is None or line["on"] == "message":
                # A message is unread while no front end shows its chat. No event reports that it was read.
                connection.sendall(b'{"do":"chats"}\n')
            elif line["on"] == "typing":
                typing[line["chat"]] = line["text"]
            elif line["on"] == "chats":
                unread = {chat["chat"]: chat["unread"] for chat in line["chats"]}
            parts = [text for text in typing.values() if text]
            parts += [f"{count} in {chat}" for chat, count in unread.items() if count]
            yield " · ".join(map(harmless, parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", default=default_socket())
    parser.add_argument("--tmux", action="store_true", help="print plain text")
    options = parser.parse_args()
    last = None
    while True:
        reading = states(options.socket)
        while True:
            try:
                text = next(reading, None)
            except OSError:  # No daemon, or no longer.
                text = None
            if (text or "") != last:
                last = text or ""
                # Bars read markup: "text" is waybar's word, "full_text" that of i3blocks. In tmux, # begins a style.
                safe = html.escape(last)
                words = {"text": safe, "full_text": safe, "class": "active" if last else "quiet"}
                print(last.replace("#", "##") if options.tmux else json.dumps(words), flush=True)
            if text is None:
                break
        time.sleep(RETRY)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):  # The bar is gone.
        os._exit(0)
