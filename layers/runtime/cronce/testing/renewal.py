"""Renews claims on a virtual clock: when a job works for a while, and not while real time passes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from cronce.core.claim import RENEW_EVERY
from cronce.testing.clock import ManualClock


class ClockRenewal:
    """`Renewal` for jobs that let virtual time pass.

    Args:
        clock: is moved when a job works.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._claims: list[Callable[[], bool]] = []
        self._since = timedelta(0)
        self._lock = threading.Lock()

    @contextmanager
    def renewing(self, renew: Callable[[], bool]) -> Iterator[None]:
        """Within the block, renew when the job works; of several executions the innermost is at work."""
        before, self._since = self._since, timedelta(0)
        self._claims.append(renew)
        try:
            yield
        finally:
            self._claims.pop()
            self._since = before

    def work(self, duration: timedelta) -> None:
        """A job works so long, and its claim is renewed as often as it would be."""
        while duration > timedelta(0):
            with self._lock:  # items of an `each` may work in several threads
                part = min(duration, RENEW_EVERY - self._since)
                self._clock.advance(part)
                self._since += part
                duration -= part
                if self._since >= RENEW_EVERY:
                    self._since = timedelta(0)
                    if self._claims:
                        self._claims[-1]()
