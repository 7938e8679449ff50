"""Virtual time: what happens next, and the coroutines that wait for their turn.

One thread, one heap of (instant, number, action). A coroutine that waits gives its turn to the hub; nothing
else gives turns, so whatever happens between two waits happens at one instant.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from heapq import heappop, heappush

from greenlet import getcurrent, greenlet

Action = Callable[[], object]


class Hub:
    """The order of events.

    Args:
        start: the first instant.

    Attributes:
        now: the true time.
        stopped: nothing more happens.
    """

    def __init__(self, start: datetime) -> None:
        self.now = start
        self.start = start
        self.stopped = False
        self.events = 0
        self._heap: list[tuple[datetime, int, Action]] = []
        self._number = 0
        self._home = getcurrent()
        self._until = start

    def at(self, instant: datetime, action: Action) -> None:
        """Do something then, or at once if that has passed."""
        self._number += 1
        heappush(self._heap, (max(instant, self.now), self._number, action))

    def run_until(self, end: datetime) -> None:
        """Let everything happen up to an instant, which is the present then."""
        self._until = end
        while self._heap and self._heap[0][0] <= end and not self.stopped:
            self.now, _, action = heappop(self._heap)
            self.events += 1
            action()
        if not self.stopped:
            self.now = max(self.now, end)

    def pass_until(self, instant: datetime) -> bool:
        """Let time pass up to an instant if nothing happens before or at it; else do nothing.

        It is what `at` and `yield_turn` come to in that case, without giving the turn to the hub and back.
        """
        instant = max(instant, self.now)
        if self.stopped or instant > self._until or (self._heap and self._heap[0][0] <= instant):
            return False
        self.now = instant
        self.events += 1
        self._number += 1
        return True

    @property
    def next_at(self) -> datetime | None:
        """When the next thing happens."""
        return self._heap[0][0] if self._heap else None

    def yield_turn(self) -> None:
        """Let others act until somebody resumes this coroutine."""
        self._home.switch()

    def coroutine(self, body: Action) -> greenlet:
        """A coroutine that begins when it is switched to."""
        return greenlet(body, parent=self._home)
