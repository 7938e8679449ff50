"""Cron text that is refused: each form by its own message.

Invariants:
- every refusal is a DefinitionError that names the expression (or what was passed) and says what to write;
- what is no text, too long, or only looks like a digit or a blank is refused as well.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cronce.core.cron_text import LONGEST_EXPRESSION, tidy
from cronce.core.errors import DefinitionError
from cronce.core.schedule import Cron

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
