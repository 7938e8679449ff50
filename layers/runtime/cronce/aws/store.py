"""The whole store on DynamoDB: every store port over the two tables."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from cronce.aws.alert_store import DynamoAlertStore
from cronce.aws.calls import Calls
from cronce.aws.due_index import DynamoDueIndex
from cronce.aws.dynamodb import AnswerClock
from cronce.aws.job_store import DynamoJobStore
from cronce.aws.lease_store import DynamoLeaseStore
from cronce.aws.named_lease_store import DynamoNamedLeaseStore
from cronce.aws.plan_store import DynamoPlanStore
from cronce.aws.registry_store import DynamoRegistryStore
from cronce.aws.run_store import DynamoRunStore
from cronce.aws.step_store import DynamoStepStore
from cronce.core.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoStore:
    """Every store port over one client. The ports are attributes. Nothing is sent on construction.

    Args:
        client: made by `cronce.aws.dynamodb.make_client`.
        runs_table: name of the runs table.
        steps_table: name of the steps table.
        clock: the engine's clock.
        retention: how long the record of a finished run is kept; steps outlive it.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        *,
        runs_table: str,
        steps_table: str,
        clock: Clock,
        retention: timedelta,
    ) -> None:
        calls = Calls(client, clock)
        self.lease = DynamoLeaseStore(calls, runs_table)
        self.leases = DynamoNamedLeaseStore(calls, runs_table)
        self.registry = DynamoRegistryStore(calls, runs_table)
        self.jobs = DynamoJobStore(calls, runs=runs_table, steps=steps_table, retention=retention)
        self.plans = DynamoPlanStore(calls, runs_table)
        self.index = DynamoDueIndex(calls, runs_table)
        self.runs = DynamoRunStore(
            calls, runs=runs_table, steps=steps_table, clock=clock, retention=retention
        )
        self.steps = DynamoStepStore(calls, runs=runs_table, steps=steps_table, retention=retention)
        self.alerts = DynamoAlertStore(calls, runs_table)
        self.clock = AnswerClock(client, clock)
