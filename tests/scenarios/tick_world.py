"""A deployment as its scheduler sees it: jobs, a store in memory, a clock moved by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cronce.core.instants import to_key
from cronce.core.job import Job, job
from cronce.core.jobstate import JobState, Pause
from cronce.core.ports import PlanStore, RegistryStore
from cronce.core.records import RunRecord
from cronce.core.run import RunStatus
from cronce.core.schedule import Schedule
from cronce.engine.metrics import JOBS_HELD, TICK_COMPLETED
from cronce.engine.registry import Catalog, Declared
from cronce.engine.scheduler import Scheduler, TickReport
from cronce.engine.tick import PlanningPorts
from cronce.testing import ManualClock, MemoryStore, RecordingTelemetry, job_key

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
MORNING = datetime(2026, 1, 5, 5, 0, 4, tzinfo=UTC)


class Killed(BaseException):
    """The process died."""


def declare(name: str, schedule: Schedule, **policies: Any) -> Job:
    """A job that does nothing."""
    return job(name, schedule=schedule, **policies)(lambda run: None)


@dataclass
class Sweeps:
    """The sweep: remembers when it was asked, and says what the test tells it to."""

    complete: bool = True
    asked: list[tuple[datetime, datetime]] = field(default_factory=list)

    def sweep(self, now: datetime, until: datetime) -> Sweeps:
        self.asked.append((now, until))
        return self


@dataclass
class World:
    """One stack and the deployment in it.

    Attributes:
        clock: of the stack; starts four seconds past five.
        store: of the stack.
        sweeps: of all ticks.
        telemetry: of the latest tick.
        catalog: the deployment.
        zone_data: the version in use.
        plans: where planning writes, if not to the store itself.
        registry: where the registry is, if not in the store itself.
    """

    clock: ManualClock = field(default_factory=lambda: ManualClock(MORNING))
    sweeps: Sweeps = field(default_factory=Sweeps)
    telemetry: RecordingTelemetry = field(default_factory=RecordingTelemetry)
    catalog: Catalog = field(default_factory=Catalog)
    zone_data: str = "2026f"
    plans: PlanStore | None = None
    registry: RegistryStore | None = None

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)

    # --- what happens ---------------------------------------------------------------------------------

    def deploy(self, *jobs: Job, problems: dict[str, str] | None = None, module: str = "jobs") -> None:
        """Another version of the code; each job in a module of its own name."""
        declared = {each.name: Declared(job=each, module=f"{module}.{each.name}") for each in jobs}
        self.catalog = Catalog(jobs=declared, problems=problems or {})

    def scheduler(self) -> Scheduler:
        """A scheduler that remembers nothing."""
        store = self.store
        self.telemetry = RecordingTelemetry()
        ports = PlanningPorts(
            clock=self.clock,
            registry=self.registry or store.registry,
            jobs=store.jobs,
            plans=self.plans or store.plans,
            index=store.index,
            telemetry=self.telemetry,
        )
        return Scheduler(
            lease=store.lease,
            store_clock=store.clock,
            planning=ports,
            sweeper=self.sweeps,
            catalog=self.catalog,
            zone_data=self.zone_data,
            retention=timedelta(days=400),
        )

    def tick(self, owner: str | None = None) -> TickReport:
        """A tick now."""
        return self.scheduler().tick(owner)

    def tick_at(self, instant: datetime) -> TickReport:
        """A tick at an instant, past or future."""
        self.clock.set(instant)
        return self.tick()

    def ticks(self, count: int) -> list[TickReport]:
        """A tick in each of the next minutes."""
        return [self.tick_at(self.clock.now() + MINUTE) for _ in range(count)]

    @contextmanager
    def during(self, method: str, when: str, do: Callable[[], object]) -> Iterator[None]:
        """Let something happen once, before or after the first call of a port's method."""
        waiting = True

        def hook(called: str, moment: str) -> None:
            nonlocal waiting
            if waiting and (called, moment) == (method, when):
                waiting = False
                do()

        self.store.on_call(hook)
        try:
            yield
        finally:
            self.store.on_call(None)
        assert not waiting, f"{method} was not called"

    def change(self, name: str, **values: Any) -> None:
        """Edit a job's item, as an operator's command or a hand does."""
        self.store.place(replace(self.job(name), **values))

    def pause(self, name: str) -> None:
        """As the command does it."""
        paused = Pause(at=self.clock.now(), by="ada", why="stock-taking")
        self.change(name, paused=paused, due_at=None, expect_by=None)

    def resume(self, name: str) -> None:
        """As the command does it."""
        now = self.clock.now()
        self.change(name, paused=None, resumed_at=now, due_at=now, expect_by=now + self.job(name).grace)

    # --- what is there --------------------------------------------------------------------------------

    def job(self, name: str) -> JobState:
        """A job's item."""
        state = self.store.items()[job_key(name)]
        assert isinstance(state, JobState)
        return state

    def runs(self, name: str) -> list[RunRecord]:
        """A job's runs, in order of time."""
        return [run for run in self.store.all_runs() if run.ref.job == name]

    def ran(self, name: str) -> list[str]:
        """Times of a job that are to run or did, as `05T06:00`."""
        runs = [run for run in self.runs(name) if run.status is not RunStatus.SKIPPED]
        return [to_key(run.ref.scheduled_at)[8:16] for run in runs]

    def skipped(self, name: str) -> list[str]:
        """Times of a job that have a record of being skipped, with the reason."""
        runs = [run for run in self.runs(name) if run.status is RunStatus.SKIPPED]
        return [f"{to_key(run.ref.scheduled_at)[8:16]} {run.reason}" for run in runs]

    def gaps(self, name: str) -> list[str]:
        """Gaps of a job, as `05T06:01-05T06:09: 9 superseded`."""
        return [
            f"{to_key(gap.first)[8:16]}-{to_key(gap.last)[8:16]}: {gap.count} {gap.reason}"
            for gap in self.store.all_gaps()
            if gap.job == name
        ]

    def accounts(self, name: str, schedule: Schedule) -> Counter[datetime]:
        """How often each time of a job is accounted for: by records, and by gaps that hold it."""
        ledger = Counter(run.ref.scheduled_at for run in self.runs(name))
        for gap in self.store.all_gaps():
            if gap.job == name:
                inside = schedule.between(gap.first - SECOND, gap.last)
                assert (inside[0], inside[-1], len(inside)) == (gap.first, gap.last, gap.count)
                ledger.update(inside)
        return ledger

    @property
    def heartbeat(self) -> float:
        """Of the latest tick."""
        return self.telemetry.metrics.get(TICK_COMPLETED, 0)

    @property
    def held(self) -> float | None:
        """The gauge of held jobs as the latest tick published it."""
        return self.telemetry.metrics.get(JOBS_HELD)
