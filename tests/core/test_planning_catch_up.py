"""What becomes of occurrences that were missed.

Invariants:
- `latest` runs one, `all` the newest up to its cap, `skip` those that are on time; the rest is recorded with
  its reason;
- neighbouring skips of one reason are one gap; only gaps late and over the cap are told;
- caught-up runs wait in line, in order, behind what waits already;
- a window has at most 90 writes; of several parts of one outage only the last holds the `latest` run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from cronce.core.job import Job
from cronce.core.records import Slots
from cronce.core.run import Notice, Reason, RunStatus
from cronce.core.schedule import Cron, Every
from tests.core.planned_job import DAY, MINUTE, RETENTION, Planned, at, declare, spans

EVERY_MINUTE = Cron("* * * * *")


def missed(job: Job, since: str, until: str) -> Planned:
    """A job that was planned up to `since`, and its first tick after an outage."""
    planned = Planned(job, at(since))
    planned.state = replace(planned.state, planned_to=at(since))
    planned.tick(at(until))
    return planned


# --- latest -----------------------------------------------------------------------------------------------


def test_p1_eight_hours_of_an_every_minute_job_are_one_run_and_one_gap() -> None:
    menu = missed(declare(EVERY_MINUTE), "2026-01-05 00:00:05", "2026-01-05 08:00:04")

    assert menu.ran == ["05 08:00"]
    assert spans(menu.gaps) == ["05 00:01 - 05 07:59: 479 superseded"]
    (gap,) = menu.gaps
    assert (gap.notice, gap.forget_at) == (None, at("2026-01-05 08:00:04") + RETENTION)
    menu.tick(at("2026-01-05 08:01:04"))
    assert menu.ran == ["05 08:00", "05 08:01"]
    assert len(menu.gaps) == 1


def test_p5_p17_with_all_defaults_a_time_missed_for_twenty_minutes_runs_once_on_return() -> None:
    daily = missed(declare(Cron("0 6 * * *")), "2026-01-05 05:58:04", "2026-01-05 06:20:04")
    daily.tick(at("2026-01-05 06:21:04"))

    assert daily.ran == ["05 06:00"]
    assert daily.gaps == []
    assert daily.skipped == []


def test_a_single_superseded_time_is_a_record_of_its_own() -> None:
    hourly = missed(declare(Cron("0 * * * *")), "2026-01-05 00:30:00", "2026-01-05 02:10:00")

    assert hourly.ran == ["05 02:00"]
    assert hourly.skipped == ["05 01:00 superseded"]
    assert hourly.gaps == []


def test_p23_two_days_of_every_minute_under_a_bound_of_an_hour_are_one_run_and_one_told_gap() -> None:
    menu = missed(declare(EVERY_MINUTE, max_lateness="1h"), "2026-01-03 08:00:00", "2026-01-05 08:00:30")

    assert menu.ran == ["05 08:00"]
    assert spans(menu.gaps) == ["03 08:01 - 05 07:00: 2820 late", "05 07:01 - 05 07:59: 59 superseded"]
    assert [gap.notice for gap in menu.gaps] == [Notice.PENDING, None]


def test_when_even_the_newest_is_too_late_nothing_runs() -> None:
    daily = missed(
        declare(Cron("0 6 * * *"), max_lateness="1h"), "2026-01-03 05:00:00", "2026-01-05 08:00:00"
    )

    assert daily.ran == []
    assert spans(daily.gaps) == ["03 06:00 - 05 06:00: 3 late"]


def test_what_is_older_than_the_records_are_kept_never_runs() -> None:
    """Its record may have existed and be forgotten: it would run a second time."""
    rare = declare(Every("500d", anchor=at("2025-01-01 00:00:00")))
    for outage, ran in ((timedelta(days=398), True), (timedelta(days=399, minutes=1), False)):
        planned = Planned(rare, at("2024-12-31 23:00:00"))
        planned.tick(at("2025-01-01 00:00:00") + outage)
        assert bool(planned.ran) is ran
        assert bool(planned.skipped) is not ran


def test_a_short_retention_bounds_what_is_caught_up() -> None:
    daily = Planned(declare(Cron("0 6 * * *"), catch_up="all", max_lateness="30d"), at("2026-01-01 05:00:00"))

    daily.tick(at("2026-01-10 07:00:00"), retention=timedelta(days=7))

    assert daily.ran == ["05 06:00", "06 06:00", "07 06:00", "08 06:00", "09 06:00", "10 06:00"]
    assert spans(daily.gaps) == ["01 06:00 - 04 06:00: 4 late"]


# --- all --------------------------------------------------------------------------------------------------


def test_p25_without_a_cap_the_newest_hundred_run_and_the_overflow_is_told_once() -> None:
    menu = missed(declare(Every("5m"), catch_up="all"), "2026-01-05 00:00:00", "2026-01-05 12:00:01")
    for minute in range(1, 4):
        menu.tick(at("2026-01-05 12:00:01") + minute * MINUTE)

    assert len(menu.runs) == 100
    assert (menu.ran[0], menu.ran[-1]) == ("05 03:45", "05 12:00")
    assert spans(menu.gaps) == ["05 00:05 - 05 03:40: 44 catch_up_limit"]
    assert menu.gaps[0].notice is Notice.PENDING


def test_one_time_over_the_cap_is_a_gap_too() -> None:
    menu = missed(
        declare(Cron("0 * * * *"), catch_up="all", catch_up_cap=2),
        "2026-01-05 00:30:00",
        "2026-01-05 03:10:00",
    )

    assert menu.ran == ["05 02:00", "05 03:00"]
    assert spans(menu.gaps) == ["05 01:00 - 05 01:00: 1 catch_up_limit"]


def test_i36_eight_missed_runs_start_one_by_one_in_order() -> None:
    menu = missed(declare(Cron("0 * * * *"), catch_up="all"), "2026-01-05 00:30:00", "2026-01-05 08:10:00")

    assert len(menu.ran) == 8
    assert [run.status for run in menu.runs] == [RunStatus.PENDING] + 7 * [RunStatus.WAITING]
    assert {run.reason for run in menu.runs[1:]} == {Reason.QUEUED}
    now = at("2026-01-05 08:10:00")
    assert menu.runs[0].expect_by == now + menu.declared.grace
    assert {run.expect_by for run in menu.runs[1:]} == {None}
    assert {run.due_at for run in menu.runs[1:]} == {now + 10 * MINUTE}
    assert {run.dispatch for run in menu.runs[1:]} == {None}


def test_i36_a_run_that_is_on_time_waits_behind_the_late_ones_of_its_window() -> None:
    menu = missed(declare(Cron("0 * * * *"), catch_up="all"), "2026-01-05 00:30:00", "2026-01-05 03:00:05")

    assert [run.status for run in menu.runs] == [RunStatus.PENDING, RunStatus.WAITING, RunStatus.WAITING]


@pytest.mark.parametrize(
    "concurrency, held, queued, pending",
    [(1, 0, 0, 1), (3, 0, 0, 3), (3, 2, 0, 1), (3, 3, 0, 0), (3, 0, 2, 0), (None, 0, 0, 5), (50, 0, 0, 5)],
)
def test_as_many_caught_up_runs_start_as_slots_are_free(
    concurrency: int | None, held: int, queued: int, pending: int
) -> None:
    menu = Planned(
        declare(Cron("0 * * * *"), catch_up="all", concurrency=concurrency), at("2026-01-05 00:30:00")
    )
    ids = frozenset(f"menu@2026-01-04T{hour:02}:00:00Z" for hour in range(held))
    menu.state = replace(menu.state, slots=Slots(held=ids, queued=queued, fencing_token=7))

    menu.tick(at("2026-01-05 05:10:00"))

    assert len(menu.ran) == 5
    assert [run.status for run in menu.runs].count(RunStatus.PENDING) == pending
    assert all(run.status is RunStatus.PENDING for run in menu.runs[:pending])


@pytest.mark.parametrize("policy", ["latest", "skip"])
def test_a_run_that_is_on_time_does_not_wait_in_line(policy: str) -> None:
    """What becomes of it when the slots are full is judged at its claim, by the job's overlap."""
    menu = Planned(declare(EVERY_MINUTE, catch_up=policy), at("2026-01-05 00:00:05"))
    menu.state = replace(menu.state, slots=Slots(held=frozenset({"menu@2026-01-04T00:00:00Z"}), queued=3))

    menu.tick(at("2026-01-05 01:00:05"))

    assert {run.status for run in menu.runs} == {RunStatus.PENDING}
    assert menu.runs[-1].expect_by == at("2026-01-05 01:15:00")


def test_a_late_run_of_latest_waits_for_the_slot_that_is_taken() -> None:
    daily = Planned(declare(Cron("0 6 * * *")), at("2026-01-05 05:00:00"))
    daily.state = replace(daily.state, slots=Slots(held=frozenset({"menu@2026-01-04T06:00:00Z"})))

    (run,) = daily.tick(at("2026-01-05 06:20:00")).runs

    assert run.is_queued


# --- skip -------------------------------------------------------------------------------------------------


def test_p24_a_scheduler_frozen_for_78_minutes_starts_nothing_stale() -> None:
    menu = missed(declare(EVERY_MINUTE, catch_up="skip"), "2026-01-05 10:00:05", "2026-01-05 11:18:40")

    assert menu.ran == ["05 11:17", "05 11:18"]  # at most 150 s old
    assert spans(menu.gaps) == ["05 10:01 - 05 11:16: 76 late"]
    assert menu.gaps[0].notice is Notice.PENDING


def test_a_single_skipped_time_is_a_record_and_told() -> None:
    now = at("2026-01-05 06:20:04")
    daily = missed(declare(Cron("0 6 * * *"), catch_up="skip"), "2026-01-05 05:58:04", "2026-01-05 06:20:04")

    (run,) = daily.runs
    assert (run.status, run.reason, run.notice, run.due_at) == (
        RunStatus.SKIPPED,
        Reason.LATE,
        Notice.PENDING,
        now,
    )


# --- excluded ---------------------------------------------------------------------------------------------


def test_an_excluded_time_is_recorded_and_not_told() -> None:
    daily = Planned(declare(Cron("0 6 * * *"), exclude=[date(2026, 1, 6)]), at("2026-01-05 05:00:00"))

    for day in range(3):
        daily.tick(at("2026-01-05 06:00:04") + day * DAY)

    assert daily.ran == ["05 06:00", "07 06:00"]
    assert daily.skipped == ["06 06:00 excluded"]
    skipped = daily.runs[1]
    assert (skipped.notice, skipped.due_at, skipped.expect_by, skipped.dispatch) == (None, None, None, None)
    assert skipped.forget_at == skipped.created_at + RETENTION


def test_the_calendar_is_asked_for_the_local_date() -> None:
    asked: list[date] = []

    def is_holiday(day: date) -> bool:
        asked.append(day)
        return True

    tokyo = Planned(
        declare(Cron("0 6 * * *", tz="Asia/Tokyo"), exclude=is_holiday), at("2026-01-05 20:00:00")
    )
    tokyo.tick(at("2026-01-05 21:00:04"))

    assert asked == [date(2026, 1, 6)]
    assert tokyo.skipped == ["05 21:00 excluded"]


def test_exclusion_is_judged_first_and_the_newest_other_time_runs() -> None:
    daily = missed(
        declare(Cron("0 6 * * *"), exclude=[date(2026, 1, 5), date(2026, 1, 4)]),
        "2026-01-01 07:00:00",
        "2026-01-05 07:00:00",
    )

    assert daily.ran == ["03 06:00"]
    assert daily.skipped == ["02 06:00 superseded"]
    assert spans(daily.gaps) == ["04 06:00 - 05 06:00: 2 excluded"]


def test_the_calendar_is_asked_once_for_each_date_of_a_long_window() -> None:
    asked: list[date] = []

    def never(day: date) -> bool:
        asked.append(day)
        return False

    missed(declare(EVERY_MINUTE, exclude=never), "2026-01-01 00:00:00", "2026-01-03 12:00:00")

    assert asked == [date(2026, 1, day) for day in (1, 2, 3)]
