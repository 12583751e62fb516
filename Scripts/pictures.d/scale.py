"""The cost of a node with 1 to 50 peers, while nobody types and while its user does: datagrams, bytes, processor."""

import json
import os
import subprocess
import time

SIZES = [1, 5, 10, 20, 30, 40, 50]
SECONDS = 10  # of each measurement
PORT = 40000


class Node:
    """`inkling chat --json`, driven by its standard streams."""

    def __init__(self, program, folder, name, *options):
        self.process = subprocess.Popen(
            [program, "chat", "kitchen", "--json", "--no-config", "--no-discovery", "--name", name,
             "--state-dir", f"{folder}/{name}", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.online = set()
        self.until("ready")

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")

    def until(self, kind, enough=lambda: True):
        """Reads until a line of that kind comes and there is enough."""
        for line in self.process.stdout:
            event = json.loads(line)
            if event["on"] == "peer":
                (self.online.discard if event["presence"] == "offline" else self.online.add)(event["user"])
            if event["on"] == kind and enough():
                return event
        raise SystemExit("a node has ended")

    def processor(self):
        """The processor time of all threads, in seconds."""
        folder = f"/proc/{self.process.pid}/task"
        total = 0
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def sample(self):
        self.tell(do="stats")
        stats = self.until("stats")
        datagrams = sum(stats["datagramsSent"].values()) + sum(stats["datagramsReceived"].values())
        return time.monotonic(), datagrams, stats["bytesSent"] + stats["bytesReceived"], self.processor()

    def measure(self, is_typing):
        """Datagrams a second, bytes a second and the share of a processor."""
        begin = self.sample()
        end = time.monotonic() + SECONDS
        text = ""
        while time.monotonic() < end:
            if is_typing:
                text += "x"
                self.tell(do="compose", text=text)
            time.sleep(0.2)
        if is_typing:
            self.tell(do="compose", text="")
        after = self.sample()
        return [(late - early) / (after[0] - begin[0]) for early, late in zip(begin[1:], after[1:])]


def measure(folder, program):
    """[(peers, idle, typing)], of which the last two are as `Node.measure` has them."""
    node = Node(program, folder, "Alice", "--port", str(PORT))
    peers, results = [], []
    try:
        for size in SIZES:
            while len(peers) < size:
                peers.append(Node(program, folder, f"Peer {len(peers) + 1}", "--peer", f"127.0.0.1:{PORT}"))
                # Nobody reads what it says from here on: in a pipe there is room for it.
            if len(node.online) < size:
                node.until("peer", lambda: len(node.online) == size)
            time.sleep(3)  # Handshakes and names have passed.
            results.append((size, node.measure(False), node.measure(True)))
    finally:
        for each in [node, *peers]:
            each.process.stdin.close()
        for each in [node, *peers]:
            each.process.wait()
    return results
