"""A chat of a node: its links, the ways to its peers, and what goes to all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Type

from admission import NoRoom, room
from clock import cancel
from composer import Composer
from limits import (HELLO_TIMEOUT, INTERVAL_UNIT, LARGER_KEY_DELAY, SILENT_LINK_AGE, SILENT_LINK_TRIED,
                    SILENT_LINKS_TRIED, UNCONFIRMED, UNCONFIRMED_TURNS)
from link import Link
from messages import Outgoing
from names import chat_keys, user_id
from opening import Instance, Opening, Renewal
from people import People
from session import Session
from wire import AWAY_BIT, QUIT, REMOVED, TYPING_BIT, Heartbeat, Hello, Typing

if TYPE_CHECKING:
    from core import Node
    from session import Address


class Chat:
    """A name and, unless the chat is open, a secret."""

    def __init__(self, node: "Node", name: str, secret: Optional[bytes]) -> None:
        self.node, self.name, self.secret = node, name, secret
        self.tag, self.psk = chat_keys(name, secret)
        self.joined = node.now
        self.links: dict[tuple[bytes, bytes], Link] = {}  # by static key and run
        self.instances: list[Instance] = []
        self.people = People(node, self)
        self.composer = Composer(node, self)
        self._deliveries: dict[int, dict[bytes, set[Link]]] = {}

    # What goes to all

    def status(self) -> int:
        """T-2."""
        return (TYPING_BIT if self.composer.announced else 0) | (AWAY_BIT if self.node.away else 0)

    def heartbeat(self) -> Heartbeat:
        """T-11: the interval rounded up to 100 ms."""
        return Heartbeat(self.status(), min(255, -(-self.node.idle_interval() // INTERVAL_UNIT)))

    def send_status(self, kind: Type[Typing]) -> None:
        for link in self.links.values():
            link.transmit([kind(self.status())])

    def send_heartbeats(self) -> None:
        for link in self.links.values():
            link.transmit([self.heartbeat()])

    def send_text(self, number: int, text: str, tag: Optional[str], full: list[Link], front_end: object) -> None:
        """J-6, M-9, M-14: the datagram with the message says the stop, or a typing frame where none can go out yet."""
        stop = self.composer.end_quietly()
        self.composer.empty(front_end)
        people: dict[bytes, set[Link]] = {}
        for link in self.links.values():
            people.setdefault(link.key, set()).add(link)
        sent = {"on": "sent", "chat": self.name, "message": number, "to": len(people)}
        self.node.emit(sent if tag is None else {**sent, "tag": tag})
        if people:
            self._deliveries[number] = people
        for link in list(self.links.values()):
            if (link in full or not link.queue(Outgoing(number, text))) and stop:
                link.transmit([Typing(self.status())])
        for link in full:
            self.failed(link, number, "stalled")

    # Outcomes (M-17)

    def delivered(self, link: Link, number: int) -> None:
        people = self._deliveries.get(number, {})
        if people.pop(link.key, None) is not None:
            self._outcome("delivered", link, number, {})

    def failed(self, link: Link, number: int, why: str) -> None:
        people = self._deliveries.get(number, {})
        if link.key in people:
            people[link.key].discard(link)
            if not people[link.key]:
                del people[link.key]
                self._outcome("failed", link, number, {"why": why})

    def _outcome(self, what: str, link: Link, number: int, more: dict[str, str]) -> None:
        self.node.emit({"on": what, "chat": self.name, "message": number, "user": user_id(link.key), **more})
        if not self._deliveries[number]:
            del self._deliveries[number]

    def message_came(self, key: bytes, text: str) -> None:
        self.people.message(key, {"on": "message", "chat": self.name, "from": self.people.get(key).shown(),
                                  "message": self.node.next_shown(), "text": text,
                                  **({"delayed": True} if self.node.late else {})})  # J-15

    # Links

    def links_of(self, key: bytes) -> list[Link]:
        return [link for (k, _), link in self.links.items() if k == key]

    def presumed_link(self, session: Session) -> Optional[Link]:
        """L-47."""
        if isinstance(session.opening, Renewal) and session.opening.link in self.links.values():
            return session.opening.link
        return max(self.links_of(session.key), key=lambda link: link.last_evidence, default=None)

    def bind(self, session: Session, hello: Hello) -> bool:
        """L-48: the session belongs to the link of the hello's run from now on."""
        link = self.links.get((session.key, hello.run))
        if link is None:
            if user_id(session.key) in self.node.blocked:
                return False  # L-36
            if session.hellos_came == 1:
                for other in self.links_of(session.key):
                    if not other.suspected:
                        other.suspect()  # L-31, L-53
            try:
                former = room(self.node, self, session.key, session.address)
            except NoRoom:
                return False  # L-39
            if former is not None:
                former.chat.give_way(former, session)
            cancel(session.timer)
            link = session.link = Link(self.node, self, session, hello.run, hello.name)
            self.links[session.key, hello.run] = link
        else:
            cancel(session.timer)
            session.link = link
            link.join(session, hello)
        opening = session.opening
        for other in self.openings_to(session.key):
            other.turns = 0  # L-55
        if opening is not None:
            opening.session = None
            if isinstance(opening, Instance):
                self.uncover(opening)
                link.covered.append(opening)
            elif isinstance(opening, Renewal) and opening.link.renewal is opening:
                opening.stop()
                opening.link.renewal = None
        if link.renewal and link.sending is session:
            link.renewal.stop()
            link.renewal = None
        self.covered_by(link)
        return True

    def give_way(self, link: Link, newcomer: Session) -> None:
        """L-52: there is no room for it any more."""
        sessions = [(s, link.address) for s in link.sessions]
        sessions += [(s, s.address) for s in self._unbound(link.key)
                     if s.complete and s is not newcomer and self.presumed_link(s) is link]
        self.node.say_bye(QUIT, sessions)
        self.end_link(link, "full")

    def end_link(self, link: Link, why: str, fails: Optional[str] = None) -> None:
        """L-27, L-34, L-36: the end of a link, for the user and for the ways to that peer."""
        del self.links[link.key, link.run]
        for session in link.sessions:
            self.node.forget_session(session)
        link.stop()
        if fails is None:
            fails = "replaced" if why == "silence" and self.links_of(link.key) else why  # M-18
        for message in link.out.all_messages():
            self.failed(link, message.number, fails)
        self.people.update_typing()  # W-30: the end of typing is told before the end of the link
        self.people.update(link.key, why)
        if why == "silence":
            self._open_again(link)
        elif fails in ("bye", "will", "full"):
            for instance in link.covered:
                instance.hold_back()  # L-35

    def _open_again(self, link: Link) -> None:
        """L-1, L-35: after silence, beginning with the first attempt."""
        for instance in link.covered:
            instance.begin()
        now = self.node.now
        if any(link.address in i.candidates for i in link.covered) or self.links_of(link.key):
            return
        if now - link.made >= SILENT_LINK_AGE:
            tried = [i for i in self.instances if i.until is not None]
            if len(tried) >= SILENT_LINKS_TRIED:
                self.remove_instance(tried[0])
            last = Instance(self.node, self, link.key, [link.address], until=now + SILENT_LINK_TRIED)
            self.instances.append(last)
            last.begin()

    # Ways to peers

    def add_by_hand(self, address: "Address") -> None:
        instance = Instance(self.node, self, None, [address], by_hand=True)
        self.instances.append(instance)
        instance.begin()

    def remove_instance(self, instance: Instance) -> None:
        instance.stop()
        self.uncover(instance)
        self.instances.remove(instance)

    def openings_to(self, key: bytes) -> list[Opening]:
        renewals: list[Opening] = [link.renewal for link in self.links_of(key) if link.renewal]
        return renewals + [i for i in self.instances if i.key == key]

    def link_covering(self, instance: Instance) -> Optional[Link]:
        """L-3: by its address, or because this node opened it through that instance; until it ends."""
        for link in self.links.values():
            if instance in link.covered:
                return link
        for link in self.links.values():
            if instance.key == link.key and link.address in instance.candidates:
                link.covered.append(instance)
                return link
        return None

    def uncover(self, instance: Instance) -> None:
        for link in self.links.values():
            if instance in link.covered:
                link.covered.remove(instance)

    def covered_by(self, link: Link) -> None:
        """A link was made, or its address or its session is another: the openings that it covers rest."""
        for instance in list(self.instances):
            if self.link_covering(instance) is not link:
                continue
            if instance.until is not None:
                self.remove_instance(instance)
            else:
                instance.stop()

    def left_to_peer_until(self, key: bytes) -> int:
        """L-1: until when the larger key leaves the opening to the peer."""
        begun = [s for s in self._unbound(key) if not s.begun_here]
        return max((s.completed_at + HELLO_TIMEOUT if s.complete else s.created + LARGER_KEY_DELAY for s in begun),
                   default=0)

    def peer_began(self, session: Session, source: "Address") -> None:
        """An initiation was answered: L-14 for the larger key."""
        for opening in self.openings_to(session.key):
            opening.turns += 1
        if self.node.identity.public > session.key:
            self._give_way(session, source, UNCONFIRMED)

    def peer_confirmed(self, session: Session) -> None:
        """Something opened on the peer's session before this node's own completed: L-15 for the smaller key."""
        for opening in self.openings_to(session.key):
            if opening.turns <= UNCONFIRMED_TURNS:
                opening.turns = 0  # L-55
        if self.node.identity.public < session.key:
            self._give_way(session, session.address, HELLO_TIMEOUT)

    def farewell(self, session: Session) -> None:
        """L-35: a bye on a session that has no link."""
        for instance in self.instances:
            there = instance is session.opening or session.address in instance.candidates
            if instance.key == session.key and there and self.link_covering(instance) is None:
                instance.hold_back()

    def _give_way(self, session: Session, source: "Address", time: int) -> None:
        """L-14: all that have the source among their candidates, or else the only one pending."""
        pending = [o for o in self.openings_to(session.key) if o.attempt]
        chosen = [o for o in pending if source in o.targets()]
        if not chosen and len(pending) == 1:
            chosen = pending
        for opening in chosen:
            if opening.leaves_opening() or self.node.identity.public < session.key:
                opening.give_way(time)

    def session_gone(self, session: Session) -> None:
        for opening in self.openings_to(session.key):
            opening.session_gone(session)

    # The end

    def _unbound(self, key: Optional[bytes] = None) -> list[Session]:
        return [s for s in self.node.sessions.values()
                if s.chat is self and s.link is None and (key is None or s.key == key)]

    def _farewell(self, reason: int, links: list[Link], unbound: list[Session]) -> None:
        """L-32: the sending session first, then the others; those without a link where they came from."""
        sessions = [(s, link.address) for link in links for s in link.sessions]
        sessions += [(s, s.address) for s in unbound if s.complete]
        self.node.say_bye(reason, sessions)
        for session in unbound:
            self.node.forget_session(session)

    def block(self, user: str) -> None:
        """L-36."""
        for instance in self.instances:
            if instance.key is not None and user_id(instance.key) == user:
                instance.stop()
        links = [link for link in self.links.values() if user_id(link.key) == user]
        self._farewell(REMOVED, links, [s for s in self._unbound() if user_id(s.key) == user])
        for link in links:
            self.end_link(link, "blocked")
        self.people.tell_all()

    def close(self, reason: int, why: str) -> None:
        """L-32, M-18: this node leaves the chat or quits."""
        self.composer.stop()
        for instance in self.instances:
            instance.stop()
        self.instances.clear()
        links = list(self.links.values())
        self._farewell(reason, links, self._unbound())
        for link in links:
            self.end_link(link, "bye", fails=why)
        self.people.tell_all()
