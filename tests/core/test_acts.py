"""What operators sign.

Invariants:
- every act names somebody, and its texts are short single lines;
- an act is displaced when another takes its place, and only then.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cronce.core.acts import WHO_LIMIT, WHY_LIMIT, Act, PastAct, What, displaced, signed
from cronce.core.errors import OperationRefusedError

NOW = datetime(2026, 1, 5, 12, 0, 0, 123_456, tzinfo=UTC)
ACT = Act(what=What.PAUSE, at=NOW, by="ann", why="stock-taking")


def test_an_act_is_kept_to_the_millisecond() -> None:
    act = signed(What.PAUSE, "ann", "stock-taking", NOW)

    assert act == replace(ACT, at=NOW.replace(microsecond=123_000))


def test_texts_at_their_limits_and_an_empty_reason_are_taken() -> None:
    act = signed(What.PAUSE, WHO_LIMIT * "b", WHY_LIMIT * "w", NOW)

    assert (len(act.by), len(act.why)) == (WHO_LIMIT, WHY_LIMIT)
    assert signed(What.PAUSE, "ann", "", NOW).why == ""


@pytest.mark.parametrize(
    "by, why, problem",
    [
        ("", "stock-taking", "say who"),
        ("  ", "stock-taking", "say who"),
        (33 * "ä", "", "who takes at most 64 bytes, not 66"),
        ("ann", 201 * "w", "why takes at most 200 bytes, not 201"),
        ("ann", "one\ntwo", "why is one line of printable text"),
        ("a\x1b[31mnn", "", "who is one line"),
        ("ann", "\ud800", "why is one line"),
    ],
)
def test_what_cannot_be_kept_or_shown_is_refused(by: str, why: str, problem: str) -> None:
    with pytest.raises(OperationRefusedError, match=problem) as refused:
        signed(What.PAUSE, by, why, NOW)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("after", [None, replace(ACT, what=What.RESUME), replace(ACT, by="bob")])
def test_an_act_that_makes_way_is_displaced(after: Act | None) -> None:
    assert displaced("JOB#menu", ACT, after) == PastAct(of="JOB#menu", act=ACT)


@pytest.mark.parametrize("before, after", [(None, ACT), (ACT, ACT), (None, None)])
def test_an_act_that_stays_or_is_the_first_displaces_none(before: Act | None, after: Act | None) -> None:
    assert displaced("JOB#menu", before, after) is None
