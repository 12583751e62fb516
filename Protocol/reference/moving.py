"""How a node moves chats: as their owner, and as a member that follows (M-63 to M-70, A-42 to A-46)."""

from functools import partial
from typing import Any, Iterable

from chat import Chat
from keys import base64url, write_invite
from limits import DEPARTURE, MAX_CHATS, MAX_DEPARTED, S
from moves import Departure, Moves, NotKept, Successor, removed_by
from opening import Instance
from wire import LEFT


class NotMoved(Exception):
    """No departed chat leads to the chat (A-43)."""


class Removed(Exception):
    """The chat refuses the key (A-43)."""


class NoRoom(Exception):
    """One chat more would be too many, and none is departed (L-39)."""


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
                chat = self._node.make_chat(departure.name, departure.secret, departure.owner, b"",
                                            departure.generation, departure.refused)
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

    def _departures(self) -> dict[Chat, Departure]:
        return {chat: chat.departure for chat in self.departed if chat.departure is not None}

    def _keep_if_possible(self) -> None:
        """A restart repeats what was not kept."""
        try:
            self.moves.keep(self._departures().values())
        except NotKept:
            pass

    # As the owner

    def move(self, chat: Chat, keys: Iterable[bytes], removed: Iterable[bytes], owner: bytes, time: float) -> Chat:
        """A-42. Raises NotKept and NoRoom, and has then changed nothing."""
        chosen = frozenset((*keys, owner, self._node.identity.public))
        successor = Successor(chat.generation + 1, self._node.context.random.randbytes(16), owner,
                              removed_by(removed, chat.refused, chosen))
        return self._move(chat, successor, chosen, time + DEPARTURE / S, time)

    def _move(self, chat: Chat, successor: Successor, chosen: frozenset[bytes], until: float, time: float) -> Chat:
        if not self.departed and len(self._node.chats) >= MAX_CHATS:
            raise NoRoom
        assert chat.secret is not None
        after = self._departures()
        for old in list(after)[:max(0, len(after) + 1 - MAX_DEPARTED)]:
            del after[old]
        for old, departure in after.items():
            if departure.leads_to(chat.keys):
                after[old] = departure.followed_by(successor, chosen)           # M-68
        after[chat] = Departure(chat.name, chat.secret, chat.owner_key, chat.generation, chat.refused, successor,
                                chosen, until)
        moves = self.moves.moved(chat.keys, successor)
        moves.keep(after.values())
        self.moves = moves
        for old in [old for old in self.departed if old not in after]:
            self.end(old)
        del self._node.chats[chat.name]
        draft, by_hand = chat.composer.text, chat.openings.by_hand()
        there = self._begin(chat, after[chat], time)
        entered = self._enter(chat.name, successor, draft, by_hand)
        for old, departure in after.items():
            if departure is not old.departure:
                old.depart(departure)
        self._report(chat.name, successor)
        for key, name in there.items():
            chat.meet(key, name)
        return entered

    def admit(self, chat: Chat, key: bytes) -> None:
        """A-43. Raises NotMoved, Removed and NotKept."""
        departures = self._departures()
        leading = [old for old, departure in departures.items() if departure.leads_to(chat.keys)]
        if not leading:
            raise NotMoved
        if key in chat.refused:
            raise Removed
        chosen = {old: departures[old].chosen for old in leading}
        for old in leading:
            departures[old].chosen |= {key}
        try:
            self.moves.keep(departures.values())
        except NotKept:
            for old in leading:
                departures[old].chosen = chosen[old]
            raise
        for old in leading:
            old.openings.update(key)

    # As a member

    def follow(self, chat: Chat, successor: Successor) -> None:
        """M-63, A-44."""
        chat.successor = None
        if chat.departure is not None:
            return self._follow_own_device(chat, chat.departure, successor)
        self.moves = self.moves.moved(chat.keys, successor)
        draft, by_hand = chat.composer.text, chat.openings.by_hand()
        del self._node.chats[chat.name]
        self._node.close(chat, LEFT, "left")
        if not any(other.keys.chat_key == successor.keys.chat_key for other in self._node.chats.values()):
            self._enter(chat.name, successor, draft, by_hand)
        self._keep_if_possible()
        self._report(chat.name, successor)

    def _report(self, name: str, successor: Successor) -> None:
        """A-44."""
        self._node.context.emit({
            "on": "notice", "code": "moved", "text": f"\"{name}\" has moved to a new secret.", "chat": name,
            "owner": base64url(successor.owner), "invite": write_invite(name, successor.secret, successor.owner)})

    def _follow_own_device(self, chat: Chat, departure: Departure, successor: Successor) -> None:
        """M-61, M-69: another device of the owner moved the chat too, to a chat of a higher rank."""
        current = next((c for c in self._node.chats.values() if departure.leads_to(c.keys) and c.is_own), None)
        if current is not None:
            try:
                self._move(current, successor, departure.chosen, departure.until, departure.until - DEPARTURE / S)
            except (NoRoom, NotKept):
                pass

    def _enter(self, name: str, successor: Successor, draft: str, by_hand: list[Instance]) -> Chat:
        """The draft stays, and so do peers that were added by hand."""
        chat: Chat = self._node.join(name, successor.secret, successor.owner)
        chat.composer.text = draft
        for instance in by_hand:
            chat.openings.add_by_hand(instance.candidates[0], instance.key)
        return chat
