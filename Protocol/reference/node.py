"""The node: inputs with their time go in, datagrams and events come out. It does no I/O and reads no clock."""

from hmac import compare_digest
from random import Random
from typing import Any, Optional

from admission import PREFERRED, Answering, Beginning, NoRoom, Place, make_room
from chat import Chat, Memory
from clock import Clock
from context import Context, Network, Transmit
from invitations import Invitations
from keys import ChatKeys, TextError, user_id
from limits import (CAUGHT_UP, COPIES, LATE, LONGEST_TIMER, MESSAGE_EXTRA, REKEY, STOPPED, UNCONFIRMED,
                    UNCONFIRMED_SESSIONS, UNUSED_COUNTER, WILL_COUNTER)
from link import Link
from moving import Moving
from noise import HandshakeError, KeyPair, Responder
from session import Address, Session
from wire import (LEFT, QUIT, WILL, Ask, Bye, Frame, Initiation, Response, Retry, Sealed, Tell, WireError,
                  parse_datagram, parse_frames)


class Node:
    """One identity in any number of chats."""

    def __init__(self, identity: KeyPair, name: str, now: int, chance: Random, net: Network,
                 rekey: int = REKEY) -> None:
        self.context = Context(Clock(now), chance, net, identity, name, rekey)
        self.clock, self.identity = self.context.clock, identity
        self.chats: dict[str, Chat] = {}
        self.peers: list[Address] = []                          # by hand, in every chat (J-12)
        self.moving = Moving(self)
        self.blocked: set[str] = set()
        self.invitations = Invitations(self.context)
        self.beginning, self.answering = Beginning(self.context, self), Answering(self.context, self)
        self.unconfirmed: dict[bytes, tuple[Session, bytes]] = {}   # L-12: by initiation, with the response
        self._memories: dict[bytes, Memory] = {}                # by chat key
        self._completed = self._proven = self._number = self._sent_number = self._read = 0
        self._last_ran = now
        self._tick()

    def everywhere(self) -> list[Chat]:
        """All chats, also those that the node departed from (M-65)."""
        return [*self.chats.values(), *self.moving.departed]

    def take_datagrams(self) -> list[Transmit]:
        outputs, self.context.outputs = self.context.outputs, []
        return outputs

    def take_events(self) -> list[dict[str, Any]]:
        """Messages among them count as taken (M-20)."""
        events, self.context.events = self.context.events, []
        for event in events:
            if "held" in event:
                owner, size = event.pop("held")
                self.context.pools.texts.remove(owner, size + MESSAGE_EXTRA)
        return events

    def next_deadline(self) -> int:
        return self.clock.next_due() or self.clock.now          # one is always due (L-46)

    def advance(self, now: int) -> None:
        """T-18: notices lateness, and then runs the deadlines that have passed."""
        now = max(now, self.clock.now)
        due, stopped = self.clock.next_due(), now - self._last_ran > STOPPED
        self.clock.now = self._last_ran = now
        if due is not None and now - due > LATE and not self.context.is_late:
            self._begin_catching_up(stopped)
        self.clock.run()

    def _begin_catching_up(self, was_stopped: bool) -> None:
        """L-30, L-42, L-89."""
        self.context.is_late, self._read = True, 0
        for link in self.links():
            link.begin_new_round()
        if was_stopped:
            for chat in self.everywhere():
                for link in list(chat.links.values()):
                    if link.is_alive:
                        link.is_stale = True
                        chat.handshake(link, [link.address, *chat.covered_addresses(link)])
                chat.openings.news_of_all()

    def socket_empty(self, now: int) -> None:
        """The socket was read until nothing was left."""
        self.advance(now)
        if self.context.is_late:
            self._end_catching_up()
        self.context.pacer.socket_read()

    def _end_catching_up(self) -> None:
        self.context.is_late = False
        for link in self.links():
            link.end_catching_up()

    def _tick(self) -> None:
        """L-46."""
        for link in self.links():
            link.tick()
        self.clock.after(LONGEST_TIMER, self._tick)

    def join(self, name: str, secret: Optional[bytes] = None, owner: bytes = b"", with_key: bytes = b"") -> Chat:
        """The name is checked (W-2). There is at most one chat of a name. `with_key` makes it a talk."""
        keys = ChatKeys(name, secret, owner)
        self.moving.make_room(1)
        chat = self.chats[name] = self.make_chat(name, secret, owner, with_key, self.moving.moves.refused(keys))
        self.invitations.joined(keys.chat_key)
        return chat

    def make_chat(self, name: str, secret: Optional[bytes], owner: bytes = b"", with_key: bytes = b"",
                  refused: tuple[bytes, ...] = ()) -> Chat:
        key = ChatKeys(name, secret, owner).chat_key
        memory = self._memories.setdefault(key, Memory(self.context.random.randbytes(8)))       # L-58
        chat = Chat(self.context, self, name, secret, owner, memory, with_key, refused)
        for peer in self.peers:
            chat.openings.add_by_hand(peer)
        return chat

    def leave(self, chat: Chat) -> None:
        """The user leaves the chat."""
        del self.chats[chat.name]
        self.close(chat, LEFT, "left")
        self.moving.left(chat)

    def close(self, chat: Chat, reason: int, why: str) -> None:
        chat.close(reason, why)
        for session in [s for s, _ in self.unconfirmed.values() if s.chat is chat]:
            self._drop_session(session)

    def quit(self) -> int:
        """L-32. Returns when the last copies of the byes are out."""
        for chat in self.everywhere():
            self.close(chat, QUIT, "quit")
        self.chats.clear()
        self.moving.departed.clear()
        return self.clock.now + COPIES[-1]

    def send(self, chat: Chat, text: str, tag: Optional[str] = None) -> int:
        """Raises QueueFull (M-14)."""
        chat.send_text(self._sent_number + 1, text, tag)
        self._sent_number += 1
        return self._sent_number

    def chats_with(self, key: bytes) -> list[Chat]:
        """Chats whose links can carry an invite to the key's owner, the best first."""
        chats = [chat for chat in self.chats.values() if chat.has(key)]
        return sorted(chats, key=lambda chat: all(link.is_down for link in chat.links_of(key)))

    def invite(self, key: bytes, body: bytes) -> None:
        """M-45: to somebody who is in a chat of this node. Raises QueueFull."""
        self.chats_with(key)[0].send_invite(self._sent_number + 1, key, body)
        self._sent_number += 1

    def knock(self, key: bytes) -> None:
        """A-39."""
        for chat in self.chats_with(key)[:1]:
            chat.send_invite(0, key, b"")

    def got_invite(self, chat: Chat, key: bytes, name: str, body: bytes) -> None:
        joined = {other.keys.chat_key for other in self.chats.values()}
        self.invitations.receive(body, chat.name, key, name, lambda keys: (
            keys.chat_key in joined or self.moving.moves.leading_from(keys) is not None))

    def set_away(self, is_away: bool) -> None:
        """T-10, T-21."""
        if is_away == self.context.is_away:
            return
        self.context.is_away = is_away
        for chat in self.chats.values():
            if is_away and chat.composer.stop_quietly():
                for link in chat.links.values():
                    link.send_typing()
            else:
                chat.send_heartbeats()

    def rename(self, name: str) -> None:
        self.context.name = name
        for link in self.links():
            link.rename()

    def block(self, user: str) -> None:
        if user != user_id(self.identity.public):
            self.blocked.add(user)
            self.invitations.blocked(user)
            for chat in self.everywhere():
                chat.blocked(user)

    def unblock(self, user: str) -> None:
        self.blocked.discard(user)
        for chat in self.everywhere():
            chat.unblocked(user)

    def network_changed(self) -> None:
        """L-40."""
        for link in self.links():
            link.hint()
        for chat in self.everywhere():
            chat.openings.news_of_all()

    def links(self) -> list[Link]:
        return [link for chat in self.everywhere() for link in chat.links.values()]

    def live_links(self) -> int:
        return sum(link.is_alive for link in self.links())

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def make_room(self, chat: Chat, session: Session) -> None:
        replaced = self._find_room(chat, session.key, session.address)
        if replaced is not None:
            replaced.chat.say_bye(replaced.link, QUIT, "full")

    def _find_room(self, chat: Chat, key: bytes, address: Address) -> Optional[Place]:
        source = self.context.net.source
        places = [Place(link, c, link.key, c.rank, source(link.address)) for c in self.everywhere()
                  for link in c.links.values()]
        return make_room(places, Place(None, chat, key, chat.rank, source(address)), len(self.everywhere()))

    def drop_unconfirmed(self, chat: Chat, key: bytes) -> None:
        """L-87."""
        for session in [s for s, _ in self.unconfirmed.values() if s.chat is chat and s.key == key]:
            self._drop_session(session)

    def _drop_session(self, session: Session) -> None:
        self.unconfirmed = {i: entry for i, entry in self.unconfirmed.items() if entry[0] is not session}
        if self.context.sessions.get(session.index) is session and session.link is None:
            del self.context.sessions[session.index]

    def _instances(self) -> list[tuple[Chat, Any]]:
        return [(chat, instance) for chat in self.everywhere() for instance in chat.openings.instances]

    def is_known(self, address: Address) -> bool:
        return any(link.address == address for link in self.links()) or any(
            (i.by_hand or chat.rank >= PREFERRED) and address in i.candidates for chat, i in self._instances())

    def is_preferred(self, address: Address) -> bool:
        return any(link.address == address and chat.rank >= PREFERRED for chat in self.everywhere()
                   for link in chat.links.values()) or any(
            (i.by_hand or chat.rank >= PREFERRED) and address in i.candidates for chat, i in self._instances())

    def _may_come_from(self, address: Address) -> bool:
        """D-16."""
        if self.context.net.is_on_link(address) or address in self.context.after_byes:
            return True
        return any(link.address == address for link in self.links()) or any(
            i.by_hand and address[0] == i.candidates[0][0] for _, i in self._instances())

    def datagram(self, now: int, data: bytes, source: Address, via: Any = None,
                 hop_limit: Optional[int] = None) -> None:
        """`via` is the own address that it was sent to, and `hop_limit` what it arrived with, where known."""
        self.advance(now)
        if self.context.is_late:
            self._read += 1
            if self._read > CAUGHT_UP:
                self._end_catching_up()
        if not self.context.net.is_unicast(source):
            return self.context.drop("source")
        try:
            datagram = parse_datagram(data)
        except WireError as error:
            return self.context.drop(error.code)
        if isinstance(datagram, Sealed):
            self._sealed(datagram, source, via, len(data))
        elif isinstance(datagram, Initiation):
            self._initiation(datagram, data, source, via, hop_limit)
        elif isinstance(datagram, Response):
            self._response(datagram, source, via)
        elif isinstance(datagram, Retry):
            attempt = self.context.pending.get(datagram.receiver)
            if attempt is None or not attempt.retry(source, datagram.cookie, via):
                self.context.drop("retry")
        elif isinstance(datagram, Ask):
            self._ask(datagram, source, via, hop_limit)
        else:
            self._tell(datagram, source)

    def _initiation(self, initiation: Initiation, data: bytes, source: Address, via: Any,
                    hop_limit: Optional[int]) -> None:
        """The order of L-8."""
        context, answering = self.context, self.answering
        if not self._may_come_from(source):
            return context.drop("off-link")
        if data[:121] in self.unconfirmed:
            return context.transmit(source, self.unconfirmed[data[:121]][1], via)
        ephemeral = initiation.noise[:32]
        has_cookie = answering.cookies.fits(initiation.cookie, source, initiation.sender, ephemeral)
        if answering.unchecked.is_over(self.clock.now) and not has_cookie:
            return self._retry(initiation, source, via)
        chat = next((c for c in self.everywhere() if compare_digest(
            initiation.check, c.keys.initiation_check(initiation.sender, initiation.noise))), None)
        if chat is None:
            return context.drop("check")
        is_loaded = answering.is_loaded(len(self.unconfirmed), hop_limit)
        if is_loaded and not has_cookie:
            return self._retry(initiation, source, via)
        if has_cookie and not answering.may_open_with_cookie(source):
            return context.drop("cookies")
        try:
            noise = Responder(self.identity, initiation.noise, chat.keys.prologue(initiation.sender), chat.is_own)
        except HandshakeError as error:
            return context.drop(error.code)
        if (refusal := chat.refusal(noise.static, noise.run)) is not None:
            return context.drop(refusal)
        epoch = chat.epoch_to_answer(noise.static, noise.run, noise.epoch)
        if epoch is None:
            return context.drop("epoch")                        # L-63
        if (noise.static, noise.run) not in chat.links and not self._has_room(chat, noise.static, source):
            return context.drop("room")
        if not answering.may_answer(source):
            return context.drop("answers")
        self._answer(chat, initiation, data, noise, epoch, source, via)

    def _retry(self, initiation: Initiation, source: Address, via: Any) -> None:
        if self.answering.may_retry(source):
            cookie = self.answering.cookies.make(source, initiation.sender, initiation.noise[:32])
            self.context.transmit(source, Retry(initiation.sender, cookie).encode(), via)

    def _has_room(self, chat: Chat, key: bytes, source: Address) -> bool:
        try:
            self._find_room(chat, key, source)
            return True
        except NoRoom:
            return False

    def _answer(self, chat: Chat, initiation: Initiation, data: bytes, noise: Responder, epoch: int, source: Address,
                via: Any) -> None:
        """L-62, L-12."""
        context = self.context
        index = context.new_index()
        try:
            message, result = noise.answer(context.random.randbytes(32), chat.keys.psk, index, chat.run, epoch)
        except HandshakeError as error:
            return context.drop(error.code)
        session = Session(noise.static, index, initiation.sender, result, epoch, source, False, self.clock.now)
        session.chat = chat
        context.sessions[index] = session
        if len(self.unconfirmed) >= UNCONFIRMED_SESSIONS:
            self._drop_session(next(iter(self.unconfirmed.values()))[0])
        response = Response(initiation.sender, message).encode()
        self.unconfirmed[data[:121]] = session, response
        self.clock.after(UNCONFIRMED, lambda: self._drop_session(session))
        context.transmit(source, response, via)

    def _response(self, response: Response, source: Address, via: Any) -> None:
        attempt = self.context.pending.get(response.receiver)
        if attempt is None:
            return self.context.drop("notPending")              # L-7
        if not self.beginning.may_open_response(attempt, source):
            return self.context.drop("responses")
        try:
            result = attempt.noise.finish(response.noise)
        except HandshakeError as error:
            return self.context.drop(error.code)
        self.beginning.answered(source)
        attempt.host.response(attempt, result, source, via)

    def _ask(self, ask: Ask, source: Address, via: Any, hop_limit: Optional[int]) -> None:
        """D-13, D-25: also in a departed chat, so that members by hand find its owner."""
        if not self._may_come_from(source) or not self.answering.asks.take(self.clock.now):
            return self.context.drop("ask")
        chat = next((c for c in self.everywhere() if compare_digest(ask.check, c.keys.ask_check(ask.token))), None)
        if chat is None or not self.answering.may_tell(source, hop_limit):
            return self.context.drop("ask")
        nonce = self.context.random.randbytes(8)
        sealed = chat.keys.seal_static(self.identity.public, nonce, ask.token)
        self.context.transmit(source, Tell(ask.token, nonce, sealed).encode(), via)

    def _tell(self, tell: Tell, source: Address) -> None:
        """D-12."""
        for chat in self.everywhere():
            asking = chat.openings.asking_for(source, tell.token)
            if asking is None:
                continue
            try:
                key = chat.keys.open_static(tell.key, tell.nonce, tell.token)
            except TextError as error:
                return self.context.drop(error.code)
            asking.tokens = []
            self.beginning.answered(source)
            return chat.openings.told(asking, key)
        self.context.drop("tell")

    def _sealed(self, datagram: Sealed, source: Address, via: Any, size: int) -> None:
        """W-19 to W-24, W-39, L-25."""
        session = self.context.sessions.get(datagram.receiver)
        if session is None:
            return self.context.drop("index")
        if datagram.counter == WILL_COUNTER:
            return self._will(session, datagram)
        link: Optional[Link] = session.link
        is_completing = not session.is_complete
        if not is_completing:
            assert link is not None
            if self._fails_window(link, datagram.counter):
                return self.context.drop("window")
        plaintext = session.open(datagram)
        if plaintext is None:
            return self.context.drop("authentication")
        frames = self._frames(plaintext)
        if link is None:
            link = self._confirm(session, frames)
            if link is None:
                return
        if is_completing:
            self._completed += 1
            session.completed = self._completed
        session.opened_at = self.clock.now
        if datagram.counter == UNUSED_COUNTER:
            return self.context.drop("counter")
        if self._fails_window(link, datagram.counter):
            self.context.drop("window")
            return link.outside_window(is_completing, link.window.is_marked(datagram.counter))
        is_newest = link.window.mark(datagram.counter)
        if is_newest and not session.proven:
            self._proven += 1
            session.proven = self._proven
        link.passed_window()
        if frames is None:
            return self.context.drop("frames")
        self.beginning.answered(source)
        is_within = link.datagrams.take(self.clock.now) and self.answering.may_apply(self.context.net.source(source))
        if not is_within and not any(isinstance(frame, Bye) for frame in frames):
            self.context.drop("rate")
            return link.record_arrived_too_fast(datagram.counter, frames, source, is_newest)
        chat: Chat = session.chat
        link.opened(session, datagram.counter, is_newest, frames, source, size, via)
        chat.report_texts()
        if chat.successor is not None and not chat.is_following:
            self.moving.follow(chat, chat.successor)

    @staticmethod
    def _fails_window(link: Link, counter: int) -> bool:
        return counter == UNUSED_COUNTER or link.window.is_marked(counter) or link.window.is_old(counter)

    @staticmethod
    def _frames(plaintext: bytes) -> Optional[list[Frame]]:
        try:
            return parse_frames(plaintext)
        except WireError:
            return None

    def _confirm(self, session: Session, frames: Optional[list[Frame]]) -> Optional[Link]:
        """L-67; a bye ends the link of that run and pair of epochs, or drops the session alone (L-34)."""
        chat: Chat = session.chat
        bye = next((frame for frame in frames or [] if isinstance(frame, Bye)), None)
        if bye is not None:
            self._bye_unconfirmed(session, bye.reason)
            return None
        self._drop_session(session)
        self.context.sessions[session.index] = session
        link = chat.confirm(session)
        if link is None:
            self.context.sessions.pop(session.index, None)
        return link

    def _bye_unconfirmed(self, session: Session, reason: int) -> None:
        chat: Chat = session.chat
        self._drop_session(session)
        link = chat.links.get((session.key, session.run))
        if link is not None and (link.own_epoch, link.peer_epoch) == (session.own_epoch, session.peer_epoch):
            chat.received_bye(link, reason)

    def _will(self, session: Session, datagram: Sealed) -> None:
        """W-21."""
        plaintext = session.open(datagram)
        frames = None if plaintext is None else self._frames(plaintext)
        if frames is None or len(frames) != 1 or not isinstance(frames[0], Bye):
            return self.context.drop("lastWill")
        if session.link is None:
            return self._bye_unconfirmed(session, WILL)
        session.chat.received_bye(session.link, WILL)
