"""What a patrol looks at: the `due` index for hints, then the items themselves, strongly.

Nothing is told on a hint's word. Each partition is read on its own: if one cannot be read, the others are
judged all the same, and the patrol is not a complete one. A record that cannot be understood is reported, and
told with what its key says, so that it delays nobody and is not lost either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from itertools import islice

from cronce.core import ends, health
from cronce.core.alerts import Trouble
from cronce.core.answers import DueEntry
from cronce.core.errors import NewerItemError, UnreadableItemError
from cronce.core.health import Finding
from cronce.core.jobstate import JobState
from cronce.core.ports import DueIndex, JobStore, RunStore
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import DueKind, Reason, RunStatus
from cronce.core.values import dataclass
from cronce.engine.patrol_log import PatrolLog

ENTRIES = 20_000
"""Lines of one partition that a patrol reads: 5 MB. With more it does not claim to have seen everything."""
ENDS_OF_A_JOB = 100
"""Ends of one job that a patrol tells; the next one goes on. A job that always fails delays no other."""
RECORDS = 2000
"""Unplanned times whose record is looked for: 20 calls. With more of them, after hours without any patrol, a
time is listed on the word of its job's item."""
RECENT_RUNS = 200
"""Newest runs of a job among which its last success is looked for."""
RECENT = timedelta(days=1)
"""A run that has succeeded just now may have begun so long before the patience did."""

# Queued runs are not among them: nobody expects one before it is woken, and there may be very many.
_UNFINISHED = (DueKind.PENDING, DueKind.RUNNING, DueKind.WAITING)


@dataclass(kw_only=True, slots=True)
class Survey:
    """What a patrol found.

    Attributes:
        findings: by job.
        ends: lines of the ends that those findings are about, by job: told once they are part of an alert.
        quiet: lines of ends that need not be told after all.
        put_off: skips for overlap about which nothing can be said yet, and when it can.
        newer: lines of items that a later release wrote: left to it.
    """

    findings: dict[str, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    ends: dict[str, list[DueEntry]] = field(default_factory=lambda: defaultdict(list))
    quiet: list[DueEntry] = field(default_factory=list)
    put_off: list[tuple[RunRecord, datetime]] = field(default_factory=list)
    newer: list[DueEntry] = field(default_factory=list)

    def must_tell(self, line: DueEntry, finding: Finding) -> None:
        """An end is part of what is told."""
        self.findings[line.job or ""].append(finding)
        self.ends[line.job or ""].append(line)


@dataclass(frozen=True, kw_only=True, slots=True)
class Surveyor:
    """Reads what a patrol judges.

    Attributes:
        jobs: where the jobs are.
        runs: where the runs and gaps are.
        index: the hints.
        log: where trouble with reading goes.
        now: of the patrol.
    """

    jobs: JobStore
    runs: RunStore
    index: DueIndex
    log: PatrolLog
    now: datetime

    def survey(self, known_to: Callable[[str], datetime | None]) -> Survey:
        """Everything that an alert must list.

        Args:
            known_to: up to which time an open alert lists the unplanned times of a job.
        """
        survey = Survey()
        with self.log.part("jobs that are overdue"):
            self._overdue_jobs(survey, known_to)
        for kind in _UNFINISHED:
            with self.log.part(f"runs that are overdue ({kind.value})"):
                self._overdue_runs(survey, kind)
        with self.log.part("ends that must be told"):
            self._ends(survey)
        return survey

    def lines(self, kind: DueKind, until: datetime | None) -> list[DueEntry]:
        """The lines of a partition, oldest first."""
        lines = self.index.due(kind, until, ENTRIES)
        if len(lines) == ENTRIES:
            self.log.failed(f"partition {kind.value} of the index", f"it has more than {ENTRIES} lines")
        return lines

    def _overdue_jobs(self, survey: Survey, known_to: Callable[[str], datetime | None]) -> None:
        lines = {
            line.job: line
            for line in self.lines(DueKind.JOB, self.now)
            if line.job and (line.expect_by is None or line.expect_by < self.now)
        }
        reads = self.jobs.get_many(sorted(lines))
        late: dict[str, list[Finding]] = {}
        for name, state in reads.states.items():
            with self.log.part(f"job {name}"):
                late[name] = health.overdue_times(state, self.now, known_to(name))
        for name, problem in reads.unreadable.items():
            self.log.cannot_read(f"job {name}", problem)
            ref = RunRef(name, lines[name].due_at)
            survey.findings[name].append(ends.unreadable(ref, Trouble.MISSED, problem))
        recorded = self._recorded(late)
        for name, findings in late.items():
            survey.findings[name] += [
                finding for finding in findings if RunRef(name, finding.time.scheduled_at) not in recorded
            ]

    def _recorded(self, late: Mapping[str, Sequence[Finding]]) -> Collection[RunRef]:
        """Which of the times that the jobs' items call unplanned have a run all the same.

        An `At` that is deployed again begins at its instant again, and a job's item may be restored: until a
        tick has found the records, the item says that they are still to come. What is wrong with a run is
        found at the run itself.
        """
        refs = (RunRef(name, one.time.scheduled_at) for name, findings in late.items() for one in findings)
        asked = list(islice(refs, RECORDS))
        return self.runs.get_many(asked) if asked else ()

    def _overdue_runs(self, survey: Survey, kind: DueKind) -> None:
        refs: list[RunRef] = []
        for line in self.lines(kind, None):
            if line.expect_by is None or line.expect_by >= self.now:
                continue
            if line.run is None:
                self.log.cannot_read(f"{line.pk} / {line.sk}", "its key is not that of a run")
            else:
                refs.append(line.run)
        runs, broken = self._confirmed(refs)
        for run in runs:
            finding = health.overdue_run(run, self.now)
            if finding:
                survey.findings[run.ref.job].append(finding)
        for ref, error in broken.items():
            self.log.cannot_read(f"run {ref.id}", str(error))
            survey.findings[ref.job].append(ends.unreadable(ref, Trouble.MISSED, str(error)))

    def _ends(self, survey: Survey) -> None:
        by_job: dict[str, list[DueEntry]] = defaultdict(list)
        for line in self.lines(DueKind.NOTICE, self.now):
            by_job[line.job or ""].append(line)
        chosen = [line for lines in by_job.values() for line in lines[:ENDS_OF_A_JOB]]
        self._ended_runs(survey, {line.run: line for line in chosen if line.run})
        for job, lines in by_job.items():
            others = [line for line in lines[:ENDS_OF_A_JOB] if line.run is None]
            if others:
                with self.log.part(f"gaps of job {job}"):
                    self._gaps(survey, job, others)

    def _ended_runs(self, survey: Survey, lines: Mapping[RunRef, DueEntry]) -> None:
        runs, broken = self._confirmed(list(lines))
        overlaps: dict[str, list[RunRecord]] = defaultdict(list)
        for run in runs:
            finding = ends.end_to_tell(run)
            if run.reason is Reason.OVERLAP:
                overlaps[run.ref.job] += [run] if finding else []
            elif finding:
                survey.must_tell(lines[run.ref], finding)
        for ref, error in broken.items():
            if isinstance(error, NewerItemError):
                survey.newer.append(lines[ref])
                continue
            self.log.cannot_read(f"run {ref.id}", str(error))
            failed = lines[ref].status == RunStatus.FAILED
            trouble = Trouble.FAILED if failed else Trouble.LATE
            survey.must_tell(lines[ref], ends.unreadable(ref, trouble, str(error)))
        states = self.jobs.get_many(sorted(overlaps)).states if overlaps else {}
        for job, skipped in overlaps.items():
            with self.log.part(f"skips of job {job}"):
                self._overlaps(survey, skipped, states.get(job), lines)

    def _overlaps(
        self,
        survey: Survey,
        skipped: Sequence[RunRecord],
        state: JobState | None,
        lines: Mapping[RunRef, DueEntry],
    ) -> None:
        grace = state.grace if state else timedelta(0)
        last_success = self._last_success(skipped[0].ref.job, grace)
        for run in skipped:
            news = ends.overlap_is_news(run, last_success, grace, self.now)
            finding = ends.end_to_tell(run)
            if news is None:
                survey.put_off.append((run, ends.overlap_known_at(run, grace)))
            elif news and finding:
                survey.must_tell(lines[run.ref], finding)
            else:
                survey.quiet.append(lines[run.ref])

    def _last_success(self, job: str, grace: timedelta) -> datetime | None:
        since = self.now - max(grace, ends.OVERLAP_PATIENCE) - RECENT
        runs = self.runs.runs(job, since, self.now, RECENT_RUNS).records
        successes = (run.ended_at for run in runs if run.status is RunStatus.SUCCEEDED)
        return max((ended_at for ended_at in successes if ended_at is not None), default=None)

    def _gaps(self, survey: Survey, job: str, lines: Sequence[DueEntry]) -> None:
        found = {f"GAP#{gap.key}": gap for gap in self.runs.gaps(job).records}
        for line in lines:
            gap = found.get(line.sk)
            finding = ends.gap_to_tell(gap) if gap else ends.unreadable_gap(job, line.sk)
            if gap is None:
                self.log.cannot_read(f"{line.pk} / {line.sk}", "it is not a gap that can be read")
            if finding:
                survey.must_tell(line, finding)
            elif gap is None:
                survey.quiet.append(line)

    def _confirmed(self, refs: Sequence[RunRef]) -> tuple[list[RunRecord], dict[RunRef, UnreadableItemError]]:
        """The runs, strong, and what is wrong with those that are there and cannot be understood."""
        found = self.runs.get_many(refs) if refs else {}
        broken: dict[RunRef, UnreadableItemError] = {}
        for ref in refs:
            if ref in found:
                continue
            try:
                run = self.runs.get(ref)
            except UnreadableItemError as error:
                broken[ref] = error
            else:
                found |= {ref: run} if run else {}
        return [found[ref] for ref in refs if ref in found], broken
