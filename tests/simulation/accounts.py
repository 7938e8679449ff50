"""The ledger against the oracle: every time of every job stands in it exactly once.

Asked at each write that moves a job's `planned_to`, about the stretch that it covers, and once more about
everything at the end. Which schedule was in force for a stretch is read from the job's item; when it is due
by that schedule, the oracle says.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cronce.core.job import CatchUp
from cronce.core.jobstate import Gap, GapReason, JobState
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Reason, RunStatus, Trigger
from cronce.core.schedule import At
from cronce.testing import job_key, run_key
from cronce.testing.keys import Item, Key
from tests.simulation.oracle import Oracle
from tests.simulation.scenario import DAY, MINUTE, Happening, JobPlan, Part
from tests.simulation.script import CALM_WORK

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

PLANNED_WITHIN = 4 * MINUTE
"""In quiet times a tick a minute plans everything; one of them may be lost."""
FINISHED_WITHIN = timedelta(minutes=50)
"""In quiet times: the last look of the sweep is 30 minutes after the one before, the queue's fallback is 10,
a lost claim 2, and the processes of bad times live on for some minutes."""
A_START = timedelta(seconds=30)
"""In quiet times: from PENDING to claimed, by the stream."""
A_START_BY_THE_SWEEP = timedelta(seconds=200)
"""Likewise without the stream: it looks after two minutes, and a tick comes up to 80 seconds later."""
A_TICK = timedelta(seconds=80)
"""From one minute to the end of the next one's tick."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A schedule in force."""

    start: datetime
    end: datetime
    spec: tuple[tuple[str, str], ...]


class Accounts:
    """Compares the ledger with the oracle.

    Args:
        world: whose.

    Attributes:
        oracle: knows when jobs are due.
        runs: how many scheduled times became runs.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.oracle = Oracle(world.scenario.start)
        self._plans: dict[str, JobPlan] = {plan.name: plan for plan in world.scenario.jobs}
        self._stretches: defaultdict[str, list[Stretch]] = defaultdict(list)
        self._gaps: defaultdict[str, list[tuple[datetime, datetime, Gap]]] = defaultdict(list)
        self._paused: set[str] = set()
        self._set_back_at: dict[str, datetime] = {}
        self._lost: defaultdict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
        self._formerly: defaultdict[str, set[datetime]] = defaultdict(set)
        self.runs = 0

    def transaction(
        self, writer: Process | None, changes: Sequence[tuple[Key, Item | None, Item | None]]
    ) -> None:
        """Judge what one call has written."""
        moved: list[tuple[JobState | None, JobState]] = []
        born: dict[str, datetime] = {}
        for _, before, after in changes:
            if isinstance(before, Gap | RunRecord) and after is None:
                self._deleted(before, by_hand=writer is None)
            elif isinstance(after, Gap) and before is None:
                born[after.job] = max(born.get(after.job, after.last), after.last)
                insort(self._gaps[after.job], (after.first, after.last, after), key=lambda entry: entry[:2])
            elif isinstance(after, JobState) and (before is None or isinstance(before, JobState)):
                moved.append((before, after))
                if after.paused is not None:
                    self._paused.add(after.name)
            elif isinstance(after, RunRecord) and before is None and not after.ref.suffix:
                self.runs += 1
                at = after.ref.scheduled_at
                born[after.ref.job] = max(born.get(after.ref.job, at), at)
        for former, state in moved:
            if former is not None:
                self._moved(writer, former, state, born.get(state.name))

    def _moved(
        self, writer: Process | None, former: JobState, state: JobState, born: datetime | None
    ) -> None:
        if state.planned_to < former.planned_to and writer is not None and writer.command is not None:
            self._set_back(former.name, state.planned_to)
        end = state.planned_to
        if former.schedule_hash != state.schedule_hash and born is not None:
            # An `At` begins at its instant, wherever the schedule before it has come to.
            end = max(end, born)
        self._covered(former, end)

    def _deleted(self, item: Gap | RunRecord, *, by_hand: bool) -> None:
        """What is lost is nowhere until the job is set back, or its time is backfilled."""
        if isinstance(item, Gap):
            self._gaps[item.job] = [entry for entry in self._gaps[item.job] if entry[2].key != item.key]
            if by_hand:
                self._lost[item.job].append((item.first, item.last))
        elif by_hand:
            self._lost[item.ref.job].append((item.ref.scheduled_at, item.ref.scheduled_at))

    def _set_back(self, job: str, to: datetime) -> None:
        """An operator set the job back: what was due since then is judged once more, also if it was lost."""
        self._set_back_at[job] = self._world.hub.now
        stretches, self._stretches[job] = self._stretches[job], []
        for one in stretches:
            if one.end > to:
                self._formerly[job].update(self.oracle.between(dict(one.spec), max(one.start, to), one.end))
            if one.start < to:
                self._stretches[job].append(replace(one, end=min(one.end, to)))
        self._lost[job] = [(first, min(last, to)) for first, last in self._lost[job] if first <= to]

    def _covered(self, before: JobState, end: datetime) -> None:
        """All that was due in the stretch must be in the ledger by now."""
        if end <= before.planned_to:
            return
        stretch = Stretch(before.planned_to, end, tuple(sorted(before.schedule.items())))
        self._stretches[before.name].append(stretch)
        for at in self.oracle.between(before.schedule, stretch.start, stretch.end):
            if not self.accounts_for(before.name, at):
                text = f"{at:%Y-%m-%d %H:%M} is nowhere, planned_to {stretch.start} -> {stretch.end}"
                self._world.violated("every time stands in the ledger", text, before.name)
                return

    def _is_on_record(self, job: str, at: datetime) -> bool:
        return self._world.item(run_key(RunRef(job, at))) is not None or self.gap_at(job, at)

    def accounts_for(self, job: str, at: datetime) -> bool:
        """Whether a time stands in the ledger, or did before somebody's hand lost it."""
        return self._is_on_record(job, at) or self._is_lost(job, at)

    def _is_lost(self, job: str, at: datetime) -> bool:
        return any(first <= at <= last for first, last in self._lost[job])

    def gaps_of(self, job: str) -> list[Gap]:
        """The gaps of a job, oldest first."""
        return [gap for _, _, gap in self._gaps[job]]

    def comes_back(self, job: str) -> bool:
        """Whether one version of the job is an `At`: deployed again, it begins at its instant again."""
        schedules = [definition.schedule for definition in self._plans[job].definitions]
        return schedules[0] != schedules[1] and any(isinstance(schedule, At) for schedule in schedules)

    def gap_at(self, job: str, at: datetime) -> bool:
        """Whether a time lies in a gap."""
        gaps = self._gaps[job]
        place = bisect_right(gaps, at, key=lambda entry: entry[0])
        return any(last >= at for _, last, _ in reversed(gaps[:place]))

    # --- at the end ---------------------------------------------------------------------------------------

    def settle(self) -> None:
        """The history is over: everything must be accounted for, ended, and with reason."""
        for name, plan in self._plans.items():
            state = self._world.item(job_key(name))
            if not isinstance(state, JobState):
                self._missing_item(plan)
                continue
            self._everything_once(state)
            self._planned_in_time(plan, state)
        for job, runs in self._world.watch.unfinished.items():
            for run in runs.values():
                self._unfinished(job, run)
        for item in self._world.store.table.items().values():
            if isinstance(item, RunRecord) and item.status is RunStatus.SKIPPED:
                self._reason(self._plans[item.ref.job], item.ref.scheduled_at, str(item.reason))
            elif isinstance(item, RunRecord):
                self._end(self._plans[item.ref.job], item)
            elif isinstance(item, Gap):
                self._reason(self._plans[item.job], item.first, item.reason.value)

    def _missing_item(self, plan: JobPlan) -> None:
        gone = any(
            incident.what is Happening.GONE and incident.job == plan.name
            for incident in self._world.scenario.incidents
        )
        if not gone:
            self._world.violated("every deployed job has its item", plan.name, plan.name)

    def _everything_once(self, state: JobState) -> None:
        """Each time once, and nothing that is no time of the schedule.

        What is planned again, because its item was set back or an `At` comes back, is on record already, in
        gaps of another extent: each time is there, and nothing is said of how often.
        """
        job = state.name
        due: Counter[datetime] = Counter()
        for stretch in self._stretches[job]:
            due.update(self.oracle.between(dict(stretch.spec), stretch.start, stretch.end))
        for at in sorted(due):
            if not self.accounts_for(job, at):
                text = f"{at:%Y-%m-%d %H:%M}Z is nowhere at the end"
                self._world.violated("every time stands in the ledger", text, job)
                return
        if not (job in self._world.incidents.restored or self.comes_back(job)):
            self._nothing_twice(job, due)

    def _nothing_twice(self, job: str, due: Counter[datetime]) -> None:
        """Neither in two records, nor counted without being due.

        By a command there are more: a backfilled run in a gap outranks it, and one of a time that was never
        due, for the job was not there or had another schedule, is on record without being asked for here.
        """
        ledger: Counter[datetime] = Counter()
        known, filled, recorded = due.keys() | self._formerly[job], set(), set()
        for item in self._world.store.table.partition(f"JOB#{job}"):
            if isinstance(item, RunRecord) and not item.ref.suffix:
                at = item.ref.scheduled_at
                ledger[at] += item.trigger is Trigger.SCHEDULE or at in known
                recorded.add(at)
                if item.trigger is Trigger.BACKFILL:
                    filled.add(at)
        for first, last, gap in self._gaps[job]:
            fresh = gap.created_at > self._set_back_at.get(job, self._world.scenario.start - DAY)
            # What an older one holds, another schedule may have named.
            inside = [at for at in (due if fresh else known) if first <= at <= last]
            if len(inside) != gap.count and fresh:
                text = f"{first} - {last}: {gap.count} {gap.reason}, and {len(inside)} were due"
                self._world.violated("a gap counts what was due", text, job)
            outranks = filled if fresh else recorded
            ledger.update(at for at in inside if at not in outranks)
        for at in sorted(known | ledger.keys()):
            wanted = due[at]
            if at in self._formerly[job] - due.keys() or self._is_lost(job, at):
                wanted = min(ledger[at], 1)  # by a schedule that is not in force any more; or it is lost
            if wanted != ledger[at] and due[at] <= 1:
                text = f"{at:%Y-%m-%d %H:%M}Z: due {due[at]} times, in the ledger {ledger[at]} times"
                self._world.violated("every time stands in the ledger once", text, job)
                return

    def _planned_in_time(self, plan: JobPlan, state: JobState) -> None:
        if state.removed_at is not None or state.paused is not None:
            return
        end = self._world.scenario.end - PLANNED_WITHIN
        left = self.oracle.between(state.schedule, state.planned_to, end)
        if left:
            text = f"{left[0]:%Y-%m-%d %H:%M}Z is not planned at the end ({len(left)} times)"
            self._world.violated("everything due is planned", text, plan.name)

    def _unfinished(self, job: str, run: RunRecord) -> None:
        since = max(run.created_at, self._world.authority.brought_back.get(run.ref, run.created_at))
        if since >= self._world.scenario.end - FINISHED_WITHIN or self._takes_turns(run):
            return
        state = f"{run.status} {run.reason or ''} due {run.due_at}"
        text = f"{run.ref.id} of {run.created_at:%d %H:%M} is {state}"
        self._world.violated("nothing stays unfinished", text, job)

    def _takes_turns(self, run: RunRecord) -> bool:
        """Whether a run waits because others are before it, and its job's line moves as fast as it can.

        A line may be long: ten that are on time, and without limit those that are late, which all are if
        only the sweep starts them.
        """
        plan, end = self._plans[run.ref.job], self._world.scenario.end
        has_line = any(definition.policies["concurrency"] is not None for definition in plan.definitions)
        in_index = run.due_at is not None and run.due_at > end - PLANNED_WITHIN
        looked_at = run.is_queued or in_index
        if run.is_queued and self._world.item_was_deleted(plan.name):
            return (
                in_index  # how many wait was forgotten with it: each is looked at, and the first is started
            )
        turn = self._turn(plan)
        runs = self._world.store.table.partition(f"JOB#{plan.name}")
        ended = [other.ended_at for other in runs if isinstance(other, RunRecord) and _had_a_turn(other)]
        turns = [at for at in ended if at is not None and at >= end - FINISHED_WITHIN]
        moves = len(turns) >= FINISHED_WITHIN // turn - 1 and max(turns, default=end - DAY) >= end - turn
        return has_line and looked_at and moves

    def _turn(self, plan: JobPlan) -> timedelta:
        """How long a run holds its slot in quiet times, at most: its steps are quick then, its sleeps not."""
        start = A_START_BY_THE_SWEEP if self._is_without_mapping() else A_START
        turn = start
        for piece in plan.pieces:
            if piece.part is Part.SLEEP:
                turn += timedelta(seconds=30 + piece.seconds) + A_TICK + start
            else:
                turn += CALM_WORK * max(piece.items, 1)
        return turn

    def _is_without_mapping(self) -> bool:
        scenario = self._world.scenario
        off = (one for one in scenario.incidents if one.what is Happening.MAPPING_OFF)
        return any(one.end >= scenario.end for one in off)

    def _reason(self, plan: JobPlan, at: datetime, reason: str) -> None:
        """A time that was not run: is that what some version of the job asked for?"""
        policies = [definition.policies for definition in plan.definitions]
        catch_up = {CatchUp(policy["catch_up"]) for policy in policies}
        bounded = any(policy["max_lateness"] is not None for policy in policies) or CatchUp.ALL in catch_up
        at_once = any(definition.schedule.spec()["kind"] == "at" for definition in plan.definitions)
        incidents = {one.what for one in self._world.scenario.incidents if one.job == plan.name}
        allowed = {
            Reason.EXCLUDED: any(policy["exclude"] for policy in policies),
            Reason.OVERLAP: any(policy["concurrency"] is not None for policy in policies),
            Reason.LATE: bounded or at_once or CatchUp.SKIP in catch_up,
            Reason.SUPERSEDED: CatchUp.LATEST in catch_up,
            GapReason.CATCH_UP_LIMIT: CatchUp.ALL in catch_up,
            GapReason.PAUSED: plan.name in self._paused,
            GapReason.REMOVED: Happening.GONE in incidents,
        }
        if not allowed.get(reason, False):  # type: ignore[call-overload]  # both are texts
            text = f"{at:%Y-%m-%d %H:%M}Z is {reason}"
            self._world.violated("what is skipped is skipped by the job's policy", text, plan.name)

    def _end(self, plan: JobPlan, run: RunRecord) -> None:
        schedule = plan.definitions[0].schedule
        days = [definition.policies["exclude"] for definition in plan.definitions]
        local = schedule.local(run.ref.scheduled_at).date()
        same = plan.definitions[0].schedule == plan.definitions[1].schedule
        by_hand = run.trigger is Trigger.MANUAL or run.touched
        if same and not by_hand and all(local in excluded for excluded in days):
            self._world.violated("an excluded date does not run", run.ref.id, plan.name)
        if run.status is RunStatus.SUCCEEDED and run.ref.id not in self._world.outside.returned:
            self._world.violated("SUCCEEDED means that the function returned", run.ref.id, plan.name)


def _had_a_turn(run: RunRecord) -> bool:
    """Whether a run was claimed, or was found to be too late when it would have been."""
    too_late = run.reason in (Reason.LATE, Reason.SUPERSEDED) and run.ended_at != run.created_at
    return run.started_at is not None or too_late
