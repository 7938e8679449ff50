"""A schedule as a value: its spec, its hash, its words.

Invariants:
- a schedule's spec makes an equal schedule, and its hash changes with whatever moves an occurrence;
- spec and hash stay what deployments have stored;
- schedules are values: frozen, hashable, comparable, picklable.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
from datetime import UTC, datetime, timedelta

import pytest

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
