"""What the engine asks of the outside world. Adapters implement these protocols.

Consistency is part of each promise. "Strong" reads see every write that was acknowledged before they began.
"Hint" reads may be late: what they say is only ever a reason to look, never to act.

A lost race is a value (`None`, `False`, an outcome); a store that cannot be reached raises `StoreError`.
The ports of leases stand in `cronce.core.lease_ports`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cronce.core.acts import Act
    from cronce.core.alerts import Alert, NoticeText
    from cronce.core.answers import Applied, CommitOutcome, DueEntry, JobReads
    from cronce.core.changes import RunChange
    from cronce.core.found import Found
    from cronce.core.job_change import JobChange
    from cronce.core.jobstate import Gap, JobState, JobWindow, Registry
    from cronce.core.lease import Grant
    from cronce.core.pings import Signal
    from cronce.core.records import AttemptRecord, RunRecord, RunRef, StepRecord
    from cronce.core.run import DueKind


class Clock(Protocol):
    """The one place where time enters."""

    def now(self) -> datetime:
        """The present, aware UTC, whole milliseconds (what the store keeps)."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        ...

    def pause(self, seconds: float) -> None:
        """Let that much time pass (jitter between two tries)."""
        ...


class StoreClock(Protocol):
    """The store's own clock, read off its answers."""

    def skew(self) -> timedelta:
        """Store's clock less own clock at the last answer; zero before the first."""
        ...


class RegistryStore(Protocol):
    """The registry item."""

    def read(self) -> Registry | None:
        """The registry, strong."""
        ...

    def write(self, grant: Grant, registry: Registry) -> bool:
        """Put the registry and its fingerprint on the lease, in one transaction under the grant."""
        ...


class JobStore(Protocol):
    """Job items."""

    def get(self, name: str) -> JobState | None:
        """One job, strong.

        Raises:
            UnreadableItemError: the item lacks an attribute or holds a malformed one.
        """
        ...

    def get_many(self, names: Sequence[str]) -> JobReads:
        """Many jobs, strong, any number; names without an item are in neither map."""
        ...

    def change(self, change: JobChange) -> Applied:
        """Write what an operator makes of a job, in one transaction if more than the job is in it.

        Conditional on everything of the job but its slots being as read, and on each gap that is deleted
        being as read. Writes what differs, but never slots; keeps the act that is displaced.

        DONE also if this very change was written before. JOB_MOVED: something is not as read. CONFLICT:
        another transaction was under way.
        """
        ...

    def next_token(self, name: str) -> int | None:
        """Add one to the job's fencing token and return it: for jobs without slots.

        A burnt token is harmless.

        None: there is no job item (nothing is created).
        """
        ...


class PlanStore(Protocol):
    """Planning writes."""

    def commit(self, grant: Grant, windows: Sequence[JobWindow]) -> CommitOutcome:
        """Write the windows in one transaction, conditional on the grant and on each window's own conditions.

        At most 99 actions in all. See `JobWindow` for the conditions and the fields written.
        """
        ...


class DueIndex(Protocol):
    """The `due` index. Every answer is a hint."""

    def due(self, kind: DueKind, until: datetime | None, limit: int) -> list[DueEntry]:
        """Entries of a kind with `due_at <= until` (None: all of them), oldest first, at most `limit`."""
        ...


class RunStore(Protocol):
    """Run records."""

    def get(self, ref: RunRef) -> RunRecord | None:
        """One run, strong. An item past its `forget_at` is absent.

        Raises:
            UnreadableItemError: the item lacks an attribute or holds a malformed one.
        """
        ...

    def get_many(self, refs: Sequence[RunRef]) -> dict[RunRef, RunRecord]:
        """Many runs, strong; those absent or unreadable are left out."""
        ...

    def runs(self, job: str, since: datetime, until: datetime, limit: int) -> Found[RunRecord]:
        """Runs of a job by occurrence, since <= scheduled_at <= until, newest first, strong.

        At most `limit` that can be read; those that cannot are told as far as the read went.
        """
        ...

    def gaps(self, job: str) -> Found[Gap]:
        """All gaps of a job, oldest first, strong; also those that cannot be read."""
        ...

    def apply(self, change: RunChange) -> Applied:
        """Write the change in one transaction (one plain write if only the run is in it). See `RunChange`.

        Queue markers follow from the states: a run that enters WAITING(queued) puts one, one that leaves it
        deletes it.
        """
        ...

    def renew(self, claimed: RunRecord, claim_until: datetime) -> RunRecord | None:
        """Extend a claim, conditional on LIVE. Returns the whole record as it is now.

        Writes claim_until and rev only.

        None: the claim is lost.
        """
        ...

    def first_queued(self, job: str) -> RunRecord | None:
        """The run of the first queue marker of a job, strong (markers and run). None: no marker.

        A marker whose run is missing or no longer queued is deleted on the way, on the condition that it is
        still there.
        """
        ...

    def mark_told(self, entry: DueEntry) -> bool:
        """Set `notice` of a run or gap from pending to told, out of the index. False: it was told already."""
        ...

    def set_aside(self, entry: DueEntry, due_at: datetime) -> bool:
        """Move an unreadable item to a later place in the index, by key alone, if it is where it was."""
        ...


class StepStore(Protocol):
    """Idempotency items of runs, and what else is kept beside a run."""

    def load(self, ref: RunRef) -> Iterable[StepRecord]:
        """All steps and chunks of a run in order of their keys, strong, page by page as they are taken."""
        ...

    def record(self, claimed: RunRecord, step: StepRecord, before: StepRecord | None = None) -> bool:
        """Put a step item, in one transaction with the LIVE check of its run.

        It must not exist yet, or must still be `before` (by status, owner and token). True also when this
        very item is there already (status, owner and token mine): the reply of an earlier try was lost.
        False: the claim is lost. The guard's own state never proves that the step was written.

        Raises:
            StepResultTooLargeError: the item would exceed what the store takes.
        """
        ...

    def attempts(self, ref: RunRef) -> list[AttemptRecord]:
        """The attempts kept of a run, oldest first, strong."""
        ...

    def input(self, ref: RunRef) -> str | None:
        """The input that is kept beside a run, strong. None: there is none.

        Raises:
            UnreadableItemError: it is malformed.
        """
        ...

    def acts(self, of: str) -> list[Act]:
        """The displaced acts of operators on a run (its id) or a job (`JOB#<name>`), oldest first, strong."""
        ...


class AlertStore(Protocol):
    """Alert items: one per job, and one for the scheduler."""

    def get(self, scope: str) -> Alert | None:
        """The alert of a job or of the scheduler, strong."""
        ...

    def put(self, before: Alert | None, after: Alert) -> bool:
        """Write it if it is still `before` (by its `rev`; None: absent). False: somebody was first."""
        ...


class Invoker(Protocol):
    """Starts executors."""

    def invoke(self, ref: RunRef) -> None:
        """Ask for one asynchronous invocation of the executor for this run.

        It may come twice, late, or not at all.

        Raises:
            DispatchError: the request was not accepted.
        """
        ...


class Notifier(Protocol):
    """Tells people."""

    def publish(self, notice: NoticeText) -> None:
        """Publish a notice.

        Raises:
            NotifyError: it was not accepted.
        """
        ...


class Sending(Protocol):
    """A signal on its way to a service outside AWS."""

    def outcome(self) -> str | None:
        """Wait until it has arrived or failed, or its time is over: from then on it is never sent.

        None: it has arrived. Else what went wrong, in words that show neither its URL nor an answer's.
        """
        ...


class Pinger(Protocol):
    """Tells services outside AWS, best effort: nothing about it ever raises."""

    def send(self, signal: Signal, within: timedelta) -> Sending:
        """Begin to send a signal, and do not wait for it. It may arrive twice, or not at all.

        Args:
            signal: what to tell.
            within: how long that may take.
        """
        ...


class Telemetry(Protocol):
    """Log lines with an event name and fields, and metrics by the names of `cronce.engine.metrics`."""

    def event(self, name: str, **fields: object) -> None:
        """One line in the log."""
        ...

    def warn(self, name: str, **fields: object) -> None:
        """One line in the log that somebody should look at."""
        ...

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a metric of this invocation; its sum is published when the invocation ends."""
        ...

    def flush(self) -> None:
        """Publish now what was counted: it is known, and the invocation may not come to its end."""
        ...
