"""The states of a run and the one table of the moves between them.

A run is one job for one occurrence (or one manual trigger). `TRANSITIONS` is the truth: every write is
checked against it before it is sent, and the state diagram of the documentation is checked against it by a
test.
"""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    """Where a run stands."""

    PENDING = "PENDING"
    """Due: waiting for an executor to claim it."""
    RUNNING = "RUNNING"
    """Claimed by a worker until `claim_until`."""
    WAITING = "WAITING"
    """Not to be started before `due_at`: backoff, sleep, or queued behind other runs of its job."""
    SUCCEEDED = "SUCCEEDED"
    """Final: the job's function returned."""
    FAILED = "FAILED"
    """Final: it ended without success, for the recorded reason."""
    SKIPPED = "SKIPPED"
    """Final: it was decided not to run it, for the recorded reason."""
    CANCELLED = "CANCELLED"
    """Final: an operator ended it."""

    @property
    def is_final(self) -> bool:
        """Whether a run in this state has ended."""
        return self in FINAL


FINAL = frozenset({RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.SKIPPED, RunStatus.CANCELLED})


class Reason(StrEnum):
    """Why a run waits, failed or was skipped."""

    BACKOFF = "backoff"
    """Waits for its next attempt."""
    SLEEP = "sleep"
    """Waits because its job asked to."""
    QUEUED = "queued"
    """Waits for a slot."""
    ERROR = "error"
    """The last attempt raised."""
    LOST = "lost"
    """The last attempt's worker died or was cut off."""
    TIMEOUT = "timeout"
    """It ran longer than the job's timeout."""
    NO_PROGRESS = "no_progress"
    """Its invocations ended without recording anything new."""
    STEP_UNCERTAIN = "step_uncertain"
    """An at-most-once step was started and its outcome is unknown."""
    UNKNOWN_JOB = "unknown_job"
    """The job is not in the deployment."""
    EXPIRED = "expired"
    """It was not final 30 days after its creation."""
    LATE = "late"
    """It would have started later than the job's policy allows."""
    SUPERSEDED = "superseded"
    """A newer occurrence ran in its place (`catch_up=latest`)."""
    OVERLAP = "overlap"
    """The job's concurrency was reached (`overlap=skip`, or a full queue)."""
    EXCLUDED = "excluded"
    """The job's calendar excludes the date."""
    SAME_LOCAL_TIME = "same_local_time"
    """That local time ran before, under older zone data."""
    OPERATOR = "operator"
    """An operator decided it."""


class Trigger(StrEnum):
    """What a run came from."""

    SCHEDULE = "schedule"
    """An occurrence, planned by the scheduler."""
    BACKFILL = "backfill"
    """An occurrence, asked for by an operator."""
    MANUAL = "manual"
    """An operator's request outside the schedule."""


class Dispatch(StrEnum):
    """Who is to start a PENDING run."""

    STREAM = "stream"
    """The stream's dispatcher (the stream's filter asks for it)."""
    SWEEP = "sweep"
    """The sweep did; the write itself must not dispatch again."""


S, R = RunStatus, Reason

TRANSITIONS: dict[tuple[RunStatus | None, RunStatus], frozenset[Reason | None]] = {
    # born
    (None, S.PENDING): frozenset({None}),
    (None, S.WAITING): frozenset({R.QUEUED}),
    (None, S.SKIPPED): frozenset({R.EXCLUDED, R.SAME_LOCAL_TIME, R.LATE, R.SUPERSEDED}),
    # dispatched again, held up, ended before it started
    (S.PENDING, S.PENDING): frozenset({None}),
    (S.PENDING, S.RUNNING): frozenset({None}),
    (S.PENDING, S.WAITING): frozenset({R.QUEUED, R.BACKOFF}),
    (S.PENDING, S.SKIPPED): frozenset({R.LATE, R.SUPERSEDED, R.OVERLAP}),
    (S.PENDING, S.FAILED): frozenset({R.UNKNOWN_JOB, R.EXPIRED, R.TIMEOUT}),
    (S.PENDING, S.CANCELLED): frozenset({R.OPERATOR}),
    # claimed
    (S.RUNNING, S.RUNNING): frozenset({None}),
    (S.RUNNING, S.SUCCEEDED): frozenset({None}),
    (S.RUNNING, S.FAILED): frozenset({R.ERROR, R.LOST, R.TIMEOUT, R.NO_PROGRESS, R.STEP_UNCERTAIN}),
    (S.RUNNING, S.WAITING): frozenset({R.BACKOFF, R.SLEEP}),
    (S.RUNNING, S.PENDING): frozenset({None}),
    (S.RUNNING, S.CANCELLED): frozenset({R.OPERATOR}),
    # waiting
    (S.WAITING, S.WAITING): frozenset({R.BACKOFF, R.SLEEP, R.QUEUED}),
    (S.WAITING, S.PENDING): frozenset({None}),
    (S.WAITING, S.SKIPPED): frozenset({R.LATE, R.SUPERSEDED, R.OVERLAP}),
    (S.WAITING, S.FAILED): frozenset({R.UNKNOWN_JOB, R.EXPIRED, R.TIMEOUT}),
    (S.WAITING, S.CANCELLED): frozenset({R.OPERATOR}),
    # told, or brought back by an operator
    (S.SUCCEEDED, S.SUCCEEDED): frozenset({None}),
    (S.FAILED, S.FAILED): frozenset(
        {R.ERROR, R.LOST, R.TIMEOUT, R.NO_PROGRESS, R.STEP_UNCERTAIN, R.UNKNOWN_JOB, R.EXPIRED}
    ),
    (S.SKIPPED, S.SKIPPED): frozenset({R.LATE, R.SUPERSEDED, R.OVERLAP, R.EXCLUDED, R.SAME_LOCAL_TIME}),
    (S.CANCELLED, S.CANCELLED): frozenset({R.OPERATOR}),
    (S.FAILED, S.PENDING): frozenset({None}),
    (S.SKIPPED, S.PENDING): frozenset({None}),
    (S.CANCELLED, S.PENDING): frozenset({None}),
}
"""From -> to, and the reasons that the state moved to may carry. None as the origin: born in that state."""


class Notice(StrEnum):
    """Whether an end that must be told has been told."""

    PENDING = "pending"
    """To be told by the next patrol."""
    TOLD = "told"
    """Part of an alert, or of a notice that was published."""


class DueKind(StrEnum):
    """Partitions of the `due` index. Each is read with a bound of its own, so that none starves another."""

    JOB = "job"
    """A job, by its next occurrence."""
    PENDING = "pending"
    """A run to dispatch."""
    RUNNING = "running"
    """A claimed run, by the end of its claim."""
    WAITING = "waiting"
    """A run that waits for its next attempt, by its wake-up."""
    QUEUED = "queued"
    """A run that waits for a slot, by the next look: a long queue of one job delays no other's wake-up."""
    NOTICE = "notice"
    """A run or gap that must be told."""
    ALERT = "alert"
    """An open alert, by its next reminder."""


def transition_problem(origin: RunStatus | None, target: RunStatus, reason: Reason | None) -> str | None:
    """What is wrong with a move, or None if the table knows it."""
    reasons = TRANSITIONS.get((origin, target))
    if reasons is None:
        return f"no move from {origin or 'birth'} to {target}"
    if reason not in reasons:
        return f"{target} reached from {origin or 'birth'} does not carry the reason {reason}"
    return None
