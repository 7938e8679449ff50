"""From the text of a cron expression to its fields, or to a refusal that says what to write instead.

Accepted are exactly five fields (minute, hour, day-of-month, month, day-of-week) of values, names, lists,
ranges (also ones that wrap around), steps, `L`, `L5`, `5#2`, with 7 = Sunday and `?` in a day field = `*`;
and the aliases below. Letter case and the amount of white space do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, reduce
from operator import or_

from cronce.core.cron_fields import EVERY_DAY, EVERY_WEEKDAY, CronFields
from cronce.core.cron_item import DAY, FIELDS, HOUR, MINUTE, MONTH, WEEKDAY, Field, Item, read_item
from cronce.core.errors import DefinitionError

LONGEST_EXPRESSION = 256
"""Characters. The longest sensible expressions have some 200; anything beyond is not meant to be one."""

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_ORDER = "minute hour day-of-month month day-of-week"
_WRAPPER = re.compile(r"\s*(cron|rate|at)\s*\(", re.ASCII | re.IGNORECASE)
_ZONE_PREFIX = re.compile(r"\s*(cron_)?tz\s*=", re.ASCII | re.IGNORECASE)
_ANY = ("*", "?")
_WEEKS = (1, 2, 3, 4, 5)
_WHITE_SPACE = re.compile(r"[ \t\r\n]+")

_REMEMBERED_EXPRESSIONS = 4096
# Every distinct expression of a deployment, many times over.


def tidy(expression: object) -> str:
    """The expression with single blanks between its fields.

    Raises:
        DefinitionError: it is not text, or not text that an expression could be.
    """
    if not isinstance(expression, str):
        raise DefinitionError(
            f"a cron expression is text such as '0 6 * * *', not {type(expression).__name__}: quote it"
        )
    text = str.__str__(expression)
    if len(text) > LONGEST_EXPRESSION:
        raise DefinitionError(
            f"the cron expression {text[:32]!r}... has {len(text)} characters, more than "
            f"{LONGEST_EXPRESSION}: use ranges and steps, or split it over several jobs"
        )
    if not text.isascii():
        odd = next(character for character in text if not character.isascii())
        raise DefinitionError(
            f"the cron expression {text!r} contains {odd!r}: write plain ASCII characters and blanks"
        )
    return _WHITE_SPACE.sub(" ", text).strip(" ")


@lru_cache(maxsize=_REMEMBERED_EXPRESSIONS)
def parse(text: str) -> CronFields:
    """The fields of a tidy expression; each distinct one is parsed once.

    Raises:
        DefinitionError: it is not understood, not supported, or never fires.
    """
    try:
        _refuse_other_notations(text)
        words = _split(text)
        read = [_read_field(word, field) for word, field in zip(words, FIELDS, strict=True)]
    except DefinitionError as error:
        raise DefinitionError(f"cron expression {text!r}: {error}") from None
    fields = _assemble(words, read)
    if not fields.ever_match():
        raise DefinitionError(
            f"cron expression {text!r}: never fires, because no month it names has such a day: "
            f"change {DAY.name}, {MONTH.name} or {WEEKDAY.name}"
        )
    return fields


def _refuse_other_notations(text: str) -> None:
    wrapper = _WRAPPER.match(text)
    if wrapper:
        raise DefinitionError(_FOR_WRAPPER[wrapper[1].lower()])
    if _ZONE_PREFIX.match(text):
        raise DefinitionError(
            'the zone is not part of the expression: write Cron("0 6 * * *", tz="Europe/Berlin")'
        )
    if not text.startswith("@") or text.lower() in ALIASES:
        return
    if text.lower() == "@reboot":
        raise DefinitionError(
            "@reboot has no meaning here, nothing boots: write At(...) for a run at one instant"
        )
    if text.lower().startswith("@every"):
        raise DefinitionError("@every is not cron: write Every(timedelta(minutes=90))")
    raise DefinitionError(
        f"there is no alias of this name: write five fields ({_ORDER}) or one of {', '.join(ALIASES)}"
    )


_FOR_WRAPPER = {
    "cron": (
        "the cron(...) of AWS is another language: write its first five fields without cron(), leave out the "
        "year, and use names such as MON, because AWS counts weekdays from 1 = Sunday (here Sunday is 0 or 7)"
    ),
    "rate": "the rate(...) of AWS is an interval: write Every(timedelta(minutes=5))",
    "at": "the at(...) of AWS is one instant: write At(datetime(2026, 3, 8, 7, 0, tzinfo=UTC))",
}


def _split(text: str) -> list[str]:
    words = ALIASES.get(text.lower(), text.lower()).split(" ")
    if len(words) == len(FIELDS):
        return words
    if len(words) in (6, 7):
        raise DefinitionError(
            f"has {len(words)} fields, not five ({_ORDER}). Is the last one an AWS year field? Drop it. "
            "Is one of them seconds? Drop it: jobs start at whole minutes"
        )
    found = "is empty" if text == "" else f"has {len(words)} fields" if len(words) > 1 else "has one field"
    raise DefinitionError(f"{found}: write five ({_ORDER}), for example '0 6 * * *'")


def _read_field(word: str, field: Field) -> list[Item]:
    if word == "?" and field in (DAY, WEEKDAY):
        word = "*"
    items = word.split(",")
    if "*" in items and len(items) > 1:
        raise DefinitionError(
            f"{word!r} in {field.name} lists * beside other values: write * alone, or only the values"
        )
    return [read_item(item, field) for item in items]


def _assemble(words: list[str], read: list[list[Item]]) -> CronFields:
    days, weekdays = read[DAY.position], read[WEEKDAY.position]
    warnings = [item.warning for items in read for item in items if item.warning]
    fields = CronFields(
        minutes=_plain(read[MINUTE.position]),
        hours=_plain(read[HOUR.position]),
        days=_plain(days),
        last_day=any(item.last_day for item in days),
        months=_plain(read[MONTH.position]),
        weekdays=_plain(weekdays),
        nth_weekdays=tuple(_union(item.values for item in weekdays if item.nth == n) for n in _WEEKS),
        last_weekdays=_union(item.values for item in weekdays if item.last),
        any_day=words[DAY.position] in _ANY,
        any_weekday=words[WEEKDAY.position] in _ANY,
    )
    return replace(fields, warnings=(*warnings, *_idle_restrictions(words, fields)))


def _plain(items: list[Item]) -> int:
    return _union(item.values for item in items if not item.nth and not item.last)


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


def _idle_restrictions(words: list[str], fields: CronFields) -> list[str]:
    """Warnings for a day field that names every day, which makes the other one meaningless."""
    if fields.any_day or fields.any_weekday:
        return []
    return [
        f"{words[field.position]!r} in {field.name} names every day, and two restricted day fields are "
        "joined with OR: it fires every day. Write * there if the other field alone shall choose"
        for field, idle in ((DAY, fields.days == EVERY_DAY), (WEEKDAY, fields.weekdays == EVERY_WEEKDAY))
        if idle
    ]
