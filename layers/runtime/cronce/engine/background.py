"""What a notice says beside its alert: jobs, runs and steps, read when it is told.

An alert keeps what was found; what has become of it by now, and what a person needs to act, is read for each
notice anew. A notice does not wait for it: what cannot be read is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from cronce.core.alerting import ref_of
from cronce.core.alerts import SCHEDULER, Alert, Trouble
from cronce.core.background import Background, NextTime
from cronce.core.jobstate import Gap, JobState
from cronce.core.notices import OUTLOOK
from cronce.core.ports import Clock, DueIndex, JobStore, RunStore, StepStore
from cronce.core.records import RunRecord, RunRef, StepRecord
from cronce.core.run import DueKind
from cronce.core.run_story import StepStory, step_stories
from cronce.core.values import dataclass
from cronce.engine.patrol_log import PatrolLog

STEPS_READ = 200
"""Step items of a run among which the last one is looked for. They are in order of their names, so of a run
with more nothing is said."""
STEPS_SIZE = 10_000_000
"""Characters of their results and keys: ten pages of the store. One page is held at a time."""
STEPS_TIME = timedelta(seconds=2)
"""Reading them ends after this, and one page: notices of other jobs wait, and the patrol's margin is 15 s."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Library:
    """Where the background of notices is read.

    Attributes:
        stack: its name.
        jobs: the jobs.
        runs: the runs and gaps.
        steps: what runs did.
        index: for what a silent scheduler has not planned.
        clock: for how long reading has taken.
        log: where trouble with reading goes.
    """

    stack: str
    jobs: JobStore
    runs: RunStore
    steps: StepStore
    index: DueIndex
    clock: Clock
    log: PatrolLog

    def background(self, alert: Alert) -> Background:
        """What is known by now of what an alert lists."""
        if alert.scope == SCHEDULER:
            return self._of_scheduler(alert)
        newest = ref_of(alert.newest, alert.scope)
        states: Mapping[str, JobState] = {}
        with self.log.beside(f"job {alert.scope}"):
            states = self.jobs.get_many([alert.scope]).states
        runs: Mapping[RunRef, RunRecord] = {}
        gap: Gap | None = None
        unread = True
        with self.log.beside(f"what became of {newest.id}"):
            runs = self.runs.get_many([ref_of(time, alert.scope) for time in alert.times])
            # What cannot be read is left out there, as what is absent is: only the run itself says which.
            if newest not in runs and self.runs.get(newest) is None:
                gap = self._gap(alert.newest.trouble, newest)
            unread = False
        run = runs.get(newest)
        steps = self._steps(run) if run is not None and run.attempt and alert.is_open else ()
        return Background(stack=self.stack, jobs=states, runs=runs, steps=steps, gap=gap, unread=unread)

    def _of_scheduler(self, alert: Alert) -> Background:
        states: Mapping[str, JobState] = {}
        waiting: list[str] = []
        with self.log.beside(f"what to say about {alert.scope}"):
            if alert.is_open:
                lines = self.index.due(DueKind.JOB, None, OUTLOOK)
                waiting = [line.job for line in lines if line.job]
            states = self.jobs.get_many(sorted({*(time.job for time in alert.times), *waiting} - {""})).states
        listed = {(time.job, time.scheduled_at) for time in alert.times}
        outlook = [
            NextTime(job=job, at=at)
            for job in waiting
            if job in states and (at := states[job].next_at) is not None and (job, at) not in listed
        ]
        return Background(
            stack=self.stack,
            jobs=states,
            runs={},
            outlook=sorted(outlook, key=lambda coming: (coming.at, coming.job)),
        )

    def _gap(self, trouble: Trouble, ref: RunRef) -> Gap | None:
        """The stretch of skipped times that begins with a time."""
        if trouble not in {Trouble.LATE, Trouble.CATCH_UP_LIMIT}:
            return None
        return next((gap for gap in self.runs.gaps(ref.job).records if gap.first == ref.scheduled_at), None)

    def _steps(self, run: RunRecord) -> Sequence[StepStory]:
        """The steps of a run, unless they are very many, very large, or slow to come.

        A result may be as large as an item, and a patrol that ran out of memory here would do so each minute
        and tell nobody anything: what a step was is kept, what came of it is dropped as it is read.
        """
        stories: list[StepStory] = []
        with self.log.beside(f"steps of {run.ref.id}"):
            stories += step_stories(run, self._few_steps(run.ref), ())
        return stories

    def _few_steps(self, ref: RunRef) -> Sequence[StepRecord]:
        records: list[StepRecord] = []
        size, until = 0, self.clock.now() + STEPS_TIME
        for record in self.steps.load(ref):
            size += len(record.result) + sum(map(len, record.keys))
            if len(records) == STEPS_READ or size > STEPS_SIZE or self.clock.now() > until:
                return ()
            records.append(replace(record, result="null", keys=()))
        return records
