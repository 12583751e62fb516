"""Moves of chats: the chat that follows another, the chats that an owner departed from, and what lasts over restarts
(M-60 to M-70, A-42 to A-46)."""

from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterable, Optional

from keys import ChatKeys, TextError, chat_name, read_successor
from limits import MAX_MOVES, MAX_REMOVED

Rank = tuple[int, int]


def rank(generation: int, keys: ChatKeys) -> Rank:
    """M-61: the lower fingerprint ranks higher."""
    return generation, -int.from_bytes(keys.fingerprint, "big")


@dataclass(frozen=True)
class Successor:
    """The chat that follows another one (M-60)."""

    generation: int
    secret: bytes
    owner: bytes
    removed: tuple[bytes, ...] = ()

    @staticmethod
    def read(body: bytes) -> "Successor":
        """Raises TextError."""
        generation, secret, owner, removed = read_successor(body)
        return Successor(generation, secret, owner, tuple(removed))

    @property
    def body(self) -> bytes:
        return b"".join([self.generation.to_bytes(4, "big"), self.secret, self.owner,
                         len(self.removed).to_bytes(2, "big"), *self.removed])

    @property
    def keys(self) -> ChatKeys:
        return ChatKeys("", self.secret, self.owner)

    @property
    def rank(self) -> Rank:
        return rank(self.generation, self.keys)


def removed_by(move: Iterable[bytes], before: Iterable[bytes], chosen: frozenset[bytes]) -> tuple[bytes, ...]:
    """The keys that the new chat refuses, the oldest first (M-60, A-42)."""
    return tuple(key for key in dict.fromkeys((*before, *move)) if key not in chosen)[-MAX_REMOVED:]


@dataclass(eq=False)
class Departure:
    """A chat that its owner left for a successor (M-65), by what the node keeps of it."""

    name: str
    secret: bytes
    owner: bytes
    generation: int
    refused: tuple[bytes, ...]
    successor: Successor
    chosen: frozenset[bytes]
    until: float                                            # a time of day, in seconds
    reported: set[bytes] = field(default_factory=set)       # M-67
    served: dict[bytes, int] = field(default_factory=dict)  # M-66: until when a run gets no answer

    def leads_to(self, keys: ChatKeys) -> bool:
        return self.successor.keys.chat_key == keys.chat_key

    def followed_by(self, successor: Successor, chosen: frozenset[bytes]) -> "Departure":
        """M-68."""
        return replace(self, successor=successor, chosen=chosen, served={})

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "secret": self.secret.hex(), "owner": self.owner.hex(), "until": self.until,
                "generation": self.generation, "refused": [key.hex() for key in self.refused],
                "successor": self.successor.body.hex(), "chosen": sorted(key.hex() for key in self.chosen)}

    @staticmethod
    def read(document: dict[str, Any]) -> "Departure":
        part = {name: bytes.fromhex(document[name]) for name in ("secret", "owner", "successor")}
        return Departure(chat_name(document["name"]), part["secret"], part["owner"], int(document["generation"]),
                         tuple(map(bytes.fromhex, document["refused"])), Successor.read(part["successor"]),
                         frozenset(map(bytes.fromhex, document["chosen"])), float(document["until"]))


class NotKept(Exception):
    """The state directory takes no change (A-42)."""


class Moves:
    """The chats that this node left and entered by moves. `keep` stores a document, and returns whether it could."""

    def __init__(self, keep: Optional[Callable[[dict[str, Any]], bool]] = None) -> None:
        self._keep = keep or (lambda _: True)
        self._left: dict[bytes, None] = {}                  # by fingerprint, the oldest first
        self._entered: dict[bytes, tuple[int, tuple[bytes, ...]]] = {}      # generation and removed keys

    def has_left(self, keys: ChatKeys) -> bool:
        """A-45."""
        return keys.fingerprint in self._left

    def entered(self, keys: ChatKeys) -> tuple[int, tuple[bytes, ...]]:
        """The generation and the refused keys of a chat that the node joins (M-61, M-64)."""
        return self._entered.get(keys.fingerprint, (0, ()))

    def moved(self, keys: ChatKeys, successor: Successor) -> "Moves":
        """What is to be kept after a move."""
        after = Moves(self._keep)
        after._left = {**self._left, keys.fingerprint: None}
        after._entered = {**self._entered, successor.keys.fingerprint: (successor.generation, successor.removed)}
        for table in (after._left, after._entered):
            while len(table) > MAX_MOVES:
                del table[next(iter(table))]
        return after

    def keep(self, departures: Iterable[Departure]) -> None:
        """Raises NotKept."""
        entered = [[mark.hex(), generation, [key.hex() for key in removed]]
                   for mark, (generation, removed) in self._entered.items()]
        if not self._keep({"left": [mark.hex() for mark in self._left], "entered": entered,
                           "departures": [departure.document() for departure in departures]}):
            raise NotKept

    def read(self, document: dict[str, Any]) -> list[Departure]:
        """Raises ValueError for what `keep` did not write."""
        try:
            left = {bytes.fromhex(mark): None for mark in document["left"]}
            entered = {bytes.fromhex(mark): (int(generation), tuple(map(bytes.fromhex, removed)))
                       for mark, generation, removed in document["entered"]}
            departures = [Departure.read(each) for each in document["departures"]]
        except (AttributeError, KeyError, TypeError, TextError) as error:
            raise ValueError(str(error)) from None
        self._left, self._entered = left, entered
        return departures
