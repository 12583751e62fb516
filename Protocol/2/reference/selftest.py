#!/usr/bin/env python3
"""Nodes in a simulated network, by random schedules, and two processes on loopback: `python3 selftest.py [seeds] [first]`.

Safety, in every schedule: a message arrives at most once, in order, and if it was reported as delivered; each has one
outcome for each person; nobody is online 3.3 s after a kill; both ends are up 6 s after a cut ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from typing import Any, Callable, Optional

from chat import Chat, QueueFull
from context import Settings
from keys import user_id
from limits import MS, S
from node import Node
from noise import KeyPair
from session import Address

NAMES = ("Alice", "Bob", "Carol")
AFTER_KILL, AFTER_CUT, LAST = 3_300 * MS, 6 * S, 75 * S


class Failure(AssertionError):
    """A property that does not hold."""


class SimulatedNetwork:
    """What a node of the simulation knows of addresses."""

    def __init__(self, own: Address) -> None:
        self.own = own

    def is_on_link(self, _: Address) -> bool:
        return True

    def is_unicast(self, _: Address) -> bool:
        return True

    def is_own(self, address: Address) -> bool:
        return address == self.own

    def source(self, address: Address) -> Optional[str]:
        return address[0]


class Peer:
    """A person of the simulation, over restarts of the node."""

    def __init__(self, world: "World", name: str, number: int) -> None:
        self.world, self.name, self.keys = world, name, KeyPair(world.random.randbytes(32))
        self.user = user_id(self.keys.public)
        self.address: Address = (f"192.0.2.{number + 1}", 7_000)
        self.node: Optional[Node] = None
        self.stopped_until = 0
        self.runs = 0
        self.presence: dict[str, str] = {}
        self.typists: set[str] = set()
        self.received: list[str] = []
        self.killed_at = -S

    def start(self) -> None:
        world = self.world
        self.net = SimulatedNetwork(self.address)
        self.node = Node(self.keys, self.name, world.now, world.random, self.net, world.settings)
        self.runs += 1
        self.presence, self.typists, self.stopped_until = {}, set(), 0
        self.sent: dict[int, tuple[str, int]] = {}      # text, and outcomes that are still to come
        self.join("lobby")

    def join(self, name: str) -> Chat:
        assert self.node is not None
        chat = self.node.join(name)
        for other in self.world.peers:
            if other is not self:
                chat.openings.listed(other.name, other.keys.public, [other.address])
        return chat

    @property
    def chat(self) -> Chat:
        assert self.node is not None
        return self.node.chats["lobby"]

    def say(self, text: str) -> None:
        assert self.node is not None
        text = f"{self.name} {self.runs} {self.world.next_text()} {text}"
        try:
            number = self.node.send(self.chat, text)
        except QueueFull:
            return
        self.collect()
        self.sent[number] = text, self.sent_to

    def collect(self) -> None:
        assert self.node is not None
        self.world.transmit(self)
        for event in self.node.take_events():
            self.world.log(self, event)
            on = event["on"]
            if on == "peer" and event["chat"] == "lobby":
                self.presence[event["user"]] = event["presence"]
            elif on == "typing":
                self.typists = {user["user"] for user in event["users"]}
            elif on == "sent":
                self.sent_to = event["to"]
            elif on == "message":
                self.received.append(event["text"])
            elif on in ("delivered", "failed") and event["message"] in self.sent:
                self.outcome(on, event)

    def outcome(self, on: str, event: dict[str, Any]) -> None:
        text, left = self.sent[event["message"]]
        self.sent[event["message"]] = text, left - 1
        if left < 1:
            raise Failure(f"{self.name}: one outcome too many for {text}")
        person = next(p for p in self.world.peers if p.user == event["user"])
        if on == "delivered" and text not in person.received:
            raise Failure(f"{self.name}: {text} was reported as delivered to {person.name}, and is not there")


class World:
    """Some peers and the network between them."""

    def __init__(self, seed: int, size: int, loss: float, rekey: int = 3_600 * S, is_loud: bool = False) -> None:
        self.random, self.now, self.loss, self.is_loud = Random(seed), 1_000 * S, loss, is_loud
        self.settings = Settings(rekey)
        self.begun_at = self.now
        self._flying: list[tuple[int, int, Address, bytes, Address]] = []
        self._count = self._texts = 0
        self.cuts: set[tuple[str, str]] = set()
        self.peers: list[Peer] = []
        self.peers += [Peer(self, name, number) for number, name in enumerate(NAMES[:size])]
        for peer in self.peers:
            peer.start()

    def log(self, peer: Peer, event: dict[str, Any]) -> None:
        if self.is_loud:
            print(f"{(self.now - self.begun_at) / MS:.1f} {peer.name} "
                  + " ".join(f"{k}={str(v)[:50]}" for k, v in event.items() if k not in ("key", "chat", "verified")))

    def next_text(self) -> int:
        self._texts += 1
        return self._texts

    def transmit(self, peer: Peer) -> None:
        assert peer.node is not None
        for output in peer.node.take_datagrams():
            for _ in range(2 if self.random.random() < 0.02 else 1):
                if self.random.random() >= self.loss:
                    self._count += 1
                    delay = int(self.random.uniform(0.1, 4) * MS) + (self.random.random() < 0.02) * 40 * MS
                    heappush(self._flying, (self.now + delay, self._count, output.address, output.data, peer.address))

    def run(self, time: int) -> None:
        """Runs for a time; every deadline comes at its instant, except at stopped peers."""
        until = self.now + time
        while True:
            dues = [max(p.node.next_deadline(), p.stopped_until) for p in self.peers if p.node is not None]
            due = min([*dues, *(entry[0] for entry in self._flying[:1])])
            if due > until:
                break
            self.now = max(self.now, due)
            self._step()
        self.now = until

    def _step(self) -> None:
        for peer in self.peers:
            if peer.node is not None and peer.stopped_until <= self.now and peer.node.next_deadline() <= self.now:
                peer.node.advance(self.now)
                if not peer.node.is_late:
                    peer.node.socket_empty(self.now)
                peer.collect()
        waiting = []
        while self._flying and self._flying[0][0] <= self.now:
            entry = heappop(self._flying)
            peer = next((p for p in self.peers if p.address == entry[2] and p.node is not None), None)
            sender = next((p for p in self.peers if p.address == entry[4]), None)
            if peer is None or sender is not None and (sender.name, peer.name) in self.cuts:
                continue
            if peer.stopped_until > self.now:
                waiting.append((peer.stopped_until, *entry[1:]))
                continue
            assert peer.node is not None
            peer.node.datagram(self.now, entry[3], entry[4])
            peer.collect()
        for entry in waiting:
            heappush(self._flying, entry)
        for peer in self.peers:
            if peer.node is not None and peer.node.is_late:
                peer.node.socket_empty(self.now)
                peer.collect()

    # Properties

    def check_received(self) -> None:
        for peer in self.peers:
            if len(set(peer.received)) != len(peer.received):
                raise Failure(f"{peer.name} has a message twice")
            for author in NAMES:
                numbers = [int(text.split()[2]) for text in peer.received if text.startswith(author)]
                if numbers != sorted(numbers):
                    raise Failure(f"{peer.name} has the messages of {author} in another order: {numbers}")

    def check_gone(self, dead: Peer) -> None:
        for peer in self.peers:
            if peer.node is not None and peer.stopped_until == 0 and dead.node is None:
                if peer.presence.get(dead.user, "offline") != "offline" or dead.user in peer.typists:
                    raise Failure(f"{dead.name} is {peer.presence[dead.user]} at {peer.name} after a kill")

    def check_up(self) -> None:
        for peer in self.peers:
            for other in self.peers:
                if peer is not other and peer.node is not None and other.node is not None:
                    if peer.presence.get(other.user, "offline") == "offline":
                        raise Failure(f"{other.name} is not online at {peer.name}")

    def check_outcomes(self) -> None:
        for peer in self.peers:
            for text, left in peer.sent.values():
                if peer.node is not None and left:
                    raise Failure(f"{peer.name}: {left} outcomes of {text} are missing")

    def expect(self, is_true: Any, what: str) -> None:
        if not is_true:
            raise Failure(what)


# Random schedules

def schedule(seed: int, is_loud: bool = False) -> None:
    chance = Random(-seed - 1)
    world = World(seed, chance.choice((2, 2, 3)), chance.choice((0, 0.02, 0.1)), chance.choice((9, 3_600)) * S, is_loud)
    actions = [say, say, say, say_long, compose, compose, kill, cut, cut, cut_one_way, move, stop, rename, away, leave,
               block]
    world.run(chance.randrange(4_000) * MS)
    for _ in range(chance.randrange(4, 10)):
        action = chance.choice(actions)
        if is_loud:
            print(f"{(world.now - world.begun_at) / MS:.1f} --- {action.__name__}")
        action(world, chance)
        world.run(chance.choice((1, 50, 800, 3_000)) * MS)
        world.check_received()
    for peer in world.peers:
        if peer.node is None:
            peer.start()
        elif peer.stopped_until:
            peer.stopped_until = 0
    world.cuts.clear()
    world.run(AFTER_CUT + (60 * S if world.has_left else 0))
    world.check_up()
    world.run(LAST)
    world.check_received()
    world.check_outcomes()
    world.check_up()


World.has_left = False  # type: ignore[attr-defined]


def one(world: World, chance: Random) -> Optional[Peer]:
    running = [p for p in world.peers if p.node is not None and not p.stopped_until]
    return chance.choice(running) if running else None


def say(world: World, chance: Random) -> None:
    for _ in range(chance.choice((1, 1, 5, 30))):
        if (peer := one(world, chance)) is not None:
            peer.say("x" * chance.randrange(100))


def say_long(world: World, chance: Random) -> None:
    if (peer := one(world, chance)) is not None:
        peer.say("é" * chance.randrange(20_000))


def compose(world: World, chance: Random) -> None:
    if (peer := one(world, chance)) is not None:
        peer.chat.composer.compose(chance.choice(("", "h", "hello", "/x")))
        peer.collect()


def kill(world: World, chance: Random) -> None:
    peer = one(world, chance)
    if peer is None:
        return
    peer.node = None
    if chance.random() < 0.5:
        world.run(AFTER_KILL)
        world.check_gone(peer)
        world.run(chance.randrange(20_000) * MS)
    peer.start()


def cut(world: World, chance: Random) -> None:
    one_end, other = chance.sample(world.peers, 2)
    pair = {(one_end.name, other.name), (other.name, one_end.name)}
    world.cuts |= pair
    world.run(chance.choice((500, 2_000, 5_000, 20_000, 70_000)) * MS)
    if chance.random() < 0.5:
        one_end.node and one_end.say("during the cut")
    world.cuts -= pair
    if world.has_left:  # type: ignore[attr-defined]
        return
    world.run(AFTER_CUT)
    world.check_up()


def cut_one_way(world: World, chance: Random) -> None:
    one_end, other = chance.sample(world.peers, 2)
    world.cuts.add((one_end.name, other.name))
    world.run(chance.choice((500, 2_000, 5_000, 20_000)) * MS)
    world.cuts.discard((one_end.name, other.name))
    if not world.has_left:  # type: ignore[attr-defined]
        world.run(AFTER_CUT)
        world.check_up()


def move(world: World, chance: Random) -> None:
    """The host has another address, and discovery learns of it soon."""
    peer = one(world, chance)
    if peer is None or peer.node is None:
        return
    peer.address = peer.net.own = (f"192.0.2.{world.next_text() % 200 + 10}", 7_000)
    peer.node.network_changed()
    peer.collect()
    world.run(chance.randrange(1_000) * MS)
    for other in world.peers:
        if other is not peer and other.node is not None and not other.stopped_until:
            for chat in other.node.chats.values():
                chat.openings.listed(peer.name, peer.keys.public, [peer.address])
            other.collect()


def stop(world: World, chance: Random) -> None:
    peer = one(world, chance)
    if peer is None:
        return
    peer.stopped_until = world.now + chance.choice((300, 1_000, 4_000, 15_000)) * MS
    world.run(peer.stopped_until - world.now)
    peer.stopped_until = 0
    world.run(AFTER_CUT)
    if not world.has_left:  # type: ignore[attr-defined]
        world.check_up()


def rename(world: World, chance: Random) -> None:
    peer = one(world, chance)
    if peer is not None and peer.node is not None:
        peer.node.rename(chance.choice(("Al", "", "Bo", "Zoë")))
        peer.collect()


def away(world: World, chance: Random) -> None:
    peer = one(world, chance)
    if peer is not None and peer.node is not None:
        peer.node.set_away(chance.random() < 0.5)
        peer.collect()


def leave(world: World, chance: Random) -> None:
    """A bye, and the return, which discovery lists as new."""
    peer = one(world, chance)
    if peer is None or peer.node is None:
        return
    peer.node.leave(peer.chat)
    peer.collect()
    world.run(chance.randrange(3_000) * MS)
    peer.join("lobby")
    world.has_left = True  # type: ignore[attr-defined]


def block(world: World, chance: Random) -> None:
    peer, other = one(world, chance), chance.choice(world.peers)
    if peer is None or peer.node is None or other is peer:
        return
    peer.node.block(other.user)
    peer.collect()
    if peer.presence.get(other.user, "offline") != "offline" or other.user in peer.typists:
        raise Failure(f"{other.name} shows although blocked")
    world.run(chance.randrange(3_000) * MS)
    if peer.node is not None:
        peer.node.unblock(other.user)
    world.has_left = True  # type: ignore[attr-defined]


def run_seed(seed: int) -> Optional[str]:
    try:
        schedule(seed)
    except Exception as error:  # noqa: BLE001: each schedule tells what failed
        return f"seed {seed}: {type(error).__name__}: {error}"
    return None


def main() -> int:
    if sys.argv[1:2] == ["--loud"]:
        schedule(int(sys.argv[2]), is_loud=True)
        return 0
    seeds, first = int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with ProcessPoolExecutor() as pool:
        failed = [text for text in pool.map(run_seed, range(first, first + seeds), chunksize=5) if text]
    for text in failed:
        print(f"FAILED {text}; again: selftest.py --loud {text.split()[1].rstrip(':')}")
    print(f"{seeds - len(failed)} schedules passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
