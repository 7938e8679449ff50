"""Outages that do not fit into one tick.

Invariants:
- a window has at most 90 writes, and 20,000 occurrences are judged; the rest is left for the next tick;
- of several parts of one outage only the last holds the `latest` run;
- of a stretch that goes on only what no newer occurrence can change is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise

import pytest

from cronce.core.births import Births, Part, merged
from cronce.core.catch_up import Fate, Scene, judge
from cronce.core.job import Job
from cronce.core.jobstate import GapReason, Held
from cronce.core.records import Slots
from cronce.core.run import RunStatus
from cronce.core.schedule import Cron
from tests.core.planned_job import DAY, MINUTE, RETENTION, Planned, at, declare, short, spans

EVERY_MINUTE = Cron("* * * * *")

# --- cut windows ------------------------------------------------------------------------------------------


def every_other_day_excluded(day: date) -> bool:
    return day.toordinal() % 2 == 0


def test_i12_more_than_ninety_excluded_times_give_one_run_and_not_one_per_part() -> None:
    daily = Planned(declare(Cron("0 6 * * *"), exclude=every_other_day_excluded), at("2025-05-01 05:00:00"))
    now = at("2026-01-05 07:00:00")

    parts = [daily.tick(now + n * MINUTE) for n in range(4)]

    assert [part.after.held for part in parts] == [Held.BEHIND, Held.BEHIND, None, None]
    assert len(daily.ran) == 1
    assert parts[3].runs == ()
    assert set(daily.accounts().values()) == {1}
    assert len(daily.accounts()) == 250
    newest_open_day = max(day for day in (4, 5) if not every_other_day_excluded(date(2026, 1, day)))
    assert daily.ran == [f"0{newest_open_day} 06:00"]


def test_a_job_that_is_behind_says_where_it_stands_and_is_not_overdue_meanwhile() -> None:
    daily = Planned(declare(Cron("0 6 * * *"), exclude=every_other_day_excluded), at("2025-05-01 05:00:00"))
    now = at("2026-01-05 07:00:00")

    part = daily.tick(now)

    last = part.runs[-1].ref.scheduled_at
    assert part.actions == 90
    assert part.after.planned_to == last
    assert part.after.planned_local == last.replace(tzinfo=None)
    assert part.after.next_at == part.after.due_at == last + DAY
    assert part.after.expect_by == now + daily.declared.grace


def test_all_parts_of_a_long_catch_up_run_in_order_behind_each_other() -> None:
    menu = Planned(declare(EVERY_MINUTE, catch_up="all"), at("2026-01-05 00:00:05"))
    now = at("2026-01-05 01:40:05")

    parts = [menu.tick(now + n * MINUTE) for n in range(4)]

    assert [part.after.held for part in parts[:3]] == [Held.BEHIND, Held.BEHIND, None]
    assert spans(menu.gaps) == ["05 00:00 - 05 00:00: 1 catch_up_limit"]
    assert menu.ran == [short(at("2026-01-05 00:01:00") + n * MINUTE) for n in range(103)]
    assert [run.status for run in menu.runs].count(
        RunStatus.PENDING
    ) == 1 + 1  # the first, and the one on time
    assert menu.runs[-1].status is RunStatus.PENDING
    assert all(earlier < later for earlier, later in pairwise(run.ref for run in menu.runs))


@pytest.mark.parametrize("policy", ["latest", "skip", "all"])
def test_a_month_of_every_minute_is_accounted_for_tick_by_tick(policy: str) -> None:
    menu = Planned(declare(EVERY_MINUTE, catch_up=policy), at("2025-12-06 10:00:00"))
    now, ticks = at("2026-01-05 10:00:05"), 0

    while menu.state.planned_to < now:
        menu.tick(now + ticks * MINUTE)
        ticks += 1
        assert ticks < 8

    assert set(menu.accounts().values()) == {1}
    assert len(menu.accounts()) == 30 * 24 * 60 + ticks
    newest = short((now + (ticks - 1) * MINUTE).replace(second=0))
    assert menu.ran[-1] == newest
    assert len(menu.ran) <= {"latest": 1, "skip": 3, "all": 100 + ticks}[policy]
    reasons = {gap.reason for gap in menu.gaps}
    expected = {
        "latest": {GapReason.SUPERSEDED},
        "skip": {GapReason.LATE},
        "all": {GapReason.LATE, GapReason.CATCH_UP_LIMIT},
    }
    assert reasons == expected[policy]


# --- what is certain of a stretch that goes on ------------------------------------------------------------

TIMES = [at("2026-01-05 00:00:00") + n * MINUTE for n in range(6)]


def fates(job: Job, barred: Sequence[Fate | None], *, more: bool) -> list[Fate]:
    scene = Scene(now=at("2026-01-05 12:00:00"), resumed_at=None, retention=RETENTION, more=more)
    return judge(job, TIMES, barred, scene)


def test_of_a_stretch_that_goes_on_latest_answers_up_to_its_newest_candidate() -> None:
    barred = [None, Fate.EXCLUDED, None, None, Fate.EXCLUDED, Fate.EXCLUDED]
    job = declare(EVERY_MINUTE)

    assert fates(job, barred, more=False) == [
        Fate.SUPERSEDED,
        Fate.EXCLUDED,
        Fate.SUPERSEDED,
        Fate.RUN,
        Fate.EXCLUDED,
        Fate.EXCLUDED,
    ]
    assert fates(job, barred, more=True) == [Fate.SUPERSEDED, Fate.EXCLUDED, Fate.SUPERSEDED]


def test_of_a_stretch_that_goes_on_latest_gives_up_a_candidate_that_has_only_barred_ones_behind_it() -> None:
    barred: list[Fate | None] = [None, *5 * [Fate.EXCLUDED]]

    assert fates(declare(EVERY_MINUTE), barred, more=True) == [Fate.SUPERSEDED, *5 * [Fate.EXCLUDED]]


def test_of_a_stretch_that_goes_on_all_answers_what_is_over_the_cap_already() -> None:
    job = declare(EVERY_MINUTE, catch_up="all", catch_up_cap=2)

    assert fates(job, 6 * [None], more=False) == [*4 * [Fate.CATCH_UP_LIMIT], Fate.RUN, Fate.RUN]
    assert fates(job, 6 * [None], more=True) == 4 * [Fate.CATCH_UP_LIMIT]


def test_of_a_stretch_that_goes_on_all_runs_the_oldest_when_nothing_else_is_certain() -> None:
    job = declare(EVERY_MINUTE, catch_up="all", catch_up_cap=100)

    assert fates(job, 6 * [None], more=True) == 6 * [Fate.RUN]


def test_what_is_too_late_now_is_too_late_whatever_follows() -> None:
    job = declare(EVERY_MINUTE, max_lateness="1h")

    assert fates(job, 6 * [None], more=True) == 6 * [Fate.LATE]


def test_nothing_to_judge_is_nothing_judged() -> None:
    scene = Scene(now=datetime.max.replace(tzinfo=TIMES[0].tzinfo), resumed_at=None, retention=RETENTION)

    assert judge(declare(EVERY_MINUTE), [], [], scene) == []


# --- what of it fits into one window ----------------------------------------------------------------------


def part_of(fates_of_times: Sequence[Fate]) -> Part:
    times = [at("2026-01-05 00:00:00") + n * MINUTE for n in range(len(fates_of_times))]
    scene = Scene(now=at("2026-01-05 12:00:00"), resumed_at=None, retention=RETENTION)
    births = Births(job=declare(EVERY_MINUTE), schedule=EVERY_MINUTE, scene=scene, slots=Slots())
    return births.part(merged(times, fates_of_times))


def test_the_latest_run_is_not_written_before_everything_that_follows_it_fits() -> None:
    part = part_of([*3 * [Fate.SUPERSEDED], Fate.RUN, *100 * [Fate.SAME_LOCAL_TIME]])

    assert part.runs == ()
    assert spans(part.gaps) == ["05 00:00 - 05 00:02: 3 superseded"]
    assert part.last == at("2026-01-05 00:02:00")


def test_a_latest_run_that_comes_first_is_written_so_that_the_stretch_gets_shorter() -> None:
    part = part_of([Fate.RUN, *100 * [Fate.SAME_LOCAL_TIME]])

    assert len(part.runs) == 89
    assert part.runs[0].status is RunStatus.PENDING
    assert part.last == at("2026-01-05 01:28:00")


def test_a_stretch_that_fits_is_written_with_its_run() -> None:
    part = part_of([*3 * [Fate.SUPERSEDED], Fate.RUN, *87 * [Fate.SAME_LOCAL_TIME]])

    assert [run.status for run in part.runs].count(RunStatus.PENDING) == 1
    assert part.last == at("2026-01-05 01:30:00")
