"""The items of cron fields, form by form, against the reference's own reading.

Invariants:
- every form of item means to croniter what it means to the reference;
- what a refused stepped wrap-around range is to be written as, is what it would have meant.
"""

from __future__ import annotations

import itertools

import pytest

from cronce.core import cron_item
from cronce.core.cron_fields import values_of
from cronce.core.cron_item import DAY, FIELDS, HOUR, MINUTE, MONTH, WEEKDAY, Field, read_item
from cronce.core.errors import DefinitionError
from tests.core.reference_cron import values, weekdays


def test_what_croniter_alone_refuses_is_refused_as_a_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    class Croniter:
        @staticmethod
        def expand(text: str) -> list[str]:
            raise TypeError(f"cannot read {text}")

    monkeypatch.setattr(cron_item, "croniter", Croniter)
    with pytest.raises(DefinitionError, match=r"'5' is not understood in hour: cannot read \* 5 \* \* \*"):
        read_item("5", HOUR)


def reference_values(item: str, field: Field) -> frozenset[int]:
    if field is WEEKDAY:
        return weekdays(item)
    return values(item, field.low, field.high, ["", *(name.upper() for name in field.names)])


def ranges(field: Field) -> list[str]:
    """Every range that goes forward, with several steps, and every one that wraps around, without a step."""
    numbers = range(field.low, field.high + 1)
    steps = ("", "/1", "/2", "/3", "/5", "/7", "/30", "/99")
    forward = [f"{a}-{b}{step}" for a in numbers for b in numbers if a < b for step in steps]
    around = [f"{a}-{b}" for a in numbers for b in numbers if a > b and not (field is WEEKDAY and a - b == 7)]
    if field is MINUTE:  # croniter needs 50 us for each
        return forward[::9] + around[::5]
    return forward[::2] + around


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_form_of_item_means_what_the_reference_reads(field: Field) -> None:
    numbers = range(field.low, field.high + 1)
    items = ["*", *(f"*/{step}" for step in (1, 2, 3, 7, 12, 45, 60, 100))]
    items += [str(number) for number in numbers]
    items += [f"{number}/{step}" for number in numbers for step in (1, 2, 5, 15, 60)]
    items += [f"{a}-{b}" for a in field.names for b in field.names if a != b]
    for item in items + ranges(field):
        assert set(values_of(read_item(item, field).values)) == reference_values(item.upper(), field), item


@pytest.mark.parametrize("field", [HOUR, DAY, MONTH, WEEKDAY], ids=lambda field: field.name)
def test_a_refused_stepped_wrap_around_range_is_written_out_right(field: Field) -> None:
    numbers = range(field.low, field.high + 1)
    for a, b, step in itertools.product(numbers, numbers, (1, 2, 3, 5)):
        if a <= b or (field is WEEKDAY and a - b == 7):
            continue
        item = f"{a}-{b}/{step}"
        with pytest.raises(DefinitionError) as refusal:
            read_item(item, field)
        suggestion = str(refusal.value).rpartition(" ")[2]
        assert reference_values(suggestion, field) == reference_values(item, field), item
