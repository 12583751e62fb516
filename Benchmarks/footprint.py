"""The memory of a node with ten peers."""

import re
import time
from contextlib import ExitStack
from pathlib import Path

from processes import Program, peers

PARTS = {
    "memory": "memory and threads of a node with ten peers, memory of its helper",
    "links": "memory of a node with 1,024 links, to 32 peers in 32 chats each",
}
PEERS = 10
CHATS = 32  # the most of a node, and as many peers
# Later than a program gives back the memory of its start.
SETTLED = 8


def measure(benchmark):
    for build in benchmark.builds:
        if benchmark.wants("memory"):
            memory(benchmark, build)
        if benchmark.wants("links"):
            links(benchmark, build)


def status(process, name):
    """The number of that name in /proc/PROCESS/status; sizes are in KiB."""
    return int(re.search(rf"^{name}:\s*(\d+)", Path(f"/proc/{process}/status").read_text(), re.M)[1])


def add(table, group, label, process, name):
    table.text(group, label, f"{status(process, name) / 1024:.1f} MiB")


def memory(benchmark, build):
    group = "a node with ten peers"
    benchmark.say(f"memory of {group}, {build.name}")
    state = benchmark.work / f"memory-{benchmark.ports(1)}"
    with ExitStack() as running:
        ports = [benchmark.ports(1) for _ in range(PEERS)]
        speakers = [running.enter_context(build.node(f"peer {port}", port, state)) for port in ports]
        arguments = "Alice", benchmark.ports(1), state, *peers(*ports)
        measured = running.enter_context(Program(*build.chat(*arguments)))
        met = set()
        while len(met) < PEERS:
            event, _ = measured.wait_for(lambda event: event["on"] == "peer", "ten peers")
            met.add(event["user"])
        # Some traffic, as memory grows with the first of it.
        for speaker in [*speakers, measured]:
            speaker.compose(b"a")
            speaker.say(b'{"do":"send","text":"hello"}')
        time.sleep(SETTLED)
        process, table = measured.process.pid, benchmark.table
        add(table, group, f"{build.name}: resident", process, "VmRSS")
        add(table, group, f"{build.name}: of it, not of files", process, "RssAnon")
        table.text(group, f"{build.name}: threads", f"{status(process, 'Threads')}")
        for task in Path(f"/proc/{process}/task").iterdir():
            for helper in (task / "children").read_text().split():
                add(table, group, f"{build.name}: resident, its helper", helper, "VmRSS")


def links(benchmark, build):
    group = f"a node with {CHATS * CHATS:,} links"
    benchmark.say(f"memory of {group}, {build.name}")
    state = benchmark.work / f"links-{benchmark.ports(1)}"
    with ExitStack() as running:
        ports = [benchmark.ports(1) for _ in range(CHATS)]
        nodes = [running.enter_context(build.node(f"peer {port}", port, state)) for port in ports]
        measured = running.enter_context(Program(*build.chat("Alice", benchmark.ports(1), state, *peers(*ports))))
        for node in [*nodes, measured]:
            for number in range(1, CHATS):
                node.say(b'{"do":"join","chat":"c%d"}' % number)
        met = set()
        while len(met) < CHATS * CHATS:
            event, _ = measured.wait_for(lambda event: event["on"] == "peer", "all links", 120)
            met.add((event["user"], event["chat"]))
        time.sleep(SETTLED)
        add(benchmark.table, group, f"{build.name}: resident", measured.process.pid, "VmRSS")
        add(benchmark.table, group, f"{build.name}: of it, not of files", measured.process.pid, "RssAnon")
