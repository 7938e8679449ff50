"""What all schedules answer: windows, the next occurrence, local time, spec, hash, words.

Invariants:
- windows exclude their start and include their end; occurrences are aware, in UTC, strictly increasing;
- a limit gives the oldest ones and costs no more than they are;
- a schedule's spec makes an equal schedule, and its hash changes with whatever moves an occurrence;
- schedules are values: frozen, hashable, comparable, picklable.
"""

from __future__ import annotations

import copy
import dataclasses
import doctest
import itertools
import pickle
import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core import intervals, schedule
from cronce.core.errors import DefinitionError
from cronce.core.schedule import At, Cron, Every, Schedule, schedule_from_spec, schedule_hash

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
    begun = time.perf_counter()
    assert len(planned.between(NOON, NOON + timedelta(days=100_000), limit=20_000)) == 20_000
    assert time.perf_counter() - begun < 1, "144 million occurrences would take minutes"


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


@each_schedule
def test_a_spec_makes_the_same_schedule(planned: Schedule) -> None:
    again = schedule_from_spec(planned.spec())
    assert again == planned
    assert again.spec() == planned.spec()
    assert again.between(NOON, NOON + 50 * HOUR) == planned.between(NOON, NOON + 50 * HOUR)


@each_schedule
def test_a_schedule_is_a_value(planned: Schedule) -> None:
    assert pickle.loads(pickle.dumps(planned)) == planned  # noqa: S301
    assert copy.deepcopy(planned) == planned
    assert len({planned, schedule_from_spec(planned.spec())}) == 1
    assert planned != ONE_OF_EACH[0] or planned is ONE_OF_EACH[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        planned.tz = "Mars"  # type: ignore[misc]


def test_the_specs_are_what_deployments_have_stored() -> None:
    assert [planned.spec() for planned in ONE_OF_EACH] == [
        {
            "kind": "cron",
            "expression": "*/20 8-17 * * MON-FRI",
            "tz": "America/New_York",
            "dst_gap": "skip",
            "dst_repeat": "both",
        },
        {"kind": "every", "seconds": "5400", "anchor": "2026-05-05T12:00:17Z"},
        {"kind": "at", "instant": "2026-05-05T15:00:00Z"},
    ]


def test_the_hashes_are_what_deployments_have_stored() -> None:
    """Another hash for the same schedule would make a release adopt every schedule anew."""
    hashes = [schedule_hash(planned) for planned in ONE_OF_EACH]
    assert hashes == ["500ab74bcba1ec62", "6163f7f16349c95e", "9ddf65aa80445219"]


def test_the_hash_changes_with_everything_that_moves_an_occurrence() -> None:
    different: list[Schedule] = [
        Cron("0 6 * * *"),
        Cron("1 6 * * *"),
        Cron("0 6 * * *", tz="Europe/Berlin"),
        Cron("0 6 * * *", dst_gap="skip"),
        Cron("0 6 * * *", dst_repeat="last"),
        Every("1h"),
        Every("2h"),
        Every("1h", anchor=NOON + MINUTE),
        At(NOON),
        At(NOON + MINUTE),
    ]
    assert len({schedule_hash(planned) for planned in different}) == len(different)
    assert len(set(different)) == len(different)
    assert schedule_hash(Cron(" 0  6 * * * ")) == schedule_hash(Cron("0 6 * * *"))


CRON = {"kind": "cron", "expression": "0 6 * * *", "tz": "UTC", "dst_gap": "skip", "dst_repeat": "first"}
EVERY = {"kind": "every", "seconds": "3600", "anchor": "1970-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    "spec,advice",
    [
        (None, "a mapping of text to text"),
        ([], "a mapping of text to text"),
        ({"kind": 1}, "a mapping of text to text"),
        ({1: "cron"}, "a mapping of text to text"),
        ({}, "kind cron, every or at, not None"),
        ({"kind": "lunar"}, "kind cron, every or at, not 'lunar'"),
        ({"kind": "at"}, "kind at has the parts instant, not none"),
        (CRON | {"jitter": "5"}, "kind cron has the parts .*, not .*jitter"),
        ({**EVERY, "kind": "cron"}, "kind cron has the parts dst_gap, .*, not anchor, seconds"),
        (CRON | {"expression": "0 6 * *"}, "has 4 fields"),
        (CRON | {"tz": "Mars"}, "no time zone 'Mars'"),
        (CRON | {"dst_gap": "later"}, "dst_gap takes 'next_valid' or 'skip', not 'later'"),
        (CRON | {"dst_repeat": ""}, "dst_repeat takes 'first' or 'last' or 'both', not ''"),
        (EVERY | {"seconds": "1.5"}, "seconds .* is a whole number, not '1.5'"),
        (EVERY | {"seconds": "-60"}, "seconds .* is a whole number"),
        (EVERY | {"seconds": "٣٦٠٠"}, "seconds .* is a whole number"),
        (EVERY | {"seconds": "9" * 5000}, "takes a timedelta"),
        (EVERY | {"seconds": "59"}, "0:01:00 to"),
        (EVERY | {"anchor": "yesterday"}, "not an instant of the form"),
        ({"kind": "at", "instant": "2026-13-01T00:00:00Z"}, "an instant of a schedule's spec"),
        ({"kind": "at", "instant": "1969-01-01T00:00:00Z"}, "from 1970 on"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value)[:40],
)
def test_a_bad_spec_is_refused_with_the_part_that_is_wrong(spec: object, advice: str) -> None:
    with pytest.raises(DefinitionError, match=advice):
        schedule_from_spec(spec)


NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    "planned,words",
    [
        (Cron("* * * * *", tz=NEW_YORK), "every minute"),
        (Cron("*/15 * * * *", tz=NEW_YORK), "every 15 minutes"),
        (Cron("0,30 * * * *"), "every 30 minutes"),
        (Cron("5 * * * *", tz=NEW_YORK), "hourly at :05 America/New_York"),
        (Cron("0 6 * * *", tz=NEW_YORK), "daily at 06:00 America/New_York"),
        (Cron("@daily"), "daily at 00:00 UTC"),
        (Cron("0 6 ? * 0-6"), "daily at 06:00 UTC"),
        (Cron("0 6 * * 1,5"), "Monday, Friday at 06:00 UTC"),
        (Cron("@weekly"), "Sunday at 00:00 UTC"),
        (Cron("*/7 * * * *"), "*/7 * * * * UTC"),
        (Cron("20/15 * * * *"), "20/15 * * * * UTC"),
        (Cron("0,10 * * * *"), "0,10 * * * * UTC"),
        (Cron("0 6,7 * * *"), "0 6,7 * * * UTC"),
        (Cron("0 6 * * 5#2"), "0 6 * * 5#2 UTC"),
        (Cron("0 6 * * MON,L5"), "0 6 * * MON,L5 UTC"),
        (Cron("0 6 1 * *"), "0 6 1 * * UTC"),
        (Cron("0 6 * 1 *"), "0 6 * 1 * UTC"),
        (Cron("* * * * 1"), "* * * * 1 UTC"),
        (Every("1m"), "every minute"),
        (Every("1h"), "every hour"),
        (Every("90m"), "every 1 hour 30 minutes"),
        (Every("2d"), "every 2 days"),
        (Every("61s"), "every 1 minute 1 second"),
        (Every("1d", anchor=NOON), "every day through 2026-05-05T12:00:00Z"),
        (At(NOON), "once at 2026-05-05T12:00:00Z"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_schedule_describes_itself(planned: Schedule, words: str) -> None:
    assert planned.describe() == words


@pytest.mark.parametrize("module", [schedule, intervals], ids=["schedule", "intervals"])
def test_the_examples_in_the_docstrings_are_right(module: object) -> None:
    names = {"datetime": datetime, "timedelta": timedelta, "UTC": UTC}
    results = doctest.testmod(module, extraglobs=names)  # type: ignore[arg-type]
    assert results.attempted >= 2
    assert results.failed == 0
