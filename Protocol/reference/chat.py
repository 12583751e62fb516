"""A chat of a node: its links by key and run, what goes to all of them, and what ends them."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Iterable, Optional

import epochs
from admission import PREFERRED, STRANGER, NoRoom
from clock import Bucket
from composer import Composer
from context import Context
from epochs import EpochCounter, EpochsUsedUp, decide_on_joining, decide_on_response, epoch_to_name
from keys import ChatKeys, TextError, base64url, user_id
from limits import (COPIES, IDLE_LINKS, INTERVAL_UNIT, LEAST_UNITS, LONGEST_TYPING_BEAT, MAX_NEWCOMERS, MESSAGE_EXTRA,
                    MOVE_BURST, MOVE_STEP, REST, S, SERVED, TYPING_BEAT, TYPING_LINKS)
from link import Link
from moves import Departure, Successor
from noise import Result
from opening import Attempt, Instance, Openings
from presence import People
from records import Owner
from session import Address, Session
from wire import AWAY, LEFT, REMOVED, TYPING, WILL

IDLE_SHORTEST = 0.75                                    # T-11


@dataclass
class Memory:
    """What lasts until the node ends, also while it is not in the chat: run and epochs (L-58, L-59)."""

    run: bytes
    epochs: EpochCounter = field(default_factory=EpochCounter)


class QueueFull(Exception):
    """M-14: the user whose queue is full."""


class Chat:
    """A name and, unless the chat is open, a secret, with an owner's key or none.

    In a talk (W-41), `with_key` is the key of the other person. Of its node it uses `beginning`, `blocked`, `live_links`,
    `make_room`, `drop_unconfirmed`, `got_invite`, `moving` and `next_number`.
    """

    def __init__(self, context: Context, node: Any, name: str, secret: Optional[bytes], owner: bytes,
                 memory: Memory, with_key: bytes = b"", refused: tuple[bytes, ...] = ()) -> None:
        self._context, self._clock, self._node = context, context.clock, node
        self.name, self.secret, self.owner_key, self.with_key = name, secret, owner, with_key
        self.keys = ChatKeys(name, secret, owner)
        self.refused = refused                                  # M-91
        self.moves = Bucket(1, MOVE_BURST, self._clock.now, MOVE_STEP)      # M-88, of the whole chain
        self.departure: Optional[Departure] = None
        self.successor: Optional[Successor] = None              # M-90: the first, which the node is about to follow
        self.is_following = False                               # the node knows of the successor
        self._memory = memory
        self.joined_at = self._clock.now
        self.links: dict[tuple[bytes, bytes], Link] = {}        # in the order in which they were made
        self.openings = Openings(context, self, node.beginning)
        self.people = People(context, name, self.links_of, self.hides)
        self.composer = Composer(self._clock, self._send_typing, self._beats_change)
        self._outcomes: dict[int, dict[bytes, set[Link]]] = {}
        self._texts: list[tuple[bytes, dict[str, Any]]] = []
        self.is_left = False

    @property
    def run(self) -> bytes:
        return self._memory.run

    @property
    def rank(self) -> int:
        """This node remembers nobody, so members of secret chats alone are preferred."""
        return STRANGER if self.secret is None else PREFERRED

    def links_of(self, key: bytes) -> list[Link]:
        return [link for (k, _), link in self.links.items() if k == key]

    def status(self) -> int:
        return (TYPING if self.composer.is_announced else 0) | (AWAY if self._context.is_away else 0)

    def interval_units(self) -> int:
        """T-24."""
        links = self._node.live_links()
        return LEAST_UNITS if links <= IDLE_LINKS else min(255, -(-links * 10 // IDLE_LINKS))

    def next_beat(self, link: Link) -> int:
        """T-8, T-11, T-23."""
        if self.is_typing(link):
            links = self._node.live_links()
            is_fast = links <= TYPING_LINKS or self.rank > STRANGER
            return TYPING_BEAT if is_fast else min(LONGEST_TYPING_BEAT, links * S // 200)
        return int(link.announced_units * INTERVAL_UNIT * self._context.random.uniform(IDLE_SHORTEST, 1))

    def owner(self, link: Link) -> Owner:
        return Owner(False, self.rank == STRANGER, None if self.secret is None else self.name,
                     self._context.net.source(link.address))

    def epoch_to_name(self, key: bytes) -> int:
        down = [link for link in reversed(self.links_of(key)) if link.is_down]
        return epoch_to_name(None, down, self._memory.epochs.of(key))

    def is_stranger(self, key: bytes) -> bool:
        by_hand = any(i.by_hand and i.key == key for i in self.openings.instances)
        return self.rank == STRANGER and not by_hand and not self.links_of(key)

    def is_blocked(self, key: bytes) -> bool:
        """L-36, M-91, L-104."""
        return user_id(key) in self._node.blocked or key in self.refused or bool(self.with_key) and key != self.with_key

    @property
    def is_own(self) -> bool:
        """Whether this node's key owns the chat."""
        return self.owner_key == self._context.identity.public

    def admits(self, key: bytes) -> bool:
        """M-92, M-94, D-7: whether the node opens to a key."""
        if self.departure is None:
            return key != self._context.identity.public and not self.is_blocked(key)
        return key in self.departure.chosen and not self.is_blocked(key)

    def hides(self, key: bytes) -> bool:
        """M-92, M-94."""
        return self.departure is not None or key == self._context.identity.public

    def refusal(self, key: bytes, run: bytes) -> Optional[str]:
        """Why the initiation of a key and run gets no answer, or None (D-7, L-36, M-92, M-94)."""
        if self.is_blocked(key):
            return "blocked"
        if key == self._context.identity.public and (not self.is_own or run == self.run):
            return "ownKey"
        if self.departure is None:
            return None
        if not self.admits(key):
            self.meet(key)
            return "notChosen"
        return "served" if self.departure.served.get(run, 0) > self._clock.now else None

    def covers(self, link: Link, instance: Instance) -> bool:
        if not link.is_alive or instance.key != link.key:
            return False
        return instance in link.covered or link.address in instance.candidates

    def _holding(self, key: bytes, addresses: list[Address]) -> list[Instance]:
        return [i for i in self.openings.instances if i.key == key and any(a in i.candidates for a in addresses)]

    def is_covered(self, instance: Instance) -> bool:
        return any(self.covers(link, instance) for link in self.links.values())

    def covered_addresses(self, link: Link) -> list[Address]:
        return [a for i in self.openings.instances if self.covers(link, i) for a in i.candidates]

    def covers_by_hand(self, link: Link) -> bool:
        return any(i.by_hand and self.covers(link, i) for i in self.openings.instances)

    def addresses(self, key: bytes, are_down: bool, joined_before: Optional[int] = None) -> list[Address]:
        return [link.address for link in self.links_of(key) if link.is_down == are_down and
                (joined_before is None or all((session.joined_at or 0) <= joined_before for session in link.sessions))]

    def own_key_told(self, address: Address) -> None:
        if self.departure is not None:
            return
        self._context.emit({"on": "notice", "code": "own-key", "chat": self.name,
                            "text": f"this node's own identity answers at {address[0]}:{address[1]}"})

    def response(self, attempt: Attempt, result: Result, source: Address, via: Any) -> None:
        """A response opened (L-65 to L-69, L-95)."""
        link = self.links.get((attempt.key, result.run))
        address = source if source in attempt.opened_from else next(iter(attempt.opened_from))      # L-81
        decision, epoch = decide_on_response(link, self._memory.epochs.of(attempt.key), attempt.epoch, result.epoch,
                                             attempt.caused_handshake)
        if decision == epochs.HANDSHAKE:
            self.openings.handshake(link or attempt.key, attempt.key, epoch, [address], attempt)
        elif decision == epochs.FORGET:
            assert link is not None
            self.forget(link, "lost-state")
        elif decision == epochs.DROP:
            attempt.give_up()
        else:
            session = Session(attempt.key, attempt.index, result.index, result, attempt.epoch, address, True,
                              self._clock.now)
            session.chat = self
            self.openings.answered(attempt)
            self._join(session, decision)

    def epoch_to_answer(self, key: bytes, run: bytes, epoch: int) -> Optional[int]:
        """L-62, L-63."""
        return epochs.epoch_to_answer(self.links.get((key, run)), self._memory.epochs.of(key), epoch)

    def confirm(self, session: Session) -> Optional[Link]:
        """The first datagram opened on a session that this node answered (L-67, L-68)."""
        link = self.links.get((session.key, session.run))
        decision = decide_on_joining(link, session.own_epoch, session.peer_epoch)
        return None if decision == epochs.DROP else self._join(session, decision)

    def _join(self, session: Session, decision: str) -> Optional[Link]:
        key, link = session.key, self.links.get((session.key, session.run))
        if self.is_blocked(key) or self.departure is not None and not self.admits(key):
            return None                                         # L-36, M-92
        is_new = link is None
        if link is None:
            try:
                self._node.make_room(self, session)             # L-39
            except NoRoom:
                self._context.sessions.pop(session.index, None)
                return None
            link = Link(self._context, self, key, session.run, session.own_epoch, session.peer_epoch, session.address)
            self.links[key, session.run] = link
        elif decision == epochs.REPLACE:
            self._replace(link, session)
        elif not link.has_room():
            self._context.sessions.pop(session.index, None)
            return None
        self._context.sessions[session.index] = session
        link.add_session(session)
        if link.is_alive:
            link.covered += self._holding(link.key, [session.address])
        if is_new:
            for other in self.links_of(key):
                if other is not link and other.state == "up":
                    other.suspect(0)                            # L-31
        self.openings.update(key)
        return link

    def _replace(self, link: Link, session: Session) -> None:
        """L-69."""
        former, was_shown = link.sender, link.presence() != "offline"
        failed = [message.number for message in former.messages if message.begun_at is not None]
        for other in list(link.sessions):
            self._context.sessions.pop(other.index, None)
        link.sessions.clear()
        former.close()
        link.receiver.close()
        link.end_typing()
        link.begin_state(session.own_epoch, session.peer_epoch)
        if was_shown:
            self.people.keep_shown(link.key)
        link.sender.take_over(former)
        for number in failed:
            self.failed(link, number, "lost-state")
        self.people.update(link.key, "silence")

    def keep_shown(self, link: Link) -> None:
        """L-103."""
        if link.presence() != "offline":
            self.people.keep_shown(link.key)

    def handshake(self, link: Link, targets: list[Address]) -> None:
        """L-37, L-42: for a link."""
        self.openings.handshake(link, link.key, epoch_to_name(link, [], 0), list(dict.fromkeys(targets)))

    def came_up(self, link: Link) -> None:
        link.covered = self._holding(link.key, [link.address, *(session.address for session in link.sessions)])
        self.openings.news(link.key, at_once=True)

    def went_down(self, link: Link) -> None:
        link.covered = []
        self.people.update(link.key, "silence")
        self.openings.news(link.key)

    def changed(self, link: Link) -> None:
        self.people.update(link.key)

    def is_typing(self, link: Link) -> bool:
        return self.composer.is_announced and link.is_named and not link.is_hidden

    def address_changed(self, link: Link) -> None:
        self.openings.update(link.key)

    def got_text(self, link: Link, text: str, owner: Owner) -> None:
        size = len(text.encode())
        if not link.is_named:                                   # M-24
            return self._context.pools.texts.remove(owner, size + MESSAGE_EXTRA)
        event = {"on": "message", "chat": self.name, "from": self.people.person(link.key).shown(),
                 "message": self._node.next_number(), "text": text, "held": (owner, size)}
        self._texts.append((link.key, event | ({"delayed": True} if self._context.is_late else {})))

    def got_invite(self, link: Link, body: bytes) -> None:
        self._node.got_invite(self, link.key, self.people.name(link.key), body)

    def got_successor(self, link: Link, body: bytes) -> None:
        """M-90, M-94."""
        if not self.owner_key or link.key != self.owner_key or self.successor is not None:
            return
        try:
            successor = Successor.read(body)
        except TextError:
            return
        if self.departure is None:
            self.successor = successor
        elif successor != self.departure.successor and not self.departure.differs:
            self.departure.differs = True
            self._node.moving.differs(self)

    def successor_to_give(self) -> Optional[bytes]:
        return None if self.departure is None else self.departure.successor.body

    def depart(self, departure: Departure) -> dict[bytes, str]:
        """M-65, M-92: this node's user moves the chat. Nobody shows any more.

        Returns the keys in the chat, with their names, for `meet`.
        """
        links = list(self.links.values())
        self.departure = departure
        self.composer.close()
        self.composer.text = ""
        for link in links:                                      # T-29: failed messages come first
            if self.admits(link.key):
                link.close_with(departure.successor.body)
            else:
                link.fail_messages("left")
        for key in list(self.people.known):
            self.people.hide(key, "bye")
        there = {i.key: "" for i in self.openings.instances if i.key is not None}
        there |= {link.key: link.name for link in links}
        self._end_refused(there)
        return there

    def choose(self, departure: Departure) -> None:
        """M-93, A-43: the departed chat has other chosen keys."""
        former, self.departure = self.departure, departure
        assert former is not None
        self._end_refused(former.chosen | departure.chosen)

    def refuse(self, keys: tuple[bytes, ...]) -> None:
        """M-91: the node was in the chat before it took the successor."""
        self.refused = keys
        self._end_refused(keys)

    def _end_refused(self, keys: Iterable[bytes]) -> None:
        for link in list(self.links.values()):
            if not self.admits(link.key) and link.key != self._context.identity.public:
                is_removed = self.departure is not None and link.key in self.departure.successor.removed
                self.say_bye(link, REMOVED if is_removed else LEFT, "left")
        for key in keys:
            if not self.admits(key):
                self._node.drop_unconfirmed(self, key)
            self.openings.update(key)

    def meet(self, key: bytes, name: str = "") -> None:
        """M-95: a key in a departed chat; this node remembers nobody, so the key is not verified."""
        departure = self.departure
        if departure is None or key == self._context.identity.public or self.is_blocked(key):
            return
        if key in departure.chosen or key in departure.successor.removed or key in departure.reported:
            return
        if len(departure.reported) < MAX_NEWCOMERS:
            departure.reported.add(key)
            self._context.emit({"on": "notice", "code": "newcomer", "chat": self._node.moving.name_after(self),
                                "user": user_id(key), "key": base64url(key), "verified": False,
                                **({"name": name} if name else {}),
                                "text": f"{name or user_id(key)} is in the chat that has moved, and was not chosen"})

    def served(self, link: Link) -> None:
        """M-65, M-92: the peer acknowledged the successor."""
        if self.departure is not None:
            self.departure.served[link.run] = self._clock.now + SERVED
        self.say_bye(link, LEFT, "left")

    def report_texts(self) -> None:
        """T-29: after presence and typing."""
        texts, self._texts = self._texts, []
        for key, event in texts:
            self.people.message(key, event)

    def delivered(self, link: Link, message: int) -> None:
        """M-17."""
        people = self._outcomes.get(message, {})
        if people.pop(link.key, None) is not None:
            self._report_outcome("delivered", link.key, message, {})

    def failed(self, link: Link, message: int, why: str) -> None:
        people = self._outcomes.get(message, {})
        if link.key in people:
            people[link.key].discard(link)
            if not people[link.key]:
                del people[link.key]
                self._report_outcome("failed", link.key, message, {"why": why})

    def _report_outcome(self, on: str, key: bytes, message: int, more: dict[str, str]) -> None:
        self._context.emit({"on": on, "chat": self.name, "message": message, "user": user_id(key), **more})
        if not self._outcomes[message]:
            del self._outcomes[message]

    def _send_typing(self) -> None:
        for link in list(self.links.values()):
            link.send_typing()

    def _beats_change(self) -> None:
        """T-8, T-11: a heartbeat that is due when typing ends keeps its time."""
        for link in self.links.values():
            if self.is_typing(link):
                link.schedule_beat()

    def send_heartbeats(self) -> None:
        """T-21."""
        for link in list(self.links.values()):
            if link.is_alive:
                link.send_heartbeat()

    def send_text(self, number: int, text: str, tag: Optional[str]) -> None:
        """M-9, M-14, M-30, M-36."""
        body = text.encode()
        shown = [link for link in self.links.values() if link.takes_messages]
        full = [link for link in shown if not link.sender.has_room(len(body))]
        refusing = next((link for link in full if not link.sender.is_overdue() or len(full) == len(shown)), None)
        if refusing is not None:
            raise QueueFull(user_id(refusing.key))
        is_stop = self.composer.stop_quietly()
        self.composer.text = ""
        people: dict[bytes, set[Link]] = {}
        for link in shown:
            people.setdefault(link.key, set()).add(link)
        if people:
            self._outcomes[number] = people
        self._context.emit({"on": "sent", "chat": self.name, "message": number, "to": len(people),
                            **({} if tag is None else {"tag": tag})})
        for link in shown:
            before = link.records_sent
            if link not in full:
                link.sender.enqueue_text(number, body)
            if is_stop and link.records_sent == before:
                link.send_typing()
        for link in full:
            self.failed(link, number, "stalled")

    def has(self, key: bytes) -> bool:
        """Whether messages go to the key's owner."""
        return any(link.takes_messages for link in self.links_of(key))

    def send_invite(self, number: int, key: bytes, body: bytes) -> None:
        """M-45. Number 0 is a knock, whose outcome is not reported."""
        links = {link for link in self.links_of(key) if link.takes_messages}
        if any(not link.sender.has_room(len(body)) for link in links):
            raise QueueFull(user_id(key))
        if number:
            self._outcomes[number] = {key: set(links)}
            self._context.emit({"on": "sent", "chat": self.name, "message": number, "to": 1})
        for link in self.links_of(key):
            if link in links:
                link.sender.enqueue_invite(number, body)

    def received_bye(self, link: Link, reason: int) -> None:
        """L-34, L-35, M-97."""
        is_removed = reason == REMOVED and link.key == self.owner_key
        self.forget(link, "will" if reason == WILL else "removed" if is_removed else "bye", REST)

    def say_bye(self, link: Link, reason: int, why: str, rest: int = REST) -> None:
        """L-32, L-35, L-106."""
        byes = link.seal_byes(reason)
        self._transmit_all(byes)
        for delay in COPIES:
            self._clock.after(delay, partial(self._transmit_all, byes))
        self.forget(link, why, rest)

    def _transmit_all(self, datagrams: list[tuple[Address, bytes]]) -> None:
        for address, data in datagrams:
            self._context.transmit(address, data)

    def forget(self, link: Link, why: str, rest: int = 0) -> None:
        """L-60, L-87, M-18, T-29."""
        if self.links.get((link.key, link.run)) is not link:
            return
        if rest:
            self._context.after_byes.append(link.address)
        resting = [i for i in self.openings.instances if i.key == link.key and
                   (self.covers(link, i) or link.address in i.candidates)] if rest else []
        messages = [message.number for message in link.sender.messages]
        del self.links[link.key, link.run]
        link.close()
        self._advance_epoch(link.key)
        self._node.drop_unconfirmed(self, link.key)
        self.openings.drop_pending(link.key)
        reason = "replaced" if why == "silence" and self.links_of(link.key) else why
        for number in messages:
            self.failed(link, number, "bye" if reason == "removed" else reason)
        shown = {"quit": "bye", "left": "bye", "lost-state": "silence"}.get(why, why)
        self.people.update(link.key, shown)
        if not self.is_left:
            self.openings.rest(resting, link.key, rest)

    def _advance_epoch(self, key: bytes) -> None:
        try:
            self._memory.epochs.advance(key)
        except EpochsUsedUp:
            self._memory.run, self._memory.epochs = self._context.random.randbytes(8), EpochCounter()
            for other in list(self.links.values()):
                self.say_bye(other, LEFT, "left")

    def blocked(self, user: str) -> None:
        """L-36."""
        for link in [link for link in self.links.values() if user_id(link.key) == user]:
            self.say_bye(link, LEFT, "blocked")
        for key in {i.key for i in self.openings.instances if i.key is not None and user_id(i.key) == user}:
            self._node.drop_unconfirmed(self, key)
            self.openings.update(key)
        self.people.report_all()

    def unblocked(self, user: str) -> None:
        """The instances of an unblocked key are new."""
        for instance in self.openings.instances:
            if instance.key is not None and user_id(instance.key) == user:
                instance.rests_until = instance.attempts = 0
                self.openings.news(instance.key)

    def close(self, reason: int, why: str) -> None:
        """L-32: the node leaves the chat, or quits."""
        self.is_left = True
        self.composer.close()
        self.openings.close()
        for link in list(self.links.values()):
            self.say_bye(link, reason, why)
        self.people.report_all()
