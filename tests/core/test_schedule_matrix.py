"""The matrix of cron expressions whose firings were worked out by hand, on clock changes and the calendar.

Invariants:
- every case of the matrix has exactly its expected instants, in one piece and cut anywhere;
- what the matrix calls an interval schedule is one by its hour field, in any spelling;
- the slow reference agrees with the matrix, so that the random comparison compares with something right;
- the cases that a definition refuses are evaluated right below the refusal.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cronce.core.cron_fields import EVERY_DAY, EVERY_HOUR, EVERY_MONTH, EVERY_WEEKDAY, CronFields
from cronce.core.cron_text import parse
from cronce.core.errors import DefinitionError
from cronce.core.firings import DstGap, DstRepeat, FiringRule
from cronce.core.schedule import Cron
from tests.core.reference_cron import Timeline, read, within

Case = dict[str, Any]

CASES: list[Case] = json.loads((Path(__file__).parent / "cron-matrix.json").read_text("utf-8"))
REFUSED = {"cal-06": "never fires", "cal-07": "never fires", "cal-22": "write its values, 50,55,0,5,10"}
ACCEPTED = [case for case in CASES if case["id"] not in REFUSED]

LONGEST_FOR_REFERENCE = timedelta(days=32)
"""Going minute by minute through years takes too long for every run."""


def window(case: Case) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(case["start"]), datetime.fromisoformat(case["end"])


def expected(case: Case) -> list[datetime]:
    return [datetime.fromisoformat(text) for text in case["expected"]]


def case_id(case: Case) -> str:
    return str(case["id"])


def test_the_matrix_is_whole() -> None:
    assert len(CASES) == 133
    assert len({case["id"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", ACCEPTED, ids=case_id)
def test_a_case_fires_at_exactly_its_expected_instants(case: Case) -> None:
    start, end = window(case)
    firings = Cron(case["expr"], tz=case["tz"]).between(start, end)
    assert firings == expected(case)
    assert all(firing.tzinfo is UTC for firing in firings)


@pytest.mark.parametrize("case", ACCEPTED, ids=case_id)
def test_a_case_gives_the_same_instants_when_its_window_is_cut_in_nine(case: Case) -> None:
    schedule = Cron(case["expr"], tz=case["tz"])
    start, end = window(case)
    cuts = [start + (end - start) * part / 9 for part in range(10)]
    assert [
        firing for part in range(9) for firing in schedule.between(cuts[part], cuts[part + 1])
    ] == expected(case)


@pytest.mark.parametrize("case", ACCEPTED, ids=case_id)
def test_next_after_walks_through_a_case(case: Case) -> None:
    schedule = Cron(case["expr"], tz=case["tz"])
    instant, end = window(case)
    walked = []
    while (following := schedule.next_after(instant)) is not None and following <= end:
        walked.append(following)
        instant = following
    assert walked == expected(case)


@pytest.mark.parametrize("case", ACCEPTED, ids=case_id)
def test_a_case_is_fixed_time_or_every_hour_by_its_hour_field(case: Case) -> None:
    assert Cron(case["expr"], tz=case["tz"]).is_fixed_time == (case["cls"] == "fixed")


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if window(case)[1] - window(case)[0] <= LONGEST_FOR_REFERENCE],
    ids=case_id,
)
def test_the_slow_reference_agrees_with_the_matrix(case: Case) -> None:
    start, end = window(case)
    firings = Timeline(case["tz"], start, max(start, end)).firings(read(case["expr"]), "next_valid", "first")
    assert within(firings, start, end) == expected(case)


@pytest.mark.parametrize("case", [case for case in CASES if case["id"] in REFUSED], ids=case_id)
def test_a_case_that_cannot_be_meant_is_refused(case: Case) -> None:
    with pytest.raises(DefinitionError, match=REFUSED[case["id"]]) as refusal:
        Cron(case["expr"], tz=case["tz"])
    assert repr(case["expr"]) in str(refusal.value)


def fields(*, minutes: int, hours: int, days: int, months: int) -> CronFields:
    return CronFields(
        minutes=minutes,
        hours=hours,
        days=days,
        last_day=False,
        months=months,
        weekdays=EVERY_WEEKDAY,
        nth_weekdays=(0, 0, 0, 0, 0),
        last_weekdays=0,
        any_day=days == EVERY_DAY,
        any_weekday=True,
    )


def mask(*values: int) -> int:
    return sum(1 << value for value in values)


BELOW_THE_REFUSAL = {
    "cal-06": fields(minutes=1, hours=1, days=mask(30), months=mask(2)),
    "cal-07": fields(minutes=1, hours=1, days=mask(31), months=mask(4, 6, 9, 11)),
    "cal-22": fields(minutes=mask(50, 55, 0, 5, 10), hours=EVERY_HOUR, days=EVERY_DAY, months=EVERY_MONTH),
}


@pytest.mark.parametrize("case", [case for case in CASES if case["id"] in REFUSED], ids=case_id)
def test_a_refused_case_is_evaluated_right_below_the_refusal(case: Case) -> None:
    rule = FiringRule(
        fields=BELOW_THE_REFUSAL[case["id"]],
        zone=case["tz"],
        dst_gap=DstGap.NEXT_VALID,
        dst_repeat=DstRepeat.FIRST,
    )
    assert list(rule.firings(*window(case))) == expected(case)


def test_fields_made_by_hand_are_what_the_text_means() -> None:
    by_hand = fields(minutes=mask(50, 55, 0, 5, 10), hours=EVERY_HOUR, days=EVERY_DAY, months=EVERY_MONTH)
    assert parse("50,55,0,5,10 * * * *") == by_hand
