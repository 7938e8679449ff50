"""An operator sets a job back after records were lost, beside ticks, backfills and other operators.

Invariants:
- the next tick plans what nothing accounts for, and starts nothing twice;
- a tick that meets the command plans by what was, or is refused: never by a mixture;
- gaps that are given up go with the very write that sets the job back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

import pytest

from cronce.core.acts import What
from cronce.core.errors import JobNotFoundError, OperationRefusedError, StoreError
from cronce.core.job import job
from cronce.core.run import RunStatus, Trigger
from cronce.core.schedule import Cron
from cronce.engine.operations import Operations, Rewound
from cronce.engine.run_handle import Run
from cronce.testing import ManualClock, run_key
from tests.crashes.stack import HOUR, Stack, at


class Kitchen:
    """A stack whose job ran every hour from six to nine."""

    def __init__(self, policy: str = "all") -> None:
        self.stack = Stack(ManualClock(at(5, 30, 4)))
        self.started: Counter[datetime] = Counter()
        self.declare(policy)
        self.stack.tick()
        for hour in range(6, 10):
            self.stack.skip_to(at(hour))
            self.stack.tick()
            self.stack.deliver()
        assert set(self.started.values()) == {1}

    def declare(self, policy: str) -> None:
        self.stack.declare(job("menu", schedule=Cron("0 * * * *"), catch_up=policy, grace="12h")(self.cook))

    def cook(self, run: Run) -> None:
        self.started[run.scheduled_at] += 1

    @property
    def operations(self) -> Operations:
        found: list[Operations] = []
        self.stack.command(found.append)
        return found[0]

    def rewind(self, to: datetime, *, replan_gaps: bool = False, by: str = "ann") -> Rewound:
        return self.operations.rewind("menu", to, replan_gaps=replan_gaps, by=by, why="restored")

    def lose(self, *hours: int) -> None:
        """Records are gone, as after a restore of a part of the table."""
        for run in self.stack.runs():
            if run.ref.scheduled_at.hour in hours:
                self.stack.store.remove(run_key(run.ref))
                del self.started[run.ref.scheduled_at]

    def during(self, method: str, do: Callable[[], object]) -> None:
        """Let something happen once, before the next call of a port's method."""

        def hook(called: str, when: str) -> None:
            if (called, when) == (method, "before"):
                self.stack.store.on_call(None)
                do()

        self.stack.store.on_call(hook)

    def settle(self) -> None:
        self.stack.minutes(3)


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def test_what_was_lost_is_planned_and_run_by_the_next_tick(kitchen: Kitchen) -> None:
    kitchen.lose(7, 8)

    answer = kitchen.rewind(at(6, 30))
    assert answer.times == (at(7), at(8))
    assert answer.state == kitchen.stack.job("menu")
    kitchen.settle()

    assert kitchen.started == dict.fromkeys([at(hour) for hour in range(6, 10)], 1)
    state = kitchen.stack.job("menu")
    assert (state.settled, state.next_at) == ((), at(10))
    assert state.act is not None
    assert (state.act.what, state.act.by) == (What.REWIND, "ann")
    assert kitchen.stack.gaps() == []
    assert kitchen.stack.notifier.notices == []


@pytest.mark.parametrize("command", ["rewind", "backfill"])
def test_what_a_lost_run_had_finished_is_not_done_again(kitchen: Kitchen, command: str) -> None:
    """Its steps have a table of their own, which may be newer than that of the runs."""
    cooked: list[datetime] = []
    values: list[int] = []

    def heat(at: datetime) -> int:
        cooked.append(at)
        return len(cooked)

    def cook(run: Run) -> None:
        values.append(run.step("cook", heat, run.scheduled_at))

    kitchen.stack.declare(job("menu", schedule=Cron("0 * * * *"), catch_up="all", grace="12h")(cook))
    kitchen.stack.skip_to(at(10))
    kitchen.stack.tick()
    kitchen.stack.deliver()
    kitchen.lose(10)
    kitchen.stack.skip_to(at(10, 30))

    if command == "rewind":
        kitchen.rewind(at(9, 30))
    else:
        plan = kitchen.operations.preview("menu", at(10), at(10))
        assert [filled.created for filled in kitchen.operations.backfill(plan, by="ann", why="")] == [True]
    kitchen.settle()

    run = kitchen.stack.runs()[-1]
    assert (run.ref.scheduled_at, run.status, run.attempt) == (at(10), RunStatus.SUCCEEDED, 1)
    assert (cooked, values) == ([at(10)], [1, 1])


def test_a_rewind_whose_reply_was_missed_while_a_tick_planned_is_done(kitchen: Kitchen) -> None:
    kitchen.lose(7)

    def loses(called: str, when: str) -> None:
        if (called, when) == ("jobs.change", "after"):
            kitchen.stack.store.on_call(None)
            kitchen.stack.tick()
            raise StoreError("no answer")

    kitchen.stack.store.on_call(loses)
    assert kitchen.rewind(at(6, 30)).times == (at(7),)
    kitchen.settle()
    assert kitchen.started == dict.fromkeys([at(hour) for hour in range(6, 10)], 1)


def test_p34_runs_that_are_there_are_neither_planned_nor_started_nor_told(kitchen: Kitchen) -> None:
    kitchen.declare("skip")
    kitchen.lose(8)

    kitchen.rewind(at(5, 30))
    kitchen.settle()

    assert set(kitchen.started) == {at(6), at(7), at(9)}
    runs = {run.ref.scheduled_at: (run.status, run.reason) for run in kitchen.stack.runs()}
    assert runs[at(8)][0] is RunStatus.SKIPPED, "by the policy of today"
    assert kitchen.stack.gaps() == []


@pytest.mark.parametrize("call", ["runs.get_many", "runs.gaps", "jobs.change"])
def test_a_rewind_that_meets_a_tick_decides_anew(kitchen: Kitchen, call: str) -> None:
    kitchen.lose(7)
    kitchen.stack.skip_to(at(10))
    kitchen.during(call, kitchen.stack.tick)

    answer = kitchen.rewind(at(6, 30))
    kitchen.settle()

    assert answer.times == (at(7),)
    assert kitchen.started == dict.fromkeys([at(hour) for hour in range(6, 11)], 1)


@pytest.mark.parametrize("call", ["index.due", "jobs.get_many", "plans.commit", "lease.release"])
def test_a_tick_that_meets_a_rewind_starts_nothing_twice(kitchen: Kitchen, call: str) -> None:
    kitchen.lose(7)
    kitchen.stack.skip_to(at(10))
    kitchen.during(call, lambda: kitchen.rewind(at(6, 30)))

    kitchen.stack.tick()
    kitchen.stack.deliver()
    kitchen.settle()

    assert kitchen.started == dict.fromkeys([at(hour) for hour in range(6, 11)], 1)
    assert kitchen.stack.job("menu").settled == ()


def test_a_time_that_is_backfilled_before_the_tick_comes_stays_a_backfill(kitchen: Kitchen) -> None:
    kitchen.lose(7)
    plan = kitchen.operations.preview("menu", at(7), at(7))
    kitchen.rewind(at(6, 30))

    list(kitchen.operations.backfill(plan, by="bob", why=""))
    kitchen.settle()

    triggers = {run.ref.scheduled_at: run.trigger for run in kitchen.stack.runs()}
    assert triggers[at(7)] is Trigger.BACKFILL
    assert set(kitchen.started.values()) == {1}


def with_gap() -> Kitchen:
    """A kitchen whose scheduler was away from ten to twelve."""
    kitchen = Kitchen("latest")
    kitchen.stack.skip_to(at(9, 30))
    kitchen.stack.clock.set(at(13, 10))
    kitchen.stack.tick()
    kitchen.stack.deliver()
    (gap,) = kitchen.stack.gaps()
    assert (gap.first, gap.last) == (at(10), at(12))
    kitchen.declare("all")
    return kitchen


def test_a_gap_is_left_alone_unless_it_is_given_up() -> None:
    kitchen = with_gap()
    with pytest.raises(OperationRefusedError, match="1 of its gaps among them"):
        kitchen.rewind(at(9, 30))

    answer = kitchen.rewind(at(9, 30), replan_gaps=True)
    assert answer.times == (at(10), at(11), at(12))
    assert len(answer.gaps) == 1
    kitchen.settle()

    assert kitchen.stack.gaps() == []
    assert kitchen.started == dict.fromkeys([at(hour) for hour in (*range(6, 10), *range(10, 14))], 1)


def test_a_gap_that_moved_meanwhile_is_read_again() -> None:
    kitchen = with_gap()
    (gap,) = kitchen.stack.gaps()
    told = replace(gap, forget_at=at(1, day=9))
    kitchen.during("jobs.change", partial(kitchen.stack.store.place, told))

    assert kitchen.rewind(at(9, 30), replan_gaps=True).gaps == (told,)
    assert kitchen.stack.gaps() == []


def test_of_two_who_set_it_back_the_second_decides_on_what_is(kitchen: Kitchen) -> None:
    kitchen.lose(7, 8)
    kitchen.during("jobs.change", lambda: kitchen.rewind(at(7, 30), by="eve"))

    answer = kitchen.rewind(at(6, 30))
    kitchen.settle()

    assert answer.times == (at(7), at(8)), "what the first one would have planned is planned as well"
    assert kitchen.started == dict.fromkeys([at(hour) for hour in range(6, 10)], 1)


def test_a_gap_that_the_first_of_two_left_alone_is_not_run_because_of_the_second() -> None:
    kitchen = with_gap()
    kitchen.lose(7, 9)
    kitchen.rewind(at(8, 30))

    answer = kitchen.rewind(at(6, 30))
    kitchen.settle()

    assert answer.times == (at(7), at(9))
    assert set(kitchen.started) == {at(hour) for hour in (6, 7, 8, 9, 13)}, "not those of the gap"
    assert len(kitchen.stack.gaps()) == 1


def test_a_gap_beyond_where_the_first_of_two_set_it_back_is_given_up_by_the_second() -> None:
    kitchen = with_gap()
    kitchen.lose(7, 9)
    kitchen.rewind(at(8, 30))

    answer = kitchen.rewind(at(6, 30), replan_gaps=True)
    kitchen.settle()

    assert answer.times == (at(7), at(9), at(10), at(11), at(12))
    assert kitchen.started == dict.fromkeys([at(hour) for hour in range(6, 14)], 1)
    assert kitchen.stack.gaps() == []


def test_a_job_that_is_unknown_or_removed_is_refused(kitchen: Kitchen) -> None:
    with pytest.raises(JobNotFoundError):
        kitchen.operations.rewind("dinner", at(6), by="ann", why="")
    kitchen.stack.change("menu", removed_at=at(9))
    with pytest.raises(OperationRefusedError, match="was removed"):
        kitchen.rewind(at(6, 30))


def test_i28_a_host_with_a_wrong_clock_sets_nothing_back(kitchen: Kitchen) -> None:
    kitchen.lose(7)
    before = kitchen.stack.job("menu")
    kitchen.stack.store.clock.offset = HOUR
    with pytest.raises(OperationRefusedError, match="clock differs"):
        kitchen.rewind(at(6, 30))
    assert kitchen.stack.job("menu") == before


def test_a_reply_that_was_lost_is_no_second_rewind(kitchen: Kitchen) -> None:
    kitchen.lose(7)
    lost = True

    def loses(call: str, when: str) -> None:
        nonlocal lost
        if lost and (call, when) == ("jobs.change", "after"):
            lost = False
            raise StoreError("no answer")

    kitchen.stack.store.on_call(loses)
    answer = kitchen.rewind(at(6, 30))

    assert answer.state == kitchen.stack.job("menu")
