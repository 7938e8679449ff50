"""What an operator's command is made of: the stores of one stack, reached from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cronce.aws.dynamodb import make_client
from cronce.aws.store import DynamoStore
from cronce.bootstrap.process import made
from cronce.engine.inquiry import Inquiry

if TYPE_CHECKING:
    from botocore.session import Session

    from cronce.aws.settings import StoreSettings
    from cronce.bootstrap.process import Process
    from cronce.core.ports import Clock

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
    """

    session: Session
    endpoint_url: str | None
    store: StoreSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Operator:
    """What an operator can do.

    Attributes:
        inquiry: ask.
        clock: the present.
    """

    inquiry: Inquiry
    clock: Clock


def operator(access: Access) -> Operator:
    """The commands of one stack. Nothing is sent until one is given."""
    clock = made(_clock)
    client = make_client(
        session=access.session,
        connect_timeout=CONNECT_TIMEOUT,
        read_timeout=READ_TIMEOUT,
        endpoint_url=access.endpoint_url,
    )
    store = DynamoStore(
        client,
        runs_table=access.store.runs_table,
        steps_table=access.store.steps_table,
        clock=clock,
        retention=access.store.retention,
    )
    inquiry = Inquiry(
        registry=store.registry,
        jobs=store.jobs,
        runs=store.runs,
        steps=store.steps,
        alerts=store.alerts,
        index=store.index,
        clock=clock,
    )
    return Operator(inquiry=inquiry, clock=clock)


def _clock(process: Process) -> Clock:
    return process.clock
