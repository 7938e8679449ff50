"""One bad job, module or record delays nobody else.

Invariants:
- a job that cannot be read, evaluated or written is named in the log and counted, and everybody else is
  planned;
- what the store refuses for one job is tried alone, a bounded number of times;
- the heartbeat goes on: the scheduler is not what is broken.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import pytest

from cronce.core.answers import CommitOutcome
from cronce.core.job import Job
from cronce.core.jobstate import JobWindow
from cronce.core.lease import Grant
from cronce.core.ports import PlanStore
from cronce.core.schedule import Cron
from cronce.engine.plan_writer import SHARED_ACTIONS, TRIES, packed
from cronce.engine.scheduler import TickEnd
from cronce.engine.time_limit import TimeLimitExceeded, time_limit
from cronce.testing import job_key
from tests.scenarios.tick_world import MINUTE, MORNING, SECOND, World, declare

SIX = MORNING.replace(hour=6)
AT_SIX = Cron("0 6 * * *")
GOOD = [declare(f"good-{n:02}", AT_SIX) for n in range(40)]


def raises(day: date) -> bool:
    raise ValueError(f"no calendar for {day}")


def exits(day: date) -> bool:
    sys.exit(3)


def hangs(day: date) -> bool:
    while True:
        pass


INVALID = CommitOutcome(problem="ValidationException: the item is not valid")


@dataclass
class PickyStore:
    """A plan store that takes no window of some jobs, as if their records were invalid."""

    plans: PlanStore
    bad: frozenset[str]
    answer: CommitOutcome = INVALID
    sizes: list[int] = field(default_factory=list)

    def commit(self, grant: Grant, windows: Sequence[JobWindow]) -> CommitOutcome:
        self.sizes.append(len(windows))
        if self.bad & {window.after.name for window in windows}:
            return self.answer
        return self.plans.commit(grant, windows)


def planned_once(*jobs: Job) -> World:
    """A stack in which everything is planned up to five."""
    world = World()
    world.deploy(*jobs)
    world.tick()
    return world


def assert_only_bad_is_left_out(world: World, problem: str) -> None:
    report = world.tick_at(SIX)

    assert report.end is TickEnd.COMPLETED
    assert report.unplanned == ("bad",)
    assert all(world.ran(job.name) == ["05T06:00"] for job in GOOD)
    assert world.ran("bad") == []
    assert (world.held, world.heartbeat) == (1, 1)
    lines = world.telemetry.named("job.failed_to_plan")
    assert {line.fields["job"] for line in lines} == {"bad"}
    assert problem in str(lines[0].fields["problem"])


# --- evaluation -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "calendar, problem",
    [
        (raises, "ValueError: no calendar for 2026-01-05"),
        (exits, "SystemExit: 3"),
        (hangs, "planning job bad took longer than 0.5 s"),
    ],
)
def test_i7_a_calendar_that_raises_exits_or_hangs_is_its_own_job_s_problem(
    calendar: object, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronce.engine.tick.EVALUATION_LIMIT", 0.5)
    world = planned_once(declare("bad", AT_SIX, exclude=calendar), *GOOD)

    assert_only_bad_is_left_out(world, problem)

    world.deploy(declare("bad", AT_SIX), *GOOD)
    world.ticks(1)
    assert world.ran("bad") == ["05T06:00"]


def test_i7_many_hanging_calendars_do_not_keep_another_calendar_from_its_turn() -> None:
    """The time of a tick is enough for three."""
    world = World()

    def hang(day: date) -> bool:
        world.clock.advance(5 * SECOND)
        raise ValueError(f"no answer for {day}")

    bad = [declare(f"bad-{n}", AT_SIX, exclude=hang) for n in range(9)]
    fine = declare("fine", AT_SIX, exclude=[date(2026, 1, 1)])
    world.deploy(*bad, fine, *GOOD)
    world.tick()

    report = world.tick_at(SIX)
    assert report.end is TickEnd.INCOMPLETE
    assert all(world.ran(job.name) == ["05T06:00"] for job in GOOD)
    world.ticks(10)

    assert world.ran("fine") == ["05T06:00"]


def test_the_limit_of_the_whole_tick_is_not_taken_for_that_of_one_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cronce.engine.tick.EVALUATION_LIMIT", 0.4)
    world = planned_once(declare("bad", AT_SIX, exclude=hangs))

    with pytest.raises(TimeLimitExceeded, match="the tick took longer"), time_limit(0.2, "the tick"):
        world.tick_at(SIX)

    assert world.heartbeat == 0


# --- items ------------------------------------------------------------------------------------------------


def test_an_item_that_cannot_be_read_is_reported_and_skipped() -> None:
    world = planned_once(declare("bad", AT_SIX), *GOOD)
    good_state = world.job("bad")
    world.store.spoil(job_key("bad"), "attribute `planned_to` is missing")

    assert_only_bad_is_left_out(world, "attribute `planned_to` is missing")

    world.store.place(good_state)
    world.ticks(1)
    assert world.ran("bad") == ["05T06:00"]


def test_unavailable_jobs_at_the_head_of_the_index_starve_nobody() -> None:
    gone = [declare(f"gone-{n:03}", Cron("* * * * *")) for n in range(300)]
    world = planned_once(*gone, *GOOD)
    world.deploy(*GOOD, problems={"jobs.broken": "ImportError: no soup"})
    world.ticks(3)

    report = world.tick_at(SIX)

    assert report.end is TickEnd.COMPLETED
    assert all(world.ran(job.name) == ["05T06:00"] for job in GOOD)
    assert world.held == 1


# --- the store --------------------------------------------------------------------------------------------


def test_i6_a_record_that_the_store_does_not_take_costs_only_its_own_job() -> None:
    world = planned_once(declare("bad", AT_SIX), *GOOD)
    picky = PickyStore(world.store.plans, frozenset({"bad"}))
    world.plans = picky

    assert_only_bad_is_left_out(world, "the item is not valid")

    alone = picky.sizes.count(1)
    assert alone == TRIES + picky.sizes[0] - 1  # the bad one, and those that shared its transaction
    world.plans = None
    world.ticks(1)
    assert world.ran("bad") == ["05T06:00"]


def test_a_refusal_without_a_reason_ends() -> None:
    world = planned_once(declare("bad", AT_SIX))
    world.plans = PickyStore(world.store.plans, frozenset({"bad"}), CommitOutcome(stale=frozenset({"x"})))

    report = world.tick_at(SIX)

    assert report.unplanned == ("bad",)
    assert world.heartbeat == 1


@pytest.mark.parametrize("conflicts", [1, 2, 3])
def test_transactions_in_conflict_are_tried_again_at_once(conflicts: int) -> None:
    world = planned_once(*GOOD)
    world.clock.set(SIX)

    with world.during("lease.take", "after", lambda: world.store.conflict(conflicts)):
        report = world.tick()

    assert world.store.table.conflicts == 0
    assert report.unplanned == ()
    assert all(world.ran(job.name) == ["05T06:00"] for job in GOOD)
    assert len(world.clock.pauses) == conflicts - 1  # the first is met by all of them at once


def test_a_job_in_conflict_for_a_moment_waits_for_the_next_tick_and_is_not_held() -> None:
    world = planned_once(GOOD[0])
    world.clock.set(SIX)
    with world.during("lease.take", "after", lambda: world.store.conflict(TRIES)):
        report = world.tick()
    assert report.unplanned == ()
    assert report.stale == {"good-00"}
    assert (world.held, world.heartbeat) == (0, 1)
    assert world.telemetry.warnings == []
    assert [line.fields["job"] for line in world.telemetry.named("job.in_conflict")] == ["good-00"]
    assert len(world.clock.pauses) == TRIES - 1

    world.ticks(1)

    assert world.ran("good-00") == ["05T06:00"]


def test_a_slot_that_was_freed_meanwhile_lets_a_window_with_queued_runs_wait() -> None:
    """Whoever freed it found nobody queued: nobody would wake them."""
    job = declare("menu", Cron("* * * * *"), catch_up="all")
    world = planned_once(job)
    (first,) = world.runs("menu")
    busy = world.job("menu").slots
    world.change("menu", slots=type(busy)(held=frozenset({first.ref.id}), fencing_token=1))
    world.clock.set(MORNING + 10 * MINUTE)

    with world.during("plans.commit", "before", lambda: world.change("menu", slots=busy)):
        report = world.tick()
    assert report.stale == {"menu"}
    assert world.ran("menu") == ["05T05:00"]

    world.ticks(1)
    assert len(world.ran("menu")) == 12
    assert world.job("menu").slots.queued == 10
    assert [ref.scheduled_at.minute for ref in world.store.markers("menu")] == list(range(2, 12))


def test_windows_share_transactions_up_to_their_limit() -> None:
    world = planned_once(*[declare(f"job-{n:03}", AT_SIX) for n in range(100)])
    picky = PickyStore(world.store.plans, frozenset())
    world.plans = picky

    world.tick_at(SIX)

    assert picky.sizes == [49, 49, 2]  # a job's item and its run: two writes each
    assert SHARED_ACTIONS == 99
    assert packed([]) == []
