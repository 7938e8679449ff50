"""A patrol that dies at any place, is refused by the store at any place, or meets another at any place.

Every call of a patrol to the store and to the notifier is a place, once before and once after the call. They
are not chosen: a first patrol without a fault writes down which there are.

Invariants:
- whatever a patrol was doing when it died, the next one tells it;
- a notice comes at most twice, and then under one id;
- every end that must be told is told in the end, and no longer stands in the index;
- two patrols at once never leave an alert half told, nor two alerts for one trouble.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from cronce.core.alerts import NoticeText
from cronce.core.errors import NotifyError, StoreError
from cronce.core.run import DueKind, Notice
from cronce.engine.acknowledgement import acknowledge
from tests.contract.makers import JOB, NOW, failed, gap, pending, ref
from tests.scenarios.patrol_world import MINUTE, SECOND, World, job_state

Place = tuple[int, str, str]
"""Number of the call, its name, `before` or `after`."""
Fault = Callable[[Place], None]

TOLD = {
    ("reminder", "stands"),
    ("opened", "fails"),
    ("opened", "gaps"),
    ("opened", "hangs"),
    ("opened", "unplanned"),
    ("opened", JOB),
    ("closed", JOB),
}


class Killed(BaseException):
    """The process is gone: nothing catches it."""


class Places:
    """Calls `fault` at every place of a patrol: the store's calls and the notifier's."""

    def __init__(self, world: World, fault: Fault) -> None:
        self.world, self.fault = world, fault
        self.places: list[Place] = []
        self._calls = 0

    def hook(self, name: str, when: str) -> None:
        if name.startswith("test."):
            return
        self._calls += when == "before"
        self.places.append((self._calls, name, when))
        self.fault(self.places[-1])

    def publish(self, notice: NoticeText) -> None:
        self.hook("notifier.publish", "before")
        self.world.notifier.publish(notice)
        self.hook("notifier.publish", "after")

    def patrol(self) -> None:
        self.world.store.on_call(self.hook)
        try:
            self.world.watchdog(self).patrol()
        finally:
            self.world.store.on_call(None)


def troubled() -> World:
    """One of each: a failure, a gap, a hanging run, an unplanned job, an alert to close, one to remind of."""
    world = World()
    world.store.place(failed(ref(0, job="stands")))
    world.patrols(60)
    world.notifier.notices.clear()
    world.store.place(failed(ref(0)))
    world.patrol()
    world.succeed(pending(ref(1)))
    world.store.place(
        failed(ref(0, job="fails")),
        gap(0, job="gaps"),
        pending(ref(0, job="hangs"), expect_by=NOW + SECOND),
        job_state("unplanned", expect_by=NOW + SECOND, grace=timedelta(seconds=60)),
    )
    world.clock.advance(MINUTE)
    world.tick()
    return world


def all_places() -> list[Place]:
    world = troubled()
    found = Places(world, lambda place: None)
    found.patrol()
    assert set(world.told()) == TOLD, "without a fault one patrol tells everything"
    return found.places


PLACES = all_places()


def outcome(world: World) -> None:
    """What must hold once the patrols after the fault are done."""
    ids = Counter(notice.id for notice in world.notifier.notices)
    assert set(world.told()) == TOLD
    assert len(ids) == len(TOLD), "one id for each notice"
    assert max(ids.values()) <= 2
    assert all(run.notice is not Notice.PENDING for run in world.store.all_runs())
    assert all(found.notice is Notice.TOLD for found in world.store.all_gaps())
    world.clock.advance(2 * SECOND)
    assert world.store.index.due(DueKind.NOTICE, None, 100) == []


def named(place: Place) -> str:
    number, name, when = place
    return f"{number}-{when}-{name}"


def test_there_are_places_of_every_kind() -> None:
    assert {name for _, name, _ in PLACES} >= {
        "lease.read",
        "index.due",
        "jobs.get_many",
        "runs.get_many",
        "runs.gaps",
        "alerts.get",
        "alerts.put",
        "runs.mark_told",
        "notifier.publish",
    }


@pytest.mark.parametrize("place", PLACES, ids=named)
def test_i49_a_patrol_that_dies_at_any_place_is_made_good_by_the_next(place: Place) -> None:
    world = troubled()

    def die(here: Place) -> None:
        if here == place:
            raise Killed

    with pytest.raises(Killed):
        Places(world, die).patrol()
    world.patrol()

    outcome(world)


@pytest.mark.parametrize("place", PLACES, ids=named)
def test_a_call_that_fails_at_any_place_keeps_nothing_from_being_told(place: Place) -> None:
    world = troubled()

    def refuse(here: Place) -> None:
        if here == place:
            raise NotifyError("timed out") if here[1] == "notifier.publish" else StoreError("timed out")

    Places(world, refuse).patrol()
    world.patrol()

    outcome(world)


@pytest.mark.parametrize("place", PLACES, ids=named)
def test_i49_two_patrols_at_once_tell_everything_at_most_twice_under_one_id(place: Place) -> None:
    world = troubled()
    others: list[World] = []

    def meet(here: Place) -> None:
        if here == place and not others:
            others.append(world)
            world.watchdog().patrol()

    Places(world, meet).patrol()
    world.patrol()

    assert others, "they did meet"
    outcome(world)


def test_i49_a_publisher_that_dies_between_publishing_and_marking_is_the_only_way_to_be_told_twice() -> None:
    world = World()
    world.store.place(failed(ref(0)))
    world.clock.advance(MINUTE)
    world.tick()

    def die(here: Place) -> None:
        if here[1:] == ("notifier.publish", "after"):
            raise Killed

    with pytest.raises(Killed):
        Places(world, die).patrol()
    world.patrols(3)

    first, second = world.notifier.notices
    assert first == second, "the very same notice"


def test_i49_a_patrol_leaves_a_notice_alone_that_another_is_publishing() -> None:
    world = World()
    world.store.place(failed(ref(0)))
    world.clock.advance(MINUTE)
    world.tick()
    seen: list[tuple[str, ...]] = []

    def look(here: Place) -> None:
        if here[1:] == ("notifier.publish", "before"):
            seen.append(world.watchdog().patrol().told)

    Places(world, look).patrol()

    assert seen == [()]
    assert world.told() == [("opened", JOB)]


def test_an_end_that_comes_while_the_opening_is_being_published_is_told_as_well() -> None:
    world = World()
    world.store.place(failed(ref(0)))
    world.clock.advance(MINUTE)
    world.tick()

    def meanwhile(here: Place) -> None:
        if here[1:] == ("notifier.publish", "before"):
            world.store.on_call(None)
            assert acknowledge(world.store.alerts, JOB, world.now)

    Places(world, meanwhile).patrol()
    world.patrols(2)

    assert world.told() == [("opened", JOB), ("closed", JOB)]
    assert world.notifier.notices[-1].subject == "Acknowledged: daily-menu"
