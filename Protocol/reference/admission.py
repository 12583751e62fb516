"""What a node answers, begins and has room for (protection.md)."""

import hmac
import ipaddress
from collections import Counter
from dataclasses import dataclass
from typing import Any, Iterable, Optional

from clock import Bucket, Rate, take_all
from context import Context
from limits import (ADDRESSES, ANSWERS, ANSWERS_UNKNOWN, ANSWERS_UNPREFERRED, ASKS_ANSWERED, ASKS_TRIED, ASKS_UNKNOWN,
                    COOKIE_BURST, COOKIE_BURST_OF_HOST, COOKIE_KEY, COOKIE_RATE, COOKIE_SOURCES, COOKIES_UNKNOWN,
                    INITIATIONS, INITIATIONS_TO_STRANGERS, LINKS_OF_HOST, LINKS_PER_KEY, LINKS_PER_SOURCE, LOAD,
                    LOAD_UNCONFIRMED, MAX_LINKS, OTHER_RESPONSES, PENDING, PENDING_TO_STRANGERS, RETRIES,
                    RETRIES_TO_KNOWN, SILENT_BURST, SILENT_KEPT, SILENT_RATE, SOURCE_RATE, UNCHECKED)
from opening import Attempt
from session import Address

HOST = "this host"          # the source of other users of the host (L-78)
STRANGER, PREFERRED, VERIFIED = range(3)


class Beginning:
    """Initiations of this node, and the responses to them (L-6, L-49, L-54, L-98).

    `known` has `is_known` and `is_preferred`, for addresses.
    """

    def __init__(self, context: Context, known: Any) -> None:
        self._context, self._known = context, known
        self._sent, self._to_strangers = Rate(INITIATIONS), Rate(INITIATIONS_TO_STRANGERS)
        self._others = Rate(OTHER_RESPONSES)
        self._answered: dict[Address, None] = {}
        self._silent: dict[Address, Bucket] = {}

    def may_begin(self, attempt: Attempt) -> bool:
        pending: list[Attempt] = list(self._context.pending.values())
        strangers = [a for a in pending if a.is_stranger]
        if len(pending) < PENDING and (not attempt.is_stranger or len(strangers) < PENDING_TO_STRANGERS):
            return True
        others = strangers if attempt.is_stranger else pending
        replaceable = [a for a in others if a.number >= 2 and not a.is_for_link]
        if attempt.is_for_link or attempt.number > 1 or not replaceable:
            return False
        max(replaceable, key=lambda a: a.number).give_up()      # L-98
        return True

    def may_send(self, address: Address, is_stranger: bool) -> bool:
        now = self._context.clock.now
        if not self._sent.has_room(now) or is_stranger and not self._to_strangers.has_room(now):
            return False
        if address not in self._answered and not self._take_silent(address, is_stranger):
            return False
        self._sent.note(now)
        if is_stranger:
            self._to_strangers.note(now)
        return True

    def _take_silent(self, address: Address, is_stranger: bool) -> bool:
        now = self._context.clock.now
        bucket = self._silent.get(address)
        if bucket is None:
            forget_at_random(self._silent, self._context)
            bucket = self._silent[address] = Bucket(SILENT_RATE, SILENT_BURST, now)
        kept = SILENT_KEPT if is_stranger and not self._known.is_preferred(address) else 0
        return bucket.level(now) > kept and bucket.take(now)

    def answered(self, address: Address) -> None:
        if address not in self._answered:
            forget_at_random(self._answered, self._context)
            self._answered[address] = None
            self._silent.pop(address, None)

    def may_open_response(self, attempt: Attempt, address: Address) -> bool:
        """L-49."""
        if address not in attempt.opened_from:
            return self._others.take(self._context.clock.now)
        if attempt.opened_from[address] < 1:
            return False
        attempt.opened_from[address] -= 1
        return True


def forget_at_random(table: dict[Any, Any], context: Context, limit: int = ADDRESSES) -> None:
    if len(table) >= limit:
        del table[context.random.choice(list(table))]


class Cookies:
    """L-11: worth something for one address, port, index and ephemeral key, for at most 240 s."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._keys = [context.random.randbytes(32)]
        self._since = context.clock.now

    def _turn(self) -> None:
        turns = (self._context.clock.now - self._since) // COOKIE_KEY
        for _ in range(min(2, turns)):
            self._keys = [self._context.random.randbytes(32), self._keys[0]]
        self._since += turns * COOKIE_KEY

    @staticmethod
    def _cookie(key: bytes, address: Address, index: int, ephemeral: bytes) -> bytes:
        host = ipaddress.ip_address(address[0])
        packed = host.packed if host.version == 6 else bytes(10) + b"\xff\xff" + host.packed
        data = packed + address[1].to_bytes(2, "big") + index.to_bytes(4, "big") + ephemeral
        return hmac.digest(key, data, "sha256")[:16]

    def make(self, address: Address, index: int, ephemeral: bytes) -> bytes:
        self._turn()
        return self._cookie(self._keys[0], address, index, ephemeral)

    def fits(self, cookie: bytes, address: Address, index: int, ephemeral: bytes) -> bool:
        self._turn()
        return bool(cookie) and any(
            hmac.compare_digest(cookie, self._cookie(key, address, index, ephemeral)) for key in self._keys)


class Answering:
    """The shares of initiations and asks of others (L-8 to L-10, L-92, L-96, L-97, D-25)."""

    def __init__(self, context: Context, known: Any) -> None:
        self._context, self._known = context, known
        self.cookies = Cookies(context)
        self.unchecked, self._load = Rate(UNCHECKED), Rate(LOAD)
        self._retries, self._retries_to_known = Rate(RETRIES), Rate(RETRIES_TO_KNOWN)
        self._answers, self._unpreferred, self._unknown = (
            Rate(ANSWERS), Rate(ANSWERS_UNPREFERRED), Rate(ANSWERS_UNKNOWN))
        self._cookie_sources: dict[str, Bucket] = {}
        self._cookies_unknown = Rate(COOKIES_UNKNOWN)
        self.asks, self._asks_answered, self._asks_unknown = Rate(ASKS_TRIED), Rate(ASKS_ANSWERED), Rate(ASKS_UNKNOWN)
        self._datagrams: dict[str, Bucket] = {}

    def is_loaded(self, unconfirmed: int, hop_limit: Optional[int]) -> bool:
        """L-9, L-92: counts an initiation whose check fits."""
        over = self._load.is_over(self._context.clock.now)
        return over or unconfirmed >= LOAD_UNCONFIRMED or hop_limit is not None and hop_limit < 255

    def may_retry(self, address: Address) -> bool:
        """L-96."""
        now = self._context.clock.now
        return self._retries.take(now) or self._known.is_known(address) and self._retries_to_known.take(now)

    def may_open_with_cookie(self, address: Address) -> bool:
        """L-97."""
        now, source = self._context.clock.now, self._context.net.source(address)
        if source is not None and not self._known.is_preferred(address):
            bucket = self._cookie_sources.get(source)
            if bucket is None:
                forget_at_random(self._cookie_sources, self._context, COOKIE_SOURCES)
                burst = COOKIE_BURST_OF_HOST if source == HOST else COOKIE_BURST
                bucket = self._cookie_sources[source] = Bucket(COOKIE_RATE, burst, now)
            if not bucket.take(now):
                return False
        return self._known.is_known(address) or self._cookies_unknown.take(now)

    def may_answer(self, address: Address) -> bool:
        """L-10."""
        rates = [self._answers]
        if not self._known.is_preferred(address):
            rates.append(self._unpreferred)
        if not self._known.is_known(address):
            rates.append(self._unknown)
        return take_all(self._context.clock.now, *rates)

    def may_tell(self, address: Address, hop_limit: Optional[int]) -> bool:
        """D-25."""
        is_unknown = not self._known.is_known(address) or hop_limit is not None and hop_limit < 255
        return take_all(self._context.clock.now, self._asks_answered, *([self._asks_unknown] if is_unknown else []))

    def may_apply(self, source: Optional[str]) -> bool:
        """L-25, for all links of a source."""
        if source is None:
            return True
        now = self._context.clock.now
        if source not in self._datagrams:
            forget_at_random(self._datagrams, self._context)
            self._datagrams[source] = Bucket(SOURCE_RATE, SOURCE_RATE, now)
        return self._datagrams[source].take(now)


@dataclass(eq=False)
class Place:
    """A link with what decides on its place, or a session that wants one, without a link."""

    link: Any
    chat: Any
    key: bytes
    rank: int
    source: Optional[str]


class NoRoom(Exception):
    """A link is not made (L-39)."""


def make_room(places: Iterable[Place], new: Place, chats: int) -> Optional[Place]:
    """Returns the link that a new one replaces, or None where there is room (L-52, L-53, L-99)."""
    places = list(places)
    same_key = [p for p in places if p.chat is new.chat and p.key == new.key]
    down = [p for p in same_key if p.link.is_down]
    if len(same_key) >= LINKS_PER_KEY and not down:
        raise NoRoom
    if down and (len(same_key) >= LINKS_PER_KEY or len(places) >= MAX_LINKS):
        return min(down, key=lambda p: p.link.made_at)
    in_source = [p for p in places if p.source == new.source and p.rank < VERIFIED]
    limit = LINKS_OF_HOST if new.source == HOST else LINKS_PER_SOURCE
    if new.source is not None and new.rank < VERIFIED and len(in_source) >= limit:
        own = [p for p in down if p in in_source]
        return min(own, key=lambda p: p.link.made_at) if own else _lowest(in_source, new)
    if len(places) < MAX_LINKS:
        return None
    try:
        return _lowest(places, new)
    except NoRoom:
        return _by_share(places, new, chats)


def _lowest(places: list[Place], new: Place) -> Optional[Place]:
    lower = [p for p in places if p.rank < new.rank]
    if not lower:
        raise NoRoom
    lowest = min(p.rank for p in lower)
    return _newest([p for p in lower if p.rank == lowest])


def _newest(places: list[Place]) -> Place:
    """The newest down link, else the newest (L-52, L-99, L-112)."""
    return max([p for p in places if p.link.is_down] or places, key=lambda p: p.link.made_at)


def _by_share(places: list[Place], new: Place, chats: int) -> Optional[Place]:
    """L-99, L-112."""
    same_rank = [p for p in places if p.rank == new.rank]
    if new.rank == VERIFIED:
        raise NoRoom
    of_source = Counter(p.source for p in same_rank if p.source is not None)
    most = max(of_source.values(), default=0)
    if most >= of_source[new.source] + 2:
        return _newest([p for p in same_rank if p.source is not None and of_source[p.source] == most])
    of_chat = Counter(p.chat for p in places)
    share = MAX_LINKS // max(1, chats)
    crowded = [p for p in same_rank if of_chat[p.chat] > share]
    if of_chat[new.chat] < share and crowded:
        most = max(of_chat[p.chat] for p in crowded)
        return _newest([p for p in crowded if of_chat[p.chat] == most])
    raise NoRoom
