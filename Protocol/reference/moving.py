"""How a node moves chats: as their owner, and as a member that follows (M-65, M-88 to M-95, A-42 to A-46)."""

from functools import partial
from typing import Any, Callable, Iterable

from chat import Chat
from keys import base64url, write_invite
from limits import DEPARTURE, MAX_CHATS, MAX_DEPARTED, MOVE_STEP, S
from moves import Departure, Moves, NotKept, Successor, removed_by
from wire import LEFT


class NotMoved(Exception):
    """No departed chat leads to the chat (A-43)."""


class Removed(Exception):
    """A successor on the way to the chat removes the key (A-43)."""


class NoRoom(Exception):
    """One chat more would be too many, and none is departed (L-39)."""


class TooOften(Exception):
    """M-88."""


class Moving:
    """The departed chats of a node, the oldest first, and what it keeps of all moves."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self.moves = Moves()
        self.departed: list[Chat] = []

    def restore(self, departures: Iterable[Departure], time: float) -> None:
        """At the start, before the node opens to anybody. `time` is the time of day."""
        for departure in departures:
            if time < departure.until:
                chat = self._node.make_chat(departure.name, departure.secret, departure.owner, b"", departure.refused)
                self._begin(chat, departure, time)

    def _begin(self, chat: Chat, departure: Departure, time: float) -> dict[bytes, str]:
        self.departed.append(chat)
        there = chat.depart(departure)
        left = min(DEPARTURE, int((departure.until - time) * S))
        self._node.clock.after(left, partial(self.end, chat))
        return there

    def end(self, chat: Chat) -> None:
        if chat in self.departed:
            self.departed.remove(chat)
            self._node.close(chat, LEFT, "left")
            self._keep_if_possible()

    def make_room(self, count: int) -> None:
        """L-39, A-42: the chain with most departed chats loses its oldest."""
        while self.departed and len(self._node.everywhere()) + count > MAX_CHATS:
            chains = [self._chain(chat) for chat in self.departed]
            self.end(self.departed[chains.index(max(chains, key=chains.count))])

    def _chain(self, chat: Chat) -> bytes:
        """What names the chain of a departed chat."""
        chain = self.moves.leading_from(chat.keys)
        return chat.keys.chat_key if chain is None else chain.newest

    def _departures(self) -> dict[Chat, Departure]:
        return {chat: chat.departure for chat in self.departed if chat.departure is not None}

    def _departures_to(self, chat: Chat) -> dict[Chat, Departure]:
        """The departed chats of a chat's chain."""
        chain = self.moves.leading_to(chat.keys)
        return {old: departure for old, departure in self._departures().items()
                if chain is not None and self.moves.leading_from(old.keys) is chain}

    def _keep(self, moves: Moves, departures: Iterable[Departure]) -> None:
        """Raises NotKept."""
        moves.keep(departures)
        self.moves = moves

    def _keep_if_possible(self) -> None:
        """A restart repeats what was not kept."""
        try:
            self.moves.keep(self._departures().values())
        except NotKept:
            pass

    def name_after(self, departed: Chat) -> str:
        """A-46: the name of the chat to which a departed one leads."""
        chain = self.moves.leading_from(departed.keys)
        chats = [] if chain is None else [chat for chat in self._node.chats.values() if chat.secret == chain.secret]
        return chats[0].name if chats else departed.name

    def left(self, chat: Chat) -> None:
        """A-45: the user left a chat."""
        self.moves = self.moves.with_newest(chat.keys, is_left=True)
        self._keep_if_possible()

    def joined(self, chat: Chat) -> None:
        """The user joined a chat, perhaps again."""
        chain = self.moves.leading_to(chat.keys)
        if chain is not None and chain.is_left:
            self.moves = self.moves.with_newest(chat.keys, is_left=False)
            self._keep_if_possible()

    # As the owner

    def move(self, chat: Chat, keys: Iterable[bytes], removed: Iterable[bytes], owner: bytes, time: float) -> Chat:
        """A-42. Raises NotKept, NoRoom and TooOften, and has then changed nothing."""
        if chat.moves.level(self._node.clock.now) < 1:
            raise TooOften                                                      # M-88
        if not self.departed and len(self._node.chats) >= MAX_CHATS:
            raise NoRoom
        assert chat.secret is not None
        chosen = frozenset((*keys, owner, self._node.identity.public))          # M-94: always the own key
        successor = Successor(self._node.context.random.randbytes(16), owner, removed_by(removed, chat.refused, chosen))
        former = {old: departure.choosing(departure.chosen & chosen)            # M-93
                  for old, departure in self._departures_to(chat).items()}
        ended = list(former)[:max(0, len(former) + 1 - MAX_DEPARTED)]
        departure = Departure(chat.name, chat.secret, chat.owner_key, chat.refused, successor,
                              chosen.difference(chat.refused), time + DEPARTURE / S)
        after = {old: each for old, each in ({**self._departures(), **former, chat: departure}).items()
                 if old not in ended}
        self._keep(self.moves.moved(chat.keys, successor), after.values())
        chat.moves.take(self._node.clock.now)
        for old in ended:
            self.end(old)
        self.make_room(1)
        del self._node.chats[chat.name]
        enter = self._entering(chat, successor)
        there = self._begin(chat, departure, time)
        entered = enter()
        for old in [old for old in former if old in self.departed]:
            old.choose(former[old])
        self._report(chat.name, chat, successor)
        for key, name in there.items():
            chat.meet(key, name)
        return entered

    def admit(self, chat: Chat, key: bytes) -> None:
        """A-43. Raises NotMoved, Removed and NotKept."""
        leading = self._departures_to(chat)
        if not leading:
            raise NotMoved
        if key in chat.refused or any(key in departure.successor.removed for departure in leading.values()):
            raise Removed
        after = {old: departure.choosing(departure.chosen | {key}) for old, departure in leading.items()}
        self._keep(self.moves, ({**self._departures(), **after}).values())
        for old, departure in after.items():
            old.choose(departure)

    def differs(self, departed: Chat) -> None:
        """M-94: another device of the owner moved the chat too, so that the members are in two chats."""
        name = self.name_after(departed)
        self._node.context.emit({
            "on": "notice", "code": "moved-apart", "chat": name,
            "text": f"Another device of yours moved \"{name}\" too. Invite those who followed it."})

    # As a member

    def follow(self, chat: Chat, successor: Successor) -> None:
        """M-91, M-88, A-44. The node stores a move before it makes it, and waits in the old chat until it can."""
        chat.is_following = True
        if chat.is_left or chat.departure is not None:
            return
        moves = self.moves.moved(chat.keys, successor)
        wait = chat.moves.wait(self._node.clock.now)
        if not wait:
            try:
                self._keep(moves, self._departures().values())
            except NotKept:
                wait = MOVE_STEP
        if wait:
            self._node.clock.after(wait, partial(self.follow, chat, successor))
            return
        chat.moves.take(self._node.clock.now)
        del self._node.chats[chat.name]
        enter = self._entering(chat, successor)
        self._node.close(chat, LEFT, "left")
        new = successor.keys(chat.keys)
        known = next((other for other in self._node.chats.values() if other.keys.chat_key == new.chat_key), None)
        if known is not None:
            known.refuse(successor.removed)
        elif self.moves.leading_from(new) is None:
            enter()
        self._report(chat.name, chat, successor)

    def _report(self, name: str, chat: Chat, successor: Successor) -> None:
        """A-44."""
        invite = write_invite(name, successor.secret(chat.keys), successor.owner)
        self._node.context.emit({
            "on": "notice", "code": "moved", "text": f"\"{name}\" has moved to a new secret.", "chat": name,
            "owner": base64url(successor.owner), "invite": invite})

    def _entering(self, old: Chat, successor: Successor) -> Callable[[], Chat]:
        """How to enter the new chat after the end of the old one. The draft, M-88's rate and peers by hand stay."""
        draft, by_hand, secret = old.composer.text, old.openings.by_hand(), successor.secret(old.keys)

        def enter() -> Chat:
            chat: Chat = self._node.join(old.name, secret, successor.owner)
            chat.composer.text, chat.moves = draft, old.moves
            for instance in by_hand:
                chat.openings.add_by_hand(instance.candidates[0], instance.key)
            return chat
        return enter
