"""What a node does with an initiation (L-8 to L-12) and an ask (D-13)."""

from __future__ import annotations

import hmac
import ipaddress
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from admission import LINKED, PREFERRED, UNKNOWN, NoRoom, acquaintance, put, room
from clock import Bucket, RateWindow
from handshake import HandshakeError, Responder
from limits import (ANSWERS, ANSWERS_TO_UNKNOWN, ANSWERS_TO_UNPREFERRED, ASKS_ANSWERED, ASKS_OF_UNKNOWN_ANSWERED,
                    COOKIE_BURST, COOKIE_RATE, COOKIE_SECRET, COOKIE_SOURCES, LINKS_OF_OTHER_USERS, LOAD_INITIATIONS,
                    LOAD_UNCONFIRMED, OPENED_OF_UNKNOWN, RETRIES, RETRIES_TO_KNOWN, UNCONFIRMED, UNCONFIRMED_SESSIONS)
from names import masked, user_id
from net import OTHER_USERS
from session import Session
from wire import Ask, Initiation, Response, Retry, Tell

if TYPE_CHECKING:
    from chat import Chat
    from core import Node
    from session import Address


class Cookies:
    """L-11: bound to address, port, sender index and ephemeral key, under a secret that changes."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self._secrets = [node.random.randbytes(32), node.random.randbytes(32)]
        self._changed = node.now

    def _rotate(self) -> None:
        turns = (self.node.now - self._changed) // COOKIE_SECRET
        for _ in range(min(turns, 2)):
            self._secrets = [self.node.random.randbytes(32), self._secrets[0]]
        self._changed += turns * COOKIE_SECRET

    def make(self, initiation: Initiation, source: "Address", which: int = 0) -> bytes:
        self._rotate()
        address = ipaddress.ip_address("::ffff:" + source[0]).packed + source[1].to_bytes(2, "big")
        data = address + initiation.sender.to_bytes(4, "big") + initiation.noise[:32]
        return hmac.digest(self._secrets[which], data, "sha256")[:16]

    def is_valid(self, initiation: Initiation, source: "Address") -> bool:
        return any(hmac.compare_digest(self.make(initiation, source, i), initiation.cookie) for i in range(2))


class Answering:
    """The responder's side of all chats of a node."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self.cookies = Cookies(node)
        # Unconfirmed sessions, the oldest first, each with the initiation and the response that made it
        self.unconfirmed: "OrderedDict[int, tuple[Session, bytes, bytes]]" = OrderedDict()
        self._arrived = RateWindow(LOAD_INITIATIONS)
        self._retries = RateWindow(RETRIES)
        self._retries_to_known = RateWindow(RETRIES_TO_KNOWN)
        self._opened_of_unknown = RateWindow(OPENED_OF_UNKNOWN)
        self._answered = RateWindow(ANSWERS)
        self._unpreferred = RateWindow(ANSWERS_TO_UNPREFERRED)
        self._unknown = RateWindow(ANSWERS_TO_UNKNOWN)
        self._sources: dict[Any, Bucket] = {}
        self._asks = RateWindow(ASKS_ANSWERED)
        self._asks_of_unknown = RateWindow(ASKS_OF_UNKNOWN_ANSWERED)
        self.retries_sent = 0

    def ask(self, ask: Ask, source: "Address") -> None:
        """D-13."""
        chat = self.node.chat_of_tag(ask.tag)
        now = self.node.now
        unknown = acquaintance(self.node, source) == UNKNOWN
        if chat is None or not self._is_from_here(source) or unknown and self._asks_of_unknown.count(now) >= ASKS_OF_UNKNOWN_ANSWERED:
            return
        if not self._asks.take(now):
            return
        if unknown:
            self._asks_of_unknown.note(now)
        nonce = self.node.random.randbytes(8) if chat.secret is not None else bytes(8)
        key = masked(self.node.identity.public, chat.secret, nonce)
        self.node.send(source, Tell(ask.token, nonce, key).encode())

    def initiation(self, initiation: Initiation, data: bytes, source: "Address") -> None:
        """L-8, in the order of its steps; the form (1) has been checked."""
        chat = self.node.chat_of_tag(initiation.tag)
        if chat is None:
            return                                                                  # 2
        if not self._is_from_here(source):
            return                                                                  # D-16
        for session, request, response in self.unconfirmed.values():
            if request == data:
                self.node.send(source, response)                                    # 3
                return
        if not self._load_allows(initiation, source):
            return                                                                  # 4
        try:
            noise = Responder(self.node.identity, initiation.noise, initiation.header())  # 5, 6
        except HandshakeError:
            return
        if noise.static == self.node.identity.public:
            return                                                                  # 6, D-7
        if user_id(noise.static) in self.node.blocked:
            return                                                                  # 6, L-36
        if not self._share_is_left(chat, noise.static, source):
            return                                                                  # 7
        self._answer(chat, noise, initiation, data, source)

    def _is_from_here(self, source: "Address") -> bool:
        """D-16: on-link, a host named by hand, a live link's address, or one that is tried after silence."""
        if self.node.net.is_on_link(source) or any(source[0] == host for host, _ in self.node.peers_by_hand):
            return True
        chats = self.node.chats.values()
        return (any(link.address == source for chat in chats for link in chat.links.values())
                or any(i.until is not None and source in i.candidates for chat in chats for i in chat.instances))

    def _load_allows(self, initiation: Initiation, source: "Address") -> bool:
        """L-9, L-10: a retry without a valid cookie when over the load; with one, the limit of its source."""
        now = self.node.now
        self._arrived.note(now)
        over = self._arrived.count(now) > LOAD_INITIATIONS or len(self.unconfirmed) >= LOAD_UNCONFIRMED
        known = acquaintance(self.node, source)
        if initiation.cookie and self.cookies.is_valid(initiation, source):
            return self._source_allows(source) and (known != UNKNOWN or self._opened_of_unknown.take(now))
        if over and (known != UNKNOWN and self._retries_to_known.take(now) or self._retries.take(now)):
            self.retries_sent += 1
            self.node.send(source, Retry(initiation.sender, self.cookies.make(initiation, source)).encode())
        return not over

    def _source_allows(self, address: "Address") -> bool:
        """L-10: 5 a second, burst 20 (256 for other users of this host), but for sockets of this node's user."""
        source = self.node.net.source(address)
        if source is None:
            return True
        burst = LINKS_OF_OTHER_USERS if source == OTHER_USERS else COOKIE_BURST
        bucket = self._sources.get(source) or Bucket(COOKIE_RATE, burst, self.node.now)
        put(self._sources, source, bucket, COOKIE_SOURCES, self.node.random)
        return bucket.take(self.node.now)

    def _share_is_left(self, chat: "Chat", key: bytes, source: "Address") -> bool:
        """L-8, step 7, and L-10: half of the answers is kept for addresses that this node knows."""
        now, known = self.node.now, acquaintance(self.node, source)
        if not chat.links_of(key):
            try:
                room(self.node, chat, key, source)
            except NoRoom:
                return False
        if known < PREFERRED and self._unpreferred.count(now) >= ANSWERS_TO_UNPREFERRED:
            return False
        if known < LINKED and self._unknown.count(now) >= ANSWERS_TO_UNKNOWN:
            return False
        if not self._answered.take(now):
            return False
        if known < PREFERRED:
            self._unpreferred.note(now)
        if known < LINKED:
            self._unknown.note(now)
        return True

    def _answer(self, chat: "Chat", noise: Responder, initiation: Initiation, data: bytes,
                source: "Address") -> None:
        node = self.node
        index = node.new_index()
        try:
            message, send, receive, _ = noise.answer(node.random.randbytes(32), chat.psk, index)
        except HandshakeError:
            return  # W-4
        session = Session(chat, noise.static, False, index, initiation.sender, send, receive, node.now, source)
        if len(self.unconfirmed) >= UNCONFIRMED_SESSIONS:
            self._drop(next(iter(self.unconfirmed.values()))[0])                    # L-12
        response = Response(initiation.sender, message).encode()
        node.add_session(session)
        self.unconfirmed[index] = (session, data, response)
        session.timer = node.at(node.now + UNCONFIRMED, lambda: self._drop(session))  # L-12
        node.send(source, response)
        chat.peer_began(session, source)

    def _drop(self, session: Session) -> None:
        self.node.forget_session(session)

    def confirmed(self, session: Session) -> None:
        """Something opened on it, or it is gone."""
        self.unconfirmed.pop(session.index, None)
