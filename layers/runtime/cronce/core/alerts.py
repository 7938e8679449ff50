"""Alerts: what is open about a job, and the notices that tell people.

There is one alert item per job and one for the scheduler. It opens when something must be told, collects
the times concerned while it is open, and closes on recovery or acknowledgement. Its id (scope and opening
time) is the id of its notices, so that a notice published twice can be recognised.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from cronce.core.acts import Act
from cronce.core.values import dataclass

SCHEDULER = "SCHEDULER"
"""Scope of the alert that concerns the scheduler itself; every other scope is a job's name."""
TIMES_KEPT = 50
"""Times kept in an alert, the newest, failures before others; the rest is only counted."""
SUBJECT_LIMIT = 99
"""Characters of a notice's subject: SNS documents "less than 100", and refuses the message else."""


class Trouble(StrEnum):
    """What is wrong about one time."""

    MISSED = "missed"
    """Past its `expect_by` without success: never planned, not started, or not finished."""
    FAILED = "failed"
    """The run ended FAILED."""
    LATE = "late"
    """Skipped: it would have started later than the policy allows."""
    CATCH_UP_LIMIT = "catch_up_limit"
    """Skipped: more were missed than the job catches up."""
    OVERLAP = "overlap"
    """Skipped for overlap, with no success for a long time."""
    SILENT = "silent"
    """The scheduler has not completed a tick."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TroubledTime:
    """One time that an alert lists.

    Attributes:
        scheduled_at: the occurrence (of a gap: its first).
        trouble: what is wrong.
        detail: in words: "started 06:00:05, attempt 2 of 3, not finished", the error, the gap's extent.
        job: whose it is. Empty for the silence itself, which is nobody's.
        suffix: of a manual trigger's run id; empty otherwise.
        ended_at: when the run ended, if it did: a run that an operator brought back may end once more.
    """

    scheduled_at: datetime
    trouble: Trouble
    detail: str
    job: str = ""
    suffix: str = ""
    ended_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """What is open about a job (or the scheduler), or was until a short time ago.

    Attributes:
        scope: the job's name, or `SCHEDULER`.
        since: when it opened.
        times: troubled times, at most `TIMES_KEPT` of them, oldest first.
        count: of all troubled times.
        closed_at: when it closed; None while open.
        closed_because: "recovered", "acknowledged", "removed".
        act: of the operator who closed it last.
        notified_at: when a notice of its present state (opening, or closing) was published.
        sending_until: a watchdog is publishing it now and has until then.
        reminders: how often it was told, or was to be told, again since it opened.
        due_at: when it must be looked at next (its place in the index); None once closed and told.
        forget_at: when the store may delete it; only once closed.
        rev: number of writes so far.
    """

    scope: str
    since: datetime
    times: tuple[TroubledTime, ...]
    count: int
    closed_at: datetime | None = None
    closed_because: str | None = None
    act: Act | None = None
    notified_at: datetime | None = None
    sending_until: datetime | None = None
    reminders: int = 0
    due_at: datetime | None = None
    forget_at: datetime | None = None
    rev: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it still stands."""
        return self.closed_at is None

    @property
    def newest(self) -> TroubledTime:
        """The time that a notice is about: the newest listed; of the scheduler, its newest silence."""
        silent = [time for time in self.times if time.trouble is Trouble.SILENT]
        return (silent or self.times)[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeText:
    """One message to people.

    Attributes:
        id: stable: the same notice published twice carries the same id.
        subject: one line of at most `SUBJECT_LIMIT` characters.
        body: several lines that a person can act on; the first two say what matters.
        scope: the job's name, or `SCHEDULER`.
        kind: `opened`, `reminder` or `closed`.
        stack: its name.
        trouble: what is wrong (or was) about the newest time listed: a value of `Trouble`.
    """

    id: str
    subject: str
    body: str
    scope: str
    kind: str
    stack: str
    trouble: str
