"""What people ask of a stack. Nothing here writes, and answers rest on strong reads."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime

from cronce.core import health
from cronce.core.accounting import Account, Books
from cronce.core.acts import Act
from cronce.core.alerts import Alert
from cronce.core.errors import DefinitionError, JobNotFoundError
from cronce.core.health import Finding
from cronce.core.jobstate import JobState
from cronce.core.occurrences import EPOCH
from cronce.core.ports import AlertStore, Clock, JobStore, RegistryStore, RunStore, StepStore
from cronce.core.records import AttemptRecord, RunRecord, RunRef
from cronce.core.run_story import StepStory, step_stories
from cronce.core.schedule import Schedule, schedule_from_spec
from cronce.core.values import dataclass
from cronce.engine.run_search import CLOCKS_DIFFER, deployed, side_by_side

LAST_RUNS = 20
"""Newest runs of a job among which its last result and what is under way are looked for."""
MANY = 100_000
"""More runs than a job has in a month, one each minute."""
NAMED = 10
"""Jobs that the message about an unknown one names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How a job stands.

    Attributes:
        name: the job.
        state: as stored; None: no tick has planned it yet, or its item cannot be read.
        problem: why its item cannot be read.
        last: the newest of its runs that have ended.
        unfinished: its runs that have not ended, newest first.
        overdue: what is late of it, oldest first: times that were never planned, runs that have not ended.
        alert: what is open about it.
    """

    name: str
    state: JobState | None
    problem: str | None = None
    last: RunRecord | None = None
    unfinished: tuple[RunRecord, ...] = ()
    overdue: tuple[Finding, ...] = ()
    alert: Alert | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStory:
    """Everything that is kept of a run.

    Attributes:
        run: its record.
        attempts: those that are kept apart, oldest first: earlier ones, and the last if its error is long.
        steps: in the order in which they were recorded.
        acts: what operators did to it, oldest first.
    """

    run: RunRecord
    attempts: tuple[AttemptRecord, ...]
    steps: tuple[StepStory, ...]
    acts: tuple[Act, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Inquiry:
    """Questions about one stack.

    Attributes:
        registry: which jobs there are.
        jobs: how they stand.
        runs: their runs and gaps.
        steps: what the runs did.
        alerts: what people were told.
        clock: the present.
    """

    registry: RegistryStore
    jobs: JobStore
    runs: RunStore
    steps: StepStore
    alerts: AlertStore
    clock: Clock

    def names(self) -> list[str]:
        """The jobs of the deployment that planned last, in order of their names; none before that."""
        return deployed(self.registry)

    def job(self, name: str) -> JobState:
        """One job, also one that is gone from the deployment.

        Raises:
            JobNotFoundError: it is not known; the message names the one that may be meant.
        """
        state = self.jobs.get(name)
        if state is None:
            raise JobNotFoundError(_no_job(name, self.names()))
        return state

    def standings(self) -> list[Standing]:
        """How all jobs of the deployment stand, in order of their names."""
        names = self.names()
        reads = self.jobs.get_many(names)

        def standing(name: str) -> Standing:
            if (state := reads.states.get(name)) is not None:
                return self._standing(state)
            return Standing(name=name, state=None, problem=reads.unreadable.get(name))

        return list(side_by_side(standing, names))

    def books(self, state: JobState, start: datetime, end: datetime) -> Books:
        """What the ledger holds of a job from `start` to before `end`."""
        runs, gaps = self.runs.runs(state.name, start, end, MANY), self.runs.gaps(state.name)
        return Books(
            state=state,
            schedule=in_force(state),
            runs=runs.records,
            gaps=gaps.records,
            unread=[*runs.unread, *gaps.unread],
            now=self.clock.now(),
        )

    def accounts(self, name: str, start: datetime, end: datetime) -> list[Account]:
        """What became of each occurrence of a job from `start` to before `end`; see `core.accounting`.

        Raises:
            JobNotFoundError: there is no such job.
        """
        return self.books(self.job(name), start, end).accounts(start, end)

    def story(self, ref: RunRef) -> RunStory | None:
        """Everything that is kept of a run; None: there is none."""
        run = self.runs.get(ref)
        if run is None:
            return None
        attempts = self.steps.attempts(ref)
        acts = [*self.steps.acts(ref.id), *([run.act] if run.act else [])]
        return RunStory(
            run=run,
            attempts=tuple(attempts),
            steps=tuple(step_stories(run, self.steps.load(ref), attempts)),
            acts=tuple(acts),
        )

    def _standing(self, state: JobState) -> Standing:
        now = self.clock.now()
        newest = self.runs.runs(state.name, EPOCH, now + CLOCKS_DIFFER, LAST_RUNS).records
        unfinished = tuple(run for run in newest if not run.status.is_final)
        late = [found for run in unfinished if (found := health.overdue_run(run, now))]
        late += health.overdue_times(state, now)
        by_time = {found.time.scheduled_at: found for found in reversed(late)}  # runs outrank the job's item
        alert = self.alerts.get(state.name)
        return Standing(
            name=state.name,
            state=state,
            last=next((run for run in newest if run.status.is_final), None),
            unfinished=unfinished,
            overdue=tuple(by_time[at] for at in sorted(by_time)),
            alert=alert if alert and alert.is_open else None,
        )


def in_force(state: JobState) -> Schedule | None:
    """The schedule by which the scheduler plans a job; None if it cannot be read any more."""
    try:
        return schedule_from_spec(state.schedule)
    except DefinitionError:
        return None


def _no_job(name: str, names: Sequence[str]) -> str:
    if name in names:
        return f"no tick has planned job {name!r} yet: the next one comes with the next full minute"
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"there is no job {name!r}: did you mean {near[0]!r}?"
    known = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"there is no job {name!r}: " + (f"there are {known}" if names else "no tick has planned any yet")
