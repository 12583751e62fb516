"""The node without I/O and without a clock: datagrams, commands and times go in, datagrams and events come out."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Callable, Optional

from admission import Destinations, text_shares
from answering import Answering
from chat import Chat
from clock import Bucket, RateWindow, Timer, Timers, cancel
from handshake import KeyPair
from limits import (ALL_RECORD_BURST, ALL_RECORD_RATE, CAUGHT_UP, COPIES, HELLO_INTERVAL, HELLO_TIMEOUT, IDLE_INTERVAL,
                    IDLE_LINKS, INITIATIONS_SENT, INITIATIONS_TO_STRANGERS, LAST_WILL_COUNTER, LATE, MAX_CHATS,
                    MAX_QUEUED_TEXT, OWN_TIMER, QUEUED_MESSAGE_EXTRA, READ_WAIT, RECORDS_BETWEEN_READS, RENAME_INTERVAL,
                    STRAY_RESPONSES)
from link import Link
from names import user_id
from opening import Attempt, Renewal
from session import Session
from wire import (LAST_WILL, LEFT, QUIT, TYPING_BIT, UNHEARD, Ask, Bye, Frame, Heartbeat, Hello, Initiation, Message,
                  Response, Retry, Sealed, Tell, Typing, WireError, parse_datagram, status_of)

if TYPE_CHECKING:
    from session import Address


class QueueFull(Exception):
    """M-14."""


class Node:
    """One identity in any number of chats."""

    def __init__(self, identity: KeyPair, name: str, run: bytes, now: int, random: Random, net: Any,
                 send: Callable[["Address", bytes], None], emit: Callable[[dict[str, Any]], None]) -> None:
        self.identity, self.name, self.run, self.now = identity, name, run, now
        self.random, self.net, self.send, self.emit = random, net, send, emit
        self.away = self.late = False
        self._read_late = 0
        self.chats: dict[str, Chat] = {}
        self.sessions: dict[int, Session] = {}
        self.pending: dict[int, Attempt] = {}
        self.blocked: set[str] = set()
        self.peers_by_hand: list["Address"] = []
        self.timers = Timers()
        self.initiations_sent = RateWindow(INITIATIONS_SENT)
        self.initiations_to_strangers = RateWindow(INITIATIONS_TO_STRANGERS)
        self.destinations = Destinations(self)
        self.links_made = 0
        self.stray_responses = RateWindow(STRAY_RESPONSES)
        self.pace = Bucket(ALL_RECORD_RATE, ALL_RECORD_BURST, now)
        self._records_left = RECORDS_BETWEEN_READS
        self._messages_shown = self._messages_sent = 0
        self.answering = Answering(self)
        self._renamed_at = now - RENAME_INTERVAL
        self._rename_timer: Optional[Timer] = None
        self._own_timer()

    # Time

    def at(self, due: int, action: Callable[[], None]) -> Timer:
        return self.timers.at(due, action)

    def _own_timer(self) -> None:
        self.at(self.now + OWN_TIMER, self._own_timer)  # L-46

    def advance(self, now: int) -> None:
        """T-18: before every input, the deadlines that have passed."""
        due = self.timers.next_due()
        self.now = max(self.now, now)
        if due is not None and self.now - due > LATE:
            self._timers_are_late()
        while due is not None and due <= self.now:
            self.timers.run_next()
            due = self.timers.next_due()

    def _timers_are_late(self) -> None:
        """L-30: until the socket is first empty."""
        self.late, self._read_late = True, 0
        for link in self.all_links():
            link.after_sleep()

    def socket_empty(self) -> None:
        if self.late:
            self.late = False
            for link in self.all_links():
                link.caught_up()

    def reads_done(self) -> None:
        """M-13: the socket was read, so that records may go on."""
        self._records_left = RECORDS_BETWEEN_READS

    def jittered(self, time: int, part: float) -> int:
        return int(time * self.random.uniform(1 - part, 1 + part))

    # Tables

    def all_links(self) -> list[Link]:
        return [link for chat in self.chats.values() for link in chat.links.values()]

    def chat_of_tag(self, tag: bytes) -> Optional["Chat"]:
        return next((c for c in self.chats.values() if c.tag == tag), None)

    def new_index(self) -> int:
        """W-16."""
        while True:
            index = self.random.getrandbits(32)
            if index not in self.sessions and index not in self.pending:
                return index

    def new_stream(self, before: int) -> int:
        """M-3."""
        while True:
            stream = self.random.getrandbits(32)
            if stream not in (0, before):
                return stream

    def may_send(self, addresses: list["Address"], favoured: bool) -> list["Address"]:
        """L-6, L-54: to which of these addresses an initiation goes now; it counts then."""
        reachable = [address for address in addresses if self.destinations.admits(address, favoured)]
        sent, strangers = self.initiations_sent, self.initiations_to_strangers
        if sent.count(self.now) + len(reachable) > INITIATIONS_SENT:
            return []
        if not favoured and strangers.count(self.now) + len(reachable) > INITIATIONS_TO_STRANGERS:
            return []
        for address in reachable:
            sent.note(self.now)
            if not favoured:
                strangers.note(self.now)
            self.destinations.take(address)
        return reachable

    def new_renewal(self, link: Link) -> Renewal:
        return Renewal(self, link)

    def add_session(self, session: Session) -> None:
        self.sessions[session.index] = session

    def forget_session(self, session: Session) -> None:
        session.stop_timers()
        self.sessions.pop(session.index, None)
        self.answering.confirmed(session)
        if session.link is None:
            session.chat.session_gone(session)

    def idle_interval(self) -> int:
        """T-11."""
        links = sum(len(c.links) for c in self.chats.values())
        return IDLE_INTERVAL * links // IDLE_LINKS if links > IDLE_LINKS else IDLE_INTERVAL

    def record_wait(self, link: Link) -> Optional[int]:
        """M-13: None if a datagram with a message may go out now, and it counts then; else how long to wait."""
        wait = link.pace.wait(self.now)
        if wait:
            return wait
        if link.turn is None and (self._records_left == 0 or not self.pace.take(self.now)):
            link.turn = self.now + self.pace.reserve(self.now)  # M-21: after those that wait already
        if link.turn is not None:
            if link.turn > self.now:
                return link.turn - self.now
            if self._records_left == 0:
                return READ_WAIT
            link.turn = None
        link.pace.take(self.now)
        self._records_left -= 1
        return None

    # Datagrams

    def datagram(self, now: int, data: bytes, source: "Address") -> None:
        self.advance(now)
        if self.late and self._read_late == CAUGHT_UP:
            self.socket_empty()  # L-30: it may never be
        self._read_late += 1
        try:
            datagram = parse_datagram(data)
        except WireError:
            return  # W-15
        if isinstance(datagram, Sealed):
            if datagram.receiver in self.sessions:
                self._sealed(self.sessions[datagram.receiver], datagram, source, len(data))
        elif isinstance(datagram, Initiation):
            self.answering.initiation(datagram, data, source)
        elif isinstance(datagram, Ask):
            self.answering.ask(datagram, source)
        elif isinstance(datagram, Tell):
            for chat in self.chats.values():
                for instance in list(chat.instances):
                    instance.tell(datagram, source)
        elif datagram.receiver in self.pending:
            attempt = self.pending[datagram.receiver]
            if isinstance(datagram, Response):
                attempt.response(datagram, source)
            elif isinstance(datagram, Retry):
                attempt.retry(datagram, source)

    def _sealed(self, session: Session, datagram: Sealed, source: "Address", size: int) -> None:
        """W-23, W-30."""
        newest = datagram.counter > session.window.highest and datagram.counter != LAST_WILL_COUNTER
        frames = session.open(datagram)
        if frames is None or session.is_over(self.now):
            return
        session.came_before, session.last_came = session.last_came, self.now
        if session.link is None and not session.complete and datagram.counter != LAST_WILL_COUNTER:
            self.completed(session)
        newest = newest and Bye(UNHEARD) not in frames  # L-45
        if session.link is not None:
            if datagram.counter != LAST_WILL_COUNTER:
                session.link.came_from(source, size, newest)
            if newest:
                session.link.evidence()
            has_bye = any(isinstance(frame, Bye) for frame in frames)
            if not session.link.flood.take(self.now) and not has_bye:
                return  # L-25
        self._apply(session, frames, datagram.counter, newest, source, size)
        if session.index in self.sessions:
            self.arm_hello(session)

    def _apply(self, session: Session, frames: list[Frame], counter: int, newest: bool, source: "Address",
               size: int) -> None:
        """W-30: the hello, the status, the others in their order, the bye."""
        for hello in (f for f in frames if isinstance(f, Hello)):
            binding = session.link is None
            if not self._hello(session, hello, counter):
                return
            if binding and session.link is not None:
                session.link.came_from(source, size, newest)
                if newest:
                    session.link.evidence()
        status, link = status_of(frames), session.link
        if status is not None and link is None:
            session.note_status(counter, bool(status.status & TYPING_BIT))  # L-20
        elif status is not None and link is not None:
            link.status(session, status, counter, any(isinstance(f, Message) for f in frames))
        if link is not None:
            link.chat.people.update(link.key)
        for frame in frames:
            if link is not None and not isinstance(frame, (Hello, Heartbeat, Typing, Bye)):
                link.frame(frame, source)
        for bye in (f for f in frames if isinstance(f, Bye)):
            self._bye(session, bye, counter == LAST_WILL_COUNTER or bye.reason == LAST_WILL)

    def _bye(self, session: Session, bye: Bye, will: bool) -> None:
        """L-34, L-45."""
        if session.link is None:
            if will or bye.reason != UNHEARD:
                session.chat.farewell(session)
            self.forget_session(session)
        elif bye.reason == UNHEARD and not will:
            session.link.unheard(session)
        else:
            session.link.bye(session, "will" if will else "bye")

    def completed(self, session: Session) -> None:
        """A session is complete, and awaits the peer's hello."""
        session.complete, session.completed_at = True, self.now
        if not session.begun_here:
            self.answering.confirmed(session)
            cancel(session.timer)
            session.timer = self.at(self.now + HELLO_TIMEOUT, lambda: self.forget_session(session))  # L-19
            session.chat.peer_confirmed(session)
        else:
            self.arm_hello(session)

    # Hellos

    def _hello(self, session: Session, hello: Hello, counter: int) -> bool:
        """L-22, L-48; false if the session is one too many of its link (L-21)."""
        new = counter > session.hello_counter
        session.hello_counter = max(counter, session.hello_counter)
        session.hellos_came += 1
        binding = session.link is None
        if binding and not session.chat.bind(session, hello):
            return True  # L-39: it goes by L-19
        assert session.link is not None
        if session not in session.link.sessions:
            return False  # L-21: one too many
        session.link.hello(session, hello, new, binding)
        return True

    def hello_frame(self, session: Session) -> Hello:
        """M-4, L-47: what a hello on this session says now."""
        link = session.link or session.chat.presumed_link(session)
        if link is not None:
            return Hello(self.run, link.out.number, link.into.held, link.into.expected, self.name)
        if session.fresh_stream == 0:
            session.fresh_stream = self.new_stream(0)
        return Hello(self.run, session.fresh_stream, 0, 0, self.name)

    def next_hello(self, session: Session) -> Hello:
        """The hello that is sent now."""
        hello = self.hello_frame(session)
        session.hello_said, session.hello_said_at = hello.encode(), self.now
        link = session.link or session.chat.presumed_link(session)
        if link is not None and hello.stream not in link.named:
            link.named.append(hello.stream)  # M-7
        return hello

    def say_hello(self, session: Session) -> None:
        frames: list[Frame] = [self.next_hello(session), session.chat.heartbeat()]
        if session.link is not None:
            session.link.transmit(frames)
        elif not session.is_over(self.now):
            self.send(session.address, session.seal(frames))
        self.arm_hello(session)

    def needs_hello(self, session: Session) -> bool:
        """L-16: until the latest hello that came on it holds this node's stream."""
        link = session.link
        if not session.complete or session.is_over(self.now):
            return False
        if link is None:
            return True
        return session is link.sending and not (session.hello_since_taken and session.held == link.out.number)

    def arm_hello(self, session: Session) -> None:
        """L-16: at once, and whenever the last one is 250 ms old."""
        cancel(session.hello_timer)
        if not self.needs_hello(session):
            return
        if session.hello_said_at is None:
            self.say_hello(session)
            return
        due = max(session.hello_said_at, session.hello_missing_since) + HELLO_INTERVAL
        if due <= self.now:
            self.say_hello(session)
        else:
            session.hello_timer = self.at(due, lambda: self.arm_hello(session))

    # What the user does

    def join(self, name: str, secret: Optional[bytes]) -> "Chat":
        chat = Chat(self, name, secret)
        self.chats[name] = chat
        if secret is None:
            self.notice("open-chat", "Anyone who knows the name of this chat can read and write in it", chat)  # S-4
        for address in self.peers_by_hand:
            chat.add_by_hand(address)
        return chat

    def may_join(self) -> bool:
        return len(self.chats) < MAX_CHATS  # L-39

    def add_peer(self, address: "Address") -> None:
        """D-11; an address added by hand is one of each chat."""
        if address not in self.peers_by_hand:
            self.peers_by_hand.append(address)
            for chat in self.chats.values():
                chat.add_by_hand(address)

    def leave(self, chat: "Chat", reason: int = LEFT, why: str = "left") -> None:
        """L-32, M-18."""
        del self.chats[chat.name]
        chat.close(reason, why)

    def quit(self) -> int:
        """L-32; says when the last copy of the byes has gone out."""
        for chat in list(self.chats.values()):
            self.leave(chat, QUIT, "quit")
        return self.now + COPIES[-1]

    def set_away(self, away: bool) -> None:
        """T-10, T-21."""
        if away == self.away:
            return
        self.away = away
        for chat in self.chats.values():
            if away and chat.composer.end_quietly():
                chat.send_status(Typing)
            else:
                chat.send_heartbeats()

    def rename(self, name: str) -> None:
        """L-57: the hellos begin again, once a second at most."""
        self.name = name
        cancel(self._rename_timer)
        self._rename_timer = self.at(max(self.now, self._renamed_at + RENAME_INTERVAL), self._tell_name)

    def _tell_name(self) -> None:
        self._renamed_at = self.now
        for link in self.all_links():
            link.sending.hello_since_taken = False
            link.sending.hello_missing_since = self.now
            self.say_hello(link.sending)

    def block(self, user: str) -> None:
        """L-36: all keys with that user ID."""
        if user == user_id(self.identity.public):
            return
        self.blocked.add(user)
        for chat in self.chats.values():
            chat.block(user)

    def unblock(self, user: str) -> None:
        self.blocked.discard(user)
        for chat in self.chats.values():
            for instance in chat.instances:
                if instance.key is not None and user_id(instance.key) == user:
                    instance.begin()

    def send_text(self, chat: "Chat", text: str, tag: Optional[str], front_end: object = None) -> None:
        """J-6, M-14, M-17."""
        size = len(text.encode()) + QUEUED_MESSAGE_EXTRA
        full = [link for link in chat.links.values() if link.out.size + size > MAX_QUEUED_TEXT]
        if full and (len(full) == len(chat.links) or not all(link.out.is_overdue(self.now) for link in full)):
            raise QueueFull
        self._messages_sent += 1
        chat.send_text(self._messages_sent, text, tag, full, front_end)

    def tell_of_room(self) -> None:
        """M-20: an ack to each link held back whose shares are half free again."""
        for link in [link for link in self.all_links() if link.into.held_back]:
            if all(used <= limit // 2 for used, limit in text_shares(self, link)):
                link.into.held_back = False
                link.transmit([link.into.ack()])

    def next_shown(self) -> int:
        self._messages_shown += 1
        return self._messages_shown

    def notice(self, code: str, text: str, chat: "Chat") -> None:
        self.emit({"on": "notice", "code": code, "text": text, "chat": chat.name})

    def network_changed(self) -> None:
        """L-40."""
        for chat in self.chats.values():
            for link in chat.links.values():
                link.network_changed()
            for instance in chat.instances:
                if not instance.held_back and chat.link_covering(instance) is None:
                    instance.begin()

    def say_bye(self, reason: int, sessions: list[tuple[Session, "Address"]]) -> None:
        """L-32: at once and again after 30 and 120 ms, each copy under a counter of its own."""
        def say() -> None:
            for session, address in sessions:
                if not session.is_over(self.now):
                    self.send(address, session.seal([Bye(reason)]))
        say()
        for delay in COPIES:
            self.at(self.now + delay, say)
