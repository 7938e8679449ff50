"""What may go wrong with a call, and when it does.

Every call of a port passes through here. Most of them only let others act first, or after; some of them meet
a fault. Which do is drawn from the name of the call alone (process and number), so a history is repeated, or
repeated without one of its faults, by its seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from cronce.core.errors import CronceError, DispatchError, NotifyError, StoreError
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

READS = frozenset(
    {"get", "get_many", "read", "due", "runs", "gaps", "first_queued", "load", "attempts", "input", "acts"}
)
CONFLICTING = frozenset({"lease.take", "registry.write", "plans.commit", "runs.apply", "jobs.change"})
"""Writes that say so when they meet another transaction."""
NO_ANSWER = timedelta(seconds=5)
"""After so long a client gives up."""
_FAILURES: dict[str, type[CronceError]] = {"invoker": DispatchError, "notifier": NotifyError}


class Fault(StrEnum):
    """What can happen to a call."""

    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    CALL_LOST = "call lost"
    REPLY_LOST = "reply lost"
    EXECUTED_LATE = "executed late"
    """The client has given up, and the store executes the call all the same, seconds later."""
    CONFLICT = "conflict"
    THROTTLED = "throttled"
    STOPPED = "stopped"
    """The process stands still (SIGSTOP); its clocks go on."""
    FROZEN = "frozen"
    """The machine stands still; its monotonic clock does too."""
    CUT_OFF = "cut off"
    """The process lives on without the store."""
    CLOCK_DRIFTS = "clock drifts"
    """By less than what is tolerated."""
    CLOCK_JUMPS = "clock jumps"
    """By minutes or an hour."""
    OPERATOR_ACTS = "operator acts"
    """An operator gives a command, right now."""


STANDSTILLS = (Fault.STOPPED, Fault.FROZEN)
WEIGHTS = {
    Fault.CRASH_BEFORE: 3,
    Fault.CRASH_AFTER: 4,
    Fault.CALL_LOST: 2,
    Fault.REPLY_LOST: 4,
    Fault.EXECUTED_LATE: 2,
    Fault.CONFLICT: 6,
    Fault.THROTTLED: 1,
    Fault.STOPPED: 3,
    Fault.FROZEN: 1,
    Fault.CUT_OFF: 1,
    Fault.CLOCK_DRIFTS: 1,
    Fault.CLOCK_JUMPS: 1,
    Fault.OPERATOR_ACTS: 2,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Weather:
    """How bad things are.

    Attributes:
        fault: probability that a call meets a fault.
        kinds: the faults there are.
        turns: probability that others act before a call, and after it.
    """

    fault: float
    kinds: tuple[Fault, ...]
    turns: float


class Faults:
    """Decides about each call.

    Args:
        world: where.

    Attributes:
        injected: how many of each kind.
        sites: names of the calls that met a fault, in order.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = world.chance
        self._spared = world.scenario.spared
        self.injected: Counter[str] = Counter()
        self.sites: list[str] = []

    def call(self, process: Process, name: str, proceed: Callable[[], Any]) -> Any:
        """Make a call, with what happens to it."""
        world = self._world
        weather = world.weather
        if process.cut_until > world.hub.now:
            self._no_answer(process, name, "cut off")
        if not weather.turns and not weather.fault:
            return world.execute(process, name, proceed)
        site = f"{process.name}.{process.calls}"
        draw = self._chance.bits(site)
        if (draw & 0xFFFF) / 65536.0 < weather.turns:
            process.wait(timedelta(milliseconds=1 + (draw >> 16 & 0x3F)))
        fault = None
        if (draw >> 40) / 16777216.0 < weather.fault and site not in self._spared:
            fault = self._drawn(site, name, weather)
        result = self._meet(fault, process, name, proceed) if fault else world.execute(process, name, proceed)
        if (draw >> 24 & 0xFFFF) / 65536.0 < weather.turns:
            process.wait(timedelta(milliseconds=1 + (draw >> 34 & 0x3F)))
        return result

    def happens(self, what: str, occasion: str, probability: float) -> bool:
        """A fault outside of calls: an event that is lost or comes twice."""
        site = f"{what}/{occasion}"
        hit = site not in self._spared and self._chance.happens(site, probability)
        if hit:
            self.injected[what] += 1
            self.sites.append(site)
        return hit

    def _drawn(self, site: str, name: str, weather: Weather) -> Fault | None:
        """The fault that a call meets, if its kind is possible there."""
        kinds = [kind for kind in weather.kinds if _possible(kind, name)]
        total = sum(WEIGHTS[kind] for kind in kinds)
        if not total:
            return None
        rest = self._chance.bits(f"{site}/kind") % total
        for kind in kinds:
            rest -= WEIGHTS[kind]
            if rest < 0:
                self.injected[kind] += 1
                self.sites.append(site)
                return kind
        return None

    def _meet(self, fault: Fault, process: Process, name: str, proceed: Callable[[], Any]) -> Any:
        if fault is not Fault.OPERATOR_ACTS:
            process.disturbed = True
        process.note(f"{name}: {fault}")
        before = self._before(fault, process, name)
        if before is not None:
            before()
        if fault is Fault.CONFLICT:
            self._world.store.conflict(1)
        if fault is Fault.EXECUTED_LATE:
            self._later(process, name, proceed)
            self._no_answer(process, name, "no answer in time")
        try:
            result = self._world.execute(process, name, proceed)
        finally:
            self._world.store.conflict(0)
        if fault in STANDSTILLS and before is None:
            self._stand_still(process, name, fault is Fault.FROZEN)
        if fault is Fault.CRASH_AFTER:
            process.die()
        if fault is Fault.REPLY_LOST:
            self._no_answer(process, name, "the reply was lost")
        return result

    def _before(self, fault: Fault, process: Process, name: str) -> Callable[[], object] | None:
        """What happens before the call is made."""
        span, occasion = self._chance.span, f"{process.name}.{process.calls}/span"
        match fault:
            case Fault.CRASH_BEFORE:
                return process.die
            case Fault.CALL_LOST:
                return partial(self._no_answer, process, name, "the call was lost")
            case Fault.THROTTLED:
                return partial(self._cut, process, name, span(occasion, 1, 20))
            case Fault.CUT_OFF:
                return partial(self._cut, process, name, span(occasion, 30, 600))
            case Fault.STOPPED | Fault.FROZEN if self._chance.happens(f"{occasion}/before", 0.5):
                return partial(self._stand_still, process, name, fault is Fault.FROZEN)
            case Fault.OPERATOR_ACTS:
                return partial(self._operator_acts, process, occasion)
            case Fault.CLOCK_DRIFTS | Fault.CLOCK_JUMPS:
                return partial(self._skew, process, fault, occasion)
            case _:
                return None

    def _operator_acts(self, process: Process, occasion: str) -> None:
        """An operator's command comes between this process's last call and this one, whole or in part."""
        self._world.operators.act(f"{process.name}.{process.calls}")
        process.wait(self._chance.span(f"{occasion}/meanwhile", 0.001, 0.3))

    def _no_answer(self, process: Process, name: str, why: str) -> None:
        process.wait(NO_ANSWER)
        failure = _FAILURES.get(name.partition(".")[0], StoreError)
        raise failure(f"{name}: {why}")

    def _cut(self, process: Process, name: str, span: timedelta) -> None:
        if name.startswith("notifier"):
            span = timedelta(0)  # the topic, not the store
        process.cut_until = self._world.hub.now + span
        self._no_answer(process, name, f"cut off for {span}")

    def _stand_still(self, process: Process, name: str, machine: bool) -> None:
        hub = self._world.hub
        span = self._chance.span(f"{process.name}.{process.calls}/{name}/stands", 1, 400)
        process.frozen_until = hub.now + span
        if machine:  # so do the timers of Lambda on it
            process.deadline += span
            process.stood_still += span.total_seconds()
        process.wait(timedelta(milliseconds=1))

    def _skew(self, process: Process, fault: Fault, occasion: str) -> None:
        if fault is Fault.CLOCK_DRIFTS:
            process.skew = timedelta(milliseconds=self._chance.number(f"{occasion}/to", -2400, 2400))
        else:
            seconds = self._chance.one_of(f"{occasion}/to", (-3600, -90, -20, 20, 90, 3600))
            process.skew = timedelta(seconds=seconds)

    def _later(self, process: Process, name: str, proceed: Callable[[], Any]) -> None:
        world = self._world
        delay = self._chance.span(f"{process.name}.{process.calls}/late", 0.1, 8)

        def execute() -> None:
            process.note(f"{name} is executed late")
            with suppress(StoreError):  # nobody hears whether the store was down by then, or refused it
                world.execute(process, name, proceed)

        world.hub.at(world.hub.now + delay, execute)


def _possible(kind: Fault, name: str) -> bool:
    """Whether a fault is one of that call."""
    prefix, _, method = name.partition(".")
    if kind is Fault.CONFLICT:
        return name in CONFLICTING
    if kind is Fault.EXECUTED_LATE:
        return method not in READS and prefix not in {"invoker", "notifier"}
    return True
