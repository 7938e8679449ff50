"""Cron schedules on the days when clocks change.

Invariants:
- a fixed time that is shown twice fires once, in the pass that `dst_repeat` names (both, if asked for);
- a fixed time that is skipped fires where the jump lands, or not at all, as `dst_gap` says;
- an every-hour schedule loses and doubles no real hour;
- what stands in for skipped times, and what is shown twice, can be told apart from an ordinary occurrence.
"""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest

from cronce.core.schedule import At, Cron, DstGap, DstRepeat, Every

NEW_YORK = "America/New_York"
SPRING = datetime(2026, 3, 8, 5, 0, tzinfo=UTC)  # midnight in New York, clocks go forward at 07:00Z
AUTUMN = datetime(2026, 11, 1, 4, 0, tzinfo=UTC)  # midnight in New York, clocks go back at 06:00Z
ONE_DAY = timedelta(hours=23)


def times(schedule: Cron, day: datetime) -> list[str]:
    """The occurrences of one local day as UTC clock times."""
    occurrences = schedule.between(day - timedelta(seconds=1), day + ONE_DAY)
    return [f"{occurrence:%H:%M}" for occurrence in occurrences]


COMBINATIONS = list(itertools.product(("next_valid", "skip"), ("first", "last", "both")))
IN_AUTUMN = {"first": ["05:30"], "last": ["06:30"], "both": ["05:30", "06:30"]}
IN_SPRING = {"next_valid": ["07:00"], "skip": []}


@pytest.mark.parametrize("gap,repeat", COMBINATIONS)
def test_p57_half_past_one_is_shown_twice_in_autumn_and_once_in_spring(gap: str, repeat: str) -> None:
    schedule = Cron("30 1 * * *", tz=NEW_YORK, dst_gap=gap, dst_repeat=repeat)
    assert times(schedule, AUTUMN) == IN_AUTUMN[repeat]
    assert times(schedule, SPRING) == ["06:30"]


@pytest.mark.parametrize("gap,repeat", COMBINATIONS)
def test_p57_half_past_two_is_skipped_in_spring_and_shown_once_in_autumn(gap: str, repeat: str) -> None:
    schedule = Cron("30 2 * * *", tz=NEW_YORK, dst_gap=gap, dst_repeat=repeat)
    assert times(schedule, SPRING) == IN_SPRING[gap]
    assert times(schedule, AUTUMN) == ["07:30"]


@pytest.mark.parametrize("gap,repeat", list(itertools.product(DstGap, DstRepeat)))
def test_p57_the_policies_are_members_or_their_text(gap: DstGap, repeat: DstRepeat) -> None:
    by_member = Cron("30 1 * * *", tz=NEW_YORK, dst_gap=gap, dst_repeat=repeat)
    by_text = Cron("30 1 * * *", tz=NEW_YORK, dst_gap=gap.value, dst_repeat=repeat.value)
    assert by_member == by_text
    assert (by_text.dst_gap, by_text.dst_repeat) == (gap, repeat)


@pytest.mark.parametrize("gap,repeat", COMBINATIONS)
def test_p57_an_every_hour_schedule_knows_no_policy(gap: str, repeat: str) -> None:
    schedule = Cron("30 * * * *", tz=NEW_YORK, dst_gap=gap, dst_repeat=repeat)
    plain = Cron("30 * * * *", tz=NEW_YORK)
    assert (
        times(schedule, AUTUMN)
        == times(plain, AUTUMN)
        == [f"{hour:02}:30" for hour in (*range(4, 24), 0, 1, 2)]
    )
    assert times(schedule, SPRING) == times(plain, SPRING)


def test_p56_two_o_clock_in_berlin_fires_once_when_it_is_shown_twice() -> None:
    day = Cron("0 2 * * *", tz="Europe/Berlin").between(
        datetime(2026, 10, 24, 22, 0, tzinfo=UTC), datetime(2026, 10, 25, 23, 0, tzinfo=UTC)
    )
    assert day == [datetime(2026, 10, 25, 0, 0, tzinfo=UTC)]


def test_p56_half_past_one_in_new_york_fires_once_when_it_is_shown_twice() -> None:
    assert times(Cron("30 1 * * *", tz=NEW_YORK), AUTUMN) == ["05:30"]


def test_p59_every_minute_has_1500_occurrences_on_a_day_of_25_hours() -> None:
    start = datetime(2026, 11, 1, 7, 0, tzinfo=UTC) - timedelta(seconds=1)  # midnight in Los Angeles
    end = datetime(2026, 11, 2, 8, 0, tzinfo=UTC) - timedelta(seconds=1)
    schedule = Cron("* * * * *", tz="America/Los_Angeles")
    occurrences = schedule.between(start, end)
    assert len(occurrences) == 1500
    assert {later - earlier for earlier, later in itertools.pairwise(occurrences)} == {timedelta(minutes=1)}
    assert {schedule.local(occurrence).date() for occurrence in occurrences} == {date(2026, 11, 1)}


@pytest.mark.parametrize(
    "hours", ["*", "0-23", "*/1", "0-11,12-23", "0/1", "12-11", ",".join(map(str, range(24)))]
)
def test_every_spelling_of_all_24_hours_is_the_same_schedule(hours: str) -> None:
    schedule = Cron(f"30 {hours} * * *", tz=NEW_YORK)
    assert not schedule.is_fixed_time
    assert times(schedule, AUTUMN) == times(Cron("30 * * * *", tz=NEW_YORK), AUTUMN)


@pytest.mark.parametrize("missing", range(24))
def test_23_of_24_hours_are_a_fixed_time_schedule(missing: int) -> None:
    hours = ",".join(str(hour) for hour in range(24) if hour != missing)
    schedule = Cron(f"30 {hours} * * *", tz=NEW_YORK)
    assert schedule.is_fixed_time
    assert "06:30" not in times(schedule, AUTUMN), "half past one, the second time"


def test_p58_a_firing_that_stands_in_for_skipped_times_names_them() -> None:
    landing = datetime(2026, 3, 8, 7, 0, tzinfo=UTC)
    schedule = Cron("0,30 2,3 * * *", tz=NEW_YORK)
    assert schedule.skipped_walls(landing) == (
        datetime.fromisoformat("2026-03-08T02:00"),
        datetime.fromisoformat("2026-03-08T02:30"),
    )
    assert schedule.local(landing).isoformat() == "2026-03-08T03:00:00-04:00"


def test_p58_an_ordinary_firing_stands_in_for_nothing() -> None:
    landing = datetime(2026, 3, 8, 7, 0, tzinfo=UTC)
    assert Cron("30 2 * * *", tz=NEW_YORK).skipped_walls(landing + timedelta(days=1)) == ()
    assert Cron("0 3 * * *", tz=NEW_YORK).skipped_walls(landing) == ()
    assert Cron("30 2 * * *", tz=NEW_YORK, dst_gap="skip").skipped_walls(landing) == ()
    assert Cron("30 * * * *", tz=NEW_YORK).skipped_walls(landing) == ()
    assert Every("1h").skipped_walls(landing) == ()


def test_p58_a_time_that_is_shown_twice_tells_both_passes() -> None:
    first, second = datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
    schedule = Cron("30 1 * * *", tz=NEW_YORK)
    assert schedule.passes(first) == schedule.passes(second) == (first, second)
    assert schedule.passes(first + timedelta(days=1)) == (first + timedelta(days=1),)
    assert At(first).passes(first) == (first,)


def test_local_time_keeps_apart_the_two_passes_by_fold() -> None:
    schedule = Cron("30 1 * * *", tz=NEW_YORK)
    first = schedule.local(datetime(2026, 11, 1, 5, 30, tzinfo=UTC))
    second = schedule.local(datetime(2026, 11, 1, 6, 30, tzinfo=UTC))
    assert (first.isoformat(), first.fold) == ("2026-11-01T01:30:00-04:00", 0)
    assert (second.isoformat(), second.fold) == ("2026-11-01T01:30:00-05:00", 1)


def test_a_skipped_day_fires_once_where_the_next_day_begins() -> None:
    landing = datetime(2011, 12, 30, 10, 0, tzinfo=UTC)
    schedule = Cron("0 */6 * * *", tz="Pacific/Apia")
    assert schedule.between(landing - timedelta(hours=3), landing + timedelta(hours=3)) == [landing]
    assert len(schedule.skipped_walls(landing)) == 4


def test_the_windows_of_a_minute_around_a_landing_hold_it_once() -> None:
    landing = datetime(2026, 3, 8, 7, 0, tzinfo=UTC)
    schedule = Cron("*/10 2 * * *", tz=NEW_YORK)
    ticks = [landing + timedelta(seconds=seconds) for seconds in range(-200, 200, 7)]
    fired = [
        occurrence
        for earlier, later in itertools.pairwise(ticks)
        for occurrence in schedule.between(earlier, later)
    ]
    assert fired == [landing]
