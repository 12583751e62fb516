"""Evidence and silence of a link (L-23 to L-31, L-44, L-45), as a part of `Link`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Optional, cast

from clock import Timer, cancel
from limits import (LATE_REOPENING, MIN_INTERVAL_UNITS, INTERVAL_UNIT, PING_STEP, PINGS, PINGS_SPENT_UNHEARD,
                    PONGS_AWAITED, suspicion)
from wire import UNHEARD, Frame, Ping

if TYPE_CHECKING:
    from chat import Chat
    from core import Node
    from link import Link
    from opening import Instance
    from session import Address, Session


class Watch:
    """What a link knows of whether its peer is still there."""

    node: "Node"
    chat: "Chat"
    key: bytes
    sessions: list["Session"]

    def itself(self) -> "Link":
        return cast("Link", self)

    def start_watch(self, address: "Address") -> None:
        self.address = address
        self.interval = MIN_INTERVAL_UNITS * INTERVAL_UNIT  # L-26: 1 s before the first heartbeat
        self.last_evidence = self.node.now
        self.suspected = False
        self._down_due = 0
        self._pings = 0
        self._ping_timer: Optional[Timer] = None
        self._awaited: deque[tuple[int, int]] = deque(maxlen=PONGS_AWAITED)
        self.round_trip: Optional[int] = None
        self._watch_timer: Optional[Timer] = None
        self.watch()

    def stop_watch(self) -> None:
        cancel(self._ping_timer)
        cancel(self._watch_timer)

    def silence_due(self) -> int:
        return self.last_evidence + suspicion(self.interval)  # L-26

    def watch(self) -> None:
        cancel(self._watch_timer)
        self._watch_timer = self.node.at(self.silence_due(), self._check)

    def _check(self) -> None:
        if self.suspected:
            return
        if self.node.now >= self.silence_due():
            self.suspect()
        else:
            self.watch()

    def evidence(self) -> None:
        """L-23, for a datagram that counts: no suspicion is left (L-27)."""
        if self.node.late:
            return  # L-30
        self.last_evidence = self.node.now
        if self.suspected:
            self.suspected = False
            cancel(self._ping_timer)
            self.watch()

    def follow(self, session: "Session", source: "Address") -> None:
        """L-24."""
        if not self.node.late and source != self.address and self._may_follow(source):
            self.address = session.address = self.sending.address = source
            self.node.destinations.answered(source)  # L-54
            self.chat.covered_by(self.itself())

    def _may_follow(self, source: "Address") -> bool:
        """L-24."""
        net = self.node.net
        if not net.is_unicast(source) or net.is_own(source):
            return False
        if net.is_on_link(source):
            return True
        return not net.is_on_link(self.address) or any(i.by_hand for i in self.covered)

    def suspect(self, spent: int = 0) -> None:
        """L-26: a round of pings, of which some may count as sent (L-45). The first goes out at once (L-31)."""
        self.suspected = True
        self._pings = spent
        self._down_due = self.node.now + (PINGS - spent) * PING_STEP
        cancel(self._ping_timer)
        self._round()

    def _round(self) -> None:
        if self._pings == PINGS:
            self.down()
            return
        self._pings += 1
        self._ping_timer = self.node.at(self.node.now + PING_STEP, self._round)
        self.ping()

    def ping(self) -> None:
        """L-26: one datagram, the same bytes to all addresses."""
        token = self.node.random.getrandbits(16)
        self._awaited.append((token, self.node.now))
        self.transmit([Ping(token)], self.all_addresses())

    def all_addresses(self) -> list["Address"]:
        addresses = [self.address]
        for instance in self.covered:
            addresses += [a for a in instance.candidates if a not in addresses]
        return addresses

    def pong(self, token: int) -> None:
        for awaited, sent in self._awaited:
            if awaited == token:
                self.round_trip = self.node.now - sent

    def down(self) -> None:
        """L-27, L-44."""
        self.node.say_bye(UNHEARD, [(self.sending, self.address)])
        self.chat.end_link(self.itself(), "silence")

    def after_sleep(self) -> None:
        """L-30, L-42: a link that is due for suspicion or down begins a whole new round."""
        now = self.node.now
        if now < (self._down_due if self.suspected else self.silence_due()):
            return
        if now - self.last_evidence >= suspicion(self.node.idle_interval()) + LATE_REOPENING:
            self.renew()  # L-42
        self.suspect()

    def unheard(self, session: "Session") -> None:
        """L-45: the peer says that it hears nothing."""
        if self.gone_on(session):
            self.end_session(session)
            return
        if not self.suspected:
            self.suspect(PINGS_SPENT_UNHEARD)
        self.renew()

    if TYPE_CHECKING:
        @property
        def sending(self) -> "Session": ...
        @property
        def covered(self) -> list["Instance"]: ...
        def transmit(self, frames: list[Frame], to: Optional[list["Address"]] = None) -> bool: ...
        def renew(self) -> None: ...
        def gone_on(self, session: "Session") -> bool: ...
        def end_session(self, session: "Session") -> None: ...
