"""Items of the ledger that are there and cannot be read.

Invariants:
- the times that such an item accounts for are those that its key names, and no others;
- a gap whose key does not say so may hold any time; another malformed key holds none.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronce.core.found import Unread, accounting_for
from cronce.core.records import RunRef

SIX = datetime(2026, 3, 10, 6, tzinfo=UTC)
HOUR = timedelta(hours=1)


def unread(sk: str) -> Unread:
    return Unread(job="menu", sk=sk, problem="spoiled")


@pytest.mark.parametrize(
    "sk, held",
    [
        ("RUN#2026-03-10T06:00:00Z", [0]),
        ("RUN#2026-03-10T06:00:00Z#a1", []),
        ("RUN#yesterday", []),
        ("GAP#2026-03-10T06:00:00Z#2026-03-10T07:00:00Z#late", [0, 1]),
        ("GAP#2026-03-10T06:00:00Z#2026-03-10T07:00:00Z#a-reason-of-tomorrow#more", [0, 1]),
        ("GAP#2026-03-10T06:00:00Z", [-1, 0, 1, 2]),
        ("GAP#yesterday#today#late", [-1, 0, 1, 2]),
    ],
)
def test_the_key_says_which_times_may_have_their_entry_there(sk: str, held: list[int]) -> None:
    assert [hour for hour in range(-1, 3) if unread(sk).may_account_for(SIX + hour * HOUR)] == held


def test_a_key_names_its_run_or_its_stretch() -> None:
    assert unread("RUN#2026-03-10T06:00:00Z").run == RunRef("menu", SIX)
    assert unread("RUN#2026-03-10T06:00:00Z").stretch is None
    assert unread("GAP#2026-03-10T06:00:00Z#2026-03-10T07:00:00Z#late").run is None
    assert unread("GAP#2026-03-10T06:00:00Z#2026-03-10T07:00:00Z#late").stretch == (SIX, SIX + HOUR)


@pytest.mark.parametrize(
    "sk, first, last",
    [
        ("GAP#2026-03-10T06:00:00Z#2026-03-10T07:00:00Z#late", -1, 2),
        ("GAP#nonsense", -9, 9),
        ("RUN#2026-03-10T06:00:00Z", 1, 0),
    ],
)
def test_a_gap_may_reach_into_a_stretch_and_a_run_does_not(sk: str, first: int, last: int) -> None:
    for hour in range(-3, 5):
        touches = unread(sk).may_touch(SIX + hour * HOUR, SIX + hour * HOUR + HOUR)
        assert touches is (first <= hour <= last - 1)


def test_the_first_item_that_may_hold_a_time_is_named() -> None:
    gap = unread("GAP#2026-03-10T06:00:00Z#2026-03-10T07:00:00Z#late")
    assert accounting_for([unread("RUN#2026-03-10T05:00:00Z"), gap], SIX) is gap
    assert accounting_for([gap], SIX + 2 * HOUR) is None
