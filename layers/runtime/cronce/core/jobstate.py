"""What is stored of a job between ticks, and what one tick writes about it.

`planned_to` is the promise: every occurrence up to it is accounted for, by a run record or inside a gap. It
moves in the same transaction that writes those records, so there is no instant at which it says more than
is true.
"""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.acts import Act
from cronce.core.instants import to_key
from cronce.core.records import RunRecord, RunRef, Slots
from cronce.core.run import DueKind, Notice
from cronce.core.values import dataclass


class Held(StrEnum):
    """Why the scheduler does not bring a job up to date. Set by it only; operators pause instead."""

    UNAVAILABLE = "unavailable"
    """Its module does not import in this deployment."""
    BEHIND = "behind"
    """More is due than its share of a tick; the next ticks go on."""


class GapReason(StrEnum):
    """Why a stretch of occurrences was not run."""

    LATE = "late"
    """Later than the job's policy allows."""
    SUPERSEDED = "superseded"
    """A newer occurrence ran in their place."""
    PAUSED = "paused"
    """The job was paused."""
    REMOVED = "removed"
    """The job was not part of the deployment."""
    REDEFINED = "redefined"
    """Another schedule took over."""
    CATCH_UP_LIMIT = "catch_up_limit"
    """More were missed than `catch_up_cap`."""
    EXCLUDED = "excluded"
    """The job's calendar excludes them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """A stretch of occurrences that were not run. A run record inside it outranks it.

    Gaps may overlap, since a job's item may be set back: each is kept, so every time stays in one.

    Attributes:
        job: whose.
        first: the first occurrence in it.
        last: the last one.
        count: how many.
        reason: why.
        created_at: when it was recorded.
        notice: whether it must be told.
        forget_at: when the store may delete it.
    """

    job: str
    first: datetime
    last: datetime
    count: int
    reason: GapReason
    created_at: datetime
    notice: Notice | None = None
    forget_at: datetime | None = None

    @property
    def key(self) -> str:
        """What follows `GAP#` in its sort key: of two gaps with one key, each holds the other's times.

        Raises:
            ValueError: an occurrence is no whole second.
        """
        return f"{to_key(self.first)}#{to_key(self.last)}#{self.reason.value}"

    @property
    def due_kind(self) -> DueKind | None:
        """The partition of the `due` index that it stands in."""
        return DueKind.NOTICE if self.notice is Notice.PENDING else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """An operator's pause: when, by whom and why."""

    at: datetime
    by: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Times of a job that was set back that are accounted for all the same: planning steps over them."""

    first: datetime
    last: datetime

    def holds(self, at: datetime) -> bool:
        """Whether the time is one of them."""
        return self.first <= at <= self.last


@dataclass(frozen=True, kw_only=True, slots=True)
class JobState:
    """A job as it is stored.

    Attributes:
        name: the job.
        module: where its code was last seen.
        schedule: spec of the schedule in force.
        schedule_hash: hash of that spec.
        grace: how late success may come.
        zone_data: version of the zone data that the job was last planned with; None = not known, taken as
        unchanged.
        planned_to: up to here every occurrence is accounted for.
        planned_local: naive wall time, in the schedule's zone, of the last accounted occurrence.
        next_at: the next occurrence after `planned_to`; None = there is none.
        expect_by: `next_at` + grace: without a record by then the job is overdue.
        due_at: when a tick must look at it; None = not in the index (paused, removed, nothing to come).
        paused: an operator's pause.
        resumed_at: occurrences up to here are judged as catch-up; until they are planned.
        held: why the scheduler does not bring it up to date.
        removed_at: when it was found to be gone from the deployment.
        began_at: where its planning began, a minute or two before a tick first saw it (for an `At`, before
            its instant): no time up to here was ever its own; None = not known.
        settled: after an operator has set `planned_to` back, what is accounted for after it; until planning
            is past it.
        act: the newest act of an operator.
        slots: what its runs share.
    """

    name: str
    module: str
    schedule: dict[str, str]
    schedule_hash: str
    grace: timedelta
    zone_data: str | None = None
    planned_to: datetime
    planned_local: datetime
    next_at: datetime | None
    expect_by: datetime | None
    due_at: datetime | None
    paused: Pause | None = None
    resumed_at: datetime | None = None
    held: Held | None = None
    removed_at: datetime | None = None
    began_at: datetime | None = None
    settled: tuple[Settled, ...] = ()
    act: Act | None = None
    slots: Slots = field(default_factory=Slots)

    def is_settled(self, at: datetime) -> bool:
        """Whether the job was set back behind a time that is accounted for."""
        return any(one.holds(at) for one in self.settled)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobWindow:
    """What one tick writes about one job, in one transaction or not at all.

    The write is conditional on the lease, and on `planned_to`, `paused`, `resumed_at`, `removed_at` and
    `schedule_hash` being those of `before` (None: the job item does not exist). If it queues runs, also on
    `slots` being as read: a slot freed in between would find nobody queued, and nobody would wake the runs
    queued here.
    `slots` is otherwise left as stored: only `queued` grows, by the number of WAITING(queued) records.

    Attributes:
        before: the job as read.
        after: the job as it shall be (its `slots` count only when the item is born: a token that starts
        high).
        runs: records to put, each on the condition that it does not exist.
        gaps: gaps to put, likewise.
    """

    before: JobState | None
    after: JobState
    runs: tuple[RunRecord, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def queued(self) -> tuple[RunRecord, ...]:
        """The runs that are born waiting for a slot; each gets a queue marker."""
        return tuple(run for run in self.runs if run.is_queued)

    @property
    def actions(self) -> int:
        """Writes of this window in a transaction, the shared check of the lease not counted."""
        return 1 + len(self.runs) + len(self.gaps) + len(self.queued)

    def without(self, runs: frozenset[RunRef], gaps: frozenset[Gap]) -> JobWindow:
        """The window less the records that exist already."""
        return replace(
            self,
            runs=tuple(run for run in self.runs if run.ref not in runs),
            gaps=tuple(gap for gap in self.gaps if gap not in gaps),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryEntry:
    """What the registry keeps of a job: where it is and what it promised."""

    module: str
    schedule_hash: str
    grace: timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class Registry:
    """The jobs of the deployment that planned last.

    Attributes:
        jobs: by name.
        zone_data: version of the zone data in use.
        fingerprint: hash over all of it; the lease carries a copy, so that a tick need not read the registry.
    """

    jobs: dict[str, RegistryEntry]
    zone_data: str
    fingerprint: str
