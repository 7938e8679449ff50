"""What the executor is made of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cronce.aws.settings import executor_settings
from cronce.bootstrap.pings import pings_of
from cronce.bootstrap.process import JOBS, Function, forget, made
from cronce.bootstrap.stores import ledger_of, store_of
from cronce.core.zones import check_zone_data
from cronce.engine.claims import Claims
from cronce.engine.executor import Executor
from cronce.engine.registry import load_job
from cronce.engine.renewal import RenewalThread

if TYPE_CHECKING:
    from cronce.bootstrap.process import Process


def executor() -> Function[Executor]:
    """The executor of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
        DefinitionError: the zone data in use is not the one that ships.
    """
    return made(_make)


def _make(process: Process) -> Function[Executor]:
    settings = executor_settings()
    check_zone_data()  # a job computes by the zones that it was planned by
    telemetry = process.telemetry("executor", settings.stack)
    store = store_of(process, settings.store)
    executor = Executor(
        claims=Claims(ledger=ledger_of(process, store, settings.store, telemetry), store_clock=store.clock),
        steps=store.steps,
        leases=store.leases,
        load=partial(load_job, JOBS),
        renewal=process.renewal or RenewalThread(telemetry=telemetry),
        key_prefix=settings.idempotency_prefix,
        give_up=forget,
        pings=pings_of(
            process, telemetry, lambda job: f"{settings.ping_urls}/{job}", settings.idempotency_prefix
        )
        if settings.ping_urls
        else None,
    )
    return Function(part=executor, telemetry=telemetry, clock=process.clock)
