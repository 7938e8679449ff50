"""An operator pauses a job, and lets it go on.

A pause takes the job out of the index and stops planning, nothing else: runs that exist go on, and nothing
but `resumed` ends it. What came due meanwhile is then judged by the job's policy for missed times, however
short the pause was; what does not run of it is a gap (paused). See `core.catch_up`.
"""

from __future__ import annotations

from dataclasses import replace

from cronce.core.acts import Act
from cronce.core.errors import OperationRefusedError
from cronce.core.instants import to_text
from cronce.core.jobstate import JobState, Pause


def paused(state: JobState, act: Act) -> JobState | None:
    """The job once it is paused; None: it is already.

    Args:
        state: as read.
        act: the operator's.

    Raises:
        OperationRefusedError: the job was removed, so nothing of it is planned.
    """
    if state.paused is not None:
        return None
    if state.removed_at is not None:
        raise OperationRefusedError(
            f"job {state.name} was removed from the deployment at {to_text(state.removed_at)}: "
            "nothing of it is planned, so there is nothing to pause"
        )
    pause = Pause(at=act.at, by=act.by, why=act.why)
    return replace(state, paused=pause, due_at=None, expect_by=None, act=act)


def resumed(state: JobState, act: Act) -> JobState | None:
    """The job once it goes on: the next tick looks at it. None: it is not paused.

    A job that was removed meanwhile stays out of the index until it is deployed again.

    Args:
        state: as read.
        act: the operator's.
    """
    if state.paused is None:
        return None
    gone = state.removed_at is not None
    return replace(
        state,
        paused=None,
        resumed_at=act.at,
        due_at=None if gone else act.at,
        expect_by=None if gone else act.at + state.grace,
        act=act,
    )
