"""Virtual time: timers, and the two ways to count how often something happened.

Nothing here reads a clock. The time comes in with each input, in microseconds, so that the whole node can be
played with any time at all.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Callable, Optional

from limits import S


class Timer:
    """Something that is due at a time; `cancel` makes it never happen."""

    __slots__ = ("due", "action")

    def __init__(self, due: int, action: Callable[[], None]) -> None:
        self.due = due
        self.action: Optional[Callable[[], None]] = action

    def cancel(self) -> None:
        self.action = None


class Timers:
    """All timers of a node, in the order in which they are due."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._made = 0

    def at(self, due: int, action: Callable[[], None]) -> Timer:
        timer = Timer(due, action)
        self._made += 1
        heapq.heappush(self._heap, (due, self._made, timer))
        return timer

    def next_due(self) -> Optional[int]:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_next(self) -> None:
        timer = heapq.heappop(self._heap)[2]
        action, timer.action = timer.action, None
        if action is not None:
            action()


def cancel(timer: Optional[Timer]) -> None:
    """Cancel a timer that may not be there."""
    if timer is not None:
        timer.cancel()


class RateWindow:
    """Counts what happened within the last second: "at most so many a second"."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._times: deque[int] = deque()

    def count(self, now: int) -> int:
        while self._times and self._times[0] <= now - S:
            self._times.popleft()
        return len(self._times)

    def note(self, now: int) -> None:
        self._times.append(now)

    def take(self, now: int) -> bool:
        if self.count(now) >= self.limit:
            return False
        self.note(now)
        return True


class Bucket:
    """A rate with a burst: "so many a second (burst so many)"."""

    def __init__(self, rate: int, burst: int, now: int) -> None:
        self.rate, self.full = rate, burst * S
        self._level, self._at = self.full, now

    def _fill(self, now: int) -> None:
        self._level = min(self.full, self._level + (now - self._at) * self.rate)
        self._at = now

    def take(self, now: int) -> bool:
        self._fill(now)
        if self._level < S:
            return False
        self._level -= S
        return True

    def level(self, now: int) -> int:
        """How many can be taken."""
        self._fill(now)
        return self._level // S

    def reserve(self, now: int) -> int:
        """Take the next one, also one of the future: how long until it is there."""
        self._fill(now)
        self._level -= S
        return max(0, -(self._level // self.rate))

    def wait(self, now: int) -> int:
        """How long until one can be taken."""
        self._fill(now)
        return max(0, -(-(S - self._level) // self.rate))
