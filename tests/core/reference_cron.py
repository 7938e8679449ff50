"""A slow second opinion on when a cron expression fires, written to share nothing with the real one.

It reads the fields by itself, without croniter, and goes through time minute by minute, converting from UTC
to local time only: what the zone's clock shows is observed, never computed back. It takes well-formed text
for granted and also answers for stepped ranges that wrap around, which `Cron` refuses.
"""

from __future__ import annotations

import calendar
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
MARGIN = timedelta(hours=25)
# What lies beyond a window and still decides about it: no zone was ever set back or forward by more than 24
# h.

_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


@dataclass(frozen=True)
class Expression:
    """The values of five fields; days are decided by date."""

    minutes: frozenset[int]
    hours: frozenset[int]
    day_text: str
    months: frozenset[int]
    weekday_text: str

    @property
    def every_hour(self) -> bool:
        return len(self.hours) == 24

    def on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        answers = [
            answer
            for text, answer in (
                (self.day_text, self._on_day_of_month(day)),
                (self.weekday_text, self._on_weekday(day)),
            )
            if text not in {"*", "?"}
        ]
        return any(answers) if answers else True

    def _on_day_of_month(self, day: date) -> bool:
        last = calendar.monthrange(day.year, day.month)[1]
        return any(
            day.day == last if item == "L" else day.day in values(item, 1, 31)
            for item in self.day_text.replace("?", "*").split(",")
        )

    def _on_weekday(self, day: date) -> bool:
        return any(_is_weekday(item, day) for item in self.weekday_text.replace("?", "*").split(","))


def _is_weekday(item: str, day: date) -> bool:
    weekday = calendar.weekday(day.year, day.month, day.day)
    same_weekday = [
        number
        for number in range(1, calendar.monthrange(day.year, day.month)[1] + 1)
        if calendar.weekday(day.year, day.month, number) == weekday
    ]
    if "#" in item:
        name, nth = item.split("#")
        wanted = same_weekday[int(nth) - 1 : int(nth)]
        return (weekday + 1) % 7 in weekdays(name) and day.day in wanted
    if item.startswith("L"):
        return (weekday + 1) % 7 in weekdays(item[1:]) and day.day == same_weekday[-1]
    return (weekday + 1) % 7 in weekdays(item)


def read(text: str) -> Expression:
    """The fields of an expression."""
    minute, hour, day, month, weekday = _ALIASES.get(text.lower(), text).upper().split()
    return Expression(
        minutes=values(minute, 0, 59),
        hours=values(hour, 0, 23),
        day_text=day,
        months=values(month, 1, 12, ["", *_MONTHS]),
        weekday_text=weekday,
    )


def weekdays(text: str) -> frozenset[int]:
    """The weekdays of a list, Sunday = 0."""
    found: set[int] = set()
    for item in text.split(","):
        from_sunday = item.startswith("7/")  # a start with a step: from Sunday through the week
        found |= values("0" + item[1:] if from_sunday else item, 0, 6, _WEEKDAYS)
    return frozenset(found)


def values(text: str, low: int, high: int, names: list[str] | None = None) -> frozenset[int]:
    """The values of a list of items: `*`, `a`, `a-b` (around the end, too), each with an optional `/step`."""

    def number(word: str) -> int:
        return names.index(word) if names and word in names else int(word)

    found: set[int] = set()
    size = high - low + 1
    for item in text.split(","):
        body, _, step = item.partition("/")
        first, _, last = body.partition("-")
        start = low if body == "*" else number(first)
        stop = number(last) if last else (high if step or body == "*" else start)
        distance = stop - start if stop >= start else stop - start + size
        found |= {low + (start - low + i) % size for i in range(0, distance + 1, int(step or 1))}
    return frozenset(found)


class Timeline:
    """What a zone's clock shows, minute by minute, from one instant to another and around them."""

    def __init__(self, zone: str, start: datetime, end: datetime, step: timedelta = MINUTE) -> None:
        self.start, self.end = start, end
        self._shown: list[tuple[datetime, datetime]] = []
        """(instant, wall time) for every step."""
        tzinfo = ZoneInfo(zone)
        instant = (start - MARGIN).astimezone(UTC).replace(second=0, microsecond=0)
        while instant <= end + MARGIN:
            self._shown.append((instant, instant.astimezone(tzinfo).replace(tzinfo=None)))
            instant += step
        self._walls = {wall for _, wall in self._shown}
        self._days = {wall.date() for wall in self._walls}
        self._skipped = self._find_skipped(step)

    def _find_skipped(self, step: timedelta) -> list[tuple[datetime, datetime]]:
        """(instant of the landing, wall time that the clock leaves out)."""
        skipped = []
        for (_, before), (landing, after) in zip(self._shown, self._shown[1:], strict=False):
            wall = before + step
            while wall < after:
                if wall not in self._walls and wall.second == 0:
                    skipped.append((landing, wall))
                    self._days.add(wall.date())
                wall += step
        return skipped

    def firings(self, expression: Expression, gap: str, repeat: str) -> list[datetime]:
        """All firings from the start to the end of the timeline, its ends included."""
        days = {day for day in self._days if expression.on(day)}
        minutes, hours = expression.minutes, expression.hours

        def matches(wall: datetime) -> bool:
            return wall.minute in minutes and wall.hour in hours and wall.second == 0 and wall.date() in days

        by_wall: dict[datetime, list[datetime]] = defaultdict(list)
        for instant, wall in self._shown:
            if matches(wall):
                by_wall[wall].append(instant)
        every_pass = expression.every_hour or repeat == "both"
        chosen = slice(None) if every_pass else slice(0, 1) if repeat == "first" else slice(-1, None)
        fired = {instant for instants in by_wall.values() for instant in instants[chosen]}
        if not expression.every_hour and gap == "next_valid":
            fired |= {landing for landing, wall in self._skipped if matches(wall)}
        return sorted(instant for instant in fired if self.start <= instant <= self.end)


def within(firings: list[datetime], start: datetime, end: datetime) -> list[datetime]:
    """The part after `start` up to and including `end`."""
    return [instant for instant in firings if start < instant <= end]
