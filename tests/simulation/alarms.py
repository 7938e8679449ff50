"""Alerts against causes: each trouble is told, nothing is told without one.

It is the topic too: what was published is kept here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cronce.core.alerting import RECOVERED, is_settled, ref_of
from cronce.core.alerts import SCHEDULER, TIMES_KEPT, Alert, NoticeText, Trouble, TroubledTime
from cronce.core.errors import NotifyError
from cronce.core.health import SILENT_AFTER
from cronce.core.jobstate import Gap
from cronce.core.lease import CLOCK_SKEW
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Notice, Reason, RunStatus
from cronce.engine.patrol_report import PatrolReport
from cronce.testing import LeaseItem, alert_key, run_key
from cronce.testing.keys import LEASE, Item, Key
from tests.simulation.process import Process
from tests.simulation.scenario import MINUTE, SECOND, Happening

if TYPE_CHECKING:
    from tests.simulation.world import World

TOLD_WITHIN = 5 * MINUTE
"""In quiet times: a patrol a minute, one of which may be lost, and an index that is a little late."""
A_PATROL = timedelta(seconds=60)
"""What a patrol has read may be so old when it writes."""


class Alarms:
    """Judges alerts.

    Args:
        world: whose.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._listed: dict[tuple[str, datetime], datetime] = {}
        self._counted: dict[str, int] = {}
        self._published: defaultdict[str, list[str]] = defaultdict(list)
        self._graces = {
            plan.name: [definition.policies["grace"] for definition in plan.definitions]
            for plan in world.scenario.jobs
        }
        self._failed: dict[RunRef, datetime] = {}
        self._failures_listed: dict[RunRef, datetime | None] = {}
        self.notices = 0

    def publish(self, notice: NoticeText) -> None:
        """The topic takes a notice."""
        if self._world.is_on(Happening.TOPIC_DOWN):
            raise NotifyError("the topic does not answer")
        self._published[notice.scope].append(notice.kind)
        self.notices += 1
        self._world.timeline.note("TOPIC", f"{notice.kind} {notice.scope}: {notice.subject}")

    def transaction(self, changes: Sequence[tuple[Key, Item | None, Item | None]]) -> None:
        """Judge what one call has written."""
        for _, before, after in changes:
            if isinstance(after, Alert):
                self._alert(before if isinstance(before, Alert) else None, after)
            elif isinstance(after, RunRecord) and isinstance(before, RunRecord):
                self._ended(before, after)
            elif isinstance(before, RunRecord) and after is None:
                self._failed.pop(before.ref, None)  # it was listed, and its record is lost

    def _ended(self, before: RunRecord, after: RunRecord) -> None:
        if after.status is RunStatus.FAILED and not before.status.is_final:
            self._failed[after.ref] = self._world.hub.now
        elif before.status.is_final and not after.status.is_final:
            self._failed.pop(after.ref, None)  # an operator was quicker than the watchdog

    def _alert(self, before: Alert | None, after: Alert) -> None:
        known = {(time.job, time.scheduled_at, time.trouble) for time in before.times} if before else set()
        for time in after.times:
            if time.trouble is Trouble.FAILED:
                self._failures_listed[ref_of(time, after.scope)] = time.ended_at
            if (time.job, time.scheduled_at, time.trouble) in known:
                continue
            self._listed.setdefault((time.job or after.scope, time.scheduled_at), self._world.hub.now)
            problem = self._groundless(time)
            if problem:
                text = f"{after.scope}: {time.trouble} {time.scheduled_at:%d %H:%M}: {problem}"
                self._world.violated("no alert without cause", text, time.job)
        if before is not None and before.is_open and not after.is_open and after.closed_because == RECOVERED:
            self._closes(after)
        self._counted[after.scope] = max(self._counted.get(after.scope, 0), after.count)

    def _closes(self, alert: Alert) -> None:
        """An alert of a job closes only when nothing listed is bad, or a later time went well."""
        world = self._world
        lost = world.incidents.lost.get(alert.scope)
        if alert.scope == SCHEDULER or (lost is not None and lost > world.hub.now - A_PATROL):
            return
        runs = [
            item for item in world.store.table.partition(f"JOB#{alert.scope}") if isinstance(item, RunRecord)
        ]
        bad = [time for time in alert.times if self._is_bad(alert.scope, time)]
        newest = max((time.scheduled_at for time in bad), default=None)
        good = [
            run.ref.scheduled_at for run in runs if run.status is RunStatus.SUCCEEDED and run.is_scheduled
        ]
        if newest is not None and max(good, default=newest) <= newest:
            text = f"{alert.scope}: {bad[-1].trouble} {newest:%d %H:%M} and nothing since went well"
            world.violated("an alert stands as long as something is wrong", text, alert.scope)

    def _is_bad(self, scope: str, time: TroubledTime) -> bool:
        run = self._world.item(run_key(RunRef(time.job or scope, time.scheduled_at, time.suffix)))
        good = (RunStatus.SUCCEEDED, RunStatus.CANCELLED)
        harmless = (Reason.EXCLUDED, Reason.SAME_LOCAL_TIME)
        if self._was_brought_back(run):
            return False
        return not isinstance(run, RunRecord) or not (run.status in good or run.reason in harmless)

    def _groundless(self, time: TroubledTime) -> str | None:
        """Why nothing is wrong with a time that an alert lists."""
        world, now = self._world, self._world.hub.now
        if time.trouble is Trouble.SILENT:
            lease = world.item(LEASE)
            since = lease.completed_at if isinstance(lease, LeaseItem) else None
            late = since is None or now - time.scheduled_at > SILENT_AFTER - CLOCK_SKEW
            return None if late else f"the last tick completed {since}"
        run = world.item(run_key(RunRef(time.job, time.scheduled_at, time.suffix)))
        if time.trouble is Trouble.MISSED:
            if now < time.scheduled_at + min(self._graces[time.job]) - CLOCK_SKEW:
                return "its grace is not over"
            if isinstance(run, RunRecord) and run.status is RunStatus.SUCCEEDED and run.ended_at is not None:
                process = world.current
                slow = process is None or process.disturbed  # it may have read what was true long ago
                fresh = slow or run.ended_at > now - A_PATROL - CLOCK_SKEW
                return None if fresh else f"it succeeded {run.ended_at}"
            return None
        if time.trouble is Trouble.FAILED:
            is_failed = isinstance(run, RunRecord) and run.status is RunStatus.FAILED
            return None if is_failed or self._was_brought_back(run) else "it has not failed"
        if isinstance(run, RunRecord) and (run.status is RunStatus.SKIPPED or self._was_brought_back(run)):
            return None
        return None if self._world.accounts.gap_at(time.job, time.scheduled_at) else "it was not skipped"

    def _was_brought_back(self, run: Item | None) -> bool:
        """Whether an operator brought the run back since a patrol that writes now may have read it."""
        if not isinstance(run, RunRecord):
            return False
        process, at = self._world.current, self._world.authority.brought_back.get(run.ref)
        slow = process is None or process.disturbed
        return at is not None and (slow or at > self._world.hub.now - A_PATROL - CLOCK_SKEW)

    def patrolled(self, process: Process, report: PatrolReport) -> None:
        """A patrol that nothing disturbed has come to its end: what hangs in a worker's hands is told."""
        world = self._world
        if not report.complete or process.disturbed or process.skew:
            return
        settled = process.began - world.store.table.index_lag - SECOND
        for job, runs in world.watch.unfinished.items():
            acknowledged = world.authority.acknowledged.get(job)
            if acknowledged is not None and acknowledged >= process.began:
                continue  # an operator wrote the alert between its read and its write
            for run in runs.values():
                since = run.slice_started_at
                works = run.status is RunStatus.RUNNING and since is not None and since < settled
                late = run.expect_by is not None and run.expect_by < settled
                if works and late and run.claim_until and run.claim_until > world.hub.now:
                    self._must_list(job, run)

    def _must_list(self, job: str, run: RunRecord) -> None:
        alert = self._world.item(alert_key(job))
        full = isinstance(alert, Alert) and alert.count > TIMES_KEPT
        if (job, run.ref.scheduled_at) not in self._listed and not full:
            text = f"{run.ref.id} was expected by {run.expect_by}"
            self._world.violated("a patrol lists what is late", text, job)

    # --- at the end ---------------------------------------------------------------------------------------

    def settle(self) -> None:
        """The history is over: what had to be told was told, what is over is closed."""
        world = self._world
        late = world.scenario.end - TOLD_WITHIN
        for item in world.store.table.items().values():
            if isinstance(item, RunRecord) and self._waits(item.notice, item.ended_at, late):
                if not self._is_put_off(item):
                    world.violated("every end that must be told is told", item.ref.id, item.ref.job)
            elif isinstance(item, Gap) and self._waits(item.notice, item.created_at, late):
                text = f"{item.job}: gap from {item.first}"
                world.violated("every end that must be told is told", text, item.job)
        for ref, failed_at in self._failed.items():
            full = self._counted.get(ref.job, 0) > TIMES_KEPT
            run = world.item(run_key(ref))
            ended_at = run.ended_at if isinstance(run, RunRecord) else None
            listed = ref in self._failures_listed and self._failures_listed[ref] == ended_at
            if failed_at < late and not full and not listed:
                world.violated("every failure is listed", ref.id, ref.job)
        for scope in [SCHEDULER, *self._graces]:
            alert = world.item(alert_key(scope))
            if isinstance(alert, Alert):
                self._standing(alert, late)
        self._missed(late)

    def _waits(self, notice: Notice | None, since: datetime | None, late: datetime) -> bool:
        """Whether it is still to be told, although there was time."""
        return notice is Notice.PENDING and since is not None and since < late

    def _is_put_off(self, run: RunRecord) -> bool:
        """A skip for overlap about which nothing can be said yet."""
        return run.due_at is not None and run.due_at > self._world.scenario.end - TOLD_WITHIN

    def _standing(self, alert: Alert, late: datetime) -> None:
        """Its notices are out, and it does not stand for nothing."""
        world = self._world
        owed = alert.notified_at is None and alert.due_at is not None and alert.due_at < late
        if owed:
            world.violated(
                "what an alert owes is published", f"{alert.scope} since {alert.since}", alert.scope
            )
        # One that was acknowledged before it was told (or as it opened) owes a notice only from when it opens
        # again.
        acknowledged = world.authority.acknowledged.get(alert.scope)
        known = acknowledged is not None and acknowledged >= alert.since
        if not self._published[alert.scope] and not known and alert.since < late:
            world.violated("an alert that opened is told", f"{alert.scope} since {alert.since}", alert.scope)
        if not alert.is_open:
            return
        if alert.scope == SCHEDULER:
            world.violated("the scheduler's alert closes", f"since {alert.since}")
            return
        runs = [
            item for item in world.store.table.partition(f"JOB#{alert.scope}") if isinstance(item, RunRecord)
        ]
        settled = [run for run in runs if run.ended_at is None or run.ended_at < late]
        refs = {ref_of(time, alert.scope) for time in alert.times}
        listed = {run.ref: run for run in settled if run.ref in refs}
        known = all(ref in listed or not any(run.ref == ref for run in runs) for ref in refs)
        if known and is_settled(alert, listed, settled):
            world.violated("an alert closes", f"{alert.scope} since {alert.since}", alert.scope)

    def _missed(self, late: datetime) -> None:
        """Whatever is late by now is part of an open alert."""
        world = self._world
        calm = world.scenario.trouble_ends + 10 * MINUTE
        for job, runs in world.watch.unfinished.items():
            alert = world.item(alert_key(job))
            times = (
                {time.scheduled_at for time in alert.times}
                if isinstance(alert, Alert) and alert.is_open
                else set()
            )
            for run in runs.values():
                due = run.expect_by and max(run.expect_by, calm + max(self._graces[job]))
                full = isinstance(alert, Alert) and alert.count > TIMES_KEPT
                if due and due < late and run.ref.scheduled_at not in times and not full:
                    text = f"{run.ref.id} was expected by {run.expect_by}"
                    world.violated("what is late is told", text, job)
