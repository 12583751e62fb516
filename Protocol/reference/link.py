"""A link: its state, its sessions, and whether the peer is there (links.md)."""

from dataclasses import dataclass
from typing import Any, Optional, Sequence

from clock import Bucket, Timer, cancel
from context import Context
from limits import (AMPLIFICATION, AWAITED, COPIES, DOWN_TIME, HINT_PAUSE, INTERVAL_UNIT, JOIN_STEP,
                    JOIN_TIME, LAST_COUNTER, LEAST_PINGS, LEAST_UNITS, LEAST_UP, LINK_BURST, LINK_RATE, NAME_STEP,
                    NAME_TIME, PINGS, PINGS_SPENT_UNHEARD, PING_STEP, RECORD_BURST, RECORD_RATE, REKEY_REPEAT,
                     REKEY_SPREAD, REPLACEABLE_SESSION, S, SEALED_EXTRA, SESSIONS_PER_LINK, SESSION_LIFE, SHORT_REST,
                     SILENT_SESSION, SNAPSHOT_SIGN, START_BURST, START_RATE, TYPING_EXPIRY, UNHEARD_PAUSE)
from records import Owner, Receiver, Sender
from session import Address, ReplayWindow, Session
from wire import (AWAY, QUIT, TYPING, UNHEARD, Ack, Bye, Forward, Frame, Heartbeat, Ping, Pong, Record, Typing,
                  encode_frames)

UP, SUSPECT, DOWN, FORGOTTEN = "up", "suspect", "down", "forgotten"


@dataclass
class SentPing:
    """A ping that was not answered yet."""

    at: int
    addresses: set[Address]


class Link:
    """Chat, the peer's static key and the peer's run identify it; a pair of epochs names its state.

    Its host is the chat. It is asked for what the link sends, covers and costs (`status`, `interval_units`,
    `next_beat`, `is_typing`, `covered_addresses`, `covers_by_hand`, `owner`), and hears what happens to the link.
    """

    def __init__(self, context: Context, host: Any, key: bytes, run: bytes, own_epoch: int, peer_epoch: int,
                 address: Address) -> None:
        self.context, self.clock, self._host = context, context.clock, host
        self.key, self.run, self.address, self.via = key, run, address, None
        self.sessions: list[Session] = []
        self.records = Bucket(RECORD_RATE, RECORD_BURST, self.clock.now)
        self.datagrams = Bucket(LINK_RATE, LINK_BURST, self.clock.now)          # L-25
        self.covered: list[Any] = []                    # instances of when it came up, or a session joined
        self.name, self.records_sent = "", 0
        self.is_named = self.was_named = False
        self._began_hint = self._last_unheard = -UNHEARD_PAUSE
        self._timers: dict[str, Timer] = {}
        self.begin_state(own_epoch, peer_epoch)

    def begin_state(self, own_epoch: int, peer_epoch: int) -> None:
        """A new state, down and not shown (L-69, L-80)."""
        for timer in self._timers.values():
            timer.cancel()
        now = self.clock.now
        self.own_epoch, self.peer_epoch = own_epoch, peer_epoch
        self.made_at, self.state, self.up_total = now, DOWN, 0
        self.window, self._counter = ReplayWindow(), 0
        self._newest_status, self._newest_source = -1, self.address
        self.interval, self.evidence_at, self.up_at = S, now, now
        self.was_named, self.is_stale = self.takes_messages, False
        self.is_named = self.peer_away = self.is_typing = self._peer_types = False
        self._starts = Bucket(START_RATE, START_BURST, now)
        self._typing_until = 0
        self._pings: dict[int, SentPing] = {}
        self._spent = self._round = 0
        self._last_ping = -PING_STEP
        self._check_address: Optional[Address] = None
        self._bytes_in = self._bytes_out = 0
        self._last_check, self._check_from = -PING_STEP, 0
        is_on_link = self.context.net.is_on_link(self.address)
        self.sender = Sender(self.clock, self, is_on_link)
        self.receiver = Receiver(self.clock, self, self.context.pools)
        self._name_at, self.announced_units = now, LEAST_UNITS
        self.sender.enqueue_name(self.context.name)     # M-24
        if (successor := self._host.successor_to_give()) is not None:
            self.sender.close_with(successor)           # M-65
        self._after("down", DOWN_TIME, lambda: self._host.forget(self, "silence"))      # L-83

    def _after(self, name: str, delay: int, action: Any) -> None:
        cancel(self._timers.get(name))
        self._timers[name] = self.clock.after(delay, action)

    def _cancel(self, *names: str) -> None:
        for name in names:
            cancel(self._timers.pop(name, None))

    @property
    def is_down(self) -> bool:
        return self.state == DOWN

    @property
    def takes_messages(self) -> bool:
        """Messages are queued for a person whom this or a replaced state showed (L-103)."""
        return not self.is_hidden and (self.is_named or self.was_named)

    @property
    def is_hidden(self) -> bool:
        """M-92, M-94."""
        return self._host.hides(self.key)

    @property
    def is_alive(self) -> bool:
        return self.state in (UP, SUSPECT)

    def presence(self) -> str:
        """T-28."""
        if not self.is_named or not self.is_alive or self.is_hidden:
            return "offline"
        return "away" if self.peer_away else "online"

    def _most_silent(self) -> Session:
        others = [session for session in self.sessions if session is not self.sending()]
        return min(others, key=lambda session: session.opened_at)

    def has_room(self) -> bool:
        """L-77: for another session."""
        return (len(self.sessions) < SESSIONS_PER_LINK
                or self.clock.now - self._most_silent().opened_at >= REPLACEABLE_SESSION)

    def add_session(self, session: Session) -> None:
        """A session joins (L-67); the caller has compared epochs, set the address and found room."""
        session.joined_at, session.opened_at = self.clock.now, self.clock.now
        session.link = self
        rekey = self.context.rekey
        session.rekey_at = self.clock.now + int(rekey * self.context.random.uniform(1, 1 + REKEY_SPREAD))     # L-37
        if len(self.sessions) >= SESSIONS_PER_LINK:     # L-77
            self.drop_session(self._most_silent())
        self.sessions.append(session)
        if self.is_down:
            self.set_address(session.address)           # L-81
        self._join_ping(session)

    def sending(self) -> Optional[Session]:
        """The session whose first newest datagram opened last or, without any, the one that joined last."""
        proven = [s for s in self.sessions if s.proven]
        if proven:
            return max(proven, key=lambda s: s.proven)
        return self.sessions[-1] if self.sessions else None

    def drop_session(self, session: Session) -> None:
        if session in self.sessions:
            self.sessions.remove(session)
            self.context.sessions.pop(session.index, None)
            self._cancel(f"join {session.index}")
        if not self.sessions and self.is_alive:
            self._go_down()                             # L-38

    def _join_ping(self, session: Session) -> None:
        """L-74, L-75."""
        if session not in self.sessions or session.joined_at is None:
            return
        if self.clock.now >= session.joined_at + JOIN_TIME:
            if session.is_initiator and not session.is_complete:
                self.drop_session(session)
            return
        if session.is_complete and self.is_alive and self.clock.now > session.joined_at:
            return
        self._send_ping([self.address], session, with_heartbeat=True)
        self._after(f"join {session.index}", JOIN_STEP, lambda: self._join_ping(session))

    def tick(self) -> None:
        """Once a second: L-37, L-38, M-43."""
        now, sending = self.clock.now, self.sending()
        for session in list(self.sessions):
            assert session.joined_at is not None
            is_silent = session is not sending and now - session.opened_at >= SILENT_SESSION
            if is_silent or now - session.joined_at >= SESSION_LIFE:
                self.drop_session(session)
        if self.is_alive and sending is not None and now >= sending.rekey_at:
            sending.rekey_at = now + REKEY_REPEAT
            self._host.handshake(self, [self.address])
        self.receiver.tick()

    def send(self, frames: Sequence[Frame], addresses: Optional[list[Address]] = None,
             session: Optional[Session] = None, via: Any = None) -> int:
        """Seals frames once, and sends them to the link's address or to those given. Returns the bytes."""
        session = session or self.sending()
        if session is None or self.state == FORGOTTEN:
            return 0
        data = session.seal(self._counter, encode_frames(frames))
        self._counter += 1
        for address in addresses if addresses is not None else [self.address]:
            self.context.transmit(address, data, via if via is not None or address != self.address else self.via)
        if self._counter > LAST_COUNTER:
            self.clock.after(0, lambda: self._host.forget(self, "lost-state"))      # L-79
        return len(data)

    def status(self) -> int:
        """L-44, L-85."""
        if self.is_down:
            return UNHEARD
        return self._host.status() if self.is_named and not self.is_hidden else 0

    def heartbeat(self) -> Heartbeat:
        """T-24."""
        self.announced_units = self._host.interval_units()
        return Heartbeat(self.status(), self.announced_units)

    def send_heartbeat(self) -> None:
        self.send([self.heartbeat()])

    def send_typing(self) -> None:
        """T-6."""
        if self.is_alive and self.is_named and not self.is_hidden:
            self.send([Typing(self.status())])

    def schedule_beat(self) -> None:
        """T-8, T-11: called when a new interval begins."""
        if self.is_alive:
            self._after("beat", self._host.next_beat(self), self._beat)

    def _beat(self) -> None:
        self.send_heartbeat()
        self.schedule_beat()

    def seal_byes(self, reason: int) -> list[tuple[Address, bytes]]:
        """L-32: a bye on each session, the sending one first."""
        sending, byes = self.sending(), []
        for session in sorted(self.sessions, key=lambda s: s is not sending):
            byes.append((self.address, session.seal(self._counter, encode_frames([Bye(reason)]))))
            self._counter += 1
        return byes

    def wants_to_send(self) -> None:
        self.context.pacer.request(self)

    def send_record(self) -> bool:
        """Sends the next record, if there is one (M-9, L-85, L-42)."""
        if self.is_stale:
            return False
        record = self.sender.next_record()
        if record is None or not self.is_alive:
            return False
        if not self.is_named and (record.number > 0 or record.number < 0 and self.sender.next_number > 0):
            return False
        self.sender.sent_record(record)
        self.records_sent += 1
        self.send([Typing(self.status()), Record(record.number, record.kind, record.flags, record.body)])
        return True

    def rename(self) -> None:
        """M-24: at most one name record a second."""
        wait = self._name_at + NAME_STEP - self.clock.now
        if wait > 0:
            return self._after("rename", wait, self.rename)
        self._name_at = self.clock.now
        self.sender.enqueue_name(self.context.name)

    def send_forward(self, number: int) -> None:
        self.send([Forward(number)])

    def delivered(self, message: int) -> None:
        self._host.delivered(self, message)

    def failed(self, message: int, why: str) -> None:
        self._host.failed(self, message, why)

    def owner(self) -> Owner:
        return self._host.owner(self)

    def got_text(self, text: str, owner: Owner) -> None:
        self._host.got_text(self, text, owner)

    def got_invite(self, body: bytes) -> None:
        """M-46: an invite before the name is passed over."""
        if self.is_named:
            self._host.got_invite(self, body)

    def got_successor(self, body: bytes) -> None:
        self._host.got_successor(self, body)

    def close_with(self, successor: bytes) -> None:
        """M-65."""
        for message in self.sender.close_with(successor):
            self.failed(message, "left")

    def fail_messages(self, why: str) -> None:
        for message in self.sender.messages:
            self.failed(message.number, why)

    def send_ack(self) -> None:
        if self.is_alive:
            self.send([self.receiver.ack()])

    def opened(self, session: Session, counter: int, is_newest: bool, frames: list[Frame], source: Address, size: int,
               via: Any) -> None:
        """A datagram that passed the window and parsed; the order of its frames is that of W-30."""
        by_type: dict[type, Any] = {type(frame): frame for frame in frames}
        late, was_down = self.context.is_late, self.is_down
        status, pong = by_type.get(Heartbeat) or by_type.get(Typing), by_type.get(Pong)
        is_unheard = status is not None and bool(status.status & UNHEARD)
        ping = None if pong is None or late else self._awaited(pong.token)
        counts = not was_down or ping is not None
        is_evidence = counts and is_newest and not late and (not is_unheard or ping is not None)
        self._count_bytes(source, size)
        if is_newest:
            self._newest_source = source
        if status is not None and counter > self._newest_status:            # T-13
            self._newest_status = counter
            if counts and not is_unheard:
                self._take_status(status)
        if Ping in by_type:
            self._answer(by_type[Ping], source, via)
        if is_evidence:
            self._take_evidence()
        if pong is not None and not late:
            self._take_pong(pong.token, ping, source, via)
        if (is_evidence or was_down) and not late and self.state != FORGOTTEN:
            self._check(source)
        if counts and self.is_alive:
            self._take_records(by_type, counter, is_newest)
        if Bye in by_type and self.state != FORGOTTEN:
            return self._host.received_bye(self, by_type[Bye].reason)
        is_checked = source != self.address and self._is_allowed(source)    # L-51
        if self.is_down and not is_checked and self.clock.now - self._last_ping >= PING_STEP:
            self._send_ping([self.address], with_heartbeat=True)            # L-71
        if is_unheard and is_newest and ping is None and self.state == UP and not late:
            self._is_unheard()
        if self.state != FORGOTTEN:
            self._host.changed(self)

    def _take_records(self, by_type: dict[type, Any], counter: int, is_newest: bool) -> None:
        may_sample = not self.context.is_late
        if Ack in by_type and not self.sender.acknowledge(by_type[Ack], counter, is_newest, may_sample):
            return self._host.forget(self, "lost-state")                    # L-94
        if self.sender.has_given_successor():
            return self._host.served(self)                                  # M-65
        if Record in by_type and self.receiver.contradicts(by_type[Record]):
            return self._host.forget(self, "lost-state")                    # L-105
        if Forward in by_type:
            self.receiver.forward(by_type[Forward].next)
            self.send_ack()
        if Record in by_type:
            self.receiver.record(by_type[Record])
            self.send_ack()

    def record_arrived_too_fast(self, counter: int, frames: list[Frame], source: Address, is_newest: bool) -> None:
        """L-25: evidence alone, and the counter of a status (T-13)."""
        if any(isinstance(frame, (Heartbeat, Typing)) for frame in frames):
            self._newest_status = max(self._newest_status, counter)
        if is_newest and self.is_alive and not self.context.is_late:
            self._newest_source = source
            self._take_evidence()

    def got_name(self, name: str, number: int) -> None:
        """M-24; record 0 shows the link (L-85)."""
        self.name = name
        if number == 0 and not self.is_named:
            self.is_named = True
            self._cancel("name")
            self.is_typing = False
            if self._peer_types and self.clock.now < self._typing_until:
                self._show_typing(self._typing_until)
            self.send_heartbeat()                                           # L-82
            if self._host.is_typing(self):
                self.schedule_beat()
            self._host.changed(self)
            self.wants_to_send()

    def _take_status(self, status: Any) -> None:
        """T-12 to T-16, L-90."""
        types = bool(status.status & TYPING)
        if self.context.is_late:
            if not types:
                self.end_typing()
            return
        self.peer_away = bool(status.status & AWAY)
        if isinstance(status, Heartbeat):
            self.interval = max(LEAST_UNITS, status.interval) * INTERVAL_UNIT
            self._arm_silence()
        if not types:
            return self.end_typing()
        if not self.is_typing and not self._starts.take(self.clock.now):
            return                                                          # T-16
        self._peer_types, self._typing_until = True, self.clock.now + TYPING_EXPIRY
        if self.is_named:
            self._show_typing(self._typing_until)

    def _show_typing(self, until: int) -> None:
        self.is_typing = True
        self._after("typing", until - self.clock.now, self._typing_over)    # T-15

    def _typing_over(self) -> None:
        self.end_typing()
        self._host.changed(self)

    def end_typing(self) -> None:
        self.is_typing = self._peer_types = False
        self._cancel("typing")

    def _send_ping(self, addresses: list[Address], session: Optional[Session] = None,
                   with_heartbeat: bool = False) -> int:
        now = self.clock.now
        self._pings = {t: p for t, p in self._pings.items() if now - p.at < AWAITED}
        token = self.context.random.getrandbits(16)
        while token in self._pings:
            token = self.context.random.getrandbits(16)
        self._pings[token] = SentPing(now, set(addresses))
        self._last_ping = now
        return self.send([*([self.heartbeat()] if with_heartbeat else []), Ping(token)], addresses, session)

    def _awaited(self, token: int) -> Optional[SentPing]:
        ping = self._pings.get(token)
        return ping if ping is not None and self.clock.now - ping.at < AWAITED else None

    def _answer(self, ping: Ping, source: Address, via: Any) -> None:
        """L-28, within the bytes of L-72."""
        frames: list[Frame] = [self.heartbeat(), Pong(ping.token)]
        if source == self.address:
            name = self.sender.record_zero() if self.is_alive else None         # L-82
            if name is not None:
                frames.append(Record(0, name.kind, name.flags, name.body))
            self.send(frames, [source], via=via)
        elif self._may_send_to_unconfirmed(len(encode_frames(frames)) + SEALED_EXTRA):
            self._bytes_out += self.send(frames, [source], via=via)

    def _take_pong(self, token: int, ping: Optional[SentPing], source: Address, via: Any) -> None:
        """L-80, L-24, L-73."""
        if ping is None:
            if source != self.address:
                self._check_from = self.clock.now
            return
        del self._pings[token]
        is_confirmed = source in ping.addresses and ping.at >= self._check_from and source == self._newest_source
        if source != self.address and is_confirmed and self._is_allowed(source):
            self.set_address(source)
        if source == self.address and via is not None:
            self.via = via
        if self.is_down:
            self._come_up()

    def set_address(self, address: Address) -> None:
        if address == self.address:
            return
        self.address, self.via = address, None
        self.sender.set_on_link(self.context.net.is_on_link(address))
        self._check_address, self._bytes_in, self._bytes_out = None, 0, 0
        self._host.address_changed(self)

    def _is_allowed(self, address: Address) -> bool:
        """L-24."""
        net = self.context.net
        if not net.is_unicast(address) or net.is_own(address):
            return False
        return net.is_on_link(address) or not net.is_on_link(self.address) or self._host.covers_by_hand(self)

    def _count_bytes(self, source: Address, size: int) -> None:
        """L-72."""
        if source == self.address:
            return
        if source != self._check_address:
            self._check_address, self._bytes_in, self._bytes_out = source, 0, 0
        self._bytes_in += size

    def _may_send_to_unconfirmed(self, size: int) -> bool:
        return self._bytes_out + size <= AMPLIFICATION * self._bytes_in

    def _check(self, source: Address) -> None:
        """L-51: one ping to another address."""
        now = self.clock.now
        if source == self.address or not self._is_allowed(source):
            return
        if now - self._last_check >= PING_STEP and self._may_send_to_unconfirmed(SEALED_EXTRA + 3):
            self._last_check = now
            self._bytes_out += self._send_ping([source])

    def _take_evidence(self) -> None:
        """L-23, L-26, L-27."""
        self.evidence_at = self.clock.now
        if self.is_stale:
            self.is_stale = False
            self.wants_to_send()
        if self.state == SUSPECT:
            self.state = UP
            self._host.changed(self)
        self._arm_silence()

    def _arm_silence(self) -> None:
        if self.state == UP:
            due = self.evidence_at + self.interval * 7 // 4
            self._after("silence", max(0, due - self.clock.now), self.suspect)

    def suspect(self, spent: int = 0, widely: bool = True) -> None:
        """L-26, L-31, L-110: a round of pings begins."""
        self.state, self._spent = SUSPECT, spent
        self._ping_widely = widely
        self._round = 0
        self._suspicion_ping()
        self._host.changed(self)

    _ping_widely = True

    def _suspicion_ping(self) -> None:
        if self._spent >= PINGS:
            if self.context.is_late:                                        # L-89
                return self._after("silence", PING_STEP, self._suspicion_ping)
            return self._go_down()
        self._spent += 1
        self._round += 1
        if self._round <= LEAST_PINGS or self.context.may_ping(self.owner().is_stranger):
            self._ping_all(self._ping_widely)
        self._after("silence", PING_STEP, self._suspicion_ping)

    def _ping_all(self, widely: bool) -> None:
        addresses = [self.address]
        if widely:
            addresses += [a for a in self._host.covered_addresses(self) if a != self.address]
        self._send_ping(addresses)

    def hint(self) -> None:
        """L-29, L-40, L-41."""
        if self.state == UP and self.clock.now - self._began_hint >= HINT_PAUSE:
            self._began_hint = self.clock.now
            self._ping_all(True)

    def begin_new_round(self) -> None:
        """Catching up begins: what waits may open on its sessions (L-38), and end a suspicion that is due (L-89)."""
        for session in self.sessions:
            session.opened_at = max(session.opened_at, self.clock.now + PINGS * PING_STEP - SILENT_SESSION)
        silence = self._timers.get("silence")
        if self.is_alive and silence is not None and silence.is_set and silence.due <= self.clock.now:
            silence.cancel()
            self.suspect(0)

    def end_catching_up(self) -> None:
        """L-89: a spent round gets one more ping."""
        if self.state == SUSPECT and self._spent >= PINGS:
            self._ping_all(self._ping_widely)
            self._after("silence", PING_STEP, self._suspicion_ping)

    def _is_unheard(self) -> None:
        """L-110; the peer of a link that just came up may still come up itself."""
        now = self.clock.now
        if now - self._last_unheard >= UNHEARD_PAUSE and now - self.up_at >= JOIN_TIME:
            self._last_unheard = now
            self.suspect(PINGS_SPENT_UNHEARD, widely=False)

    def _come_up(self) -> None:
        now = self.clock.now
        self.state, self.up_at, self.evidence_at = UP, now, now
        self._cancel("down", "unheard")
        self._arm_silence()
        if not self.is_named:
            self._after("name", NAME_TIME, self._lacks_name)
        self.send_heartbeat()                                               # L-82
        self.receiver.up()
        self._host.came_up(self)
        self.schedule_beat()
        self.sender.up()

    def _lacks_name(self) -> None:
        """L-86, L-89, L-106."""
        if self.context.is_late:
            return self._after("name", PINGS * PING_STEP, self._lacks_name)
        self._host.say_bye(self, QUIT, "silence", SHORT_REST)

    def _go_down(self) -> None:
        """L-27, L-44, L-84."""
        self.up_total += self.clock.now - self.up_at
        if not self.sessions:
            self._host.keep_shown(self)                                     # L-103
        if self.up_total < LEAST_UP:
            return self._host.forget(self, "silence")
        self.state, self.is_stale = DOWN, False
        self._cancel("silence", "beat", "name")
        self.end_typing()
        self.sender.down()
        self.receiver.down()
        self._after("down", DOWN_TIME, lambda: self._host.forget(self, "silence"))
        self._unheard(list(COPIES))
        self._host.went_down(self)

    def _unheard(self, copies: list[int]) -> None:
        self.send_heartbeat()
        if copies:
            step = copies[0] if len(copies) == len(COPIES) else copies[0] - COPIES[0]
            self._after("unheard", step, lambda: self._unheard(copies[1:]))

    def outside_window(self, is_completing: bool, is_marked: bool) -> None:
        """L-93: a session completed with a datagram that fails W-22."""
        if is_completing and is_marked:
            self._host.forget(self, "lost-state")
        elif is_completing and "snapshot" not in self._timers:
            self._after("snapshot", SNAPSHOT_SIGN, lambda: self._host.forget(self, "lost-state"))

    def passed_window(self) -> None:
        self._cancel("snapshot")

    def close(self) -> None:
        """The link is forgotten."""
        self.state = FORGOTTEN
        for timer in self._timers.values():
            timer.cancel()
        self.end_typing()
        self.sender.close()
        self.receiver.close()
        for session in self.sessions:
            self.context.sessions.pop(session.index, None)
        self.sessions.clear()
