"""Pieces of life around the scheduler and the watchdog: planning, reconciling, sweeping, telling."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from cronce.core.alerts import Alert
from cronce.core.errors import PermanentError
from cronce.core.job import Job, job
from cronce.core.jobstate import Pause
from cronce.core.records import Slots
from cronce.core.run import RunStatus
from cronce.core.schedule import At, Cron
from cronce.engine.run_handle import Run
from cronce.testing import Marker, job_key, run_key
from tests.contract import makers
from tests.crashes.checker import unplanned, untold
from tests.crashes.lives import Scenario
from tests.crashes.stack import HOUR, MINUTE, SECOND, Stack, at

MORNING = at(5, 0, 4)
HALF_PAST_FIVE = at(5, 30, 4)
BACK = at(9, 20)
DAY = timedelta(days=1)


def nothing(run: Run) -> None:
    """A job that does nothing."""


def declare(name: str, function: Any = nothing, **policies: Any) -> Job:
    """A job of every hour."""
    return job(name, **{"schedule": Cron("0 * * * *"), **policies})(function)


def deployed(stack: Stack, *jobs: Job) -> None:
    """Deploy jobs, let a tick see them, and let it become six o'clock."""
    stack.declare(*jobs)
    stack.tick()
    stack.skip_to(at(6))


def tick_and_deliver(stack: Stack) -> None:
    """A run is planned and executed."""
    stack.tick()
    stack.deliver()


# --- planning ---------------------------------------------------------------------------------------------


def outage(stack: Stack) -> None:
    """One job for everything that can happen to a job, a deployment that changed, and no tick for hours."""
    stack.executing = stack.watching = False
    stack.declare(
        declare("latest"),
        declare("all", catch_up="all"),
        declare("skip", catch_up="skip"),
        declare("excluded", schedule=Cron("*/30 * * * *"), exclude=lambda day: day == date(2026, 1, 5)),
        declare("resumed", catch_up="all"),
        declare("paused"),
        declare("queue", catch_up="all"),
        declare("long", schedule=Cron("*/5 7-8 * * *"), catch_up="all"),
        declare("changed", schedule=Cron("30 5,6,7 * * *")),
        declare("gone"),
        declare("lost"),
    )
    stack.tick()
    paused = Pause(at=stack.clock.now(), by="ada", why="stock-taking")
    stack.change("paused", paused=paused, due_at=None, expect_by=None)
    stack.change("resumed", resumed_at=MORNING + 2 * HOUR)
    ahead = makers.running(makers.ref(4 * 60, job="queue"), claim_until=BACK + MINUTE, due_at=BACK + DAY)
    stack.store.place(ahead)
    stack.change("queue", slots=Slots(held=frozenset({ahead.ref.id})))
    stack.store.remove(job_key("lost"))
    del stack.jobs["gone"]
    stack.declare(declare("changed", schedule=Cron("15 9 * * *")), declare("one-off", schedule=At(at(8))))
    stack.clock.set(BACK)


def other_zone_data(stack: Stack) -> None:
    """The zones' rules changed between two ticks."""
    deployed(stack, declare("here", schedule=Cron("0 * * * *", tz="Europe/Berlin")), declare("there"))
    stack.zone_data = "2026g"


# --- sweep ------------------------------------------------------------------------------------------------


def planned_without_stream(stack: Stack) -> None:
    deployed(stack, declare("swept", lambda run: run.step("only", stack.effect)))
    stack.streaming = False


def without_stream(stack: Stack) -> None:
    """A run is planned, and dispatched by the sweep two minutes later."""
    stack.tick()
    with stack.places.suspended():
        stack.minute()
    stack.minute()


def too_late(stack: Stack) -> None:
    """The stream is off, and the sweep's first dispatch is too late for the job's policy."""
    deployed(stack, declare("late", lambda run: run.step("only", stack.effect), max_lateness=2 * MINUTE))
    stack.streaming = stack.executing = False
    stack.tick()
    stack.clock.advance(MINUTE)
    stack.tick()
    stack.clock.advance(2 * MINUTE)
    stack.executing = True


def spoiled(stack: Stack) -> None:
    """An item that cannot be read stands before a run that waits to be dispatched."""
    deployed(stack, declare("broken"), declare("fine", lambda run: run.step("only", stack.effect)))
    stack.tick()
    stack.store.drain_stream()
    (broken,) = (run for run in stack.runs() if run.ref.job == "broken")
    stack.store.spoil(run_key(broken.ref))
    stack.clock.advance(2 * MINUTE)


def a_month_old(stack: Stack) -> None:
    """A run that has waited in its queue for too long."""
    deployed(stack, declare("old"))
    stack.executing = False
    run = makers.queued(makers.ref(-40 * 24 * 60, job="old"), due_at=at(6), created_at=at(6) - 31 * DAY)
    stack.store.place(run, Marker(ref=run.ref))
    stack.change("old", slots=replace(stack.job("old").slots, queued=1))


# --- watchdog ---------------------------------------------------------------------------------------------


def troubled(stack: Stack) -> None:
    """One of each: a failure, a gap, a hanging run, an unplanned job, an alert to close, one to remind of."""
    stack.ticking = stack.executing = False
    stack.store.place(makers.failed(makers.ref(0, job="stands")))
    stack.minutes(2)
    stack.clock.advance(56 * MINUTE)
    stack.minutes(2)
    stack.notifier.notices.clear()
    now = stack.clock.now()
    stack.store.place(makers.failed(makers.ref(0)))
    stack.minute()
    assert [alert.is_open for alert in stack.contents(Alert)] == [True, True]
    success = replace(
        makers.pending(makers.ref(1)),
        status=RunStatus.SUCCEEDED,
        dispatch=None,
        due_at=None,
        started_at=now + MINUTE,
        ended_at=now + MINUTE,
    )
    every_minute = Cron("* * * * *").spec()
    stack.store.place(
        success,
        makers.failed(makers.ref(0, job="fails")),
        makers.gap(0, job="gaps"),
        makers.pending(makers.ref(0, job="hangs"), expect_by=now + SECOND),
        makers.job_state("unplanned", expect_by=now + SECOND, grace=MINUTE, schedule=every_minute),
    )
    stack.clock.advance(MINUTE)
    stack.tick()


def failing(stack: Stack) -> None:
    """A job whose run of six fails, and whose next one does not."""

    def function(run: Run) -> None:
        run.step("only", stack.effect)
        if run.scheduled_at == at(6):
            raise PermanentError("no soup")

    deployed(stack, declare("alarming", function, schedule=Cron("0,30 6 * * *")))


def half_an_hour_passes(stack: Stack) -> None:
    """A failure is told, the next run makes it good, and that is told."""
    tick_and_deliver(stack)
    stack.minute()
    with stack.places.suspended():
        stack.minutes(4)
    stack.skip_to(at(6, 30))
    tick_and_deliver(stack)
    stack.minute()


SCENARIOS = (
    Scenario(name="outage", starts=MORNING, setup=outage, life=Stack.tick, left=unplanned),
    Scenario(name="zone-data", starts=HALF_PAST_FIVE, setup=other_zone_data, life=Stack.tick),
    Scenario(
        name="no-stream",
        starts=HALF_PAST_FIVE,
        setup=planned_without_stream,
        life=without_stream,
    ),
    Scenario(name="late", starts=HALF_PAST_FIVE, setup=too_late, life=Stack.minute),
    Scenario(name="spoiled", starts=HALF_PAST_FIVE, setup=spoiled, life=Stack.tick),
    Scenario(name="expired", starts=HALF_PAST_FIVE, setup=a_month_old, life=Stack.tick, left=untold),
    Scenario(name="patrol", starts=makers.NOW, setup=troubled, life=Stack.patrol, left=untold),
    Scenario(name="alert", starts=HALF_PAST_FIVE, setup=failing, life=half_an_hour_passes),
)
