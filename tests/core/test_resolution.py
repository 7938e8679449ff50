"""What a person may say of an at-most-once step, and what becomes of its run.

Invariants:
- only a step that was started and not finished can be resolved, and none of a run whose worker may be at it;
- redo is refused while the invocation that started the step could still act;
- a run that has ended goes on, with an attempt and its timeout; one that has not stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronce.core import moves
from cronce.core.acts import Act, What
from cronce.core.changes import RunChange
from cronce.core.claim import Invocation
from cronce.core.errors import OperationRefusedError
from cronce.core.records import RunRecord, RunRef, StepRecord, StepStatus
from cronce.core.resolution import Verdict, resolved
from cronce.core.run import Dispatch, Reason, RunStatus

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
KEPT = timedelta(days=400)
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
UNCERTAIN = moves.failed(RUNNING, Reason.STEP_UNCERTAIN, "charge?", NOW + 5 * MINUTE, KEPT)
STARTED = StepRecord(
    ref=PENDING.ref,
    name="charge",
    status=StepStatus.STARTED,
    result="null",
    until=NOW + 15 * MINUTE,
    owner="me",
    fencing_token=7,
    at=NOW,
)


def said(done: str | None, at: datetime = NOW + 16 * MINUTE, why: str = "seen") -> Verdict:
    return Verdict(done=done, act=Act(what=What.RESOLVE, by="ann", why=why, at=at))


def step_after(change: RunChange) -> StepRecord:
    assert change.step is not None
    return change.step.after


def test_done_gives_the_step_its_value_as_a_worker_would_have_kept_it() -> None:
    step = step_after(resolved(UNCERTAIN, STARTED, said('{"paid" : 5}', NOW + 6 * MINUTE)))
    assert (step.status, step.result, step.until) == (StepStatus.DONE, '{"paid":5}', None)
    assert (step.owner, step.why, step.at) == ("operator ann", "seen", NOW + 6 * MINUTE)


def test_redo_frees_the_step() -> None:
    step = step_after(resolved(UNCERTAIN, STARTED, said(None)))
    assert (step.status, step.result, step.owner) == (StepStatus.NOT_DONE, "null", "operator ann")


@pytest.mark.parametrize("at, refused", [(16 * MINUTE - SECOND, True), (16 * MINUTE, False)])
def test_redo_waits_until_the_invocation_that_started_the_step_is_surely_over(
    at: timedelta, refused: bool
) -> None:
    """The starter may have fallen asleep within the call: it could wake up and do it."""
    if refused:
        with pytest.raises(OperationRefusedError, match=r"'charge' may still be under way.*12:16:00Z"):
            resolved(UNCERTAIN, STARTED, said(None, NOW + at))
    else:
        assert step_after(resolved(UNCERTAIN, STARTED, said(None, NOW + at))).status is StepStatus.NOT_DONE


@pytest.mark.parametrize("status", [StepStatus.DONE, StepStatus.NOT_DONE, StepStatus.ASLEEP])
def test_a_step_that_nobody_is_in_doubt_about_is_not_resolved(status: StepStatus) -> None:
    with pytest.raises(OperationRefusedError, match=f"is {status}: there is nothing to resolve"):
        resolved(UNCERTAIN, replace(STARTED, status=status), said("1"))
    with pytest.raises(OperationRefusedError, match="was never started"):
        resolved(UNCERTAIN, None, said("1"))


def test_a_step_whose_worker_may_be_at_it_is_not_resolved() -> None:
    with pytest.raises(OperationRefusedError, match="is RUNNING"):
        resolved(RUNNING, STARTED, said("1"))


@pytest.mark.parametrize(
    "text", ["paid", "", "NaN", "1e999", 5_000 * "7", 100_000 * "[", '"' + 300_000 * "x" + '"', '"\\ud800"']
)
def test_a_value_that_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(OperationRefusedError, match="value of step 'charge' is no JSON that can be kept"):
        resolved(UNCERTAIN, STARTED, said(text))


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.SKIPPED])
def test_a_run_that_has_ended_goes_on(status: RunStatus) -> None:
    reason = {RunStatus.CANCELLED: Reason.OPERATOR, RunStatus.SKIPPED: Reason.LATE}.get(
        status, Reason.TIMEOUT
    )
    ended = replace(UNCERTAIN, status=status, reason=reason, executed=15 * MINUTE, attempt=3)
    after = resolved(ended, STARTED, said("1")).after
    assert (after.status, after.reason, after.dispatch) == (RunStatus.PENDING, None, Dispatch.STREAM)
    assert (after.slice, after.executed, after.touched) == (0, timedelta(0), True)
    assert (after.ended_at, after.forget_at, after.notice, after.expect_by) == (None, None, None, None)
    assert after.due_at == NOW + 18 * MINUTE


@pytest.mark.parametrize(
    "waits",
    [
        PENDING,
        replace(PENDING, status=RunStatus.WAITING, reason=Reason.BACKOFF, dispatch=None),
        replace(PENDING, status=RunStatus.WAITING, reason=Reason.SLEEP, dispatch=None),
        replace(PENDING, status=RunStatus.WAITING, reason=Reason.QUEUED, dispatch=None),
    ],
    ids=lambda run: f"{run.status}-{run.reason}",
)
def test_a_run_that_has_not_ended_stays_where_it_is(waits: RunRecord) -> None:
    verdict = said("1")
    assert resolved(waits, STARTED, verdict).after == replace(waits, touched=True, act=verdict.act)
