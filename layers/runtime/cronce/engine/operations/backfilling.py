"""The command that gives occurrences of the past their runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from cronce.core.acts import What
from cronce.core.answers import Applied
from cronce.core.backfill import Asked, BackfillPlan, Known, backfill_plan, filled, occurrences
from cronce.core.errors import OperationRefusedError
from cronce.core.job import Job
from cronce.core.records import RunRef
from cronce.core.values import dataclass
from cronce.engine.operations.desk import Desk


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
    """One occurrence of a backfill that was dealt with.

    Attributes:
        at: the occurrence.
        created: whether it has its run by this backfill; False = somebody was first.
        number: which one it is, from 1.
        of: how many there are to deal with.
    """

    at: datetime
    created: bool
    number: int
    of: int


class BackfillCommands(Desk):
    """Commands about occurrences that have no run."""

    __slots__ = ()

    def preview(self, job: str, since: datetime, until: datetime, *, gaps: bool = False) -> BackfillPlan:
        """What a backfill would do now. It writes nothing.

        Args:
            job: its name.
            since: the first instant, aware.
            until: the last instant, aware.
            gaps: ask for times in gaps too.

        Raises:
            JobNotFoundError: there is no such job.
            OperationRefusedError: see `core.backfill.occurrences`; the job was removed; its calendar raises;
                or this host's clock is wrong.
            StoreError: the store did not answer.
        """
        state = self.deployed(job)
        asked = Asked(since=since, until=until, gaps=gaps)
        times = occurrences(state, asked)
        runs, found = self.recorded(job, times), self.ledger.runs.gaps(job)
        known = Known(
            runs={run.ref: run for run in runs.records},
            gaps=found.records,
            unread=[*runs.unread, *found.unread],
            excluded=_calendar(self.job_of(job)),
            now=self.now(),
            retention=self.ledger.retention,
        )
        return backfill_plan(state, times, asked, known)

    def backfill(self, plan: BackfillPlan, *, by: str, why: str) -> Iterator[Filled]:
        """Give each occurrence that the plan would create its run, oldest first; see `core.backfill`.

        Each step writes one run. Whoever stops in the middle, or is stopped, asks for a new plan and goes on.

        Args:
            plan: what `preview` said.
            by: who asks for it.
            why: may be empty.

        Yields:
            What became of each occurrence, once it is so.

        Raises:
            JobNotFoundError: its item is gone.
            OperationRefusedError: the job was removed, its schedule has changed since the preview, its code
                is not here, or this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        times = plan.to_create
        for number, at in enumerate(times, 1):
            created = self._fill(plan, at, by, why)
            yield Filled(at=at, created=created, number=number, of=len(times))

    def _fill(self, plan: BackfillPlan, at: datetime, by: str, why: str) -> bool:
        job = self.job_of(plan.job)
        if job is None:
            raise OperationRefusedError(
                f"the code of job {plan.job} is not here, which says how many of its runs may run at once: "
                "give the command where the jobs are"
            )
        for _ in self.ledger.tries():
            state = self.deployed(plan.job)
            if state.schedule_hash != plan.schedule_hash:
                raise OperationRefusedError(
                    f"the schedule of job {plan.job} has changed meanwhile: look again"
                )
            act = self.sign(What.BACKFILL, by, why)
            change = filled(state, at, job, act)
            applied = self.ledger.apply(change)
            if applied is Applied.DONE:
                self.tell(act, run=change.after.ref.id, status=change.after.status)
            if applied in {Applied.DONE, Applied.RUN_MOVED}:
                return applied is Applied.DONE
        raise self.in_the_way(f"backfill run {RunRef(plan.job, at).id}")


def _calendar(job: Job | None) -> Callable[[datetime], bool]:
    """What the job's code excludes; without it, nothing. It is the author's code, and may raise."""

    def excluded(at: datetime) -> bool:
        try:
            return job is not None and job.is_excluded(at)
        except (Exception, SystemExit) as error:
            name = job.name if job else ""
            raise OperationRefusedError(
                f"the calendar of job {name} raised {type(error).__name__}: {error}"
            ) from error

    return excluded
