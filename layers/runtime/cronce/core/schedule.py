"""When a job occurs: `Cron`, `Every` and `At`.

What is guaranteed. A schedule stands for a set of instants in UTC that depends on nothing but its arguments
(and, for a zone, on the zone data in force). Asking for a stretch of time in one piece or in many gives the
same
instants: none is lost at a seam, none comes twice. `between` takes the start out and the end in.

`Cron` across a clock change:

* *Every-hour schedules* (the hour field allows all 24 hours, in any spelling: `*/15 * * * *`, `0 0-23 * * *`)
  fire whenever the zone's clock shows a matching time. An hour that is repeated fires in both passes, one
  that is skipped is not there: no real hour is missing and none is doubled.
* *Fixed-time schedules* (all others) fire once for each matching local time.

  - The clock shows it twice: in the first pass. `30 1 * * *` in New York on 2026-11-01 fires at 05:30Z and
    not again at 06:30Z. `dst_repeat="last"` or `"both"` choose otherwise.
  - The clock never shows it: at the instant where the jump lands. `30 2 * * *` in New York on 2026-03-08
    fires at 07:00Z, when the clock jumps from 02:00 to 03:00. `dst_gap="skip"` leaves it out. Several skipped
    times, and a real one at the landing, are one firing.

Every change of a zone's offset counts as one, whatever its size (30 minutes, two hours, a whole day) and its
cause.

Day-of-month and day-of-week: when both are restricted, either is enough; `0 9 13 * 5` is the 13th *or* a
Friday, `L` and `#` included. Restricted is every field but `*` and `?`: the rule of some crons by which a
leading star (`*/2`) does not restrict is not followed.

What is not guaranteed, and what can go wrong:

* Steps begin anew in each hour, day or month: `*/45 * * * *` fires at :00 and :45. `warnings()` names such
  steps; `Every` has constant distances.
* A new release of the zone data can move future firings. The release is part of what a deployment records.
* An expression that is not understood, or that never fires, is refused when the schedule is made, with a
  message that says what to write instead. A schedule that was made does not fail later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import TypeVar

from typing_extensions import override

from cronce.core.cron_text import parse, tidy
from cronce.core.errors import DefinitionError
from cronce.core.firings import DstGap, DstRepeat, FiringRule
from cronce.core.instants import from_key
from cronce.core.intervals import At, Every
from cronce.core.occurrences import Occurrences, within_calendar
from cronce.core.schedule_words import describe_cron
from cronce.core.zones import load_zone

__all__ = ["At", "Cron", "DstGap", "DstRepeat", "Every", "Schedule", "schedule_from_spec", "schedule_hash"]

_Choice = TypeVar("_Choice", bound=Enum)


@dataclass(frozen=True, init=False)
class Cron(Occurrences):
    """A cron expression in a time zone.

    Args:
        expression: five fields (minute, hour, day-of-month, month, day-of-week), or one of @hourly, @daily,
            @midnight, @weekly, @monthly, @yearly, @annually.
        tz: a key of the IANA database, such as "Europe/Berlin".
        dst_gap: what a fixed-time schedule does about a time that the clock skips: "next_valid" or "skip".
        dst_repeat: in which pass it fires when the clock shows a time twice: "first", "last" or "both".

    Raises:
        DefinitionError: an argument is not understood, or the expression never fires.

    Example:
        >>> noon = Cron("0 12 * * MON-FRI", tz="America/New_York")
        >>> noon.next_after(datetime(2026, 3, 6, 18, 0, tzinfo=UTC)).isoformat()
        '2026-03-09T16:00:00+00:00'
    """

    expression: str
    tz: str
    dst_gap: DstGap
    dst_repeat: DstRepeat
    _rule: FiringRule = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        expression: str,
        *,
        tz: str = "UTC",
        dst_gap: DstGap | str = DstGap.NEXT_VALID,
        dst_repeat: DstRepeat | str = DstRepeat.FIRST,
    ) -> None:
        text = tidy(expression)
        fields = parse(text)
        key = load_zone(tz).key
        gap, repeat = _choice("dst_gap", dst_gap, DstGap), _choice("dst_repeat", dst_repeat, DstRepeat)
        rule = FiringRule(fields=fields, zone=key, dst_gap=gap, dst_repeat=repeat)
        values = {"expression": text, "tz": key, "dst_gap": gap, "dst_repeat": repeat, "_rule": rule}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @override
    def series(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return self._rule.firings(start, end)

    @property
    @override
    def is_fixed_time(self) -> bool:
        """Whether the daylight-saving rule of fixed-time schedules applies: not all 24 hours are allowed."""
        return not self._rule.fields.every_hour

    @override
    def warnings(self) -> tuple[str, ...]:
        """What the author may not have meant, such as steps that are not evenly spaced."""
        return self._rule.fields.warnings

    @override
    def skipped_walls(self, instant: datetime) -> tuple[datetime, ...]:
        """The wall times (naive) that the clock skips and for which the occurrence at the instant stands in.

        Example:
            >>> nightly = Cron("30 2 * * *", tz="America/New_York")
            >>> nightly.skipped_walls(datetime(2026, 3, 8, 7, 0, tzinfo=UTC))
            (datetime.datetime(2026, 3, 8, 2, 30),)
        """
        return self._rule.skipped_walls(within_calendar(instant))

    @override
    def passes(self, instant: datetime) -> tuple[datetime, ...]:
        """All instants at which the zone's clock shows what it shows at this one: two, if it is set back."""
        return self._rule.passes(within_calendar(instant))

    @override
    def spec(self) -> dict[str, str]:
        """Everything that defines the occurrences, and nothing else."""
        return {
            "kind": "cron",
            "expression": self.expression,
            "tz": self.tz,
            "dst_gap": self.dst_gap.value,
            "dst_repeat": self.dst_repeat.value,
        }

    @override
    def describe(self) -> str:
        """In plain words where that is short, for example `daily at 06:00 America/New_York`."""
        return describe_cron(self._rule.fields, self.expression, self.tz)


Schedule = Cron | Every | At
"""What a job's `schedule` may be."""

_HASH_DIGITS = 16
# Of sha256: 64 bits tell the schedules of one deployment apart and keep the registry small.


def schedule_from_spec(spec: object) -> Schedule:
    """The schedule whose `spec()` this is.

    Raises:
        DefinitionError: it is not one; the message says which part.
    """
    if not isinstance(spec, dict) or not all(isinstance(text, str) for pair in spec.items() for text in pair):
        raise DefinitionError("a schedule's spec is a mapping of text to text")
    parts = dict(spec)
    kind = parts.pop("kind", None)
    if kind not in _SPEC_PARTS:
        raise DefinitionError(f"a schedule's spec has kind cron, every or at, not {kind!r}")
    if parts.keys() != _SPEC_PARTS[kind]:
        wanted, found = ", ".join(sorted(_SPEC_PARTS[kind])), ", ".join(sorted(parts)) or "none"
        raise DefinitionError(f"the spec of kind {kind} has the parts {wanted}, not {found}")
    if kind == "cron":
        return Cron(**parts)
    if kind == "at":
        return At(_instant_of(parts["instant"]))
    seconds = parts["seconds"]
    if not (seconds.isascii() and seconds.isdecimal()):
        raise DefinitionError(f"seconds of a schedule's spec is a whole number, not {seconds[:32]!r}")
    return Every(f"{seconds}s", anchor=_instant_of(parts["anchor"]))


_SPEC_PARTS = {
    "cron": {"expression", "tz", "dst_gap", "dst_repeat"},
    "every": {"seconds", "anchor"},
    "at": {"instant"},
}


def _instant_of(text: str) -> datetime:
    try:
        return from_key(text)
    except ValueError as error:
        raise DefinitionError(f"an instant of a schedule's spec is {error}") from error


@lru_cache(maxsize=1000)
def schedule_hash(schedule: Schedule) -> str:
    """A short fingerprint of what defines the occurrences: other hash, other schedule.

    Two spellings of one schedule may have two hashes. Kept, since a tick asks for that of every job.
    """
    canonical = json.dumps(schedule.spec(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_HASH_DIGITS]


def _choice(what: str, value: object, kind: type[_Choice]) -> _Choice:
    """A member of an enum, given as such or by its value."""
    if isinstance(value, kind):
        return value
    found = [member for member in kind if isinstance(value, str) and member.value == value]
    if not found:
        given = repr(value[:32]) if isinstance(value, str) else type(value).__name__
        raise DefinitionError(
            f"{what} takes {' or '.join(repr(member.value) for member in kind)}, not {given}"
        )
    return found[0]
