"""Commands about jobs, and about what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from cronce.core import alerting
from cronce.core.acts import Act, What
from cronce.core.alerts import SCHEDULER
from cronce.core.answers import Applied
from cronce.core.errors import OperationRefusedError
from cronce.core.job_change import JobChange
from cronce.core.jobstate import Gap, JobState
from cronce.core.pausing import paused, resumed
from cronce.core.rewinding import Past, missing, rewound, times_after
from cronce.core.values import dataclass
from cronce.engine.operations.desk import Desk, JobAnswer


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewound:
    """A job that was set back.

    Attributes:
        state: as it is now.
        times: those that are planned again.
        gaps: those that were given up.
    """

    state: JobState
    times: tuple[datetime, ...]
    gaps: tuple[Gap, ...]


class JobCommands(Desk):
    """Commands about jobs."""

    __slots__ = ()

    def pause(self, job: str, *, by: str, why: str) -> JobAnswer:
        """Stop the planning of a job until `resume`; runs that exist go on. See `core.pausing`.

        Args:
            job: its name.
            by: who does it.
            why: for whoever meets the pause.

        Raises:
            JobNotFoundError: there is no such job.
            OperationRefusedError: it was removed, or this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        return self._changed(job, What.PAUSE, (by, why), paused)

    def resume(self, job: str, *, by: str, why: str) -> JobAnswer:
        """Let a paused job go on: the next tick judges what came due meanwhile. See `core.pausing`.

        Args:
            job: its name.
            by: who does it.
            why: may be empty.

        Raises:
            JobNotFoundError: there is no such job.
            OperationRefusedError: this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        return self._changed(job, What.RESUME, (by, why), resumed)

    def rewind(self, job: str, to: datetime, *, replan_gaps: bool = False, by: str, why: str) -> Rewound:
        """Set a job back: the next tick plans again what nothing accounts for. See `core.rewinding`.

        Args:
            job: its name.
            to: the times after this instant, aware, are looked at; one at it is not.
            replan_gaps: delete the gaps after it, and judge their times anew.
            by: who does it.
            why: may be empty.

        Raises:
            JobNotFoundError: there is no such job.
            OperationRefusedError: see `core.rewinding`; it was removed, or this host's clock is wrong.
            StoreError: the store did not answer, or others were in the way all the time.
        """
        runs = self.ledger.runs
        for _ in self.ledger.tries():
            state = self.deployed(job)
            act = self.sign(What.REWIND, by, why)
            times = times_after(state, to, act.at, self.ledger.retention)
            found, gaps = self.recorded(job, times), runs.gaps(job)
            past = Past(
                times=times,
                runs={run.ref: run for run in found.records},
                gaps=gaps.records,
                unread=[*found.unread, *gaps.unread],
                replan_gaps=replan_gaps,
            )
            change = rewound(state, to, past, act)
            if self.ledger.change_job(change) is Applied.DONE:
                self.tell(act, job=job, planned_to=to, gaps=len(change.gaps))
                return Rewound(state=change.after, times=missing(change, times), gaps=change.gaps)
        raise self.in_the_way(f"rewind job {job}")

    def acknowledge(self, job: str, *, by: str, why: str) -> bool:
        """Close the alert of a job. The scheduler's own closes when its ticks complete again, not before.

        What it lists is not told again; a new time, or one of those that ends FAILED after this, opens it
        anew.

        Args:
            job: its name; there need be no such job any more.
            by: who knows.
            why: what is known.

        Returns:
            False: nothing is open.

        Raises:
            OperationRefusedError: that is the scheduler, not a job; or this host's clock is wrong.
            StoreError: the store did not answer, or others wrote the alert all the time.
        """
        if job == SCHEDULER:
            raise OperationRefusedError(
                "the scheduler's alert closes when its ticks complete again; name a job"
            )
        for _ in self.ledger.tries():
            alert = self.alerts.get(job)
            act = self.sign(What.ACKNOWLEDGE, by, why)
            if alert is None or not alert.is_open:
                return False
            if self.alerts.put(
                alert, replace(alerting.closed(alert, alerting.ACKNOWLEDGED, act.at), act=act)
            ):
                self.tell(act, job=job)
                return True
        raise self.in_the_way(f"the alert of {job}")

    def _changed(
        self,
        job: str,
        what: What,
        signature: tuple[str, str],
        decide: Callable[[JobState, Act], JobState | None],
    ) -> JobAnswer:
        """The job as decided on what was read; None of the decision = it is so already."""
        for _ in self.ledger.tries():
            state = self.job(job)
            act = self.sign(what, *signature)
            after = decide(state, act)
            if after is None:
                return JobAnswer(state=state, changed=False)
            change = JobChange(before=state, after=after)
            if self.ledger.change_job(change) is Applied.DONE:
                self.tell(act, job=job)
                return JobAnswer(state=after, changed=True)
        raise self.in_the_way(f"{what} job {job}")
