"""Time zones and the zone data that answers for them.

Invariants:
- zones are IANA keys; anything else is refused with the key to write;
- zone data comes from the tzdata wheel, of the pinned release or newer; without it there is a clear error;
- the machine's own zone (`TZ`) has no influence.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
import zoneinfo
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path

import pytest
from typing_extensions import override

from cronce.core import zones
from cronce.core.errors import DefinitionError
from cronce.core.schedule import Cron
from cronce.core.zones import (
    MINIMUM_ZONE_DATA,
    check_zone_data,
    load_zone,
    zone_data_version,
    zone_keys,
)

LAYER = Path(__file__).parents[2] / "layers" / "runtime"


class PytzLike(tzinfo):
    """What a zone of pytz looks like from outside."""

    zone = "Europe/Paris"

    @override
    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    @override
    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    @override
    def tzname(self, _: datetime | None) -> str:
        return "LMT"


@pytest.mark.parametrize(
    "zone,advice",
    [
        (PytzLike(), r'not as an object of .*: write tz="Europe/Paris"'),
        (zoneinfo.ZoneInfo("Asia/Tokyo"), r'not as an object of zoneinfo.*: write tz="Asia/Tokyo"'),
        (UTC, r'not as an object of datetime: write tz="Europe/Berlin"'),
        (timezone(timedelta(hours=2)), "not as an object of datetime"),
        (None, r'as text: tz="Europe/Berlin", not NoneType'),
        (2, "not int"),
        (b"UTC", "not bytes"),
        ("", "no time zone '' in the IANA database"),
        ("Europe/Berln", "did you mean 'Europe/Berlin'"),
        ("europe/berlin", "did you mean 'Europe/Berlin'"),
        ("Tokyo", "did you mean 'Asia/Tokyo'"),
        ("CEST", 'write a key like "Europe/Berlin"'),
        ("UTC+2", "no time zone 'UTC\\+2'"),
        ("America", "no time zone 'America'"),
        ("../../etc/passwd", "no time zone"),
        ("/etc/localtime", "no time zone"),
        ("Europe/Berlin\x00", "no time zone"),
        ("Z" * 10_000, "no time zone 'Z{64}' "),
    ],
    ids=lambda value: repr(value)[:32],
)
def test_p65_a_zone_is_an_iana_key_and_nothing_else(zone: str, advice: str) -> None:
    with pytest.raises(DefinitionError, match=advice):
        Cron("0 6 * * *", tz=zone)


def test_p66_without_a_zone_it_is_utc() -> None:
    schedule = Cron("0 6 * * *")
    assert schedule.tz == "UTC"
    assert schedule.next_after(datetime(2026, 7, 1, tzinfo=UTC)) == datetime(2026, 7, 1, 6, 0, tzinfo=UTC)


def test_p67_vancouver_keeps_its_summer_time_after_2026() -> None:
    nine = Cron("0 9 * * *", tz="America/Vancouver")
    day = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
    assert nine.next_after(day) == datetime(2026, 12, 1, 16, 0, tzinfo=UTC)


def test_p67_the_pinned_release_is_the_one_that_the_layer_installs() -> None:
    pinned = re.search(r"(?m)^tzdata==(\d{4})\.(\d+) ", (LAYER / "requirements.txt").read_text("utf-8"))
    assert pinned
    letter = chr(ord("a") + int(pinned[2]) - 1)
    assert f"{pinned[1]}{letter}" >= MINIMUM_ZONE_DATA
    assert check_zone_data() == zone_data_version()


@pytest.mark.parametrize("release", ["2026e", "2025z", "2025zz", "1999a"])
def test_p67_an_older_release_is_refused(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    install_tzdata(monkeypatch, release)
    with pytest.raises(DefinitionError, match=f"IANA {release}, and {MINIMUM_ZONE_DATA} or newer is needed"):
        check_zone_data()


@pytest.mark.parametrize("release", ["2026f", "2026g", "2026za", "2027a"])
def test_p67_the_pinned_release_and_newer_ones_are_accepted(
    monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    install_tzdata(monkeypatch, release)
    assert check_zone_data() == release


@pytest.mark.parametrize("release", ["", "2026", "2026.6", "2026F"])
def test_p67_a_release_that_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    install_tzdata(monkeypatch, release)
    with pytest.raises(DefinitionError, match="not an IANA release"):
        check_zone_data()


def test_p67_a_package_without_a_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tzdata", types.ModuleType("tzdata"))
    with pytest.raises(DefinitionError, match="does not state its IANA_VERSION"):
        zone_data_version()


def install_tzdata(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    package = types.ModuleType("tzdata")
    package.__dict__["IANA_VERSION"] = release
    monkeypatch.setitem(sys.modules, "tzdata", package)


def test_p67_zones_from_the_machine_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoneinfo, "TZPATH", ("/usr/share/zoneinfo",))
    with pytest.raises(DefinitionError, match=r'read from /usr/share/zoneinfo .*PYTHONTZPATH=""'):
        check_zone_data()


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Another process, with the layer on its path."""
    settings = {**os.environ, "PYTHONPATH": str(LAYER), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=False
    )


def test_p109_with_the_wheel_alone_every_zone_loads_whatever_tz_says() -> None:
    code = """
import zoneinfo
from datetime import UTC, datetime
from cronce.core.schedule import Cron
from cronce.core.zones import check_zone_data, load_zone, zone_keys
assert zoneinfo.TZPATH == (), zoneinfo.TZPATH
check_zone_data()
for key in zone_keys():
    load_zone(key)
nine = Cron("0 9 * * *", tz="America/Vancouver")
print(len(zone_keys()), nine.next_after(datetime(2026, 12, 1, 8, tzinfo=UTC)))
"""
    result = run_python(code, PYTHONTZPATH="", TZ=":/no/such/zone")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split(maxsplit=1) == [str(len(zone_keys())), "2026-12-01 16:00:00+00:00\n"]


def test_p109_without_the_wheel_there_is_a_clear_error() -> None:
    code = """
import sys
sys.modules["tzdata"] = None
from cronce.core.errors import DefinitionError
from cronce.core.schedule import Cron
from cronce.core.zones import check_zone_data
for attempt in (check_zone_data, lambda: Cron("0 6 * * *", tz="UTC")):
    try:
        attempt()
    except DefinitionError as error:
        print(error)
"""
    result = run_python(code, PYTHONTZPATH="")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("the package `tzdata` is not installed") == 2
    assert result.stdout.count("requirements.txt") == 2


def test_a_zone_is_loaded_once_and_kept() -> None:
    loaded = {key: load_zone(key) for key in sorted(zone_keys())[:40]}  # more than the library itself keeps
    assert all(load_zone(key) is zone for key, zone in loaded.items())


def test_a_zone_whose_data_is_broken_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(key: str) -> zoneinfo.ZoneInfo:
        raise ValueError("Invalid TZif file: magic not found")

    monkeypatch.setattr(zones, "ZoneInfo", broken)
    monkeypatch.setattr(zones, "_loaded", {})
    with pytest.raises(DefinitionError, match="zone data of 'Europe/Berlin' cannot be read: Invalid TZif"):
        load_zone("Europe/Berlin")
