"""The moves of runs that operators make. Like those of `core.moves` each returns the record after.

An operator may bring back what has ended without success, and end what has not ended yet.

*Brought back*, a run goes on where it stopped, with at least one more attempt, however many it has had, and
its whole `timeout` again. The job's policies of lateness no longer apply to it, it is expected by no time,
and it waits for a slot like any other. It is refused when its record may be deleted within a day, or when its
creation lies so far back that it would be ended at once.

*Ended* at once is what nobody works at. A run that is RUNNING is asked to stop: its worker learns of it with
the next renewal of its claim (20 s), and stops at the next call on its `run`. The request wins over whatever
would let the run go on: a worker that puts it to sleep, hands it to the next slice or has failed an attempt
is refused by the store as long as it does not know of the request, and cancels the run then. Only an end is
not overtaken by it: a run that is finished by then has succeeded or failed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from cronce.core import moves
from cronce.core.acts import Act
from cronce.core.errors import OperationRefusedError
from cronce.core.instants import to_text
from cronce.core.records import RunRecord
from cronce.core.run import Reason, RunStatus

FORGOTTEN_SOON = timedelta(days=1)
"""A record that the store may delete so soon is not brought back: it could vanish under its worker."""


def retried(run: RunRecord, act: Act, timeout: timedelta) -> RunRecord:
    """FAILED, SKIPPED or CANCELLED -> PENDING.

    Args:
        run: as read.
        act: the operator's.
        timeout: of the job as it is now: one that was too short may have been the cause.

    Raises:
        OperationRefusedError: it has not ended, has succeeded, waits for a person's word about a step, or is
            too old.
    """
    if not run.status.is_final:
        raise OperationRefusedError(f"run {run.ref.id} has not ended: it is {_state(run)}")
    if run.reason is Reason.STEP_UNCERTAIN:
        raise OperationRefusedError(
            f"run {run.ref.id}: nobody knows what came of a step of it: resolve that step, and it goes on"
        )
    return replace(brought_back(run, act.at), act=act, timeout=timeout)


def brought_back(run: RunRecord, now: datetime) -> RunRecord:
    """FAILED, SKIPPED or CANCELLED -> PENDING, because a person says so.

    Raises:
        OperationRefusedError: it has succeeded, is too old, or is about to be forgotten.
    """
    if run.status is RunStatus.SUCCEEDED:
        raise OperationRefusedError(f"run {run.ref.id} has SUCCEEDED: there is nothing to go on with")
    if run.forget_at is not None and run.forget_at <= now + FORGOTTEN_SOON:
        raise OperationRefusedError(
            f"run {run.ref.id}: its record is about to expire: it cannot be brought back"
        )
    if run.created_at + moves.EXPIRY <= now:
        raise OperationRefusedError(
            f"run {run.ref.id} was made {moves.EXPIRY.days} days ago or earlier: "
            "a run ends then, whatever it does"
        )
    return replace(
        moves.to_dispatch(run, now),
        slice=0,
        max_attempts=max(run.max_attempts, run.attempt + 1),
        touched=True,
        executed=timedelta(0),
        ended_at=None,
        forget_at=None,
        notice=None,
        expect_by=None,
        unknown_since=None,
    )


def stopped(run: RunRecord, act: Act, retention: timedelta) -> RunRecord | None:
    """-> CANCELLED, or RUNNING with a request to stop. None: one or the other has been done already.

    Args:
        run: as read.
        act: the operator's.
        retention: how long the record is kept after its end.

    Raises:
        OperationRefusedError: it has ended otherwise.
    """
    if run.status is RunStatus.RUNNING:
        return None if run.cancel_requested else replace(run, cancel_requested=True, act=act)
    if run.status is RunStatus.CANCELLED:
        return None
    if run.status.is_final:
        raise OperationRefusedError(f"run {run.ref.id} has ended {_state(run)}: there is nothing to cancel")
    return replace(moves.cancelled(run, act.at, retention), act=act)


def _state(run: RunRecord) -> str:
    """The state in words, with what it waits for."""
    if run.status is RunStatus.WAITING and run.due_at is not None and not run.is_queued:
        return f"WAITING({run.reason}) until {to_text(run.due_at)}"
    return f"{run.status}({run.reason})" if run.reason else run.status
