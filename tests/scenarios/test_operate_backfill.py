"""An operator backfills, beside the scheduler, executors and other operators.

Invariants:
- each time has one record, whoever was first: backfill, scheduler, another operator;
- live planning goes on from where it stood, and times that are due now are not its affair;
- backfilled runs wait in line whatever the job does with overlaps, oldest first, and never more at once than
  the job allows;
- a backfill that broke off is given again and does the rest.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice

import pytest

from cronce.core.acts import What
from cronce.core.backfill import BackfillPlan, FillFate
from cronce.core.errors import JobNotFoundError, OperationRefusedError, StoreError
from cronce.core.job import Job, job
from cronce.core.run import RunStatus, Trigger
from cronce.core.schedule import Cron
from cronce.engine.operations import Filled, Operations
from cronce.engine.run_handle import Run
from cronce.testing import ManualClock, job_key
from tests.crashes.stack import HOUR, MINUTE, SECOND, Stack, at

HOURLY = Cron("0 * * * *")
LAST_MONTH = at(0) - timedelta(days=30)


class Kitchen:
    """A stack with one job, planned once at half past five, whose runs say when they ran."""

    def __init__(self, **policies: object) -> None:
        self.stack = Stack(ManualClock(at(5, 30, 4)))
        self.order: list[str] = []
        self.at_once: list[int] = []
        self.after: Callable[[Run], object] = lambda run: None
        self.declare(**policies)
        self.stack.tick()

    def declare(self, **policies: object) -> Job:
        declared = job("menu", **{"schedule": HOURLY, **policies})(self.cook)  # type: ignore[arg-type]
        self.stack.declare(declared)
        return declared

    def cook(self, run: Run) -> None:
        runs = self.stack.runs()
        self.at_once.append(sum(one.attempt > 0 and not one.status.is_final for one in runs))
        run.step("cook", self.stack.effect)
        self.order.append(run.id.removeprefix("menu@"))
        self.after(run)

    @property
    def operations(self) -> Operations:
        found: list[Operations] = []
        self.stack.command(found.append)
        return found[0]

    def preview(self, since: int = 0, until: int = 4, *, gaps: bool = False) -> BackfillPlan:
        return self.operations.preview("menu", at(since), at(until), gaps=gaps)

    def backfill(self, plan: BackfillPlan | None = None, by: str = "ann") -> list[Filled]:
        return list(self.operations.backfill(plan or self.preview(), by=by, why="lost in the move"))

    def settle(self, minutes: int = 3) -> None:
        self.stack.deliver()
        self.stack.minutes(minutes)

    def during(self, method: str, do: Callable[[], object]) -> None:
        """Let something happen once, before the next call of a port's method."""

        def hook(called: str, when: str) -> None:
            if (called, when) == (method, "before"):
                self.stack.store.on_call(None)
                do()

        self.stack.store.on_call(hook)


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def test_p27_a_backfill_of_last_month_leaves_planning_where_it_stands() -> None:
    kitchen = Kitchen(schedule=Cron("0 6 * * *"))
    before = kitchen.stack.job("menu")
    plan = kitchen.operations.preview("menu", LAST_MONTH, LAST_MONTH + timedelta(days=20))
    assert len(plan.to_create) == 20

    kitchen.backfill(plan)
    kitchen.settle()

    after = kitchen.stack.job("menu")
    assert (after.planned_to, after.next_at) == (before.planned_to, before.next_at)
    assert len(kitchen.order) == 20
    kitchen.stack.skip_to(at(6))
    kitchen.stack.tick()
    scheduled = [run.ref.scheduled_at for run in kitchen.stack.runs() if run.is_scheduled]
    assert scheduled == [at(6)], "the next tick creates its own due times only"


@pytest.mark.parametrize("overlap", ["skip", "queue"])
@pytest.mark.parametrize("concurrency", [1, 3, None])
def test_i36_a_months_backfill_runs_in_order_and_none_counts_as_overlap(
    overlap: str, concurrency: int | None
) -> None:
    kitchen = Kitchen(schedule=Cron("0 6 * * *"), overlap=overlap, concurrency=concurrency)
    plan = kitchen.operations.preview("menu", LAST_MONTH, at(4))

    progress = kitchen.backfill(plan)
    kitchen.settle()

    assert [(one.number, one.of, one.created) for one in progress] == [(n, 30, True) for n in range(1, 31)]
    runs = kitchen.stack.runs()
    assert Counter((run.status, run.trigger) for run in runs) == {(RunStatus.SUCCEEDED, Trigger.BACKFILL): 30}
    assert max(kitchen.at_once) <= (concurrency or 30)
    if concurrency == 1:
        assert kitchen.order == sorted(kitchen.order)
    assert {run.act.what for run in runs if run.act} == {What.BACKFILL}
    assert {run.expect_by for run in runs} == {None}
    assert kitchen.stack.job("menu").slots.queued == 0


def test_it_waits_behind_the_run_that_is_at_work_and_the_queue_goes_on_by_itself(kitchen: Kitchen) -> None:
    def ask(run: Run) -> None:
        if run.scheduled_at == at(6):
            assert [one.created for one in kitchen.backfill()] == 5 * [True]
            assert kitchen.stack.job("menu").slots.queued == 5

    kitchen.after = ask
    kitchen.stack.skip_to(at(6))
    kitchen.stack.tick()
    kitchen.stack.deliver()

    assert kitchen.order == [f"2026-01-05T0{hour}:00:00Z" for hour in (6, 0, 1, 2, 3, 4)]
    assert max(kitchen.at_once) == 1


def test_a_backfill_that_broke_off_is_given_again_and_does_the_rest(kitchen: Kitchen) -> None:
    plan = kitchen.preview()
    done = list(islice(kitchen.operations.backfill(plan, by="ann", why=""), 2))
    assert [one.at for one in done] == [at(0), at(1)]
    kitchen.settle()

    again = kitchen.preview()
    assert [time.fate for time in again.times] == 2 * [FillFate.RECORD] + 3 * [FillFate.CREATE]
    kitchen.backfill(again)
    kitchen.settle()

    assert [run.status for run in kitchen.stack.runs()] == 5 * [RunStatus.SUCCEEDED]
    assert all(run.attempt == 1 for run in kitchen.stack.runs())


def test_of_two_who_backfill_the_same_each_time_has_one_run(kitchen: Kitchen) -> None:
    mine, theirs = kitchen.preview(), kitchen.preview()
    theirs_done: list[Filled] = []
    kitchen.during("runs.apply", lambda: theirs_done.extend(kitchen.backfill(theirs, by="eve")))

    done = kitchen.backfill(mine)

    assert [one.created for one in theirs_done] == 5 * [True]
    assert [one.created for one in done] == 5 * [False]
    assert {run.act.by for run in kitchen.stack.runs() if run.act} == {"eve"}


def test_i16_a_time_that_is_backfilled_during_a_pause_is_not_planned_again(kitchen: Kitchen) -> None:
    kitchen.declare(catch_up="all")
    kitchen.operations.pause("menu", by="ann", why="")
    kitchen.stack.skip_to(at(7, 10))

    kitchen.backfill(kitchen.preview(6, 6))
    kitchen.settle(1)
    kitchen.operations.resume("menu", by="ann", why="")
    kitchen.settle()

    runs = kitchen.stack.runs()
    assert [(run.ref.scheduled_at, run.trigger) for run in runs] == [
        (at(6), Trigger.BACKFILL),
        (at(7), Trigger.SCHEDULE),
    ]
    assert kitchen.order == ["2026-01-05T06:00:00Z", "2026-01-05T07:00:00Z"]
    assert kitchen.stack.gaps() == []


@pytest.mark.parametrize("call", ["jobs.get", "runs.apply"])
def test_a_backfill_that_meets_the_tick_that_plans_its_time_leaves_one_run(call: str) -> None:
    kitchen = Kitchen(catch_up="all")
    kitchen.operations.pause("menu", by="ann", why="")
    kitchen.stack.skip_to(at(6, 10))
    plan = kitchen.preview(6, 6)

    def planned() -> None:
        kitchen.operations.resume("menu", by="eve", why="")
        kitchen.stack.minute()

    kitchen.during(call, planned)
    (one,) = kitchen.backfill(plan)
    kitchen.settle()

    assert not one.created
    (run,) = kitchen.stack.runs()
    assert (run.trigger, run.status) == (Trigger.SCHEDULE, RunStatus.SUCCEEDED)


@pytest.mark.parametrize("call", ["index.due", "jobs.get_many", "plans.commit"])
def test_a_tick_that_meets_the_backfill_of_its_time_leaves_one_run(call: str) -> None:
    kitchen = Kitchen(catch_up="all")
    kitchen.operations.pause("menu", by="ann", why="")
    kitchen.stack.skip_to(at(7, 10))
    plan = kitchen.preview(6, 6)
    kitchen.operations.resume("menu", by="ann", why="")
    kitchen.stack.clock.advance(SECOND)
    kitchen.during(call, lambda: kitchen.backfill(plan))

    kitchen.stack.tick()
    kitchen.settle()

    runs = kitchen.stack.runs()
    assert [(run.ref.scheduled_at, run.status) for run in runs] == [
        (at(6), RunStatus.SUCCEEDED),
        (at(7), RunStatus.SUCCEEDED),
    ]


def test_what_lies_in_a_gap_is_run_when_it_is_asked_for_and_outranks_the_gap() -> None:
    kitchen = Kitchen(catch_up="latest")
    kitchen.stack.clock.set(at(9, 10))
    kitchen.stack.tick()
    kitchen.settle(1)
    (gap,) = kitchen.stack.gaps()
    assert (gap.first, gap.last) == (at(6), at(8))
    assert [time.fate for time in kitchen.preview(6, 9).times] == 3 * [FillFate.GAP] + [FillFate.RECORD]

    kitchen.backfill(kitchen.preview(6, 9, gaps=True))
    kitchen.settle()

    assert sorted(kitchen.order) == [f"2026-01-05T0{hour}:00:00Z" for hour in (6, 7, 8, 9)]
    assert kitchen.stack.gaps() == [gap]


def test_the_calendar_is_asked_and_a_broken_one_is_one_line(kitchen: Kitchen) -> None:
    def broken(_day: date) -> bool:
        raise LookupError("no such year")

    kitchen.declare(exclude=[date(2026, 1, 5)])
    assert {time.fate for time in kitchen.preview().times} == {FillFate.EXCLUDED}
    kitchen.declare(exclude=broken)
    with pytest.raises(
        OperationRefusedError, match="the calendar of job menu raised LookupError: no such year"
    ):
        kitchen.preview()
    kitchen.declare(exclude=lambda day: sys.exit(7))
    with pytest.raises(OperationRefusedError, match="the calendar of job menu raised SystemExit: 7"):
        kitchen.preview()


def test_slots_that_move_in_between_are_read_again(kitchen: Kitchen) -> None:
    kitchen.stack.skip_to(at(6))
    kitchen.stack.tick()
    kitchen.during("runs.apply", kitchen.stack.deliver)

    kitchen.backfill()
    kitchen.settle()

    assert len(kitchen.order) == 6
    assert kitchen.stack.job("menu").slots.held == frozenset()


def test_a_schedule_that_changed_since_the_preview_stops_it(kitchen: Kitchen) -> None:
    plan = kitchen.preview()
    kitchen.stack.change("menu", schedule_hash="another")

    with pytest.raises(
        OperationRefusedError, match="the schedule of job menu has changed meanwhile: look again"
    ):
        kitchen.backfill(plan)
    assert kitchen.stack.runs() == []


def test_without_the_jobs_code_it_can_be_looked_at_but_not_done(kitchen: Kitchen) -> None:
    known = kitchen.stack.jobs.pop("menu")
    plan = kitchen.preview()

    assert len(plan.to_create) == 5
    with pytest.raises(OperationRefusedError, match="the code of job menu is not here"):
        kitchen.backfill(plan)
    kitchen.stack.jobs["menu"] = known


def test_a_job_that_is_unknown_or_removed_is_refused(kitchen: Kitchen) -> None:
    plan = kitchen.preview()
    kitchen.stack.change("menu", removed_at=at(5))
    for look in (kitchen.preview, lambda: kitchen.backfill(plan)):
        with pytest.raises(OperationRefusedError, match="was removed from the deployment"):
            look()
    kitchen.stack.store.remove(job_key("menu"))
    with pytest.raises(JobNotFoundError):
        kitchen.preview()


def test_i28_a_host_with_a_wrong_clock_backfills_nothing(kitchen: Kitchen) -> None:
    plan = kitchen.preview()
    kitchen.stack.store.clock.offset = HOUR
    with pytest.raises(OperationRefusedError, match="clock differs"):
        kitchen.preview()
    with pytest.raises(OperationRefusedError, match="clock differs"):
        kitchen.backfill(plan)
    assert kitchen.stack.runs() == []


def test_a_store_that_stops_answering_leaves_what_is_done_done(kitchen: Kitchen) -> None:
    plan = kitchen.preview()
    store, calls = kitchen.stack.store, 0

    def silent(call: str, when: str) -> None:
        nonlocal calls
        calls += (call, when) == ("runs.apply", "before")
        if call == "runs.apply" and calls > 2:
            raise StoreError("no answer")

    store.on_call(silent)
    with pytest.raises(StoreError):
        kitchen.backfill(plan)
    store.on_call(None)
    assert len(kitchen.stack.runs()) == 2
    kitchen.backfill()
    kitchen.settle()
    assert [run.status for run in kitchen.stack.runs()] == 5 * [RunStatus.SUCCEEDED]


def test_a_dead_holder_does_not_stop_a_backfill_for_good(kitchen: Kitchen) -> None:
    slots = kitchen.stack.job("menu").slots
    kitchen.stack.change("menu", slots=replace(slots, held=frozenset({"menu@gone"})))

    kitchen.backfill()
    kitchen.stack.minutes(12)

    assert len(kitchen.order) == 5
    assert kitchen.stack.clock.now() - at(5, 30) < 15 * MINUTE
