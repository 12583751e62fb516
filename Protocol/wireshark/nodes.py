"""Captures two nodes that talk to each other on the loopback interface."""

import json
import os
import signal
import subprocess
import sys
import time

ALICE_PORT, BOB_PORT = 40123, 40124


class Node:
    """A node that is driven through the JSON-lines interface (J)."""

    def __init__(self, program, folder, name, *arguments):
        state = folder / name
        state.mkdir()
        self.name = name
        self.identity = state / "identity"
        start = [sys.executable, program] if program.endswith(".py") else [program, "chat", "--json", "--no-config"]
        command = [*start, "--no-discovery", "--state-dir", str(state), "--name", name, *arguments, "lobby"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.buffer = b""

    def do(self, command, **members):
        self.process.stdin.write(json.dumps({"do": command, **members}).encode() + b"\n")
        self.process.stdin.flush()

    def wait_for(self, kind, seconds=20, **members):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            line, found, rest = self.buffer.partition(b"\n")
            if not found:
                self.buffer += self.process.stdout.read() or b""
                time.sleep(0.01)
                continue
            self.buffer = rest
            event = json.loads(line)
            if event["on"] == kind and all(event.get(name) == value for name, value in members.items()):
                return
        raise TimeoutError(f"{self.name} did not say {kind} {members} in {seconds} s")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def talk(program, folder):
    """Two nodes find each other, type, talk and part. Returns their exit statuses, and their static private keys."""
    alice = bob = None
    try:
        alice = Node(program, folder, "Alice", "--port", str(ALICE_PORT))
        alice.wait_for("ready")
        bob = Node(program, folder, "Bob", "--port", str(BOB_PORT), "--peer", f"127.0.0.1:{ALICE_PORT}")
        for node in (alice, bob):
            node.wait_for("peer", presence="online")
        alice.do("compose", text="Hel")
        bob.wait_for("typing", text="Alice is typing")
        time.sleep(1)
        alice.do("send", text="Hello, Bob!", tag="1")
        bob.wait_for("message", text="Hello, Bob!")
        alice.wait_for("delivered")
        bob.do("away")
        alice.wait_for("peer", presence="away")
        # Time for heartbeats.
        time.sleep(1)
        for node in (alice, bob):
            node.do("quit")
        statuses = [node.process.wait(timeout=10) for node in (alice, bob)]
        # The reference keeps a key as 32 bytes.
        keys = [node.identity.read_bytes() for node in (alice, bob) if node.identity.is_file()]
        return statuses, [key for key in keys if len(key) == 32]
    except (TimeoutError, BrokenPipeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"the two nodes did not talk: {error}")
    finally:
        for node in filter(None, (alice, bob)):
            node.end()


def capture_nodes(program, folder, path):
    """Captures the datagrams of two nodes that talk. Returns the result of `talk`."""
    dumpcap = subprocess.Popen(["dumpcap", "-q", "-i", "lo", "-w", str(path)], stderr=subprocess.PIPE)
    try:
        # dumpcap prints "File:" when the capture has begun.
        while b"File:" not in (line := dumpcap.stderr.readline()):
            if not line:
                sys.exit("dumpcap did not capture")
        result = talk(program, folder)
        time.sleep(0.5)
        return result
    finally:
        dumpcap.send_signal(signal.SIGINT)
        dumpcap.wait()
