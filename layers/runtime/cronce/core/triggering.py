"""A run that a person asks for, outside the schedule.

It is PENDING for the stream to start, and behind whatever holds the job's slots it waits in line, however the
job treats an overlap. No policy of lateness applies to it, and it is expected by no time. Pausing a job stops
its planning; it does not keep a person from a run.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from cronce.core.acts import Act
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import DefinitionError, OperationRefusedError
from cronce.core.job import Job
from cronce.core.jobstate import JobState
from cronce.core.moves import PENDING_REDISPATCH
from cronce.core.records import INLINE_LIMIT, RunRecord, RunRef
from cronce.core.run import Dispatch, RunStatus, Trigger
from cronce.core.run_input import RunInput, given_input, input_size
from cronce.core.schedule import schedule_from_spec
from cronce.core.values import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a run takes from its job's code when it is born.

    Attributes:
        timeout: bound of its execution.
        max_attempts: after so many failed attempts it ends.
    """

    timeout: timedelta
    max_attempts: int

    @classmethod
    def of(cls, job: Job) -> Terms:
        """The terms of a job's code."""
        return cls(timeout=job.timeout, max_attempts=job.retry.attempts)


def triggered(state: JobState, terms: Terms, act: Act, suffix: str, given: str | None) -> RunChange:
    """The birth of a run that a person asks for.

    Args:
        state: its job.
        terms: of its job's code.
        act: the operator's.
        suffix: tells it from other runs of the same second.
        given: JSON text for `run.input`; None = there is none.

    Raises:
        OperationRefusedError: the input is too large, or it is not JSON that a run can be given.
    """
    ref = RunRef(state.name, act.at.replace(microsecond=0), suffix)
    try:
        text = None if given is None else given_input(given)
    except ValueError as error:
        raise OperationRefusedError(str(error)) from error
    apart = text is not None and input_size(text) > INLINE_LIMIT
    run = RunRecord(
        ref=ref,
        trigger=Trigger.MANUAL,
        status=RunStatus.PENDING,
        created_at=act.at,
        scheduled_local=local_time(state, ref.scheduled_at),
        timeout=terms.timeout,
        max_attempts=terms.max_attempts,
        due_at=act.at + PENDING_REDISPATCH[0],
        dispatch=Dispatch.STREAM,
        act=act,
        input=None if apart else text,
        input_kept=apart,
    )
    kept = RunInput(ref=ref, text=text, at=act.at) if text is not None and apart else None
    return RunChange(before=None, after=run, guard=Guard.BORN, input=kept)


def local_time(state: JobState, at: datetime) -> str:
    """An instant as the clock of the job's zone shows it; in UTC if its schedule cannot be read any more."""
    try:
        return schedule_from_spec(state.schedule).local(at).isoformat()
    except DefinitionError:
        return at.isoformat()
