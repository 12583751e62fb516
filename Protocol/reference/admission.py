"""Who comes first where there is not room for all (L-6, L-9, L-10, L-52 to L-54, D-13).

This node remembers nobody, so that nobody is verified or was met before: preferred are the members of secret chats.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any, Optional

from clock import Bucket
from limits import (DESTINATIONS, DESTINATION_BURST, DESTINATION_KEPT, DESTINATION_RATE, LINKS_PER_KEY,
                    LINKS_OF_OTHER_USERS, LINKS_PER_SOURCE, MAX_HELD_TEXT, MAX_LINKS)
from net import OTHER_USERS

if TYPE_CHECKING:
    from chat import Chat
    from core import Node
    from link import Link
    from session import Address

UNKNOWN, LINKED, PREFERRED = range(3)


def acquaintance(node: "Node", address: "Address") -> int:
    """L-10: who is known to be at an address."""
    best = UNKNOWN
    for chat in node.chats.values():
        preferred = chat.secret is not None
        if any(link.address == address for link in chat.links.values()):
            best = max(best, PREFERRED if preferred else LINKED)
        if any(address in i.candidates for i in chat.instances if preferred or i.by_hand):
            best = PREFERRED
    return best


def put(table: dict[Any, Any], key: Any, value: Any, most: int, random: Random) -> None:
    """A full table forgets one at random (L-10, L-54)."""
    if key not in table and len(table) >= most:
        del table[random.choice(list(table))]
    table[key] = value


class Destinations:
    """L-54."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self._unanswered: dict["Address", Bucket] = {}
        self._answered: dict["Address", bool] = {}

    def admits(self, address: "Address", favoured: bool) -> bool:
        bucket = self._unanswered.get(address)
        if address in self._answered or bucket is None:
            return True
        return bucket.level(self.node.now) >= (1 if favoured else 1 + DESTINATION_KEPT)

    def take(self, address: "Address") -> None:
        if address in self._answered:
            return
        bucket = self._unanswered.get(address) or Bucket(DESTINATION_RATE, DESTINATION_BURST, self.node.now)
        bucket.take(self.node.now)
        put(self._unanswered, address, bucket, DESTINATIONS, self.node.random)

    def answered(self, address: "Address") -> None:
        self._unanswered.pop(address, None)
        put(self._answered, address, True, DESTINATIONS, self.node.random)


class NoRoom(Exception):
    """L-39: the link is not made."""


def room(node: "Node", chat: "Chat", key: bytes, address: "Address") -> Optional["Link"]:
    """L-52, L-53: the link that gives way to a new one, if one has to."""
    if len(chat.links_of(key)) >= LINKS_PER_KEY:
        raise NoRoom
    rank, source = _rank(chat), node.net.source(address)
    links = node.all_links()
    there = [link for link in links if source is not None and node.net.source(link.address) == source]
    if len(there) >= (LINKS_OF_OTHER_USERS if source == OTHER_USERS else LINKS_PER_SOURCE):
        return _lower(there, rank)
    if len(links) < MAX_LINKS:
        return None
    try:
        return _lower(links, rank)
    except NoRoom:
        equals = [link for link in links if _rank(link.chat) == rank]
        return _of_largest_source(node, equals, source) or _of_crowded_chat(node, equals, chat)


def _rank(chat: "Chat") -> int:
    return 0 if chat.secret is None else 1


def text_shares(node: "Node", link: "Link") -> list[tuple[int, int]]:
    """M-20: what is reserved of each share that a link draws on, and its limit. Nobody is verified here."""
    links, source = node.all_links(), node.net.source(link.address)
    reserved = [(other, other.into.reserved()) for other in links]
    shares = [(sum(size for _, size in reserved), MAX_HELD_TEXT * 3 // 4)]
    if link.chat.secret is None:
        shares.append((sum(size for other, size in reserved if other.chat.secret is None), MAX_HELD_TEXT // 2))
    else:
        shares.append((sum(size for other, size in reserved if other.chat is link.chat), MAX_HELD_TEXT // 4))
    if source is not None:
        of_source = sum(size for other, size in reserved if node.net.source(other.address) == source)
        shares.append((of_source, MAX_HELD_TEXT // 16))
    return shares


def _youngest(links: list["Link"]) -> "Link":
    return max(links, key=lambda link: link.serial)


def _lower(links: list["Link"], rank: int) -> "Link":
    lowest = min(_rank(link.chat) for link in links)
    if lowest >= rank:
        raise NoRoom
    return _youngest([link for link in links if _rank(link.chat) == lowest])


def _of_largest_source(node: "Node", links: list["Link"], source: Any) -> Optional["Link"]:
    counts = Counter(s for link in links if (s := node.net.source(link.address)) is not None)
    if not counts:
        return None
    largest, count = counts.most_common(1)[0]
    if count < counts.get(source, 0) + 2:
        return None
    return _youngest([link for link in links if node.net.source(link.address) == largest])


def _of_crowded_chat(node: "Node", links: list["Link"], chat: "Chat") -> "Link":
    share = MAX_LINKS // len(node.chats)
    crowded = [link for link in links if len(link.chat.links) > share]
    if len(chat.links) >= share or not crowded:
        raise NoRoom
    most = max(len(link.chat.links) for link in crowded)
    return _youngest([link for link in crowded if len(link.chat.links) == most])
