"""The oracle's short way gives what the reference gives that looks at every minute.

Invariants:
- where a zone's clock is steady, going through the days gives the firings of the minute-by-minute reference;
- a stretch may be asked for in parts.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.core.schedule import Cron
from tests.core import reference_cron
from tests.simulation.lottery import DENSE, RARE, SPARSE, STARTS, ZONES
from tests.simulation.oracle import Oracle

DAYS = timedelta(days=12)


@pytest.mark.parametrize("zone", sorted(set(ZONES)))
def test_the_oracle_is_the_reference(zone: str) -> None:
    start = STARTS[0]
    timeline = reference_cron.Timeline(zone, start, start + DAYS)
    for expression in DENSE + SPARSE + RARE:
        spec = Cron(expression, tz=zone).spec()
        rules = spec["dst_gap"], spec["dst_repeat"]
        slow = reference_cron.within(
            timeline.firings(reference_cron.read(expression), *rules), start, start + DAYS
        )
        assert list(Oracle(start).between(spec, start, start + DAYS)) == slow, expression


def test_the_oracle_can_be_asked_in_parts() -> None:
    begin = STARTS[2]  # Berlin's clocks are set forward on the next day
    oracle, day = Oracle(begin), timedelta(days=1)
    spec = Cron("30 2 * * *", tz="Europe/Berlin").spec()
    whole = list(oracle.between(spec, begin, begin + DAYS))
    parts = [oracle.between(spec, begin + n * day, begin + (n + 1) * day) for n in range(DAYS // day)]
    assert [at for part in parts for at in part] == whole
    assert len(whole) == DAYS // day
