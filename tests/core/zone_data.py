"""Other zone data: a zone that behaves as another one does, for as long as a test needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from zoneinfo import ZoneInfo

from cronce.core import zones


@contextmanager
def zone_data(key: str, like: str) -> Iterator[None]:
    """Within the block, `key` has the offsets of `like`, as if another release of the data said so."""
    real = zones.load_zone(key)
    with resources.files("tzdata").joinpath("zoneinfo", *like.split("/")).open("rb") as file:
        zones._loaded[key] = ZoneInfo.from_file(file, key=key)
    zones.offset_changes.cache_clear()
    try:
        yield
    finally:
        zones._loaded[key] = real
        zones.offset_changes.cache_clear()
