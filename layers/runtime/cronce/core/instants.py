"""Instants as text: whole seconds in keys, milliseconds in attributes. Both sort by time."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_KEY = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z")
_TEXT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def to_key(instant: datetime) -> str:
    """`2026-03-08T07:00:00Z`.

    Raises:
        ValueError: the instant is naive or not a whole second (keys would no longer be unique).
    """
    if instant.tzinfo is None or instant.microsecond:
        raise ValueError(f"a key takes an aware instant of whole seconds, not {instant!r}")
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_key(text: str) -> datetime:
    """The instant of a key.

    Raises:
        ValueError: the text is not of that form or no date.
    """
    match = _KEY.fullmatch(text)
    if match is None:
        raise ValueError(f"not an instant of the form YYYY-MM-DDTHH:MM:SSZ: {text!r}")
    year, month, day, hour, minute, second = map(int, match.groups())
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def to_text(instant: datetime) -> str:
    """`2026-03-08T07:00:00.000Z`; finer than a millisecond is cut off.

    Raises:
        ValueError: the instant is naive.
    """
    if instant.tzinfo is None:
        raise ValueError(f"an instant is aware, not {instant!r}")
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """The instant of an attribute.

    Raises:
        ValueError: the text is not of that form or no date.
    """
    if not _TEXT.fullmatch(text):
        raise ValueError(f"not an instant of the form YYYY-MM-DDTHH:MM:SS.mmmZ: {text!r}")
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")
