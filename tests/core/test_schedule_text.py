"""Cron text that is understood: what it means, and what is pointed out.

Invariants:
- two restricted day fields are joined with OR, and only `*` and `?` do not restrict;
- letter case, blanks and aliases do not matter;
- steps that do not recur evenly are accepted with a warning, even ones without.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from cronce.core.cron_text import ALIASES, parse
from cronce.core.schedule import Cron

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)


def test_p69_both_day_fields_restricted_means_either() -> None:
    thirteenth_or_friday = Cron("0 9 13 * 5").between(START, END)
    assert thirteenth_or_friday == [
        START + timedelta(days=n, hours=9)
        for n in range(365)
        if (START + timedelta(days=n)).day == 13 or (START + timedelta(days=n)).isoweekday() == 5
    ]


def test_p69_a_step_on_a_star_restricts_like_any_other_field() -> None:
    odd_days_or_mondays = Cron("0 0 */2 * MON").between(START, END)
    assert {(day.day % 2 == 1 or day.isoweekday() == 1) for day in odd_days_or_mondays} == {True}
    assert len(odd_days_or_mondays) > 200


def test_p69_a_day_field_that_names_every_day_makes_it_fire_every_day_and_warns() -> None:
    for text in ("0 0 1-31 * MON", "0 0 */1 * MON", "0 0 13 * 0-6", "0 0 13 * */1", "0 0 13 * 0-7"):
        schedule = Cron(text)
        assert len(schedule.between(START, END)) == 365
        assert len(schedule.warnings()) == 1
        assert "names every day" in schedule.warnings()[0]


@pytest.mark.parametrize(
    "text", ["0 0 ? * MON", "0 0 * * MON", "0 0 ? * mon", "0 0 * * Mon", "0\t0  *\n* 1 "]
)
def test_p71_a_question_mark_in_a_day_field_is_a_star_and_case_and_blanks_do_not_matter(text: str) -> None:
    assert Cron(text).between(START, END) == Cron("0 0 * * 1").between(START, END)
    assert Cron(text).warnings() == ()


def test_p70_names_say_the_weekday_whatever_a_program_counts_from() -> None:
    monday = Cron("0 9 * * MON").next_after(START)
    assert monday is not None
    assert monday.isoweekday() == 1
    assert Cron("0 9 * * 1").next_after(START) == monday


@pytest.mark.parametrize("alias,text", list(ALIASES.items()))
def test_an_alias_is_the_five_fields_it_stands_for(alias: str, text: str) -> None:
    for spelling in (alias, alias.upper(), f" {alias} "):
        assert Cron(spelling).between(START, END) == Cron(text).between(START, END)


def test_plain_and_nth_weekdays_stand_together_in_one_list() -> None:
    both = Cron("0 0 * * MON,FRI#2,L0").between(START, END)
    parts = [Cron(f"0 0 * * {item}").between(START, END) for item in ("MON", "FRI#2", "L0")]
    assert both == sorted(itertools.chain.from_iterable(parts))
    assert len(both) == 52 + 12 + 12


def test_the_31st_of_some_months_is_accepted_as_long_as_one_has_it() -> None:
    assert Cron("0 0 31 2,3 *").between(START, END) == [datetime(2026, 3, 31, tzinfo=UTC)]
    assert Cron("0 0 31 2 1").between(START, END)[0] == datetime(2026, 2, 2, tzinfo=UTC)


@pytest.mark.parametrize("weekday", range(7))
def test_a_29_february_on_any_weekday_is_not_never(weekday: int) -> None:
    assert Cron(f"0 0 * 2 {weekday}#5").next_after(START) is not None


@pytest.mark.parametrize(
    "text,warning",
    [
        ("*/7 * * * *", "'*/7' in minute is not evenly spaced: it starts again at 0 after 56"),
        ("*/45 * * * *", "starts again at 0 after 45"),
        ("20/15 * * * *", "starts again at 20 after 50"),
        ("0 */5 * * *", "'*/5' in hour is not evenly spaced: it starts again at 0 after 20"),
        ("0 0 */2 * *", "'*/2' in day-of-month is not evenly spaced: it starts again at 1 after 31"),
        ("0 0 */31 * *", "'*/31' in day-of-month names 1 alone"),
        ("0 0 1 */5 *", "'*/5' in month is not evenly spaced: it starts again at 1 after 11"),
        ("0 0 * * */2", "'*/2' in day-of-week is not evenly spaced: it starts again at 0 after 6"),
        ("0 0 * * 7/2", "starts again at 0 after 6"),
        ("*/90 * * * *", "'*/90' in minute names 0 alone"),
        ("59/15 * * * *", "'59/15' in minute names 59 alone"),
        ("0,*/7 * * * *", "'*/7' in minute is not evenly spaced"),
    ],
)
def test_p73_an_uneven_step_is_accepted_with_a_warning(text: str, warning: str) -> None:
    assert [warning in said for said in Cron(text).warnings()] == [True]
    assert Cron(text).next_after(START) is not None


@pytest.mark.parametrize(
    "text",
    [
        "*/15 * * * *",
        "*/1 * * * *",
        "7/15 * * * *",
        "*/60 * * * *",
        "10-50/20 * * * *",
        "0 */24 * * *",
        "0 */6 * * *",
        "0 9-17/3 * * *",
        "0 0 */1 * *",
        "0 0 1 */3 *",
        "0 0 * * 1-5",
        "@hourly",
    ],
)
def test_p73_an_even_step_has_no_warning(text: str) -> None:
    assert Cron(text).warnings() == ()


def test_an_expression_is_parsed_once() -> None:
    assert parse("17 6 * * *") is parse("17 6 * * *")
