"""What an operator's command is made of: the stores of one stack, reached from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.aws.dynamodb import make_client
from cronce.aws.store import DynamoStore
from cronce.bootstrap.process import made
from cronce.core.values import dataclass
from cronce.engine.inquiry import Inquiry
from cronce.engine.ledger import Ledger
from cronce.engine.operations import Operations
from cronce.engine.run_search import RunSearch

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.session import Session

    from cronce.aws.settings import StoreSettings
    from cronce.bootstrap.process import Process
    from cronce.core.job import Job
    from cronce.core.lease_ports import LeaseStore
    from cronce.core.ports import Clock, DueIndex, StoreClock, Telemetry

CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 10.0
"""Seconds. A person may be on the other side of the world, on a slow line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """How a stack is reached.

    Attributes:
        session: of botocore, with its credentials and Region.
        endpoint_url: where AWS is, if it is not AWS itself.
        store: the stack's tables.
        telemetry: who hears what happens.
        job_of: the code of a job, as far as it is there.
    """

    session: Session
    endpoint_url: str | None
    store: StoreSettings
    telemetry: Telemetry
    job_of: Callable[[str], Job | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Operator:
    """What an operator can do.

    Attributes:
        inquiry: ask about jobs and runs.
        search: find runs.
        operations: change jobs and runs.
        lease: the scheduler's.
        index: what is due.
        clock: the present.
        store_clock: the store's clock, at its last answer.
    """

    inquiry: Inquiry
    search: RunSearch
    operations: Operations
    lease: LeaseStore
    index: DueIndex
    clock: Clock
    store_clock: StoreClock


def operator(access: Access) -> Operator:
    """The commands of one stack. Nothing is sent until one is given."""
    clock = made(_clock)
    store = _store(access, clock)
    inquiry = Inquiry(
        registry=store.registry,
        jobs=store.jobs,
        runs=store.runs,
        steps=store.steps,
        alerts=store.alerts,
        clock=clock,
    )
    search = RunSearch(registry=store.registry, runs=store.runs, index=store.index, clock=clock)
    ledger = Ledger(
        runs=store.runs,
        jobs=store.jobs,
        clock=clock,
        telemetry=access.telemetry,
        retention=access.store.retention,
    )
    operations = Operations(
        ledger=ledger,
        steps=store.steps,
        alerts=store.alerts,
        store_clock=store.clock,
        job_of=access.job_of,
    )
    return Operator(
        inquiry=inquiry,
        search=search,
        operations=operations,
        lease=store.lease,
        index=store.index,
        clock=clock,
        store_clock=store.clock,
    )


def _store(access: Access, clock: Clock) -> DynamoStore:
    client = make_client(
        session=access.session,
        connect_timeout=CONNECT_TIMEOUT,
        read_timeout=READ_TIMEOUT,
        endpoint_url=access.endpoint_url,
    )
    return DynamoStore(
        client,
        runs_table=access.store.runs_table,
        steps_table=access.store.steps_table,
        clock=clock,
        retention=access.store.retention,
    )


def _clock(process: Process) -> Clock:
    return process.clock
