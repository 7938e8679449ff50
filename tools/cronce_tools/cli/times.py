"""Times as people write and read them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from cronce.core.durations import duration
from cronce.core.errors import DefinitionError
from cronce.core.zones import load_zone
from cronce_tools.cli.exits import UsageError

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
"""Occurrences are whole seconds."""
FIRST_YEAR, LAST_YEAR = 1970, 9000
"""Far from the edges of the calendar, so that no computation runs over them."""
_AGO = re.compile(r"(?=\d)(?:\d+d)?(?:\d+h)?(?:\d+m)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MONTH = re.compile(r"\d{4}-\d\d")
D = TypeVar("D", bound=date)
_FORMS = "2026-03-08 (a day), 2026-03-08T02:30 (local time), 2026-03-08T07:00Z (an instant)"


def shown(at: datetime | None, zone: str = "UTC") -> str:
    """An instant as the zone's clock shows it, with the day of the week; `-` for none."""
    if at is None:
        return "-"
    local = at.astimezone(load_zone(zone))
    return local.strftime("%a %Y-%m-%d %H:%M:%S %Z" if local.second else "%a %Y-%m-%d %H:%M %Z")


def local_json(at: datetime, zone: str) -> str:
    """An instant as the zone's clock shows it, with its offset, in ISO 8601."""
    return at.astimezone(load_zone(zone)).isoformat()


def local_text(text: str) -> str:
    """A stored wall time with its offset, as a person reads it: `Fri 2026-10-30 06:00 -04:00`."""
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        return text
    form = "%a %Y-%m-%d %H:%M:%S" if local.second else "%a %Y-%m-%d %H:%M"
    offset = text[19:] if local.tzinfo else ""
    return f"{local.strftime(form)} {'UTC' if offset in {'+00:00', 'Z'} else offset}".rstrip()


def shown_for(length: timedelta) -> str:
    """A duration, short: `850 ms`, `4.2 s`, `12 min 5 s`, `3 h 20 min`, `2 d 4 h`."""
    seconds = length.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    units = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
    parts = []
    for size, unit in units:
        count, seconds = divmod(seconds, size)
        parts.append((int(count), unit))
    first = next(index for index, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


def midnight(day: date, zone: str) -> datetime:
    """The instant at which a day begins in a zone; where the clock skips midnight, when it jumps."""
    return datetime(day.year, day.month, day.day, tzinfo=load_zone(zone)).astimezone(UTC)


def day_of(text: str, today: date) -> date | None:
    """A day: `2026-03-08`, `today`, `yesterday`; None for anything else.

    Raises:
        UsageError: there is no such day in the calendar.
    """
    near = {"today": today, "yesterday": today - DAY}
    if text in near:
        return near[text]
    if not _DATE.fullmatch(text):
        return None
    try:
        return _kept(date.fromisoformat(text))
    except ValueError as error:
        raise UsageError(f"there is no day {text}: {error}") from None


def month_of(text: str) -> date:
    """The first day of a month, `2026-03`.

    Raises:
        UsageError: it is none.
    """
    try:
        if _MONTH.fullmatch(text):
            return _kept(date.fromisoformat(f"{text}-01"))
    except ValueError:
        pass
    raise UsageError(f"{text!r} is no month: write 2026-03")


def wall_or_instant(text: str) -> datetime:
    """A time: aware if an offset is given, else naive.

    Raises:
        UsageError: it is none.
    """
    try:
        if "T" in text or " " in text.strip():
            return _kept(datetime.fromisoformat(text.strip()).replace(microsecond=0))
    except ValueError:
        pass
    raise UsageError(f"{text!r} is no time: write {_FORMS}")


def _kept(day: D) -> D:
    """The day, if there can be records of it.

    Raises:
        ValueError: there are none.
    """
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueError(f"the year is not one of {FIRST_YEAR} to {LAST_YEAR}")
    return day


def instant_of(text: str, zone: str, now: datetime) -> datetime:
    """An instant: a time, the beginning of a day, or how long ago (`90m`, `2h`, `7d`).

    Args:
        text: what was given.
        zone: whose clock it is read by, unless it says its offset.
        now: aware UTC.

    Raises:
        UsageError: it is none of these.
    """
    if _AGO.fullmatch(text):
        try:
            return now - duration("a time", text)
        except DefinitionError as error:
            raise UsageError(str(error)) from None
    local_now = now.astimezone(load_zone(zone))
    if (day := day_of(text, local_now.date())) is not None:
        return midnight(day, zone)
    given = wall_or_instant(text)
    return (given if given.tzinfo else given.replace(tzinfo=load_zone(zone))).astimezone(UTC)


def window_of(
    since: str | None, until: str | None, zone: str, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """A stretch of time, each end if it is given: from the first instant to before the second.

    Whoever names two ends means both: the second is included, a day as a whole.

    Raises:
        UsageError: an end is no time, or the first is after the last.
    """
    first = instant_of(since, zone, now) if since is not None else None
    last = _after(until, zone, now) if until is not None else None
    if first is not None and last is not None and first >= last:
        raise backwards(first, last - SECOND, zone)
    return first, last


def range_of(since: str, until: str, zone: str, now: datetime) -> tuple[datetime, datetime]:
    """A stretch of time with both its ends; see `window_of`."""
    first, last = window_of(since, until, zone, now)
    if first is None or last is None:
        raise UsageError(f"a range wants two ends: write {_FORMS}")
    return first, last


def backwards(first: datetime, last: datetime, zone: str) -> UsageError:
    """The error about a range that ends before it begins."""
    return UsageError(f"the range runs backwards: {shown(first, zone)} is after {shown(last, zone)}")


def _after(text: str, zone: str, now: datetime) -> datetime:
    """The first instant that is not in a stretch which ends so."""
    day = day_of(text, now.astimezone(load_zone(zone)).date())
    return midnight(day + DAY, zone) if day is not None else instant_of(text, zone, now) + SECOND
