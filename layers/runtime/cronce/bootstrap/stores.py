"""The store and the ledger, as more than one function has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.aws.dynamodb import make_client
from cronce.aws.store import DynamoStore
from cronce.engine.ledger import Ledger

if TYPE_CHECKING:
    from cronce.aws.settings import StoreSettings
    from cronce.bootstrap.process import Process
    from cronce.core.ports import Telemetry


def store_of(process: Process, settings: StoreSettings) -> DynamoStore:
    """The store on a new client."""
    return DynamoStore(
        make_client(session=process.session),
        runs_table=settings.runs_table,
        steps_table=settings.steps_table,
        clock=process.clock,
        retention=settings.retention,
    )


def ledger_of(process: Process, store: DynamoStore, settings: StoreSettings, telemetry: Telemetry) -> Ledger:
    """The ledger of runs and jobs in a store."""
    return Ledger(
        runs=store.runs,
        jobs=store.jobs,
        clock=process.clock,
        telemetry=telemetry,
        retention=settings.retention,
    )
