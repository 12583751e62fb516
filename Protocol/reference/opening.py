"""Openings: how a node makes a link with a key, or brings it up again (L-1 to L-7, L-35, L-101, L-102, D-11, D-24)."""

from typing import Any, Callable, Optional

from clock import Timer, cancel
from context import Context
from limits import (ASK_STEP, ATTEMPT, ATTEMPT_STEPS, ATTEMPT_WAIT, FAST_PERIOD, JOIN_TIME, LARGER_KEY_WAIT, MAX_CANDIDATES,
                    MAX_INSTANCES, OWN_ASK_STEP, PAUSES, RESPONSES_OPENED, SHORT_REST, SLOW_STEP, SPREAD, TARGETS_WAIT,
                    TRANSMISSION_WAIT)
from noise import HandshakeError, Initiator
from session import Address
from wire import ZEROS, Ask, Initiation


class Instance:
    """A place where a peer may be: found by discovery, or added by hand. A hand-added one may lack a key."""

    def __init__(self, name: str, key: Optional[bytes], candidates: list[Address], by_hand: bool = False) -> None:
        self.name, self.key, self.by_hand = name, key, by_hand
        self.candidates = candidates[:MAX_CANDIDATES]           # D-9
        self.rests_until = 0                                    # L-35
        self.attempts = 0                                       # D-22


class Attempt:
    """One handshake of an opening, or one for a link (L-101). Its transmissions have the same bytes (L-4).

    The gate holds the limits on what this node begins: `may_begin` and `may_send`, in admission.py.
    """

    def __init__(self, context: Context, host: Any, gate: Any, key: bytes, epoch: int,
                 targets: Callable[[], list[Address]], ended: Callable[[], None], is_for_link: bool,
                 number: int = 1) -> None:
        self.context, self.host, self._gate = context, host, gate
        self.key, self.epoch, self.is_for_link = key, epoch, is_for_link
        self._targets, self._ended, self.number = targets, ended, number
        self.is_stranger = host.is_stranger(key) and not is_for_link
        self.index = context.new_index()
        self.noise = Initiator(context.identity, context.random.randbytes(32), key, host.keys.psk,
                               host.keys.prologue(self.index), host.run, epoch)
        check = host.keys.initiation_check(self.index, self.noise.message)
        self._initiation = Initiation(self.index, check, self.noise.message, b"")
        self.caused_handshake = False                           # L-65, L-66
        self.opened_from: dict[Address, int] = {}               # L-49: responses that may still be opened
        self._may_retry: set[Address] = set()                   # L-13
        self._timers: list[Timer] = []
        self._steps = list(ATTEMPT_STEPS)

    def start(self) -> None:
        self.context.pending[self.index] = self
        self._timers = [self.context.clock.after(ATTEMPT, self.give_up)]
        self._transmit()

    def _transmit(self) -> None:
        clock, data = self.context.clock, self._initiation.encode()
        addresses = [a for a in dict.fromkeys(self._targets()) if self._gate.may_send(a, self.is_stranger)]
        for address in addresses:
            self.context.transmit(address, data)
            self.opened_from[address] = self.opened_from.get(address, 0) + RESPONSES_OPENED
        if not addresses:                                       # it waits (L-54)
            self._timers.append(clock.after(TRANSMISSION_WAIT, self._transmit))
            return
        self._may_retry = set(addresses)
        if self._steps:
            step = self.context.spread(self._steps.pop(0), SPREAD)
            self._timers.append(clock.after(step, self._transmit))

    def retry(self, address: Address, cookie: bytes, via: Any) -> bool:
        """L-13."""
        if address not in self._may_retry or not self._gate.may_send(address, self.is_stranger):
            return False
        self._may_retry.remove(address)
        data = Initiation(self.index, self._initiation.check, self.noise.message, cookie).encode()
        self.context.transmit(address, data, via)
        self.opened_from[address] += RESPONSES_OPENED
        return True

    def give_up(self) -> None:
        self.stop()
        self._ended()

    def stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        if self.context.pending.get(self.index) is self:
            del self.context.pending[self.index]


class Opening:
    """The attempts for one key of a chat, while it has targets (L-2, L-5)."""

    def __init__(self, openings: "Openings", key: bytes) -> None:
        self._openings, self.key = openings, key
        self._context, self._host = openings.context, openings.host
        self.attempt: Optional[Attempt] = None
        self._timer: Optional[Timer] = None
        self.attempts = self._started_at = self._attempt_at = 0
        self.news()

    def news(self, at_once: bool = False) -> None:
        """L-102, L-1."""
        if self.attempt is not None:
            self.attempts, self._started_at = 1, self._attempt_at
            return self._at(max(0, self._attempt_at + ATTEMPT - self._context.clock.now))
        self.attempts = 0
        waits = self._context.identity.public > self.key and not at_once
        self._at(LARGER_KEY_WAIT if waits else 0)

    def _at(self, delay: int) -> None:
        cancel(self._timer)
        self._timer = self._context.clock.after(delay, self._next)

    def _next(self) -> None:
        """Begins an attempt, waits for targets, or ends the opening."""
        if not self._openings.is_wanted(self.key):
            return self._openings.end(self)
        if not self._openings.targets(self.key):
            return self._at(TARGETS_WAIT)
        try:
            attempt = Attempt(self._context, self._host, self._openings.gate, self.key,
                              self._host.epoch_to_name(self.key), lambda: self._openings.targets(self.key), self._ended, False,
                              self.attempts + 1)
        except HandshakeError:
            return self._openings.end(self)                     # W-4: nobody has such a key
        if not self._openings.gate.may_begin(attempt):
            return self._at(ATTEMPT_WAIT)
        now, spread = self._context.clock.now, self._context.spread
        self._attempt_at, self.attempt = now, attempt
        if self.attempts == 0:
            self._started_at = now
        else:
            self._openings.ask_beside(self.key)                 # D-24
        delay = ATTEMPT + spread(PAUSES[min(self.attempts, len(PAUSES) - 1)], SPREAD)
        self.attempts += 1
        for instance in self._openings.uncovered(self.key):
            instance.attempts += 1                              # D-22
        self._at(delay if now + delay - self._started_at < FAST_PERIOD else spread(SLOW_STEP, SPREAD))
        attempt.start()

    def _ended(self) -> None:
        self.attempt = None

    def answered(self) -> None:
        """A response completed the attempt; the next one begins at its time."""
        if self.attempt is not None:
            self.attempt.stop()
        self.attempt = None

    def stop(self) -> None:
        cancel(self._timer)
        self.answered()


class Openings:
    """The instances of a chat, and what is opened to them.

    The chat is their host: it knows its keys and run, epochs (L-64), ranks, blocks, and what its links cover.
    """

    def __init__(self, context: Context, host: Any, gate: Any) -> None:
        self.context, self.host, self.gate = context, host, gate
        self.instances: list[Instance] = []
        self._openings: dict[bytes, Opening] = {}
        self._for_links: dict[Any, Attempt] = {}
        self._asks: dict[Instance, "Asking"] = {}

    def listed(self, name: str, key: bytes, candidates: list[Address]) -> None:
        """Discovery lists an instance, perhaps again (D-7 to D-9)."""
        net = self.context.net
        usable = [a for a in candidates if net.is_unicast(a) and net.is_on_link(a) and not net.is_own(a)]
        if key == self.context.identity.public and not self.host.is_own:
            return                                              # D-7, M-94
        self.host.meet(key)
        known = next((i for i in self.instances if i.name == name and not i.by_hand), None)
        if known is not None and known.key == key:
            is_news = not set(usable[:MAX_CANDIDATES]) <= set(known.candidates)
            known.candidates = usable[:MAX_CANDIDATES]
            return self.news(key) if is_news else self.update(key)
        if known is not None:
            self.instances.remove(known)
        self._add(Instance(name, key, usable))
        self.news(key)

    def vanished(self, name: str) -> None:
        for instance in [i for i in self.instances if i.name == name and not i.by_hand]:
            self.instances.remove(instance)
            self.update(instance.key or b"")

    def _add(self, instance: Instance) -> None:
        """D-9, D-22."""
        same = [i for i in self.instances if i.key == instance.key and not i.by_hand]
        tried = [i for i in same if i.attempts and not self.host.is_covered(i)]
        if len(same) >= MAX_INSTANCES and tried:
            self.instances.remove(max(tried, key=lambda i: i.attempts))
        if len(same) < MAX_INSTANCES or tried:
            self.instances.append(instance)

    def add_by_hand(self, address: Address, key: Optional[bytes] = None) -> None:
        """D-11, D-24."""
        if any(i.by_hand and i.candidates == [address] for i in self.instances):
            return
        instance = Instance(f"{address[0]}:{address[1]}", key, [address], by_hand=True)
        self.instances.append(instance)
        self._asks[instance] = asking = Asking(self, instance)
        if key is None:
            asking.start()
        else:
            self.news(key)

    def by_hand(self) -> list[Instance]:
        return [instance for instance in self.instances if instance.by_hand]

    def told(self, asking: "Asking", key: bytes) -> None:
        """D-12, D-14."""
        instance, former = asking.instance, asking.instance.key
        self.host.meet(key)
        if key == self.context.identity.public and not self.host.admits(key):
            instance.key = None
            asking.told_own()
        elif key != former:
            instance.key, instance.attempts, instance.rests_until = key, 0, 0
            asking.stop()
            self.news(key)
        if former is not None and former != key:
            self.update(former)

    def asking_for(self, address: Address, token: bytes) -> Optional["Asking"]:
        return next((a for a in self._asks.values() if token in a.tokens and a.instance.candidates == [address]), None)

    def ask_beside(self, key: bytes) -> None:
        for instance in self.uncovered(key):
            if instance in self._asks and instance.rests_until <= self.context.clock.now:
                self._asks[instance].send()

    def uncovered(self, key: bytes) -> list[Instance]:
        return [i for i in self.instances if i.key == key and not self.host.is_covered(i)]

    def is_wanted(self, key: bytes) -> bool:
        if not self.host.admits(key):
            return False
        return bool(self.uncovered(key)) or bool(self.host.addresses(key, are_down=True))

    def targets(self, key: bytes) -> list[Address]:
        """L-2."""
        now, live = self.context.clock.now, self.host.addresses(key, are_down=False)
        addresses = [a for i in self.uncovered(key) if i.rests_until <= now for a in i.candidates]
        addresses += self.host.addresses(key, are_down=True, joined_before=now - JOIN_TIME)
        return [a for a in dict.fromkeys(addresses) if a not in live]

    def update(self, key: bytes) -> None:
        """Instances, links or blocks of a key changed."""
        opening = self._openings.get(key)
        if not self.is_wanted(key):
            if opening is not None:
                self.end(opening)
        elif opening is None:
            self._openings[key] = Opening(self, key)

    def end(self, opening: Opening) -> None:
        opening.stop()
        if self._openings.get(opening.key) is opening:
            del self._openings[opening.key]

    def news(self, key: bytes, at_once: bool = False) -> None:
        """L-102."""
        self.update(key)
        if key in self._openings:
            self._openings[key].news(at_once)

    def news_of_all(self) -> None:
        """L-40, L-42."""
        for key in list(self._openings):
            self.news(key)

    def answered(self, attempt: Attempt) -> None:
        """A response completed an attempt: a session joined."""
        attempt.stop()
        for link, own in list(self._for_links.items()):
            if own is attempt:
                del self._for_links[link]
        opening = self._openings.get(attempt.key)
        if opening is not None and opening.attempt is attempt:
            opening.answered()

    def handshake(self, mark: Any, key: bytes, epoch: int, targets: list[Address],
                  caused_by: Optional[Attempt] = None) -> None:
        """Begins a handshake for a link, or for the attempt that caused it (L-101). There is one for each mark."""
        former = self._for_links.pop(mark, None)
        if former is not None and former is not caused_by:
            former.stop()
        if caused_by is not None:
            self.answered(caused_by)

        def ended() -> None:
            self._for_links.pop(mark, None)
        attempt = Attempt(self.context, self.host, self.gate, key, epoch, lambda: targets, ended, True)
        attempt.caused_handshake = caused_by is not None
        self._for_links[mark] = attempt
        attempt.start()

    def drop_pending(self, key: bytes) -> None:
        """L-87."""
        for mark, attempt in list(self._for_links.items()):
            if attempt.key == key:
                attempt.stop()
                del self._for_links[mark]
        if key in self._openings:
            self._openings[key].answered()

    def rest(self, instances: list[Instance], key: bytes, length: int) -> None:
        """L-35, L-106."""
        for instance in instances:
            instance.rests_until = self.context.clock.now + (SHORT_REST if instance.by_hand else length)
            self.context.clock.at(instance.rests_until, lambda: self.news(key))
        self.news(key)

    def close(self) -> None:
        for opening in list(self._openings.values()):
            self.end(opening)
        for attempt in self._for_links.values():
            attempt.stop()
        for asking in self._asks.values():
            asking.stop()
        self.instances.clear()


class Asking:
    """The asks to an address by hand (D-11 to D-14)."""

    def __init__(self, openings: Openings, instance: Instance) -> None:
        self._openings, self.instance = openings, instance
        self.tokens: list[bytes] = []                           # D-12: of the last two asks, the latest first
        self._asks, self._since = 0, openings.context.clock.now
        self._timer: Optional[Timer] = None
        self._has_told_own = False

    def start(self) -> None:
        self.send()
        context = self._openings.context
        step = OWN_ASK_STEP if self._has_told_own else context.spread(self._step(), SPREAD)
        self._timer = context.clock.after(step, self.start)

    def _step(self) -> int:
        """D-11: the times of attempts for 90 s."""
        if self._openings.context.clock.now - self._since >= FAST_PERIOD:
            return ASK_STEP
        attempt, place = divmod(self._asks, len(ATTEMPT_STEPS) + 1)
        self._asks += 1
        if place < len(ATTEMPT_STEPS):
            return ATTEMPT_STEPS[place]
        return ATTEMPT - sum(ATTEMPT_STEPS) + PAUSES[min(attempt, len(PAUSES) - 1)]

    def send(self) -> None:
        context = self._openings.context
        token = context.random.randbytes(8)
        self.tokens = [token, *self.tokens[:1]]
        ask = Ask(token, self._openings.host.keys.ask_check(token), ZEROS)
        context.transmit(self.instance.candidates[0], ask.encode())

    def told_own(self) -> None:
        if not self._has_told_own:
            self._openings.host.own_key_told(self.instance.candidates[0])
        self._has_told_own = True
        self.stop()
        self._timer = self._openings.context.clock.after(OWN_ASK_STEP, self.start)

    def stop(self) -> None:
        cancel(self._timer)
