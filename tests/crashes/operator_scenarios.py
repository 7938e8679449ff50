"""Pieces of life with an operator in it, who gives a command again when there was no answer."""

from __future__ import annotations

import json

from cronce.core.errors import PermanentError
from cronce.core.records import RunRef
from cronce.core.schedule import Cron
from cronce.engine.operations import Operations
from cronce.engine.run_handle import Run
from cronce.testing import run_key
from tests.crashes.lives import Scenario
from tests.crashes.planning_scenarios import HALF_PAST_FIVE, declare, deployed, tick_and_deliver
from tests.crashes.run_scenarios import MANY, catching_up, only_step
from tests.crashes.stack import HOUR, Stack, at


def hourly(stack: Stack) -> None:
    """A job that is due at six, and catches up."""
    deployed(stack, declare("paused", only_step(stack), catch_up="all", grace=12 * HOUR))


def an_hour_of_pause(stack: Stack) -> None:
    """A job is paused over seven o'clock, and goes on."""
    tick_and_deliver(stack)
    stack.command(pause)
    stack.skip_to(at(7, 10))
    tick_and_deliver(stack)
    stack.command(resume)
    stack.minute()


def pause(operations: Operations) -> None:
    """As the command does it."""
    operations.pause("paused", by="ann", why="stock-taking")


def resume(operations: Operations) -> None:
    """As the command does it."""
    operations.resume("paused", by="bob", why="counted")


def failing(stack: Stack) -> None:
    """A job whose first attempt has failed for good between two steps."""

    def function(run: Run) -> None:
        run.step("first", stack.effect)
        if run.attempt == 1:
            raise PermanentError("no soup")
        run.step("second", stack.effect)

    deployed(stack, declare("brought-back", function, retry=MANY))
    stack.watching = False
    tick_and_deliver(stack)


def brought_back(stack: Stack) -> None:
    """A person lets it go on."""
    (run,) = stack.runs()
    stack.command(lambda operations: operations.retry(run.ref, by="ann", why="there is soup"))
    stack.deliver()


def three_at_once(stack: Stack) -> None:
    """Three missed times and one slot, and no executor before the command is through."""
    catching_up(stack)
    stack.executing = False
    stack.tick()


def first_is_cancelled(stack: Stack) -> None:
    """The first is ended before it starts, and two wait behind it."""
    stack.command(lambda operations: operations.cancel(stack.runs()[0].ref, by="ann", why="old"))
    stack.executing = True
    stack.deliver()


def asked_for(stack: Stack) -> None:
    """A job that works with what it was given."""

    def function(run: Run) -> None:
        run.step(f"item {len(run.input)}", stack.effect)

    deployed(stack, declare("manual", function, schedule=Cron("0 5 * * *"), retry=MANY))


def triggered(stack: Stack) -> None:
    """A person asks for a run, and looks whether it is there before they ask again."""

    def ask(operations: Operations) -> None:
        if not stack.runs():
            operations.trigger("manual", json.dumps(100 * ["order"]), by="ann", why="month's end")

    stack.command(ask, meanwhile=stack.tick)
    stack.deliver()


def with_a_past(stack: Stack) -> None:
    """A job whose hours of the night have no record, and an executor that stands until they are asked for."""
    deployed(stack, declare("filled", only_step(stack), schedule=Cron("0 0-4 * * *"), retry=MANY))
    stack.executing = False


def backfilled(stack: Stack) -> None:
    """A person asks for three of them."""

    def fill(operations: Operations) -> None:
        plan = operations.preview("filled", at(2), at(4))
        for _ in operations.backfill(plan, by="ann", why="lost in the move"):
            pass

    stack.command(fill)
    stack.executing = True
    stack.deliver()


def with_a_loss(stack: Stack) -> None:
    """A job whose record of five o'clock a hand has deleted before it ran, and that of six not."""
    stack.clock.set(at(4, 30, 4))
    lost = declare("lost", only_step(stack), catch_up="all", grace=12 * HOUR, retry=MANY)
    stack.declare(lost)
    stack.tick()
    stack.skip_to(at(5))
    stack.tick()
    stack.store.remove(run_key(RunRef("lost", at(5))))
    stack.store.drain_stream()
    stack.skip_to(at(6))
    tick_and_deliver(stack)


def set_back(stack: Stack) -> None:
    """A person sets it back, and a tick comes."""
    stack.command(lambda operations: operations.rewind("lost", at(4, 30), by="ann", why="restored"))
    stack.minute()


SCENARIOS = (
    Scenario(name="rewind", starts=HALF_PAST_FIVE, setup=with_a_loss, life=set_back),
    Scenario(name="backfill", starts=HALF_PAST_FIVE, setup=with_a_past, life=backfilled, bound=13),
    Scenario(name="trigger", starts=HALF_PAST_FIVE, setup=asked_for, life=triggered),
    Scenario(name="pause", starts=HALF_PAST_FIVE, setup=hourly, life=an_hour_of_pause),
    Scenario(name="brought-back", starts=HALF_PAST_FIVE, setup=failing, life=brought_back),
    Scenario(
        name="cancel-first", starts=HALF_PAST_FIVE, setup=three_at_once, life=first_is_cancelled, bound=13
    ),
)
