"""When jobs are due, worked out apart from the code under test.

Cron expressions are read by the slow reference, and around changes of a zone's clock answered by it: it looks
at every minute. It is asked once for each expression, zone and stretch of time, since all histories begin on
one of a few days.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from tests.core import reference_cron

BEFORE = timedelta(days=3)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
CHUNK = 8 * DAY
"""Timelines are made in pieces of so many days, as far as a history goes."""
AROUND = 48
"""Hours before and after such a piece in which a change of the clock may matter."""


@lru_cache(maxsize=40)
def _timeline(zone: str, start: datetime) -> reference_cron.Timeline:
    return reference_cron.Timeline(zone, start, start + CHUNK)


@lru_cache(maxsize=1000)
def _offsets(zone: str, start: datetime) -> frozenset[timedelta]:
    """What the zone's clock differs from UTC by, in and around a stretch."""
    info = ZoneInfo(zone)
    hours = range(-AROUND, AROUND + CHUNK // HOUR)
    return frozenset((start + number * HOUR).astimezone(info).utcoffset() or timedelta(0) for number in hours)


@lru_cache(maxsize=20_000)
def _fired(expression: str, zone: str, rules: tuple[str, str], start: datetime) -> tuple[datetime, ...]:
    fields, offsets = reference_cron.read(expression), _offsets(zone, start)
    if len(offsets) > 1:
        times = _timeline(zone, start).firings(fields, *rules)
    else:
        times = _of_a_steady_clock(fields, min(offsets), start)
    return tuple(reference_cron.within(times, start, start + CHUNK))


def _of_a_steady_clock(
    fields: reference_cron.Expression, offset: timedelta, start: datetime
) -> list[datetime]:
    """Where no clock changes the rules say nothing: going through the days is enough."""
    first = (start + offset).replace(hour=0, minute=0)
    days = [first + number * DAY for number in range(CHUNK // DAY + 1)]
    return [
        day.replace(hour=hour, minute=minute) - offset
        for day in days
        if fields.on(day.date())
        for hour in sorted(fields.hours)
        for minute in sorted(fields.minutes)
    ]


class Oracle:
    """Answers for a history that begins at an instant.

    Args:
        start: of the history.
    """

    def __init__(self, start: datetime) -> None:
        self._origin = start - BEFORE

    def between(self, spec: Mapping[str, str], start: datetime, end: datetime) -> Sequence[datetime]:
        """The occurrences after `start` up to `end`, of a schedule as it is stored."""
        if spec["kind"] == "at":
            at = datetime.fromisoformat(spec["instant"])
            return [at] if start < at <= end else []
        if spec["kind"] == "every":
            return _every(
                timedelta(seconds=int(spec["seconds"])), datetime.fromisoformat(spec["anchor"]), start, end
            )
        found: list[datetime] = []
        number = max((start - self._origin) // CHUNK, 0)
        while (origin := self._origin + number * CHUNK) < end:
            rules = (spec["dst_gap"], spec["dst_repeat"])
            times = _fired(spec["expression"], spec["tz"], rules, origin)
            found += times[bisect_right(times, start) : bisect_right(times, end)]
            number += 1
        return found


def _every(interval: timedelta, anchor: datetime, start: datetime, end: datetime) -> Sequence[datetime]:
    at = anchor
    at += (start - anchor) // interval * interval
    times = []
    while at <= end:
        if at > start:
            times.append(at)
        at += interval
    return times
