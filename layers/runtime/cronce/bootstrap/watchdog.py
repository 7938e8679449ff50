"""What the watchdog is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.aws.notifier import SnsNotifier
from cronce.aws.settings import watchdog_settings
from cronce.bootstrap.pings import pings_of
from cronce.bootstrap.process import Function, made
from cronce.bootstrap.stores import store_of
from cronce.engine.job_gauges import JobGauges
from cronce.engine.vouching import VouchingWatchdog
from cronce.engine.watchdog import Watchdog, WatchdogPorts

if TYPE_CHECKING:
    from cronce.bootstrap.process import Process


def watchdog() -> Function[VouchingWatchdog]:
    """The watchdog of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
    """
    return made(_make)


def _make(process: Process) -> Function[VouchingWatchdog]:
    settings = watchdog_settings()
    telemetry = process.telemetry("watchdog", settings.stack)
    store = store_of(process, settings.store)
    ports = WatchdogPorts(
        clock=process.clock,
        store_clock=store.clock,
        lease=store.lease,
        jobs=store.jobs,
        runs=store.runs,
        steps=store.steps,
        index=store.index,
        alerts=store.alerts,
        notifier=SnsNotifier(process.client_when_needed("sns"), settings.topic_arn),
        telemetry=telemetry,
        job_gauges=JobGauges(registry=store.registry, publish=telemetry.by_job)
        if settings.job_metrics
        else None,
    )
    pings = pings_of(process, telemetry, lambda _: settings.heartbeat_url) if settings.heartbeat_url else None
    part = VouchingWatchdog(watchdog=Watchdog(ports, settings.stack), pings=pings)
    return Function(part=part, telemetry=telemetry, clock=process.clock)
