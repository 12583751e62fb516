"""Daemons: commands, ends, and many front ends of which one does not read."""

import select
import time
from contextlib import ExitStack

import footprint
from ends import Ends
from processes import Daemon, Failure, is_online, peers

PARTS = {"daemon": "commands that a daemon answers, front ends and daemons that are killed, 64 front ends, memory"}
FRONT_ENDS = 64
MESSAGES = 3000


def measure(benchmark):
    """All measurements of the present build's daemons."""
    if not benchmark.wants("daemon"):
        return
    benchmark.say("daemon")
    build, state = benchmark.builds[0], benchmark.work / "daemon"
    port = benchmark.ports(1)
    with build.node("Bob", port, state) as bob, \
            Daemon(build, "Alice", benchmark.ports(1), state, *peers(port)) as alice:
        bob.port = port
        with alice.at_socket() as keeper:
            keeper.say(b'{"do":"join","chat":"kitchen","keep":true,"id":1}')
            keeper.wait_for(lambda line: line.get("id") == 1, "`ok`")
        bob.wait_for(is_online("Alice", "away"), "Alice")
        crowd(alice, bob, build, benchmark.table)
        Ends(benchmark).daemon(build, alice, bob, state)
    group = "a daemon with ten peers and four front ends"
    footprint.memory(benchmark, build, group, lambda *words: Daemon(build, *words))


def crowd(alice, bob, build, table):
    """Many front ends, of which one does not read, while messages come as fast as the others take them."""
    group = f"{FRONT_ENDS} front ends, one of which does not read, and {MESSAGES:,} messages"
    text = "m" * 900  # so that what waits for the one passes its bound
    with ExitStack() as running:
        idle, *reading = (running.enter_context(alice.at_socket()) for _ in range(FRONT_ENDS))
        for front_end in idle, *reading:
            front_end.wait_for(is_online("Bob"), "Bob")
        waiting = {front_end.output: front_end for front_end in reading}
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, select.POLLIN)
        got = {front_end: 0 for front_end in reading}
        late, sent = [], 0
        began = time.monotonic()
        while min(got.values()) < MESSAGES:
            if time.monotonic() - began > 120:
                raise Failure(f"of {MESSAGES} messages a front end got {min(got.values())} in 120 s")
            while sent < MESSAGES and sent < min(got.values()) + 32:
                bob.say(b'{"do":"send","text":"%s"}' % text.encode())
                sent += 1
            bob.skip()
            for descriptor, _ in poll.poll(100):
                front_end = waiting[descriptor]
                while (found := front_end.next(0))[0]:
                    event, read = found
                    if event["on"] == "message" and event.get("text") == text:
                        got[front_end] += 1
                        late.append(read / 1000 - event["at"] * 1_000_000)
                    if event["on"] == "error":
                        raise Failure(f"a front end that reads: {event}")
        took = time.monotonic() - began
        table.times(group, f"{build.name}: received by the daemon → read by a front end", late)
        table.text(group, f"{build.name}: messages a second", f"{MESSAGES / took:,.0f}")
        footprint.add(table, group, f"{build.name}: resident, the daemon", alice.process.pid, "VmRSS")
        missed = 0
        while (line := idle.next(2)[0]) and line["on"] != "error":
            missed += line["messages"] if line["on"] == "missed" else 0
        text = f"{missed:,}" if not line else f"{missed:,}, and then `{line['code']}`"
        table.text(group, f"{build.name}: messages that the other one missed", text)
