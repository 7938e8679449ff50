"""A stack as the watchdog sees it: a store in memory, a clock moved by hand, notices that are remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cronce.core.alerts import Alert, NoticeText
from cronce.core.jobstate import JobState
from cronce.core.ports import Notifier
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import RunStatus
from cronce.core.schedule import Cron
from cronce.engine.job_gauges import JobGauges
from cronce.engine.ledger import Ledger
from cronce.engine.operations import Operations
from cronce.engine.patrol_report import PatrolReport
from cronce.engine.watchdog import Watchdog, WatchdogPorts
from cronce.testing import LeaseItem, ManualClock, MemoryNotifier, MemoryStore, RecordingTelemetry, alert_key
from tests.contract import makers
from tests.contract.makers import JOB

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
STACK = "shop-prod"


def cron(expression: str, tz: str = "UTC") -> dict[str, str]:
    """A schedule as it is stored."""
    return Cron(expression, tz=tz).spec()


def job_state(name: str = JOB, **values: Any) -> JobState:
    """A job of every minute that is planned up to the start."""
    return makers.job_state(name, **{"schedule": cron("* * * * *"), **values})


class World:
    """One stack.

    Attributes:
        clock: of the stack.
        store: of the stack.
        notifier: what people were told.
        telemetry: of the latest patrol.
        ticking: whether a tick completes before each patrol.
    """

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self.notifier = MemoryNotifier()
        self.telemetry = RecordingTelemetry()
        self.ticking = True

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def watchdog(self, notifier: Notifier | None = None, job_gauges: JobGauges | None = None) -> Watchdog:
        store = self.store
        return Watchdog(
            WatchdogPorts(
                clock=self.clock,
                store_clock=store.clock,
                lease=store.lease,
                jobs=store.jobs,
                runs=store.runs,
                steps=store.steps,
                index=store.index,
                alerts=store.alerts,
                notifier=notifier or self.notifier,
                telemetry=self.telemetry,
                job_gauges=job_gauges,
            ),
            STACK,
        )

    def operations(self) -> Operations:
        """What an operator can do."""
        store = self.store
        ledger = Ledger(
            runs=store.runs,
            jobs=store.jobs,
            clock=self.clock,
            telemetry=self.telemetry,
            retention=timedelta(days=400),
        )
        return Operations(
            ledger=ledger,
            steps=store.steps,
            alerts=store.alerts,
            store_clock=store.clock,
            job_of=lambda _: None,
        )

    def acknowledge(self, job: str = JOB) -> bool:
        """An operator closes an alert."""
        return self.operations().acknowledge(job, by="ann", why="it is known")

    def tick(self) -> None:
        """The scheduler completes a tick, whatever it did in it."""
        lease = LeaseItem(owner=None, fencing_token=1, lease_until=self.now, completed_at=self.now)
        self.store.place(lease)

    def patrol(self) -> PatrolReport:
        """The next minute's patrol."""
        self.clock.advance(MINUTE)
        if self.ticking:
            self.tick()
        self.telemetry = RecordingTelemetry()
        return self.watchdog().patrol()

    def patrols(self, count: int, meanwhile: Callable[[], None] = lambda: None) -> list[PatrolReport]:
        """So many minutes, one patrol each, and something before each of them."""
        reports = []
        for _ in range(count):
            meanwhile()
            reports.append(self.patrol())
        return reports

    def until(self, instant: datetime) -> list[PatrolReport]:
        """Patrols up to an instant, the last of them at it."""
        return self.patrols((instant - self.now) // MINUTE)

    def alert(self, scope: str) -> Alert:
        """The alert of a scope, as it is stored."""
        alert = self.store.items()[alert_key(scope)]
        assert isinstance(alert, Alert)
        return alert

    def run(self, ref: RunRef) -> RunRecord:
        """A run, as it is stored."""
        run = self.store.runs.get(ref)
        assert run is not None, f"{ref.id} is not stored"
        return run

    def succeed(self, run: RunRecord) -> None:
        """A run ends well now."""
        ended = replace(
            run,
            status=RunStatus.SUCCEEDED,
            reason=None,
            notice=None,
            owner=None,
            claim_until=None,
            dispatch=None,
            due_at=None,
            started_at=run.started_at or self.now,
            ended_at=self.now,
        )
        self.store.place(ended)

    def told(self) -> list[tuple[str, str]]:
        """What people were told, in order: kind and scope."""
        return [(notice.kind, notice.scope) for notice in self.notifier.notices]

    def notice(self) -> NoticeText:
        """The only notice so far."""
        (notice,) = self.notifier.notices
        return notice
