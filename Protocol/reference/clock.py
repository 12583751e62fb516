"""Virtual time: timers, and two ways to count how often something happened. Nothing here reads a clock."""

import heapq
from collections import deque
from typing import Callable, Optional

from limits import S


class Timer:
    """An action that is due at a time, until it is cancelled."""

    def __init__(self, due: int, action: Callable[[], None]) -> None:
        self.due = due
        self.action: Optional[Callable[[], None]] = action

    def cancel(self) -> None:
        self.action = None

    @property
    def is_set(self) -> bool:
        return self.action is not None


def cancel(timer: Optional[Timer]) -> None:
    """Cancels a timer that may not be there."""
    if timer is not None:
        timer.cancel()


class Clock:
    """The time of the present input, and the timers in the order in which they are due."""

    def __init__(self, now: int) -> None:
        self.now = now
        self._heap: list[tuple[int, int, Timer]] = []
        self._made = 0

    def at(self, due: int, action: Callable[[], None]) -> Timer:
        timer = Timer(due, action)
        self._made += 1
        heapq.heappush(self._heap, (due, self._made, timer))
        return timer

    def after(self, delay: int, action: Callable[[], None]) -> Timer:
        return self.at(self.now + delay, action)

    def next_due(self) -> Optional[int]:
        while self._heap and not self._heap[0][2].is_set:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run(self) -> None:
        """Runs all that is due by now; a deadline has passed when its instant is reached."""
        while (due := self.next_due()) is not None and due <= self.now:
            timer = heapq.heappop(self._heap)[2]
            action, timer.action = timer.action, None
            if action is not None:
                action()


class Rate:
    """"At most N a second" without a burst: N events within any second."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._times: deque[int] = deque()

    def count(self, now: int) -> int:
        while self._times and self._times[0] <= now - S:
            self._times.popleft()
        return len(self._times)

    def has_room(self, now: int) -> bool:
        return self.count(now) < self.limit

    def note(self, now: int) -> None:
        self._times.append(now)

    def take(self, now: int) -> bool:
        if not self.has_room(now):
            return False
        self.note(now)
        return True

    def is_over(self, now: int) -> bool:
        """Counts an event of a load, of which all count."""
        self.count(now)
        self._times.append(now)
        if len(self._times) > self.limit + 1:
            self._times.popleft()
        return len(self._times) > self.limit


def take_all(now: int, *rates: Rate) -> bool:
    """Counts an event in all rates, or in none if one has no room."""
    if not all(rate.has_room(now) for rate in rates):
        return False
    for rate in rates:
        rate.note(now)
    return True


class Bucket:
    """"N in a period with burst B": B tokens, full at first, that gain N in each period."""

    def __init__(self, rate: int, burst: int, now: int, period: int = S) -> None:
        self.rate, self._token, self._full = rate, period, burst * period
        self._level, self._at = self._full, now

    def level(self, now: int) -> int:
        """Returns how many can be taken."""
        self._level = min(self._full, self._level + (now - self._at) * self.rate)
        self._at = now
        return self._level // self._token

    def take(self, now: int) -> bool:
        if self.level(now) < 1:
            return False
        self._level -= self._token
        return True

    def wait(self, now: int) -> int:
        self.level(now)
        return max(0, -(-(self._token - self._level) // self.rate))
