"""Pieces of life with an operator in it, who gives a command again when there was no answer."""

from __future__ import annotations

from cronce.engine.operations import Operations
from tests.crashes.lives import Scenario
from tests.crashes.planning_scenarios import HALF_PAST_FIVE, declare, deployed, tick_and_deliver
from tests.crashes.run_scenarios import only_step
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


SCENARIOS = (Scenario(name="pause", starts=HALF_PAST_FIVE, setup=hourly, life=an_hour_of_pause),)
