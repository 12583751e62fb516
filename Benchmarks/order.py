"""Writes the order in which the linker lays out the program's functions: first those that ran most often.

callgrind counts the calls in a node, in a daemon and at a prompt, from start to end. With that order the functions of
a datagram lie side by side, and a node has fewer pages of the program in memory.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import TimeoutExpired
from time import sleep

from instructions import GAP, ORDER, PATIENCE, costs, shipped, symbols
from processes import Daemon, Failure, FrontEnd, Program, Terminal, is_online, peers

TURNS = 20
# In all measured programs together.
LEAST_CALLS = 2


def exchange(own, peer):
    """Typing and messages both ways, between heartbeats."""
    own.wait_for(is_online("Peer"), "the peer", PATIENCE)
    peer.wait_for(is_online("Own"), "the measured node", PATIENCE)
    for turn in range(TURNS):
        for node in own, peer:
            node.compose(b"hello" if turn % 2 == 0 else b"")
            sleep(GAP)
    for node in own, peer:
        node.say(b'{"do":"send","text":"hello"}')
    for node in own, peer:
        node.wait_for(lambda event: event["on"] == "message", "the message", PATIENCE)


def node(build, work, port, peer, valgrind):
    with Program(*valgrind, *build.chat("Own", port, work, "--no-discovery", *peers(port + 1))) as own:
        exchange(own, peer)
        own.process.stdin.close()
        own.process.wait(PATIENCE)


def daemon(build, work, port, peer, valgrind):
    with Daemon(build, "Own", port, work, *peers(port + 1), under=valgrind, timeout=PATIENCE) as own:
        front_end = FrontEnd(own)
        front_end.say(b'{"do":"join","chat":"kitchen"}')
        exchange(front_end, peer)
        front_end.stop()
        own.process.send_signal(signal.SIGTERM)
        own.process.wait(PATIENCE)


def prompt(build, work, port, peer, valgrind):
    with Terminal(*valgrind, *build.chat("Own", port, work, "--no-discovery", *peers(port + 1), json=False)) as own:
        peer.wait_for(is_online("Own"), "the prompt", PATIENCE)
        for _ in range(TURNS):
            own.press(b"hello\r")
            peer.wait_for(lambda event: event["on"] == "message", "the message", PATIENCE)
            peer.compose(b"hello")
            peer.say(b'{"do":"send","text":"hello"}')
            own.skip()
        own.press(b"\x04")
        os.waitid(os.P_PID, own.process, os.WEXITED | os.WNOWAIT)


def calls(build, work):
    """How often each function was called in all of them."""
    def run(number, begin):
        port, file = 7000 + 10 * number, work / begin.__name__
        valgrind = [shutil.which("valgrind"), "-q", "--tool=callgrind", "--demangle=no",
                    f"--callgrind-out-file={file}"]
        with build.node("Peer", port + 1, work, *peers(port)) as peer:
            begin(build, work, port, peer, valgrind)
        return costs(file.read_text())[1]

    ways = node, daemon, prompt
    with ThreadPoolExecutor(len(ways)) as pool:
        return sum(pool.map(run, range(len(ways)), ways), Counter())


def main():
    with tempfile.TemporaryDirectory() as work:
        try:
            counts = calls(shipped(Path(work)), Path(work))
        except (Failure, TimeoutExpired) as failure:
            sys.exit(f"benchmark: {failure}")
    # callgrind adds the depth of a recursion to a name. Other functions are those of libraries.
    functions = dict.fromkeys(name.split("'")[0] for name, count in counts.most_common() if count >= LEAST_CALLS)
    known = symbols()
    ORDER.write_text("".join(f"{name}\n" for name in functions if name in known))


if __name__ == "__main__":
    main()
