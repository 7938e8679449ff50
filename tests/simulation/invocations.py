"""Lambda's queue of asynchronous invocations: late, twice, not at all, throttled, too old."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from cronce.core.records import RunRef
from tests.simulation.scenario import Happening

if TYPE_CHECKING:
    from tests.simulation.world import World

EVENT_AGE = timedelta(seconds=120)
"""As the template configures it: an event that is older is dropped."""
AGAIN = timedelta(seconds=9)
AT_ONCE = 10
"""Executors that run at once: a new account has no more."""


class Queue:
    """The executor's queue; it is the `Invoker` of all processes.

    Args:
        world: where.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._asked: Counter[str] = Counter()
        self.running = 0

    def invoke(self, ref: RunRef) -> None:
        """Accept one event."""
        world = self._world
        self._asked[ref.id] += 1
        request = f"{ref.id} request {self._asked[ref.id]}"
        soon = world.chance.span(f"{request}/soon", 0.02, 1.5)
        rate = 0.0 if world.is_calm else 0.01 + 3 * world.weather.fault
        if world.faults.happens("invocation dropped", request, rate):
            return
        first = world.hub.now
        world.hub.at(first + soon, partial(self._deliver, ref, f"exec {request}", first))
        if world.faults.happens("invocation doubled", request, rate):
            at_once = world.chance.happens(f"{request}/at once", 0.5)
            again = world.chance.span(f"{request}/again", 0.0, 0.05 if at_once else 60)
            world.hub.at(first + soon + again, partial(self._deliver, ref, f"exec {request} twice", first))

    def _deliver(self, ref: RunRef, name: str, accepted: datetime) -> None:
        world = self._world
        if self.running >= AT_ONCE or world.is_on(Happening.EXECUTOR_DOWN):
            if world.hub.now + AGAIN <= accepted + EVENT_AGE:
                world.hub.at(world.hub.now + AGAIN, partial(self._deliver, ref, name, accepted))
            return
        self.running += 1
        world.functions.executor(ref, name, self._free)

    def _free(self, _: object) -> None:
        self.running -= 1
