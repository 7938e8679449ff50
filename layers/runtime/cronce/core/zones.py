"""Time zones: loading them, their changes of offset, and which zone data is in force.

Zones are keys of the IANA database ("Europe/Berlin"), answered by the `tzdata` wheel that ships with cronce.
The standard library would read the machine's own files first; with `PYTHONTZPATH` set to the empty string it
does not, and two machines with the same wheel agree on every firing. `check_zone_data` proves that at
start-up.

Offsets are found by asking the zone, not by reading its file: two probes that differ enclose a change, and
halving the stretch between them finds its second. That needs changes to lie further apart than two probes;
the closest pair in the database is a week apart (the tests measure it).
"""

from __future__ import annotations

import difflib
import importlib
import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronce.core.errors import DefinitionError
from cronce.core.values import dataclass

MINIMUM_ZONE_DATA = "2026f"
"""The oldest IANA release that is accepted. It is the first that knows the end of clock changes in British
Columbia and Alberta: with older data, 09:00 in Vancouver comes an hour late from November 2026 on."""

PROBE = timedelta(days=2)
"""How far apart a zone's offset is looked at; less than half of the shortest time between two changes."""

_ONE_SECOND = timedelta(seconds=1)
_REMEMBERED_YEARS = 4096
# Years of offset changes kept in memory, over all zones: some 200 bytes each.

_VERSION = re.compile(r"(\d{4})([a-z]+)", re.ASCII)

_loaded: dict[str, ZoneInfo] = {}
# ZoneInfo's own cache keeps eight zones strongly; more of them would be read from disk again and again.


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A stretch of time, from `start` to before `end` (UTC), in which a zone keeps one offset."""

    start: datetime
    end: datetime
    offset: timedelta

    def wall(self, instant: datetime) -> datetime:
        """What the zone's clock shows at the instant (naive)."""
        return (instant + self.offset).replace(tzinfo=None)

    def instant(self, wall: datetime) -> datetime:
        """The instant at which the clock, at this offset, shows the wall time."""
        return wall.replace(tzinfo=UTC) - self.offset

    def shows(self, wall: datetime) -> bool:
        """Whether the clock shows the wall time within this stretch."""
        return self.start <= self.instant(wall) < self.end


def load_zone(key: object) -> ZoneInfo:
    """The zone of a key. The same object at every call.

    Args:
        key: an IANA key such as "America/New_York", spelled exactly so.

    Raises:
        DefinitionError: it is no such key, or the zone data is missing.
    """
    if not isinstance(key, str):
        raise DefinitionError(_not_a_key(key))
    key = str.__str__(key)
    if key not in _loaded:
        if key not in zone_keys():
            raise DefinitionError(_unknown_zone(key))
        try:
            _loaded[key] = ZoneInfo(key)
        except Exception as error:
            raise DefinitionError(f"the zone data of {key!r} cannot be read: {error}") from error
    return _loaded[key]


@lru_cache(maxsize=1)
def zone_keys() -> frozenset[str]:
    """All keys that the `tzdata` wheel knows.

    Raises:
        DefinitionError: the wheel is not installed.
    """
    try:
        return frozenset(resources.files("tzdata").joinpath("zones").read_text("utf-8").split())
    except (ImportError, OSError) as error:
        raise DefinitionError(_NO_WHEEL) from error


_NO_WHEEL = (
    "there is no zone data: the package `tzdata` is not installed. "
    f"Add `tzdata` (IANA {MINIMUM_ZONE_DATA} or newer) to the layer's requirements.txt"
)


def _not_a_key(value: object) -> str:
    if isinstance(value, tzinfo):
        key = getattr(value, "key", None) or getattr(value, "zone", None)
        name = key if isinstance(key, str) and key.isprintable() else "Europe/Berlin"
        return f'a zone is given by its name, not as an object of {type(value).__module__}: write tz="{name}"'
    return f'a zone is given by its name, as text: tz="Europe/Berlin", not {type(value).__name__}'


def _unknown_zone(key: str) -> str:
    key = key[:64]
    close = _closest_key(key.lower())
    hint = f"did you mean {close!r}?" if close else 'write a key like "Europe/Berlin" or "UTC"'
    return f"there is no time zone {key!r} in the IANA database: {hint}"


def _closest_key(wrong: str) -> str | None:
    """A key in another letter case, of the same city, or with a slip of the pen; none for abbreviations."""
    known = {key.lower(): key for key in sorted(zone_keys())}
    if wrong in known:
        return known[wrong]
    cities = [key for lower, key in known.items() if wrong and lower.rpartition("/")[2] == wrong]
    slips = difflib.get_close_matches(wrong, known, n=1, cutoff=0.8) if "/" in wrong else []
    return next((known[key.lower()] for key in (*cities, *slips)), None)


def offset_at(key: str, instant: datetime) -> timedelta:
    """How far the zone's clock is ahead of UTC at the instant."""
    offset = instant.astimezone(load_zone(key)).utcoffset()
    return offset if offset is not None else timedelta(0)


@lru_cache(maxsize=_REMEMBERED_YEARS)
def offset_changes(key: str, year: int) -> tuple[datetime, ...]:
    """The instants of a UTC year at which the zone's offset changes: the first second of each new offset."""
    return tuple(_search_changes(key, datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)))


def _search_changes(key: str, start: datetime, end: datetime) -> Iterator[datetime]:
    """The changes in [start, end)."""
    before = start - _ONE_SECOND
    last = end - _ONE_SECOND
    while before < last:
        after = min(before + PROBE, last)
        old = offset_at(key, before)
        if offset_at(key, after) != old:
            yield _first_second_of_new_offset(key, before, after, old)
        before = after


def _first_second_of_new_offset(key: str, before: datetime, after: datetime, old: timedelta) -> datetime:
    while after - before > _ONE_SECOND:
        middle = before + (after - before) // _ONE_SECOND // 2 * _ONE_SECOND
        if offset_at(key, middle) == old:
            before = middle
        else:
            after = middle
    return after


def stretches(key: str, start: datetime, end: datetime) -> list[Stretch]:
    """The time from `start` to `end`, cut at every change of the zone's offset, in order."""
    changes = [
        change
        for year in range(start.year, end.year + 1)
        for change in offset_changes(key, year)
        if start < change < end
    ]
    edges = [start, *changes, end]
    return [Stretch(start=begin, end=stop, offset=offset_at(key, begin)) for begin, stop in pairwise(edges)]


def zone_data_version() -> str:
    """The IANA release of the installed `tzdata` wheel, for example "2026f".

    Raises:
        DefinitionError: the wheel is not installed, or does not say its release.
    """
    try:
        version = importlib.import_module("tzdata").IANA_VERSION
    except ImportError as error:
        raise DefinitionError(_NO_WHEEL) from error
    except AttributeError as error:
        raise DefinitionError(
            "the package `tzdata` does not state its IANA_VERSION: install the one from PyPI"
        ) from error
    return str(version)


def check_zone_data(minimum: str = MINIMUM_ZONE_DATA) -> str:
    """Refuse to work with zone data that would fire jobs at other times than promised.

    Args:
        minimum: the oldest accepted IANA release.

    Returns:
        The release in force.

    Raises:
        DefinitionError: the wheel is missing or too old, or zones are read from the machine's own files.
    """
    if zoneinfo.TZPATH:
        raise DefinitionError(
            f"time zones are read from {', '.join(map(str, zoneinfo.TZPATH))} and not from the tzdata "
            'package: set the environment variable PYTHONTZPATH to the empty string (PYTHONTZPATH="") before '
            "Python starts"
        )
    version = zone_data_version()
    if release_order(version) < release_order(minimum):
        raise DefinitionError(
            f"the zone data is IANA {version}, and {minimum} or newer is needed: "
            "raise `tzdata` in the layer's requirements.txt, then deploy again"
        )
    return version


def release_order(version: str) -> tuple[int, str]:
    """Orders IANA releases: 2025z < 2026a < 2026z < 2026za.

    Raises:
        DefinitionError: it is not the name of one.
    """
    match = _VERSION.fullmatch(version)
    if not match:
        raise DefinitionError(f"not an IANA release of the form 2026f: {version!r}")
    return int(match[1]), match[2]
