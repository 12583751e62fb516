"""A link: what two nodes share for one chat (links.md). Which session sends, hellos, statuses and records."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Optional

from admission import text_shares
from clock import Bucket, Timer, cancel
from limits import (CROSSING, HELLO_ANSWER_INTERVAL, HELLO_ANSWER_SLOW, HELLO_ANSWERS, IDLE_JITTER, INTERVAL_UNIT,
                    LINK_BURST, LINK_RATE, MIN_INTERVAL_UNITS, NAMED_STREAMS, OLDER_SESSIONS, RECORD_BURST,
                    RECORD_RATE, REKEY_COUNTER, REKEY_INITIATOR, REKEY_RESPONDER, RETAKE_WITHOUT_HELLO,
                    SEALED_EXTRA, SESSION_LIFETIME, START_BURST, START_RATE, SUPERSEDED, TYPING_EXPIRY, suspicion)
from messages import Outgoing, Receiver, Sender
from silence import Watch
from wire import AWAY_BIT, TYPING_BIT, Ack, Bye, Frame, Heartbeat, Hello, Message, Ping, Pong, Typing

if TYPE_CHECKING:
    from chat import Chat
    from core import Node
    from opening import Instance, Renewal
    from session import Address, Session


class Link(Watch):
    """Identified by chat, the peer's static key and the peer's run."""

    def __init__(self, node: "Node", chat: "Chat", session: "Session", run: bytes, name: str) -> None:
        self.node, self.chat, self.key, self.run = node, chat, session.key, run
        self.larger = node.identity.public > session.key  # this node has the larger key
        self.sessions = [session]                         # the newest first: it sends
        self.made, self.name = node.now, name
        node.links_made += 1
        self.serial = node.links_made
        self.named: deque[int] = deque([session.fresh_stream] if session.fresh_stream else [], NAMED_STREAMS)
        self.covered: list["Instance"] = []               # L-3
        self.renewal: Optional["Renewal"] = None
        self.away = self.typing = False
        self.typing_until = 0
        self.out = Sender(session.fresh_stream or node.new_stream(0))
        self.into = Receiver()
        self.starts = Bucket(START_RATE, START_BURST, node.now)
        self.flood = Bucket(LINK_RATE, LINK_BURST, node.now)
        self.pace = Bucket(RECORD_RATE, RECORD_BURST, node.now)
        self.turn: Optional[int] = None                   # M-21
        self._typing_timer: Optional[Timer] = None
        self._idle_timer: Optional[Timer] = None
        self._rekey_timer: Optional[Timer] = None
        self._life_timer: Optional[Timer] = None
        self._record_timer: Optional[Timer] = None
        self._stall_timer: Optional[Timer] = None
        self.start_watch(session.address)
        node.destinations.answered(session.address)  # L-54
        self._idle()
        self._session_sends()

    @property
    def sending(self) -> "Session":
        return self.sessions[0]

    def presence(self) -> str:
        return "away" if self.away else "online"

    def stop(self) -> None:
        self.stop_watch()
        for timer in (self._typing_timer, self._idle_timer, self._rekey_timer, self._life_timer, self._record_timer,
                      self._stall_timer):
            cancel(timer)
        if self.renewal:
            self.renewal.stop()
        self.typing = False

    # Sending

    def transmit(self, frames: list[Frame], to: Optional[list["Address"]] = None) -> bool:
        """One sealed datagram on the sending session; with the hello, as long as L-18 wants it."""
        session = self.sending
        if session.is_over(self.node.now):
            return False
        if self.node.needs_hello(session) and not any(isinstance(f, (Hello, Message, Bye)) for f in frames):
            frames = [self.node.next_hello(session), *frames]  # L-18
        datagram = session.seal(frames)
        for address in to or [self.address]:
            self.node.send(address, datagram)
        if session.counter == REKEY_COUNTER:
            self.renew(at_once=True)  # L-37
        return True

    def transmit_elsewhere(self, frames: list[Frame], to: "Address") -> None:
        """L-28, L-51: just these, to an address that is not the link's; the hello of L-18 with a ping, if it fits."""
        if isinstance(frames[0], Ping) and self.node.needs_hello(self.sending):
            # A pong comes first.
            answer = [*frames, Pong(0), self.chat.heartbeat(), self.node.hello_frame(self.sending)]
            size = 2 * SEALED_EXTRA + sum(len(frame.encode()) for frame in answer)
            if size <= self.bytes_left_elsewhere(to):
                frames = [*frames, self.node.next_hello(self.sending)]
        size = SEALED_EXTRA + sum(len(frame.encode()) for frame in frames)
        if not self.sending.is_over(self.node.now) and self.may_send_elsewhere(to, size):
            self.node.send(to, self.sending.seal(frames))

    def _idle(self) -> None:
        """T-11: a heartbeat once per idle interval; while typing is announced, T-8 takes its place."""
        wait = int(self.node.idle_interval() * self.node.random.uniform(IDLE_JITTER, 1))
        self._idle_timer = self.node.at(self.node.now + wait, self._idle)
        if self.node.now > self.made and not self.chat.composer.announced:
            self.transmit([self.chat.heartbeat()])

    # Sessions

    def join(self, session: "Session", hello: Hello) -> None:
        """L-21: a session that a hello has just bound to this link."""
        if session.fresh_stream:
            self.named.append(session.fresh_stream)
        sending = self.sending
        if self._joining_sends(session, sending, hello):
            self._put_first(session)
        else:
            self.sessions.append(session)
            self._supersede(session)
        while len(self.sessions) > 1 + OLDER_SESSIONS:
            self.drop_session(self.sessions[-1])

    def _joining_sends(self, joining: "Session", sending: "Session", hello: Hello) -> bool:
        """The table of L-21."""
        now, interval = self.node.now, self.interval
        later = joining.created > sending.created
        apart = abs(joining.created - sending.created)
        held = sending.held == self.out.number
        foreign = hello.held not in self.named
        in_use = held and now - sending.last_came < interval
        if sending.is_over(now):
            return True                                                             # row 1
        if joining.begun_here == sending.begun_here or apart >= CROSSING:
            return later                                                            # row 2
        if apart >= interval and held and foreign:
            return later                                                            # row 3
        if not later and now - joining.created >= interval and in_use:
            return False                                                            # row 4
        return joining.begun_here != self.larger                                    # row 5

    def _put_first(self, session: "Session") -> None:
        if session in self.sessions:
            self.sessions.remove(session)
        if self.sessions:
            self._supersede(self.sending)
        self.sessions.insert(0, session)
        cancel(session.timer)
        self.address = session.address  # L-24
        session.held, session.resent = 0, False
        self._session_sends()

    def _supersede(self, session: "Session") -> None:
        session.superseded = self.node.now
        cancel(session.hello_timer)
        self._watch_older(session)

    def _watch_older(self, session: "Session") -> None:
        """L-21: until 10 s have passed since both its supersession and its last datagram."""
        due = max(session.superseded, session.last_came) + SUPERSEDED
        cancel(session.timer)
        if self.node.now >= due:
            self.drop_session(session)
        else:
            session.timer = self.node.at(due, lambda: self._watch_older(session))

    def _session_sends(self) -> None:
        """L-37, L-38: the times of the session that sends."""
        session = self.sending
        session.resent = False
        cancel(self._rekey_timer)
        cancel(self._life_timer)
        rekey = REKEY_INITIATOR if session.begun_here else REKEY_RESPONDER
        self._rekey_timer = self.node.at(session.created + rekey, lambda: self.renew(at_once=True))
        self._life_timer = self.node.at(session.created + SESSION_LIFETIME, self._over)

    def _over(self) -> None:
        if self.renewal is None:
            self.chat.end_link(self, "silence")  # L-38; else by silence

    def renew(self, at_once: bool = False) -> None:
        """L-37, L-42, L-45: a new handshake for this link."""
        if self.renewal is None:
            self.renewal = self.node.new_renewal(self)
            self.renewal.begin(at_once)

    def drop_session(self, session: "Session") -> None:
        self.sessions.remove(session)
        self.node.forget_session(session)

    def gone_on(self, session: "Session") -> bool:
        """L-34: whether another session is newer, or was heard of after this one."""
        rank = self.sessions.index(session)
        return any(i < rank or other.last_came > session.came_before
                   for i, other in enumerate(self.sessions) if other is not session)

    def bye(self, session: "Session", why: str) -> None:
        """L-34."""
        if self.gone_on(session):
            self.end_session(session)
        else:
            self.chat.end_link(self, why)

    def end_session(self, session: "Session") -> None:
        """L-34: this session alone; if it sent, the one that something came on last takes its place."""
        was_sending = session is self.sending
        self.drop_session(session)
        if was_sending:
            self._take(max(self.sessions, key=lambda s: s.last_came))
            self.node.say_hello(self.sending)

    def _take(self, session: "Session") -> None:
        """L-43: a session sends again, and says hello as a new one does."""
        self._put_first(session)
        session.hello_since_taken = False

    def _heard_on_older(self, session: "Session") -> bool:
        """L-43: on a new hello or status on an older session; says whether that one sends now."""
        sending = self.sending
        if not self.larger:
            said = sending.hello_said_at
            if said is None or self.node.now - said >= HELLO_ANSWER_INTERVAL:
                self.node.say_hello(sending)
            return False
        limit = suspicion(self.interval) if sending.hello_since_taken else RETAKE_WITHOUT_HELLO
        if self.node.late or self.node.now - sending.last_came < limit:
            return False
        self._take(session)
        return True

    # Hellos

    def hello(self, session: "Session", hello: Hello, new: bool, binding: bool) -> None:
        """L-22, L-43: a hello on one of this link's sessions."""
        if not new:
            return
        taken = not binding and session is not self.sending and self._heard_on_older(session)
        rank = self.sessions.index(session)
        if not any(s.hello_applied for s in self.sessions[:rank]):
            self._apply_hello(session, hello)
        if taken:
            session.hello_since_taken = False
            if session.hello_said_at != self.node.now:
                self.node.say_hello(session)

    def _apply_hello(self, session: "Session", hello: Hello) -> None:
        """M-5 to M-7, and the answer of L-17."""
        missing = self.node.needs_hello(session)
        session.hello_applied = session.hello_since_taken = True
        self.name = hello.name
        self.into.hello(hello.stream, hello.held == 0 or hello.held in self.named)  # M-7
        if self.out.holds(hello.held, hello.next):
            session.held = hello.held
            self.acknowledged(hello.next, 0)  # M-5
            if not session.resent:
                session.resent = True
                self.out.resend_all()
        else:
            session.held = 0
            if self.out.next > 0:
                self.new_stream("lost-state", all_fail=False)  # M-6
        if self.node.needs_hello(session) and not missing:
            session.hello_missing_since = self.node.now
        if session is self.sending:
            self._answer(session)
            self.node.arm_hello(session)
        self.pump()

    def _answer(self, session: "Session") -> None:
        """L-17."""
        since = self.node.now - session.hello_said_at if session.hello_said_at is not None else HELLO_ANSWER_SLOW
        differs = self.node.hello_frame(session).encode() != session.hello_said
        if not differs and not (session.hellos_came > 1 and since >= HELLO_ANSWER_INTERVAL):
            return
        if session.hello_answers < HELLO_ANSWERS:
            session.hello_answers += 1
        elif since < HELLO_ANSWER_SLOW:
            return
        self.node.say_hello(session)

    # Statuses

    def status(self, session: "Session", frame: Heartbeat | Typing, counter: int, with_message: bool) -> None:
        """T-13, and what L-30 leaves of it while the node's timers are late."""
        typing = bool(frame.status & TYPING_BIT)
        late = self.node.late
        if late and typing:
            return
        new = session.note_status(counter, typing)
        if new and session is not self.sending and self._heard_on_older(session):
            self.node.say_hello(session)
        rank = self.sessions.index(session)
        if not new or any(s.carried_status for s in self.sessions[:rank]):
            if with_message and not typing and not session.status_typing:
                self.chat.people.update(self.key)
                self.show_typing(False)
            return
        if late:
            self.chat.people.update(self.key)
            self.show_typing(False)
            return
        if isinstance(frame, Heartbeat):
            self.interval = max(frame.interval, MIN_INTERVAL_UNITS) * INTERVAL_UNIT  # T-12
            self.watch()
        self.away = bool(frame.status & AWAY_BIT)
        self.chat.people.update(self.key)  # W-30: presence first
        self.show_typing(typing)

    def show_typing(self, typing: bool) -> None:
        """T-14 to T-16."""
        if typing and not self.typing and not self.starts.take(self.node.now):
            return  # T-16
        if typing:
            self.typing_until = self.node.now + TYPING_EXPIRY
            if not self.typing:
                cancel(self._typing_timer)
                self._typing_timer = self.node.at(self.typing_until, self._typing_over)
        if typing != self.typing:
            self.typing = typing
            self.chat.people.update_typing()

    def _typing_over(self) -> None:
        """T-15."""
        if self.typing and self.node.now < self.typing_until:
            self._typing_timer = self.node.at(self.typing_until, self._typing_over)
        elif self.typing:
            self.show_typing(False)

    # Messages

    def has_room(self, size: int) -> bool:
        """M-20: whether this link may reserve so much more."""
        if size and any(used + size > limit for used, limit in text_shares(self.node, self)):
            for link in self.node.all_links():
                link.into.abandon_if_over(self.node.now)
            return all(used + size <= limit for used, limit in text_shares(self.node, self))
        return True

    def frame(self, frame: Frame, source: "Address") -> None:
        """Acks, pings, pongs and messages, in the order in which they came (W-30)."""
        if isinstance(frame, Ack):
            if frame.stream == self.out.number:  # M-8
                self.acknowledged(frame.next, frame.bitmap)
                self.pump()
        elif isinstance(frame, Ping):
            answer: list[Frame] = [self.chat.heartbeat(), Pong(frame.token)]  # L-28
            if source == self.address:
                self.transmit(answer)
            else:
                self.transmit_elsewhere(answer, source)
        elif isinstance(frame, Pong):
            self.pong(frame.token, source)
        elif isinstance(frame, Message):
            ack, whole = self.into.record(frame, self.node.now, self.has_room)
            if ack is not None:
                self.transmit([ack])  # M-15
            for text in whole:
                self.chat.message_came(self.key, text)
            if whole:
                self.node.tell_of_room()

    def queue(self, message: Outgoing) -> bool:
        """Says whether a datagram with a message went out at once."""
        self.out.add(message, self.node.now)
        return self.pump()

    def acknowledged(self, expected: int, bitmap: int) -> None:
        for message in self.out.acknowledge(expected, bitmap, self.node.now):
            self.chat.delivered(self, message.number)

    def new_stream(self, why: str, all_fail: bool) -> None:
        for message in self.out.restart(self.node.new_stream(self.out.number), all_fail, self.node.now):
            self.chat.failed(self, message.number, why)

    def pump(self) -> bool:
        """Sends what window, pacing and L-18 allow (M-10, M-13)."""
        session, now, sent = self.sending, self.node.now, False
        wait: Optional[int] = None
        while session.held == self.out.number and not session.is_over(now):
            record = self.out.next_record()
            if record is None:
                if self.turn is not None and self.turn <= now:
                    self.turn = None
                break
            wait = self.node.record_wait(self)
            if wait is not None:
                break
            sent = self.transmit([Typing(self.chat.status()), self.out.sent(record, now)])  # M-9
        cancel(self._record_timer)
        due = now + wait if wait is not None else self.out.timer_due
        self._record_timer = self.node.at(max(due, now + 1), self._record_due) if due is not None else None
        self.out.watch(wait is not None, now)
        cancel(self._stall_timer)
        stalled = self.out.stalled_at(now)
        if stalled is not None:
            self._stall_timer = self.node.at(max(stalled, now), self._stalled)
        return sent

    def _record_due(self) -> None:
        if self.out.timer_due is not None and self.node.now >= self.out.timer_due:
            self.out.timer_over(self.node.now)
        self.pump()

    def _stalled(self) -> None:
        """M-19."""
        self.new_stream("stalled", all_fail=True)
        self.sending.hello_missing_since = self.node.now
        self.node.say_hello(self.sending)
        self.pump()
