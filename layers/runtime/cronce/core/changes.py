"""One conditional write of a run, and what it is conditional on.

Every write to a run's record is conditional, in one of two ways:

* `LIVE`, a worker's own writes: `status = RUNNING AND owner = :me AND fencing_token = :mine`. A worker that
  lost its claim (expired and taken, timed out, cancelled) is refused by the store, whatever it believes. So
  is one that lets its run wait or hands it on, and has not seen that an operator asked it to stop.
* `SEEN`, everybody else's: `rev = :seen`. Each write adds one to `rev`, so what was judged is what is
  changed.

Every move out of RUNNING takes `owner` to `last_owner` and keeps the token, so no later write of the old
worker matches. What else has to change with the run (its job's slots, the queued run that is woken, the
attempt that is kept, the step that is resolved) stands in the same transaction.
"""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.acts import PastAct, displaced
from cronce.core.errors import RefusedError
from cronce.core.instants import to_text
from cronce.core.records import AttemptRecord, RunRecord, Slots, StepRecord
from cronce.core.run import RunStatus, transition_problem
from cronce.core.run_input import RunInput
from cronce.core.values import dataclass


class Guard(StrEnum):
    """What a change of a run is conditional on."""

    BORN = "born"
    """The record does not exist."""
    SEEN = "seen"
    """`rev` is the one that was judged."""
    LIVE = "live"
    """The run is RUNNING under this worker's owner and fencing token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlotsChange:
    """A compare-and-set of a job's slots: written only if they are still what was read.

    A change that changes nothing is none: the store refuses it, with all of its transaction.
    """

    before: Slots
    after: Slots

    def __post_init__(self) -> None:
        if self.before == self.after:
            raise RefusedError(f"a change of slots that leaves them as they were: {self.before}")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepChange:
    """What an operator makes of a step's item: written only if it still is what was read."""

    before: StepRecord
    after: StepRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class RunChange:
    """One conditional write of a run, with all that must change in the same transaction.

    Attributes:
        before: the record as judged; None = it is born by this write.
        after: the record as it shall be; only what differs from `before` is written, and `rev` grows by one.
        guard: what the write is conditional on.
        slots: the job's slots, if the move takes or frees one, queues or unqueues.
        woken: a queued run that is handed the slot: its record as judged, and after.
        attempt: a finished attempt to keep.
        step: a step of the run that an operator resolves.
        input: of a run that is born, if it is too long for the record.

    Only `removed` is written although it does not differ.
    """

    before: RunRecord | None
    after: RunRecord
    guard: Guard
    slots: SlotsChange | None = None
    woken: tuple[RunRecord, RunRecord] | None = None
    attempt: AttemptRecord | None = None
    step: StepChange | None = None
    input: RunInput | None = None

    def __post_init__(self) -> None:
        check_transition(self.before, self.after)
        if self.woken is not None:
            check_transition(*self.woken)

    @property
    def yields_to_stop(self) -> bool:
        """Whether a request to stop that the worker has not seen refuses the write: the run would go on."""
        goes_on = self.after.status in {RunStatus.WAITING, RunStatus.PENDING}
        return self.guard is Guard.LIVE and self.before is not None and goes_on

    def met_stop(self, stored: RunRecord | None) -> bool:
        """Whether that is why it was refused.

        Args:
            stored: the run as it is stored.
        """
        return (
            self.yields_to_stop
            and self.before is not None
            and stored is not None
            and stored.cancel_requested
            and stored.status is RunStatus.RUNNING
            and (stored.owner, stored.fencing_token) == (self.before.owner, self.before.fencing_token)
        )

    @property
    def removed(self) -> frozenset[str]:
        """Fields that the write clears whatever `before` says of them.

        A request to cancel may arrive after the worker last saw its record. It is answered by any end, and
        must not cancel the run when an operator brings it back.
        """
        answered = self.after.status.is_final and not self.after.cancel_requested
        return frozenset({"cancel_requested"}) if answered else frozenset()

    @property
    def past_act(self) -> PastAct | None:
        """The operator's act that makes way for another one."""
        return displaced(self.after.ref.id, self.before.act if self.before else None, self.after.act)

    def wrote(self, stored: RunRecord | None, step: StepRecord | None = None) -> bool:
        """Whether the stored record is this very change, written before although the reply was lost.

        It is recognised on the record itself: what an operator does by the signature, since a worker may
        have moved the run before the reply was missed; a claim and a worker's last write by owner and token,
        which no other worker has; other moves by `rev` and by all that they write, where it does not matter
        which of two equal writers did it. State alone would not do: a renewal leaves the state that a stop
        request leaves. A step that was resolved is compared as a whole while it is as an operator left it:
        two may say different things of it at once, and do the same to its run. A worker may be at it again.

        Args:
            stored: the run as it is stored.
            step: the step as it is stored, if the change has one.
        """
        if stored is None:
            return False
        signed = self._is_signed and stored.act == self.after.act
        if self.step is not None and step != self.step.after:
            return signed and step is not None and step.owner != self.step.after.owner
        if signed:
            return True
        if self.before is None:
            return stored.rev == 1 and self._wrote_all_fields(stored)
        if (stored.status, stored.reason) != (self.after.status, self.after.reason):
            return False
        mine = stored.fencing_token == self.after.fencing_token and stored.owner == self.after.owner
        if self.after.owner is not None and self.before.owner is None:
            return mine
        if self.guard is Guard.LIVE and self.after.owner is None:
            return mine and stored.last_owner == self.after.last_owner
        return mine and stored.rev == self.before.rev + 1 and self._wrote_all_fields(stored)

    @property
    def _is_signed(self) -> bool:
        """Whether an operator makes it."""
        before = self.before.act if self.before else None
        return self.after.act is not None and self.after.act != before

    def _wrote_all_fields(self, stored: RunRecord) -> bool:
        """Whether every field that the change writes is stored as the change writes it."""
        for name in (field.name for field in fields(RunRecord) if field.name != "rev"):
            wanted = getattr(self.after, name)
            written = self.before is None or getattr(self.before, name) != wanted
            if written and _as_stored(getattr(stored, name)) != _as_stored(wanted):
                return False
        return True


def _as_stored(value: object) -> object:
    """Instants are stored in whole milliseconds."""
    return to_text(value) if isinstance(value, datetime) else value


def check_transition(before: RunRecord | None, after: RunRecord) -> None:
    """Refuse a move that the table does not know. A bug of cronce, never of a job.

    Raises:
        RefusedError: there is no such move, or an owner stands on a run that is not RUNNING.
    """
    problem = transition_problem(before.status if before else None, after.status, after.reason)
    if problem is None and (after.owner is not None) != (after.status is RunStatus.RUNNING):
        problem = f"{after.status} with owner {after.owner!r}"
    if problem:
        raise RefusedError(f"run {after.ref.id}: {problem}")


def left_running(run: RunRecord, now: datetime) -> RunRecord:
    """The record once its worker no longer holds it: owner moved, execution added up, claim gone."""
    end = min(now, run.claim_until) if run.claim_until else now
    spent = max(end - run.slice_started_at, timedelta(0)) if run.slice_started_at else timedelta(0)
    executed = run.executed + spent
    return replace(
        run, owner=None, last_owner=run.owner, claim_until=None, slice_ends_at=None, executed=executed
    )
