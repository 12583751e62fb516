#!/usr/bin/env python3
"""Nodes in a simulated network by random schedules, and two on loopback: `python3 selftest.py [seeds] [first]`.

Safety, in every schedule: a message arrives at most once, in order, and if it was reported as delivered; each has one
outcome for each person; nobody is online 3.3 s after a kill; both ends are up 6 s after a cut ends.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from typing import Any, Optional

from admission import Answering, NoRoom, Place, make_room
from chat import Chat, QueueFull
from check_timelines import SimulatedNetwork
from invitations import secret_of_talk
from keys import ChatKeys, user_id, write_invite
from limits import MAX_LEFT, MAX_LEFT_CHAINS, MOVE_BURST, MOVE_STEP, MS, S
from moves import Moves, Successor, mark
from moving import TooOften
from node import Node
from noise import KeyPair
from records import Sender
from session import Address

NAMES = ("Alice", "Bob", "Carol")
DAVE = KeyPair(bytes([7] * 32)).public
AFTER_KILL, AFTER_CUT, LAST = 3_300 * MS, 6 * S, 75 * S


class Failure(AssertionError):
    """A property that does not hold."""


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
        self.failures: list[str] = []

    def start(self) -> None:
        world = self.world
        self.net = SimulatedNetwork(self.address)
        self.node = Node(self.keys, self.name, world.now, world.random, self.net, world.rekey)
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
                self.failures += [event["why"]] if on == "failed" else []

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
        self.rekey = rekey
        self.begun_at = self.now
        self._flying: list[tuple[int, int, Address, bytes, Address]] = []
        self._count = self._texts = 0
        self.recorded: deque[tuple[Address, bytes, Address]] = deque(maxlen=2_000)
        self.has_left = False           # someone left or blocked, so that rests of L-35 may keep peers apart
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
                self.recorded.append((output.address, output.data, peer.address))
                if self.random.random() >= self.loss:
                    delay = int(self.random.uniform(0.1, 4) * MS) + (self.random.random() < 0.02) * 40 * MS
                    self.fly(delay, output.address, output.data, peer.address)

    def fly(self, delay: int, address: Address, data: bytes, source: Address) -> None:
        self._count += 1
        heappush(self._flying, (self.now + delay, self._count, address, data, source))

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
                if not peer.node.context.is_late:
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
            if peer.node is not None and peer.node.context.is_late:
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

# Random schedules

def schedule(seed: int, is_loud: bool = False) -> None:
    chance = Random(-seed - 1)
    world = World(seed, chance.choice((2, 2, 3)), chance.choice((0, 0.02, 0.1)), chance.choice((9, 3_600)) * S, is_loud)
    actions = [say, say, say, say_long, compose, compose, kill, cut, cut, cut_one_way, move, stop, rename, away, leave,
               block, replay, replay]
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


def replay(world: World, chance: Random) -> None:
    """An attacker sends recorded datagrams again, from their source or another."""
    for address, data, source in chance.choices(world.recorded, k=60):
        source = source if chance.random() < 0.5 else ("198.51.100.7", 9)
        world.fly(int(chance.uniform(1, 3_000) * MS), address, data, source)
    world.run(chance.randrange(6_000) * MS)


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


# Named scenarios

def pair(up_for: int = 11 * S, loss: float = 0, rekey: int = 3_600 * S) -> tuple[World, Peer, Peer]:
    """Two peers whose link is up for so long."""
    world = World(7, 2, loss, rekey)
    world.run(up_for)
    world.check_up()
    return world, world.peers[0], world.peers[1]


def expect(is_true: Any, what: str) -> None:
    if not is_true:
        raise Failure(what)


def set_cut(world: World, is_cut: bool, one_way: bool = False) -> None:
    ends = [("Alice", "Bob"), ("Bob", "Alice")][:1 if one_way else 2]
    world.cuts = set(ends) if is_cut else set()


def states(peer: Peer) -> list[str]:
    assert peer.node is not None
    return [link.state for link in peer.node.links()]


def typing_ends_with_its_author() -> None:
    """T-15, L-27."""
    world, alice, bob = pair()
    alice.chat.composer.compose("h")
    alice.collect()
    world.run(5 * MS)
    expect(alice.user in bob.typists, "the typing does not show")
    alice.node = None
    world.run(2_900 * MS)
    expect(alice.user in bob.typists, "the typing ended early")
    world.run(150 * MS)
    expect(not bob.typists, "the typing shows for over 3.0 s")
    world.run(250 * MS)
    world.check_gone(alice)


def a_cut_costs_no_message() -> None:
    """L-68, L-83, M-29: the state is the same after 40 s."""
    world, alice, bob = pair()
    set_cut(world, True)
    alice.say("sent into the cut")
    world.run(10 * S)
    alice.say("queued")
    world.run(30 * S)
    set_cut(world, False)
    world.run(AFTER_CUT)
    expect([text.split()[3] for text in bob.received] == ["sent", "queued"], f"{bob.received}")
    world.check_outcomes()
    expect(not alice.failures, f"{alice.failures}")


def a_long_cut_fails_messages() -> None:
    """L-83, M-18."""
    world, alice, bob = pair()
    set_cut(world, True)
    alice.say("lost")
    world.run(70 * S)
    expect(alice.failures == ["silence"], f"{alice.failures}")


def a_cut_in_one_direction_shows_at_both_ends() -> None:
    """L-44, L-45."""
    world, alice, bob = pair()
    set_cut(world, True, one_way=True)
    world.run(3_100 * MS + 800 * MS)
    expect((states(alice), states(bob)) == (["down"], ["down"]), f"{states(alice)} {states(bob)}")


def a_link_follows_its_peer() -> None:
    """L-24, L-51, L-40."""
    world, alice, bob = pair()
    alice.address = alice.net.own = ("192.0.2.99", 7_000)
    assert alice.node is not None
    alice.node.network_changed()
    alice.collect()
    for peer in (alice, bob):
        peer.presence.clear()
    world.run(5 * S)
    bob.say("to the new address")
    world.run(S)
    expect(not bob.presence and not alice.presence and alice.received, "the link did not follow")


def both_ends_move_during_a_cut() -> None:
    """L-81, L-100."""
    world, alice, bob = pair()
    set_cut(world, True)
    bob.say("while away")
    world.run(10 * S)
    for number, peer in enumerate((alice, bob)):
        peer.address = peer.net.own = (f"192.0.2.{number + 50}", 7_000)
        assert peer.node is not None
        peer.node.network_changed()
    set_cut(world, False)
    bob.chat.openings.listed(alice.name, alice.keys.public, [alice.address])
    world.run(AFTER_CUT)
    world.check_up()
    expect(len(alice.received) == 1 and not bob.failures, "the message was lost")


def a_state_is_replaced() -> None:
    """L-69: Bob's bye is lost. What was sent fails, what waits is delivered."""
    world, alice, bob = pair()
    set_cut(world, True)
    alice.say("sent")
    world.run(S)
    assert bob.node is not None
    bob.node.leave(bob.chat)
    world.run(6 * S)
    alice.say("queued")
    bob.join("lobby")
    set_cut(world, False)
    world.run(AFTER_CUT)
    expect(alice.failures == ["lost-state"] and len(bob.received) == 1, f"{alice.failures} {bob.received}")


def a_nameless_member_reads_nothing() -> None:
    """L-85, L-86, L-106."""
    former = Sender.enqueue_name
    Sender.enqueue_name = lambda sender, name: former(sender, name) if name != "Bob" else None  # type: ignore
    try:
        world = World(7, 2, 0)
        alice, bob = world.peers
        world.run(9 * S)
        alice.say("secret")
        world.run(S)
        expect(states(alice) == ["up"] and not alice.presence and not bob.received, "a nameless member shows, or reads")
        world.run(2 * S)
        expect(not bob.node.links() and not alice.node.links(), "it stayed")  # type: ignore[union-attr]
    finally:
        Sender.enqueue_name = former  # type: ignore[method-assign]
    world.run(5 * S)
    world.check_up()


def silent_acks_stall_messages() -> None:
    """M-19, M-37, M-38."""
    world, alice, bob = pair()
    assert bob.node is not None
    link = bob.node.links()[0]
    link.send_ack = lambda: None  # type: ignore[method-assign]
    alice.say("one")
    alice.say("two")
    world.run(31 * S)
    expect(alice.failures == ["stalled", "stalled"] and states(alice) == ["up"], f"{alice.failures}")
    del link.send_ack
    alice.say("three")
    world.run(3 * S)
    expect("three" in bob.received[-1] and not alice.failures[2:], f"{bob.received}")
    world.check_outcomes()


def sessions_change_and_the_state_stays() -> None:
    """L-37, L-70, L-77, W-20."""
    world, alice, bob = pair(rekey=4 * S, loss=0.1)
    assert alice.node is not None
    state, count = alice.node.links()[0], alice.node.context.random
    for _ in range(30):
        alice.say("over all sessions")
        world.run(2 * S)
        expect(len(state.sessions) <= 4 and states(alice) == ["up"], "the link did not stay up with four sessions")
    expect(count is not None and len(bob.received) == 30 and state is alice.node.links()[0], "the state was lost")
    expect(alice.node._completed >= 10, "no session followed another")


def young_sessions_stay() -> None:
    """L-77: a fifth session is dropped while each of the four was heard in the last 3 s, and replaces one later."""
    world, alice, bob = pair()
    assert alice.node is not None
    link = alice.node.links()[0]

    def handshake() -> list[int]:
        link._host.handshake(link, [link.address])
        world.run(500 * MS)
        return [session.index for session in link.sessions]
    while len(link.sessions) < 4:
        handshake()
    before = [session.index for session in link.sessions]
    sending = link.sending()
    expect(handshake() == before and link.sending() is sending, "a fifth session replaced a young one")
    world.run(4 * S)
    after = handshake()
    expect(len(after) == 4 and after != before and sending in link.sessions, "a fifth session replaced none")
    alice.say("after the fifth")
    world.run(S)
    expect(len(bob.received) == 1 and "after the fifth" in bob.received[0], f"{bob.received}")


def blocked_people_are_gone() -> None:
    """L-36, L-32, L-35."""
    world, alice, bob = pair()
    assert alice.node is not None
    alice.node.block(bob.user)
    alice.collect()
    expect(alice.presence[bob.user] == "offline", "the blocked person shows")
    world.run(200 * MS)
    expect(bob.presence[alice.user] == "offline", "the blocked person got no bye")
    world.run(70 * S)
    expect(not alice.node.links() and not bob.node.links(), "a blocked key has a link")  # type: ignore[union-attr]
    alice.node.unblock(bob.user)
    world.run(70 * S)
    world.check_up()


def invitations_wait_for_the_user() -> None:
    """M-45 to M-47, A-41: an invite joins nothing, and is shown once."""
    world, alice, bob = pair()
    assert alice.node is not None and bob.node is not None
    chat, body = alice.node.join("team", bytes(16)), write_invite("team", bytes(16)).encode()
    for _ in range(2):
        alice.node.invite(bob.keys.public, body)
        world.run(S)
    expect(len(bob.node.invitations.open) == 1 and list(bob.node.chats) == ["lobby"], "not one invitation")
    bob.node.join("their team", bytes(16)).openings.listed("a", alice.keys.public, [alice.address])
    world.run(2 * S)
    expect(not bob.node.invitations.open and chat.has(bob.keys.public), "the invitation stays, or leads nowhere")
    alice.node.invite(bob.keys.public, body)
    world.run(S)
    expect(not bob.node.invitations.open, "an invite to a chat of the node is shown")
    alice.node.invite(bob.keys.public, write_invite("x", bytes(16), bob.keys.public).encode())
    alice.say("after the invites")
    world.run(S)
    expect(not bob.node.invitations.open and len(bob.received) == 1, "another owner's invite is shown")
    world.check_outcomes()


def strangers_bury_no_invitation() -> None:
    """M-48."""
    world, alice, bob = pair()
    assert bob.node is not None
    invitations = bob.node.invitations

    def receive(number: int, is_friend: bool) -> list[int]:
        key = bytes([number]) * 32
        invitations.friends |= {key} if is_friend else set()
        invitations.receive(write_invite("x", bytes([number]) * 16).encode(), "lobby", key, "", lambda _: False)
        return [i.key[0] for i in invitations.open.values()]
    receive(20, True)
    expect([receive(n, False) for n in range(1, 5)][-1] == [20, 1, 2, 3], "a fourth of strangers is shown")
    expect([receive(n, True) for n in range(5, 11)][-1] == [20, 1, 2, 3, *range(5, 11)], "ten do not fit")
    expect(receive(11, True) == [20, 2, 3, *range(5, 12)], "a friend does not replace the oldest of strangers")
    expect(receive(12, False) == [20, 2, 3, *range(5, 12)], "a stranger replaces another")
    expect([receive(n, True) for n in range(13, 17)][-1] == [20, *range(5, 12), 13, 14], "a friend replaces a friend")
    alice.collect()


def a_talk_has_two_people() -> None:
    """W-41, L-104: Carol knows the secret, and has no link."""
    world = World(3, 3, 0)
    world.run(3 * S)
    alice, bob, carol = world.peers
    secrets = {secret_of_talk(one.keys, other.keys.public) for one, other in ((alice, bob), (bob, alice))}
    expect(len(secrets) == 1, "the two have not one secret")
    for peer, other in ((alice, bob), (bob, alice), (carol, b"")):
        assert peer.node is not None
        chat = peer.node.join("talk", *secrets, with_key=other.keys.public if other else b"")  # type: ignore
        for one in world.peers:
            if one is not peer:
                chat.openings.listed(one.name, one.keys.public, [one.address])
    world.run(5 * S)
    links = [len(peer.node.chats["talk"].links) for peer in world.peers if peer.node is not None]
    expect(links == [1, 1, 0], f"{links} links in the talk")


def team(seed: int, loss: float = 0, devices: bool = False) -> tuple[World, Peer, Peer, Peer]:
    """Three people in a chat that Alice owns. With `devices`, Carol's node has Alice's identity."""
    world = World(seed, 3, loss)
    alice, bob, carol = world.peers
    if devices:
        carol.keys, carol.user = alice.keys, alice.user
        carol.start()
    for peer in world.peers:
        enter(world, peer, bytes(16), alice.keys.public)
    world.run(5 * S)
    return world, alice, bob, carol


def enter(world: World, peer: Peer, secret: bytes, owner: bytes) -> None:
    assert peer.node is not None
    peer.node.join("team", secret, owner)
    find_all(world, peer)


def find_all(world: World, peer: Peer) -> None:
    assert peer.node is not None
    for chat in peer.node.everywhere():
        for one in world.peers if chat.secret is not None else []:
            if one is not peer:
                chat.openings.listed(f"{one.name} {one.runs}", one.keys.public, [one.address])
    peer.collect()


def move_team(peer: Peer, keys: list[bytes], removed: list[bytes], document: Optional[list[Any]] = None) -> None:
    assert peer.node is not None
    moving = peer.node.moving
    if document is not None:
        moving.moves = Moves(lambda kept: document.append(json.loads(json.dumps(kept))) or True)  # type: ignore
    moving.move(peer.node.chats["team"], keys, removed, peer.keys.public, time.time())
    peer.collect()


def in_team(world: World) -> dict[str, set[str]]:
    """Whom each person sees in the chat."""
    chats = {p.name: p.node.chats["team"] for p in world.peers if p.node is not None and "team" in p.node.chats}
    return {name: {known.name for known in chat.people.known.values() if known.presence != "offline"}
            for name, chat in chats.items()}


def team_keys(*peers: Peer) -> set[bytes]:
    """The chats of that name which these people are in."""
    return {peer.node.chats["team"].keys.chat_key for peer in peers if peer.node is not None}


def a_chat_moves() -> None:
    """M-65, M-90 to M-92: Bob was away at the move, and the owner's node restarted since. Carol is alone."""
    for seed in range(5):
        world, alice, bob, carol = team(seed, 0.1)
        expect(in_team(world)["Alice"] == {"Bob", "Carol"}, f"{in_team(world)}")
        bob.node, document = None, []
        world.run(5 * S)
        move_team(alice, [bob.keys.public], [carol.keys.public], document)
        world.run(2 * S)
        alice.start()
        assert alice.node is not None
        moving = alice.node.moving
        moving.restore(moving.moves.read(document[-1]), time.time())
        bob.start()
        enter(world, bob, bytes(16), alice.keys.public)
        find_all(world, alice)
        world.run(5 * S)
        chain = moving.moves.leading_from(moving.departed[0].keys)
        assert chain is not None
        enter(world, alice, chain.secret, chain.owner)
        find_all(world, bob)
        world.run(AFTER_CUT)
        seen = in_team(world)
        expect((seen["Alice"], seen["Bob"]) == ({"Bob"}, {"Alice"}), f"{seen}")
        expect(not carol.node.chats["team"].links, "Carol has a link")  # type: ignore[union-attr]


def give(giver: Peer, taker: Peer, successor: Successor) -> None:
    """Has a modified node give a successor in its chat."""
    assert giver.node is not None
    for link in giver.node.chats["team"].links_of(taker.keys.public):
        link.sender.close_with(successor.body)
        link.sender.successor = None            # the link goes on
    giver.collect()


def a_successor_leads_to_no_other_chat() -> None:
    """W-42: Eve owns another chat with Alice, and gives the body there by which Bob moved his."""
    world = World(5, 3, 0)
    alice, bob, eve = world.peers
    for peer, owner, secret in ((alice, bob, 1), (bob, bob, 1), (alice, eve, 2), (eve, eve, 2)):
        assert peer.node is not None
        peer.node.join("family" if secret == 1 else "team", bytes([secret] * 16), owner.keys.public)
        find_all(world, peer)
    world.run(5 * S)
    assert alice.node is not None and bob.node is not None
    chat = bob.node.chats["family"]
    bob.node.moving.move(chat, [alice.keys.public], [], bob.keys.public, time.time())
    assert chat.departure is not None
    bob.collect()
    world.run(2 * S)
    family, former = alice.node.chats["family"].keys.chat_key, alice.node.chats["team"].keys.chat_key
    give(eve, alice, chat.departure.successor)
    world.run(2 * S)
    expect(alice.node.chats["family"].keys.chat_key == family, "Eve has moved Bob's chat")
    expect(alice.node.chats["team"].keys.chat_key not in (family, former), "Eve's chat has not moved to a third one")


def only_the_first_successor_counts() -> None:
    """M-89, M-90: a removed owner, another member, and a second successor."""
    world, alice, bob, carol = team(6)
    before = team_keys(bob)
    for giver, wrong in ((alice, Successor(bytes(16), carol.keys.public, (carol.keys.public,))),
                         (carol, Successor(bytes(16), carol.keys.public))):
        give(giver, bob, wrong)
        world.run(S)
        expect(team_keys(bob) == before, f"Bob follows {giver.name}")
    assert bob.node is not None
    for _ in range(MOVE_BURST):
        expect(bob.node.chats["team"].moves.take(world.now), "the burst is smaller")
    first, second = Successor(bytes(16), alice.keys.public), Successor(bytes([1] * 16), alice.keys.public)
    old = bob.node.chats["team"].keys
    for successor in (first, second):
        give(alice, bob, successor)
        world.run(S)
    expect(team_keys(bob) == before, "Bob does not wait")
    world.run(MOVE_STEP)
    expect(team_keys(bob) == {first.keys(old).chat_key}, "Bob is not in the first chat")


def many_moves_strand_nobody() -> None:
    """M-93, M-88: Bob is present, Carol is away and comes back to a chat that ended as a departed one. Dave is chosen
    at first alone."""
    world, alice, bob, carol = team(8)
    assert alice.node is not None
    former = alice.node.chats["team"]
    carol.node, moved = None, 0
    everybody = [bob.keys.public, carol.keys.public]
    move_team(alice, [*everybody, DAVE], [])
    expect(DAVE in former.departure.chosen, "Dave is not chosen")  # type: ignore[union-attr]
    while moved < 12:
        try:
            move_team(alice, everybody, [])
            moved += 1
            expect(DAVE not in former.departure.chosen, "Dave is still chosen")  # type: ignore[union-attr]
        except TooOften:
            expect(moved >= 7, f"only {moved + 1} moves at once")
            world.run(S)
        world.run(200 * MS)
        find_all(world, alice)
        find_all(world, bob)
    chosen = [chat.departure.chosen for chat in alice.node.moving.departed if chat.departure is not None]
    expect(len(chosen) == 8, f"{len(chosen)} departed chats")
    world.run(2 * MOVE_STEP)
    find_all(world, bob)
    world.run(2 * S)
    expect(len(team_keys(alice, bob)) == 1, "Bob is stranded")


def a_member_by_hand_follows_two_moves() -> None:
    """M-91: peers by hand go along, and so does a member who comes back between the two."""
    world, alice, bob, carol = team(9)
    for _ in range(2):
        move_team(alice, [bob.keys.public, carol.keys.public], [])
        world.run(500 * MS)
    for peer in world.peers:
        find_all(world, peer)
    world.run(AFTER_CUT)
    expect(len(team_keys(*world.peers)) == 1, f"they are in {len(team_keys(*world.peers))} chats")


def moves_meet() -> None:
    """M-91, A-45: chains that meet become one, and the node joins no chat again that it left by a move."""
    keys = [ChatKeys("", bytes([1] * 16), KeyPair(bytes([9] * 32)).public)]
    owner, moves = keys[0], Moves()
    steps = [Successor(bytes([number] * 16), KeyPair(bytes([9] * 32)).public) for number in range(80)]
    for step in steps:
        keys.append(step.keys(keys[-1]))
    for at in (2, 0, 1):
        moves = moves.moved(keys[at], steps[at])
    chain = moves.leading_from(keys[0])
    expect(chain is not None and len(chain.left) == 3 and chain.newest == mark(keys[3]), "the chains stay apart")
    for at in range(3, 80):
        moves = moves.moved(keys[at], steps[at])
    expect(moves.leading_from(keys[80 - MAX_LEFT - 1]) is None and moves.leading_from(keys[80 - MAX_LEFT]) is not None,
           "not the last 64 chats count")
    for number in range(MAX_LEFT_CHAINS + 100):
        other = ChatKeys("", number.to_bytes(16, "big"), KeyPair(bytes([8] * 32)).public)
        moves = moves.moved(other, steps[0]).with_newest(steps[0].keys(other), is_left=True)
    chain = moves.leading_from(keys[79])
    expect(chain is not None and chain.newest == mark(keys[80]), "other chains evict this one")
    document: list[Any] = []
    Moves(lambda kept: document.append(kept) or True, moves._chains).keep([])  # type: ignore[func-returns-value]
    expect(len(document[0]["chains"]) == MAX_LEFT_CHAINS + 1, f"{len(document[0]['chains'])} chains")
    again = Moves()
    again.read(json.loads(json.dumps(document[0])))
    expect(again.leading_from(keys[79]) == chain, "the chain changes on disk")


def devices_of_an_owner_move_together() -> None:
    """M-94: the two devices don't show each other, and the one gives the successor to the other."""
    world, alice, bob, other = team(3, devices=True)
    expect([len(seen) for seen in in_team(world).values()] == [1, 1, 1], f"{in_team(world)}")
    move_team(alice, [bob.keys.public], [])
    for _ in range(3):
        world.run(3 * S)
        for peer in world.peers:
            find_all(world, peer)
    expect([len(seen) for seen in in_team(world).values()] == [1, 1, 1], f"{in_team(world)}")
    expect(len(team_keys(*world.peers)) == 1, "the devices are not in one chat")


def two_moves_at_once_split_the_chat() -> None:
    """M-90, M-94: two devices of the owner move while apart. Each tells the user once, and Bob is in one chat."""
    world, alice, bob, other = team(4, devices=True)
    told: list[str] = []
    for peer in (alice, other):
        assert peer.node is not None
        peer.node.context.emit = lambda event, name=peer.name: (  # type: ignore[method-assign, misc]
            told.append(name) if event.get("code") == "moved-apart" else None)
    set_cut(world, True)
    move_team(alice, [bob.keys.public], [])
    move_team(other, [bob.keys.public], [])
    world.run(S)
    set_cut(world, False)
    for _ in range(30):
        world.run(3 * S)
        for peer in world.peers:
            find_all(world, peer)
    expect(len(team_keys(alice, other)) == 2 and team_keys(bob) < team_keys(alice, other), "the chat is not split")
    expect(sorted(told) == ["Alice", "Carol"], f"{told} were told")


def chats_stand_apart() -> None:
    """L-58: several chats, one of which is left."""
    world, alice, bob = pair()
    others = [peer.join("attic") for peer in (alice, bob)]
    world.run(2 * S)
    expect(all(len(peer.node.links()) == 2 for peer in (alice, bob) if peer.node), "the second chat has no link")
    assert alice.node is not None
    alice.node.leave(others[0])
    world.run(S)
    expect(not others[1].links and states(bob) == ["up"], "leaving a chat touched another")
    alice.say("still here")
    world.run(S)
    expect(len(bob.received) == 1, "the first chat is silent")


def a_flood_of_messages_arrives() -> None:
    """M-12, M-13, M-34 at 10 % loss."""
    world, alice, bob = pair(loss=0.1)
    for _ in range(300):
        alice.say("x" * 3_000)
    world.run(60 * S)
    expect(len(bob.received) == 300 and not alice.failures, f"{len(bob.received)} arrived")
    world.check_received()


def people_meet_under_load() -> None:
    """L-9, L-11, L-13: with retries and cookies, at 10 % loss."""
    former = Answering.is_loaded
    Answering.is_loaded = lambda *_: True  # type: ignore[method-assign, assignment]
    try:
        world = World(7, 3, 0.1)
        world.run(4 * S)
        world.check_up()
    finally:
        Answering.is_loaded = former  # type: ignore[method-assign]


def a_full_pool_holds_messages_back() -> None:
    """M-20, M-39 to M-41: Bob's user takes nothing for 10 s."""
    world, alice, bob = pair()
    assert bob.node is not None
    pools, taken = bob.node.context.pools, []
    pools.texts.size = pools.unfinished.size = 1 << 21
    pools.texts.remove = lambda *text: taken.append(text)  # type: ignore[method-assign]
    for number in range(60):
        alice.say("x" * (6_000 if number % 2 else 100))
    world.run(10 * S)
    held = pools.texts.held["source", alice.address[0]]
    expect((1 << 21) // 32 < held <= (1 << 21) // 16 and len(bob.received) < 60, f"{held} bytes are held")
    del pools.texts.remove
    for text in taken:
        pools.texts.remove(*text)
    bob.collect()
    world.run(5 * S)
    expect(len(bob.received) == 60 and not alice.failures, f"{len(bob.received)} arrived")
    expect(not pools.texts.held and not pools.unfinished.held, "bytes stay in the pools")
    world.check_received()


def places_go_by_rank_and_source() -> None:
    """L-39, L-52, L-53, L-99."""
    class Made:
        def __init__(self, made_at: int, is_down: bool = False) -> None:
            self.made_at, self.is_down = made_at, is_down

    def place(number: int, rank: int, source: str, is_down: bool = False, chat: str = "a") -> Place:
        return Place(Made(number, is_down), chat, number.to_bytes(4, "big"), rank, source)

    def result(places: list[Place], new: Place) -> Optional[int]:
        try:
            replaced = make_room(places, new, 2)
            return None if replaced is None else replaced.link.made_at
        except NoRoom:
            return -1
    few = [place(n, 0, "s") for n in range(64)]
    expect(result(few[:63], place(99, 0, "s")) is None and result(few, place(99, 0, "s")) == -1, "64 of a source")
    expect(result(few, place(99, 1, "s")) == 63 and result(few, place(99, 0, "t")) is None, "rank within a source")
    full = [place(n, 0, f"s{n % 500}", n == 500) for n in range(1_024)]
    expect(result(full, place(9_999, 1, "t")) == 500, "down links go first")
    expect(result(full[:500] + full[501:] + [place(1_024, 0, "u")], place(9_999, 1, "t")) == 1_024, "then the newest")
    expect(result(full, place(9_999, 0, "t")) == 1_000, "the newest of the source with the most")
    single = [place(n, 0, f"s{n}") for n in range(1_024)]
    expect(result(single, place(9_999, 0, "t")) == -1, "nobody has too much")
    expect(result(single, place(9_999, 0, "t", chat="b")) == 1_023, "the chat over its share")
    of_key = [Place(Made(n, n == 3), "a", b"k", 0, f"s{n}") for n in range(8)]
    expect(result(of_key, Place(None, "a", b"k", 0, "t")) == 3, "a ninth link of a key")
    expect(result(of_key[:3] + of_key[4:] + [Place(Made(9), "a", b"k", 0, "t")], of_key[0]) == -1, "and no down one")


# Two processes on loopback

class Process:
    """A driven node; a thread reads its events."""

    def __init__(self, name: str, state: str, *words: str) -> None:
        self.name, self.events, self._news = name, [], threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("main.py")), "lobby", "--name", name, "--state-dir",
             f"{state}/{name}", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.events: list[dict[str, Any]]
        threading.Thread(target=self._read, daemon=True).start()
        self.ready = self.expect("ready")

    def _read(self) -> None:
        for line in self._process.stdout or ():
            with self._news:
                self.events.append(json.loads(line))
                self._news.notify_all()

    def do(self, do: str, **members: Any) -> int:
        """Returns where the events after it begin."""
        assert self._process.stdin
        since = len(self.events)
        self._process.stdin.write(json.dumps({"do": do, **members}).encode() + b"\n")
        self._process.stdin.flush()
        return since

    def expect(self, on: str, since: int = 0, seconds: float = 8, **members: Any) -> dict[str, Any]:
        end = time.monotonic() + seconds
        with self._news:
            while True:
                for event in self.events[since:]:
                    if event["on"] == on and all(event.get(name) == value for name, value in members.items()):
                        return event
                if time.monotonic() >= end:
                    raise Failure(f"{self.name} wrote no {on} {members}, but {self.events[-3:]}")
                self._news.wait(max(0.001, end - time.monotonic()))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def quit(self) -> int:
        if self._process.poll() is None:
            self.do("quit")
        return self._process.wait(5)


def processes_on_loopback() -> None:
    """They meet, type, write, change sessions, are killed and come back, block, and use a second chat."""
    with tempfile.TemporaryDirectory() as folder:
        bob = Process("Bob", folder, "--rekey", "2")
        peer = f"127.0.0.1:{bob.ready['port']}"
        alice = Process("Alice", folder, "--rekey", "2", "--peer", peer)
        try:
            converse(alice, bob, folder, peer)
        finally:
            alice.kill()
            bob.kill()


def converse(alice: Process, bob: Process, folder: str, peer: str) -> None:
    them, user = alice.ready["user"], bob.ready["user"]
    alice.expect("peer", user=user, presence="online", name="Bob")
    bob.expect("peer", user=them, presence="online", name="Alice")
    alice.do("compose", text="h")
    bob.expect("typing", users=[{"user": them, "name": "Alice"}])
    text = "é" * 30_000
    alice.do("send", text=text)
    bob.expect("message", text=text)
    alice.expect("delivered", user=user)
    time.sleep(5)
    since = bob.do("send", text="after other sessions")
    alice.expect("message", text="after other sessions")
    expect(not any(e["on"] == "peer" and e["presence"] == "offline" for e in bob.events), "rekeying ended a link")
    alice.do("compose", text="")
    alice.do("compose", text="again")
    bob.expect("typing", since, users=[{"user": them, "name": "Alice"}])
    alice.kill()
    began, since = time.time(), len(bob.events)
    gone = bob.expect("peer", since, user=them, presence="offline", why="silence")
    expect(gone["at"] - began < 3.4 and bob.expect("typing", since, users=[]), "a killed node shows for too long")
    since = len(bob.events)
    alice = Process("Alice", folder, "--peer", peer)
    bob.expect("peer", since, user=them, presence="online")
    for process in (alice, bob):
        process.do("join", chat="attic")
    alice.expect("peer", chat="attic", user=user, presence="online")
    bob.expect("peer", chat="attic", user=them, presence="online")
    bob.do("send", chat="attic", text="up here")
    alice.expect("message", chat="attic", text="up here")
    since = alice.do("block", user=user)
    alice.expect("peer", since, chat="lobby", user=user, presence="offline", why="blocked")
    alice.do("unblock", user=user)
    alice.expect("peer", since, 12, chat="lobby", user=user, presence="online")
    since = len(bob.events)
    expect(alice.quit() == 0, "the node did not exit with status 0")
    bob.expect("peer", since, 2, chat="lobby", user=them, presence="offline", why="bye")
    expect(bob.quit() == 0, "the node did not exit with status 0")


SCENARIOS = (typing_ends_with_its_author, a_cut_costs_no_message, a_long_cut_fails_messages,
             a_cut_in_one_direction_shows_at_both_ends, a_link_follows_its_peer, both_ends_move_during_a_cut,
             a_state_is_replaced, a_nameless_member_reads_nothing, silent_acks_stall_messages,
             sessions_change_and_the_state_stays, young_sessions_stay, blocked_people_are_gone,
             invitations_wait_for_the_user, strangers_bury_no_invitation, a_talk_has_two_people, chats_stand_apart,
             a_flood_of_messages_arrives, people_meet_under_load, a_full_pool_holds_messages_back,
             places_go_by_rank_and_source, a_chat_moves, a_successor_leads_to_no_other_chat,
             only_the_first_successor_counts, many_moves_strand_nobody, a_member_by_hand_follows_two_moves, moves_meet,
             devices_of_an_owner_move_together, two_moves_at_once_split_the_chat, processes_on_loopback)


def run_seed(seed: int) -> Optional[str]:
    try:
        schedule(seed)
    except Exception as error:  # noqa: BLE001: each schedule tells what failed
        return f"selftest.py --loud {seed}: {type(error).__name__}: {error}"
    return None


def run_scenario(number: int) -> Optional[str]:
    try:
        SCENARIOS[number]()
    except Exception as error:  # noqa: BLE001
        return f"{SCENARIOS[number].__name__}: {type(error).__name__}: {error}"
    return None


def main() -> int:
    if sys.argv[1:2] == ["--loud"]:
        schedule(int(sys.argv[2]), is_loud=True)
        return 0
    seeds, first = int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with ProcessPoolExecutor() as pool:
        failed = [text for text in pool.map(run_scenario, range(len(SCENARIOS))) if text]
        failed += [text for text in pool.map(run_seed, range(first, first + seeds), chunksize=5) if text]
    for text in failed:
        print(f"FAILED {text}")
    print(f"{len(SCENARIOS)} scenarios and {seeds} schedules, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
