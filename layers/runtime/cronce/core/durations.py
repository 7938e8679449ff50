"""Durations as people write them: `timedelta` or text such as "90s", "15m", "2h", "1d", "1h30m"."""

from __future__ import annotations

import re
from datetime import timedelta

from cronce.core.errors import DefinitionError

Duration = timedelta | str
"""What every duration argument of the author's API takes."""

_PARTS = re.compile(r"(\d{1,9})(d|h|m|s)")
_WHOLE = re.compile(r"(?:\d{1,9}d)?(?:\d{1,9}h)?(?:\d{1,9}m)?(?:\d{1,9}s)?")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
LONGEST = timedelta(days=3650)
"""Ten years: longer than any record is kept."""


def duration(what: str, value: object, *, at_least: timedelta = timedelta(0)) -> timedelta:
    """Read a duration of whole seconds.

    Args:
        what: the argument's name, for the message.
        value: a `timedelta`, or text of d, h, m, s parts in that order ("1h30m").
        at_least: the smallest duration that makes sense here.

    Raises:
        DefinitionError: it is neither, has a fraction of a second, or is too short or too long.
    """
    if isinstance(value, str) and value and _WHOLE.fullmatch(value):
        seconds = sum(
            timedelta(**{_UNITS[unit]: 1}).total_seconds() * int(n) for n, unit in _PARTS.findall(value)
        )
        if seconds > LONGEST.total_seconds():
            raise DefinitionError(f"{what}: {value!r} is longer than ten years")
        value = timedelta(seconds=seconds)
    if not isinstance(value, timedelta):
        raise DefinitionError(
            f'{what} takes a timedelta or text such as "90s", "15m", "1h30m", "1d", not {value!r}'
        )
    if value.microseconds:
        raise DefinitionError(f"{what} takes whole seconds, not {value}")
    if not at_least <= value <= LONGEST:
        raise DefinitionError(f"{what} takes {at_least} to {LONGEST}, not {value}")
    return value


def duration_text(length: timedelta) -> str:
    """A duration as people write it, such as "1h30m"; parts of a second are left out."""
    left, parts = int(length.total_seconds()), []
    for unit, seconds in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        number, left = divmod(left, seconds)
        parts += [f"{number}{unit}"] if number else []
    return "".join(parts) or "0s"
