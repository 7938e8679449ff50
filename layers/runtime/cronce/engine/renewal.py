"""Renews a claim beside the job's function, so that a job may compute for hours without calling its run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from cronce.core.claim import RENEW_EVERY
from cronce.core.errors import StoreError
from cronce.core.ports import Telemetry
from cronce.core.values import dataclass


class Renewal(Protocol):
    """Calls a claim's renewal from time to time."""

    def renewing(self, renew: Callable[[], bool]) -> AbstractContextManager[None]:
        """Within the block, call `renew` every `RENEW_EVERY` until it says no. After it, never again."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RenewalThread:
    """Renews in a thread of its own, which has ended when the block is left.

    A thread that outlived its handler would be frozen with the process, and wake up within a later
    invocation.

    Attributes:
        telemetry: a renewal that failed is one line.
        every: seconds between two renewals.
    """

    telemetry: Telemetry
    every: float = RENEW_EVERY.total_seconds()

    @contextmanager
    def renewing(self, renew: Callable[[], bool]) -> Iterator[None]:
        """Within the block, renew every so many seconds."""
        done = threading.Event()
        thread = threading.Thread(
            target=self._renew_until, args=(done, renew), name="claim-renewal", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _renew_until(self, done: threading.Event, renew: Callable[[], bool]) -> None:
        while not done.wait(self.every):
            try:
                if not renew():
                    return
            except StoreError as error:
                # The claim stands and is trusted as before. The next renewal may succeed in time.
                self.telemetry.warn("claim.renewal_failed", problem=str(error))
