"""A clock that stands still until a test moves it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

FIRST_INSTANT = datetime(2026, 1, 5, tzinfo=UTC)
"""Where a clock stands if nothing else is said: a Monday, far from every change of clocks."""


class ManualClock:
    """The engine's clock, moved by hand. Safe to use from several threads.

    Args:
        start: where it stands at first; aware.

    Example:
        >>> clock = ManualClock()
        >>> clock.advance(timedelta(minutes=1, seconds=30))
        >>> clock.now().isoformat(), clock.monotonic()
        ('2026-01-05T00:01:30+00:00', 90.0)
    """

    def __init__(self, start: datetime = FIRST_INSTANT) -> None:
        self._lock = threading.Lock()
        self._now = _instant(start)
        self._elapsed = timedelta(0)
        self.pauses: list[float] = []
        """Seconds of every `pause` so far."""

    def now(self) -> datetime:
        """The present, aware UTC, cut to whole milliseconds."""
        with self._lock:
            return self._now.replace(microsecond=self._now.microsecond // 1000 * 1000)

    def monotonic(self) -> float:
        """Seconds that have passed since the clock was made; `jump` does not move it."""
        with self._lock:
            return self._elapsed.total_seconds()

    def pause(self, seconds: float) -> None:
        """Let that much time pass at once, and remember it in `pauses`."""
        self.pauses.append(seconds)
        self.advance(timedelta(seconds=seconds))

    def advance(self, delta: timedelta) -> None:
        """Let time pass, on both clocks.

        Raises:
            ValueError: the time is negative; `jump` sets the wall clock back.
        """
        if delta < timedelta(0):
            raise ValueError(f"time does not pass backwards: {delta}; use jump() to set the wall clock back")
        with self._lock:
            self._now += delta
            self._elapsed += delta

    def set(self, instant: datetime) -> None:
        """Let time pass until an instant; an earlier one sets the wall clock back, nothing else."""
        with self._lock:
            delta = _instant(instant) - self._now
            self._now += delta
            self._elapsed += max(delta, timedelta(0))

    def jump(self, delta: timedelta) -> None:
        """Move the wall clock alone: it was corrected, or the whole machine stood still."""
        with self._lock:
            self._now += delta


def _instant(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError(f"a clock takes an aware instant, not {value!r}")
    return value.astimezone(UTC)
