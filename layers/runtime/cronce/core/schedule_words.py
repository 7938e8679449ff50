"""Schedules in plain words, where plain words are short."""

from __future__ import annotations

from datetime import timedelta

from cronce.core.cron_fields import EVERY_MONTH, EVERY_WEEKDAY, CronFields, values_of

_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def describe_cron(fields: CronFields, expression: str, zone: str) -> str:
    """A cron schedule in words; the expression and its zone when there are no short ones.

    Example:
        `every 15 minutes`, `hourly at :05 UTC`, `daily at 06:00 America/New_York`, `Monday, Friday at 06:00
        UTC`
    """
    return _describe_plain(fields, zone) or f"{expression} {zone}"


def _describe_plain(fields: CronFields, zone: str) -> str:
    minutes, hours = values_of(fields.minutes), values_of(fields.hours)
    if fields.months != EVERY_MONTH or not fields.any_day:
        return ""
    if fields.every_hour and fields.any_weekday:
        return _describe_minutes(minutes, zone)
    if len(minutes) > 1 or len(hours) > 1:
        return ""
    at = f"at {hours[0]:02}:{minutes[0]:02} {zone}"
    if fields.weekdays == EVERY_WEEKDAY:
        return f"daily {at}"
    if any(fields.nth_weekdays) or fields.last_weekdays:
        return ""
    return f"{', '.join(_WEEKDAYS[day] for day in values_of(fields.weekdays))} {at}"


def _describe_minutes(minutes: list[int], zone: str) -> str:
    if len(minutes) == 60:
        return "every minute"
    if len(minutes) == 1:
        return f"hourly at :{minutes[0]:02} {zone}"
    step = minutes[1] - minutes[0]
    if 60 % step == 0 and minutes == list(range(0, 60, step)):
        return f"every {step} minutes"
    return ""


def describe_interval(interval: timedelta) -> str:
    """A duration in words, for example `1 hour 30 minutes`; a single unit stands without its 1."""
    seconds = interval // timedelta(seconds=1)
    parts = []
    for unit, length in _UNITS:
        count, seconds = divmod(seconds, length)
        if count:
            parts.append((count, unit))
    if len(parts) == 1 and parts[0][0] == 1:
        return parts[0][1]
    return " ".join(f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in parts)
