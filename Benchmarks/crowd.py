"""The traffic and the processor time of a node with more and more peers, while its user types or not."""

import time
from contextlib import ExitStack
from pathlib import Path

from processes import is_online, peers


def sample(node):
    """Now, and so far: datagrams and bytes in both ways, and seconds of processor time of all threads."""
    node.say(b'{"do":"stats"}')
    stats, _ = node.wait_for(lambda event: event["on"] == "stats", "`stats`")
    datagrams = sum(stats["datagramsSent"].values()) + sum(stats["datagramsReceived"].values())
    threads = Path(f"/proc/{node.process.pid}/task").glob("*/schedstat")
    processor = sum(int(file.read_text().split()[0]) for file in threads) / 1e9
    return time.monotonic(), datagrams, stats["bytesSent"] + stats["bytesReceived"], processor


def rates(node, seconds, types):
    """Datagrams a second, bytes a second, and the share of a processor."""
    before = sample(node)
    text = b""
    while time.monotonic() < before[0] + seconds:
        if types:
            text += b"x"
            node.compose(text)
        time.sleep(0.2)
    if types:
        node.compose(b"")
    after = sample(node)
    return [(late - early) / (after[0] - before[0]) for early, late in zip(before[1:], after[1:])]


def measure(build, next_port, state, sizes, seconds):
    """Yields (peers, rates of an idle node, rates while its user types). The peers know only that node."""
    port = next_port()
    with ExitStack() as running:
        node = running.enter_context(build.node("Alice", port, state))
        count = 0
        for size in sizes:
            while count < size:
                count += 1
                # A pipe has room for the output of a peer, which no one reads from here on.
                running.enter_context(build.node(f"peer {count}", next_port(), state, *peers(port)))
                node.wait_for(is_online(f"peer {count}"), "a peer", 30)
            time.sleep(3)  # Handshakes and names have passed.
            yield size, rates(node, seconds, False), rates(node, seconds, True)
