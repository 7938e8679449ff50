"""Makes a failing history smaller: fewer jobs, fewer incidents, fewer faults, less time.

Something is taken out, the rest is played again, and stays out if the same invariant is violated. Since each
draw is named (see `chance`), the rest of the history is hardly changed by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from tests.simulation.scenario import Scenario
from tests.simulation.world import Violation, World

TRIES = 150
"""Histories that are played to shrink one."""
AFTER = timedelta(minutes=5)

T = TypeVar("T")
Play = Callable[[Scenario], World]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shrunk:
    """A failing history and what is left of it.

    Attributes:
        scenario: the smallest one that was found.
        violation: what it violates.
        sites: the calls and events that meet a fault in it.
        tries: histories that were played.
    """

    scenario: Scenario
    violation: Violation
    sites: tuple[str, ...]
    tries: int


def played(scenario: Scenario) -> World:
    """The world after its history."""
    world = World(scenario)
    world.play()
    return world


def shrunk(scenario: Scenario, play: Play = played, tries: int = TRIES) -> Shrunk | None:
    """The smallest history of those tried; None if the given one violates nothing."""
    search = _Search(scenario, play, tries)
    if search.violation is None:
        return None
    search.take_out(scenario.jobs, lambda left: replace(search.scenario, jobs=tuple(left)), at_least=1)
    search.take_out(scenario.incidents, lambda left: replace(search.scenario, incidents=tuple(left)))
    search.spare()
    search.take_out(search.scenario.incidents, lambda left: replace(search.scenario, incidents=tuple(left)))
    return Shrunk(
        scenario=search.scenario, violation=search.violation, sites=tuple(search.sites), tries=search.played
    )


class _Search:
    """The smallest so far."""

    def __init__(self, scenario: Scenario, play: Play, tries: int) -> None:
        self._play = play
        self._tries = tries
        self.played = 0
        self.scenario = scenario
        self.violation: Violation | None = None
        self.sites: Sequence[str] = ()
        if self._try(scenario):
            self._cut()

    def _cut(self) -> None:
        """End right after the violation, if it came before the history's end."""
        found = self.violation
        if found is not None and found.at < self.scenario.trouble_ends:
            self._try(replace(self.scenario, end=found.at + AFTER))

    def take_out(self, parts: Sequence[T], without: Callable[[list[T]], Scenario], at_least: int = 0) -> None:
        """Halves, quarters, ... single ones, as long as something can be left out."""
        left = list(parts)
        size = max(len(left) // 2, 1)
        while left and self.played < self._tries:
            for chunk in _chunks(left, size):
                rest = [part for part in left if part not in chunk]
                if len(rest) >= at_least and self._try(without(rest)):
                    left = rest
            if size == 1:
                return
            size = max(size // 2, 1)

    def spare(self) -> None:
        """Leave out faults."""
        spared = self.scenario.spared
        sites = list(self.sites)

        def without(left: list[str]) -> Scenario:
            return replace(self.scenario, spared=spared | (set(sites) - set(left)))

        self.take_out(sites, without)

    def _try(self, scenario: Scenario) -> bool:
        """Play it; it is the smallest so far if it violates the same invariant."""
        if self.played >= self._tries:
            return False
        self.played += 1
        world = self._play(scenario)
        found = world.violation
        if found is None or (self.violation is not None and found.invariant != self.violation.invariant):
            return False
        self.scenario, self.violation = scenario, found
        self.sites = world.faults.sites
        return True


def _chunks(parts: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(parts), size):
        yield list(parts[start : start + size])
