"""What is stored of a run: its ledger entry, its steps, its past attempts, and the job's slots."""

from __future__ import annotations

import re
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.acts import Act
from cronce.core.instants import from_key, to_key
from cronce.core.run import Dispatch, DueKind, Notice, Reason, RunStatus, Trigger
from cronce.core.run_input import checked_input
from cronce.core.values import dataclass

RUN_ID = re.compile(
    r"(?P<job>[a-z0-9][a-z0-9-]{0,62})@(?P<at>[0-9TZ:-]{20})(?:#(?P<suffix>[A-Za-z0-9-]{1,40}))?"
)
INLINE_LIMIT = 200
"""Bytes of input or error on the record itself, which stays under 1 KB. What is longer has an
item of its own."""
ERROR_LIMIT = 4096
"""Bytes of an error's text that are kept at all."""
SHOWN = 120
"""Characters of a wrong run id that its message shows."""

_DUE_KINDS = {
    RunStatus.PENDING: DueKind.PENDING,
    RunStatus.RUNNING: DueKind.RUNNING,
    RunStatus.WAITING: DueKind.WAITING,
}


@dataclass(frozen=True, slots=True)
class RunRef:
    """Which run: job, occurrence and, for manual triggers only, a suffix that tells them apart."""

    job: str
    scheduled_at: datetime
    suffix: str = ""

    def __lt__(self, other: RunRef) -> bool:
        """By job, then by time."""
        return (self.job, self.scheduled_at, self.suffix) < (other.job, other.scheduled_at, other.suffix)

    @property
    def id(self) -> str:
        """The run id, `<job>@<scheduled_at>`, for example `daily-menu@2026-03-08T07:00:00Z`."""
        return f"{self.job}@{self.key}"

    @property
    def key(self) -> str:
        """What follows `RUN#` in the record's sort key."""
        return to_key(self.scheduled_at) + (f"#{self.suffix}" if self.suffix else "")

    @classmethod
    def parse(cls, run_id: object) -> RunRef:
        """Read a run id.

        Raises:
            ValueError: it is not of the form `<job>@<YYYY-MM-DDTHH:MM:SSZ>[#<suffix>]`.
        """
        match = RUN_ID.fullmatch(run_id) if isinstance(run_id, str) else None
        if match is None:
            given = repr(run_id[:SHOWN]) if isinstance(run_id, str) else f"a {type(run_id).__name__}"
            raise ValueError(f"not a run id of the form <job>@<YYYY-MM-DDTHH:MM:SSZ>: {given}")
        return cls(match["job"], from_key(match["at"]), match["suffix"] or "")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """A run as it is stored: the ledger entry with its current attempt.

    Attributes:
        ref: which run.
        trigger: what it came from.
        status: where it stands.
        reason: why, for WAITING and for ends other than success.
        created_at: when the record was born.
        scheduled_local: wall time with offset in the job's zone at birth (ISO 8601).
        timeout: bound of its execution over all attempts and slices.
        max_attempts: after so many failed attempts it ends FAILED.
        attempt: number of the current or last attempt, 0 before the first claim.
        slice: number of the invocation within the attempt, 1 for the first.
        started_at: the first claim.
        attempt_started_at: the first claim of this attempt.
        attempt_ended_at: when the last attempt was recorded as ended; None while one is under way.
        attempt_outcome: how it ended, if it failed: `error`, `lost`, `timeout`, `no_progress`.
        slice_started_at: the claim of this slice.
        slice_ends_at: when Lambda ends the invocation of this slice; only while RUNNING.
        ended_at: when it became final.
        executed: execution of earlier slices and attempts, for `timeout`.
        owner: the worker that holds it; only while RUNNING.
        last_owner: the worker that held it last.
        fencing_token: token of the last claim.
        claim_until: until when the claim stands; only while RUNNING.
        due_at: when somebody must look at it; None once nobody has to.
        expect_by: past this without success it is overdue; None = not watched (manual, backfilled, queued).
        dispatch: who is to start it while PENDING.
        dispatches: how often the sweep has dispatched it since it became PENDING.
        notice: whether its end must be told (`pending`) or was (`told`).
        touched: an operator moved it, so the policies of lateness no longer apply.
        cancel_requested: an operator asked the running worker to stop.
        act: the newest act of an operator.
        unknown_since: when an executor first did not find its job in the deployment.
        request_id: Lambda request of the current or last slice.
        log_stream: where that slice logged.
        error: short text of the last error, at most `INLINE_LIMIT` bytes.
        error_kept: the whole error is kept with the attempt's own item.
        input: JSON text given by a manual trigger, at most `INLINE_LIMIT` bytes. Never in a log line, nor in
            what Python prints of this record.
        input_kept: a longer input is kept beside the run's steps.
        forget_at: when the store may delete it; only in a final state.
        rev: number of writes so far.
    """

    ref: RunRef
    trigger: Trigger = Trigger.SCHEDULE
    status: RunStatus
    reason: Reason | None = None
    created_at: datetime
    scheduled_local: str
    timeout: timedelta
    max_attempts: int
    attempt: int = 0
    slice: int = 0
    started_at: datetime | None = None
    attempt_started_at: datetime | None = None
    attempt_ended_at: datetime | None = None
    attempt_outcome: Reason | None = None
    slice_started_at: datetime | None = None
    slice_ends_at: datetime | None = None
    ended_at: datetime | None = None
    executed: timedelta = timedelta(0)
    owner: str | None = None
    last_owner: str | None = None
    fencing_token: int = 0
    claim_until: datetime | None = None
    due_at: datetime | None = None
    expect_by: datetime | None = None
    dispatch: Dispatch | None = None
    dispatches: int = 0
    notice: Notice | None = None
    touched: bool = False
    cancel_requested: bool = False
    act: Act | None = None
    unknown_since: datetime | None = None
    request_id: str | None = None
    log_stream: str | None = None
    error: str | None = None
    error_kept: bool = False
    input: str | None = field(default=None, repr=False)
    input_kept: bool = False
    forget_at: datetime | None = None
    rev: int = 0

    def __post_init__(self) -> None:
        """Refuse an input that does not belong here.

        Raises:
            ValueError: see `checked_input`.
        """
        if self.input is not None:
            checked_input(self.input, INLINE_LIMIT)

    @property
    def due_kind(self) -> DueKind | None:
        """The partition of the `due` index that the record stands in; None = in none."""
        if self.notice is Notice.PENDING:
            return DueKind.NOTICE
        if self.is_queued:
            return DueKind.QUEUED
        return _DUE_KINDS.get(self.status)

    @property
    def is_queued(self) -> bool:
        """Whether it waits for a slot (and so has a queue marker)."""
        return self.status is RunStatus.WAITING and self.reason is Reason.QUEUED

    @property
    def is_scheduled(self) -> bool:
        """Whether it stands for an occurrence that the scheduler planned."""
        return self.trigger is Trigger.SCHEDULE


@dataclass(frozen=True, kw_only=True, slots=True)
class Slots:
    """The part of a job item that its runs share.

    Attributes:
        held: ids of the runs that hold a slot, from first claim (or wake-up) until final.
        queued: number of queue markers.
        fencing_token: the last token handed out.
    """

    held: frozenset[str] = frozenset()
    queued: int = 0
    fencing_token: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptRecord:
    """What is kept of an attempt once the next one starts.

    Attributes:
        ref: the run.
        number: which attempt, from 1.
        fencing_token: the token of its last claim.
        started_at: its first claim.
        ended_at: when it was recorded as ended.
        outcome: `error`, `lost`, `timeout`, ...
        error: the error's text, at most `ERROR_LIMIT` bytes.
        request_id: Lambda request of its last slice.
        log_stream: where that logged.
    """

    ref: RunRef
    number: int
    fencing_token: int
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    error: str | None = None
    request_id: str | None = None
    log_stream: str | None = None


class StepStatus(StrEnum):
    """What an idempotency item says of its step."""

    DONE = "DONE"
    """It is finished, and has its result."""
    STARTED = "STARTED"
    """An at-most-once step was begun. While it says so, nobody knows what came of it."""
    NOT_DONE = "NOT_DONE"
    """An at-most-once step was begun, and surely did nothing: it may be begun again."""
    ASLEEP = "ASLEEP"
    """The run sleeps until an instant, or has done so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """An idempotency item: a step, or one chunk of an `each`.

    Attributes:
        ref: the run.
        name: the step's name.
        chunk: number of items done when the chunk was written; None for a plain step.
        status: whether it is finished.
        result: JSON text of the value, or of the chunk's values in order; `null` for a chunk without values.
        keys: the item keys that the chunk covers.
        until: of STARTED, when the invocation ends that began it; of ASLEEP, when the run goes on.
        owner: the worker that recorded it, or the operator who resolved it.
        fencing_token: under which claim.
        at: when.
        why: what the operator said.
    """

    ref: RunRef
    name: str
    chunk: int | None = None
    status: StepStatus = StepStatus.DONE
    result: str = field(repr=False)
    keys: tuple[str, ...] = field(default=())
    until: datetime | None = None
    owner: str
    fencing_token: int
    at: datetime
    why: str | None = None

    def is_same(self, other: StepRecord) -> bool:
        """Whether two items are one and the same write: nobody else has this owner, token and status."""
        return (self.status, self.owner, self.fencing_token) == (
            other.status,
            other.owner,
            other.fencing_token,
        )
