"""One invocation of the scheduler: discovers the jobs and ticks, in the time that the invocation has."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from cronce.core.claim import Invocation
from cronce.core.ports import Clock, Telemetry
from cronce.core.values import dataclass
from cronce.engine.registry import Catalog
from cronce.engine.scheduler import Scheduler, TickReport
from cronce.engine.time_limit import TimeLimitExceeded, time_limit

TICK_MARGIN = timedelta(seconds=3)
"""So long before its deadline a tick is ended, to say so and to publish what it counted."""
LEAST_TICK = 0.1
"""Seconds that a tick has in any case; no time at all would mean no limit at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticker:
    """Discovers the jobs and ticks, in the time that the invocation has.

    Attributes:
        discover: finds the jobs of the deployment.
        scheduler_for: makes the scheduler of a catalog.
        telemetry: says when a tick did not end in time.
        clock: of the deadline.
        give_up: drops what the process has made: a call may have been interrupted anywhere.
    """

    discover: Callable[[], Catalog]
    scheduler_for: Callable[[Catalog], Scheduler]
    telemetry: Telemetry
    clock: Clock
    give_up: Callable[[], None]

    def tick(self, invocation: Invocation) -> TickReport | None:
        """One tick; None if it was ended because the invocation was nearly over.

        Raises:
            StoreError: the store could not be reached.
        """
        left = (invocation.deadline - TICK_MARGIN - self.clock.now()).total_seconds()
        try:
            with time_limit(max(left, LEAST_TICK), "the tick"):
                return self.scheduler_for(self.discover()).tick(invocation.owner)
        except TimeLimitExceeded as error:
            self.give_up()
            self.telemetry.warn("tick.out_of_time", problem=str(error))
            return None
