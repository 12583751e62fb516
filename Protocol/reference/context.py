"""What the parts of a node share: time, chance, the network's facts, what goes out, and the tables of indices."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from random import Random
from typing import Any, Optional, Protocol

from clock import Bucket, Clock, Rate, Timer, take_all
from limits import (MS, NODE_RECORD_BURST, NODE_RECORD_RATE, RECORDS_BETWEEN_READS, REKEY, STRANGERS_PINGS,
                    SUSPICION_PINGS)
from noise import KeyPair
from records import Pools
from session import Address, Session


class Network(Protocol):
    """What the host knows of addresses."""

    def is_on_link(self, address: Address) -> bool: ...
    def is_own(self, address: Address) -> bool: ...             # an own address with the own port
    def is_unicast(self, address: Address) -> bool: ...
    def source(self, address: Address) -> Optional[str]: ...    # None: the node's own user (L-78)


@dataclass(frozen=True)
class Transmit:
    """A datagram to send. `via` is the own address that it leaves from, if the node has a choice (L-50)."""

    address: Address
    data: bytes
    via: Any = None


class Pacer:
    """The rates of records of the node and of its links, and the turns of links that wait (M-13, M-21).

    A link has a bucket `records`, and `send_record`, which returns whether there was one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bucket = Bucket(NODE_RECORD_RATE, NODE_RECORD_BURST, clock.now)
        self._waiting: OrderedDict[Any, None] = OrderedDict()
        self._between_reads = 0
        self._timer: Optional[Timer] = None

    def request(self, link: Any) -> None:
        self._waiting.setdefault(link)
        self.run()

    def socket_read(self) -> None:
        self._between_reads = 0
        if self._waiting:
            self.run()

    def run(self) -> None:
        now, blocked = self._clock.now, 0
        while self._waiting and blocked < len(self._waiting) and self._between_reads < RECORDS_BETWEEN_READS:
            if self._bucket.level(now) < 1:
                break
            link, _ = self._waiting.popitem(last=False)
            if link.records.level(now) < 1:
                self._waiting[link] = None
                blocked += 1
            elif link.send_record():
                self._bucket.take(now)
                link.records.take(now)
                self._between_reads += 1
                self._waiting[link] = None
                blocked = 0
        if self._waiting and (self._timer is None or not self._timer.is_set):
            waits = [self._bucket.wait(now), min(link.records.wait(now) for link in self._waiting)]
            self._timer = self._clock.after(max(MS, *waits), self._read_again)

    def _read_again(self) -> None:
        """The driver reads its socket between two timers."""
        self._between_reads = 0
        self.run()


@dataclass
class Context:
    """One for each node."""

    clock: Clock
    random: Random                                              # S-6: in a real node, `random.SystemRandom`
    net: Network
    identity: KeyPair
    name: str
    rekey: int = REKEY                                          # L-37; tests shorten it
    outputs: list[Transmit] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    sessions: dict[int, Session] = field(default_factory=dict)
    pending: dict[int, Any] = field(default_factory=dict)       # attempts by the index of their initiation
    pools: Pools = field(default_factory=Pools)
    after_byes: deque[Address] = field(default_factory=lambda: deque(maxlen=64))     # D-16
    is_late: bool = False                                       # L-30: it is catching up
    is_away: bool = False
    drops: dict[str, int] = field(default_factory=dict)         # datagrams by reason

    def __post_init__(self) -> None:
        self.pacer = Pacer(self.clock)
        self._pings, self._strangers_pings = Rate(SUSPICION_PINGS), Rate(STRANGERS_PINGS)

    def transmit(self, address: Address, data: bytes, via: Any = None) -> None:
        self.outputs.append(Transmit(address, data, via))

    def emit(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    def drop(self, reason: str) -> None:
        self.drops[reason] = self.drops.get(reason, 0) + 1

    def new_index(self) -> int:
        """W-16."""
        while True:
            index = self.random.getrandbits(32)
            if index not in self.sessions and index not in self.pending:
                return index

    def spread(self, time: int, part: float) -> int:
        """Varies a time at random by up to a part of it."""
        return int(time * self.random.uniform(1 - part, 1 + part))

    def may_ping(self, is_stranger: bool) -> bool:
        """L-76, beyond a link's first three pings."""
        return take_all(self.clock.now, self._pings, *([self._strangers_pings] if is_stranger else []))
