"""What operators' commands may change, and what nobody but they may.

Looks at each write beside `watch`: a run is born, brought back, cancelled or settled by hand, a job paused,
resumed or set back, an alert closed by hand, only by the very command that asks for it; and a command changes
nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from cronce.core.acts import Act, PastAct, What, displaced
from cronce.core.alerting import ACKNOWLEDGED
from cronce.core.alerts import Alert
from cronce.core.jobstate import Gap, JobState
from cronce.core.lease import CLOCK_SKEW
from cronce.core.records import RunRecord, RunRef, Slots, StepRecord, StepStatus
from cronce.core.run import RunStatus, Trigger
from cronce.core.run_input import RunInput
from cronce.testing import job_key
from cronce.testing.keys import Item, Key
from tests.simulation.process import Process
from tests.simulation.scenario import SECOND

if TYPE_CHECKING:
    from tests.simulation.operators import Command
    from tests.simulation.world import World

Changes = Sequence[tuple[Key, Item | None, Item | None]]
FREED_TRIES = 5
"""After so many refused tries an end goes without its slot."""
_BIRTHS = {Trigger.MANUAL: What.TRIGGER, Trigger.BACKFILL: What.BACKFILL}
_BRINGS_BACK = frozenset({What.RETRY, What.RESOLVE})
_ON_JOBS = frozenset({What.PAUSE, What.RESUME, What.REWIND})


class Authority:
    """Judges what operators' commands have changed.

    Args:
        world: where.

    Attributes:
        brought_back: runs that an operator brought back, and when.
        acknowledged: jobs whose alert an operator closed, and when.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._asked_to_stop: set[RunRef] = set()
        self.brought_back: dict[RunRef, datetime] = {}
        self.acknowledged: dict[str, datetime] = {}

    def transaction(self, writer: Process | None, call: str, changes: Changes) -> None:
        """Judge what one call has written; a hand's edits are nobody's to judge."""
        if writer is None or call == "runs.set_aside":
            return
        past = {(item.of, item.act) for _, _, item in changes if isinstance(item, PastAct)}
        inputs = {item.ref: item.text for _, _, item in changes if isinstance(item, RunInput)}
        steps = [(before, after) for _, before, after in changes if isinstance(after, StepRecord)]
        for _, before, after in changes:
            if isinstance(after, RunRecord):
                self._run(writer, call, before if isinstance(before, RunRecord) else None, after)
                self._signed(writer, after.ref.id, getattr(before, "act", None), after.act, past)
                if before is None and self._input(writer, after, inputs.pop(after.ref, None)):
                    self._violated("an input is kept with its run", after.ref.id, after.ref.job)
            elif isinstance(after, JobState) and isinstance(before, JobState):
                self._job(writer, before, after)
                self._signed(writer, f"JOB#{after.name}", before.act, after.act, past)
            elif isinstance(after, Alert):
                self._alert(writer, before if isinstance(before, Alert) else None, after)
            elif isinstance(before, Gap | RunRecord) and after is None:
                self._deleted(writer, before)
        for ref in inputs:
            self._violated("an input is kept with its run", f"{ref.id}: the input alone", ref.job)
        for before, after in steps:
            self._step(writer, before, after, changes)
        self._slots(writer, changes)

    def _violated(self, invariant: str, text: str, job: str) -> None:
        self._world.violated(invariant, text, job)

    def _asks(self, writer: Process, what: What, job: str, ref: RunRef | None = None) -> bool:
        """Whether the writer is an operator who was asked for just that."""
        command = writer.command
        return command is not None and (command.what, command.job, command.ref) == (what, job, ref)

    # --- who did it ---------------------------------------------------------------------------------------

    def _signed(
        self, writer: Process, of: str, before: Act | None, after: Act | None, past: set[tuple[str, Act]]
    ) -> None:
        """What an operator changes is signed, nobody else signs, and no signature is lost."""
        job = of.removeprefix("JOB#").partition("@")[0]
        if after == before:
            return
        if after is None or writer.command is None or writer.command.what is not after.what:
            text = f"{of}: {after and after.what} by {writer.name}"
            self._violated("only operators sign", text, job)
            return
        writer.wrote = True
        lost = displaced(of, before, after)
        if lost is not None and (of, lost.act) not in past:
            self._violated("no act is lost", f"{of}: {lost.act.what} of {lost.act.at}", job)

    # --- runs ---------------------------------------------------------------------------------------------

    def _run(self, writer: Process, call: str, before: RunRecord | None, after: RunRecord) -> None:
        if before is None:
            self._born(writer, call, after)
            return
        job = after.ref.job
        if before.status.is_final and not after.status.is_final:
            asked = any(self._asks(writer, what, job, after.ref) for what in _BRINGS_BACK)
            if not asked or before.status is RunStatus.SUCCEEDED:
                text = f"{after.ref.id}: {before.status} becomes {after.status} by {writer.name}"
                self._violated("only an operator brings a run back", text, job)
            self.brought_back[after.ref] = self._world.hub.now
        asked_for = before.touched or before.trigger is not Trigger.SCHEDULE
        if asked_for and after.status is RunStatus.SKIPPED and before.status is not RunStatus.SKIPPED:
            text = f"{after.ref.id}: {after.reason} by {writer.name}"
            self._violated("what a person asked for is not skipped", text, job)
        self._cancel(writer, before, after)

    def _born(self, writer: Process, call: str, run: RunRecord) -> None:
        what, ref = _BIRTHS.get(run.trigger), run.ref
        by_plan = what is None and call == "plans.commit" and not ref.suffix
        asked = what is not None and self._asks(writer, what, ref.job)
        if not (by_plan or asked):
            text = f"{ref.id}: {run.trigger} by {writer.name}"
            self._violated("runs are born of a plan or a command", text, ref.job)
        if run.trigger is Trigger.BACKFILL and writer.command is not None:
            self._filled(writer, writer.command, run)
        if run.trigger is Trigger.MANUAL:
            if writer.wrote:
                self._violated("one trigger, one run", f"{ref.id}: the second of {writer.name}", ref.job)
            self._world.operators.triggered(ref, writer.command)

    def _filled(self, writer: Process, command: Command, run: RunRecord) -> None:
        """A backfilled run is an occurrence that was asked for, and in no gap unless those were."""
        world, at, job = self._world, run.ref.scheduled_at, run.ref.job
        state = world.item(job_key(job))
        if command.since is None or command.until is None or not isinstance(state, JobState):
            return
        times = world.accounts.oracle.between(state.schedule, at - SECOND, at)
        if at not in times or run.ref.suffix or not command.since <= at <= command.until:
            text = f"{run.ref.id} by {writer.name}"
            self._violated("a backfill gives occurrences their runs", text, job)
        gaps = [gap for gap in world.accounts.gaps_of(job) if gap.first <= at <= gap.last]
        if not command.gaps and any(gap.created_at < writer.began - CLOCK_SKEW for gap in gaps):
            self._violated("gaps are left alone", f"{run.ref.id} by {writer.name}", job)

    def _input(self, writer: Process, run: RunRecord, beside: str | None) -> bool:
        """Whether what is stored is not what was given."""
        given = writer.command.text if writer.command and run.trigger is Trigger.MANUAL else None
        return (beside if run.input_kept else run.input) != given or (beside is not None) != run.input_kept

    def _cancel(self, writer: Process, before: RunRecord, after: RunRecord) -> None:
        job, ref = after.ref.job, after.ref
        asks = self._asks(writer, What.CANCEL, job, ref)
        if after.cancel_requested and not before.cancel_requested:
            self._asked_to_stop.add(ref)
            if not asks:
                self._violated("only an operator cancels", f"{ref.id}: asked by {writer.name}", job)
        cancelled = after.status is RunStatus.CANCELLED and before.status is not RunStatus.CANCELLED
        if cancelled and not (asks or ref in self._asked_to_stop):
            self._violated("only an operator cancels", f"{ref.id}: by {writer.name}", job)
        if before.cancel_requested and not before.status.is_final and after.status is not RunStatus.RUNNING:
            if not after.status.is_final:
                text = f"{ref.id}: {before.status} becomes {after.status} by {writer.name}"
                self._violated("who is asked to stop does not go on", text, job)
            self._asked_to_stop.discard(ref)
        if writer.command is not None and after.status is RunStatus.RUNNING and after.owner != before.owner:
            self._violated("an operator claims nothing", f"{ref.id}: {writer.name}", job)

    def _step(self, writer: Process, before: Item | None, after: StepRecord, changes: Changes) -> None:
        """By hand a step is settled together with its run, and said not to be done when nobody is at it."""
        if writer.command is None:
            return
        ref = after.ref
        started = isinstance(before, StepRecord) and before.status is StepStatus.STARTED
        with_run = any(isinstance(item, RunRecord) and item.ref == ref for _, _, item in changes)
        mine = self._asks(writer, What.RESOLVE, ref.job, ref) and writer.command.step == after.name
        if not (started and with_run and mine):
            text = f"{ref.id}: {after.name} by {writer.name}"
            self._violated("only what is uncertain is resolved", text, ref.job)
        at_it = any(
            isinstance(before, StepRecord) and process.owner == before.owner and not process.dead
            for process in self._world.alive
        )
        if after.status is StepStatus.NOT_DONE and at_it:
            text = f"{ref.id}: {after.name}, and its worker lives"
            self._violated("nobody redoes what is being done", text, ref.job)

    def _slots(self, writer: Process, changes: Changes) -> None:
        """An end frees its slot with it."""
        for _, before, after in changes:
            ended = isinstance(after, RunRecord) and after.status.is_final
            if not ended or (isinstance(before, RunRecord) and before.status.is_final):
                continue
            assert isinstance(after, RunRecord)
            if self._world.watch.keeps_slot(after.ref) and writer.refusals < FREED_TRIES:
                text = f"{after.ref.id}: {after.status} by {writer.name}"
                self._violated("an end frees its slot", text, after.ref.job)

    # --- jobs and alerts ----------------------------------------------------------------------------------

    def _job(self, writer: Process, before: JobState, after: JobState) -> None:
        job, command = after.name, writer.command
        if before.paused != after.paused:
            what = What.PAUSE if after.paused else What.RESUME
            if command is None or not self._asks(writer, what, job):
                self._violated("only an operator pauses and resumes", f"{what} by {writer.name}", job)
                return
            if after.paused:
                self._world.operators.paused(command)
        if command is None:
            if before.paused is not None and after.planned_to != before.planned_to:
                self._violated("a paused job is not planned", f"by {writer.name}", job)
        elif command.what not in _ON_JOBS:
            if replace(before, slots=Slots()) != replace(after, slots=Slots()):
                self._violated("a command changes nothing else", f"{job}: by {writer.name}", job)
        elif command.what is What.REWIND and not self._is_set_back(writer, command, before, after):
            text = f"{job}: {before.planned_to} -> {after.planned_to} by {writer.name}"
            self._violated("a job is set back as far as was asked", text, job)
        elif before.slots != after.slots:
            self._violated("a command changes nothing else", f"slots of {job} by {writer.name}", job)

    def _is_set_back(self, writer: Process, command: Command, before: JobState, after: JobState) -> bool:
        asked = self._asks(writer, What.REWIND, after.name) and command.since is not None
        whole = command.since is not None and after.planned_to <= command.since < after.planned_to + SECOND
        plans = ("schedule_hash", "zone_data", "resumed_at", "removed_at", "paused")
        return asked and whole and all(getattr(before, name) == getattr(after, name) for name in plans)

    def _alert(self, writer: Process, before: Alert | None, after: Alert) -> None:
        closes = before is not None and before.is_open and not after.is_open
        by_hand = closes and after.closed_because == ACKNOWLEDGED
        if by_hand and not self._asks(writer, What.ACKNOWLEDGE, after.scope):
            self._violated("only an operator acknowledges", f"{after.scope} by {writer.name}", after.scope)
        if writer.command is not None:
            if not by_hand:
                self._violated("a command changes nothing else", f"alert of {after.scope}", after.scope)
            self.acknowledged[after.scope] = self._world.hub.now
            writer.wrote = True

    def _deleted(self, writer: Process, item: Gap | RunRecord) -> None:
        command = writer.command
        if isinstance(item, Gap) and command and command.gaps and self._asks(writer, What.REWIND, item.job):
            return
        what = item.ref.id if isinstance(item, RunRecord) else f"gap {item.key}"
        job = item.ref.job if isinstance(item, RunRecord) else item.job
        self._violated("the ledger forgets nothing", f"{what} by {writer.name}", job)
