"""Writes alerts and tells people: the acting half of a patrol.

Every write of an alert is conditional on its `rev`. Losing one is no error: another watchdog is at work on
the same alert, and whatever it leaves undone the next patrol finds again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta

from cronce.core import alerting
from cronce.core.alerting import RECOVERED, REMOVED
from cronce.core.alerts import SCHEDULER, Alert
from cronce.core.errors import NotifyError
from cronce.core.health import Finding
from cronce.core.jobstate import JobState
from cronce.core.notices import notice_of
from cronce.core.ports import AlertStore, JobStore, Notifier, RunStore, Telemetry
from cronce.core.values import dataclass
from cronce.engine.background import Library
from cronce.engine.metrics import NOTICES_FAILED
from cronce.engine.patrol_log import PatrolLog

LATER_RUNS = 200
"""Newest runs of a job among which one is looked for that makes an alert's times good."""
MARK_TRIES = 3
"""Tries of writing down that a notice is out, when others grow the alert at the same moment."""


@dataclass(kw_only=True, slots=True)
class AlertDesk:
    """The alerts of one patrol.

    Attributes:
        store: where alerts are kept.
        jobs: where the jobs are.
        runs: where the runs are.
        library: for what a notice says beside its alert.
        notifier: tells people.
        telemetry: every alert that opens or closes, and every notice, is a line.
        log: where trouble goes.
        now: of the patrol.
        scheduler_is_alive: whether its alert can be closed.
        alerts: by scope, as far as this patrol looked at them.
        recorded: scopes whose findings are safely written.
        opened: scopes of the alerts that this patrol opened.
        closed: scopes of those that it closed.
        told: ids of the notices that it published.
        untold: scopes of the alerts whose notice waits for the next patrol, for want of time.
        refused: ids of the notices that could not be published.
    """

    store: AlertStore
    jobs: JobStore
    runs: RunStore
    library: Library
    notifier: Notifier
    telemetry: Telemetry
    log: PatrolLog
    now: datetime
    scheduler_is_alive: bool
    alerts: dict[str, Alert] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    opened: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def decide(self, findings: Mapping[str, Sequence[Finding]], standing: Mapping[str, Alert]) -> None:
        """Open, grow and close alerts, and let those remind that stand for long.

        Args:
            findings: by scope; a scope without any is looked at for closing.
            standing: alerts that were read already.
        """
        states: Mapping[str, JobState] = {}
        with self.log.part("jobs with open alerts"):
            states = self.jobs.get_many(sorted(scope for scope in standing if scope != SCHEDULER)).states
        for scope, found in findings.items():
            with self.log.part(f"alert of {scope}"):
                before = standing.get(scope) or self.store.get(scope)
                after = alerting.with_findings(before, scope, found, self.now)
                if after is None:
                    continue
                opens = after.is_open and (before is None or not before.is_open)
                because = None if opens else self._over(after, states.get(scope))
                if because:
                    after = alerting.closed(after, because, self.now)
                elif alerting.needs_reminder(after, self.now):
                    after = alerting.reminding(after)
                self._write_decision(before, after)

    def tell(self, has_time: Callable[[], bool]) -> None:
        """Publish the notices that are owed, as long as there is time. The next patrol owes the rest."""
        for scope, alert in list(self.alerts.items()):
            if not alerting.may_send(alert, self.now):
                continue
            if not has_time():
                self.untold.append(scope)
                continue
            with self.log.part(f"notice of {scope}"):
                self._publish(alert)

    def _write_decision(self, before: Alert | None, after: Alert) -> None:
        self.alerts[after.scope] = after
        if after == before:
            self.recorded.add(after.scope)
            return
        stored = self._put(before, after)
        if stored is None:
            self.telemetry.event("alert.moved", scope=after.scope)
            return
        self.alerts[after.scope] = stored
        self.recorded.add(after.scope)
        was_open = before is not None and before.is_open
        if stored.is_open and not was_open:
            self.opened.append(stored.scope)
            self.telemetry.warn("alert.opened", scope=stored.scope, count=stored.count)
        elif not stored.is_open and was_open:
            self.closed.append(stored.scope)
            self.telemetry.event("alert.closed", scope=stored.scope, because=stored.closed_because)

    def _over(self, alert: Alert, state: JobState | None) -> str | None:
        """Why an alert can be closed, or None if it stands."""
        if not alerting.may_close(alert, self.now):
            return None
        if alert.scope == SCHEDULER:
            return RECOVERED if self.scheduler_is_alive else None
        if state is not None and state.removed_at is not None:
            return REMOVED
        refs = [alerting.ref_of(time, alert.scope) for time in alert.times]
        listed = self.runs.get_many(refs)
        trouble = alerting.newest_trouble(alert, listed)
        if trouble is None:
            return RECOVERED
        after = trouble + timedelta(seconds=1)
        later = self.runs.runs(alert.scope, after, self.now, LATER_RUNS).records if after <= self.now else []
        return RECOVERED if alerting.is_settled(alert, listed, later) else None

    def _publish(self, alert: Alert) -> None:
        claimed = self._put(alert, alerting.sending(alert, self.now))
        if claimed is None:
            return
        self.alerts[alert.scope] = claimed
        notice = notice_of(claimed, self.library.background(claimed))
        try:
            self.notifier.publish(notice)
        except NotifyError as error:
            self.telemetry.warn("notice.failed", notice=notice.id, problem=str(error))
            self.telemetry.count(NOTICES_FAILED)
            self.refused.append(notice.id)
            self._put(claimed, alerting.not_told(claimed))
            return
        self.told.append(notice.id)
        self.telemetry.event("notice.published", notice=notice.id, subject=notice.subject)
        self._mark_told(claimed)

    def _mark_told(self, claimed: Alert) -> None:
        """Write down that the notice is out, also if the alert has grown meanwhile."""
        current: Alert | None = claimed
        for _ in range(MARK_TRIES):
            if current is None or _state(current) != _state(claimed):
                return
            stored = self._put(current, alerting.told(current, self.now))
            if stored is not None:
                self.alerts[stored.scope] = stored
                return
            current = self.store.get(claimed.scope)

    def _put(self, before: Alert | None, after: Alert) -> Alert | None:
        """Write an alert; returns it as stored, or None if somebody was first."""
        if not self.store.put(before, after):
            return None
        return replace(after, rev=(before.rev if before else 0) + 1)


def _state(alert: Alert) -> tuple[object, ...]:
    """What one notice tells: while this is the same, the same notice is owed."""
    return alert.since, alert.closed_at, alert.reminders, alert.sending_until
