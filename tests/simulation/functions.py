"""The functions of the stack in the virtual world: what `bootstrap` puts together, with the world's ports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import partial
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any, Self

from cronce.core.claim import Invocation
from cronce.core.job import Job, job
from cronce.core.records import RunRef
from cronce.engine import dispatcher as dispatcher_module
from cronce.engine import function_call, held_claim, step_log
from cronce.engine import tick as tick_module
from cronce.engine.claims import Claims
from cronce.engine.dispatcher import Dispatcher
from cronce.engine.executor import Executor
from cronce.engine.job_loader import LoadProblem
from cronce.engine.ledger import Ledger
from cronce.engine.registry import Catalog, Declared
from cronce.engine.scheduler import Scheduler
from cronce.engine.sweep import Sweep
from cronce.engine.tick import PlanningPorts
from cronce.engine.watchdog import Watchdog, WatchdogPorts
from tests.simulation.beat import Lock, Renewal
from tests.simulation.process import Process, time_limit
from tests.simulation.scenario import DAY, SECOND, Happening, JobPlan
from tests.simulation.script import function_of
from tests.simulation.stream import Record

if TYPE_CHECKING:
    from tests.simulation.operators import Command
    from tests.simulation.world import World

STACK = "sim"
RETENTION = 400 * DAY
SCHEDULER_LASTS = WATCHDOG_LASTS = 45 * SECOND
DISPATCHER_LASTS = 30 * SECOND
PATROL_MARGIN = 15 * SECOND
OPERATOR_LASTS = 3600 * SECOND
"""A command line is ended by nobody; after an hour its terminal is closed."""


class Functions:
    """Starts processes.

    Args:
        world: where.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._jobs: dict[tuple[str, int], Job] = {}
        self._catalogs: dict[tuple[int, bool], Catalog] = {}
        self._calls = 0

    # --- seams --------------------------------------------------------------------------------------------

    @contextmanager
    def seams(self) -> Iterator[None]:
        """Within the block, what the engine does with threads and signals is done with coroutines."""
        world = self.world

        def limit(seconds: float, what: str) -> AbstractContextManager[Any]:
            return time_limit(world.process, seconds, what)

        def shielded() -> AbstractContextManager[None]:
            return world.process.shielded()

        replaced: list[tuple[Any, str, object]] = [
            (held_claim, "threading", SimpleNamespace(Lock=lambda: Lock(world.process))),
            (dispatcher_module, "ThreadPoolExecutor", _OneAfterTheOther),
            (step_log, "shielded", shielded),
            *((module, "time_limit", limit) for module in (function_call, tick_module)),
        ]
        before = [(module, name, getattr(module, name)) for module, name, _ in replaced]
        for module, name, value in replaced:
            setattr(module, name, value)
        try:
            yield
        finally:
            for module, name, value in before:
                setattr(module, name, value)

    # --- who is started -----------------------------------------------------------------------------------

    def minute(self) -> None:
        """The two rules of this minute deliver: a little late, twice, or not at all."""
        world, name = self.world, f"{self.world.hub.now:%d %H:%M}"
        rate = 0.0 if world.is_calm else 0.002 + 2 * world.weather.fault
        for rule, down, start in (
            ("tick", Happening.SCHEDULER_DOWN, self.scheduler),
            ("patrol", Happening.WATCHDOG_DOWN, self.watchdog),
        ):
            event = f"{rule} {name}"
            if world.is_on(down) or world.faults.happens(f"{rule} dropped", event, rate):
                continue
            late = world.chance.span(f"{event}/late", 0.5, 20)
            world.hub.at(world.hub.now + late, partial(start, event))
            twice = rule == "tick" and world.is_on(Happening.TWO_SCHEDULERS)
            if twice or world.faults.happens(f"{rule} doubled", event, rate):
                again = late + world.chance.span(f"{event}/again", 0, 8)
                world.hub.at(world.hub.now + again, partial(start, f"{event} twice"))

    def scheduler(self, name: str) -> None:
        """One tick."""
        process = self._process(name, SCHEDULER_LASTS)
        process.start(lambda: self._scheduler(process).tick(process.owner))

    def watchdog(self, name: str) -> None:
        """One patrol."""
        process = self._process(name, WATCHDOG_LASTS)
        until = process.now() + WATCHDOG_LASTS - PATROL_MARGIN
        process.start(lambda: self._watchdog(process).patrol(until))

    def dispatcher(self, name: str, batch: Sequence[Record], done: Callable[[object], None]) -> None:
        """One batch of the stream."""
        process = self._process(name, DISPATCHER_LASTS)
        process.ends_told = done
        records = [(record.number, record.ref) for record in batch]
        process.start(lambda: self._dispatcher(process).dispatch(records))

    def executor(self, ref: RunRef, name: str, done: Callable[[object], None]) -> None:
        """One event of the executor."""
        lasts = timedelta(seconds=self.world.chance.one_of("executor lasts", (60, 300, 900)))
        process = self._process(name, lasts)
        process.ends_told = done
        invocation = Invocation(
            owner=process.owner,
            deadline=process.now() + lasts,
            request_id=name.removesuffix(" twice"),
            log_stream="log",
        )
        process.start(lambda: self._executor(process).execute(ref, invocation))

    def operator(self, name: str, command: Command) -> Process:
        """A process that is to give an operator's command."""
        process = self._process(name, OPERATOR_LASTS)
        process.command = command
        return process

    def _process(self, name: str, lasts: timedelta) -> Process:
        world = self.world
        process = Process(world, name, lasts)
        world.alive.add(process)
        if world.is_on(Happening.SKEWED_HOSTS) and world.chance.happens(f"{name}/skewed", 0.5):
            seconds = world.chance.one_of(f"{name}/skew", (-3600, -30, -4.9, -2, 2, 4.9, 30, 3600))
            process.skew = timedelta(seconds=seconds)
        return process

    # --- how they are put together ------------------------------------------------------------------------

    def _scheduler(self, process: Process) -> Scheduler:
        store, catalog = self.world.store, self.catalog(process)
        ports = PlanningPorts(
            clock=process,
            registry=process.port("registry", store.registry),
            jobs=process.port("jobs", store.jobs),
            plans=process.port("plans", store.plans),
            index=process.port("index", store.index),
            telemetry=Telemetry(process),
        )
        sweep = Sweep(
            index=process.port("index", store.index),
            claims=self._claims(process),
            dispatcher=self._dispatcher(process),
            job_of=lambda name: catalog.jobs[name].job if name in catalog.jobs else None,
        )
        return Scheduler(
            lease=process.port("lease", store.lease),
            store_clock=StoreClock(process),
            planning=ports,
            sweeper=sweep,
            catalog=catalog,
            zone_data="2026g" if self.world.is_on(Happening.ZONE_DATA) else "2026f",
            retention=RETENTION,
        )

    def _watchdog(self, process: Process) -> Watchdog:
        store = self.world.store
        ports = WatchdogPorts(
            clock=process,
            store_clock=StoreClock(process),
            lease=process.port("lease", store.lease),
            jobs=process.port("jobs", store.jobs),
            runs=process.port("runs", store.runs),
            steps=process.port("steps", store.steps),
            index=process.port("index", store.index),
            alerts=process.port("alerts", store.alerts),
            notifier=process.port("notifier", self.world.alarms),
            telemetry=Telemetry(process),
        )
        return Watchdog(ports, "shop")

    def _dispatcher(self, process: Process) -> Dispatcher:
        return Dispatcher(invoker=process.port("invoker", self.world.queue), telemetry=Telemetry(process))

    def store_clock(self, process: Process) -> StoreClock:
        """The store's clock as a process sees it."""
        return StoreClock(process)

    def _claims(self, process: Process) -> Claims:
        return Claims(ledger=self.ledger(process), store_clock=StoreClock(process))

    def ledger(self, process: Process) -> Ledger:
        """The ledger as a process writes it."""
        store, chance = self.world.store, self.world.chance

        def draw() -> float:
            self._calls += 1
            return chance.fraction(f"{process.name}/{self._calls}/jitter")

        return Ledger(
            runs=process.port("runs", store.runs),
            jobs=process.port("jobs", store.jobs),
            clock=process,
            telemetry=Telemetry(process),
            retention=RETENTION,
            draw=draw,
        )

    def _executor(self, process: Process) -> Executor:
        def load(_: str, name: str) -> Job | LoadProblem | None:
            catalog = self.catalog(process)
            if f"jobs.{name}" in catalog.problems:
                return LoadProblem("ImportError: no module named 'soup'")
            return catalog.jobs[name].job if name in catalog.jobs else None

        return Executor(
            claims=self._claims(process),
            steps=process.port("steps", self.world.store.steps),
            load=load,
            renewal=Renewal(process),
            leases=process.port("leases", self.world.store.leases),
            key_prefix=STACK,
        )

    # --- the code that is deployed ------------------------------------------------------------------------

    def catalog(self, process: Process) -> Catalog:
        """The jobs of the code that a process has."""
        world = self.world
        other = world.is_on(Happening.ALTERNATE) and world.chance.happens(f"{process.name}/old code", 0.5)
        known = self._catalogs.get((world.incidents.changes, other))
        if known is None:
            known = self._catalogs[world.incidents.changes, other] = self._deployed(other)
        return known

    def _deployed(self, other: bool) -> Catalog:
        world = self.world
        jobs: dict[str, Declared] = {}
        problems: dict[str, str] = {}
        for plan in world.scenario.jobs:
            if world.is_on(Happening.BROKEN, plan.name):
                problems[f"jobs.{plan.name}"] = "ImportError: no module named 'soup'"
            elif not world.is_on(Happening.GONE, plan.name):
                changed = world.is_on(Happening.CHANGED, plan.name) is not other
                declared = self._declared(plan, int(changed))
                jobs[plan.name] = Declared(job=declared, module=f"jobs.{plan.name}")
        return Catalog(jobs=jobs, problems=problems)

    def _declared(self, plan: JobPlan, version: int) -> Job:
        known = self._jobs.get((plan.name, version))
        if known is None:
            definition = plan.definitions[version]
            declare = job(plan.name, schedule=definition.schedule, **definition.policies)
            known = self._jobs[plan.name, version] = declare(function_of(self.world, plan))
        return known


class StoreClock:
    """`StoreClock` of one process."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def skew(self) -> timedelta:
        """The store's clock less the process's, at the last answer."""
        return self._process.store_skew()


class Telemetry:
    """`Telemetry` of one process: warnings are lines of the timeline."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._wanted = process.world.timeline.wanted

    def event(self, name: str, **fields: object) -> None:
        """A line that the writes tell anyway."""

    def warn(self, name: str, **fields: object) -> None:
        """A line that somebody should look at."""
        self._process.world.counts[name] += 1
        if self._wanted:
            text = ", ".join(f"{key}={value}" for key, value in fields.items() if key != "traceback")
            self._process.note(f"{name}: {text}"[:300])

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a metric."""
        self._process.world.counts[metric] += int(value)

    def flush(self) -> None:
        """Nothing is published here."""


class _OneAfterTheOther:
    """A pool of one: its calls are made by the coroutine that asks for them."""

    def __init__(self, **_: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def map(self, call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """The answers in order."""
        return [call(item) for item in items]
