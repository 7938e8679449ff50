"""Clock changes and new zone data.

Invariants:
- by one release of the data no local time of a fixed-time schedule is suppressed or found twice;
- a local time that ran does not run again because new data moved it later, unless the job asks for both;
- a local time that new data moved to before `planned_to` is planned, late; nothing else there is touched;
- schedules that follow the clock, and jobs of other zones, are not touched at all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core.jobstate import Held
from cronce.core.run import Notice, RunStatus
from cronce.core.schedule import Cron, Schedule
from cronce.core.zone_change import first_wall, moved_before, repeats, wall
from tests.core.planned_job import DAY, MINUTE, Planned, at, declare, spans
from tests.core.zone_data import zone_data

VANCOUVER = "America/Vancouver"
BEFORE, AFTER = "2026e", "2026f"
WINTER_AT_8 = "America/Los_Angeles"
"""09:00 is 17:00Z in December, as in Vancouver by the data before 2026f."""


def nine_o_clock(**policies: Any) -> Planned:
    return Planned(declare(Cron("0 9 * * *", tz=VANCOUVER), **policies), at("2026-11-30 20:00:00"))


# --- one local time, moved later --------------------------------------------------------------------------


def test_p67_nine_in_vancouver_is_at_16_utc_in_december() -> None:
    assert Cron("0 9 * * *", tz=VANCOUVER).next_after(at("2026-11-30 20:00:00")) == at("2026-12-01 16:00:00")


def test_p68_i14_a_local_time_that_ran_does_not_run_again_an_hour_later() -> None:
    job = nine_o_clock()
    job.tick(at("2026-12-01 16:00:05"), zone_data=AFTER)

    with zone_data(VANCOUVER, like=WINTER_AT_8):
        adopted = job.tick(at("2026-12-01 16:30:05"), zone_data=BEFORE)
        job.tick(at("2026-12-01 17:00:05"), zone_data=BEFORE)
        job.tick(at("2026-12-02 17:00:05"), zone_data=BEFORE)

    assert adopted.after.next_at == at("2026-12-01 17:00:00")
    assert (adopted.runs, adopted.gaps, adopted.after.zone_data) == ((), (), BEFORE)
    assert job.ran == ["01 16:00", "02 17:00"]
    assert job.skipped == ["01 17:00 same_local_time"]
    skipped = job.runs[1]
    assert (skipped.status, skipped.notice, skipped.due_at) == (RunStatus.SKIPPED, None, None)


def test_p68_a_job_that_asks_for_both_passes_runs_again() -> None:
    job = Planned(declare(Cron("0 9 * * *", tz=VANCOUVER, dst_repeat="both")), at("2026-11-30 20:00:00"))
    job.tick(at("2026-12-01 16:00:05"), zone_data=AFTER)

    with zone_data(VANCOUVER, like=WINTER_AT_8):
        job.tick(at("2026-12-01 17:00:05"), zone_data=BEFORE)

    assert job.ran == ["01 16:00", "01 17:00"]


def test_i14_of_several_local_times_each_that_ran_is_suppressed_once_and_the_next_one_runs() -> None:
    job = Planned(declare(Cron("*/30 8-17 * * *", tz=VANCOUVER)), at("2026-12-01 15:58:00"))
    for minutes in (0, 30):
        job.tick(at("2026-12-01 16:00:05") + minutes * MINUTE, zone_data=AFTER)

    with zone_data(VANCOUVER, like=WINTER_AT_8):
        for minutes in range(31, 125):
            job.tick(at("2026-12-01 16:00:05") + minutes * MINUTE, zone_data=BEFORE)

    assert job.ran == ["01 16:00", "01 16:30", "01 18:00"]  # 09:00, 09:30, 10:00
    assert job.skipped == ["01 17:00 same_local_time", "01 17:30 same_local_time"]


def test_neighbouring_suppressed_times_are_records_of_their_own() -> None:
    """No gap says `same_local_time`; a window full of them is cut like any other."""
    job = Planned(declare(Cron("* 8-17 * * *", tz=VANCOUVER)), at("2026-12-01 16:59:30"))
    job.tick(at("2026-12-01 17:00:05"), zone_data=AFTER)  # 10:00

    with zone_data(VANCOUVER, like="Pacific/Honolulu"):  # three hours back: 07:00
        parts = [job.tick(at("2026-12-01 20:30:05") + n * MINUTE, zone_data=BEFORE) for n in range(4)]

    assert [part.after.held for part in parts] == [Held.BEHIND, None, None, None]
    assert len(job.skipped) == 121  # 08:00 to 10:00
    assert all(text.endswith("same_local_time") for text in job.skipped)
    assert set(job.accounts().values()) == {1}


# --- one local time, moved earlier ------------------------------------------------------------------------


def test_p68_i14_a_local_time_moved_to_half_an_hour_ago_runs_once_and_late() -> None:
    with zone_data(VANCOUVER, like=WINTER_AT_8):
        job = nine_o_clock()
        job.state = replace(job.state, zone_data=BEFORE)
        assert job.state.next_at == at("2026-12-01 17:00:00")

    job.tick(at("2026-12-01 16:30:05"), zone_data=AFTER)
    job.tick(at("2026-12-01 17:00:05"), zone_data=AFTER)
    job.tick(at("2026-12-02 16:00:05"), zone_data=AFTER)

    assert job.ran == ["01 16:00", "02 16:00"]
    assert job.skipped == []
    assert job.gaps == []


def test_i14_a_local_time_moved_to_before_planned_to_is_found_and_planned() -> None:
    """08:00 ran at 16:00Z; by the new data 08:30 was at 15:30Z, before `planned_to`, and never ran."""
    with zone_data(VANCOUVER, like=WINTER_AT_8):
        job = Planned(declare(Cron("0,30 8 * * *", tz=VANCOUVER)), at("2026-12-01 15:30:00"))
        job.tick(at("2026-12-01 16:00:05"), zone_data=BEFORE)

    window = job.tick(at("2026-12-01 16:10:05"), zone_data=AFTER)
    job.tick(at("2026-12-01 16:30:05"), zone_data=AFTER)
    job.tick(at("2026-12-02 15:00:05"), zone_data=AFTER)

    assert job.ran == ["01 16:00", "01 15:30", "02 15:00"]
    assert window.after.planned_to == at("2026-12-01 16:10:05")
    assert window.after.next_at == at("2026-12-02 15:00:00")


@pytest.mark.parametrize("policy, ran", [("skip", []), ("latest", ["01 15:45"]), ("all", None)])
def test_moved_times_are_caught_up_by_policy(policy: str, ran: list[str] | None) -> None:
    with zone_data(VANCOUVER, like=WINTER_AT_8):
        job = Planned(declare(Cron("*/15 8 * * *", tz=VANCOUVER), catch_up=policy), at("2026-12-01 15:30:00"))
        job.tick(at("2026-12-01 16:00:05"), zone_data=BEFORE)
        job.runs.clear()

    job.tick(at("2026-12-01 16:10:05"), zone_data=AFTER)

    assert job.ran == (["01 15:15", "01 15:30", "01 15:45"] if ran is None else ran)
    if policy == "skip":
        assert spans(job.gaps) == ["01 15:15 - 01 15:45: 3 late"]
        assert job.gaps[0].notice is Notice.PENDING


def test_a_moved_stretch_too_long_for_one_tick_is_finished_by_the_next() -> None:
    with zone_data(VANCOUVER, like="Pacific/Honolulu"):  # 08:00 is 18:00Z
        job = Planned(declare(Cron("* 8-12 * * *", tz=VANCOUVER), catch_up="all"), at("2026-12-01 17:30:00"))
        job.tick(at("2026-12-01 18:00:05"), zone_data=BEFORE)
    planned_to = job.state.planned_to
    now = at("2026-12-01 18:00:30")  # 11:00 by now; 08:01 to 11:00 were never planned

    parts = [job.tick(now + n * MINUTE, zone_data=AFTER) for n in range(6)]

    behind = [part.after for part in parts if part.after.held is Held.BEHIND]
    assert len(behind) >= 2
    assert behind[0].zone_data == BEFORE
    assert behind[0].planned_to == planned_to
    assert parts[-1].after.zone_data == AFTER
    walls = sorted(run.scheduled_local for run in job.runs if run.status is not RunStatus.SKIPPED)
    assert len(walls) == len(set(walls))
    counted = sum(gap.count for gap in job.gaps) + len(job.runs)
    # 08:01 to 11:05 by the new data, and 08:00 by the old; 18:00Z is 08:00 by the one and 11:00 by the other.
    assert counted == 1 + 180 + 5


# --- not touched ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schedule, like",
    [
        (Cron("0 9 * * *", tz="Europe/Berlin"), WINTER_AT_8),
        (Cron("* * * * *", tz=VANCOUVER), WINTER_AT_8),
        (Cron("*/20 0-23 * * *", tz=VANCOUVER), "Pacific/Honolulu"),
    ],
    ids=["another zone", "every minute", "every hour"],
)
def test_i14_jobs_of_other_zones_and_those_that_follow_the_clock_are_not_touched(
    schedule: Schedule, like: str
) -> None:
    job = Planned(declare(schedule), at("2026-12-01 15:58:05"))
    for minute in range(180):
        now = at("2026-12-01 15:58:05") + minute * MINUTE
        if minute < 60:
            job.tick(now, zone_data=AFTER)
        else:
            with zone_data(VANCOUVER, like=like):
                job.tick(now, zone_data=BEFORE)

    ran = [run.ref.scheduled_at for run in job.runs]
    assert ran == schedule.between(at("2026-12-01 15:57:00"), at("2026-12-01 18:57:05"))
    assert job.gaps == []


def test_zone_data_that_is_not_known_counts_as_the_same() -> None:
    with zone_data(VANCOUVER, like=WINTER_AT_8):
        job = Planned(declare(Cron("0,30 8 * * *", tz=VANCOUVER)), at("2026-12-01 15:30:00"))
        job.tick(at("2026-12-01 16:00:05"), zone_data=BEFORE)
    job.state = replace(job.state, zone_data=None)

    window = job.tick(at("2026-12-01 16:10:05"), zone_data=AFTER)

    assert (window.runs, window.gaps) == ((), ())  # 08:30 was at 15:30Z, but nobody knows of a change
    assert window.after.zone_data == AFTER
    assert window.after.next_at == at("2026-12-02 15:00:00")


def test_a_new_release_that_says_the_same_about_a_zone_changes_the_version_only() -> None:
    job = nine_o_clock()
    job.tick(at("2026-12-01 16:00:05"), zone_data=AFTER)
    before = job.state

    assert job.tick(at("2026-12-01 16:30:05"), zone_data="2027a").after == replace(before, zone_data="2027a")


# --- clock changes without new data -----------------------------------------------------------------------

NIGHT = at("2026-11-01 04:00:00")  # New York is set back at 06:00Z


@pytest.mark.parametrize(
    "repeat, ran",
    [("first", ["01 05:30"]), ("last", ["01 06:30"]), ("both", ["01 05:30", "01 06:30"])],
)
def test_a_repeated_hour_runs_as_the_job_asks(repeat: str, ran: list[str]) -> None:
    job = Planned(declare(Cron("30 1 * * *", tz="America/New_York", dst_repeat=repeat)), NIGHT)

    for minute in range(240):
        job.tick(NIGHT + minute * MINUTE)

    assert (job.ran, job.skipped) == (ran, [])


@pytest.mark.parametrize("repeat", ["first", "last", "both"])
@pytest.mark.parametrize("seen", range(0, 240, 7))
def test_whenever_a_job_is_first_seen_in_that_night_it_runs_at_all_its_times_from_then_on(
    repeat: str, seen: int
) -> None:
    schedule = Cron("0,20,40 1 * * *", tz="America/New_York", dst_repeat=repeat)
    begin = NIGHT + seen * MINUTE
    job = Planned(declare(schedule), begin)

    for minute in range(seen, 300):
        zone = "2026f" if minute < seen + 20 else "2027a"  # a release that changes nothing here
        job.tick(NIGHT + minute * MINUTE, zone_data=zone)

    assert [run.ref.scheduled_at for run in job.runs] == schedule.between(
        begin - MINUTE, NIGHT + 299 * MINUTE
    )
    assert job.skipped == []


ZONES = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"]
FIELDS = st.sampled_from(["0", "30", "*/20", "15,45", "*"])
HOURS = st.sampled_from(["1", "2", "0-3", "1,2,3", "22-2", "3", "0,12"])


SCHEDULES = st.builds(
    lambda minute, hour, zone, repeat, gap: Cron(
        f"{minute} {hour} * * *", tz=zone, dst_repeat=repeat, dst_gap=gap
    ),
    FIELDS,
    HOURS,
    st.sampled_from(ZONES),
    st.sampled_from(["first", "last"]),
    st.sampled_from(["next_valid", "skip"]),
)


@given(schedule=SCHEDULES, minutes=st.integers(0, 2 * 365 * 24 * 60))
def test_by_one_release_of_the_data_local_times_of_fixed_time_schedules_increase(
    schedule: Cron, minutes: int
) -> None:
    """What the rule of `planned_local` rests on."""
    begin = at("2026-01-01 00:00:00") + minutes * MINUTE
    times = schedule.between(begin, begin + 10 * DAY, limit=3000)
    walls = [wall(schedule, instant) for instant in times]

    assert walls == sorted(set(walls))
    first = first_wall(schedule, begin, schedule.next_after(begin))
    assert not any(repeats(schedule, times, first))
    job = Planned(declare(schedule), begin)
    assert moved_before(schedule, replace(job.state, planned_to=begin, planned_local=first)) == []


def test_the_wall_time_never_moves_back_while_a_schedule_is_in_force() -> None:
    job = Planned(declare(Cron("*/10 * * * *", tz="America/New_York")), NIGHT)
    walls = []
    for minute in range(240):
        job.tick(NIGHT + minute * MINUTE)
        walls.append(job.state.planned_local)

    assert walls == sorted(walls)
    assert len(job.ran) == 24
