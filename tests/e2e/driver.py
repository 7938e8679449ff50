"""What the tests see and do of a deployed stack: as a user would, through AWS's own interfaces."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from boto3.dynamodb.types import TypeDeserializer

from cronce_tools.emulator.deployment import Stack, client
from cronce_tools.emulator.real_time import pause

T = TypeVar("T")
Item = dict[str, Any]

LOOK_EVERY = 0.5
PLAIN = TypeDeserializer()


class TooLate(AssertionError):
    """What a test waits for did not come in time."""


def wait_for(what: str, look: Callable[[], T | None], seconds: float) -> T:
    """Look until there is something; bounded.

    Raises:
        TooLate: there was nothing within the seconds.
    """
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        found = look()
        if found:
            return found
        pause(LOOK_EVERY)
    raise TooLate(f"{what}: not within {seconds:.0f} s")


@dataclass
class Driver:
    """A deployed stack.

    Attributes:
        stack: the stack.
    """

    stack: Stack
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """A boto3 client, as the account's owner."""
        if service not in self._clients:
            self._clients[service] = client(self.stack.endpoint, service)
        return self._clients[service]

    def output(self, name: str) -> str:
        """An output of the template."""
        return self.stack.outputs[name]

    def runs(self, job: str) -> list[Item]:
        """The runs of a job, oldest first."""
        answer = self.client("dynamodb").query(
            TableName=self.output("RunsTableName"),
            KeyConditionExpression="pk = :job AND begins_with(sk, :run)",
            ExpressionAttributeValues={":job": {"S": f"JOB#{job}"}, ":run": {"S": "RUN#"}},
            ConsistentRead=True,
        )
        return [plain(item) for item in answer["Items"]]

    def effects(self, job: str) -> list[Item]:
        """What the runs of a job did, in no order."""
        pages = (
            self.client("dynamodb")
            .get_paginator("scan")
            .paginate(
                TableName=self.output("OutboxTableName"),
                FilterExpression="job = :job",
                ExpressionAttributeValues={":job": {"S": job}},
                ConsistentRead=True,
            )
        )
        return [plain(item) for page in pages for item in page["Items"]]

    def first_run(self, job: str, *, status: str, seconds: float) -> Item:
        """The oldest run of a job in a state, as soon as there is one."""

        def look() -> Item | None:
            return next((run for run in self.runs(job) if run["status"] == status), None)

        return wait_for(f"a run of {job} that is {status}", look, seconds)

    @cached_property
    def physical_ids(self) -> dict[str, str]:
        """What was made, by its name in the template."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources")
        return {
            resource["LogicalResourceId"]: resource["PhysicalResourceId"]
            for page in pages.paginate(StackName=self.stack.name)
            for resource in page["StackResourceSummaries"]
        }


def plain(item: Item) -> Item:
    """An item of DynamoDB as plain values."""
    return {name: PLAIN.deserialize(value) for name, value in item.items()}
