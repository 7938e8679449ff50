"""Composition root: puts together what each function is made of.

Each of `scheduler`, `dispatcher`, `executor` and `watchdog` reads its settings, makes its clients and its
part of the engine at the first call, and gives the same objects at every later one: a warm process keeps its
connections. Importing this module makes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from typing import Generic, Protocol, TypeVar
from uuid import uuid4

from cronce.aws.clients import bounded_client
from cronce.aws.clock import SystemClock
from cronce.aws.dynamodb import make_client
from cronce.aws.invoker import LambdaInvoker
from cronce.aws.notifier import SnsNotifier
from cronce.aws.output import standard_output
from cronce.aws.settings import (
    StoreSettings,
    dispatcher_settings,
    executor_settings,
    scheduler_settings,
    watchdog_settings,
)
from cronce.aws.store import DynamoStore
from cronce.aws.telemetry import PowertoolsTelemetry
from cronce.core.claim import Invocation
from cronce.core.job import Job
from cronce.core.ports import Clock, Telemetry
from cronce.core.zones import check_zone_data
from cronce.engine.claims import Claims
from cronce.engine.dispatcher import Dispatcher
from cronce.engine.executor import Executor
from cronce.engine.ledger import Ledger
from cronce.engine.registry import Catalog, discover, load_job
from cronce.engine.renewal import RenewalThread
from cronce.engine.scheduler import Scheduler
from cronce.engine.sweep import Sweep
from cronce.engine.tick import PlanningPorts
from cronce.engine.ticker import Ticker
from cronce.engine.watchdog import Watchdog, WatchdogPorts

JOBS = "jobs"
"""The package in which people put their jobs, beside the handlers."""
T = TypeVar("T")


class LambdaContext(Protocol):
    """What is used of the context that Lambda hands to a handler."""

    aws_request_id: str
    log_stream_name: str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Function(Generic[T]):
    """A deployed function.

    Attributes:
        part: its part of the engine.
        telemetry: its lines and metrics.
        clock: its clock.
    """

    part: T
    telemetry: PowertoolsTelemetry
    clock: Clock

    @contextmanager
    def called(self, context: LambdaContext) -> Iterator[Invocation]:
        """One invocation: its lines carry the request's id, and its metrics are published however it ends."""
        self.telemetry.begin(context.aws_request_id)
        left = timedelta(milliseconds=context.get_remaining_time_in_millis())
        try:
            yield Invocation(
                owner=uuid4().hex,
                deadline=self.clock.now() + left,
                request_id=context.aws_request_id,
                log_stream=context.log_stream_name,
            )
        finally:
            self.telemetry.flush()


class _Process:
    """What one process makes: each thing once, when it is first needed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @cached_property
    def scheduler(self) -> Function[Ticker]:
        settings = scheduler_settings()
        telemetry = _telemetry("scheduler", settings.stack)
        store = self._store(settings.store)
        ledger = self._ledger(store, telemetry, settings.store.retention)
        dispatcher = Dispatcher(invoker=self._invoker(settings.executor), telemetry=telemetry)
        planning = PlanningPorts(
            clock=self.clock,
            registry=store.registry,
            jobs=store.jobs,
            plans=store.plans,
            index=store.index,
            telemetry=telemetry,
        )
        zone_data = check_zone_data()

        def scheduler_for(catalog: Catalog) -> Scheduler:
            claims = Claims(ledger=ledger, store_clock=store.clock)
            return Scheduler(
                lease=store.lease,
                store_clock=store.clock,
                planning=planning,
                sweeper=Sweep(
                    index=store.index, claims=claims, dispatcher=dispatcher, job_of=partial(_job_of, catalog)
                ),
                catalog=catalog,
                zone_data=zone_data,
                retention=settings.store.retention,
            )

        ticker = Ticker(
            discover=partial(discover, JOBS),
            scheduler_for=scheduler_for,
            telemetry=telemetry,
            clock=self.clock,
            give_up=forget,
        )
        return Function(part=ticker, telemetry=telemetry, clock=self.clock)

    @cached_property
    def dispatcher(self) -> Function[Dispatcher]:
        settings = dispatcher_settings()
        telemetry = _telemetry("dispatcher", settings.stack)
        dispatcher = Dispatcher(invoker=self._invoker(settings.executor), telemetry=telemetry)
        return Function(part=dispatcher, telemetry=telemetry, clock=self.clock)

    @cached_property
    def executor(self) -> Function[Executor]:
        settings = executor_settings()
        check_zone_data()  # a job computes by the zones that it was planned by
        telemetry = _telemetry("executor", settings.stack)
        store = self._store(settings.store)
        ledger = self._ledger(store, telemetry, settings.store.retention)
        executor = Executor(
            claims=Claims(ledger=ledger, store_clock=store.clock),
            steps=store.steps,
            load=partial(load_job, JOBS),
            renewal=RenewalThread(telemetry=telemetry),
            key_prefix=settings.idempotency_prefix,
            give_up=forget,
        )
        return Function(part=executor, telemetry=telemetry, clock=self.clock)

    @cached_property
    def watchdog(self) -> Function[Watchdog]:
        settings = watchdog_settings()
        telemetry = _telemetry("watchdog", settings.stack)
        store = self._store(settings.store)
        ports = WatchdogPorts(
            clock=self.clock,
            store_clock=store.clock,
            lease=store.lease,
            jobs=store.jobs,
            runs=store.runs,
            index=store.index,
            alerts=store.alerts,
            notifier=SnsNotifier(bounded_client("sns"), settings.topic_arn),
            telemetry=telemetry,
        )
        return Function(part=Watchdog(ports), telemetry=telemetry, clock=self.clock)

    def _store(self, settings: StoreSettings) -> DynamoStore:
        return DynamoStore(
            make_client(),
            runs_table=settings.runs_table,
            steps_table=settings.steps_table,
            clock=self.clock,
            retention=settings.retention,
        )

    def _ledger(self, store: DynamoStore, telemetry: Telemetry, retention: timedelta) -> Ledger:
        return Ledger(
            runs=store.runs, jobs=store.jobs, clock=self.clock, telemetry=telemetry, retention=retention
        )

    def _invoker(self, executor: str) -> LambdaInvoker:
        return LambdaInvoker(bounded_client("lambda"), executor)


_process = _Process(SystemClock())


def scheduler() -> Function[Ticker]:
    """The scheduler of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
        DefinitionError: the zone data in use is not the one that ships.
    """
    return _process.scheduler


def dispatcher() -> Function[Dispatcher]:
    """The dispatcher of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
    """
    return _process.dispatcher


def executor() -> Function[Executor]:
    """The executor of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
        DefinitionError: the zone data in use is not the one that ships.
    """
    return _process.executor


def watchdog() -> Function[Watchdog]:
    """The watchdog of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
    """
    return _process.watchdog


def forget() -> None:
    """Drop everything that was made; the next call makes it anew, with new connections."""
    _use(_process.clock)


@contextmanager
def using_clock(clock: Clock) -> Iterator[None]:
    """Within the block, everything is made anew and on this clock; for tests and the local stack."""
    before = _process.clock
    _use(clock)
    try:
        yield
    finally:
        _use(before)


def _use(clock: Clock) -> None:
    global _process  # noqa: PLW0603 - the one thing that a process keeps between invocations
    _process = _Process(clock)


def _telemetry(service: str, stack: str) -> PowertoolsTelemetry:
    return PowertoolsTelemetry(service, stack, stream=standard_output())


def _job_of(catalog: Catalog, name: str) -> Job | None:
    declared = catalog.jobs.get(name)
    return declared.job if declared else None
