"""What the scheduler is made of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cronce.aws.invoker import LambdaInvoker
from cronce.aws.settings import scheduler_settings
from cronce.bootstrap.process import JOBS, Function, forget, made
from cronce.bootstrap.stores import ledger_of, store_of
from cronce.core.zones import check_zone_data
from cronce.engine.claims import Claims
from cronce.engine.dispatcher import Dispatcher
from cronce.engine.registry import Catalog, discover
from cronce.engine.scheduler import Scheduler
from cronce.engine.sweep import Sweep
from cronce.engine.tick import PlanningPorts
from cronce.engine.ticker import Ticker

if TYPE_CHECKING:
    from cronce.bootstrap.process import Process
    from cronce.core.job import Job


def scheduler() -> Function[Ticker]:
    """The scheduler of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
        DefinitionError: the zone data in use is not the one that ships.
    """
    return made(_make)


def _make(process: Process) -> Function[Ticker]:
    settings = scheduler_settings()
    telemetry = process.telemetry("scheduler", settings.stack)
    store = store_of(process, settings.store)
    ledger = ledger_of(process, store, settings.store, telemetry)
    # The sweep starts only what the stream has not.
    invoker = LambdaInvoker(process.client_when_needed("lambda"), settings.executor)
    dispatcher = Dispatcher(invoker=invoker, telemetry=telemetry)
    planning = PlanningPorts(
        clock=process.clock,
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
        clock=process.clock,
        give_up=forget,
    )
    return Function(part=ticker, telemetry=telemetry, clock=process.clock)


def _job_of(catalog: Catalog, name: str) -> Job | None:
    declared = catalog.jobs.get(name)
    return declared.job if declared else None
