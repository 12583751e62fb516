"""Moves of chats: the successor of a chat, the chains that a node knows, the chats that an owner departed from, and
what lasts over restarts (M-65, M-88 to M-95, A-42 to A-46)."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Callable, Iterable, Optional

from keys import ChatKeys, TextError, chat_name, kdf, read_successor
from limits import MAX_LEFT, MAX_LEFT_CHAINS, MAX_REMOVED


@dataclass(frozen=True)
class Successor:
    """The chat that follows another one (M-89). Its secret depends on the keys of the old chat (W-42)."""

    seed: bytes
    owner: bytes
    removed: tuple[bytes, ...] = ()

    @staticmethod
    def read(body: bytes) -> "Successor":
        """Raises TextError."""
        seed, owner, removed = read_successor(body)
        return Successor(seed, owner, tuple(removed))

    @property
    def body(self) -> bytes:
        return b"".join([self.seed, self.owner, len(self.removed).to_bytes(2, "big"), *self.removed])

    def secret(self, old: ChatKeys) -> bytes:
        return old.successor_secret(self.body)

    def keys(self, old: ChatKeys) -> ChatKeys:
        return ChatKeys("", self.secret(old), self.owner)


def removed_by(move: Iterable[bytes], before: Iterable[bytes], chosen: frozenset[bytes]) -> tuple[bytes, ...]:
    """The keys that the new chat refuses, the oldest first (M-89, A-42)."""
    return tuple(key for key in dict.fromkeys((*before, *move)) if key not in chosen)[-MAX_REMOVED:]


@dataclass(eq=False)
class Departure:
    """A chat that its owner left for a successor (M-65), by what the node keeps of it."""

    name: str
    secret: bytes
    owner: bytes
    refused: tuple[bytes, ...]
    successor: Successor
    chosen: frozenset[bytes]
    until: float                                            # a time of day, in seconds
    reported: set[bytes] = field(default_factory=set)       # M-95
    served: dict[bytes, int] = field(default_factory=dict)  # M-92: until when a run gets no answer
    differs: bool = False                                   # M-94: the user was told of a different successor

    def choosing(self, chosen: frozenset[bytes]) -> "Departure":
        """M-93, A-43."""
        return replace(self, chosen=chosen)

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "secret": self.secret.hex(), "owner": self.owner.hex(), "until": self.until,
                "refused": [key.hex() for key in self.refused], "successor": self.successor.body.hex(),
                "chosen": sorted(key.hex() for key in self.chosen)}

    @staticmethod
    def read(document: dict[str, Any]) -> "Departure":
        part = {name: bytes.fromhex(document[name]) for name in ("secret", "owner", "successor")}
        return Departure(chat_name(document["name"]), part["secret"], part["owner"],
                         tuple(map(bytes.fromhex, document["refused"])), Successor.read(part["successor"]),
                         frozenset(map(bytes.fromhex, document["chosen"])), float(document["until"]))


@dataclass(frozen=True)
class Chain:
    """Chats that follow one another: the marks of those left by a move, the oldest first, and the newest chat."""

    left: tuple[bytes, ...]
    secret: bytes
    owner: bytes
    refused: tuple[bytes, ...]
    is_left: bool = False                                   # the user left the newest chat

    @cached_property
    def newest(self) -> bytes:
        return mark(ChatKeys("", self.secret, self.owner))

    def document(self) -> dict[str, Any]:
        return {"left": [each.hex() for each in self.left], "secret": self.secret.hex(), "owner": self.owner.hex(),
                "refused": [key.hex() for key in self.refused], "isLeft": self.is_left}

    @staticmethod
    def read(document: dict[str, Any]) -> "Chain":
        return Chain(tuple(map(bytes.fromhex, document["left"])), bytes.fromhex(document["secret"]),
                     bytes.fromhex(document["owner"]), tuple(map(bytes.fromhex, document["refused"])),
                     bool(document["isLeft"]))


def mark(keys: ChatKeys) -> bytes:
    """What the node keeps of a chat that it left."""
    return kdf(keys.chat_key, b"", "inkling reference node, mark")


class NotKept(Exception):
    """The state directory takes no change (A-42)."""


class Moves:
    """The chains of this node. A change returns another value, which takes effect after `keep` stored it.

    `keep` stores a document, and returns whether it could.
    """

    def __init__(self, keep: Optional[Callable[[dict[str, Any]], bool]] = None, chains: Iterable[Chain] = ()) -> None:
        self._keep = keep or (lambda _: True)
        self._chains = list(chains)

    def leading_from(self, keys: ChatKeys) -> Optional[Chain]:
        """The chain of a chat that the node left by a move (M-91, A-45)."""
        left = mark(keys)
        return next((chain for chain in self._chains if left in chain.left), None)

    def leading_to(self, keys: ChatKeys) -> Optional[Chain]:
        """The chain whose newest chat this is."""
        newest = mark(keys)
        return next((chain for chain in self._chains if newest == chain.newest), None)

    def refused(self, keys: ChatKeys) -> tuple[bytes, ...]:
        """The keys that a chat refuses, which the node joins (M-91)."""
        chain = self.leading_to(keys)
        return () if chain is None else chain.refused

    def moved(self, keys: ChatKeys, successor: Successor) -> "Moves":
        """After a move from a chat. A chain that went on from the new chat already becomes one with this one."""
        new, before = successor.keys(keys), self.leading_to(keys)
        after = self.leading_from(new) or self.leading_to(new)
        left = (*(before.left if before else ()), mark(keys), *(after.left if after else ()))[-MAX_LEFT:]
        if after is not None and mark(new) in after.left:
            chain = replace(after, left=left)
        else:
            chain = Chain(left, successor.secret(keys), successor.owner, successor.removed)
        return self._with(chain, before, after)

    def with_newest(self, keys: ChatKeys, is_left: bool) -> "Moves":
        """After the user left or joined the newest chat of a chain. This one counts as the newest chain then."""
        chain = self.leading_to(keys)
        return self if chain is None else self._with(replace(chain, is_left=is_left), chain)

    def _with(self, chain: Chain, *former: Optional[Chain]) -> "Moves":
        """A-45: only chains whose newest chat the user left are forgotten."""
        chains = [each for each in self._chains if each not in former] + [chain]
        left = [each for each in chains if each.is_left]
        return Moves(self._keep, [each for each in chains if each not in left[:-MAX_LEFT_CHAINS]])

    def keep(self, departures: Iterable[Departure]) -> None:
        """Raises NotKept."""
        if not self._keep({"chains": [chain.document() for chain in self._chains],
                           "departures": [departure.document() for departure in departures]}):
            raise NotKept

    def read(self, document: dict[str, Any]) -> list[Departure]:
        """Raises ValueError for what `keep` did not write."""
        try:
            chains = [Chain.read(each) for each in document["chains"]]
            departures = [Departure.read(each) for each in document["departures"]]
        except (AttributeError, KeyError, TypeError, TextError) as error:
            raise ValueError(str(error)) from None
        self._chains = chains
        return departures
