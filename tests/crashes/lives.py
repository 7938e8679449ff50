"""Lives: a scenario lived once, with faults at some of its places, until everything is well again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from cronce.testing import ManualClock
from tests.crashes.checker import Story, Watch, problems_of, unsettled
from tests.crashes.places import Fault
from tests.crashes.stack import Stack

Act = Callable[[Stack], object]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A small piece of a stack's life.

    Attributes:
        name: in test ids.
        starts: when.
        setup: what is there before.
        life: what happens; each call of it is a place.
        bound: minutes within which everything is well again after a life with a fault.
        recover: what happens in each of those minutes.
        left: what is left to do. When there is nothing, and nothing has changed for a minute, all is well.
    """

    name: str
    starts: datetime
    setup: Act
    life: Act
    bound: int = 5
    recover: Act = Stack.minute
    left: Callable[[Stack], list[str]] = unsettled


@dataclass(frozen=True, kw_only=True)
class Life:
    """A life that is over.

    Attributes:
        places: names of all calls of it, in order.
        all_calls: those of the recovery included.
        reached: the faults that came to pass.
        minutes: that the recovery took.
        attempts: of each run.
        story: what came of it.
        problems: what was wrong.
    """

    places: Sequence[str]
    all_calls: Sequence[str]
    reached: Sequence[tuple[int, str, Fault]]
    minutes: int
    attempts: Mapping[str, int]
    story: Story
    problems: Sequence[str]


def live(scenario: Scenario, faults: Mapping[int, Fault] | None = None, begin: Act = lambda _: None) -> Life:
    """Live a scenario.

    Args:
        scenario: what happens.
        faults: what goes wrong, by the number of the call; numbers past the scenario's own places are calls
            of the recovery.
        begin: called when everything is set up.
    """
    stack = Stack(ManualClock(scenario.starts))
    watch = Watch(stack)
    with stack.places.suspended():
        scenario.setup(stack)
    watch.begin()
    stack.places.faults, stack.places.after = faults or {}, watch.look
    begin(stack)
    scenario.life(stack)
    count = len(stack.places.names)
    minutes, story, before = 0, Story.of(stack), None
    while (scenario.left(stack) or story != before) and minutes < scenario.bound:
        scenario.recover(stack)
        minutes, story, before = minutes + 1, Story.of(stack), story
    problems = problems_of(stack, watch, len(faults or {}))
    problems += [f"after {minutes} minutes: {what}" for what in scenario.left(stack)]
    return Life(
        places=stack.places.names[:count],
        all_calls=stack.places.names,
        reached=stack.places.reached,
        minutes=minutes,
        attempts={run.ref.id: run.attempt for run in stack.runs()},
        story=story,
        problems=problems,
    )


@cache
def undisturbed(scenario: Scenario) -> Life:
    """The scenario's life when nothing goes wrong."""
    return live(scenario)


def judge(scenario: Scenario, faults: Mapping[int, Fault]) -> Life:
    """Live a scenario with faults, and compare it with its undisturbed life.

    Each fault after the first may take as long as the first to be made good.

    Raises:
        AssertionError: it has not come out right.
    """
    expected = undisturbed(scenario)
    life = live(replace(scenario, bound=scenario.bound * len(faults)), faults)
    assert list(life.problems) == []
    assert life.story == expected.story
    return life
