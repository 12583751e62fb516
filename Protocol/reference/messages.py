"""Streams of records in both directions of a link (M-1 to M-21), without a socket and without a session."""

from __future__ import annotations

from collections import deque
from typing import Callable, Optional

from limits import (GIVEN_UP_STREAMS, LONGEST_DELIVERY, LONGEST_REASSEMBLY, LOSS_EVIDENCE, MAX_MESSAGE,
                    MAX_RECORD_TEXT, MS, OVERDUE, QUEUED_MESSAGE_EXTRA, REASSEMBLY_PAUSE, RESERVED, RTO_INITIAL, RTO_MAX, RTO_MIN,
                    STALLED, WINDOW)
from wire import FIRST, LAST, Ack, Message


def cut(text: str) -> list[tuple[int, str]]:
    """M-1: the records of a message, as flags and text, cut between scalars."""
    data = text.encode()
    parts = []
    at = 0
    while at < len(data):
        end = min(at + MAX_RECORD_TEXT, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(data[at:end].decode())
        at = end
    last = len(parts) - 1
    return [((FIRST if i == 0 else 0) | (LAST if i == last else 0), part) for i, part in enumerate(parts)]


class Outgoing:
    """A message on its way over one link."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.size = len(text.encode()) + QUEUED_MESSAGE_EXTRA
        self.records = [Record(self, flags, part) for flags, part in cut(text)]
        self.unacknowledged = len(self.records)
        self.begun_at: Optional[int] = None  # when its first record was first sent
        self.begun_waited = 0                # how long the peer had been waited for by then

    @property
    def begun(self) -> bool:
        return self.begun_at is not None


class Record:
    """One record; it gets its number when it is sent first."""

    def __init__(self, message: Outgoing, flags: int, text: str) -> None:
        self.message, self.flags, self.text = message, flags, text
        self.number = -1
        self.acknowledged = False
        self.times_sent = 0
        self.sent_at = 0
        self.order = 0        # of its last transmission among all of the link
        self.passed = 0       # M-12: later records that were acknowledged since
        self.again = False    # due to be sent again


class Sender:
    """The stream that this node sends on a link."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.next = 0                          # the first one not sent yet
        self.base = 0                          # the lowest unacknowledged one
        self.flight: dict[int, Record] = {}    # base to next
        self.queue: deque[Record] = deque()    # without numbers
        self.size = 0                          # M-14
        self.progress_at = 0                   # M-19: what `waited` said then
        self._waited = 0
        self._waits_since: Optional[int] = None
        self.timer_due: Optional[int] = None   # M-11
        self._orders = 0
        self._srtt: Optional[float] = None
        self._rttvar = 0.0
        self.rto = RTO_INITIAL

    def waits(self) -> bool:
        return bool(self.flight or self.queue)

    def add(self, message: Outgoing, now: int) -> None:
        if not self.waits():
            self.progress_at = self.waited(now)
        self.size += message.size
        self.queue.extend(message.records)

    def waited(self, now: int) -> int:
        """M-19: for how long the peer was waited for."""
        return self._waited + (now - self._waits_since if self._waits_since is not None else 0)

    def watch(self, held_back: bool, now: int) -> None:
        """M-19: waiting for this node's own pace is not the peer's doing."""
        waits = bool(self.flight) or (bool(self.queue) and not held_back)
        self._waited = self.waited(now)
        self._waits_since = now if waits else None

    def _oldest(self) -> Optional[Outgoing]:
        for number in sorted(self.flight):
            if not self.flight[number].acknowledged:
                return self.flight[number].message
        return self.queue[0].message if self.queue else None

    def stalled_at(self, now: int) -> Optional[int]:
        """M-19: when what waits has failed, if nothing comes before that."""
        oldest = self._oldest()
        if oldest is None:
            return None
        dues = []
        if self._waits_since is not None:
            dues.append(now + STALLED - (self.waited(now) - self.progress_at))
        if oldest.begun_at is not None:
            dues.append(oldest.begun_at + LONGEST_DELIVERY)
        return min(dues, default=None)

    def is_overdue(self, now: int) -> bool:
        """M-14."""
        oldest = self._oldest()
        if oldest is None:
            return False
        return self.waited(now) - (oldest.begun_waited if oldest.begun else self.progress_at) >= OVERDUE

    def holds(self, stream: int, expected: int) -> bool:
        """M-5: whether a hello that says so holds this stream."""
        return stream == self.number and expected <= self.next

    def next_record(self) -> Optional[Record]:
        """What is to be sent now, if pacing allows: first what goes out again, then new records (M-10)."""
        for number in sorted(self.flight):
            record = self.flight[number]
            if record.again and not record.acknowledged:
                return record
        if self.queue and self.next < self.base + WINDOW:
            return self.queue[0]
        return None

    def sent(self, record: Record, now: int) -> Message:
        if record.number < 0:
            self.queue.popleft()
            record.number = self.next
            self.next += 1
            self.flight[record.number] = record
            if record.message.begun_at is None:
                record.message.begun_at, record.message.begun_waited = now, self.waited(now)
        self._orders += 1
        record.order, record.passed, record.again = self._orders, 0, False
        record.times_sent += 1
        record.sent_at = now
        if self.timer_due is None:
            self.timer_due = now + self.rto
        return Message(self.number, record.number, record.flags, record.text)

    def acknowledge(self, expected: int, bitmap: int, now: int) -> list[Outgoing]:
        """An ack (M-15): the messages that are now wholly acknowledged."""
        if expected > self.next:
            return []
        numbers = [n for n in self.flight if n < expected]
        numbers += [expected + 1 + i for i in range(16) if bitmap >> i & 1]
        fresh = [self.flight[n] for n in numbers if n in self.flight and not self.flight[n].acknowledged]
        if not fresh:
            return []
        self.progress_at = self.waited(now)
        done = []
        for record in fresh:
            record.acknowledged = True
            record.message.unacknowledged -= 1
            if record.message.unacknowledged == 0:
                self.size -= record.message.size
                done.append(record.message)
        for record in self.flight.values():
            record.passed += sum(1 for other in fresh if other.order > record.order)
            if not record.acknowledged and record.passed >= LOSS_EVIDENCE:
                record.again = True  # M-12
        self._sample(max(fresh, key=lambda r: r.order), now)
        while self.base in self.flight and self.flight[self.base].acknowledged:
            del self.flight[self.base]
            self.base += 1
        self.timer_due = now + self.rto if self.flight else None
        return done

    def _sample(self, record: Record, now: int) -> None:
        """M-11, RFC 6298; a record that was sent twice gives no sample."""
        if record.times_sent != 1:
            return
        sample = now - record.sent_at
        if self._srtt is None:
            self._srtt, self._rttvar = sample, sample / 2
        else:
            self._rttvar = 0.75 * self._rttvar + 0.25 * abs(self._srtt - sample)
            self._srtt = 0.875 * self._srtt + 0.125 * sample
        self.rto = min(RTO_MAX, max(RTO_MIN, int(self._srtt + max(MS, 4 * self._rttvar))))

    def timer_over(self, now: int) -> None:
        """M-11: all that is in flight goes out again, so that an outage costs no more than one timer."""
        self.rto = min(RTO_MAX, self.rto * 2)
        self.resend_all()
        self.timer_due = now + self.rto if self.flight else None

    def resend_all(self) -> None:
        for record in self.flight.values():
            record.again = not record.acknowledged

    def restart(self, number: int, all_fail: bool, now: int) -> list[Outgoing]:
        """M-6, M-19: a new stream; the messages that fail, those that were begun or else all."""
        failed: dict[int, Outgoing] = {}
        for record in list(self.flight.values()) + list(self.queue):
            if (record.message.begun or all_fail) and record.message.unacknowledged:
                failed[record.message.number] = record.message
        kept = deque(r for r in self.queue if r.message.number not in failed)
        self.size -= sum(m.size for m in failed.values())
        self.number, self.next, self.base, self.flight, self.queue = number, 0, 0, {}, kept
        self.timer_due = None
        self.progress_at = self.waited(now)
        return list(failed.values())

    def all_messages(self) -> list[Outgoing]:
        waiting = {r.message.number: r.message for r in list(self.flight.values()) + list(self.queue)}
        return [m for m in waiting.values() if m.unacknowledged]


class Receiver:
    """The stream of the peer that this node holds on a link."""

    def __init__(self) -> None:
        self.held = 0            # M-8: 0 is never held
        self.expected = 0
        self.held_back = False   # M-20
        self._came = False
        self._refuses = False    # M-20: the expected record, or one beyond it, was refused
        self._abandoned = False
        self._since: Optional[int] = None  # M-20: since when something waits
        self._last_at = 0
        self._waiting: dict[int, Message] = {}
        self._joined: Optional[list[str]] = None
        self._size = 0
        self._given_up: deque[int] = deque(maxlen=GIVEN_UP_STREAMS)

    def hello(self, stream: int, peer_holds_ours: bool) -> None:
        """M-7: whether the stream of a hello is held from now on."""
        if stream == self.held or not peer_holds_ours or stream in self._given_up:
            return
        if self._came:
            self._given_up.append(self.held)
        self.held, self.expected, self._came = stream, 0, False
        self.held_back = self._refuses = self._abandoned = False
        self._waiting.clear()
        self._since = None
        self._drop()

    def _drop(self) -> None:
        self._joined, self._size = None, 0

    def ack(self) -> Ack:
        return Ack(self.held, self.expected, sum(1 << n - self.expected - 1 for n in self._waiting))

    def reserved(self, record: Optional[Message] = None) -> int:
        """M-20: one whole message, as soon as a record came that is none by itself."""
        records = list(self._waiting.values()) + ([record] if record else [])
        joins = self._joined is not None or any(r.flags & (FIRST | LAST) != FIRST | LAST for r in records)
        return RESERVED if joins else 0

    def abandon_if_over(self, now: int) -> None:
        """M-20: its sender has given it up. What follows in this stream is not acknowledged."""
        if self._since is not None and (now - self._last_at >= REASSEMBLY_PAUSE
                                        or now - self._since >= LONGEST_REASSEMBLY):
            self._drop()
            self._waiting.clear()
            self._since = None
            self._abandoned = True

    def _takes(self, record: Message, has_room: Callable[[int], bool]) -> bool:
        """M-20: what breaks the order of M-1 needs no room, and texts of this node are taken at once."""
        if self._abandoned:
            return False
        if record.record == self.expected and bool(record.flags & FIRST) == (self._joined is not None):
            return True
        if (self._refuses and record.record != self.expected) or not has_room(self.reserved(record) - self.reserved()):
            self._refuses = self.held_back = True
            return False
        return True

    def record(self, message: Message, now: int,
               has_room: Callable[[int], bool]) -> tuple[Optional[Ack], list[str]]:
        """M-8, M-15, M-16, M-20: the ack to send, and the messages that became whole."""
        if message.stream != self.held or self.held == 0:
            return None, []
        self._came = True
        self._last_at = now
        whole = []
        goes_on, before = self._joined is not None, self.expected
        if 0 <= message.record - self.expected < WINDOW and message.record not in self._waiting:
            if self._takes(message, has_room):
                self._waiting[message.record] = message
        while self.expected in self._waiting:
            self._refuses = False
            text = self._join(self._waiting.pop(self.expected))
            self.expected += 1
            if text is not None:
                whole.append(text)
            goes_on = goes_on and self._joined is not None
        if self._joined is None and not self._waiting:
            self._since = None
        elif self._since is None or self.expected != before and not goes_on:
            self._since = now
        return self.ack(), whole

    def _join(self, record: Message) -> Optional[str]:
        """M-2: a record that breaks M-1 is dropped with what it would join."""
        if bool(record.flags & FIRST) == (self._joined is not None):
            self._drop()
            return None
        if self._joined is None:
            self._joined = []
        self._joined.append(record.text)
        self._size += len(record.text.encode())
        if self._size > MAX_MESSAGE:
            self._drop()
            return None
        if not record.flags & LAST:
            return None
        text = "".join(self._joined)
        self._drop()
        return text
