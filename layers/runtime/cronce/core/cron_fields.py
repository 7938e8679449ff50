"""What a cron expression allows, as bit masks, and which wall times match it.

Nothing here knows zones: a wall time is a naive `datetime`. Bit `n` of a mask stands for the value `n`;
weekdays count from Sunday = 0 to Saturday = 6.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property

EVERY_HOUR = (1 << 24) - 1
EVERY_DAY = (1 << 32) - 2
EVERY_MONTH = (1 << 13) - 2
EVERY_WEEKDAY = (1 << 7) - 1

_FIRST_SEARCHED = date(2000, 1, 1)
_LAST_SEARCHED = date(2040, 12, 31)
# 40 years of a fixed calendar, so that the answer never depends on today. From 2000 on they hold a 29
# February on each day of the week: what does not occur in them never does.

_ONE_DAY = timedelta(days=1)


def values_of(mask: int) -> list[int]:
    """The values whose bits are set, ascending."""
    return [value for value in range(mask.bit_length()) if mask >> value & 1]


@dataclass(frozen=True, kw_only=True)
class CronFields:
    """One parsed expression.

    Attributes:
        minutes: mask of minutes 0 to 59.
        hours: mask of hours 0 to 23.
        days: mask of days of the month 1 to 31.
        last_day: the last day of a month matches (`L`).
        months: mask of months 1 to 12.
        weekdays: mask of weekdays 0 to 6.
        nth_weekdays: five masks: weekdays that match in their first, second .. fifth week of a month (`5#2`).
        last_weekdays: mask of weekdays that match the last time in a month (`L5`).
        any_day: the day-of-month field is `*` or `?`.
        any_weekday: the day-of-week field is `*` or `?`.
        warnings: what an author may not have meant, in words.
    """

    minutes: int
    hours: int
    days: int
    last_day: bool
    months: int
    weekdays: int
    nth_weekdays: tuple[int, ...]
    last_weekdays: int
    any_day: bool
    any_weekday: bool
    warnings: tuple[str, ...] = ()

    @property
    def every_hour(self) -> bool:
        """Whether the hour field allows all 24 hours, in whatever spelling."""
        return self.hours == EVERY_HOUR

    @cached_property
    def minutes_of_day(self) -> tuple[int, ...]:
        """The minutes of a matching day that match, counted from midnight, ascending."""
        return tuple(
            hour * 60 + minute for hour in values_of(self.hours) for minute in values_of(self.minutes)
        )

    def matches_day(self, day: date) -> bool:
        """Whether the month and day fields allow the date.

        When both day fields are restricted, either of them is enough. Restricted is every field but `*` and
        `?`.
        """
        if not self.months >> day.month & 1:
            return False
        by_date = self._matches_day_of_month(day)
        by_weekday = self._matches_weekday(day)
        if self.any_day or self.any_weekday:
            return by_date and by_weekday
        return by_date or by_weekday

    def _matches_day_of_month(self, day: date) -> bool:
        return bool(self.days >> day.day & 1) or (self.last_day and day.day == _length_of_month(day))

    def _matches_weekday(self, day: date) -> bool:
        allowed = self.weekdays | self.nth_weekdays[(day.day - 1) // 7]
        if self.last_weekdays and day.day + 7 > _length_of_month(day):
            allowed |= self.last_weekdays
        return bool(allowed >> day.isoweekday() % 7 & 1)

    def matching_days(self, first: date, last: date) -> Iterator[date]:
        """The matching dates from `first` to `last`, both included, ascending."""
        day = first
        while day <= last:
            if not self.months >> day.month & 1:
                day = day.replace(day=1) + _length_of_month(day) * _ONE_DAY
                continue
            if self.matches_day(day):
                yield day
            day += _ONE_DAY

    def wall_times(self, since: datetime, until: datetime) -> Iterator[datetime]:
        """The matching wall times from `since` (included) to `until` (excluded), ascending."""
        for day in self.matching_days(since.date(), until.date()):
            midnight = datetime.combine(day, time())
            whole_minutes = (since - midnight) // timedelta(minutes=1)
            for minute in self.minutes_of_day[bisect_left(self.minutes_of_day, whole_minutes) :]:
                wall = midnight + timedelta(minutes=minute)
                if wall >= until:
                    return
                if wall >= since:
                    yield wall

    def ever_match(self) -> bool:
        """Whether there is a matching date at all (30 February is none)."""
        return next(self.matching_days(_FIRST_SEARCHED, _LAST_SEARCHED), None) is not None


def _length_of_month(day: date) -> int:
    return monthrange(day.year, day.month)[1]
