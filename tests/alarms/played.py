"""What a replay asks of a stack beside the local stack's own methods, and how the one on moto does it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

import boto3

from cronce.core.instants import to_text
from cronce.testing import ManualClock
from cronce_tools.local.cloud import Cloud
from cronce_tools.local.stack import TABLES, LocalStack, running
from cronce_tools.local.template import Template


class PlayedStack(LocalStack):
    """A local stack that hands can reach into."""

    @abstractmethod
    def take_lease(self, until: datetime) -> None:
        """Somebody took the scheduler's lease and is gone."""

    @abstractmethod
    def job_spoiled(self, name: str) -> AbstractContextManager[None]:
        """Within the block a job's item cannot be understood."""


StartStack = Callable[[datetime], AbstractContextManager[PlayedStack]]


class MotoStack(PlayedStack):
    """The one with the adapters, on moto's DynamoDB."""

    def take_lease(self, until: datetime) -> None:
        """Somebody took the scheduler's lease and is gone."""
        boto3.resource("dynamodb").Table(TABLES["RunsTable"]).update_item(
            Key={"pk": "SCHEDULER", "sk": "LEASE"},
            UpdateExpression="SET #owner = :owner, #until = :until",
            ExpressionAttributeNames={"#owner": "owner", "#until": "lease_until"},
            ExpressionAttributeValues={":owner": "gone", ":until": to_text(until)},
        )

    @contextmanager
    def job_spoiled(self, name: str) -> Iterator[None]:
        """Within the block a job's item cannot be understood."""
        table = boto3.resource("dynamodb").Table(TABLES["RunsTable"])
        key = {"pk": f"JOB#{name}", "sk": "JOB"}
        before = table.get_item(Key=key, ConsistentRead=True)["Item"]
        table.update_item(
            Key=key, UpdateExpression="REMOVE #what", ExpressionAttributeNames={"#what": "schedule"}
        )
        yield
        table.put_item(Item=before)


def moto_stack(start: datetime) -> AbstractContextManager[PlayedStack]:
    """Run a stack on moto until the end of the block."""
    clock = ManualClock(start)
    return running(MotoStack(clock, Cloud(clock), Template.load()))
