"""Evidence, address and silence of a link (L-23 to L-31, L-40, L-44, L-45, L-51), as a part of `Link`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Optional, cast

from clock import Timer, cancel
from limits import (AWAITED, BYTES_BACK, CHANGE_PING_STEP, CHECK_PAUSE, CHECK_STEP, INTERVAL_UNIT, LATE_REOPENING,
                    MIN_INTERVAL_UNITS, PING_STEP, PINGS, PINGS_SPENT_UNHEARD, PONGS_AWAITED, suspicion)
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
        self._awaited: deque[tuple[int, int, list["Address"]]] = deque(maxlen=PONGS_AWAITED)
        self._newest_from = address
        self._elsewhere = address
        self._bytes_came = self._bytes_sent = 0
        self._next_check = 0
        self._next_change_ping = 0
        self._change_timer: Optional[Timer] = None
        self.round_trip: Optional[int] = None
        self._watch_timer: Optional[Timer] = None
        self.watch()

    def stop_watch(self) -> None:
        cancel(self._ping_timer)
        cancel(self._watch_timer)
        cancel(self._change_timer)

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

    def came_from(self, source: "Address", size: int, is_evidence: bool) -> None:
        """L-51: a datagram of so many bytes opened; evidence from elsewhere draws a ping there."""
        if source != self.address:
            if source != self._elsewhere:
                self._elsewhere, self._bytes_came, self._bytes_sent = source, 0, 0
            self._bytes_came += size
        if not is_evidence or self.node.late:
            return
        self._newest_from = source
        if source != self.address and self._may_follow(source) and self.node.now >= self._next_check:
            self._next_check = self.node.now + CHECK_STEP
            self.transmit_elsewhere([Ping(self._new_token([source]))], source)

    def bytes_left_elsewhere(self, source: "Address") -> int:
        """L-51: three times the bytes that came from there, but for what went there."""
        return BYTES_BACK * self._bytes_came - self._bytes_sent if source == self._elsewhere else 0

    def may_send_elsewhere(self, source: "Address", size: int) -> bool:
        """L-51: three times the bytes that came from there."""
        if size > self.bytes_left_elsewhere(source):
            return False
        self._bytes_sent += size
        return True

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
        if self._pings == PINGS and self.node.late:
            self._ping_timer = self.node.at(self.node.now + PING_STEP, self._round)  # L-30
            return
        if self._pings == PINGS:
            self.down()
            return
        self._pings += 1
        self._ping_timer = self.node.at(self.node.now + PING_STEP, self._round)
        self.ping()

    def ping(self) -> None:
        """L-26: one datagram, the same bytes to all addresses."""
        addresses = self.all_addresses()
        self.transmit([Ping(self._new_token(addresses))], addresses)

    def _new_token(self, addresses: list["Address"]) -> int:
        """L-28: nobody knows it who does not get the ping."""
        while True:
            token = self.node.random.getrandbits(16)
            if all(awaited != token for awaited, _, _ in self._awaited):
                self._awaited.append((token, self.node.now, addresses))
                return token

    def network_changed(self) -> None:
        """L-40: a ping at once, and at most one a second."""
        if self._change_timer is not None:
            return
        if self.node.now >= self._next_change_ping:
            self._next_change_ping = self.node.now + CHANGE_PING_STEP
            self.ping()
        else:
            self._change_timer = self.node.at(self._next_change_ping, self._change_due)

    def _change_due(self) -> None:
        self._change_timer = None
        self.network_changed()

    def all_addresses(self) -> list["Address"]:
        addresses = [self.address]
        for instance in self.covered:
            addresses += [a for a in instance.candidates if a not in addresses]
        return addresses

    def pong(self, token: int, source: "Address") -> None:
        """L-28, and whether it confirms an address (L-51)."""
        found = next((entry for entry in self._awaited
                      if entry[0] == token and self.node.now - entry[1] < AWAITED), None)
        if found is not None:
            self.round_trip = self.node.now - found[1]
            self._awaited.remove(found)
        if source == self.address or self.node.late:
            return
        if found is None:
            for _, _, addresses in self._awaited:
                addresses.clear()
            self._next_check = self.node.now + CHECK_PAUSE
        elif source in found[2] and source == self._newest_from and self._may_follow(source):
            self.address = source
            self.node.destinations.answered(source)  # L-54
            for session in self.sessions:
                session.address = source
            self.chat.covered_by(self.itself())

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

    def caught_up(self) -> None:
        """L-30: who had all pings while no answer counted gets one more."""
        if self.suspected and self._pings == PINGS:
            self._pings -= 1
            cancel(self._ping_timer)
            self._round()

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
        def transmit_elsewhere(self, frames: list[Frame], to: "Address") -> None: ...
        def renew(self) -> None: ...
        def gone_on(self, session: "Session") -> bool: ...
        def end_session(self, session: "Session") -> None: ...
