"""The changes of a zone's offset: found by asking the zone, compared with what its file says.

Invariants:
- the search finds every change that the zone files hold, to the second, and invents none;
- changes of one zone are always further apart than the search needs;
- a window is cut into stretches without holes.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources

import pytest

from cronce.core.zones import (
    PROBE,
    offset_changes,
    stretches,
    zone_keys,
)


def changes_in_file(key: str) -> list[datetime]:
    """The changes of offset in a zone's file (TZif version 2 and later), without the library's reader."""
    data = resources.files("tzdata").joinpath("zoneinfo", *key.split("/")).read_bytes()
    first = tzif_counts(data)
    after_first = 44 + first["times"] * 5 + first["types"] * 6 + first["chars"] + first["leaps"] * 8
    body = data[after_first + first["std"] + first["ut"] :]
    counts = tzif_counts(body)
    at = 44
    times = struct.unpack_from(f">{counts['times']}q", body, at)
    at += counts["times"] * 8
    kinds = struct.unpack_from(f">{counts['times']}B", body, at)
    at += counts["times"]
    offsets = [struct.unpack_from(">i", body, at + 6 * kind)[0] for kind in range(counts["types"])]
    shown = [offsets[0], *(offsets[kind] for kind in kinds)]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [
        epoch + timedelta(seconds=time)
        for time, before, after in zip(times, shown, shown[1:], strict=False)
        if before != after
    ]


def tzif_counts(data: bytes) -> dict[str, int]:
    assert data[:4] == b"TZif"
    names = ("ut", "std", "leaps", "times", "types", "chars")
    return dict(zip(names, struct.unpack_from(">6l", data, 20), strict=True))


def changes_found(key: str, years: range) -> Iterator[datetime]:
    return itertools.chain.from_iterable(offset_changes(key, year) for year in years)


def test_two_changes_of_one_zone_are_always_further_apart_than_the_search_needs() -> None:
    closest = min(
        later - earlier for key in zone_keys() for earlier, later in itertools.pairwise(changes_in_file(key))
    )
    assert closest > 2 * PROBE


FILED_YEARS = range(1970, 2037)  # zone files written for all readers end with 2037

ODD_ZONES = (
    "America/New_York America/St_Johns America/Sao_Paulo America/Caracas Africa/Cairo Africa/Casablanca "
    "Africa/Monrovia Antarctica/Troll Antarctica/Casey Asia/Gaza Asia/Pyongyang Asia/Tehran Atlantic/Azores "
    "Australia/Lord_Howe Europe/Dublin Europe/Istanbul Pacific/Apia Pacific/Chatham Pacific/Kwajalein UTC"
)


def is_complete(key: str) -> bool:
    """Whether the search finds every change that a zone's file holds."""
    filed = [change for change in changes_in_file(key) if change.year in FILED_YEARS]
    found = list(changes_found(key, FILED_YEARS))
    beyond = found[len(filed) :]  # a compact file leaves what recurs every year to a rule
    last = max(filed, default=datetime(1970, 1, 1, tzinfo=UTC))
    return found[: len(filed)] == filed and all(change > last for change in beyond[:1])


@pytest.mark.parametrize("key", ODD_ZONES.split())
def test_the_search_finds_every_change_that_the_zone_file_holds(key: str) -> None:
    assert is_complete(key)


@pytest.mark.slow
def test_the_search_finds_every_change_of_every_zone() -> None:
    assert [key for key in sorted(zone_keys()) if not is_complete(key)] == []


def test_a_change_at_the_seam_of_two_years_is_found_once() -> None:
    new_year = datetime(1969, 1, 1, tzinfo=UTC)  # the station opened, and its clock with it
    assert offset_changes("Antarctica/Casey", 1968) == ()
    assert offset_changes("Antarctica/Casey", 1969) == (new_year,)


BERLIN_2026 = (datetime(2026, 3, 29, 1, 0, tzinfo=UTC), datetime(2026, 10, 25, 1, 0, tzinfo=UTC))


@pytest.mark.parametrize(
    "start,end,count",
    [
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC), 3),
        (datetime(2025, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC), 7),
        (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC), 1),
        (*BERLIN_2026, 1),
        (BERLIN_2026[0], BERLIN_2026[1] + timedelta(seconds=1), 2),
        (BERLIN_2026[0] - timedelta(seconds=1), BERLIN_2026[1], 2),
    ],
)
def test_stretches_cover_a_window_without_holes(start: datetime, end: datetime, count: int) -> None:
    cut = stretches("Europe/Berlin", start, end)
    assert len(cut) == count
    assert (cut[0].start, cut[-1].end) == (start, end)
    assert all(stretch.start < stretch.end for stretch in cut)
    assert all(
        earlier.end == later.start and earlier.offset != later.offset
        for earlier, later in itertools.pairwise(cut)
    )
