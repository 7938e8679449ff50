"""Jobs and runs that wait for something that does not come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from cronce.core.answers import DueEntry, JobReads
from cronce.core.errors import NewerItemError, UnreadableItemError
from cronce.core.jobstate import Held
from cronce.core.moves import PENDING_REDISPATCH
from cronce.core.records import RunRecord
from cronce.core.run import Dispatch, DueKind, RunStatus
from cronce_tools.cli.times import shown, shown_for
from cronce_tools.doctor.expected import Expected
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.words import some

LONG_PAUSE = timedelta(days=7)
"""Longer than a week-end and a holiday: it may be forgotten."""
UNCLAIMED = timedelta(minutes=5)
"""The stream starts a run within seconds, the sweep after two minutes, and again after two more."""
IN_VAIN = 3
"""Dispatches by the sweep: after the third, eight minutes have passed in any case."""
LOOKED_AT = 200
"""Entries of each kind that are looked at, as in one sweep."""
EXPLAINED = 10
"""Unreadable items that are read once more, for what is wrong with them."""
KINDS = (DueKind.PENDING, DueKind.RUNNING, DueKind.WAITING, DueKind.QUEUED)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFacts:
    """The jobs of the deployment that planned last.

    Attributes:
        reads: as stored.
        now: when they were read.
    """

    reads: JobReads
    now: datetime


def look_at_jobs(place: Place) -> JobFacts:
    """Read the job items that the registry names."""
    inquiry = place.operator.inquiry
    return JobFacts(reads=inquiry.jobs.get_many(inquiry.names()), now=inquiry.clock.now())


def judge_jobs(_: Expected, facts: JobFacts) -> Iterator[Finding]:
    """Held, paused for long, or unreadable."""
    for name, problem in sorted(facts.reads.unreadable.items()):
        yield Finding(
            what=f"the item of job {name} cannot be read: {problem}",
            why="nothing of it is planned",
            remedy=f"mend the item JOB#{name} / JOB in the runs table, or deploy the release that wrote it",
        )
    for name, state in sorted(facts.reads.states.items()):
        if state.held is Held.UNAVAILABLE:
            yield Finding(
                what=f"job {name} is held: its module {state.module} does not import, or gives no such job",
                why="nothing of it is planned",
                remedy="`cronce validate` says why; mend it and deploy, what was held is then caught up",
            )
        elif state.held is Held.BEHIND:
            yield Finding(
                what=f"job {name} is behind: planned to {shown(state.planned_to)}",
                why="more is due than its share of a tick; the next ticks go on",
                remedy="wait; if it stays so, its schedule is finer than what one tick plans (`cronce list`)",
                level=Level.HINT,
            )
        if state.paused and (length := facts.now - state.paused.at) > LONG_PAUSE:
            yield Finding(
                what=f"job {name} is paused for {shown_for(length)}, by {state.paused.by}"
                + (f": {state.paused.why}" if state.paused.why else ""),
                why="nothing of it runs, and nobody is told",
                remedy=f"`cronce resume {name}`",
                level=Level.HINT,
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """What the index says must be looked at.

    Attributes:
        runs: unfinished runs.
        unreadable: key and what is wrong, of items that cannot be read.
        newer: keys of items that a later release wrote.
        cut: kinds of which there are more.
        now: when they were read.
    """

    runs: Sequence[RunRecord]
    unreadable: Sequence[tuple[str, str]] = ()
    newer: Sequence[str] = ()
    cut: Sequence[str] = ()
    now: datetime


def look_at_runs(place: Place) -> RunFacts:
    """Read what the index names, in batches."""
    inquiry = place.operator.inquiry
    entries = {kind: place.operator.index.due(kind, None, LOOKED_AT) for kind in KINDS}
    named = [entry for found in entries.values() for entry in found if entry.sk.startswith("RUN#")]
    runs = inquiry.runs.get_many([entry.run for entry in named if entry.run])
    unreadable, newer = _others(place, [entry for entry in named if entry.run not in runs])
    return RunFacts(
        runs=tuple(runs.values()),
        unreadable=unreadable,
        newer=newer,
        cut=[kind.value for kind, found in entries.items() if len(found) == LOOKED_AT],
        now=inquiry.clock.now(),
    )


def _others(place: Place, entries: Sequence[DueEntry]) -> tuple[list[tuple[str, str]], list[str]]:
    """What is wrong with items that the index names and no batch has: they may also be gone by now."""
    unreadable, newer = [], []
    for entry in islice(entries, EXPLAINED):
        key = f"{entry.pk} / {entry.sk}"
        if entry.run is None:
            unreadable.append((key, "its key is that of no run"))
            continue
        try:
            place.operator.inquiry.runs.get(entry.run)
        except NewerItemError:
            newer.append(key)
        except UnreadableItemError as error:
            unreadable.append((key, str(error)))
    return unreadable, newer


def pending_since(run: RunRecord) -> datetime | None:
    """About when a run became PENDING, from when it is to be dispatched next and how often it was."""
    if run.status is not RunStatus.PENDING or run.due_at is None:
        return None
    last = len(PENDING_REDISPATCH) - 1
    waits = (PENDING_REDISPATCH[min(number, last)] for number in range(run.dispatches))
    return run.due_at - PENDING_REDISPATCH[0] - sum(waits, timedelta(0))


def is_unclaimed(run: RunRecord, now: datetime) -> bool:
    """Whether a run is PENDING for too long, or was refused by Lambda: the pause does not grow then."""
    since = pending_since(run)
    if since is None:
        return False
    refused = run.dispatch is Dispatch.SWEEP and not run.dispatches
    return refused or run.dispatches >= IN_VAIN or since < now - UNCLAIMED


def judge_runs(_: Expected, facts: RunFacts) -> Iterator[Finding]:
    """Runs that nobody claims or wakes, and items that cannot be read."""
    late = facts.now - UNCLAIMED
    pending = [run for run in facts.runs if is_unclaimed(run, facts.now)]
    asleep = [
        run for run in facts.runs
        if run.status is not RunStatus.PENDING and run.due_at is not None and run.due_at < late
    ]  # fmt: skip
    if pending:
        yield Finding(
            what=f"{len(pending)} runs are PENDING for {shown_for(UNCLAIMED)} or in vain: {_ids(pending)}",
            why="no executor claims them",
            remedy="look at the logs of dispatcher and executor, and above for mapping, throttles and limit",
        )
    if asleep:
        yield Finding(
            what=f"{len(asleep)} runs should have been looked at {shown_for(UNCLAIMED)} ago: {_ids(asleep)}",
            why="the scheduler's sweep does not come to them",
            remedy="look at the scheduler's log (SchedulerLogGroupName in the stack's outputs)",
        )
    for key, problem in facts.unreadable:
        yield Finding(
            what=f"the item {key} cannot be read: {problem}",
            why="it is set aside, and its run does not go on",
            remedy="mend the item in the runs table; the scheduler's log names it too",
        )
    if facts.newer:
        yield Finding(
            what=f"{len(facts.newer)} items were written by a later release: {some(facts.newer)}",
            why="this release leaves them alone",
            remedy="deploy the later release again, or use its `cronce`",
        )
    for kind in facts.cut:
        yield Finding(
            what=f"there are more {kind} runs than the {LOOKED_AT} that were looked at",
            why="the others may be stuck too",
            remedy="`cronce runs` lists them",
            level=Level.HINT,
        )


def _ids(runs: Sequence[RunRecord]) -> str:
    return some([run.ref.id for run in sorted(runs, key=lambda each: each.ref.scheduled_at)])


JOBS = Check(name="jobs", look=look_at_jobs, judge=judge_jobs, why="they may be held")
RUNS = Check(name="runs", look=look_at_runs, judge=judge_runs, why="they may be stuck")
