"""When jobs are due, worked out apart from the code under test.

Cron expressions are answered by the slow reference that looks at every minute of a zone's clock; it is asked
once for each expression, zone and stretch of time, since all histories begin on one of a few days.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from tests.core import reference_cron

BEFORE = timedelta(days=3)
CHUNK = timedelta(days=8)
"""Timelines are made in pieces of so many days, as far as a history goes."""


@lru_cache(maxsize=40)
def _timeline(zone: str, start: datetime) -> reference_cron.Timeline:
    return reference_cron.Timeline(zone, start, start + CHUNK)


@lru_cache(maxsize=4000)
def _fired(expression: str, zone: str, rules: tuple[str, str], start: datetime) -> tuple[datetime, ...]:
    times = _timeline(zone, start).firings(reference_cron.read(expression), *rules)
    return tuple(reference_cron.within(times, start, start + CHUNK))


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
