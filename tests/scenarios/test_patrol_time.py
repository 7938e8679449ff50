"""A patrol that has more to tell than time.

Invariants:
- the gauges are published before the first notice is;
- no notice and no mark is begun after the time is over; the next patrol does what is left, nothing twice;
- a topic that hangs keeps no end from being marked, marks that are slow keep nobody from being told;
- a patrol that judged everything sends its heartbeat, however much it has left to tell.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.core.alerts import NoticeText
from cronce.core.errors import NotifyError
from cronce.core.run import Notice
from cronce.engine.metrics import JOBS_FAILED, JOBS_MISSED, PATROL_COMPLETED
from cronce.engine.patrol_report import PatrolReport
from tests.contract.makers import failed, pending, ref
from tests.scenarios.patrol_world import MINUTE, SECOND, World

JOBS = [f"job-{number}" for number in range(10)]


class SlowTopic:
    """Takes its time for each notice, and remembers what was published when it was asked."""

    def __init__(self, world: World, takes: timedelta) -> None:
        self.world, self.takes = world, takes
        self.published: list[dict[str, float]] = []

    def publish(self, notice: NoticeText) -> None:
        self.published.append(dict(self.world.telemetry.flushed))
        self.world.clock.advance(self.takes)
        self.world.notifier.publish(notice)


@pytest.fixture
def world() -> World:
    """Ten jobs have failed, and nobody was told."""
    world = World()
    world.store.place(*(failed(ref(0, job=job)) for job in JOBS))
    world.clock.advance(MINUTE)
    world.tick()
    return world


def patrol(world: World, topic: SlowTopic, has: timedelta) -> PatrolReport:
    return world.watchdog(topic).patrol(world.now + has)


def pending_ends(world: World) -> int:
    return sum(run.notice is Notice.PENDING for run in world.store.all_runs())


def test_the_gauges_are_published_before_anybody_is_told(world: World) -> None:
    topic = SlowTopic(world, SECOND)

    patrol(world, topic, 30 * SECOND)

    assert topic.published == 10 * [{JOBS_MISSED: 0, JOBS_FAILED: 10}]


def test_what_a_patrol_has_no_time_to_tell_is_told_by_the_next_ones(world: World) -> None:
    topic = SlowTopic(world, 7 * SECOND)

    first = patrol(world, topic, 30 * SECOND)

    assert (len(first.told), len(first.untold), first.in_time) == (5, 5, False)
    assert (first.complete, world.telemetry.metrics[PATROL_COMPLETED]) == (True, 1)
    assert [line.name for line in world.telemetry.warnings][-1] == "patrol.completed"

    world.clock.advance(MINUTE)
    world.tick()
    second = patrol(world, topic, 36 * SECOND)
    assert (len(second.told), second.untold, second.in_time) == (5, (), True)
    world.patrols(3)
    assert sorted(world.told()) == [("opened", job) for job in JOBS]


def test_a_topic_that_hangs_keeps_no_end_from_being_marked(world: World) -> None:
    class Hangs(SlowTopic):
        def publish(self, notice: NoticeText) -> None:
            self.world.clock.advance(self.takes)
            raise NotifyError("no answer")

    counts = []
    for _ in range(3):
        report = patrol(world, Hangs(world, 10 * SECOND), 30 * SECOND)
        assert (report.told, report.in_time, pending_ends(world)) == ((), False, 0)
        counts.append([world.alert(job).count for job in JOBS])
        world.clock.advance(MINUTE)
        world.tick()
    assert counts == 3 * [[1] * 10]

    world.patrol()
    assert sorted(world.told()) == [("opened", job) for job in JOBS]


def test_marking_takes_half_of_the_time_and_what_telling_leaves(world: World) -> None:
    def slow(call: str, when: str) -> None:
        if (call, when) == ("runs.mark_told", "before"):
            world.clock.advance(5 * SECOND)

    world.store.on_call(slow)

    first = patrol(world, SlowTopic(world, SECOND), 40 * SECOND)

    assert (len(first.told), first.untold, first.in_time) == (10, (), False)
    assert pending_ends(world) == 4, "four marks before the notices and two after them"
    world.clock.advance(MINUTE)
    world.tick()
    assert patrol(world, SlowTopic(world, SECOND), 40 * SECOND).in_time
    assert pending_ends(world) == 0
    assert sorted(world.told()) == [("opened", job) for job in JOBS]


def test_a_patrol_without_any_time_left_opens_its_alerts_and_tells_nobody(world: World) -> None:
    world.store.place(pending(ref(0, job="late"), expect_by=world.now - SECOND))
    world.clock.advance(2 * SECOND)  # the index is late
    topic = SlowTopic(world, SECOND)

    report = patrol(world, topic, timedelta(0))

    assert (len(report.opened), report.told, report.complete, report.in_time) == (11, (), True, False)
    assert world.telemetry.flushed == {JOBS_MISSED: 1, JOBS_FAILED: 10}
    assert topic.published == []
    world.patrol()
    assert len(world.told()) == 11


def test_a_patrol_that_could_not_judge_everything_sends_no_heartbeat_in_time_or_not(world: World) -> None:
    world.store.clock.offset = timedelta(hours=1)

    report = patrol(world, SlowTopic(world, SECOND), timedelta(0))

    assert not report.complete
    assert world.telemetry.flushed == {}
    assert PATROL_COMPLETED not in world.telemetry.metrics
