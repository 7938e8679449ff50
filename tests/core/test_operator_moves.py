"""What an operator may do to a run, from every state that it can be in.

Invariants:
- a run that ended without success is brought back with an attempt and its whole timeout, and nothing of its
  end is left on it;
- a run that nobody works at is ended at once, one that is RUNNING is asked to stop;
- what makes no sense in a state is refused, with the state in the message and what to do.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronce.core import moves, sleep
from cronce.core.acts import Act, What
from cronce.core.changes import check_transition
from cronce.core.claim import Invocation
from cronce.core.errors import OperationRefusedError
from cronce.core.moves import Failure
from cronce.core.operator_moves import brought_back, retried, stopped
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Dispatch, Reason, RunStatus, Trigger

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
KEPT = 400 * DAY
LATER = NOW + 40 * MINUTE
ACT = Act(what=What.RETRY, at=LATER, by="ann", why="the bank is back")
PENDING = RunRecord(
    ref=RunRef("menu", NOW),
    status=RunStatus.PENDING,
    created_at=NOW,
    scheduled_local="2026-01-05T12:00:00+00:00",
    timeout=15 * MINUTE,
    max_attempts=3,
    dispatch=Dispatch.STREAM,
    due_at=NOW + 2 * MINUTE,
    expect_by=NOW + 15 * MINUTE,
    rev=1,
)
RUNNING = moves.claimed(PENDING, Invocation(owner="me", deadline=NOW + 15 * MINUTE), 7, NOW)
FAILURE = Failure(reason=Reason.ERROR, text="no soup", delay=MINUTE)
WAITING = {
    "backoff": moves.attempt_failed(RUNNING, FAILURE, NOW + MINUTE, KEPT),
    "sleep": sleep.fallen_asleep(RUNNING, NOW + DAY, NOW + MINUTE),
    "queued": moves.queued(PENDING, NOW),
}
ENDS = {
    "error": moves.failed(replace(RUNNING, attempt=3), Reason.ERROR, "no soup", NOW + MINUTE, KEPT),
    "timeout": moves.timed_out(replace(RUNNING, executed=14 * MINUTE), NOW + MINUTE, KEPT),
    "unknown_job": moves.failed(
        replace(PENDING, unknown_since=NOW), Reason.UNKNOWN_JOB, "not deployed", NOW + 15 * MINUTE, KEPT
    ),
    "cancelled": moves.cancelled(RUNNING, NOW + MINUTE, KEPT),
    "late": moves.skipped(PENDING, Reason.LATE, NOW + MINUTE, KEPT),
    "excluded": replace(moves.skipped(PENDING, Reason.OVERLAP, NOW, KEPT), reason=Reason.EXCLUDED),
}
SUCCEEDED = moves.succeeded(RUNNING, NOW + MINUTE, KEPT)
UNCERTAIN = moves.failed(RUNNING, Reason.STEP_UNCERTAIN, "charge?", NOW + MINUTE, KEPT)


@pytest.mark.parametrize("end", ENDS)
def test_what_ended_without_success_is_brought_back_and_nothing_of_its_end_is_left(end: str) -> None:
    run = ENDS[end]
    after = retried(run, ACT, run.timeout)

    check_transition(run, after)
    assert (after.status, after.reason, after.dispatch) == (RunStatus.PENDING, None, Dispatch.STREAM)
    assert (after.slice, after.executed, after.touched, after.act) == (0, timedelta(0), True, ACT)
    assert (after.ended_at, after.forget_at, after.notice, after.expect_by) == (None, None, None, None)
    assert (after.due_at, after.unknown_since) == (LATER + 2 * MINUTE, None)
    assert after.attempt == run.attempt, "the attempts that it had are its history"


@pytest.mark.parametrize("attempt, most, then", [(3, 3, 4), (4, 4, 5), (1, 3, 3), (0, 3, 3)])
def test_it_has_at_least_one_more_attempt(attempt: int, most: int, then: int) -> None:
    ended = replace(ENDS["error"], attempt=attempt, max_attempts=most)

    assert retried(ended, ACT, ended.timeout).max_attempts == then


def test_a_run_that_timed_out_has_the_timeout_that_its_job_has_now() -> None:
    after = retried(ENDS["timeout"], ACT, 3 * 60 * MINUTE)
    again = moves.claimed(after, Invocation(owner="b", deadline=LATER + DAY), 8, LATER)

    assert (after.timeout, again.executed) == (180 * MINUTE, timedelta(0))
    assert again.claim_until == LATER + MINUTE, "it has time"


def test_a_run_of_a_job_that_was_not_deployed_waits_for_it_anew() -> None:
    after = retried(ENDS["unknown_job"], ACT, PENDING.timeout)

    assert moves.job_unknown(after, "still not", LATER, KEPT).status is RunStatus.WAITING


@pytest.mark.parametrize(
    "run, words",
    [
        (PENDING, "has not ended: it is PENDING"),
        (RUNNING, "has not ended: it is RUNNING"),
        (WAITING["backoff"], r"it is WAITING\(backoff\) until 2026-01-05T12:02:00"),
        (WAITING["sleep"], r"it is WAITING\(sleep\) until 2026-01-06T12:00:00"),
        (WAITING["queued"], r"it is WAITING\(queued\)$"),
        (SUCCEEDED, "has SUCCEEDED: there is nothing to go on with"),
        (UNCERTAIN, "nobody knows what came of a step of it: resolve that step"),
    ],
)
def test_what_cannot_be_retried_is_refused_with_what_to_do(run: RunRecord, words: str) -> None:
    with pytest.raises(OperationRefusedError, match=f"run menu@2026-01-05T12:00:00Z.*{words}") as refused:
        retried(run, ACT, run.timeout)

    assert "\n" not in str(refused.value)


def test_a_run_that_the_store_may_delete_soon_is_not_brought_back() -> None:
    soon = replace(UNCERTAIN, forget_at=NOW + 10 * DAY)
    brought_back(soon, NOW + 9 * DAY - SECOND)
    with pytest.raises(OperationRefusedError, match="about to expire"):
        brought_back(soon, NOW + 9 * DAY)


def test_a_run_that_would_expire_at_once_is_not_brought_back() -> None:
    brought_back(UNCERTAIN, NOW + 30 * DAY - SECOND)
    with pytest.raises(OperationRefusedError, match="30 days ago"):
        brought_back(UNCERTAIN, NOW + 30 * DAY)


@pytest.mark.parametrize("run", [PENDING, *WAITING.values()], ids=lambda run: f"{run.status}-{run.reason}")
def test_what_nobody_works_at_is_ended_at_once(run: RunRecord) -> None:
    after = stopped(run, ACT, KEPT)

    assert after is not None
    check_transition(run, after)
    assert (after.status, after.reason, after.act) == (RunStatus.CANCELLED, Reason.OPERATOR, ACT)
    assert (after.ended_at, after.forget_at, after.notice) == (LATER, LATER + KEPT, None)


def test_what_is_running_is_asked_to_stop() -> None:
    after = stopped(RUNNING, ACT, KEPT)

    assert after == replace(RUNNING, cancel_requested=True, act=ACT)
    check_transition(RUNNING, after)
    assert stopped(after, ACT, KEPT) is None, "it was asked already"


def test_what_is_cancelled_is_left_as_it_is_and_other_ends_are_refused() -> None:
    assert stopped(ENDS["cancelled"], ACT, KEPT) is None
    with pytest.raises(OperationRefusedError, match=r"has ended FAILED\(error\): there is nothing to cancel"):
        stopped(ENDS["error"], ACT, KEPT)
    with pytest.raises(OperationRefusedError, match="has ended SUCCEEDED"):
        stopped(SUCCEEDED, ACT, KEPT)


@pytest.mark.parametrize("trigger", Trigger)
def test_whatever_it_came_from_it_can_be_brought_back(trigger: Trigger) -> None:
    assert retried(replace(ENDS["error"], trigger=trigger), ACT, MINUTE).trigger is trigger
