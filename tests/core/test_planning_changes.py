"""Changed schedules, and jobs that were away.

Invariants:
- no stretch of time is judged by a schedule that came later, and none is judged twice;
- a changed schedule is in force only once the stretch before it is accounted for;
- a job that is back within a day goes on; later it begins anew, behind one gap.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from cronce.core.jobstate import Held
from cronce.core.run import Reason
from cronce.core.schedule import At, Cron, Every, schedule_hash
from tests.core.planned_job import DAY, HOUR, MINUTE, Planned, at, declare, spans


def test_p21_a_daily_job_made_hourly_in_the_afternoon_gets_nothing_for_the_hours_before() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:00:00"))
    job.tick(at("2026-01-05 06:00:04"))
    job.declared = declare(Cron("0 * * * *"))

    job.tick(at("2026-01-05 15:01:04"))
    job.tick(at("2026-01-05 16:00:04"))

    assert job.ran == ["05 06:00", "05 16:00"]
    assert job.gaps == []
    assert job.skipped == []


def test_a_schedule_deployed_within_the_minute_of_its_time_runs_at_that_time() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:00:00"))
    job.declared = declare(Cron("0 15 * * *"))

    job.tick(at("2026-01-05 15:00:04"))
    job.tick(at("2026-01-05 15:00:04"))

    assert job.ran == ["05 06:00", "05 15:00"]


def test_i5_a_time_missed_by_the_old_schedule_is_accounted_for_by_it() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:58:04"))
    job.declared = declare(Cron("0 7 * * *"))

    window = job.tick(at("2026-01-05 06:20:04"))
    job.tick(at("2026-01-05 07:00:04"))

    assert job.ran == ["05 06:00", "05 07:00"]
    assert window.after.planned_to == at("2026-01-05 06:19:00")
    assert window.after.schedule_hash == schedule_hash(Cron("0 7 * * *"))
    assert window.after.next_at == at("2026-01-05 07:00:00")


def test_i5_the_tick_that_adopts_dies_and_a_second_change_follows() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:58:04"))
    job.declared = declare(Cron("0 7 * * *"))
    assert job.look(at("2026-01-05 06:20:04")) is not None  # and was never written
    job.declared = declare(Cron("30 7 * * *"))

    job.tick(at("2026-01-05 06:21:04"))
    job.tick(at("2026-01-05 07:30:04"))

    assert job.ran == ["05 06:00", "05 07:30"]


def test_i5_the_policy_of_today_judges_what_the_old_schedule_missed() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:58:04"))
    job.declared = declare(Cron("0 7 * * *"), catch_up="skip")

    job.tick(at("2026-01-05 06:20:04"))

    assert job.ran == []
    assert job.skipped == ["05 06:00 late"]


def test_i4_two_versions_that_tick_in_turn_plan_the_job_and_nothing_twice() -> None:
    job = Planned(declare(Cron("*/2 * * * *")), at("2026-01-05 10:00:04"))
    for minute in range(60):
        job.declared = declare(Cron("*/2 * * * *") if minute % 2 else Cron("*/3 * * * *"))
        for _ in range(2):  # adopted, then planned, as one tick does
            job.tick(at("2026-01-05 10:00:04") + minute * MINUTE)

    planned = [run.ref.scheduled_at for run in job.runs]
    assert len(planned) == len(set(planned))
    by_both = {at("2026-01-05 10:00:00") + n * MINUTE for n in range(0, 60, 6)}
    assert by_both <= set(planned)
    assert {instant.minute for instant in planned} <= {n for n in range(60) if n % 2 == 0 or n % 3 == 0}


def test_a_change_while_the_job_is_behind_waits_until_the_old_stretch_is_done() -> None:
    old, new = Cron("0 6 * * *"), Cron("0 7 * * *")
    exclude = lambda day: day.toordinal() % 2 == 0  # noqa: E731
    job = Planned(declare(old, exclude=exclude), at("2025-05-01 05:00:00"))
    job.declared = declare(new, exclude=exclude)
    now = at("2026-01-05 07:10:00")

    parts = [job.tick(now + n * MINUTE) for n in range(4)]

    assert [part.after.schedule_hash for part in parts] == [
        *2 * [schedule_hash(old)],
        *2 * [schedule_hash(new)],
    ]
    assert [part.after.held for part in parts[:3]] == [Held.BEHIND, Held.BEHIND, None]
    assert len(job.ran) == 1
    assert {run.ref.scheduled_at.hour for run in job.runs} == {6}


def test_another_zone_or_policy_is_another_schedule_or_not() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 07:00:00"))
    job.declared = declare(Cron("0 6 * * *"), catch_up="all", concurrency=3)
    assert job.look(at("2026-01-05 07:01:00")) is None

    job.declared = declare(Cron("0 6 * * *", tz="America/New_York"))
    state = job.tick(at("2026-01-05 07:02:00")).after

    assert state.next_at == at("2026-01-05 11:00:00")
    assert state.planned_local == at("2026-01-05 02:01:00").replace(tzinfo=None)


def test_i14_a_job_moved_to_another_zone_runs_at_its_new_local_time() -> None:
    """06:00 ran in Berlin; the same wall time in New York is later, and is not taken for the same."""
    job = Planned(declare(Cron("0 6 * * *", tz="Europe/Berlin")), at("2026-01-05 04:59:00"))
    job.tick(at("2026-01-05 05:00:04"))
    job.declared = declare(Cron("0 6 * * *", tz="America/New_York"))

    job.tick(at("2026-01-05 06:00:04"))
    job.tick(at("2026-01-05 11:00:04"))

    assert job.ran == ["05 05:00", "05 11:00"]
    assert job.skipped == []


def test_a_one_off_moved_to_an_hour_ago_runs_late() -> None:
    job = Planned(declare(At(at("2026-01-09 12:00:00"))), at("2026-01-05 10:00:00"))
    job.declared = declare(At(at("2026-01-05 11:00:00")))

    job.tick(at("2026-01-05 12:00:04"))
    job.tick(at("2026-01-05 12:00:04"))

    assert job.ran == ["05 11:00"]


def test_a_stored_schedule_that_cannot_be_read_gives_way_to_the_declared_one() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:58:04"))
    broken = {**job.state.schedule, "tz": "Mars/Olympus"}
    job.state = replace(job.state, schedule=broken, schedule_hash="of another schedule")

    window = job.tick(at("2026-01-05 06:20:04"))

    assert spans(job.gaps) == ["05 06:00 - 05 06:00: 1 redefined"]
    assert window.after.schedule == Cron("0 6 * * *").spec()
    assert window.after.next_at == at("2026-01-06 06:00:00")


def test_of_an_unreadable_schedule_that_missed_nothing_no_gap_is_left() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:58:04"))
    job.state = replace(job.state, schedule={"kind": "moon"}, schedule_hash="of another schedule")

    job.tick(at("2026-01-05 05:59:04"))

    assert job.gaps == []
    assert job.state.next_at == at("2026-01-05 06:00:00")


# --- away and back ----------------------------------------------------------------------------------------


def removed(job: Planned, since: str) -> None:
    job.state = replace(job.state, removed_at=at(since), due_at=None, expect_by=None)


def test_i9_a_job_that_is_back_within_a_day_goes_on_where_it_stopped() -> None:
    hourly = Planned(declare(Cron("0 * * * *"), catch_up="all"), at("2026-01-05 10:30:00"))
    removed(hourly, "2026-01-05 10:40:00")

    state = hourly.tick(at("2026-01-05 13:30:00")).after

    assert hourly.ran == ["05 11:00", "05 12:00", "05 13:00"]
    assert (state.removed_at, state.due_at) == (None, at("2026-01-05 14:00:00"))


def test_i9_a_job_that_is_back_after_three_months_leaves_one_gap_and_no_flood() -> None:
    menu = Planned(declare(Cron("*/10 * * * *"), catch_up="all"), at("2025-10-05 10:00:00"))
    removed(menu, "2025-10-05 10:00:30")
    now = at("2026-01-05 10:00:04")

    state = menu.tick(now).after
    menu.tick(now)

    assert menu.ran == ["05 10:00"]
    assert spans(menu.gaps) == ["05 10:00 - 05 09:50: 13248 removed"]
    assert menu.gaps[0].notice is None
    assert (state.removed_at, state.held, state.planned_to) == (None, None, at("2026-01-05 09:59:00"))


def test_i9_three_months_of_minutes_are_counted_in_parts_that_fit_into_a_tick() -> None:
    menu = Planned(declare(Cron("* * * * *"), catch_up="all"), at("2025-10-05 10:00:00"))
    removed(menu, "2025-10-05 10:00:30")
    now = at("2026-01-05 10:00:04")

    parts = [menu.tick(now) for _ in range(8)]

    assert [part.after.held for part in parts] == [*6 * [Held.BEHIND], None, None]
    assert [gap.count for gap in menu.gaps] == [*6 * [20_000], 12_480]
    assert {gap.notice for gap in menu.gaps} == {None}
    assert menu.ran == ["05 10:00"]
    assert set(menu.accounts().values()) == {1}


def test_a_stretch_too_long_to_be_counted_at_once_takes_several_ticks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cronce.core.adoption.COUNTED", 1000)
    menu = Planned(declare(Cron("* * * * *")), at("2026-01-04 10:00:00"))
    removed(menu, "2026-01-04 09:59:30")
    now = at("2026-01-05 10:00:04")

    parts = [menu.tick(now + n * MINUTE) for n in range(4)]

    assert [part.after.held for part in parts] == [Held.BEHIND, None, None, None]
    assert [part.after.removed_at is None for part in parts] == [False, True, True, True]
    assert set(menu.accounts().values()) == {1}
    assert menu.ran == ["05 10:01", "05 10:02", "05 10:03"]


@pytest.mark.parametrize("away, anew", [(24 * HOUR, False), (24 * HOUR + timedelta(seconds=1), True)])
def test_a_day_is_the_border(away: timedelta, anew: bool) -> None:
    hourly = Planned(declare(Cron("0 * * * *")), at("2026-01-05 10:30:00"))
    removed(hourly, "2026-01-05 10:40:00")

    hourly.tick(at("2026-01-05 10:40:00") + away)

    assert hourly.ran == ([] if anew else ["06 10:00"])
    assert [gap.reason.value for gap in hourly.gaps] == (["removed"] if anew else ["superseded"])


def test_a_job_back_with_another_schedule_leaves_a_gap_by_the_old_one() -> None:
    job = Planned(declare(Cron("0 6 * * *")), at("2026-01-01 07:00:00"))
    removed(job, "2026-01-01 07:30:00")
    job.declared = declare(Cron("0 7 * * *"))

    job.tick(at("2026-01-05 08:00:00"))

    assert spans(job.gaps) == ["02 06:00 - 05 06:00: 4 removed"]
    assert job.state.next_at == at("2026-01-06 07:00:00")


def test_a_one_off_that_was_removed_over_its_time_is_not_run_when_it_comes_back() -> None:
    once = Planned(declare(At(at("2026-01-06 12:00:00"))), at("2026-01-05 10:00:00"))
    removed(once, "2026-01-05 11:00:00")

    once.tick(at("2026-02-05 10:00:00"))
    once.tick(at("2026-02-05 10:01:00"))

    assert once.runs == []
    assert spans(once.gaps) == ["06 12:00 - 06 12:00: 1 removed"]


def test_a_one_off_that_ran_and_was_removed_does_not_run_again() -> None:
    once = Planned(declare(At(at("2026-01-06 12:00:00"))), at("2026-01-05 10:00:00"))
    once.tick(at("2026-01-06 12:00:04"))
    removed(once, "2026-01-06 13:00:00")

    once.tick(at("2026-01-06 12:00:00") + 30 * DAY)

    assert len(once.runs) == 1
    assert once.gaps == []


def test_excluded_dates_follow_the_zone_of_the_schedule_in_force() -> None:
    """The old schedule's evening in New York is the 5th there and the 6th in UTC."""
    job = Planned(declare(Cron("0 20 * * *", tz="America/New_York")), at("2026-01-05 23:00:00"))
    job.declared = declare(Cron("0 6 * * *"), exclude=[date(2026, 1, 5)])

    job.tick(at("2026-01-06 01:10:00"))

    assert [(run.reason, run.scheduled_local) for run in job.runs] == [
        (Reason.EXCLUDED, "2026-01-05T20:00:00-05:00")
    ]


def test_every_takes_over_from_cron_at_the_anchor() -> None:
    job = Planned(declare(Cron("0 * * * *")), at("2026-01-05 10:30:00"))
    job.declared = declare(Every("10m"))

    job.tick(at("2026-01-05 10:40:20"))
    job.tick(at("2026-01-05 10:40:20"))

    assert job.ran == ["05 10:40"]
