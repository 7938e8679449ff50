"""Patrols that meet: another one, or an operator, is at work on the same alert while a notice is published.

Every place at which a patrol dies, is refused or meets another one is in `tests/crashes`.

Invariants:
- a notice comes at most twice, then under one id, and only if its publisher died before it could say so;
- what happens to an alert while its notice is published is told as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cronce.core.alerts import NoticeText
from tests.contract.makers import JOB, failed, ref
from tests.scenarios.patrol_world import MINUTE, World


class Killed(BaseException):
    """The process is gone: nothing catches it."""


@dataclass
class Meeting:
    """A notifier at which something happens while a notice is published."""

    world: World
    before: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None

    def publish(self, notice: NoticeText) -> None:
        self.before()
        self.world.notifier.publish(notice)
        self.after()


@pytest.fixture
def world() -> World:
    """A run has failed, and nobody has been told yet."""
    world = World()
    world.store.place(failed(ref(0)))
    world.clock.advance(MINUTE)
    world.tick()
    return world


def test_i49_a_publisher_that_dies_between_publishing_and_marking_is_the_only_way_to_be_told_twice(
    world: World,
) -> None:
    def die() -> None:
        raise Killed

    with pytest.raises(Killed):
        world.watchdog(Meeting(world, after=die)).patrol()
    world.patrols(3)

    first, second = world.notifier.notices
    assert first == second, "the very same notice"


def test_i49_a_patrol_leaves_a_notice_alone_that_another_is_publishing(world: World) -> None:
    seen: list[tuple[str, ...]] = []

    def look() -> None:
        seen.append(world.watchdog().patrol().told)

    world.watchdog(Meeting(world, before=look)).patrol()

    assert seen == [()]
    assert world.told() == [("opened", JOB)]


def test_an_end_that_comes_while_the_opening_is_being_published_is_told_as_well(world: World) -> None:
    def meanwhile() -> None:
        assert world.acknowledge()

    world.watchdog(Meeting(world, before=meanwhile)).patrol()
    world.patrols(2)

    assert world.told() == [("opened", JOB), ("closed", JOB)]
    assert world.notifier.notices[-1].subject == "Acknowledged: daily-menu in shop-prod"
