"""A whole stack: scheduler, dispatcher, executor and watchdog, a store in memory, a clock moved by hand.

Each of them runs as a process of its own, with every call to the outside world through `Places`. A process
that dies, or that the store leaves without an answer, ends as it would in Lambda; the world goes on.

The stream delivers a batch again until the dispatcher has taken it; an asynchronous invocation is not tried
again, as it is deployed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from cronce.core.claim import RENEW_EVERY, Invocation
from cronce.core.errors import CronceError, OperationRefusedError, StoreError
from cronce.core.job import Job
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRecord, RunRef, StepRecord, StepStatus
from cronce.engine.claims import Claims
from cronce.engine.dispatcher import Dispatcher
from cronce.engine.executor import Executor
from cronce.engine.job_loader import LoadProblem
from cronce.engine.ledger import Ledger
from cronce.engine.metrics import PATROL_COMPLETED, RUNS_SUCCEEDED, TICK_COMPLETED
from cronce.engine.operations import Operations
from cronce.engine.registry import Catalog, Declared
from cronce.engine.scheduler import Scheduler, TickEnd
from cronce.engine.sweep import Sweep
from cronce.engine.tick import PlanningPorts
from cronce.engine.watchdog import Watchdog, WatchdogPorts
from cronce.testing import (
    LeaseItem,
    ManualClock,
    MemoryInvoker,
    MemoryNotifier,
    MemoryStore,
    RecordingTelemetry,
    job_key,
)
from tests.crashes.places import EFFECT, Killed, Places, Process

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
RETENTION = timedelta(days=400)
STANDSTILL = 4
"""Minutes of `Fault.STALLS`: longer than the lease, a claim, and what the sweep needs to see it."""
COMMANDS = 3
"""Times that a person gives a command of which there was no answer."""
DELIVERIES = 30
"""Rounds of the dispatcher within a minute: each end may wake the next run."""


class Renewal:
    """Renews when the job has worked for a while. No answer is no end, as in the renewal's own thread."""

    def __init__(self) -> None:
        self._renew: Callable[[], bool] = lambda: False

    @contextmanager
    def renewing(self, renew: Callable[[], bool]) -> Iterator[None]:
        self._renew = renew
        yield

    def renew(self) -> None:
        try:
            self._renew()
        except StoreError:
            return


class Service:
    """Something outside that honours idempotency keys.

    Attributes:
        asked: keys, one for each call.
        effects: keys that took effect.
        repeated: keys of steps that were called although their end was recorded.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.effects: set[str] = set()
        self.repeated: list[str] = []


@dataclass
class Worker:
    """A process of the executor at work."""

    process: Process
    renewal: Renewal


@dataclass
class Stack:
    """One stack and what is deployed in it.

    Attributes:
        clock: moved by hand.
        places: of all processes.
        jobs: what the scheduler finds in the package.
        broken: names of jobs whose code the executor cannot load.
        zone_data: version in use.
        lasts: how long an invocation of the executor may take.
        streaming: whether the stream delivers.
        ticking: whether the scheduler is there; if not, its lease says that it is fine.
        executing: whether executors start.
        watching: whether the watchdog is there.
        ended: what processes ended with, if not by themselves.
        succeeded: runs that ended well, as processes counted them.
    """

    clock: ManualClock
    places: Places = field(default_factory=Places)
    service: Service = field(default_factory=Service)
    invoker: MemoryInvoker = field(default_factory=MemoryInvoker)
    notifier: MemoryNotifier = field(default_factory=MemoryNotifier)
    jobs: dict[str, Job] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    zone_data: str = "2026f"
    lasts: timedelta = 15 * MINUTE
    streaming: bool = True
    ticking: bool = True
    executing: bool = True
    watching: bool = True
    ended: list[BaseException] = field(default_factory=list)
    succeeded: float = 0
    _workers: list[Worker] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _undelivered: list[RunRef] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        self.places.stall = self._stand_still

    # --- processes ------------------------------------------------------------------------------------

    def tick(self) -> None:
        """The scheduler's invocation."""
        if not self.ticking:
            now = self.clock.now()
            self.store.place(LeaseItem(owner=None, fencing_token=1, lease_until=now, completed_at=now))
            return
        telemetry, completed = RecordingTelemetry(), False
        with self._process(self.tick) as process:
            report = self._scheduler(process, telemetry).tick(f"scheduler-{next(self._numbers)}")
            completed = report.end is TickEnd.COMPLETED
        assert completed == bool(telemetry.metrics.get(TICK_COMPLETED)), "the heartbeat is a whole tick's"

    def dispatch(self, refs: list[RunRef]) -> bool:
        """The dispatcher's invocation for a batch of the stream. False: it must be delivered again."""
        failed = ["all"]
        with self._process(lambda: self.dispatch(refs)) as process:
            invoker = process.port("invoker", self.invoker)
            dispatcher = Dispatcher(invoker=invoker, telemetry=RecordingTelemetry())
            failed = dispatcher.dispatch([(str(number), ref) for number, ref in enumerate(refs)])
        return not failed

    def execute(self, ref: RunRef) -> None:
        """The executor's invocation for a run."""
        number = next(self._numbers)
        telemetry = RecordingTelemetry()
        with self._process(lambda: self.execute(ref)) as process:
            worker = Worker(process, Renewal())
            self._workers.append(worker)
            try:
                self._executor(worker, telemetry).execute(
                    ref,
                    Invocation(
                        owner=f"worker-{number}",
                        deadline=self.clock.now() + self.lasts,
                        request_id=f"request-{number}",
                    ),
                )
            finally:
                self._workers.remove(worker)
        self.succeeded += telemetry.metrics.get(RUNS_SUCCEEDED, 0)

    def patrol(self) -> None:
        """The watchdog's invocation."""
        if not self.watching:
            return
        telemetry, completed = RecordingTelemetry(), False
        with self._process(self.patrol) as process:
            completed = Watchdog(self._patrol_ports(process, telemetry), "shop").patrol().complete
        assert completed == bool(telemetry.metrics.get(PATROL_COMPLETED)), "the heartbeat is a whole patrol's"

    # --- the world --------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """The stream tells what it has, and all executors that were asked for do their work."""
        for _ in range(DELIVERIES):
            told = self._undelivered + self.store.drain_stream()
            self._undelivered = []
            if told and self.streaming and not self.dispatch(told):
                self._undelivered = told
            asked = self.invoker.drain()
            for ref in asked if self.executing else ():
                self.execute(ref)
            if not asked:
                return

    def minute(self) -> None:
        """A minute passes: a tick, whoever is asked to execute, a patrol."""
        self.clock.advance(MINUTE)
        self.tick()
        self.deliver()
        self.patrol()

    def minutes(self, number: int) -> None:
        for _ in range(number):
            self.minute()

    def skip_to(self, instant: datetime) -> None:
        """Time passes in which nothing goes wrong. The minute before the instant is lived."""
        with self.places.suspended():
            self.clock.set(instant - 2 * MINUTE)
            self.minute()
        self.clock.set(instant)

    # --- what jobs do -----------------------------------------------------------------------------------

    def work(self, duration: timedelta) -> None:
        """A job computes for a while, and its claim is renewed meanwhile."""
        renewal = self._workers[-1].renewal
        while duration > RENEW_EVERY:
            self.clock.advance(RENEW_EVERY)
            renewal.renew()
            duration -= RENEW_EVERY
        self.clock.advance(duration)

    def effect(self, *_: object, idempotency_key: str) -> str:
        """A job calls something outside."""
        if idempotency_key in self.recorded():
            self.service.repeated.append(idempotency_key)

        def made() -> str:
            self.service.asked.append(idempotency_key)
            self.service.effects.add(idempotency_key)
            return idempotency_key

        said: str = self._workers[-1].process.call(EFFECT, made)
        return said

    def die(self) -> None:
        """The job's process is killed in the middle of it."""
        self._workers[-1].process.die("job")

    def command(
        self, give: Callable[[Operations], object], meanwhile: Callable[[], object] | None = None
    ) -> None:
        """An operator's command, given again for as long as it has no answer. To be refused is one.

        Args:
            give: gives it.
            meanwhile: what another process does that this one meets; the same command, if nothing is said.
        """
        for _ in range(COMMANDS):
            answered = False
            with self._process(meanwhile or (lambda: self.command(give))) as process:
                with suppress(OperationRefusedError):
                    give(self._operations(process))
                answered = True
            if answered:
                return

    # --- what is there ----------------------------------------------------------------------------------

    def declare(self, *jobs: Job) -> None:
        """Deploy jobs beside those that are there."""
        self.jobs |= {job.name: job for job in jobs}

    def contents(self, kind: type[Any]) -> list[Any]:
        """All stored items of a kind, in order of their keys."""
        return [item for item in self.store.items().values() if isinstance(item, kind)]

    def runs(self) -> list[RunRecord]:
        return self.contents(RunRecord)

    def gaps(self) -> list[Gap]:
        return self.contents(Gap)

    def job(self, name: str) -> JobState:
        state = self.store.items()[job_key(name)]
        assert isinstance(state, JobState)
        return state

    def change(self, name: str, **values: Any) -> None:
        """Edit a job's item, as an operator's command or a hand does."""
        self.store.place(replace(self.job(name), **values))

    def recorded(self) -> set[str]:
        """Idempotency keys of the steps and items whose end is recorded."""
        return {
            f"shop/{step.ref.id}/{step.name}" + (f"/{key}" if step.keys else "")
            for step in self.contents(StepRecord)
            if step.status is StepStatus.DONE
            for key in (step.keys or ("",))
        }

    # --- how processes are made -------------------------------------------------------------------------

    @contextmanager
    def _process(self, again: Callable[[], object]) -> Iterator[Process]:
        process = Process(self.places, again)
        try:
            yield process
        except (Killed, CronceError) as end:
            self.ended.append(end)

    def _stand_still(self) -> None:
        for _ in range(STANDSTILL):
            self.minute()

    def _ledger(self, process: Process, telemetry: RecordingTelemetry) -> Ledger:
        return Ledger(
            runs=process.port("runs", self.store.runs),
            jobs=process.port("jobs", self.store.jobs),
            clock=self.clock,
            telemetry=telemetry,
            retention=RETENTION,
            draw=lambda: 0.0,
        )

    def _scheduler(self, process: Process, telemetry: RecordingTelemetry) -> Scheduler:
        store, port = self.store, process.port
        index = port("index", store.index)
        return Scheduler(
            lease=port("lease", store.lease),
            store_clock=store.clock,
            planning=PlanningPorts(
                clock=self.clock,
                registry=port("registry", store.registry),
                jobs=port("jobs", store.jobs),
                plans=port("plans", store.plans),
                index=index,
                telemetry=telemetry,
            ),
            sweeper=Sweep(
                index=index,
                claims=Claims(ledger=self._ledger(process, telemetry), store_clock=store.clock),
                dispatcher=Dispatcher(invoker=port("invoker", self.invoker), telemetry=telemetry),
                job_of=self.jobs.get,
            ),
            catalog=Catalog(
                jobs={job.name: Declared(job=job, module=f"jobs.{job.name}") for job in self.jobs.values()}
            ),
            zone_data=self.zone_data,
            retention=RETENTION,
        )

    def _executor(self, worker: Worker, telemetry: RecordingTelemetry) -> Executor:
        ledger = self._ledger(worker.process, telemetry)
        return Executor(
            claims=Claims(ledger=ledger, store_clock=self.store.clock),
            steps=worker.process.port("steps", self.store.steps),
            leases=worker.process.port("leases", self.store.leases),
            load=self._load,
            renewal=worker.renewal,
            key_prefix="shop",
        )

    def _operations(self, process: Process) -> Operations:
        return Operations(
            ledger=self._ledger(process, RecordingTelemetry()),
            steps=process.port("steps", self.store.steps),
            alerts=process.port("alerts", self.store.alerts),
            store_clock=self.store.clock,
            job_of=self.jobs.get,
            suffix=lambda: "asked",
        )

    def _load(self, _module: str, name: str) -> Job | LoadProblem | None:
        return LoadProblem(text="it does not import") if name in self.broken else self.jobs.get(name)

    def _patrol_ports(self, process: Process, telemetry: RecordingTelemetry) -> WatchdogPorts:
        store, port = self.store, process.port
        return WatchdogPorts(
            clock=self.clock,
            store_clock=store.clock,
            lease=port("lease", store.lease),
            jobs=port("jobs", store.jobs),
            runs=port("runs", store.runs),
            steps=port("steps", store.steps),
            index=port("index", store.index),
            alerts=port("alerts", store.alerts),
            notifier=port("notifier", self.notifier),
            telemetry=telemetry,
        )


def at(hour: int, minute: int = 0, second: int = 0, day: int = 5) -> datetime:
    """An instant of the first days of the tests."""
    return datetime.fromisoformat(f"2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
