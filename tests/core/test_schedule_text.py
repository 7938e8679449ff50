"""Cron text: what is understood, what is refused and with which advice, what is pointed out.

Invariants:
- every refusal is a DefinitionError that names the expression (or what was passed) and says what to write;
- nothing else ever leaves the constructor, whatever is passed;
- an expression is understood or refused within 50 ms.
"""

from __future__ import annotations

import itertools
import string
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core.cron_text import ALIASES, LONGEST_EXPRESSION, parse, tidy
from cronce.core.errors import DefinitionError
from cronce.core.schedule import At, Cron, Every, schedule_from_spec

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)

REFUSALS = [
    # Not five fields.
    ("", "is empty: write five"),
    (" \t\n", "is empty: write five"),
    ("*", "has one field: write five"),
    ("0 6 * *", "has 4 fields: write five"),
    ("0 6 * * * * * *", "has 8 fields: write five"),
    ("0 6 * * ? *", "has 6 fields, not five .*AWS year field[?] Drop it"),
    ("0 0 6 * * ? 2026", "has 7 fields, not five .*seconds[?] Drop it"),
    # The notations of other programs.
    ("cron(0 6 * * ? *)", "leave out the year, and use names such as MON, because AWS counts"),
    ("CRON(0 6 ? * 2 *)", "leave out the year, and use names such as MON, because AWS counts"),
    ("rate(5 minutes)", "write Every[(]timedelta[(]minutes=5"),
    ("at(2026-01-01T00:00:00)", "write At[(]datetime"),
    ("TZ=UTC 0 6 * * *", 'the zone is not part of the expression: write Cron[(]"0 6'),
    ("CRON_TZ=Europe/Berlin 0 6 * * *", "the zone is not part of the expression"),
    ("@reboot", "@reboot has no meaning here, .*: write At"),
    ("@every 5m", "write Every[(]timedelta"),
    ("@fortnightly", "no alias of this name: write five fields .* or one of @hourly, @daily"),
    ("@", "no alias of this name"),
    # Chosen by the program.
    ("R * * * *", "'R' lets the program choose [(]minute[)]: write the value"),
    ("R(0-29) * * * *", "lets the program choose"),
    ("H H * * *", "'H' lets the program choose [(]minute[)]: write the value"),
    ("H(0-29)/10 * * * *", "lets the program choose"),
    ("H/15 * * * *", "lets the program choose"),
    ("0~30 * * * *", "lets the program choose"),
    ("0 0 * * H", "'H' lets the program choose [(]day-of-week[)]"),
    # The nearest weekday, question marks.
    ("0 0 15W * *", "'15W' [(]the nearest weekday[)] is not supported: write the day of the month"),
    ("0 0 W15 * *", "the nearest weekday"),
    ("0 0 LW * *", "the nearest weekday"),
    ("? * * * *", "'[?]' stands only alone in day-of-month or day-of-week, .*write [*]"),
    ("0 ? * * *", "'[?]' stands only alone"),
    ("0 0 * ? *", "'[?]' stands only alone"),
    ("0 0 1,? * *", "'[?]' stands only alone"),
    ("0 0 ?/2 * *", "'[?]' stands only alone"),
    # Ranges.
    ("9-9 * * * *", "begins and ends at one value, .*: write 9 or [*]"),
    ("0 0 * jan-JAN *", "begins and ends at one value, .*: write jan or [*]"),
    ("0 0 * * 7-0", "begins and ends at one value, .*: write 7 or [*]"),
    ("0 0 * * sun-0", "begins and ends at one value"),
    ("9-9/3 * * * *", "begins and ends at one value"),
    ("50-10/5 * * * *", "wraps around and has a step: write its values, 50,55,0,5,10$"),
    ("0 22-4/3 * * *", "write its values, 22,1,4$"),
    ("0 0 28-3/2 * *", "write its values, 28,30,1,3$"),
    ("0 0 * nov-feb/2 *", "write its values, 11,1$"),
    ("0 0 * * fri-mon/2", "write its values, 5,0$"),
    ("*-5 * * * *", "mixes [*] with a range"),
    ("1-2-3 * * * *", "is not understood in minute: write a value, a-b"),
    # Out of range.
    ("60 * * * *", "60 is out of range in minute: it takes 0 to 59"),
    ("* 24 * * *", "24 is out of range in hour: it takes 0 to 23"),
    ("* * 0 * *", "0 is out of range in day-of-month: it takes 1 to 31"),
    ("* * 32 * *", "32 is out of range in day-of-month"),
    ("* * * 0 *", "0 is out of range in month: it takes 1 to 12"),
    ("* * * 13 *", "13 is out of range in month"),
    ("* * * * 8", "8 is out of range in day-of-week: it takes 0 to 7"),
    ("* * * * 8#1", "8 is out of range in day-of-week"),
    ("1-99 * * * *", "99 is out of range in minute"),
    ("99/5 * * * *", "99 is out of range in minute"),
    ("9" * 200 + " * * * *", "999999999999 is out of range in minute"),
    ("-5 * * * *", "'-5' in minute is negative: it takes 0 to 59"),
    # Steps and lists.
    ("*/0 * * * *", "a step of 0 goes nowhere"),
    ("*/ * * * *", "is not understood in minute"),
    ("*/x * * * *", "is not understood in minute"),
    ("*/-1 * * * *", "is not understood in minute"),
    ("*/5/5 * * * *", "is not understood in minute"),
    ("1,,2 * * * *", "minute has an empty item: remove the comma"),
    ("1, * * * *", "minute has an empty item"),
    ("*,5 * * * *", "lists [*] beside other values: write [*] alone"),
    ("0 0 * * 1,*", "lists [*] beside other values"),
    # Names.
    ("0 0 * FOO *", "'foo' is not a month: it takes 1 to 12 or jan, feb"),
    ("0 0 * * FOO", "'foo' is not a day-of-week: it takes 0 to 7 or sun, mon"),
    ("MON * * * *", "'mon' is not a minute: it takes numbers from 0 to 59"),
    ("0 0 * MON *", "'mon' is not a month"),
    ("0 0 * * MONDAY", "is not a name that day-of-week takes: write its first three letters"),
    ("0 0 * Sept *", "is not a name that month takes: write its first three letters"),
    # The last and the nth.
    ("0 0 L-3 * *", "the last day of a month is L alone in day-of-month"),
    ("0 0 28-L * *", "a range to the end of the month is 28-31"),
    ("0 0 L/2 * *", "the last day of a month is L alone"),
    ("0 0 * * 5L", "the last Friday is L5 in day-of-week"),
    ("0 0 * * FRIL", "the last Friday is L5"),
    ("0 0 * * LFRI", "the last Friday is L5"),
    ("0 0 * * L", "the last Friday is L5"),
    ("0 0 * * L8", "the last Friday is L5"),
    ("0 L * * *", "'L' is not understood in hour"),
    ("0 0 * * 5#6", "a month has no weekday number 6: write 5#1 to 5#5"),
    ("0 0 * * 5#0", "a month has no weekday number 0"),
    ("0 0 * * 1-5#2", "the second Friday is 5#2 or FRI#2"),
    ("0 0 5#2 * *", "'5#2' is not understood in day-of-month"),
    ("0 0 * * #", "the second Friday is 5#2"),
    # Never.
    ("0 0 30 2 *", "never fires, because no month it names has such a day"),
    ("0 0 31 4,6,9,11 *", "never fires"),
    ("0 0 30,31 FEB *", "never fires"),
    # Anything else.
    ("0 6 * * *;", "is not understood in day-of-week"),
    ("0.5 * * * *", "is not understood in minute"),
    ("0 6 * * *\x00", "is not understood in day-of-week"),
    ("0 6 * * *\x0b", "is not understood in day-of-week"),
    ("every day", "has 2 fields"),
]


@pytest.mark.parametrize("text,advice", REFUSALS, ids=[repr(text)[:40] for text, _ in REFUSALS])
def test_p71_a_refusal_names_the_expression_and_says_what_to_write(text: str, advice: str) -> None:
    with pytest.raises(DefinitionError, match=advice) as refusal:
        Cron(text)
    assert repr(tidy(text)) in str(refusal.value)


@pytest.mark.parametrize(
    "text,odd",
    [
        ("0\xa06 * * *", r"'\\xa0'"),
        ("٠ 6 * * *", "'٠'"),
        ("0 6 * * ſun", "'ſ'"),
        ("０ 6 * * *", "'０'"),
        ("\ud800", "ud800"),
    ],
    ids=["no-break space", "Arabic zero", "long s", "wide zero", "half a pair"],
)
def test_characters_that_only_look_right_are_refused_by_name(text: str, odd: str) -> None:
    with pytest.raises(
        DefinitionError, match=f"contains {odd}.*: write plain ASCII" if odd != "ud800" else odd
    ):
        Cron(text)


@pytest.mark.parametrize(
    "value", [None, True, 5, 0.5, b"0 6 * * *", ["0 6 * * *"], {}, object(), str, datetime]
)
def test_an_expression_that_is_no_text_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(DefinitionError, match=f"is text such as '0 6 .*, not {type(value).__name__}"):
        Cron(value)


def test_an_expression_may_have_256_characters_and_no_more() -> None:
    longest = "0 6 * * " + ",".join(["1"] * 124)
    assert len(longest) == LONGEST_EXPRESSION - 1
    assert Cron(longest).between(START, END) == Cron("0 6 * * 1").between(START, END)
    with pytest.raises(DefinitionError, match="has 257 characters, more than 256"):
        Cron(longest + ",1")


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


LIKE_CRON = st.text(alphabet=string.digits + "*/,-#?@() LWHRlwhr~=\t" + "SUNMONJAN", max_size=40)
FIELD = st.sampled_from(
    [
        "*",
        "0",
        "5",
        "1-5",
        "22-2",
        "*/7",
        "L",
        "?",
        "5#2",
        "15W",
        "R",
        "9-9",
        "60",
        "a",
        "MON",
        "",
    ]
)
FIVE_FIELDS = st.lists(FIELD, min_size=4, max_size=7).map(" ".join)
ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.text(), st.datetimes(), st.timedeltas(),
    st.lists(st.text()), st.dictionaries(st.text(), st.text()), st.timezones(),
)  # fmt: skip


def holds(make: Any, *args: Any, **options: Any) -> Any:
    """What is made, or None when it is refused; every other exception is let through."""
    try:
        return make(*args, **options)
    except DefinitionError:
        return None


@given(expression=st.one_of(LIKE_CRON, FIVE_FIELDS, st.text(max_size=300)))
def test_any_text_is_understood_or_refused(expression: str) -> None:
    schedule = holds(Cron, expression)
    if schedule is not None:
        first = schedule.next_after(START)
        assert first is not None, "an accepted expression fires"
        assert schedule.between(START, first) == [first]
        assert schedule_from_spec(schedule.spec()) == schedule
        assert schedule.describe()


@given(expression=ANYTHING, tz=ANYTHING, gap=ANYTHING, repeat=ANYTHING)
def test_anything_else_is_refused_cleanly(expression: Any, tz: Any, gap: Any, repeat: Any) -> None:
    holds(Cron, expression)
    holds(Cron, "0 6 * * *", tz=tz)
    assert holds(Cron, "0 6 * * *", dst_gap=gap) is None
    assert holds(Cron, "0 6 * * *", dst_repeat=repeat) is None
    holds(Every, expression)
    holds(Every, "1h", anchor=tz)
    holds(At, expression)
    holds(schedule_from_spec, expression)


class Hostile(str):  # noqa: SLOT000
    """Text that fails at whatever is asked of it."""

    def _fail(self, *args: object, **options: object) -> Any:
        raise RuntimeError

    lower = split = strip = encode = isascii = __repr__ = __len__ = __hash__ = __eq__ = _fail


def test_text_that_misbehaves_is_taken_for_its_characters() -> None:
    assert Cron(Hostile("0 6 * * *"), tz=Hostile("UTC")) == Cron("0 6 * * *")
    with pytest.raises(DefinitionError, match="has 2 fields"):
        Cron(Hostile("0 6"))
    with pytest.raises(DefinitionError, match="no time zone 'Nowhere'"):
        Cron("0 6 * * *", tz=Hostile("Nowhere"))


SLOWEST = [
    ",".join(str(n) for n in range(60)) + " * * * *",
    "1-2," * 61 + "3 * * * *",
    "* * " + "1-31," * 40 + "1 * *",
    "0 0 30,31 2 *",
    "0 0 * 2 5#5",
    "0 0 31 4,6,9,11 *",
    "0-59/1,0-58/2 0-23,1-22 1-31 1-12 0-6,1#1,2#2,3#3,4#4,5#5,L1,L2,L3",
    "((((((((((((((((((((((((((((((((((((((((" * 6,
    "h(" + "/" * 250,
    "l" * 250,
    "~" * 250,
    "*/" + "9" * 240 + " * * * *",
    ",".join("9" * 3 for _ in range(60)) + " * * * *",
]


@pytest.mark.parametrize("text", SLOWEST, ids=lambda text: text[:24])
def test_no_text_takes_longer_than_50_ms(text: str) -> None:
    fastest = min(seconds_to_read(text) for _ in range(3))
    assert fastest < 0.050


def seconds_to_read(text: str) -> float:
    begun = time.perf_counter()
    holds(parse.__wrapped__, tidy(text))
    return time.perf_counter() - begun


def test_an_expression_is_parsed_once() -> None:
    assert parse("17 6 * * *") is parse("17 6 * * *")
