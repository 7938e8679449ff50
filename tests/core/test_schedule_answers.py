"""What all schedules answer: windows, the next occurrence, local time.

Invariants:
- windows exclude their start and include their end; occurrences are aware, in UTC, strictly increasing;
- a limit gives the oldest ones and costs no more than they are;
- intervals and instants are whole seconds, given unmistakably.
"""

from __future__ import annotations

import doctest
import itertools
import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core import intervals, schedule
from cronce.core.errors import DefinitionError
from cronce.core.schedule import At, Cron, Every, Schedule

NOON = datetime(2026, 5, 5, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)

ONE_OF_EACH: list[Schedule] = [
    Cron("*/20 8-17 * * MON-FRI", tz="America/New_York", dst_gap="skip", dst_repeat="both"),
    Every(timedelta(minutes=90), anchor=NOON + timedelta(seconds=17)),
    At(NOON + 3 * HOUR),
]
each_schedule = pytest.mark.parametrize("planned", ONE_OF_EACH, ids=lambda planned: type(planned).__name__)


@each_schedule
def test_a_window_excludes_its_start_and_includes_its_end(planned: Schedule) -> None:
    first = planned.next_after(NOON)
    assert first is not None
    second = timedelta(seconds=1)
    assert planned.between(first - second, first) == [first]
    assert planned.between(first - timedelta(microseconds=1), first) == [first]
    assert planned.between(first, first + second) == []
    assert planned.between(first, first) == []
    assert planned.between(first + second, first - second) == []
    assert planned.between(first - second, first - timedelta(microseconds=1)) == []


@each_schedule
def test_a_window_may_be_given_in_any_zone(planned: Schedule) -> None:
    start, end = NOON, NOON + 30 * HOUR
    elsewhere = planned.between(
        start.astimezone(ZoneInfo("Asia/Tokyo")), end.astimezone(timezone(timedelta(hours=-3)))
    )
    assert elsewhere == planned.between(start, end) != []
    assert {occurrence.tzinfo for occurrence in elsewhere} == {UTC}


@each_schedule
def test_a_naive_instant_is_refused(planned: Schedule) -> None:
    naive = NOON.replace(tzinfo=None)
    for ask in (planned.next_after, planned.local, planned.skipped_walls, planned.passes):
        with pytest.raises(ValueError, match="aware datetimes"):
            ask(naive)
    with pytest.raises(ValueError, match="aware datetimes"):
        planned.between(naive, NOON)
    with pytest.raises(ValueError, match="aware datetimes"):
        planned.between(NOON, naive)


@each_schedule
def test_a_limit_gives_the_oldest(planned: Schedule) -> None:
    everything = planned.between(NOON, NOON + 60 * HOUR)
    assert planned.between(NOON, NOON + 60 * HOUR, limit=2) == everything[:2]
    assert planned.between(NOON, NOON + 60 * HOUR, limit=0) == []
    assert planned.between(NOON, NOON + 60 * HOUR, limit=10**6) == everything


@pytest.mark.parametrize(
    "planned", [Cron("* * * * *", tz="Europe/Berlin"), Every("1m")], ids=["Cron", "Every"]
)
def test_a_limited_window_of_centuries_costs_no_more_than_its_limit(planned: Schedule) -> None:
    planned.next_after(NOON)  # the zone is loaded
    begun = time.process_time()
    assert len(planned.between(NOON, NOON + timedelta(days=100_000), limit=20_000)) == 20_000
    assert time.process_time() - begun < 1, "144 million occurrences would take minutes"


@each_schedule
@given(cuts=st.lists(st.integers(0, 40 * 3600), min_size=3, max_size=6).map(sorted))
def test_a_window_is_the_sum_of_its_parts(planned: Schedule, cuts: list[int]) -> None:
    instants = [NOON - 5 * HOUR + timedelta(seconds=cut) for cut in cuts]
    parts = [planned.between(start, end) for start, end in itertools.pairwise(instants)]
    assert list(itertools.chain.from_iterable(parts)) == planned.between(instants[0], instants[-1])


@each_schedule
@given(seconds=st.integers(-(10**7), 10**7))
def test_next_after_is_the_first_that_between_gives(planned: Schedule, seconds: int) -> None:
    instant = NOON + timedelta(seconds=seconds)
    following = planned.next_after(instant)
    if following is None:
        assert planned.between(instant, instant + timedelta(days=400)) == []
    else:
        assert following > instant
        assert planned.between(instant, following) == [following]


@each_schedule
def test_the_edges_of_the_calendar_are_not_run_over(planned: Schedule) -> None:
    first_ever, last_ever = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert planned.next_after(last_ever) is None
    assert len(planned.between(first_ever, last_ever, limit=1)) == 1
    assert planned.between(last_ever, first_ever) == []
    planned.next_after(first_ever)


def test_next_after_looks_forty_years_ahead_and_no_further() -> None:
    leap_monday = Cron("0 0 * 2 1#5", tz="UTC")
    assert leap_monday.next_after(datetime(2072, 2, 29, tzinfo=UTC)) == datetime(2112, 2, 29, tzinfo=UTC)
    assert At(datetime(2100, 1, 1, tzinfo=UTC)).next_after(NOON) is None
    assert At(datetime(2066, 1, 1, tzinfo=UTC)).next_after(NOON) == datetime(2066, 1, 1, tzinfo=UTC)


def test_every_counts_from_its_anchor_in_both_directions() -> None:
    planned = Every(timedelta(hours=10), anchor=NOON)
    assert planned.between(NOON - 21 * HOUR, NOON + 20 * HOUR) == [
        NOON - 20 * HOUR,
        NOON - 10 * HOUR,
        NOON,
        NOON + 10 * HOUR,
        NOON + 20 * HOUR,
    ]


def test_every_without_an_anchor_counts_from_the_epoch() -> None:
    assert Every("7d").next_after(datetime(1970, 1, 1, tzinfo=UTC)) == datetime(1970, 1, 8, tzinfo=UTC)
    assert Every(timedelta(hours=1)) == Every("1h") == Every("60m")


def test_every_knows_no_clock_changes() -> None:
    start = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    assert Every("1h").between(start, start + 2 * HOUR) == [start + HOUR / 2, start + 3 * HOUR / 2]
    assert Every("1h").tz == At(NOON).tz == "UTC"


def test_at_occurs_once() -> None:
    planned = At(datetime(2026, 5, 5, 14, 0, tzinfo=timezone(timedelta(hours=2))))
    assert planned.instant == NOON
    assert planned.instant.tzinfo is UTC
    assert planned.between(NOON - MINUTE, NOON + MINUTE) == [NOON]
    assert planned.next_after(NOON - MINUTE) == NOON
    assert planned.next_after(NOON) is None


@pytest.mark.parametrize(
    "interval,advice",
    [
        (timedelta(seconds=59), "0:01:00 to"),
        (timedelta(0), "0:01:00 to"),
        (-HOUR, "0:01:00 to"),
        ("30s", "0:01:00 to"),
        (timedelta(seconds=90, microseconds=1), "whole seconds"),
        (timedelta.max, "whole seconds"),
        ("soon", "takes a timedelta or text"),
        ("", "takes a timedelta or text"),
        (3600, "takes a timedelta or text .* not int"),
        (None, "takes a timedelta or text .* not NoneType"),
    ],
)
def test_every_takes_whole_seconds_from_a_minute_on(interval: object, advice: str) -> None:
    with pytest.raises(DefinitionError, match=f"Every .*{advice}"):
        Every(interval)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "instant,advice",
    [
        (NOON.replace(tzinfo=None), "add tzinfo=UTC to 2026-05-05T12:00:00"),
        (NOON.replace(microsecond=1), "whole seconds"),
        (datetime(1969, 12, 31, tzinfo=UTC), "from 1970 on"),
        (datetime.max.replace(microsecond=0, tzinfo=UTC), "before 9950"),
        (datetime.max.replace(tzinfo=timezone(-HOUR)), "no place in UTC"),
        ("2026-05-05T12:00:00Z", "not str"),
        (NOON.date(), "not date"),
        (None, "not NoneType"),
    ],
)
def test_an_instant_is_aware_and_a_whole_second(instant: object, advice: str) -> None:
    with pytest.raises(DefinitionError, match=f"^At takes .*{advice}"):
        At(instant)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match=f"^the anchor of Every takes .*{advice}"):
        Every("1h", anchor=instant)  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [schedule, intervals], ids=["schedule", "intervals"])
def test_the_examples_in_the_docstrings_are_right(module: object) -> None:
    names = {"datetime": datetime, "timedelta": timedelta, "UTC": UTC}
    results = doctest.testmod(module, extraglobs=names)  # type: ignore[arg-type]
    assert results.attempted >= 2
    assert results.failed == 0
