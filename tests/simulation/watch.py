"""What must hold after every single transaction, whoever made it.

Looks at each write with its item before and after, and knows who wrote: runs and who may move them, slots and
queue, tokens, `planned_to`, the lease. What only an oracle of time can say is in `accounts` and `alarms`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from cronce.core.acts import What
from cronce.core.claim import CLAIM_TTL, TAKE_OVER_AFTER
from cronce.core.jobstate import JobState
from cronce.core.lease import BELIEF_MARGIN, CLOCK_SKEW, LEASE_TTL
from cronce.core.records import RunRecord, RunRef, StepRecord, StepStatus
from cronce.core.run import RunStatus
from cronce.engine.run_handle import Run
from cronce.testing import LeaseItem, Marker, job_key
from cronce.testing.keys import Item, Key
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

Change = tuple[Key, Item | None, Item | None]
WAKE_TRIES = 3
"""After so many refused tries an end goes without its wake-up."""


class Watch:
    """Looks at every transaction.

    Args:
        world: that is watched.

    Attributes:
        unfinished: by job, the runs that are not final.
        claims: how many were seen.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.unfinished: defaultdict[str, dict[RunRef, RunRecord]] = defaultdict(dict)
        self.claims = 0
        self._queued: defaultdict[str, set[str]] = defaultdict(set)
        self._others: defaultdict[str, dict[str, RunRecord]] = defaultdict(dict)
        self._markers: defaultdict[str, set[str]] = defaultdict(set)
        # Of unfinished runs, by what follows the @ of their ids: strings are compared at no cost.
        self._tokens: defaultdict[str, int] = defaultdict(int)
        self._given: defaultdict[str, set[int]] = defaultdict(set)
        self._steps: dict[tuple[RunRef, str], StepRecord] = {}
        self._limits = {
            plan.name: [definition.policies["concurrency"] for definition in plan.definitions]
            for plan in world.scenario.jobs
        }

    def transaction(self, writer: Process | None, call: str, changes: list[Change]) -> None:
        """Judge what one call has written."""
        jobs: dict[str, None] = {}
        for (_, place), before, after in changes:
            item = after or before
            if isinstance(item, RunRecord):
                if call != "runs.set_aside":  # it moves the item's place in the index, by key alone
                    self._run(writer, before if isinstance(before, RunRecord) else None, item)
                jobs[item.ref.job] = None
            elif isinstance(item, JobState):
                self._job(writer, before if isinstance(before, JobState) else None, item)
                jobs[item.name] = None
            elif isinstance(item, Marker):
                markers = self._markers[item.ref.job]
                (markers.add if after else markers.discard)(place.removeprefix("QUEUE#"))
                jobs[item.ref.job] = None
            elif isinstance(item, StepRecord):
                self._step(writer, item)
            elif isinstance(item, LeaseItem):
                self._lease(writer, before, item)
        if call == "plans.commit":
            self._planner(writer)
        for job in jobs:
            self._slots(writer, job)

    def executes(self, process: Process, run: Run, name: str) -> None:
        """A worker begins the work of a step or of an item."""
        ref = RunRef.parse(run.id)
        stored = self.unfinished[ref.job].get(ref)
        done = self._steps.get((ref, name))
        if done is not None:
            by = f"recorded by {done.owner} at {done.at:%d %H:%M:%S}"
            self._world.violated("a finished step is not executed again", f"{run.id}: {name}, {by}", run.job)
        if stored is None or stored.owner != process.owner:
            now = f"{stored.status} of {stored.owner}" if stored else "over"
            text = f"{run.id}: {process.owner} does {name}, and the run is {now}"
            self._world.violated("only the claim's holder works", text, run.job)

    # --- runs ---------------------------------------------------------------------------------------------

    def _run(self, writer: Process | None, before: RunRecord | None, after: RunRecord) -> None:
        job = after.ref.job
        self._sort(after)
        if writer is None:
            return
        if before is None:
            return
        if after.rev != before.rev + 1:
            self._world.violated("a record is born once", f"{after.ref.id} is overwritten", job)
        over = before.status.is_final and after.status.is_final  # who brings runs back: see `authority`
        if over and (after.status, after.ended_at) != (before.status, before.ended_at):
            text = f"{after.ref.id}: {before.status} becomes {after.status}"
            self._world.violated("an end is final", text, job)
        if before.status is RunStatus.RUNNING:
            self._left(writer, before, after)
        elif after.status is RunStatus.RUNNING:
            self._claimed(before, after)

    def _sort(self, run: RunRecord) -> None:
        """Keep it where it belongs."""
        job, place = run.ref.job, run.ref.key
        self._queued[job].discard(place)
        self._others[job].pop(place, None)
        if run.status.is_final:
            self.unfinished[job].pop(run.ref, None)
            return
        self.unfinished[job][run.ref] = run
        if run.is_queued:
            self._queued[job].add(place)
        else:
            self._others[job][place] = run

    def _claimed(self, before: RunRecord, after: RunRecord) -> None:
        job = after.ref.job
        self.claims += 1
        if after.attempt > after.max_attempts:
            self._world.violated("attempts are limited", f"{after.ref.id}: {after.attempt}", job)
        if before.status is not RunStatus.PENDING:
            self._world.violated("only a PENDING run is claimed", f"{after.ref.id}: {before.status}", job)
        # Without slots, tokens are drawn before the claim is written.
        in_order = None not in self._limits[job]
        if after.fencing_token <= (self._tokens[job] if in_order else before.fencing_token):
            text = f"{after.ref.id}: {after.fencing_token} after {self._tokens[job]}"
            self._world.violated("tokens strictly increase", text, job)
        if after.fencing_token in self._given[job]:
            text = f"{after.ref.id}: {after.fencing_token} again"
            self._world.violated("no token is given twice", text, job)
        self._given[job].add(after.fencing_token)
        self._tokens[job] = max(self._tokens[job], after.fencing_token)
        running = [run for run in self._others[job].values() if run.status is RunStatus.RUNNING]
        most = self._most(job)
        if most is not None and len(running) > most:
            text = f"{len(running)} of {most}: {', '.join(run.ref.key for run in running)}"
            self._world.violated("concurrency is never exceeded", text, job)

    def _left(self, writer: Process, before: RunRecord, after: RunRecord) -> None:
        """A RUNNING run was written: by its worker, or by somebody who may take it."""
        world, job = self._world, after.ref.job
        if after.status is RunStatus.RUNNING:
            if after.owner != before.owner or after.fencing_token != before.fencing_token:
                text = f"{after.ref.id}: {before.owner} -> {after.owner}"
                world.violated("never two live claims", text, job)
            return
        if writer.owner == before.owner:
            if (
                after.status is RunStatus.SUCCEEDED
                and world.outside.returned.get(after.ref.id) != writer.owner
            ):
                text = f"{after.ref.id}: its function did not come to its end under {writer.owner}"
                world.violated("SUCCEEDED means that the function returned", text, job)
            return
        now, until = world.hub.now, before.claim_until
        expired = until is None or now >= until + TAKE_OVER_AFTER - CLOCK_SKEW
        incredible = until is not None and until > now + CLAIM_TTL + BELIEF_MARGIN - CLOCK_SKEW
        if not (expired or incredible):
            text = f"{after.ref.id}: {writer.name} writes {after.status}, {before.owner} has it until {until}"
            world.violated("a live claim is not taken", text, job)

    def _step(self, writer: Process | None, step: StepRecord) -> None:
        names = [step.name] if step.chunk is None else [f"{step.name}/{key}" for key in step.keys]
        for name in names:
            if step.status is not StepStatus.DONE:
                continue
            first = self._steps.setdefault((step.ref, name), step)
            if first is not step and first != step:
                text = f"{step.ref.id}: {name} by {first.owner}, and by {step.owner}"
                self._world.violated("a step is recorded once", text, step.ref.job)
        stored = self.unfinished[step.ref.job].get(step.ref)
        by_hand = writer is None or writer.command is not None
        if not by_hand and (stored is None or stored.owner != step.owner):
            text = f"{step.ref.id}: {step.name} by {step.owner}"
            self._world.violated("only the claim's holder records", text, step.ref.job)

    # --- jobs ---------------------------------------------------------------------------------------------

    def _job(self, writer: Process | None, before: JobState | None, after: JobState) -> None:
        if before is None:
            return
        same = before.schedule_hash == after.schedule_hash
        asked = writer is not None and writer.command is not None and writer.command.what is What.REWIND
        if same and after.planned_to < before.planned_to and writer is not None and not asked:
            text = f"{before.planned_to} -> {after.planned_to}"
            self._world.violated("planned_to never moves back", text, after.name)
        self._tokens[after.name] = max(self._tokens[after.name], before.slots.fencing_token)

    def keeps_slot(self, ref: RunRef) -> bool:
        """Whether a run holds a slot of its job, if it has any and nobody deleted them."""
        state = self._world.item(job_key(ref.job))
        known = isinstance(state, JobState) and None not in self._limits[ref.job]
        deleted = self._world.item_was_deleted(ref.job)
        return known and not deleted and isinstance(state, JobState) and ref.id in state.slots.held

    def _most(self, job: str) -> int | None:
        """The largest limit that any version of the job has; None if one has none."""
        limits = self._limits[job]
        return None if None in limits else max(limits)

    def _slots(self, writer: Process | None, job: str) -> None:
        state = self._world.item(job_key(job))
        if not isinstance(state, JobState) or None in self._limits[job] or writer is None:
            return
        queued, held = self._queued[job], state.slots.held
        deleted = self._world.item_was_deleted(job)
        if queued != self._markers[job]:
            text = ", ".join(sorted(queued ^ self._markers[job]))
            self._world.violated("markers are the queued runs", text, job)
        if state.slots.queued < len(queued) and not deleted:
            text = f"queued is {state.slots.queued}, and {len(queued)} wait"
            self._world.violated("`queued` counts the queue", text, job)
        for place, run in self._others[job].items():
            if run.status is RunStatus.RUNNING and f"{job}@{place}" not in held and not deleted:
                self._world.violated("who runs holds a slot", f"{run.ref.id}: {sorted(held)}", job)
        self._queue_moves(writer, job, state)

    def _queue_moves(self, writer: Process, job: str, state: JobState) -> None:
        """Nobody waits while there is a place that nobody is about to take."""
        queued, held = self._queued[job], state.slots.held
        limit = min(limit for limit in self._limits[job] if limit is not None)
        coming = sum(f"{job}@{place}" not in held for place in self._others[job]) if queued else 0
        stuck = bool(queued) and len(held) + coming < limit
        if not stuck:
            self._world.waits_since.pop(job, None)
        elif job not in self._world.waits_since:
            self._world.waits_since[job] = self._world.hub.now
            excused = writer.refusals >= WAKE_TRIES or self._world.item_was_deleted(job) or self._differs(job)
            if not excused:
                text = (
                    f"{len(queued)} wait, held {sorted(held)}, limit {limit}, after a write of {writer.name}"
                )
                self._world.violated("who frees a slot wakes the next", text, job)

    def _differs(self, job: str) -> bool:
        """Whether versions of the job have different limits: an older one may see no place."""
        return len(set(self._limits[job])) > 1 or self._world.code_is_missing(job)

    # --- the lease ----------------------------------------------------------------------------------------

    def _lease(self, writer: Process | None, before: Item | None, after: LeaseItem) -> None:
        if not isinstance(before, LeaseItem):
            return
        if after.fencing_token < before.fencing_token:
            self._world.violated("tokens strictly increase", f"the lease: {after.fencing_token}")
        if writer is not None and before.owner not in (None, after.owner):
            self._leaves(writer, before, after)
        taken = after.owner is not None and after.owner != before.owner
        if taken and after.fencing_token == before.fencing_token:
            self._world.violated("each lease has its token", f"{before.owner} -> {after.owner}")

    def _leaves(self, writer: Process, before: LeaseItem, after: LeaseItem) -> None:
        """Its holder gives it back; others take it when it is over, or cannot be believed.

        When the taker read its clock, the lease tells. One whose reading is ahead gives the lease back at
        once. One whose reading is old by nearly as much as a lease is believed may take it from its holder.
        """
        now, until = self._world.hub.now, before.lease_until
        if after.owner is None:
            if writer.owner != before.owner:
                text = f"{writer.name}, not {before.owner}"
                self._world.violated("only its holder gives the lease back", text)
            return
        age = now - (after.lease_until - LEASE_TTL)
        sound = until <= now + LEASE_TTL + CLOCK_SKEW  # the clock that wrote it was right
        oldest = BELIEF_MARGIN - CLOCK_SKEW if sound else CLOCK_SKEW
        lives = now + CLOCK_SKEW < until <= now + LEASE_TTL + BELIEF_MARGIN
        if lives and -CLOCK_SKEW <= age <= oldest:
            text = f"{writer.name}, {age} after it read its clock: {before.owner} until {until}"
            self._world.violated("a live lease is not taken", text)

    def _planner(self, writer: Process | None) -> None:
        lease = self._world.item(("SCHEDULER", "LEASE"))
        if writer is not None and isinstance(lease, LeaseItem) and lease.owner != writer.owner:
            text = f"{writer.name} plans, and the lease is of {lease.owner}"
            self._world.violated("only the lease's holder plans", text)
