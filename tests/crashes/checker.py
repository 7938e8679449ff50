"""What must hold in every life of a stack, whatever goes wrong in it: one checker for all crash tests.

`Watch` looks at the store after each call that was made:

* tokens of claims and of the lease only grow, and a claim never has the token of another one;
* so do those of jobs' own leases, and one that stands changes hands only when it is given back or over;
* a final run stays what it is;
* `queued`, the markers and the runs that wait for a slot agree;
* a run that was begun holds a slot until it is final, no other run holds one, and never more than there are;
* each time up to `planned_to` has exactly one ledger entry;
* a step is recorded by the worker that holds its run at that instant.

`Story` is what came of a life. With faults it must be that of the same life without: every run ended as it
should, every key took effect, every notice was published under one id.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cronce.core.acts import What
from cronce.core.alerts import SCHEDULER, Alert
from cronce.core.jobstate import Gap, JobState
from cronce.core.named_lease import NamedLease
from cronce.core.records import RunRecord, StepRecord
from cronce.core.run import Notice, RunStatus
from cronce.core.schedule import schedule_from_spec
from cronce.testing import LeaseItem, Marker
from cronce.testing.keys import Item
from tests.crashes.places import WRITES
from tests.crashes.stack import Stack

OF_RUNS = frozenset(WRITES) - {"lease.release", "registry.write", "steps.record", "alerts.put"}
"""Calls after which jobs, runs, gaps or markers may have changed."""


@dataclass
class Watch:
    """Looks at a stack after each write.

    Attributes:
        stack: the stack.
        wrong: what was wrong so far.
    """

    stack: Stack
    wrong: list[str] = field(default_factory=list)
    _ends: dict[str, tuple[object, ...]] = field(default_factory=dict)
    _brought_back: set[str] = field(default_factory=set)
    _tokens: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _claims: dict[str, tuple[str, int]] = field(default_factory=dict)
    _lease: tuple[int, str | None] = (0, None)
    _named: dict[str, NamedLease] = field(default_factory=dict)
    _steps: set[str] = field(default_factory=set)
    _seen: dict[str, list[Item]] = field(default_factory=dict)
    _jobs: dict[str, JobState] = field(default_factory=dict)
    _owed: dict[str, list[datetime]] = field(default_factory=lambda: defaultdict(list))

    def look(self, name: str) -> None:
        """After a call of that name."""
        if name == "steps.record":
            self._look_at_steps()
        if name not in OF_RUNS:
            return
        by_job: dict[str, list[Item]] = defaultdict(list)
        for (pk, _), item in self.stack.store.items().items():
            by_job[pk].append(item)
        self._look_at_lease([item for item in by_job[SCHEDULER] if isinstance(item, LeaseItem)])
        self._look_at_named_leases(self.stack.contents(NamedLease))
        for pk, items in by_job.items():
            if pk.startswith("JOB#") and self._seen.get(pk) != items:
                self._seen[pk] = items
                self._look_at_job(items)

    def begin(self) -> None:
        """From here on. What is planned and recorded by now is not looked at."""
        self._steps = {_named(step) for step in self.stack.contents(StepRecord)}
        self._jobs = {state.name: state for state in self.stack.contents(JobState)}

    def _say(self, problem: str) -> None:
        self.wrong.append(f"{self.stack.clock.now():%H:%M:%S} {problem}")

    def _look_at_steps(self) -> None:
        claims = {run.ref: (run.owner, run.fencing_token) for run in self.stack.runs() if run.owner}
        for step in self.stack.contents(StepRecord):
            key = _named(step)
            if step.owner.startswith("operator "):
                continue  # who resolved it
            if key not in self._steps and claims.get(step.ref) != (step.owner, step.fencing_token):
                self._say(f"{key} was recorded by {step.owner}, who does not hold the run")
            self._steps.add(key)

    def _look_at_job(self, items: list[Item]) -> None:
        runs = [item for item in items if isinstance(item, RunRecord)]
        markers = sum(isinstance(item, Marker) for item in items)
        self._look_at_runs(runs)
        for state in (item for item in items if isinstance(item, JobState)):
            self._look_at_slots(state, runs, markers)
            self._look_at_ledger(state, runs, [item for item in items if isinstance(item, Gap)])

    def _look_at_lease(self, leases: list[LeaseItem]) -> None:
        for lease in leases:
            token, owner = self._lease
            taken = lease.owner not in {None, owner}
            if lease.fencing_token < token or (taken and lease.fencing_token == token):
                self._say(f"lease: token {lease.fencing_token} of {lease.owner} after {token} of {owner}")
            self._lease = lease.fencing_token, lease.owner

    def _look_at_named_leases(self, leases: list[NamedLease]) -> None:
        for lease in leases:
            before = self._named.get(lease.name, lease)
            if lease.owner not in {None, before.owner}:
                if lease.fencing_token <= before.fencing_token:
                    self._say(f"lease {lease.name}: token {lease.fencing_token} after {before.fencing_token}")
                if before.owner is not None and self.stack.clock.now() < before.until:
                    self._say(f"lease {lease.name}: {lease.owner} took it from {before.owner} before its end")
            self._named[lease.name] = lease

    def _look_at_runs(self, runs: list[RunRecord]) -> None:
        for run in runs:
            end = run.status, run.reason, run.ended_at
            if run.touched and run.ref.id not in self._brought_back:
                self._brought_back.add(run.ref.id)  # by an operator: the one way back
                self._ends.pop(run.ref.id, None)
            if self._ends.get(run.ref.id, end) != end:
                self._say(f"{run.ref.id} was final: {self._ends[run.ref.id]}, and is {end}")
            if run.status.is_final:
                self._ends[run.ref.id] = end
            if run.status is RunStatus.RUNNING:
                self._look_at_claim(run)

    def _look_at_claim(self, run: RunRecord) -> None:
        claim = str(run.owner), run.fencing_token
        if self._claims.get(run.ref.id) == claim:
            return
        if run.fencing_token <= self._tokens[run.ref.job]:
            self._say(f"{run.ref.id}: token {run.fencing_token} after {self._tokens[run.ref.job]}")
        self._claims[run.ref.id] = claim
        self._tokens[run.ref.job] = max(run.fencing_token, self._tokens[run.ref.job])

    def _look_at_slots(self, state: JobState, runs: list[RunRecord], markers: int) -> None:
        waiting = sum(run.is_queued for run in runs)
        if not state.slots.queued == markers == waiting:
            self._say(f"{state.name}: queued {state.slots.queued}, {markers} markers, {waiting} runs wait")
        declared = self.stack.jobs.get(state.name)
        if declared is None or declared.concurrency is None:
            return
        begun = {run.ref.id for run in runs if _was_begun(run)}
        unended = {run.ref.id for run in runs if not run.status.is_final and not run.is_queued}
        if not begun <= state.slots.held <= unended:
            self._say(f"{state.name}: {sorted(state.slots.held)} hold slots, {sorted(begun)} were begun")
        if len(state.slots.held) > declared.concurrency:
            self._say(f"{state.name}: {len(state.slots.held)} hold slots")

    def _look_at_ledger(self, state: JobState, runs: list[RunRecord], gaps: list[Gap]) -> None:
        known = self._jobs.get(state.name)
        self._jobs[state.name] = state
        if known is None or known.planned_to == state.planned_to:
            return
        if state.act is not None and state.act.what is What.REWIND and state.act != known.act:
            self._owed[state.name] = [at for at in self._owed[state.name] if at <= state.planned_to]
        elif state.planned_to < known.planned_to:
            self._say(f"{state.name}: planned_to went back from {known.planned_to} to {state.planned_to}")
        owed = self._owed[state.name]
        owed += schedule_from_spec(known.schedule).between(known.planned_to, state.planned_to)
        entries = Counter(run.ref.scheduled_at for run in runs if run.is_scheduled)
        for gap in gaps:
            inside = [time for time in owed if gap.first <= time <= gap.last]
            entries.update(inside)
            if len(inside) != gap.count:
                self._say(f"{state.name}: a gap of {gap.count} holds {len(inside)}")
        wrong = [f"{time:%H:%M} {entries[time]} times" for time in owed if entries[time] != 1]
        if wrong:
            self._say(f"{state.name}: entries of the ledger: {wrong}")


def _named(step: StepRecord) -> str:
    return f"{step.ref.id} {step.name} {step.chunk} {step.status}"


def _was_begun(run: RunRecord) -> bool:
    """Whether a run must hold a slot. One that was brought back has given its own away."""
    back = run.touched and run.status is RunStatus.PENDING and run.slice == 0
    return run.attempt > 0 and not run.status.is_final and not back


@dataclass(frozen=True, kw_only=True)
class Story:
    """What came of a life, as far as it does not say when.

    Attributes:
        runs: how each run ended.
        gaps: what was left out.
        jobs: what the jobs' items say, without tokens.
        effects: keys that took effect.
        told: kind and scope of each notice, each once.
        alerts: scopes, and why each is closed.
    """

    runs: Mapping[str, tuple[object, ...]]
    gaps: frozenset[tuple[object, ...]]
    jobs: Mapping[str, tuple[object, ...]]
    effects: frozenset[str]
    told: tuple[tuple[str, str], ...]
    alerts: Mapping[str, str | None]

    @classmethod
    def of(cls, stack: Stack) -> Story:
        """What is stored, was done and was told."""
        notices = {notice.id + notice.kind: notice for notice in stack.notifier.notices}
        return cls(
            runs={_untimed(run.ref.id): (run.status, run.reason, run.notice) for run in stack.runs()},
            gaps=frozenset(
                (gap.job, gap.first, gap.last, gap.count, gap.reason, gap.notice) for gap in stack.gaps()
            ),
            jobs={state.name: _of_job(state) for state in stack.contents(JobState)},
            effects=frozenset(map(_untimed, stack.service.effects)),
            told=tuple(sorted((notice.kind, notice.scope) for notice in notices.values())),
            alerts={alert.scope: alert.closed_because for alert in stack.contents(Alert)},
        )


def _untimed(text: str) -> str:
    """An id or key without the second in which a person asked for its run."""
    return re.sub(r"@[^@#]{20}#", "@#", text)


def _of_job(state: JobState) -> tuple[Any, ...]:
    times = state.next_at, state.due_at, state.expect_by
    paused = (state.paused.by, state.paused.why) if state.paused else None
    marks = state.held, paused, state.resumed_at is None, state.removed_at is None
    return (*times, *marks, state.schedule, state.zone_data, state.slots.held, state.slots.queued)


def unsettled(stack: Stack) -> list[str]:
    """What still has to be done by somebody."""
    left = [f"{run.ref.id} is {run.status}" for run in stack.runs() if not run.status.is_final]
    return left + untold(stack) + unplanned(stack)


def unplanned(stack: Stack) -> list[str]:
    """What still has to be planned."""
    now = stack.clock.now()
    return [state.name for state in stack.contents(JobState) if state.due_at and state.due_at <= now]


def untold(stack: Stack) -> list[str]:
    """What people still have to be told."""
    ends = [run.ref.id for run in stack.runs() if run.notice is Notice.PENDING]
    ends += [f"gap {gap.job} {gap.first}" for gap in stack.gaps() if gap.notice is Notice.PENDING]
    alerts = [alert.scope for alert in stack.contents(Alert) if alert.notified_at is None]
    return [f"{end} is untold" for end in ends] + [f"the alert of {scope} is untold" for scope in alerts]


def problems_of(stack: Stack, watch: Watch, faults: int) -> list[str]:
    """What is wrong about a life that is over, whatever it was to be.

    A notice comes once, and once more for each publisher that could not say that it was out.
    """
    wrong = list(watch.wrong)
    wrong += [f"recorded, and called again: {key}" for key in stack.service.repeated]
    ids = Counter((notice.id, notice.kind) for notice in stack.notifier.notices)
    wrong += [f"told {times} times: {notice}" for notice, times in ids.items() if times > 1 + faults]
    successes = sum(run.status is RunStatus.SUCCEEDED for run in stack.runs())
    if stack.succeeded > successes:
        wrong.append(f"{stack.succeeded} successes were counted, of {successes}")
    return wrong
