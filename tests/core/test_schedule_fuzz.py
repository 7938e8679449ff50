"""Whatever is passed to a schedule: understood, or refused cleanly, and soon.

Invariants:
- nothing but a DefinitionError ever leaves a constructor;
- what is accepted fires, describes itself and survives its spec;
- an expression is understood or refused within 50 ms.
"""

from __future__ import annotations

import string
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core.cron_text import parse, tidy
from cronce.core.errors import DefinitionError
from cronce.core.schedule import At, Cron, Every, schedule_from_spec

START = datetime(2026, 1, 1, tzinfo=UTC)

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
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.text(), st.lists(st.text()),
    st.datetimes(), st.timedeltas(), st.dictionaries(st.text(), st.text()), st.timezones(),
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
    """Of this process alone, however busy the machine is."""
    begun = time.process_time()
    holds(parse.__wrapped__, tidy(text))
    return time.process_time() - begun
