"""One item of one field of a cron expression: "MON-FRI", "*/15", "L", "5#2".

croniter turns items into values. What it would misread, or read otherwise than people expect, is refused here
first: it takes `9-9` for the whole field, drops the W of `15W`, draws `R` anew at each construction, and most
of its stepped wrap-around ranges are wrong. A refusal says what to write instead.
"""

from __future__ import annotations

import re

from croniter import croniter

from cronce.core.errors import DefinitionError
from cronce.core.values import dataclass

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One of the five fields of an expression."""

    position: int
    name: str
    low: int
    high: int
    full_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that stand for its values, beginning with the lowest; the first three letters of each."""
        return tuple(full_name[:3] for full_name in self.full_names)

    @property
    def size(self) -> int:
        """How many values the field has; 7 is a second name of Sunday."""
        return 7 if self is WEEKDAY else self.high - self.low + 1


MINUTE = Field(position=0, name="minute", low=0, high=59)
HOUR = Field(position=1, name="hour", low=0, high=23)
DAY = Field(position=2, name="day-of-month", low=1, high=31)
MONTH = Field(position=3, name="month", low=1, high=12, full_names=_MONTHS)
WEEKDAY = Field(position=4, name="day-of-week", low=0, high=7, full_names=_WEEKDAYS)
FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """What one item allows.

    Attributes:
        values: mask of plain values.
        last_day: it is `L` (the last day of a month).
        nth: for `5#2` the 2, else 0: then `values` counts only for the nth such weekday of a month.
        last: it is `L5`: then `values` counts only for the last such weekday of a month.
        warning: what the author may not have meant, or empty.
    """

    values: int = 0
    last_day: bool = False
    nth: int = 0
    last: bool = False
    warning: str = ""


_VALUE = r"(?:[0-9]+|[a-z]{3})"
_PLAIN = re.compile(rf"(?P<low>\*|{_VALUE})(?:-(?P<high>{_VALUE}))?(?:/(?P<step>[0-9]+))?", re.ASCII)
_NTH = re.compile(rf"(?P<day>{_VALUE})#(?P<nth>[0-9]+)", re.ASCII)
_LAST_WEEKDAY = re.compile(r"l(?P<day>[0-7])", re.ASCII)


_KNOWN_FORMS = (
    (r"", "{field} has an empty item: remove the comma, or write the missing value"),
    (
        r"[hr](\(.*)?(/.*)?|.*~.*",
        "{item} lets the program choose ({field}): write the value, for example 17 for a minute",
    ),
    (
        r"([0-9]+|l)w|w[0-9]*",
        (
            "{item} (the nearest weekday) is not supported: write the day of the month, or MON-FRI in "
            "day-of-week, and leave dates out with the job's exclude="
        ),
    ),
    (
        r".*\?.*",
        (
            "'?' stands only alone in day-of-month or day-of-week, where it means '*': "
            "write * instead of {item} in {field}"
        ),
    ),
    (r"-.*", "{item} in {field} is negative: it takes {low} to {high}"),
    (r".*#.*", "{item} is not understood in {field}: the second Friday is 5#2 or FRI#2, in day-of-week"),
    (
        r"l.*|[0-9]+l|.*-l(/.*)?|(sun|mon|tue|wed|thu|fri|sat)l",
        (
            "{item} is not understood in {field}: the last day of a month is L alone in day-of-month, "
            "the last Friday is L5 in day-of-week, and a range to the end of the month is 28-31"
        ),
    ),
    (r"(?s).*", "{item} is not understood in {field}: write a value, a-b, */n, a-b/n or a list of them"),
)
# What other programs accept and what people try, with the message that helps; the first that fits. They are
# compiled when something is not understood, else every start would pay for them.


def read_item(text: str, field: Field) -> Item:
    """What one item of a field allows.

    Args:
        text: the item in lower case, without white space or comma.
        field: the field it stands in.

    Raises:
        DefinitionError: it is not understood or not supported; the message lacks the whole expression.
    """
    if field is DAY and text == "l":
        return Item(last_day=True)
    if field is WEEKDAY and (match := _LAST_WEEKDAY.fullmatch(text)):
        return Item(values=_values(match["day"], field), last=True)
    if field is WEEKDAY and (match := _NTH.fullmatch(text)):
        return _read_nth(match["day"], int(match["nth"]))
    match = _PLAIN.fullmatch(text)
    if not match:
        raise DefinitionError(_why_not_understood(text, field))
    return _read_plain(text, field, match)


def _read_nth(day: str, nth: int) -> Item:
    _number(day, WEEKDAY)
    if not 1 <= nth <= 5:
        raise DefinitionError(
            f"a month has no weekday number {nth}: write {day}#1 to {day}#5, or L for the last one"
        )
    return Item(values=_values(day, WEEKDAY), nth=nth)


def _read_plain(text: str, field: Field, match: re.Match[str]) -> Item:
    low = field.low if match["low"] == "*" else _number(match["low"], field)
    if match["step"] is not None and int(match["step"]) == 0:
        raise DefinitionError(f"a step of 0 goes nowhere in {text!r}: write a step of 1 or more")
    if match["high"] is not None:
        if match["low"] == "*":
            raise DefinitionError(f"{text!r} mixes * with a range: write either")
        _check_range(text, field, match)
        return Item(values=_values(text, field))
    values = _values(text, field)
    if match["step"] is None:
        return Item(values=values)
    return Item(values=values, warning=_uneven(text, field, low, int(match["step"]), values))


def _number(value: str, field: Field) -> int:
    """The number of a value that is within its field."""
    if value in field.names:
        return field.names.index(value) + field.low
    if not value.isdigit():
        raise DefinitionError(_unknown_name(value, field))
    if not field.low <= int(value) <= field.high:
        raise DefinitionError(
            f"{value[:12]} is out of range in {field.name}: it takes {field.low} to {field.high}"
        )
    return int(value)


def _unknown_name(value: str, field: Field) -> str:
    if not field.names:
        return f"{value!r} is not a {field.name}: it takes numbers from {field.low} to {field.high}"
    return (
        f"{value!r} is not a {field.name}: it takes {field.low} to {field.high} or {', '.join(field.names)}"
    )


def _check_range(text: str, field: Field, match: re.Match[str]) -> None:
    low, high = _number(match["low"], field), _number(match["high"], field)
    if low == high or (field is WEEKDAY and low - high == 7):
        raise DefinitionError(
            f"the range {text!r} begins and ends at one value, which some programs take for that value and "
            f"others for the whole field: write {match['low']} or *"
        )
    if low > high and match["step"] is not None:
        values = range(low, high + field.size + 1, int(match["step"]))
        written_out = ",".join(str((value - field.low) % field.size + field.low) for value in values)
        raise DefinitionError(
            f"the range {text!r} wraps around and has a step: write its values, {written_out}"
        )


_CONSTANT_DISTANCE = "For a constant distance use Every(timedelta(...))"


def _uneven(text: str, field: Field, low: int, step: int, values: int) -> str:
    """Why an open-ended stepped item does not recur evenly, or nothing when it does."""
    last = values.bit_length() - 1
    first = low % 7 if field is WEEKDAY else low
    across = field.size - last + first
    if step == 1 or (across == step and field is not DAY):
        return ""
    if first == last:
        return f"{text!r} in {field.name} names {first} alone. {_CONSTANT_DISTANCE}"
    return (
        f"{text!r} in {field.name} is not evenly spaced: it starts again at {first} after {last}. "
        f"{_CONSTANT_DISTANCE}"
    )


def _values(text: str, field: Field) -> int:
    """The mask of an item's values, as croniter reads it."""
    fields = ["*"] * len(FIELDS)
    fields[field.position] = text
    try:
        values = croniter.expand(" ".join(fields))[0][field.position]
    except Exception as error:
        raise DefinitionError(f"{text!r} is not understood in {field.name}: {error}") from error
    if values == ["*"]:
        values = list(range(field.low, field.low + field.size))
    return sum(1 << value for value in values if isinstance(value, int))


def _why_not_understood(text: str, field: Field) -> str:
    """The message for an item that fits no accepted form."""
    if text and any(full_name.startswith(text) for full_name in field.full_names):
        return f"{text!r} is not a name that {field.name} takes: write its first three letters"
    message = next(message for form, message in _KNOWN_FORMS if re.fullmatch(form, text, re.ASCII))
    return message.format(item=repr(text.upper()), field=field.name, low=field.low, high=field.high)
