"""The dead-man's switch: one patrol looks at everything, opens and closes alerts, and tells people.

The order of its writes is what makes a notice come at least once, whatever dies in between:

    1. the alert is written with all that was found; it owes a notice from then on
    2. the ends that the alert lists are marked as told
    3. the notice is published: `sending_until` set by condition, published, marked

A patrol that dies before 1 leaves the ends pending; before 2, ends that the alert knows already; before 3, an
alert that owes a notice; within 3, a `sending_until` that passes before the next patrol. Two patrols at once
write the alert under one `rev`: one of them is refused and leaves the rest to the other.

The gauges are published by every patrol, 0 when fine, and as soon as they are known, after 1: marking and
telling take as long as the store and the topic take to answer. One that could not look at everything does not
claim that all is well: it publishes no gauge of 0 and no heartbeat, and the alarm on the heartbeat says so.

Time. Looking and deciding is not cut short: half of it would be taken for all. 2 and 3 end at `until`: 2 has
half of what is left, 3 goes on to the end, and what then remains is for the rest of 2. What is not done is
owed and still in the index, so the next patrol does it. Such a patrol sends its heartbeat if it judged
everything: thousands of notices at once must not raise the alarm that nobody is looking.

The clock that times are judged by is compared with the store's, as an answer of this patrol shows it. A
patrol that gets no answer, or finds the clocks apart, judges nothing: it would tell of what is not late.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta

from cronce.core import alerting, health
from cronce.core.alerts import SCHEDULER, Alert, Trouble
from cronce.core.errors import UnreadableItemError
from cronce.core.health import Blame, Finding, SchedulerWatch
from cronce.core.lease import Lease, agreed_now
from cronce.core.lease_ports import LeaseStore
from cronce.core.ports import (
    AlertStore,
    Clock,
    DueIndex,
    JobStore,
    Notifier,
    RunStore,
    StepStore,
    StoreClock,
    Telemetry,
)
from cronce.core.run import DueKind
from cronce.core.values import dataclass
from cronce.engine.alert_desk import AlertDesk
from cronce.engine.background import Library
from cronce.engine.job_gauges import JobGauges
from cronce.engine.metrics import JOBS_FAILED, JOBS_MISSED, PATROL_COMPLETED
from cronce.engine.patrol_log import PatrolLog
from cronce.engine.patrol_report import PatrolReport
from cronce.engine.survey import Survey, Surveyor
from cronce.engine.told_ends import ToldEnds

MISSED = (Trouble.MISSED, Trouble.LATE, Trouble.CATCH_UP_LIMIT, Trouble.OVERLAP)
"""Troubles of the gauge `JobsMissed`."""
PATROL_MARGIN = timedelta(seconds=15)
"""So long before its invocation ends a patrol begins nothing more. A notice is one call of the topic and a
few of the store; in the worst case each of them takes seconds to fail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchdogPorts:
    """What the watchdog needs of the outside world. It knows jobs from their stored items only."""

    clock: Clock
    store_clock: StoreClock
    lease: LeaseStore
    jobs: JobStore
    runs: RunStore
    steps: StepStore
    index: DueIndex
    alerts: AlertStore
    notifier: Notifier
    telemetry: Telemetry
    job_gauges: JobGauges | None = None


class Watchdog:
    """Looks after all jobs of a stack.

    Args:
        ports: the outside world.
        stack: its name, which stands in every notice.
    """

    def __init__(self, ports: WatchdogPorts, stack: str) -> None:
        self._ports = ports
        self._stack = stack

    def patrol(self, until: datetime | None = None) -> PatrolReport:
        """Look at everything once, and tell what must be told.

        One bad record, or one part that cannot be done, does not keep the rest from being done; the report
        says so.

        Args:
            until: begin no notice after this, by this host's clock; None = there is no hurry.
        """
        log = PatrolLog(telemetry=self._ports.telemetry)
        lease, answered = self._lease(log)
        now = self._agreed_now(log) if answered else None
        if now is None:
            return self._reported(log, None, self._gauges(log, None, ()))
        ports = self._ports
        reads = Surveyor(jobs=ports.jobs, runs=ports.runs, index=ports.index, log=log, now=now)
        standing, spoiled = self._standing(reads)
        watch = _watch(lease, standing.get(SCHEDULER), now)
        survey = reads.survey(lambda job: _known_to(standing, job, watch))
        desk = self._desk(log, now, watch)
        findings = _by_scope(survey, standing, watch, now)
        desk.decide({scope: found for scope, found in findings.items() if scope not in spoiled}, standing)
        gauges = self._gauges(log, desk, spoiled)
        ends = ToldEnds(ports.runs, log, now)
        ends.add(survey, desk.recorded)
        ends.mark(self._time_until(until, share=0.5))
        desk.tell(self._time_until(until))
        in_time = ends.mark(self._time_until(until)) and not desk.untold
        fit = watch.alive and not desk.refused
        return self._reported(log, desk, gauges, in_time=in_time, fit=fit)

    def _lease(self, log: PatrolLog) -> tuple[Lease | None, bool]:
        """The scheduler's lease, and whether the store has answered at all.

        Its clock is known from an answer only; an item that cannot be understood is one. A lease that cannot
        be reached says nothing about the rest of the store: another item is asked for before the patrol
        gives up.
        """
        lease: Lease | None = None
        answered = False
        with log.part("the scheduler's lease"):
            lease = self._ports.lease.read()
            answered = True
        if not answered and not log.unreadable:
            with log.part("the store's clock"):
                self._ports.alerts.get(SCHEDULER)
                answered = True
        return lease, answered or bool(log.unreadable)

    def _agreed_now(self, log: PatrolLog) -> datetime | None:
        """The instant to judge by; None if own and store's clock differ too much at its last answer."""
        skew = self._ports.store_clock.skew()
        now = agreed_now(self._ports.clock.now(), skew)
        if now is None:
            log.failed("clock", f"it differs from the store's by {skew}")
        return now

    def _standing(self, reads: Surveyor) -> tuple[dict[str, Alert], set[str]]:
        """The alerts that are open or owe a notice, and the scopes of those that cannot be understood."""
        lines: list[str] = []
        with reads.log.part("open alerts"):
            lines = [line.job or SCHEDULER for line in reads.lines(DueKind.ALERT, None)]
        standing: dict[str, Alert] = {}
        spoiled: set[str] = set()
        for scope in dict.fromkeys([SCHEDULER, *lines]):
            with reads.log.part(f"alert of {scope}"):
                try:
                    alert = self._ports.alerts.get(scope)
                except UnreadableItemError:
                    spoiled.add(scope)
                    raise
                standing |= {scope: alert} if alert else {}
        return standing, spoiled

    def _desk(self, log: PatrolLog, now: datetime, watch: SchedulerWatch) -> AlertDesk:
        return AlertDesk(
            store=self._ports.alerts,
            jobs=self._ports.jobs,
            runs=self._ports.runs,
            library=self._library(log),
            notifier=self._ports.notifier,
            telemetry=self._ports.telemetry,
            log=log,
            now=now,
            scheduler_is_alive=watch.alive,
        )

    def _library(self, log: PatrolLog) -> Library:
        return Library(
            stack=self._stack,
            jobs=self._ports.jobs,
            runs=self._ports.runs,
            steps=self._ports.steps,
            index=self._ports.index,
            clock=self._ports.clock,
            log=log,
        )

    def _time_until(self, until: datetime | None, share: float = 1) -> Callable[[], bool]:
        """Says whether there is still time: up to `until`, or for a share of what is left now."""
        clock = self._ports.clock
        if until is None:
            return lambda: True
        begun = clock.now()
        end = begun + (until - begun) * share
        return lambda: clock.now() < end

    def _gauges(self, log: PatrolLog, desk: AlertDesk | None, spoiled: Collection[str]) -> tuple[int, int]:
        """Publish the gauges. An open alert that cannot be understood counts for both."""
        alerts = [alert for alert in desk.alerts.values() if alert.is_open] if desk else []
        missed = len(spoiled) + sum(alerting.lists_any(alert, *MISSED) for alert in alerts)
        failed = len(spoiled) + sum(alerting.lists_any(alert, Trouble.FAILED) for alert in alerts)
        telemetry = self._ports.telemetry
        for metric, gauge in ((JOBS_MISSED, missed), (JOBS_FAILED, failed)):
            if gauge or not log.problems:
                telemetry.count(metric, gauge)
        telemetry.flush()
        if desk and self._ports.job_gauges:
            self._ports.job_gauges.tell(log, alerts, spoiled)
        return missed, failed

    def _reported(
        self,
        log: PatrolLog,
        desk: AlertDesk | None,
        gauges: tuple[int, int],
        *,
        in_time: bool = True,
        fit: bool = False,
    ) -> PatrolReport:
        """The report, as a line, and the heartbeat."""
        report = PatrolReport(
            complete=not log.problems,
            missed=gauges[0],
            failed=gauges[1],
            in_time=in_time,
            vouches=not log.problems and in_time and fit,
            opened=tuple(desk.opened) if desk else (),
            closed=tuple(desk.closed) if desk else (),
            told=tuple(desk.told) if desk else (),
            untold=tuple(desk.untold) if desk else (),
            unreadable=tuple(log.unreadable),
            problems=tuple(log.problems),
        )
        telemetry = self._ports.telemetry
        if report.complete:
            telemetry.count(PATROL_COMPLETED)
        say = telemetry.event if report.in_time else telemetry.warn
        say("patrol.completed" if report.complete else "patrol.incomplete", **asdict(report))
        return report


def _watch(lease: Lease | None, alert: Alert | None, now: datetime) -> SchedulerWatch:
    """What is known of the scheduler; its last silence ends with the patrol that can close its alert."""
    watch = SchedulerWatch(
        completed_at=lease.completed_at if lease else None,
        silent=health.is_silent(lease, now),
        back_at=alert.closed_at if alert else None,
    )
    closes_now = alert is not None and watch.alive and alerting.may_close(alert, now)
    return replace(watch, back_at=now) if closes_now else watch


def _known_to(standing: Mapping[str, Alert], job: str, watch: SchedulerWatch) -> datetime | None:
    """Up to which time the alert that unplanned times of a job would go to lists them already."""
    own = standing.get(job)
    if own and own.is_open:
        return alerting.newest_of(own, job)
    return alerting.newest_of(standing.get(SCHEDULER), job) if watch.silent else None


def _by_scope(
    survey: Survey, standing: Mapping[str, Alert], watch: SchedulerWatch, now: datetime
) -> dict[str, list[Finding]]:
    """The findings by the alert that they belong to; every standing alert is there, the scheduler's first."""
    by_scope: dict[str, list[Finding]] = {scope: [] for scope in standing}
    if watch.silent and watch.completed_at is not None:
        by_scope.setdefault(SCHEDULER, []).append(health.silence(watch.completed_at))
    for job, findings in survey.findings.items():
        own = standing.get(job)
        for finding in findings:
            blame = Blame.JOB if own and own.is_open else watch.blame(finding, now)
            if blame is not Blame.NOBODY:
                scope = job if blame is Blame.JOB else SCHEDULER
                by_scope.setdefault(scope, []).append(finding)
    return by_scope
