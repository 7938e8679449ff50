"""What the jobs of the virtual world do, and the outside world on which they do it.

A job's function does its pieces one after the other, and goes wrong now and then in every way a function can:
it raises, hangs, exits, swallows what is raised in it. The outside world keeps every effect with the key
under which it was asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from cronce.core.errors import PermanentError
from cronce.core.retry import RetryAfter
from cronce.engine.run_handle import Run
from tests.simulation.process import Killed
from tests.simulation.scenario import JobPlan, Part, Piece

if TYPE_CHECKING:
    from tests.simulation.world import World

HOURS = timedelta(hours=2)
CALM_WORK = timedelta(milliseconds=500)
"""Longest work of a step or item once trouble is over."""
STACK = "sim"


class Trouble(StrEnum):
    """How a function goes wrong."""

    RAISES = "raises"
    PERMANENT = "permanent"
    RETRY_AFTER = "retry after"
    HANGS = "hangs"
    EXITS = "exits"
    SWALLOWS = "swallows"
    """It goes wrong and calls its run again in an `except` of everything."""


class Outside:
    """Keeps effects.

    Args:
        world: that it is outside of.

    Attributes:
        effects: run and step (or item) -> keys of its effects.
        returned: run -> owner of the worker whose call of the function came to its end.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.effects: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self.returned: dict[str, str] = {}
        self._values: dict[tuple[str, str], object] = {}
        self.executions = 0

    def effect(self, run: Run, name: str, key: str) -> str:
        """A step function is at work: its effect comes first, then its value."""
        world = self._world
        process = world.process
        if process.dead:
            raise Killed
        self.executions += 1
        world.watch.executes(process, run, name)
        keys = self.effects[run.id, name]
        keys.add(key)
        if len(keys) > 1:
            world.violated("keyed effects once", f"{run.id}: {name} was done under {sorted(keys)}", run.job)
        return f"{name} by {process.name}"

    def once(self, run: Run, name: str) -> None:
        """A function that must never be repeated is called."""
        if not self._world.process.dead and (run.id, name) in self.effects:
            text = f"{run.id}: {name} by {self._world.process.name}"
            self._world.violated("what is done once is never repeated", text, run.job)

    def saw(self, run: Run, name: str, value: object) -> None:
        """A step has given its value to the job's function."""
        first = self._values.setdefault((run.id, name), value)
        if first != value:
            text = f"{run.id}: {name} gave {first!r} once and {value!r} later"
            self._world.violated("a finished step keeps its value", text, run.job)


def function_of(world: World, plan: JobPlan) -> Callable[[Run], None]:
    """The function of a job."""

    def function(run: Run) -> None:
        _Performance(world, plan, run).perform()

    return function


class _Performance:
    """One call of a job's function."""

    def __init__(self, world: World, plan: JobPlan, run: Run) -> None:
        self.world = world
        self.plan = plan
        self.run = run
        occasion = f"{run.id}/{run.attempt}"
        self.calm = world.is_calm
        faulty = not self.calm and world.faults.happens("function goes wrong", occasion, plan.trouble)
        self.trouble = world.chance.one_of(f"{occasion}/trouble", tuple(Trouble)) if faulty else None
        self.at = world.chance.number(f"{occasion}/where", 0, len(plan.pieces) - 1)

    def perform(self) -> None:
        process = self.world.process
        given = self.world.operators.inputs.get(self.run.id)
        if self.run.input != given:
            text = f"{self.run.id}: {self.run.input!r}, not {given!r}"
            self.world.violated("a run has the input that was given", text, self.plan.name)
        try:
            for number, piece in enumerate(self.plan.pieces):
                if self.trouble is not None and number == self.at:
                    self._go_wrong(self.trouble)
                self._do(piece)
        except BaseException:
            if self.trouble is Trouble.SWALLOWS and not process.dead:
                self._do(Piece(part=Part.STEP, name="in-vain", seconds=0))
            else:
                raise
        self.world.outside.returned[self.run.id] = process.owner

    def _do(self, piece: Piece) -> None:
        run, outside = self.run, self.world.outside
        if piece.part is Part.STEP:
            value = run.step(piece.name, self._step, piece)
            outside.saw(run, piece.name, value)
        elif piece.part is Part.EACH:
            keys = [f"k{number}" for number in range(piece.items)]
            call = partial(self._item, piece)
            values = run.each(piece.name, keys, call, key=str, checkpoint_every=piece.every)
            for key, value in zip(keys, values, strict=True):
                outside.saw(run, f"{piece.name}/{key}", value)
        elif piece.part is Part.ONCE:
            outside.saw(run, piece.name, run.once(piece.name, self._once, piece))
        elif piece.part is Part.SLEEP:
            run.sleep(piece.name, timedelta(seconds=30 + piece.seconds))
        else:
            self._work(piece.seconds)

    def _once(self, piece: Piece, idempotency_key: str) -> str:
        self.world.outside.once(self.run, piece.name)
        return self._step(piece, idempotency_key)

    def _step(self, piece: Piece, idempotency_key: str) -> str:
        value = self.world.outside.effect(self.run, piece.name, idempotency_key)
        self._work(piece.seconds)
        return value

    def _item(self, piece: Piece, key: str, idempotency_key: str) -> str:
        value = self.world.outside.effect(self.run, f"{piece.name}/{key}", idempotency_key)
        self._work(piece.seconds)
        return value

    def _work(self, seconds: float) -> None:
        span = timedelta(milliseconds=int(seconds * 1000))
        if self.calm:
            span = min(span, CALM_WORK)
        if span:
            self.world.process.wait(span)

    def _go_wrong(self, trouble: Trouble) -> None:
        if trouble is Trouble.HANGS:
            self.world.process.wait(HOURS)
        elif trouble is Trouble.EXITS:
            raise SystemExit(3)
        elif trouble is Trouble.PERMANENT:
            raise PermanentError("never")
        elif trouble is Trouble.RETRY_AFTER:
            raise RetryAfter(timedelta(seconds=40))
        else:
            raise ValueError(trouble)
