"""Openings: attempts, pauses, and who gives way (L-1 to L-7, L-13 to L-15, L-35, L-37, D-11, D-12, D-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from clock import Timer, cancel
from handshake import HandshakeError, Initiator
from limits import (AFTER_BYE_BY_HAND, AFTER_BYE_FOUND, ASK_INTERVAL, ASK_STEPS, ATTEMPT, ATTEMPT_STEPS,
                    FAST_OPENING, HELLO_TIMEOUT, JITTER, LARGER_KEY_DELAY, OWN_ASK_INTERVAL, PAUSES,
                    PENDING_INITIATIONS, PENDING_TO_STRANGERS, REKEY_REPEAT, RESPONSES_OPENED, SLOW_OPENING, UNCONFIRMED_TURNS, WAIT_ATTEMPT, WAIT_GAVE_WAY, WAIT_TRANSMISSION)
from names import key_is_valid, masked, user_id
from session import Session
from wire import Ask, Initiation, Response, Retry, Tell

if TYPE_CHECKING:
    from chat import Chat
    from core import Node
    from link import Link
    from session import Address


class Attempt:
    """One handshake of this node that awaits its response (L-4)."""

    def __init__(self, opening: "Opening") -> None:
        node, chat = opening.node, opening.chat
        self.opening, self.node = opening, node
        self.index = node.new_index()
        header = Initiation(self.index, chat.tag, b"").header()
        self.noise = Initiator(node.identity, node.random.randbytes(32), opening.key or b"", chat.psk, header)
        self.bytes = header + self.noise.message
        self.targets: list["Address"] = []
        self._may_retry: set["Address"] = set()
        self._responses_left: dict["Address", int] = {}
        self._steps = list(ATTEMPT_STEPS)
        self._began = node.now
        node.pending[self.index] = self
        self._end = node.at(node.now + ATTEMPT, self._over)
        self._next: Optional[Timer] = None
        self._transmit()

    def _transmit(self) -> None:
        """L-2: the same bytes to all candidates."""
        node = self.node
        targets = node.may_send(self.opening.targets(), self.opening.favoured())
        if not targets:
            self._next = node.at(node.now + WAIT_TRANSMISSION, self._transmit)  # L-6, L-54
            return
        self.targets = targets
        for address in self.targets:
            self._send(address, self.bytes)
        self._may_retry = set(self.targets)
        if self._steps:
            due = node.now + node.jittered(self._steps.pop(0), JITTER)
            self._next = node.at(due, self._transmit) if due < self._began + ATTEMPT else None

    def retry(self, retry: Retry, source: "Address") -> None:
        """L-13: once for each transmission, to that address alone."""
        if source in self._may_retry and self.node.may_send([source], self.opening.favoured()):
            self._may_retry.discard(source)
            self._send(source, self.bytes + retry.cookie)

    def _send(self, address: "Address", data: bytes) -> None:
        self._responses_left[address] = self._responses_left.get(address, 0) + RESPONSES_OPENED
        self.node.send(address, data)

    def _may_open(self, source: "Address") -> bool:
        """L-49."""
        if source not in self._responses_left:
            return self.node.stray_responses.take(self.node.now)
        if self._responses_left[source] == 0:
            return False
        self._responses_left[source] -= 1
        return True

    def response(self, response: Response, source: "Address") -> None:
        """L-7: one that does not open leaves everything as it was."""
        if not self._may_open(source):
            return
        try:
            remote, send, receive, _ = self.noise.finish(response.noise)
        except HandshakeError:
            return
        self.abandon()
        node, opening = self.node, self.opening
        node.destinations.answered(source)
        if source not in self._responses_left:
            source = self.targets[0]  # L-24
        session = Session(opening.chat, opening.key or b"", True, self.index, remote, send, receive, node.now, source)
        session.opening = opening
        node.add_session(session)
        opening.opened(session)
        node.completed(session)

    def _over(self) -> None:
        self.abandon()
        self.opening.attempt = None
        self.opening.failed()

    def abandon(self) -> None:
        self.node.pending.pop(self.index, None)
        cancel(self._end)
        cancel(self._next)


class Opening:
    """What makes attempts, one after the other, to reach one peer."""

    def __init__(self, node: "Node", chat: "Chat", key: Optional[bytes]) -> None:
        self.node, self.chat, self.key = node, chat, key
        self.by_hand = False
        self.timer: Optional[Timer] = None
        self.attempt: Optional[Attempt] = None
        self.session: Optional[Session] = None     # its own, that awaits the peer's hello
        self.first_at: Optional[int] = None
        self.last_at = 0
        self.attempts = 0
        self.turns = 0    # L-55: initiations of the peer in a row for which no session was confirmed

    def leaves_opening(self) -> bool:
        """L-55."""
        return self.turns <= UNCONFIRMED_TURNS

    def favoured(self) -> bool:
        """L-6: whether it is to no stranger."""
        return self.by_hand or self.chat.secret is not None

    def targets(self) -> list["Address"]:
        raise NotImplementedError

    def may_open(self) -> bool:
        raise NotImplementedError

    def stop(self) -> None:
        cancel(self.timer)
        if self.attempt:
            self.attempt.abandon()
        self.timer = self.attempt = self.session = None

    def begin(self, at_once: bool = False) -> None:
        """L-1: the smaller key at once, the larger one after 300 ms."""
        self.stop()
        self.first_at, self.attempts = None, 0
        if at_once or self.key is None or self.node.identity.public < self.key:
            self.due()
        else:
            self._wait(LARGER_KEY_DELAY)

    def _wait(self, delay: int) -> None:
        cancel(self.timer)
        self.timer = self.node.at(self.node.now + delay, self.due)

    def due(self) -> None:
        """The next attempt, unless something stands in its way."""
        cancel(self.timer)
        self.timer = None
        if self.key is None or not self.may_open():
            return
        left_until = self.chat.left_to_peer_until(self.key)
        if self.node.identity.public > self.key and self.leaves_opening() and left_until > self.node.now:
            self._wait(left_until - self.node.now)  # L-1
            return
        if any(other is not self and (other.attempt or other.session) and set(other.targets()) & set(self.targets())
               for other in self.chat.openings_to(self.key)):
            self._wait(LARGER_KEY_DELAY)  # L-3
            return
        if not self._make_room():
            self._wait(WAIT_ATTEMPT)  # L-6
            return
        self.attempts += 1
        self.last_at = self.node.now
        if self.first_at is None:
            self.first_at = self.node.now
        self.before_attempt()
        try:
            self.attempt = Attempt(self)
        except HandshakeError:
            self.key = None  # W-4: nobody can have this key

    def before_attempt(self) -> None:
        """By hand, an ask goes out with each attempt (D-11)."""

    def _make_room(self) -> bool:
        """L-6: with too many pending the one tried most often gives way to one never tried."""
        pending = [attempt.opening for attempt in self.node.pending.values()]
        strangers = [opening for opening in pending if not opening.favoured()]
        if len(pending) < PENDING_INITIATIONS and (self.favoured() or len(strangers) < PENDING_TO_STRANGERS):
            return True
        most = max(pending if self.favoured() else strangers, key=lambda o: o.attempts, default=None)
        if self.attempts or most is None or most.attempts <= 1:
            return False
        most.stop()
        most._wait(WAIT_GAVE_WAY)
        return True

    def opened(self, session: Session) -> None:
        """The response came; the session awaits the peer's hello (L-19)."""
        self.attempt, self.session = None, session
        session.timer = self.node.at(self.node.now + HELLO_TIMEOUT, lambda: self.node.forget_session(session))

    def session_gone(self, session: Session) -> None:
        """L-14, L-19: a session without a hello was dropped."""
        if session is self.session:
            self.session = None
            self.failed()

    def failed(self) -> None:
        raise NotImplementedError

    def give_way(self, time: int) -> None:
        """L-14, L-15: the next attempt comes after so long, if it is still wanted."""
        self.stop()
        self._wait(time)


class Instance(Opening):
    """One place where a peer may be: added by hand, found, or the last address of a silent link."""

    def __init__(self, node: "Node", chat: "Chat", key: Optional[bytes], candidates: list["Address"], *,
                 by_hand: bool = False, until: Optional[int] = None) -> None:
        super().__init__(node, chat, key)
        self.candidates = candidates
        self.by_hand = by_hand
        self.until = until            # L-35: how long the last address of a silent link is tried
        self.held_back = False        # L-35: after a bye
        self._token: Optional[int] = None
        self._asks = 0
        self._own_told = False        # D-14

    def targets(self) -> list["Address"]:
        return self.candidates

    def may_open(self) -> bool:
        """L-3, L-35, L-36."""
        if self.held_back or (self.key is not None and user_id(self.key) in self.node.blocked):
            return False
        return self.chat.link_covering(self) is None

    def stop(self) -> None:
        super().stop()
        self.held_back = False

    def begin(self, at_once: bool = False) -> None:
        if self.key is None:
            self.stop()
            self._asks = 0
            self._ask_alone()
        elif self.chat.link_covering(self) is not None:
            self.stop()
        else:
            super().begin(at_once)

    def failed(self) -> None:
        """L-5: the pause before the next attempt."""
        now = self.node.now
        if self.first_at is None or now - self.first_at < FAST_OPENING:
            start = now + self.node.jittered(PAUSES[min(self.attempts, len(PAUSES)) - 1], JITTER)
        else:
            start = max(now, self.last_at + self.node.jittered(SLOW_OPENING, JITTER))
        if self.until is not None and start >= self.until:
            self.chat.remove_instance(self)
            return
        cancel(self.timer)
        if start == now:
            self.due()
        else:
            self.timer = self.node.at(start, self.due)

    def listed(self, candidates: list["Address"]) -> None:
        """L-5: discovery lists it again."""
        if candidates == self.candidates:
            return
        self.candidates = candidates
        if not (self.attempt or self.session or self.held_back):
            self.begin()

    def hold_back(self) -> None:
        """L-35: after a bye; then at once, with the second attempt if by hand, or else once every 60 s."""
        self.stop()
        self.held_back = True
        wait = AFTER_BYE_BY_HAND if self.by_hand else AFTER_BYE_FOUND
        self.timer = self.node.at(self.node.now + wait, self._return)

    def _return(self) -> None:
        self.held_back = False
        if self.by_hand:
            self.first_at, self.attempts = None, 1
        else:
            self.first_at = self.node.now - FAST_OPENING
        self.due()

    # By hand: asks and tells

    def _ask(self) -> None:
        self._token = self.node.random.getrandbits(32)
        self.node.send(self.candidates[0], Ask(self.chat.tag, self._token).encode())

    def before_attempt(self) -> None:
        if self.by_hand:
            self._ask()

    def _ask_alone(self) -> None:
        """D-11: while the key is not known."""
        self.timer = None
        if self.key is not None:
            return
        self._ask()
        step = ASK_STEPS[self._asks] if self._asks < len(ASK_STEPS) else ASK_INTERVAL
        self._asks += 1
        self.timer = self.node.at(self.node.now + self.node.jittered(step, JITTER), self._ask_alone)

    def tell(self, tell: Tell, source: "Address") -> None:
        """D-12: only with the token of the latest ask, from where it went, once, and with a valid key."""
        if not self.by_hand or tell.token != self._token or source != self.candidates[0]:
            return
        key = masked(tell.key, self.chat.secret, tell.nonce)
        if not key_is_valid(key):
            return
        self._token = None
        self.node.destinations.answered(source)
        if key == self.node.identity.public:
            self._is_own()
        elif key != self.key:
            self.chat.uncover(self)
            self.key = key
            self.begin()

    def _is_own(self) -> None:
        """D-14."""
        self.stop()
        self.key = None
        if not self._own_told:
            self._own_told = True
            host, port = self.candidates[0]
            self.node.notice("own-address", f"{host}:{port} is a device with your own identity", self.chat)
        self.timer = self.node.at(self.node.now + OWN_ASK_INTERVAL, self._ask_alone)
        self._asks = len(ASK_STEPS)


class Renewal(Opening):
    """A new handshake for a link that is there (L-37, L-42, L-45)."""

    def __init__(self, node: "Node", link: "Link") -> None:
        super().__init__(node, link.chat, link.key)
        self.link = link

    def favoured(self) -> bool:
        return True

    def targets(self) -> list["Address"]:
        """L-37."""
        return self.link.all_addresses() if self.link.suspected else [self.link.address]

    def may_open(self) -> bool:
        return self.link.renewal is self

    def failed(self) -> None:
        """L-19, L-37: 60 s after the last attempt began."""
        cancel(self.timer)
        self.timer = self.node.at(self.last_at + REKEY_REPEAT, self.due)
