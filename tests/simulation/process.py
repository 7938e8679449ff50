"""A process of the virtual world: its clock, its coroutines, its calls, its death.

A process stands for one invocation of one Lambda function in an execution environment of its own. Whatever
it calls goes through `call`, where the world may let it wait, kill it, or take its answer away. A dead
process cannot do anything: each of its calls raises `Killed`, whatever its code does with that.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from cronce.core.errors import StoreError
from cronce.engine.time_limit import AGAIN, Reached, TimeLimitExceeded

if TYPE_CHECKING:
    from tests.simulation.beat import Beat
    from tests.simulation.operators import Command
    from tests.simulation.world import World

ZERO = timedelta(0)


class Killed(BaseException):
    """The process is gone."""


@dataclass(eq=False, slots=True)
class Limit:
    """A time limit that stands around code of the main coroutine."""

    at: datetime
    what: str
    seconds: float
    reached: Reached


class Process:
    """One invocation.

    Args:
        world: where it lives.
        name: unique in the history.
        lasts: after so long Lambda ends it.

    Attributes:
        skew: its wall clock less the true time.
        seen_skew: the store's clock less its own, as its last answer showed it.
        stood_still: so long its monotonic clock stood still.
        cut_until: until then it cannot reach the store.
        frozen_until: until then nothing in it moves.
        owner: of its lease or claim.
        refusals: writes of runs in a row that were not made.
        command: what it was asked for, if an operator is at it.
        wrote: whether that command has changed anything.
    """

    def __init__(self, world: World, name: str, lasts: timedelta) -> None:
        self.world = world
        self.hub = world.hub
        self.name = name
        self.owner = name
        self.began = self.hub.now
        self.deadline = self.began + lasts
        self.skew = ZERO
        self.seen_skew = ZERO
        self.stood_still = 0.0
        self.cut_until = self.frozen_until = self.hub.now
        self.dead = False
        self.calls = 0
        self.refusals = 0
        self.command: Command | None = None
        self.wrote = False
        self.disturbed = False
        self.shields = 0
        self.limits: list[Limit] = []
        self.beat: Beat | None = None
        self.main: greenlet | None = None
        self.ends_told: Callable[[object], None] | None = None

    # --- life ---------------------------------------------------------------------------------------------

    def start(self, body: Callable[[], object]) -> None:
        """Begin now. `ended` of the world is told how it ended."""

        def main() -> None:
            result: object = None
            try:
                result = body()
            except Killed:
                pass
            except StoreError as error:
                self.note(f"ends: {error}")
            except (Exception, TimeLimitExceeded) as error:  # noqa: BLE001 - whatever it is, it is a finding
                frames = traceback.extract_tb(error.__traceback__)[-3:]
                where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
                text = f"{self.name}: {type(error).__name__}: {error} ({where})"
                self.world.violated("only the store's failure leaves a handler", text)
            finally:
                self.dead = True
            self.world.process_ended(self, result)

        self.main = self.hub.coroutine(main)
        self.run(self.main)

    def die(self) -> None:
        """Everything in it ends at once.

        Raises:
            Killed: always.
        """
        if not self.dead:
            self.dead = True
            others = (self.main, self.beat.coroutine if self.beat else None)
            for coroutine in others:
                if coroutine is not None and coroutine is not getcurrent():
                    self.hub.at(self.hub.now, partial(self._end, coroutine))
        raise Killed

    def bury(self) -> None:
        """The history is over: end its coroutines now."""
        self.dead = True
        self.ends_told = None
        for coroutine in (self.beat.coroutine if self.beat else None, self.main):
            if coroutine is not None and not coroutine.dead:
                self._end(coroutine)

    def _end(self, coroutine: greenlet) -> None:
        if not coroutine.dead:
            with suppress(Killed):  # one that has not begun has nobody to catch it
                coroutine.throw(Killed)

    def run(self, coroutine: greenlet) -> None:
        """Its turn, unless the process stands still."""
        if coroutine.dead:
            return
        if self.frozen_until > self.hub.now:
            self.hub.at(self.frozen_until, partial(self.run, coroutine))
        else:
            self.world.current = self
            coroutine.switch()
            self.world.current = None

    # --- waiting ------------------------------------------------------------------------------------------

    def wait(self, span: timedelta) -> None:
        """Let time pass; a time limit around the code, or the end of the invocation, may come first.

        Raises:
            Killed: the process died meanwhile.
            TimeLimitExceeded: a limit was reached.
        """
        until = self.hub.now + span
        limit = min(self.limits, key=lambda one: one.at) if self.limits and self._may_be_interrupted else None
        if limit is not None and limit.at <= until and limit.at < self.deadline:
            self._wait_until(limit.at)
            self._interrupt(limit)
        self._wait_until(min(until, self.deadline))
        if self.hub.now >= self.deadline:
            self.note("ended by Lambda")
            self.die()

    def _interrupt(self, limit: Limit) -> None:
        limit.at = self.hub.now + timedelta(seconds=AGAIN)
        limit.reached.exceeded = True
        self.note(f"interrupted: {limit.what}")
        raise TimeLimitExceeded(limit.what, limit.seconds)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """`cronce.engine.time_limit.shielded` in virtual time."""
        self.shields += self._is_main
        try:
            yield
        finally:
            self.shields -= self._is_main
            late = [limit for limit in self.limits if limit.at <= self.hub.now]
            if late and self._may_be_interrupted and not self.dead:
                self._interrupt(late[0])

    def park(self) -> None:
        """Wait until somebody of this process calls `resume`."""
        self.hub.yield_turn()
        self._go_on()

    def resume(self, coroutine: greenlet) -> None:
        """Let a parked coroutine of this process go on."""
        self.hub.at(self.hub.now, partial(self.run, coroutine))

    def _wait_until(self, until: datetime) -> None:
        if self.beat is not None and self.beat.coroutine is None and self.beat.next_at <= until:
            self.beat.begin()
        if self.frozen_until > until or not self.hub.pass_until(until):
            self.hub.at(until, partial(self.run, getcurrent()))
            self.hub.yield_turn()
        self._go_on()

    def _go_on(self) -> None:
        self.world.current = self
        if self.dead:
            raise Killed

    @property
    def _is_main(self) -> bool:
        return getcurrent() is self.main

    @property
    def _may_be_interrupted(self) -> bool:
        return self._is_main and not self.shields

    # --- the ports of the engine --------------------------------------------------------------------------

    def now(self) -> datetime:
        """Its wall clock."""
        return self.hub.now + self.skew

    def monotonic(self) -> float:
        """Seconds since the beginning of the world, less those in which its machine stood still."""
        return (self.hub.now - self.hub.start).total_seconds() - self.stood_still

    def pause(self, seconds: float) -> None:
        """The engine waits between two tries."""
        self.wait(timedelta(milliseconds=max(1, int(seconds * 1000))))

    def store_skew(self) -> timedelta:
        """The store's clock less its own."""
        return self.seen_skew

    def port(self, prefix: str, target: object) -> Any:
        """A port of the engine whose calls go through `call`."""
        return Port(self, prefix, target)

    def call(self, name: str, method: Callable[..., Any], *args: Any) -> Any:
        """One call of a port: a point at which anything may happen."""
        if self.dead:
            raise Killed
        self.calls += 1
        return self.world.faults.call(self, name, partial(method, *args))

    def says_changed(self, changed: bool) -> None:
        """The answer of its command, which must be true, also when a reply was lost on the way."""
        if changed is not self.wrote:
            text = f"{self.name} says {changed}, and wrote {self.wrote}"
            self.world.violated("an operator's answer is true", text)

    def note(self, text: str) -> None:
        """One line of the timeline."""
        self.world.timeline.note(self.name, text)


class Port:
    """A port of one process."""

    def __init__(self, process: Process, prefix: str, target: object) -> None:
        self._process = process
        self._prefix = prefix
        self._target = target

    def __getattr__(self, name: str) -> Any:
        call = partial(self._process.call, f"{self._prefix}.{name}", getattr(self._target, name))
        setattr(self, name, call)
        return call


@contextmanager
def time_limit(process: Process, seconds: float, what: str) -> Iterator[Reached]:
    """`cronce.engine.time_limit` in virtual time."""
    reached = Reached()
    limit = Limit(process.hub.now + timedelta(seconds=seconds), what, seconds, reached)
    process.limits.append(limit)
    try:
        yield reached
    finally:
        process.limits.remove(limit)
