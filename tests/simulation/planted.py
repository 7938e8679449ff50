"""Mistakes that the simulation must find: each is a small damage to the engine or to the store in memory.

A mistake is planted by replacing named functions for the length of a block. Its sentence says which history
breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from cronce.core import (
    adoption,
    backfill,
    claim,
    health,
    moves,
    operator_moves,
    pausing,
    planning,
    resolution,
    rewinding,
    slots,
)
from cronce.core import stretch as stretch_module
from cronce.core.alerting import RECOVERED
from cronce.core.answers import Applied, CommitOutcome
from cronce.core.changes import Guard, RunChange
from cronce.core.instants import to_key
from cronce.core.job_change import JobChange
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import Slots
from cronce.core.run import Dispatch, RunStatus
from cronce.core.steps import to_json
from cronce.engine import held_claim, plan_writer, reconciliation, run_handle, slot_holders, step_log, sweep
from cronce.engine.alert_desk import AlertDesk
from cronce.engine.ledger import Ledger
from cronce.engine.operations import backfilling, on_jobs
from cronce.engine.plan_writer import PlanWriter
from cronce.engine.step_log import StepLog
from cronce.testing import LeaseItem, job_key, planning_stores, run_key, run_stores
from cronce.testing.keys import LEASE, input_key
from cronce.testing.planning_stores import MemoryLeaseStore, MemoryPlanStore
from cronce.testing.run_stores import MemoryRunStore, MemoryStepStore
from cronce.testing.table import MemoryTable
from tests.simulation.functions import Functions
from tests.simulation.lottery import (
    DELETED,
    FAILING,
    HURRIED,
    LOST,
    OPERATING,
    RESTORED,
    STALLING,
    STANDING,
    STORMY,
    UNHEARD,
    UNMAPPED,
    Shape,
)

Damage = tuple[Any, str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """One mistake.

    Attributes:
        name: of the mistake.
        history: what breaks it.
        damages: what is replaced by what.
        shape: of the histories in which it is looked for.
    """

    name: str
    history: str
    damages: tuple[Damage, ...]
    shape: Shape = STORMY

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Within the block, the code has the mistake."""
        with ExitStack() as stack:
            for target, name, value in self.damages:
                stack.enter_context(_replaced(target, name, value))
            yield


@contextmanager
def _replaced(target: Any, name: str, value: object) -> Iterator[None]:
    before = vars(target)[name]
    setattr(target, name, value)
    try:
        yield
    finally:
        setattr(target, name, before)


def _always(*_: object, **__: object) -> bool:
    return True


# --- planning ---------------------------------------------------------------------------------------------


def _in_two_transactions(self: Any, batch: Any) -> CommitOutcome:
    moved = [replace(window, runs=(), gaps=()) for window in batch]
    outcome: CommitOutcome = self._plans.commit(self._grant, moved)
    if not outcome.done:
        return outcome
    written: CommitOutcome = self._plans.commit(
        self._grant, [replace(window, before=window.after) for window in batch]
    )
    return written


def _without_gaps(before: JobState, after: JobState, runs: Any = (), gaps: Any = ()) -> object:
    return _WINDOW(before, after, runs, ())


_WINDOW = planning._window


def _first_and_reason(gap: Gap) -> str:
    return f"{to_key(gap.first)}#{gap.reason.value}"


def _as_it_is(window: Any, left: Any) -> object:
    return left


def _from_the_minute(job: Any, state: JobState, schedule: Any, end: Any, moment: Any) -> object:
    later = max(state.planned_to, min(moment.anchor, end))
    return _LOOKED_AT(job, replace(state, planned_to=later), schedule, end, moment)


_LOOKED_AT = stretch_module.looked_at


def _given_back_by_anybody(self: Any, grant: Any, completed_at: Any) -> bool:
    with self._table.call("lease.release"):
        stored = self._table.matching(LEASE, LeaseItem)
        if stored is not None:
            over = planning_stores.LONG_AGO
            self._table.put(LEASE, replace(stored, owner=None, lease_until=over, completed_at=completed_at))
        return True


# --- runs and steps ---------------------------------------------------------------------------------------


def _running(stored: Any, claimed: Any) -> bool:
    return stored is not None and stored.status is RunStatus.RUNNING


def _any_end(self: Any, change: RunChange, stored: Any) -> bool:
    return (change.after.status.is_final and stored is not None) or _GUARD(self, change, stored)


_GUARD = MemoryRunStore._guard_holds


def _queue_not_compared(self: Any, change: RunChange) -> bool:
    if change.slots is None:
        return True
    job = self._table.matching(job_key(change.after.ref.job), JobState)
    seen = change.slots.before
    return job is not None and (job.slots.held, job.slots.fencing_token) == (seen.held, seen.fencing_token)


def _late_steps(self: Any, ref: Any) -> object:
    seen_until = self._table.clock.now() - timedelta(seconds=30)
    return [step for step in _LOAD(self, ref) if step.at <= seen_until]


_LOAD = MemoryStepStore.load


def _known_by_the_guard(self: Any, claimed: Any, step: Any, before: Any = None) -> bool:
    if _RECORD(self, claimed, step, before):
        return True
    run = self._table.matching(run_key(claimed.ref), type(claimed))
    return run is not None and step.owner in (run.owner, run.last_owner)


_RECORD = MemoryStepStore.record


def _owner_is_the_request(self: Functions, name: str, lasts: timedelta) -> object:
    process = _PROCESS(self, name, lasts)
    process.owner = name.removesuffix(" twice")
    return process


_PROCESS = Functions._process


def _with_the_attempt(self: Any, step: str, key: str | None = None) -> str:
    return f"{_KEY(self, step, key)}/{self._record.attempt}"


_KEY = run_handle.Run.idempotency_key


def _no_start(log: Any, claim_: Any, name: str, call: Callable[[], object]) -> str:
    finished = log.finished(name)
    if finished is not None:
        return str(finished.result)
    claim_.check()
    text: str = to_json(claim_.record.ref.id, name, call())
    log.record(name, text)
    return text


def _attempts_unlimited(run: Any, failure: Any, now: Any, retention: Any) -> object:
    after = _FAILED(replace(run, max_attempts=99), failure, now, retention)
    return replace(after, max_attempts=run.max_attempts)


_FAILED = moves.attempt_failed


# --- slots and queue --------------------------------------------------------------------------------------


def _own_slot_not_known(held: Any, run_id: str, policy: Any) -> bool:
    return slots.has_free(held, policy)


def _kept(slots_: Any, run_id: str, *, was_queued: bool) -> object:
    return replace(_LEFT(slots_, run_id, was_queued=was_queued), held=slots_.held)


_LEFT = slots.left


def _same_token(slots_: Any, held: Any, run_id: str) -> object:
    return replace(_TAKEN(slots_, held, run_id), fencing_token=slots_.fencing_token)


_TAKEN = slots.taken


def _from_one(declared: Any, module: str, moment: Any) -> object:
    window = _FIRST_SIGHT(declared, module, moment)
    return replace(window, after=replace(window.after, slots=Slots()))


_FIRST_SIGHT = adoption.first_sight


def _wake_up_apart(self: Ledger, change: RunChange, policy: Any) -> Applied:
    for _ in self.tries():
        complete = self._with_slots(change, policy, wake=True)
        alone = replace(complete, slots=None, woken=None)
        applied = self.apply(alone)
        if applied is Applied.DONE and complete.slots is not None:
            self.runs.apply(_second(complete))
        if applied in {Applied.DONE, Applied.RUN_MOVED}:
            return applied
    return Applied.CONFLICT


def _second(change: RunChange) -> RunChange:
    """The slots, in a transaction of their own: with the woken run, or with the run as it is."""
    if change.woken is not None:
        return RunChange(before=change.woken[0], after=change.woken[1], guard=Guard.SEEN, slots=change.slots)
    stored = replace(change.after, rev=(change.before.rev if change.before else 0) + 1)
    return RunChange(before=stored, after=stored, guard=Guard.SEEN, slots=change.slots)


def _not_woken(self: Ledger, change: RunChange, policy: Any, *, wake: bool) -> RunChange:
    return _WITH_SLOTS(self, change, policy, wake=False)


_WITH_SLOTS = Ledger._with_slots


# --- sweep and alerts -------------------------------------------------------------------------------------


def _by_the_stream(self: Any, ready: Any) -> None:
    for run in ready.values():
        after = replace(run, dispatch=Dispatch.STREAM, due_at=self.now + timedelta(minutes=2))
        self.ledger.apply(RunChange(before=run, after=after, guard=Guard.SEEN))


def _out_of_the_index(self: Any, alert: Any, state: Any) -> str | None:
    if state is not None and state.due_at is None:
        return RECOVERED
    return _OVER(self, alert, state)


_OVER = AlertDesk._over


def _recorded_before_written(self: Any, before: Any, after: Any) -> None:
    self.recorded.add(after.scope)
    _DECIDED(self, before, after)


_DECIDED = AlertDesk._write_decision


def _never_late(*_: object) -> None:
    return None


# --- operators --------------------------------------------------------------------------------------------


def _under_its_own_key(state: Any, at: Any, job: Any, act: Any) -> RunChange:
    change = _FILLED(state, at, job, act)
    run = replace(change.after, ref=replace(change.after.ref, suffix="backfill"))
    taken = change.slots and replace(change.slots, after=replace(change.slots.after, held=frozenset()))
    return replace(change, after=run, slots=taken if taken and taken.after != taken.before else None)


_FILLED = backfill.filled


def _only_as_it_was(self: RunChange, stored: Any, step: Any = None) -> bool:
    moved = self.before is None and stored is not None and stored.rev > 1
    return not moved and _WROTE(self, stored, step)


_WROTE = RunChange.wrote


def _whether_it_exists_or_not(self: Any, change: RunChange, stored: Any) -> bool:
    return change.guard is Guard.BORN or _GUARD(self, change, stored)


def _pending_beside_the_slots(state: Any, at: Any, job: Any, act: Any) -> RunChange:
    change = _FILLED(state, at, job, act)
    return change if change.slots is None else replace(change, slots=None)


def _as_much_as_it_had(run: Any, now: Any) -> object:
    return replace(_BROUGHT_BACK(run, now), max_attempts=run.max_attempts)


_BROUGHT_BACK = operator_moves.brought_back


def _whoever_holds_it(self: Any, change: RunChange, policy: Any) -> Applied:
    if change.after.act is not None and change.after.status is RunStatus.CANCELLED:
        applied: Applied = self.apply(change)
        return applied
    return _MOVE(self, change, policy)


_MOVE = Ledger.move


def _never(*_: object, **__: object) -> bool:
    return False


def _in_no_place(state: JobState, act: Any) -> JobState | None:
    after = pausing.resumed(state, act)
    return None if after is None else replace(after, due_at=None)


def _nothing_settled(times: Any, accounted: Any) -> tuple[()]:
    return ()


def _before_the_condition(self: Any, change: RunChange) -> Applied:
    if change.input:
        self._table.put(input_key(change.input), change.input)
    return _APPLY(self, change)


_APPLY = MemoryRunStore.apply


def _forgotten(self: Any) -> None:
    return None


PLANTED = (
    Planted(
        name="records and planned_to in two transactions",
        history="The tick dies between the two: the times are neither planned nor ever looked at again.",
        damages=((PlanWriter, "_commit", _in_two_transactions),),
    ),
    Planted(
        name="the plan is not conditional on the lease",
        history="A tick stands still past its lease, another one plans, the first wakes up and writes too.",
        damages=((planning_stores, "holds", _always),),
    ),
    Planted(
        name="the plan is not conditional on the job as read",
        history="An operator pauses the job between a tick's read and its write: the pause is overwritten.",
        damages=((MemoryPlanStore, "_is_as_read", _always),),
        shape=OPERATING,
    ),
    Planted(
        name="records are put whether they exist or not",
        history="A restored job item makes the planner go over times whose runs are on record.",
        damages=((MemoryTable, "exists", lambda self, key: False),),
        shape=RESTORED,
    ),
    Planted(
        name="a gap's key does not say where it ends",
        history="A restored job item makes the planner go over a gap again, and some time more.",
        damages=((Gap, "key", property(_first_and_reason)),),
        shape=RESTORED,
    ),
    Planted(
        name="nobody moves up when a record exists",
        history="A restored job item: the run in front exists and is over, those behind it are queued.",
        damages=((plan_writer, "closed_up", _as_it_is),),
        shape=RESTORED,
    ),
    Planted(
        name="skips leave no gap",
        history="Ten minutes without a tick, and a job that runs the newest time only.",
        damages=((planning, "_window", _without_gaps),),
    ),
    Planted(
        name="the window begins with the minute",
        history="One tick is lost: its minute is never planned.",
        damages=((planning, "looked_at", _from_the_minute),),
    ),
    Planted(
        name="the lease is given back by whoever wants to",
        history="A slow tick ends when another one has the lease already.",
        damages=((MemoryLeaseStore, "release", _given_back_by_anybody),),
    ),
    Planted(
        name="the lease is taken whether it is free or not",
        history="The rule delivers its event twice, seconds apart.",
        damages=((planning_stores, "may_take", _always),),
    ),
    Planted(
        name="a worker's writes are not conditional on its claim",
        history="A worker stands still past its claim, another one takes over, the first finishes.",
        damages=((run_stores, "is_live", _running),),
        shape=STALLING,
    ),
    Planted(
        name="an end is written unconditionally",
        history="A worker that was declared lost ends the run that is somebody else's by now.",
        damages=((MemoryRunStore, "_guard_holds", _any_end),),
    ),
    Planted(
        name="others' writes are not conditional on what they judged",
        history="A sweep reads a PENDING run, a worker claims it, the sweep writes down whom it asked.",
        damages=((MemoryRunStore, "_is_seen", _always),),
    ),
    Planted(
        name="slots are not compared",
        history="Two runs of one job are claimed in the same instant: both take the last place.",
        damages=((MemoryRunStore, "_slots_are_as_read", _always),),
    ),
    Planted(
        name="`queued` is not compared",
        history="One finds nobody queued, another queues, the first frees the slot and wakes nobody.",
        damages=((MemoryRunStore, "_slots_are_as_read", _queue_not_compared),),
    ),
    Planted(
        name="a claim is trusted past its end",
        history="A worker that is cut off goes on while another one has its run.",
        damages=((held_claim, "TRUSTED_FOR", timedelta(minutes=10)),),
        shape=STALLING,
    ),
    Planted(
        name="a claim is taken before its end",
        history="The sweep takes a claim that its worker still trusts.",
        damages=((claim, "TAKE_OVER_AFTER", timedelta(seconds=-40)),),
    ),
    Planted(
        name="the index is taken for the truth",
        history="A run stands in the index by the end of its first claim; it was renewed since.",
        damages=((sweep, "is_expired", _always),),
    ),
    Planted(
        name="steps are read as they were half a minute ago",
        history="An attempt records a step and fails; the next one begins soon and does not see it.",
        damages=((MemoryStepStore, "load", _late_steps),),
        shape=FAILING,
    ),
    Planted(
        name="the guard tells whose write it was",
        history="A step's write comes when its run was declared lost: last_owner still names the worker.",
        damages=((MemoryStepStore, "record", _known_by_the_guard),),
        shape=STALLING,
    ),
    Planted(
        name="the owner is the request",
        history="One asynchronous event is delivered twice at once: both hold the same claim.",
        damages=((Functions, "_process", _owner_is_the_request),),
    ),
    Planted(
        name="the idempotency key has the attempt in it",
        history="A worker dies within a step: the next attempt does it again under another key.",
        damages=((run_handle.Run, "idempotency_key", _with_the_attempt),),
    ),
    Planted(
        name="finished steps are not looked up",
        history="Any second attempt.",
        damages=((StepLog, "finished", _never_late),),
    ),
    Planted(
        name="an at-most-once step has no start on record",
        history="The worker dies within it: the next attempt knows nothing and does it again.",
        damages=((run_handle, "at_most_once", _no_start),),
        shape=STALLING,
    ),
    Planted(
        name="attempts are not counted",
        history="A job that always fails.",
        damages=((moves, "attempt_failed", _attempts_unlimited),),
    ),
    Planted(
        name="a run does not know its own slot",
        history="A run with one place fails its first attempt: it finds itself in its way, for ever.",
        damages=((slots, "has_place", _own_slot_not_known),),
    ),
    Planted(
        name="a slot is not freed, and nobody looks at who holds it",
        history="The second run of a job with one place waits for ever.",
        damages=((slots, "left", _kept), (slot_holders, "_needs_it", _always)),
    ),
    Planted(
        name="a claim does not raise the token",
        history="Any two claims of one job.",
        damages=((slots, "taken", _same_token),),
    ),
    Planted(
        name="tokens begin at 1 again",
        history="Somebody deletes a job's item, and the next tick makes it anew.",
        damages=((reconciliation, "first_sight", _from_one),),
        shape=DELETED,
    ),
    Planted(
        name="the wake-up is outside the transaction",
        history="The worker dies between the end of its run and the wake-up of the next.",
        damages=((Ledger, "_end", _wake_up_apart),),
    ),
    Planted(
        name="who frees a slot wakes nobody",
        history="Two runs of a job with one place.",
        damages=((Ledger, "_with_slots", _not_woken),),
    ),
    Planted(
        name="the sweep goes through the stream",
        history="The stream's mapping is off: nothing is started.",
        damages=((sweep._Pass, "_dispatch", _by_the_stream),),
        shape=UNMAPPED,
    ),
    Planted(
        name="an alert closes when its job leaves the index",
        history="A job that runs once fails: nothing is to come, and nobody has seen to it.",
        damages=((AlertDesk, "_over", _out_of_the_index),),
    ),
    Planted(
        name="ends are marked as told before the alert is written",
        history="The write of the alert is refused or lost: the failure is told to nobody.",
        damages=((AlertDesk, "_write_decision", _recorded_before_written),),
        shape=UNHEARD,
    ),
    Planted(
        name="a backfilled run has a key of its own",
        history="Any backfill: the occurrence is on record twice, or nowhere.",
        damages=((backfilling, "filled", _under_its_own_key),),
        shape=OPERATING,
    ),
    Planted(
        name="a backfill is not conditional on absence",
        history="Two operators backfill one stretch, and the second one's runs overwrite the first one's.",
        damages=((MemoryRunStore, "_guard_holds", _whether_it_exists_or_not),),
        shape=OPERATING,
    ),
    Planted(
        name="a backfilled run takes its slot in no write",
        history="A backfill while others run: it is queued, and not counted.",
        damages=((backfilling, "filled", _pending_beside_the_slots),),
        shape=OPERATING,
    ),
    Planted(
        name="what a lost run had finished is done again",
        history="A record is lost, its job set back: the first slice of the new run looks nothing up.",
        damages=((step_log, "was_born_late", _never),),
        shape=LOST,
    ),
    Planted(
        name="a run is brought back without an attempt",
        history="A run that had all its attempts is retried.",
        damages=((operator_moves, "brought_back", _as_much_as_it_had),),
        shape=OPERATING,
    ),
    Planted(
        name="a cancelled run keeps its slot",
        history="A run that waits for its backoff is cancelled.",
        damages=((Ledger, "move", _whoever_holds_it),),
        shape=OPERATING,
    ),
    Planted(
        name="a request to stop is overtaken",
        history="A run is cancelled while its worker puts it to sleep.",
        damages=((RunChange, "met_stop", _never),),
        shape=OPERATING,
    ),
    Planted(
        name="a resumed job is not in the index",
        history="A job is paused, and resumed.",
        damages=((on_jobs, "resumed", _in_no_place),),
        shape=OPERATING,
    ),
    Planted(
        name="a rewind is not conditional on the job as read",
        history="A job is paused or planned between the read and the write of a rewind.",
        damages=((JobChange, "was_read", _always),),
        shape=OPERATING,
    ),
    Planted(
        name="a rewind plans again what is accounted for",
        history="A job is set back over times that have records.",
        damages=((rewinding, "_stretches", _nothing_settled),),
        shape=LOST,
    ),
    Planted(
        name="an input is written before the condition of its run",
        history="A trigger with a long input meets another transaction.",
        damages=((MemoryRunStore, "apply", _before_the_condition),),
        shape=HURRIED,
    ),
    Planted(
        name="a manual run is known by its first state only",
        history="The reply to a trigger is lost, and the run is claimed before it is sent again.",
        damages=((RunChange, "wrote", _only_as_it_was),),
        shape=HURRIED,
    ),
    Planted(
        name="redo is not refused while a worker may be at it",
        history="A worker is in the middle of an at-most-once step when its claim is lost.",
        damages=((resolution, "REDO_AFTER", timedelta(days=-1)),),
        shape=STANDING,
    ),
    Planted(
        name="an act makes way for another one and is lost",
        history="A run is retried twice.",
        damages=((RunChange, "past_act", property(_forgotten)),),
        shape=OPERATING,
    ),
    Planted(
        name="late runs are not looked for",
        history="A run hangs behind others past its grace.",
        damages=((health, "overdue_run", _never_late),),
    ),
)
