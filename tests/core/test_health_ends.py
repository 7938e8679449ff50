"""Which ends are told, and what is said of them.

Invariants:
- an end is told while its notice is pending, and only ends that somebody must know of are;
- a gap counts for all its times;
- a skip for overlap is told only if the job has not succeeded for an hour, or for a longer grace.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce.core import ends
from cronce.core.alerts import Trouble
from cronce.core.jobstate import GapReason
from cronce.core.records import RunRecord
from cronce.core.run import Notice, Reason, RunStatus
from tests.contract.makers import JOB, MINUTE, NOW, failed, gap, ref

HOUR = timedelta(hours=1)
TICK = timedelta(milliseconds=1)


def skipped(reason: Reason, **values: Any) -> RunRecord:
    return failed(ref(), status=RunStatus.SKIPPED, reason=reason, **values)


def test_a_failure_says_why_after_what_and_where_it_logged() -> None:
    run = failed(ref(), attempt=3, error="ValueError:\n  no soup", log_stream="stream-7", request_id="r-1")

    told = ends.end_to_tell(run)

    assert told is not None
    assert told.time.trouble is Trouble.FAILED
    assert told.time.detail == (
        "ended FAILED(error) after attempt 3 of 3: ValueError: no soup [log stream stream-7, request r-1]"
    )


def test_a_run_that_failed_before_it_started_says_so() -> None:
    told = ends.end_to_tell(failed(ref(), reason=Reason.UNKNOWN_JOB))

    assert told is not None
    assert told.time.detail == "ended FAILED(unknown_job) before any attempt"


@pytest.mark.parametrize("reason, trouble", [(Reason.LATE, Trouble.LATE), (Reason.OVERLAP, Trouble.OVERLAP)])
def test_a_skip_that_somebody_must_know_of_is_told(reason: Reason, trouble: Trouble) -> None:
    told = ends.end_to_tell(skipped(reason))

    assert told is not None
    assert told.time.trouble is trouble


@pytest.mark.parametrize("reason", [Reason.SUPERSEDED, Reason.EXCLUDED, Reason.SAME_LOCAL_TIME])
def test_a_skip_that_nobody_must_know_of_is_not(reason: Reason) -> None:
    assert ends.end_to_tell(skipped(reason)) is None


@pytest.mark.parametrize("notice", [None, Notice.TOLD])
def test_an_end_is_told_once(notice: Notice | None) -> None:
    assert ends.end_to_tell(failed(ref(), notice=notice)) is None
    assert ends.end_to_tell(skipped(Reason.LATE, notice=notice)) is None
    assert ends.gap_to_tell(gap(notice=notice)) is None


def test_a_run_brought_back_by_an_operator_is_no_end() -> None:
    assert ends.end_to_tell(failed(ref(), status=RunStatus.PENDING, reason=None)) is None


@pytest.mark.parametrize("reason", list(GapReason))
def test_i45_of_gaps_those_of_times_that_were_lost_are_told(reason: GapReason) -> None:
    told = ends.gap_to_tell(gap(reason=reason))

    assert (told is not None) == (reason in {GapReason.LATE, GapReason.CATCH_UP_LIMIT})
    if told:
        assert (told.count, told.last, told.time.job) == (10, NOW + 9 * MINUTE, JOB)
        assert told.time.detail.startswith("10 times, the last of them 2026-01-05T00:09:00.000Z, skipped: ")


def test_a_gap_of_one_time_is_one_time() -> None:
    told = ends.gap_to_tell(gap(count=1))

    assert told is not None
    assert told.time.detail.startswith("one time skipped: ")


@pytest.mark.parametrize(
    "key, trouble",
    [
        ("GAP#2026-01-05T00:00:00Z#2026-01-05T00:09:00Z#late", Trouble.LATE),
        ("GAP#2026-01-05T00:00:00Z#2026-01-05T00:09:00Z#catch_up_limit", Trouble.CATCH_UP_LIMIT),
        ("GAP#2026-01-05T00:00:00Z#2026-01-05T00:09:00Z#paused", None),
        ("GAP#2026-01-05#late", None),
        ("QUEUE#2026-01-05T00:00:00Z", None),
    ],
)
def test_a_gap_that_cannot_be_read_is_told_by_its_key(key: str, trouble: Trouble | None) -> None:
    told = ends.unreadable_gap(JOB, key)

    assert (told.time.trouble if told else None) is trouble
    assert told is None or (told.time.scheduled_at, told.time.job) == (NOW, JOB)


@pytest.mark.parametrize(
    "last_success, grace, age, news",
    [
        (NOW, MINUTE, timedelta(0), False),
        (NOW - HOUR + TICK, MINUTE, timedelta(0), False),
        (NOW - HOUR, MINUTE, timedelta(0), None),
        (None, MINUTE, timedelta(0), None),
        (None, MINUTE, HOUR - TICK, None),
        (None, MINUTE, HOUR, True),
        (NOW - HOUR, MINUTE, HOUR, True),
        (None, 3 * HOUR, HOUR, None),
        (NOW - 2 * HOUR, 3 * HOUR, 3 * HOUR, False),
        (NOW - 3 * HOUR, 3 * HOUR, 3 * HOUR, True),
    ],
)
def test_i46_an_overlap_is_news_when_nothing_has_succeeded_for_an_hour_or_the_grace(
    last_success: Any, grace: timedelta, age: timedelta, news: bool | None
) -> None:
    run = skipped(Reason.OVERLAP, ended_at=NOW - age)

    assert ends.overlap_is_news(run, last_success, grace, NOW) is news
    assert (ends.overlap_known_at(run, grace) > NOW) == (age < max(grace, HOUR))
