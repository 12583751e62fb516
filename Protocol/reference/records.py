"""The records of one link: the sender of one direction, and the receiver of the other (messages.md)."""

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from clock import Clock, Timer, cancel
from keys import display_name
from limits import (AHEAD, FIRST_WINDOW, GIVE_UP_BEGUN, GIVE_UP_SILENT, GRANULARITY, LATER_RECORDS, MAX_MESSAGE,
                    MAX_QUEUE, MAX_TEXT, MAX_WINDOW, MESSAGE_EXTRA, OVERDUE, POOL, RESERVED, STALLED, TIMERS_OFF_LINK,
                    TIMERS_ON_LINK, UNFINISHED)
from wire import FIRST, INVITE, LAST, NAME, SUCCESSOR, TEXT, Ack, Record

QUEUED, IN_FLIGHT, HELD = "queued", "in flight", "held"
LAST_NUMBER = 2**32 - 1     # M-16: no record has it


@dataclass(eq=False)
class Message:
    """A message in the queue of one link."""

    number: int
    size: int
    left: int = 0                           # records that are not acknowledged
    begun_at: Optional[int] = None          # M-19: its first transmission
    oldest_since: Optional[int] = None      # M-30


@dataclass(eq=False)
class Outgoing:
    """A record that is not acknowledged. It has a number from its first transmission on (M-10)."""

    kind: int
    flags: int
    body: bytes
    message: Optional[Message]
    number: int = -1
    state: str = QUEUED
    transmissions: int = 0
    order: int = 0
    sent_at: int = 0


def cut(text: bytes) -> list[bytes]:
    """M-1: parts that end at scalar boundaries."""
    parts = []
    while text:
        end = min(len(text), MAX_TEXT)
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(text[:end])
        text = text[end:]
    return parts


class RoundTrips:
    """The retransmission timer's time by RFC 6298, section 2 (M-11)."""

    def __init__(self, is_on_link: bool) -> None:
        self.smooth: Optional[float] = None
        self._variation = 0.0
        self.time = 0
        self.set_on_link(is_on_link)

    def set_on_link(self, is_on_link: bool) -> None:
        self.first, self.least, self.most = TIMERS_ON_LINK if is_on_link else TIMERS_OFF_LINK
        self.time = self.first if self.smooth is None else min(self.most, max(self.least, self.time))

    def sample(self, time: int) -> None:
        if self.smooth is None:
            self.smooth, self._variation = time, time / 2
        else:
            self._variation = self._variation * 3 / 4 + abs(self.smooth - time) / 4
            self.smooth = self.smooth * 7 / 8 + time / 8
        computed = int(self.smooth + max(GRANULARITY, 4 * self._variation))
        self.time = min(self.most, max(self.least, computed))


class Sender:
    """Numbers records, sends them within window and timer, and learns of their fate.

    Its host has `wants_to_send` (then it calls `next_record`), `send_forward`, `delivered` and `failed`.
    """

    def __init__(self, clock: Clock, host: Any, is_on_link: bool) -> None:
        self._clock, self._host = clock, host
        self.round_trips = RoundTrips(is_on_link)
        self.is_up = False
        self.sent: list[Outgoing] = []                          # numbered, at most 16 apart
        self._waiting: deque[Outgoing] = deque()
        self.messages: deque[Message] = deque()
        self.queued = 0                                         # bytes, as M-14 counts
        self.next_number = 0
        self.forward: Optional[int] = None
        self.successor: Optional[bytes] = None                  # M-65: nothing but names goes out with it
        self.window = FIRST_WINDOW
        self._recover = 0
        self._orders = 0
        self._arrived: list[int] = []                           # the three highest orders that were acknowledged
        self._again: list[Outgoing] = []                        # M-12
        self._newest_ack = -1
        self._down_at: Optional[int] = clock.now
        self._stalled_from: Optional[int] = None
        self._timer: Optional[Timer] = None
        self._stall_timer: Optional[Timer] = None

    def has_room(self, size: int) -> bool:
        """M-14."""
        return self.queued + size + MESSAGE_EXTRA <= MAX_QUEUE

    def is_overdue(self) -> bool:
        """M-30: whether the oldest message is older than 5 s; its age stands still while the link is down."""
        if not self.messages:
            return False
        oldest = self.messages[0]
        since = min(at for at in (oldest.begun_at, oldest.oldest_since) if at is not None)
        return (self._clock.now if self._down_at is None else self._down_at) - since > OVERDUE

    def enqueue_text(self, number: int, text: bytes) -> None:
        self._enqueue(number, TEXT, cut(text))

    def enqueue_invite(self, number: int, body: bytes) -> None:
        """M-45: a message of its own, of one record."""
        self._enqueue(number, INVITE, [body])

    def _enqueue(self, number: int, kind: int, parts: list[bytes]) -> None:
        message = Message(number, sum(map(len, parts)) + MESSAGE_EXTRA, len(parts))
        for place, part in enumerate(parts):
            flags = (FIRST if place == 0 else 0) | (LAST if place == len(parts) - 1 else 0)
            self._waiting.append(Outgoing(kind, flags, part, message))
        self.queued += message.size
        self.messages.append(message)
        self._note_oldest()
        self._changed()

    def enqueue_name(self, name: str) -> None:
        """M-24: in place of a name that waits, before the messages that wait, and within none (M-27)."""
        self._waiting = deque(r for r in self._waiting if r.kind != NAME)
        begun = sum(r.message is not None and r.message.begun_at is not None for r in self._waiting)
        self._waiting.insert(begun, Outgoing(NAME, FIRST | LAST, name.encode(), None))
        self._changed()

    def close_with(self, successor: bytes) -> list[int]:
        """M-65: the successor goes behind a message that has begun. Returns the messages that fail."""
        failed = [message for message in self.messages if message.begun_at is None]
        self.messages = deque(message for message in self.messages if message.begun_at is not None)
        self.queued -= sum(message.size for message in failed)
        self._waiting = deque(r for r in self._waiting if r.kind != SUCCESSOR and r.message not in failed)
        self.successor = successor
        self._enqueue_successor()
        self._changed()
        return [message.number for message in failed]

    def _enqueue_successor(self) -> None:
        if self.successor is not None:
            self._waiting.append(Outgoing(SUCCESSOR, FIRST | LAST, self.successor, None))

    def has_given_successor(self) -> bool:
        """Whether the peer acknowledged the successor."""
        return self.successor is not None and not any(
            r.kind == SUCCESSOR and r.body == self.successor for r in (*self.sent, *self._waiting))

    def take_over(self, other: "Sender") -> None:
        """L-69: the messages of a replaced state of which nothing was sent."""
        self.messages = deque(m for m in other.messages if m.begun_at is None)
        self.queued = sum(message.size for message in self.messages)
        self._waiting.extend(r for r in other._waiting if r.message is not None and r.message.begun_at is None)
        self._note_oldest()

    def _note_oldest(self) -> None:
        if self.messages and self.messages[0].oldest_since is None:
            self.messages[0].oldest_since = self._clock.now if self._down_at is None else self._down_at

    def next_record(self) -> Optional[Outgoing]:
        """Returns the record to send now, as far as window and numbers allow (M-10, M-29, M-34)."""
        if not self.is_up or self.forward is not None:
            return None
        self._again = [r for r in self._again if r.state == IN_FLIGHT]
        if self._again:
            return self._again[0]
        if sum(r.state == IN_FLIGHT for r in self.sent) >= self.window:
            return None
        for record in self.sent:
            if record.state == QUEUED:
                return record
        if not self._waiting or self.next_number >= self._lowest() + AHEAD:
            return None
        return self._waiting[0]

    def record_zero(self) -> Optional[Outgoing]:
        """Returns record 0 while it is not acknowledged, to go beside a pong; its ack then gives no sample (L-82)."""
        first = next((r for r in self.sent if r.number == 0), None)
        if first is not None:
            first.transmissions += 1
        return first

    def sent_record(self, record: Outgoing) -> None:
        """The record that `next_record` returned was sent."""
        now = self._clock.now
        if record.number < 0:
            self._waiting.popleft()
            record.number = self.next_number
            self.next_number += 1
            self.sent.append(record)
        if record in self._again:
            self._again.remove(record)
        self._orders += 1
        record.state, record.order, record.sent_at = IN_FLIGHT, self._orders, now
        record.transmissions += 1
        if record.message is not None and record.message.begun_at is None:
            record.message.begun_at = now
        if self._stalled_from is None:
            self._stalled_from = now
        if self._timer is None:
            self._start_timer()
        self._arm_stall()

    def _lowest(self) -> int:
        return self.sent[0].number if self.sent else self.next_number

    def _start_timer(self) -> None:
        cancel(self._timer)
        self._timer_from = self._clock.now
        self._timer = self._clock.after(self.round_trips.time, self._time_out)

    def set_on_link(self, is_on_link: bool) -> None:
        """M-11: the bounds hold for a running timer too."""
        self.round_trips.set_on_link(is_on_link)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = self._clock.at(max(self._clock.now, self._timer_from + self.round_trips.time), self._time_out)

    def _time_out(self) -> None:
        """M-33, M-35, M-37."""
        self._timer = None
        self.round_trips.time = min(self.round_trips.most, self.round_trips.time * 2)
        self.window = 1
        if self.forward is not None:
            return self._send_forward()
        self._requeue()
        self._host.wants_to_send()

    def _requeue(self) -> None:
        for record in self.sent:
            if record.state == IN_FLIGHT:
                record.state = QUEUED
        self._again.clear()

    def _changed(self) -> None:
        if self.next_record() is not None:
            self._host.wants_to_send()

    def acknowledge(self, ack: Ack, counter: int, is_evidence: bool, may_sample: bool = True) -> bool:
        """Takes an ack. Returns False if it is impossible, and thus the sign of a snapshot (L-94)."""
        is_newest = counter > self._newest_ack
        self._newest_ack = max(counter, self._newest_ack)
        lowest, beyond = self._lowest(), self.next_number if self.forward is None else self.forward
        if not lowest <= ack.next <= beyond:
            return not is_evidence
        done = [r for r in self.sent if r.number < ack.next]
        self.sent = self.sent[len(done):]
        fresh = [r for r in done if r.state != HELD]
        if is_newest:
            fresh += self._name(ack)
        last = max(fresh, key=lambda r: r.order, default=None)
        if last is not None and last.transmissions == 1 and may_sample:
            self.round_trips.sample(self._clock.now - last.sent_at)
        if self.forward is not None and self.forward == ack.next:
            self._forward_arrived()
        if done:
            self._progress(done)
        self._send_lost_again(ack.next)
        for message in self._finish(done):
            self._host.delivered(message.number)
        if not self.sent and self.forward is None:
            cancel(self._timer)
            self._timer = self._stalled_from = None
        elif all(r.state != IN_FLIGHT for r in self.sent) and self.forward is None:
            cancel(self._timer)
            self._timer = None
        self._arm_stall()
        self._changed()
        return True

    def _name(self, ack: Ack) -> list[Outgoing]:
        """M-31: the records that the newest bitmap names. Returns those named for the first time."""
        fresh = []
        for record in self.sent:
            is_named = record.number > ack.next and bool(ack.bitmap >> record.number - ack.next - 1 & 1)
            if is_named and record.state != HELD:
                fresh.append(record)
            if is_named:
                record.state = HELD
            elif record.state == HELD:
                record.state = IN_FLIGHT
        return fresh

    def _progress(self, done: list[Outgoing]) -> None:
        self.window = min(MAX_WINDOW, self.window + 1)
        self._stalled_from = self._clock.now
        self._start_timer()
        self._arrived = heapq.nlargest(LATER_RECORDS, self._arrived + [r.order for r in done])

    def _send_lost_again(self, following: int) -> None:
        """M-12, M-35."""
        arrived = heapq.nlargest(LATER_RECORDS, self._arrived + [r.order for r in self.sent if r.state == HELD])
        for record in self.sent:
            if len(arrived) < LATER_RECORDS or record.state != IN_FLIGHT or record.order > arrived[-1]:
                continue
            if following >= self._recover:
                self.window, self._recover = max(1, self.window // 2), self.next_number
            if record not in self._again:
                self._again.append(record)

    def _finish(self, done: list[Outgoing]) -> list[Message]:
        finished = []
        for record in done:
            if record.message is not None:
                record.message.left -= 1
                self.queued -= len(record.body)                 # M-14
                if record.message.left == 0:
                    finished.append(record.message)
                    self.messages.remove(record.message)
                    self.queued -= MESSAGE_EXTRA
        self._note_oldest()
        return finished

    def _arm_stall(self) -> None:
        cancel(self._stall_timer)
        self._stall_timer = None
        if self._down_at is not None:
            return
        dues = [] if self._stalled_from is None else [self._stalled_from + STALLED]
        if self.messages and self.messages[0].begun_at is not None:
            dues.append(self.messages[0].begun_at + UNFINISHED)
        if dues:
            self._stall_timer = self._clock.at(max(min(dues), self._clock.now), self._stall)

    def _stall(self) -> None:
        """M-19, M-37: all waiting messages fail, and the peer hears where the records go on."""
        failed = [message.number for message in self.messages]
        name = next((r for r in (*reversed(self._waiting), *reversed(self.sent)) if r.kind == NAME), None)
        self.messages.clear()
        self._waiting.clear()
        self.sent, self.queued, self._again = [], 0, []
        if name is not None:
            self._waiting.append(Outgoing(NAME, FIRST | LAST, name.body, None))
        self._enqueue_successor()
        self._stalled_from = self._clock.now
        self.forward = self.next_number + 1
        self._arm_stall()
        self._send_forward()
        for number in failed:
            self._host.failed(number, "stalled")

    def _send_forward(self) -> None:
        assert self.forward is not None
        self._start_timer()
        self._host.send_forward(self.forward)

    def _forward_arrived(self) -> None:
        assert self.forward is not None
        self.next_number, self.forward = self.forward, None
        cancel(self._timer)
        self._timer = self._stalled_from = None

    def up(self) -> None:
        """M-29, M-34; the times of M-19 and M-30 stood still."""
        pause = self._clock.now - (self._clock.now if self._down_at is None else self._down_at)
        self._down_at, self.is_up, self.window, self._recover = None, True, FIRST_WINDOW, 0
        if self._stalled_from is not None:
            self._stalled_from += pause
        for message in self.messages:
            message.begun_at = None if message.begun_at is None else message.begun_at + pause
            message.oldest_since = None if message.oldest_since is None else message.oldest_since + pause
        if self.forward is not None:
            self._send_forward()
        self._arm_stall()
        self._changed()

    def down(self) -> None:
        self.is_up, self._down_at = False, self._clock.now
        cancel(self._timer)
        cancel(self._stall_timer)
        self._timer = self._stall_timer = None
        self._requeue()
        for record in self.sent:
            record.state = QUEUED

    def close(self) -> None:
        self.is_up = False
        cancel(self._timer)
        cancel(self._stall_timer)


@dataclass(frozen=True)
class Owner:
    """Whose bytes a pool holds (M-42)."""

    is_verified: bool
    is_stranger: bool
    chat: Optional[str]                     # of a secret chat
    source: Optional[str]


@dataclass
class Pool:
    """The bytes that the node holds for its peers, and the shares of those who are not verified (M-20, M-42)."""

    size: int = POOL
    held: dict[tuple[str, Optional[str]], int] = field(default_factory=dict)
    waiting: list[Callable[[], None]] = field(default_factory=list)     # M-41: to tell when room is there again

    def _shares(self, owner: Owner) -> list[tuple[tuple[str, Optional[str]], int]]:
        shares: list[tuple[tuple[str, Optional[str]], int]] = [(("all", None), self.size)]
        if owner.is_verified:
            return shares
        shares.append((("unverified", None), self.size * 3 // 4))
        if owner.is_stranger:
            shares.append((("strangers", None), self.size // 2))
        if owner.chat is not None:
            shares.append((("chat", owner.chat), self.size // 4))
        if owner.source is not None:
            shares.append((("source", owner.source), self.size // 16))
        return shares

    def has_room(self, owner: Owner, size: int) -> bool:
        return all(self.held.get(share, 0) + size <= limit for share, limit in self._shares(owner))

    def is_half_free(self, owner: Owner) -> bool:
        """M-40, M-41."""
        return all(self.held.get(share, 0) < limit / 2 for share, limit in self._shares(owner))

    def add(self, owner: Owner, size: int) -> None:
        for share, _ in self._shares(owner):
            self.held[share] = self.held.get(share, 0) + size

    def remove(self, owner: Owner, size: int) -> None:
        for share, _ in self._shares(owner):
            self.held[share] -= size
            if not self.held[share]:
                del self.held[share]
        waiting, self.waiting = self.waiting, []
        for tell in waiting:
            tell()


@dataclass
class Pools:
    """Texts that the user has not taken, and unfinished messages."""

    texts: Pool = field(default_factory=Pool)
    unfinished: Pool = field(default_factory=Pool)


class Receiver:
    """Orders the peer's records, and puts its messages together.

    Its host has `is_hidden`, `owner`, `got_text` (whose bytes stay in the pool), `got_name`, `got_invite`,
    `got_successor` and `send_ack`.
    """

    def __init__(self, clock: Clock, host: Any, pools: Pools) -> None:
        self._clock, self._host, self._pools = clock, host, pools
        self.expected = 0
        self._held: dict[int, tuple[Record, Owner]] = {}        # beyond the expected one
        self._taken: deque[Record] = deque(maxlen=AHEAD)        # L-105
        self._begun: Optional[tuple[list[bytes], Owner]] = None
        self._begun_size = 0
        self._given_up = False                                  # M-43
        self._waiting_for: Any = None                           # a begun message, or the number of a gap
        self._refused: Optional[Pool] = None                    # M-41
        self._last_record = self._waits_since = clock.now       # M-43
        self._down_at: Optional[int] = clock.now

    def ack(self) -> Ack:
        """M-15."""
        return Ack(self.expected, sum(1 << number - self.expected - 1 for number in self._held))

    def contradicts(self, record: Record) -> bool:
        """Whether another record came under this number, the sign of a snapshot (L-105)."""
        earlier = [held for held, _ in self._held.values()] + list(self._taken)
        return any(other.number == record.number and other != record for other in earlier)

    def record(self, record: Record) -> None:
        """Takes a record; the link sends the ack (M-16)."""
        if self._given_up or not self.expected <= record.number < min(self.expected + AHEAD, LAST_NUMBER):
            return
        self._last_record = self._clock.now
        if record.number > self.expected:
            self._hold(record)
        elif self._take(record):
            self._taken.append(record)
            self.expected += 1
            self._take_held()
        self._note_waiting()

    def forward(self, number: int) -> None:
        """M-38."""
        if number <= self.expected:
            return
        self._given_up = False
        self._drop_message()
        self.expected = number
        for held in [n for n in self._held if n < number]:
            self._drop_held(held)
        self._take_held()
        self._note_waiting()

    def _hold(self, record: Record) -> None:
        """M-40."""
        owner, pool, size = self._host.owner(), self._pools.unfinished, len(record.body) + MESSAGE_EXTRA
        if record.number in self._held or self._is_closed(record):
            return
        if pool.is_half_free(owner) and pool.has_room(owner, size):
            pool.add(owner, size)
            self._held[record.number] = record, owner
        else:
            self._refuse(pool)

    def _take_held(self) -> None:
        while self.expected in self._held:
            record = self._drop_held(self.expected)
            if not self._take(record):
                return
            self._taken.append(record)
            self.expected += 1

    def _drop_held(self, number: int) -> Record:
        record, owner = self._held.pop(number)
        self._pools.unfinished.remove(owner, len(record.body) + MESSAGE_EXTRA)
        return record

    def _refuse(self, pool: Pool) -> bool:
        """M-41: an ack when the shares are half free again."""
        if self._refused is not pool:
            self._refused = pool
            pool.waiting.append(self._room_again)
        return False

    def _room_again(self) -> None:
        pool, self._refused = self._refused, None
        if pool is not None and pool.is_half_free(self._host.owner()):
            self._host.send_ack()
        elif pool is not None:
            self._refuse(pool)

    def _take(self, record: Record) -> bool:
        """Takes the expected record; returns False if there is no room (M-39), or the link takes no message."""
        if self._is_closed(record):
            return False
        if record.kind == NAME:
            self._host.got_name(display_name(record.body), record.number)
        elif record.kind == INVITE:
            self._host.got_invite(record.body)
        elif record.kind == SUCCESSOR:
            self._host.got_successor(record.body)
        return self._take_text(record) if record.kind == TEXT else True      # M-26

    def _is_closed(self, record: Record) -> bool:
        """M-92, M-94."""
        return self._host.is_hidden and record.kind in (TEXT, INVITE)

    def _take_text(self, record: Record) -> bool:
        first, last = bool(record.flags & FIRST), bool(record.flags & LAST)
        if first and self._begun is not None:
            self._drop_message()                                # M-23
            return True
        if not first and (self._begun is None or self._begun_size + len(record.body) > MAX_MESSAGE):
            self._drop_message()
            return True
        owner = self._host.owner()
        if last:
            parts = self._begun[0] if self._begun is not None else []
            size = self._begun_size + len(record.body) + MESSAGE_EXTRA
            if not self._pools.texts.has_room(owner, size):
                return self._refuse(self._pools.texts)
            text = b"".join([*parts, record.body]).decode()
            self._drop_message()
            self._pools.texts.add(owner, size)
            self._host.got_text(text, owner)
            return True
        if first:
            if not self._pools.unfinished.has_room(owner, RESERVED):
                return self._refuse(self._pools.unfinished)
            self._pools.unfinished.add(owner, RESERVED)
            self._begun = [], owner
        assert self._begun is not None
        self._begun[0].append(record.body)
        self._begun_size += len(record.body)
        return True

    def _drop_message(self) -> None:
        if self._begun is not None:
            begun, self._begun, self._begun_size = self._begun, None, 0
            self._pools.unfinished.remove(begun[1], RESERVED)

    def _note_waiting(self) -> None:
        """The 65 s begin anew with each message or gap."""
        mark = self._begun[0] if self._begun is not None else (self.expected if self._held else None)
        if mark is None or mark is not self._waiting_for and mark != self._waiting_for:
            self._waits_since = self._clock.now
        self._waiting_for = mark

    def tick(self) -> None:
        if self._down_at is not None or not self._held and self._begun is None:
            return
        now = self._clock.now
        if now - self._last_record >= GIVE_UP_SILENT or now - self._waits_since >= GIVE_UP_BEGUN:
            self._given_up = True
            self.close()

    def up(self) -> None:
        if self._down_at is not None:
            pause, self._down_at = self._clock.now - self._down_at, None
            self._last_record += pause
            self._waits_since += pause

    def down(self) -> None:
        self._down_at = self._clock.now

    def close(self) -> None:
        """Drops all that waits."""
        self._drop_message()
        for number in list(self._held):
            self._drop_held(number)
