"""Random expressions, zones, windows and clock-change policies against the slow reference.

Invariants:
- the firings in any window are those that the minute-by-minute reference observes, for all six combinations
  of policies, around clock changes of every known kind;
- cutting a window anywhere changes nothing, and neither does walking it backwards;
- next_after gives the first firing that between would give;
- the reference itself knows the calendar.

`CRONCE_RANDOM_CASES=100000 pytest tests/core/test_schedule_reference.py` compares more.
"""

from __future__ import annotations

import itertools
import os
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from zoneinfo import ZoneInfo

import pytest

from cronce.core.schedule import Cron
from tests.core.reference_cron import Expression, Timeline, read, within

POLICIES = list(itertools.product(("next_valid", "skip"), ("first", "last", "both")))
WINDOWS_EACH = 4
EXPRESSIONS = int(os.environ.get("CRONCE_RANDOM_CASES", "6000")) // (len(POLICIES) * WINDOWS_EACH)

PLACES = {
    # Ordinary changes of one hour, forward and back.
    "America/New_York": ("2026-03-08T07:00Z", "2026-11-01T06:00Z"),
    "Europe/Berlin": ("2026-03-29T01:00Z", "2026-10-25T01:00Z"),
    "Africa/Casablanca": ("2025-02-23T02:00Z", "2025-04-06T02:00Z", "2008-08-31T23:00Z"),
    # Half an hour, two hours, a quarter-hour offset.
    "Australia/Lord_Howe": ("2026-10-03T15:30Z", "2026-04-04T15:00Z"),
    "Antarctica/Troll": ("2026-03-29T01:00Z", "2026-10-25T01:00Z"),
    "Pacific/Chatham": ("2026-04-04T14:00Z", "2026-09-26T14:00Z"),
    # At midnight, across it, and a minute after it.
    "Africa/Cairo": ("2024-04-25T22:00Z", "2024-10-31T21:00Z"),
    "America/Sao_Paulo": ("2018-11-04T03:00Z", "2018-02-18T02:00Z"),
    "Atlantic/Azores": ("2026-03-29T01:00Z", "2026-10-25T01:00Z"),
    "America/St_Johns": ("2010-03-14T03:31Z", "2010-11-07T02:31Z"),
    "America/Havana": ("2025-11-02T05:00Z", "2025-03-09T05:00Z"),
    # Changes of the standard time: permanent, and whole days left out.
    "Asia/Pyongyang": ("2018-05-04T15:00Z", "2015-08-14T15:00Z"),
    "Europe/Moscow": ("2014-10-25T22:00Z",),
    "America/Caracas": ("2016-05-01T07:00Z",),
    "Pacific/Apia": ("2011-12-30T10:00Z", "2011-09-24T14:00Z"),
    "Pacific/Kwajalein": ("1993-08-21T12:00Z",),
    # No change at all.
    "Asia/Kathmandu": ("2026-01-01T00:00Z",),
    "UTC": ("2024-02-29T00:00Z", "2026-12-31T23:00Z"),
}
CHANGES = [(zone, datetime.fromisoformat(text)) for zone, texts in PLACES.items() for text in texts]

BEFORE, AFTER = timedelta(hours=30), timedelta(hours=40)
"""How far around a change windows lie: a skipped day and the ordinary days beside it."""

MINUTES = [
    "0",
    "1",
    "30",
    "59",
    "*",
    "*/7",
    "*/15",
    "0/20",
    "59/15",
    "5-20/5",
    "50-10",
    "0,30",
    "45,46",
    "15",
]
HOURS = [
    "0",
    "1",
    "2",
    "3",
    "23",
    "*",
    "*",
    "0-23",
    "*/1",
    "*/2",
    "1-3",
    "22-2",
    "0,12",
    "0/5",
    "23,0,1",
    "10-20/4",
]
DAYS = ["*", "*", "*", "*", "?", "L", "1", "31", "*/2", "28-3", "L,15", "1-31", "25,30", "4-8", "10/9"]
MONTHS = ["*", "*", "*", "*", "*", "*/2", "OCT-APR", "3,11,12", "jan,Feb,aug-dec", "2/3"]
WEEKDAYS = [
    "*",
    "*",
    "*",
    "*",
    "?",
    "SUN",
    "1-5",
    "6-7",
    "0-7",
    "5#2",
    "L0",
    "L6",
    "MON#1,WED#5",
    "*/2",
    "5-1",
    "L5,2",
]


def random_expression(random: Random) -> str:
    return " ".join(random.choice(pool) for pool in (MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS))


@lru_cache(maxsize=2)
def timeline(zone: str, change: datetime) -> Timeline:
    return Timeline(zone, change - BEFORE, change + AFTER)


def random_windows(random: Random, change: datetime) -> list[tuple[datetime, datetime]]:
    """Two anywhere, one of a minute or so, one that begins or ends at the change itself."""
    span = int((BEFORE + AFTER).total_seconds())

    def anywhere() -> datetime:
        return change - BEFORE + timedelta(seconds=random.randrange(span), microseconds=random.choice((0, 1)))

    begin = anywhere()
    windows = [sorted((anywhere(), anywhere())) for _ in range(WINDOWS_EACH - 2)]
    windows += [[begin, min(begin + timedelta(seconds=random.randrange(120)), change + AFTER)]]
    windows += [sorted((change, anywhere()))]
    return [(start, end) for start, end in windows]


@pytest.mark.parametrize(
    "place", range(len(CHANGES)), ids=lambda i: f"{CHANGES[i][0]}-{CHANGES[i][1]:%Y-%m-%d}"
)
def test_random_schedules_fire_when_the_slow_reference_says(place: int) -> None:
    zone, change = CHANGES[place]
    random = Random(place)
    fired = 0
    for _ in range(max(1, EXPRESSIONS // len(CHANGES))):
        text = random_expression(random)
        for gap, repeat in POLICIES:
            schedule = Cron(text, tz=zone, dst_gap=gap, dst_repeat=repeat)
            firings = timeline(zone, change).firings(read(text), gap, repeat)
            for start, end in random_windows(random, change):
                fired += compare(schedule, firings, start, end)
    assert fired, "no expression fired in any window: nothing was compared"


def compare(schedule: Cron, firings: list[datetime], start: datetime, end: datetime) -> int:
    case = f"{schedule}, {start.isoformat()} to {end.isoformat()}"
    expected = within(firings, start, end)
    assert schedule.between(start, end) == expected, case
    assert schedule.between(start, end, limit=3) == expected[:3], case
    middle = start + (end - start) / 3
    assert schedule.between(start, middle) + schedule.between(middle, end) == expected, case
    following = schedule.next_after(start)
    if expected:
        assert following == expected[0], case
    else:
        assert following is None or following > end, case
    return len(expected)


OFFSETS_WITH_SECONDS = ("Africa/Monrovia", datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC))
"""The last zone with an offset that is not whole minutes (-00:44:30); on this day it went over to UTC."""


def test_an_offset_with_seconds_fires_when_the_clock_shows_a_whole_minute() -> None:
    zone, change = OFFSETS_WITH_SECONDS
    line = Timeline(zone, change - BEFORE, change + AFTER, step=timedelta(seconds=30))
    random = Random(1972)
    fired = 0
    for _ in range(40):
        text = random_expression(random)
        for gap, repeat in POLICIES:
            firings = line.firings(read(text), gap, repeat)
            for start, end in random_windows(random, change):
                fired += compare(Cron(text, tz=zone, dst_gap=gap, dst_repeat=repeat), firings, start, end)
    assert fired


ZONES_OF_2026 = [
    "America/New_York",
    "America/Los_Angeles",
    "America/Havana",
    "America/Santiago",
    "America/Asuncion",
    "America/Nuuk",
    "Atlantic/Azores",
    "Europe/London",
    "Europe/Dublin",
    "Europe/Berlin",
    "Europe/Chisinau",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Jerusalem",
    "Antarctica/Troll",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Chatham",
]
ORDINARY_DAYS = [datetime(2026, month, 15, tzinfo=UTC) for month in (1, 6)]


def changes_of_2026(zone: str) -> list[datetime]:
    """Found hour by hour; the last hour before each change."""
    tzinfo = ZoneInfo(zone)
    hours = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(365 * 24)]
    offsets = [hour.astimezone(tzinfo).utcoffset() for hour in hours]
    return [hours[i] for i in range(len(hours) - 1) if offsets[i] != offsets[i + 1]]


@pytest.mark.parametrize("zone", ZONES_OF_2026)
def test_p63_the_year_2026_fires_as_observed_minute_by_minute(zone: str) -> None:
    changes = changes_of_2026(zone)
    assert changes or zone == "America/Asuncion"  # Paraguay ended its clock changes in 2024
    texts = ["30 2 * * *", "0 0 * * *", "*/20 * * * *", "15 */3 * * *", "0 1 * * 0", "45 23,0,1,2 * * *"]
    for day in [*changes, *ORDINARY_DAYS]:
        start, end = day - timedelta(hours=12), day + timedelta(hours=24)
        line = Timeline(zone, start, end)
        for text in texts:
            firings = within(line.firings(read(text), "next_valid", "first"), start, end)
            assert Cron(text, tz=zone).between(start, end) == firings, f"{text} {day}"


def test_p61_walking_a_day_backwards_gives_the_same_firings() -> None:
    for text in ("0 * * * *", "*/30 * * * *", "15 2 * * *", "30 1-3 * * *"):
        schedule = Cron(text, tz="Australia/Lord_Howe")
        start = datetime(2026, 10, 3, 14, 0, tzinfo=UTC)
        minutes = [start + timedelta(minutes=n) for n in range(24 * 60 + 1)]
        backwards = [
            firing
            for earlier, later in reversed(list(itertools.pairwise(minutes)))
            for firing in schedule.between(earlier, later)
        ]
        assert backwards[::-1] == schedule.between(start, minutes[-1])
        assert backwards


def test_a_window_of_years_is_the_sum_of_its_days() -> None:
    for text, zone in (
        ("30 2 * * *", "Europe/Berlin"),
        ("0 */6 * * 1", "Pacific/Apia"),
        ("0 0 L * *", "UTC"),
    ):
        schedule = Cron(text, tz=zone)
        days = [datetime(2010, 12, 31, 9, 13, tzinfo=UTC) + timedelta(days=n) for n in range(3 * 366)]
        by_day = [
            firing for start, end in itertools.pairwise(days) for firing in schedule.between(start, end)
        ]
        assert by_day == schedule.between(days[0], days[-1])


def test_no_firing_is_lost_or_doubled_where_a_long_window_is_evaluated_in_parts() -> None:
    midnight = datetime(2020, 1, 1, tzinfo=UTC)
    days = [midnight + timedelta(days=n) for n in range(5 * 366)]
    assert Cron("0 0 * * *").between(midnight - timedelta(seconds=1), days[-1]) == days


def test_the_reference_itself_knows_the_calendar() -> None:
    second_friday: Expression = read("0 0 * * 5#2")
    assert [day for day in range(1, 32) if second_friday.on(datetime(2026, 5, day, tzinfo=UTC).date())] == [8]
    last_sunday = read("0 0 * * L7")
    assert [day for day in range(1, 32) if last_sunday.on(datetime(2026, 5, day, tzinfo=UTC).date())] == [31]
