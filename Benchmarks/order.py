"""Writes the order in which the linker lays out the functions of the main paths.

Between two events of a chat a processor forgets most of the program. So the time of an event depends on how many pages
and lines of the program it takes. callgrind records the functions that run while people type, without those of the
start. With this order they lie side by side, each near its caller: an event then takes fewer than half as many pages.
"""

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from subprocess import TimeoutExpired
from time import sleep

from instructions import GAP, ORDER, PATIENCE, PROGRAM, Failure, graph, shipped, symbols
from processes import Daemon, FrontEnd, Program, Terminal, is_online, peers

TURNS = 10
LIBRARY = PROGRAM.with_name("inkling-benchmark")
WAYS = "node", "daemon", "attached", "prompt", "send", "call", "sequence"


def begin(way, build, work, port, valgrind, running):
    """The running program of that way, what types in it, and its peer."""
    start = running.enter_context
    if way in ("send", "call", "sequence"):
        other = start(Program(LIBRARY, "call" if way == "send" else "send", port + 1, port))
        own = start(Program(*valgrind, LIBRARY, way, port, port + 1))
        for program in own, other:
            program.wait_for(lambda _: True, "the other end", PATIENCE)
        return own.process.pid, (own if way == "send" else other)
    peer = start(build.node("Peer", port + 1, work, *peers(port)))
    if way == "daemon":
        daemon = start(Daemon(build, "Own", port, work, *peers(port + 1), under=valgrind, timeout=PATIENCE))
        own, process = start(FrontEnd(daemon)), daemon.process.pid
        own.say(b'{"do":"join","chat":"kitchen"}')
    elif way == "attached":
        own = start(start(Daemon(build, "Own", port, work, *peers(port + 1))).attached(under=valgrind))
        process = own.process.pid
    else:
        arguments = build.chat("Own", port, work, "--no-discovery", *peers(port + 1), json=way == "node")
        own = start((Program if way == "node" else Terminal)(*valgrind, *arguments))
        process = own.process.pid if way == "node" else own.process
    peer.wait_for(is_online("Own"), "the measured node", PATIENCE)
    return process, (own, peer)


def turn(ends, number):
    """Typing that begins or ends, in both directions."""
    if not isinstance(ends, tuple):
        ends.say(b"%d" % number)
        return sleep(GAP)
    for end in ends:
        if isinstance(end, Terminal):
            end.press(b"a" if number % 2 else b"\x7f")
            end.skip()
        else:
            end.compose(b"a" if number % 2 else b"")
        sleep(GAP)


def functions(build, work):
    """The functions of all ways, those of each way together."""
    def run(number):
        way, port = WAYS[number], 7000 + 10 * number
        file = work / way
        valgrind = [shutil.which("valgrind"), "-q", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={file}"]
        with ExitStack() as running:
            process, ends = begin(way, build, work, port, valgrind, running)
            for number in range(TURNS):
                if number == 2:
                    control(process, "--zero")
                turn(ends, number + 1)
            control(process, "--dump")
        return along(graph(file.with_name(f"{way}.1").read_text()))

    with ThreadPoolExecutor(len(WAYS)) as pool:
        found = {}
        for names in pool.map(run, range(len(WAYS))):
            found |= names
        return found


def control(process, action):
    subprocess.run(["callgrind_control", action, str(process)], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)


def along(calls):
    """The functions of a file of callgrind's, each before the functions that it calls."""
    called = {name for names in calls.values() for name in names}
    waiting = [name for name in reversed(calls) if name not in called]
    found = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += reversed(calls.get(name, []))
    return found | dict.fromkeys(calls)


def main():
    with tempfile.TemporaryDirectory() as work:
        try:
            found = functions(shipped(Path(work)), Path(work))
        except (Failure, TimeoutExpired) as failure:
            sys.exit(f"benchmark: {failure}")
    known = symbols(PROGRAM) | symbols(LIBRARY)
    ORDER.write_text("".join(f"{name}\n" for name in found if name in known))


if __name__ == "__main__":
    main()
