"""The tick: one pass of the scheduler.

    1. take the lease             busy: somebody else ticks, stop
    2. compare the clocks         too far apart: give the lease back, stop
    3. reconcile                  if the deployment is not what was planned last, and once an hour; every five
                                  minutes while something of it waits for a person
    4. read what is due           the index says whom to look at, the items say what is true
    5. plan                       pure, each job by itself
    6. write                      each job in one transaction with its `planned_to`, under the lease
    7. sweep                      wake, dispatch and time out runs
    8. give the lease back        with `completed_at`, if the tick was complete
    9. heartbeat                  likewise

Guaranteed: a job that cannot be reconciled, evaluated or written is reported and stops nobody. A tick may die
anywhere: what it wrote is whole, the rest is done by the next one. Two ticks at once, or one that was paused
and wakes up, plan nothing twice, since every write is conditional on the lease's token and on what was read.

Not complete is a tick that lost the lease, ran out of time or met more jobs than it reads. It sends no
heartbeat. One bad job does not make it incomplete: that is told by the gauge of held jobs, and by the
watchdog, which finds the job overdue.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import uuid4

from cronce.core.lease import Grant, agreed_now
from cronce.core.lease_ports import LeaseStore
from cronce.core.planning import Moment
from cronce.core.ports import StoreClock
from cronce.core.values import dataclass
from cronce.engine.metrics import JOBS_HELD, TICK_COMPLETED
from cronce.engine.registry import Catalog
from cronce.engine.tick import PLANNING_TIME, PlanningPorts, TickPlanner

TICK_TIME = timedelta(seconds=25)
"""Of planning and sweep together. With discovery (15 s) it fits into the scheduler's 45 s."""


class Swept(Protocol):
    """What a sweep reports."""

    @property
    def complete(self) -> bool:
        """Whether everything due was looked at."""
        ...


class Sweeper(Protocol):
    """Wakes, dispatches and times out runs."""

    def sweep(self, now: datetime, until: datetime) -> Swept:
        """Look at what is due at `now`; stop by `until`."""
        ...


class TickEnd(StrEnum):
    """How a tick ended."""

    COMPLETED = "completed"
    """Everything due was planned and swept."""
    INCOMPLETE = "incomplete"
    """Time was over, or there was too much. The next tick goes on."""
    BUSY = "busy"
    """Somebody else holds the lease."""
    CLOCK_SKEW = "clock_skew"
    """This host's clock and the store's differ too much to plan by either."""
    LEASE_LOST = "lease_lost"
    """Somebody else took the lease over: this tick was too slow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TickReport:
    """What a tick did.

    Attributes:
        end: how it ended.
        now: the instant it acted on; None = it did not act.
        reconciled: whether the jobs were compared with the deployment.
        due: jobs that were due.
        planned: jobs that were written.
        runs: run records that were written.
        gaps: gaps that were written.
        duplicates: records that existed already.
        stale: jobs that moved or were in conflict and wait for the next tick.
        unplanned: jobs that could not be planned; the log says why.
    """

    end: TickEnd
    now: datetime | None = None
    reconciled: bool = False
    due: int = 0
    planned: int = 0
    runs: int = 0
    gaps: int = 0
    duplicates: int = 0
    stale: frozenset[str] = frozenset()
    unplanned: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduler:
    """Ticks.

    Attributes:
        lease: the right to plan.
        store_clock: the store's clock.
        planning: what planning reads and writes.
        sweeper: the other half of a tick.
        catalog: the jobs of this deployment.
        zone_data: version of the zone data in use.
        retention: how long records are kept.
    """

    lease: LeaseStore
    store_clock: StoreClock
    planning: PlanningPorts
    sweeper: Sweeper
    catalog: Catalog
    zone_data: str
    retention: timedelta

    def tick(self, owner: str | None = None) -> TickReport:
        """One pass.

        Args:
            owner: of the lease; made anew for each invocation if it is not given.

        Raises:
            StoreError: the store could not be reached. The lease is left to expire; the next tick goes on.
        """
        clock, telemetry = self.planning.clock, self.planning.telemetry
        began, mark = clock.now(), clock.monotonic()
        grant = self.lease.take(owner or uuid4().hex, began)
        if grant is None:
            telemetry.event("tick.busy")
            return TickReport(end=TickEnd.BUSY)
        skew = self.store_clock.skew()
        now = agreed_now(clock.now(), skew)
        if now is None:
            self.lease.release(grant, None)
            telemetry.warn("tick.clock_skew", skew_seconds=skew.total_seconds(), own=clock.now())
            return TickReport(end=TickEnd.CLOCK_SKEW)
        planner = TickPlanner(
            ports=self.planning,
            catalog=self.catalog,
            grant=grant,
            moment=Moment(now=now, zone_data=self.zone_data, retention=self.retention),
            until=mark + PLANNING_TIME,
        )
        planner.run()
        return self._finish(planner, began + TICK_TIME)

    def _finish(self, planner: TickPlanner, until: datetime) -> TickReport:
        """Sweep, give the lease back, tell."""
        end = TickEnd.LEASE_LOST
        if not planner.written.lease_lost:
            swept = self.sweeper.sweep(planner.moment.now, until)
            complete = planner.in_time and swept.complete
            released = self.lease.release(planner.grant, planner.moment.now if complete else None)
            if released:
                end = TickEnd.COMPLETED if complete else TickEnd.INCOMPLETE
            self.planning.telemetry.count(JOBS_HELD, len(self.catalog.problems) + planner.held)
        if end is TickEnd.COMPLETED:
            self.planning.telemetry.count(TICK_COMPLETED)
        report = _report(planner, end)
        self._tell(report, planner.grant)
        return report

    def _tell(self, report: TickReport, grant: Grant) -> None:
        telemetry = self.planning.telemetry
        for module, problem in self.catalog.problems.items():
            trace = self.catalog.tracebacks.get(module)
            telemetry.warn("module.unusable", module=module, problem=problem, traceback=trace)
        say = telemetry.event if report.end is TickEnd.COMPLETED else telemetry.warn
        say(
            f"tick.{report.end.value}",
            now=report.now,
            fencing_token=grant.fencing_token,
            zone_data=self.zone_data,
            reconciled=report.reconciled,
            due=report.due,
            planned=report.planned,
            runs=report.runs,
            gaps=report.gaps,
            duplicates=report.duplicates,
            stale=sorted(report.stale),
            unplanned=list(report.unplanned),
        )


def _report(planner: TickPlanner, end: TickEnd) -> TickReport:
    written = planner.written
    return TickReport(
        end=end,
        now=planner.moment.now,
        reconciled=planner.reconciled,
        due=planner.due,
        planned=len({window.after.name for window in written.done}),
        runs=sum(len(window.runs) for window in written.done),
        gaps=sum(len(window.gaps) for window in written.done),
        duplicates=written.duplicates,
        stale=frozenset(written.stale),
        unplanned=tuple(sorted(planner.unplanned)),
    )
