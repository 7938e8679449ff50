"""The promise itself, over random histories: every time of every job stands in the ledger exactly once.

Invariants:
- whatever ticks come, die, meet or fail, whatever operators do, each occurrence has one record or lies in one
  gap;
- a record inside a gap is there only because an operator backfilled it;
- nothing is in the ledger that the schedule does not name.

The oracle knows the schedule and the time only: it goes through the minutes and asks the zone's clock.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cronce.core.records import RunRecord, RunRef
from cronce.core.run import RunStatus, Trigger
from cronce.core.schedule import Cron
from cronce.engine.scheduler import TickEnd
from tests.core import reference_cron
from tests.scenarios.tick_world import MINUTE, SECOND, Killed, World, declare

BEGIN = datetime.fromisoformat("2026-03-20T08:00:04Z")
LONGEST = timedelta(days=60)
"""Nine days before Berlin's clocks are set forward; a history ends within two months."""


@dataclass(frozen=True)
class Kind:
    """A job, and when it is due by the reference."""

    name: str
    expression: str
    zone: str = "UTC"
    policies: tuple[tuple[str, Any], ...] = ()

    def times(self) -> list[datetime]:
        timeline = reference_cron.Timeline(self.zone, BEGIN.replace(second=0), BEGIN + LONGEST)
        return timeline.firings(reference_cron.read(self.expression), "next_valid", "first")


def weekends(day: date) -> bool:
    return day.weekday() >= 5


ALL = ("catch_up", "all")
KINDS = [
    Kind("minutely", "* * * * *"),
    Kind("minutely-skip", "* * * * *", "Europe/Berlin", (("catch_up", "skip"),)),
    Kind("quarters-all", "*/15 * * * *", "UTC", (ALL, ("concurrency", 2), ("catch_up_cap", 50))),
    Kind("hourly-bounded", "7 * * * *", "UTC", (("max_lateness", "3h"), ("exclude", weekends))),
    Kind("nightly", "30 2 * * *", "Europe/Berlin", (ALL, ("catch_up_cap", 2), ("max_lateness", "9d"))),
    Kind("thrice", "0 0,2,3 * * *", "Europe/Berlin", (("exclude", weekends),)),
    Kind("unlimited", "*/40 * * * *", "UTC", (ALL, ("concurrency", None))),
]
TIMES = {kind.name: kind.times() for kind in KINDS}

PAUSES = st.sampled_from(
    [
        timedelta(seconds=20),
        MINUTE,
        2 * MINUTE,
        4 * MINUTE,
        35 * MINUTE,
        timedelta(hours=5),
        timedelta(days=2),
    ]
)
ACTIONS = st.sampled_from(["tick"] * 4 + ["die"] * 4 + ["conflict", "overlap", "pause", "resume", "backfill"])
STEPS = st.lists(st.tuples(PAUSES, ACTIONS, st.integers(0, 40)), min_size=1, max_size=25)


class History:
    """One world, and what happens in it."""

    def __init__(self) -> None:
        self.world = World()
        self.world.clock.set(BEGIN)
        self.world.deploy(
            *(
                declare(kind.name, Cron(kind.expression, tz=kind.zone), **dict(kind.policies))
                for kind in KINDS
            )
        )
        self.world.tick()
        self.backfilled: set[RunRef] = set()

    def do(self, action: str, number: int) -> None:
        deed: Callable[[int], None] = getattr(self, action)
        deed(number)

    def tick(self, _number: int) -> None:
        self.world.tick()

    def die(self, number: int) -> None:
        """At the call of that half number, before it or after."""
        begun = -1

        def hook(_name: str, when: str) -> None:
            nonlocal begun
            begun += when == "before"
            if begun == number // 2 % 9 and when == ("before", "after")[number % 2]:
                raise Killed

        self.world.store.on_call(hook)
        try:
            self.world.tick()
        except Killed:
            pass
        finally:
            self.world.store.on_call(None)

    def conflict(self, number: int) -> None:
        self.world.store.conflict(number)
        self.world.tick()
        self.world.store.conflict(0)

    def overlap(self, _number: int) -> None:
        """A scheduler is overtaken before its write."""
        slow, world = self.world.scheduler(), self.world

        def overtake(name: str, when: str) -> None:
            if (name, when) == ("plans.commit", "before"):
                world.store.on_call(None)
                world.clock.advance(MINUTE)
                world.tick()

        world.store.on_call(overtake)
        slow.tick()
        world.store.on_call(None)

    def pause(self, number: int) -> None:
        self.world.pause(KINDS[number % len(KINDS)].name)

    def resume(self, number: int) -> None:
        name = KINDS[number % len(KINDS)].name
        if self.world.job(name).paused:
            self.world.resume(name)

    def backfill(self, number: int) -> None:
        """A time of the past, if it has no record yet."""
        kind = KINDS[number % len(KINDS)]
        past = TIMES[kind.name][: bisect_right(TIMES[kind.name], self.world.clock.now())]
        if not past:
            return
        ref = RunRef(kind.name, past[-1 - number % len(past)])
        if ref not in {run.ref for run in self.world.runs(kind.name)}:
            self.world.store.place(record(ref, self.world.clock.now()))
            self.backfilled.add(ref)

    def finish(self) -> None:
        """Operators end their pauses, and ticks come until everything is accounted for."""
        for kind in KINDS:
            self.resume(KINDS.index(kind))
        for _ in range(40):
            report = self.world.tick_at(self.world.clock.now() + MINUTE)
            assert report.end is TickEnd.COMPLETED
            states = [self.world.job(kind.name) for kind in KINDS]
            if all(state.held is None and state.resumed_at is None for state in states):
                return
        raise AssertionError("the jobs are behind for ever")

    def check(self) -> None:
        now = self.world.clock.now()
        for kind in KINDS:
            due = TIMES[kind.name][: bisect_right(TIMES[kind.name], now)]
            ledger = Counter(
                run.ref.scheduled_at for run in self.world.runs(kind.name) if run.ref not in self.backfilled
            )
            for gap in self.world.store.all_gaps():
                if gap.job == kind.name:
                    inside = due[bisect_left(due, gap.first) : bisect_right(due, gap.last)]
                    assert len(inside) == gap.count, f"{gap} holds {len(inside)} times"
                    ledger.update(inside)
            twice = {at: times for at, times in ledger.items() if times > 1}
            assert not twice, f"{kind.name}: more than once: {twice}"
            backfilled = {ref.scheduled_at for ref in self.backfilled if ref.job == kind.name}
            assert set(due) <= set(ledger) | backfilled, f"{kind.name}: lost"
            assert set(ledger) <= set(due), f"{kind.name}: no times of the schedule"
            assert self.world.job(kind.name).slots.queued == len(self.world.store.markers(kind.name))


def record(ref: RunRef, now: datetime) -> RunRecord:
    return RunRecord(
        ref=ref,
        trigger=Trigger.BACKFILL,
        status=RunStatus.SUCCEEDED,
        created_at=now,
        scheduled_local=ref.scheduled_at.isoformat(),
        timeout=timedelta(minutes=15),
        max_attempts=3,
        ended_at=now,
        rev=3,
    )


def run(steps: list[tuple[timedelta, str, int]]) -> History:
    history = History()
    for pause, action, number in steps:
        history.world.clock.advance(pause)
        history.do(action, number)
    history.world.clock.advance(MINUTE - SECOND)
    history.finish()
    history.check()
    return history


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_p13_every_time_stands_in_the_ledger_exactly_once(steps: list[tuple[timedelta, str, int]]) -> None:
    run(steps)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_p13_every_time_stands_in_the_ledger_exactly_once_over_thousands_of_histories(
    steps: list[tuple[timedelta, str, int]],
) -> None:
    run(steps)


def test_a_history_of_everything_at_once() -> None:
    """The random test is not empty: this one history has every kind of record."""
    actions = [
        "tick",
        "die",
        "pause",
        "conflict",
        "backfill",
        "overlap",
        "resume",
        "tick",
        "backfill",
        "tick",
    ]
    gaps = [MINUTE, timedelta(hours=5), timedelta(days=1), timedelta(minutes=35)]

    history = run([(gaps[n % 4], actions[n % 10], 3 * n) for n in range(40)])

    statuses = {record.status for record in history.world.store.all_runs()}
    reasons = {gap.reason.value for gap in history.world.store.all_gaps()}
    assert statuses == {RunStatus.PENDING, RunStatus.WAITING, RunStatus.SKIPPED, RunStatus.SUCCEEDED}
    assert {"late", "superseded", "paused", "catch_up_limit", "excluded"} <= reasons
    assert history.backfilled
