"""Pause and resume.

Invariants:
- nothing is planned while a job is paused, whatever else happens to it;
- after `resume` the stretch is caught up by the job's policy whatever its age, and what does not run is
  gap(paused);
- what comes after `resume` is judged as ever, and nothing raises an alarm.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from cronce.core.jobstate import Held
from cronce.core.run import RunStatus
from cronce.core.schedule import Cron
from tests.core.planned_job import MINUTE, Planned, at, declare, spans

EVERY_MINUTE = Cron("* * * * *")


def paused_for_four_minutes(policy: str) -> Planned:
    menu = Planned(declare(EVERY_MINUTE, catch_up=policy), at("2026-01-05 11:31:02"))
    menu.tick(at("2026-01-05 11:31:02"))
    menu.runs.clear()
    menu.pause(at("2026-01-05 11:31:20"))
    for minute in range(32, 36):
        assert menu.look(at(f"2026-01-05 11:{minute}:02")) is None
    menu.resume(at("2026-01-05 11:35:20"))
    return menu


@pytest.mark.parametrize(
    "policy, ran, gaps",
    [
        ("skip", [], ["05 11:32 - 05 11:35: 4 paused"]),
        ("latest", ["05 11:35"], ["05 11:32 - 05 11:34: 3 paused"]),
        ("all", ["05 11:32", "05 11:33", "05 11:34", "05 11:35"], []),
    ],
)
def test_p19_i3_four_paused_minutes_are_caught_up_by_policy(
    policy: str, ran: list[str], gaps: list[str]
) -> None:
    menu = paused_for_four_minutes(policy)

    state = menu.tick(at("2026-01-05 11:35:40")).after

    assert (menu.ran, spans(menu.gaps)) == (ran, gaps)
    assert (state.resumed_at, state.next_at) == (None, at("2026-01-05 11:36:00"))
    assert {gap.notice for gap in menu.gaps} <= {None}


@pytest.mark.parametrize(
    "policy, ran, gaps",
    [
        ("skip", ["05 11:36"], ["05 11:32 - 05 11:35: 4 paused"]),
        ("latest", ["05 11:36"], ["05 11:32 - 05 11:35: 4 paused"]),
        ("all", ["05 11:32", "05 11:33", "05 11:34", "05 11:35", "05 11:36"], []),
    ],
)
def test_p19_the_first_time_after_resume_is_on_time_and_serves_as_the_latest(
    policy: str, ran: list[str], gaps: list[str]
) -> None:
    menu = paused_for_four_minutes(policy)

    menu.tick(at("2026-01-05 11:36:02"))

    assert (menu.ran, spans(menu.gaps)) == (ran, gaps)


def test_paused_times_that_are_caught_up_wait_in_line() -> None:
    menu = paused_for_four_minutes("all")

    menu.tick(at("2026-01-05 11:35:40"))

    assert [run.status for run in menu.runs] == [RunStatus.PENDING, *3 * [RunStatus.WAITING]]


def test_a_resume_with_nothing_missed_puts_the_job_back_in_its_place() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 09:00:00"))
    before = daily.state
    daily.pause(at("2026-01-05 10:00:00"))
    daily.resume(at("2026-01-05 11:00:00"))

    assert daily.tick(at("2026-01-05 11:01:00")).after == before


def test_i48_a_resume_after_a_month_expects_nothing_of_the_past() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 09:00:00"))
    daily.pause(at("2026-01-05 10:00:00"))
    daily.resume(at("2026-02-05 11:00:00"))

    now = at("2026-02-05 11:00:30")
    state = daily.tick(now).after

    assert daily.ran == ["05 08:00"]
    assert daily.runs[0].expect_by == now + daily.declared.grace
    assert spans(daily.gaps) == ["06 08:00 - 04 08:00: 30 paused"]
    assert state.expect_by == at("2026-02-06 08:15:00")


def test_everything_of_the_pause_that_does_not_run_is_one_gap_excluded_days_too() -> None:
    daily = Planned(
        declare(Cron("0 8 * * *"), exclude=[date(2026, 1, 8)], max_lateness="2d"), at("2026-01-05 09:00:00")
    )
    daily.pause(at("2026-01-05 10:00:00"))
    daily.resume(at("2026-01-12 11:00:00"))

    daily.tick(at("2026-01-12 11:00:30"))

    assert daily.ran == ["12 08:00"]
    assert daily.skipped == []
    assert spans(daily.gaps) == ["06 08:00 - 11 08:00: 6 paused"]


def test_a_single_paused_time_is_a_gap_of_one() -> None:
    daily = Planned(declare(Cron("0 8 * * *"), catch_up="skip"), at("2026-01-05 09:00:00"))
    daily.pause(at("2026-01-05 10:00:00"))
    daily.resume(at("2026-01-06 11:00:00"))

    daily.tick(at("2026-01-06 11:00:30"))

    assert spans(daily.gaps) == ["06 08:00 - 06 08:00: 1 paused"]


def test_what_a_dead_scheduler_missed_after_the_resume_is_not_called_paused() -> None:
    menu = paused_for_four_minutes("latest")

    menu.tick(at("2026-01-05 11:50:02"))

    assert menu.ran == ["05 11:50"]
    assert spans(menu.gaps) == ["05 11:32 - 05 11:35: 4 paused", "05 11:36 - 05 11:49: 14 superseded"]


def test_a_resume_that_is_ahead_of_the_scheduler_s_clock_is_remembered() -> None:
    menu = paused_for_four_minutes("skip")
    menu.state = replace(menu.state, resumed_at=at("2026-01-05 11:36:01"))

    state = menu.tick(at("2026-01-05 11:35:59")).after
    assert state.resumed_at == at("2026-01-05 11:36:01")
    menu.tick(at("2026-01-05 11:36:05"))

    assert menu.ran == []
    assert spans(menu.gaps) == ["05 11:32 - 05 11:35: 4 paused", "05 11:36 - 05 11:36: 1 paused"]
    assert menu.state.resumed_at is None


def test_i12_a_year_of_a_paused_every_minute_job_ends_its_tick_in_bounds() -> None:
    menu = Planned(declare(EVERY_MINUTE), at("2025-01-05 10:00:02"))
    menu.pause(at("2025-01-05 10:00:30"))
    menu.resume(at("2026-01-05 10:00:30"))

    (gap,) = menu.tick(at("2026-01-05 10:01:02")).gaps

    assert gap.count == 19_999
    assert menu.ran == []


def test_i12_two_months_of_a_paused_every_minute_job_are_one_run_after_a_few_ticks() -> None:
    menu = Planned(declare(EVERY_MINUTE), at("2025-11-05 10:00:02"))
    menu.pause(at("2025-11-05 10:00:30"))
    menu.resume(at("2026-01-05 10:00:30"))
    now, ticks = at("2026-01-05 10:01:02"), 0

    while menu.state.planned_to < now:
        window = menu.tick(now + ticks * MINUTE)
        ticks += 1
        assert len(window.gaps) <= 2
        assert sum(gap.count for gap in window.gaps) <= 20_000
        assert ticks <= 5

    assert len(menu.ran) == 1
    assert set(menu.accounts().values()) == {1}
    assert menu.state.resumed_at is None


def test_the_pause_is_remembered_until_all_of_it_is_accounted_for() -> None:
    menu = Planned(declare(EVERY_MINUTE), at("2025-12-05 10:00:02"))
    menu.pause(at("2025-12-05 10:00:30"))
    menu.resume(at("2026-01-05 10:00:30"))

    part = menu.tick(at("2026-01-05 10:01:02"))

    assert (part.after.held, part.after.resumed_at) == (Held.BEHIND, at("2026-01-05 10:00:30"))
    assert part.after.expect_by == at("2026-01-05 10:16:02")


def test_i15_a_paused_job_stays_paused_through_everything_else() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 09:00:00"))
    daily.pause(at("2026-01-05 10:00:00"))
    paused = daily.state
    daily.state = replace(paused, held=Held.UNAVAILABLE, removed_at=at("2026-01-06 10:00:00"))
    daily.declared = declare(Cron("0 9 * * *"), grace="2h")

    state = daily.tick(at("2026-03-01 10:00:00"), zone_data="2027a").after

    assert state == replace(paused, grace=daily.declared.grace)
    assert state.due_at is None
    assert (daily.runs, daily.gaps) == ([], [])


def test_a_schedule_changed_during_a_pause_is_adopted_after_the_paused_stretch() -> None:
    daily = Planned(declare(Cron("0 8 * * *"), catch_up="all", max_lateness="5d"), at("2026-01-05 09:00:00"))
    daily.pause(at("2026-01-05 10:00:00"))
    daily.declared = declare(Cron("0 9 * * *"), catch_up="all", max_lateness="5d")
    assert daily.look(at("2026-01-07 10:00:00")) is None
    daily.resume(at("2026-01-07 11:00:00"))

    state = daily.tick(at("2026-01-07 11:00:30")).after
    daily.tick(at("2026-01-08 09:00:02"))

    assert daily.ran == ["06 08:00", "07 08:00", "08 09:00"]
    assert state.schedule == Cron("0 9 * * *").spec()
    assert daily.state.next_at == at("2026-01-09 09:00:00")
