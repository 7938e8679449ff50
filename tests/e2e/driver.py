"""What the tests see and do of a deployed stack: as a user would, through AWS's own interfaces."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from boto3.dynamodb.types import TypeDeserializer

from cronce_tools.emulator.deployment import Stack, client
from cronce_tools.emulator.probe import Probe, take
from cronce_tools.emulator.real_time import pause

T = TypeVar("T")
Item = dict[str, Any]

LOOK_EVERY = 0.5
PLAIN = TypeDeserializer()
SWEEP = 120.0
"""Seconds after which the sweep takes up a run that the stream has not started."""
SERVICES = ("cloudformation", "cloudwatch", "dynamodb", "events", "lambda", "logs", "sqs")


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


def run_id(run: Item) -> str:
    """The id of a run, from the key of its record."""
    return f"{run['pk'].removeprefix('JOB#')}@{run['sk'].removeprefix('RUN#')}"


def seconds(instant: str) -> float:
    """Seconds since 1970 of an instant in a record."""
    return datetime.fromisoformat(instant).timestamp()


def delay(run: Item) -> float:
    """Seconds from the time that a run is of to its first claim."""
    return seconds(run["started_at"]) - seconds(run["sk"].removeprefix("RUN#"))


class Driver:
    """A deployed stack. One object serves many threads.

    Args:
        stack: the stack.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._clients = {service: client(stack.endpoint, service) for service in SERVICES}
        self._probe = Probe(stack)
        self.messages: list[Item] = []
        self.given_up: list[Item] = []

    def client(self, service: str) -> Any:
        """A boto3 client, as the account's owner."""
        return self._clients[service]

    def output(self, name: str) -> str:
        """An output of the template."""
        return self.stack.outputs[name]

    # --- runs and what they did ---

    def runs(self, job: str) -> list[Item]:
        """The runs of a job, oldest first."""
        answer = self.client("dynamodb").query(
            TableName=self.output("RunsTableName"),
            KeyConditionExpression="pk = :job AND begins_with(sk, :run)",
            ExpressionAttributeValues={":job": {"S": f"JOB#{job}"}, ":run": {"S": "RUN#"}},
            ConsistentRead=True,
        )
        return [plain(item) for item in answer["Items"]]

    def run(self, job: str, sort_key: str) -> Item:
        """One run, as it is now."""
        return next(run for run in self.runs(job) if run["sk"] == sort_key)

    def effects(self, job: str, run: str = "") -> list[Item]:
        """What the runs of a job did, or one of them, in no order."""
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
        found = [plain(item) for page in pages for item in page["Items"]]
        return [effect for effect in found if run in {"", effect["run"]}]

    def first_run(self, job: str, *, status: str, seconds: float) -> Item:
        """The oldest run of a job in a state, as soon as there is one."""

        def look() -> Item | None:
            return next((run for run in self.runs(job) if run["status"] == status), None)

        return wait_for(f"a run of {job} that is {status}", look, seconds)

    def ended(self, run: Item, seconds: float) -> Item:
        """A run once it is over."""
        job = run["pk"].removeprefix("JOB#")

        def look() -> Item | None:
            now = self.run(job, run["sk"])
            return now if now.get("ended_at") else None

        return wait_for(f"the end of {run_id(run)}", look, seconds)

    def lines(self, output: str, event: str) -> list[Item]:
        """The lines of a function's log about an event.

        Args:
            output: of the template, that names the log group.
            event: name of the event.
        """
        pages = (
            self.client("logs").get_paginator("filter_log_events").paginate(logGroupName=self.output(output))
        )
        messages = [entry["message"] for page in pages for entry in page["events"]]
        lines = [json.loads(message) for message in messages if message.startswith("{")]
        return [line for line in lines if line.get("message") == event]

    # --- what people are told ---

    def message(self, what: str, wanted: Callable[[Item], bool], seconds: float) -> Item:
        """A message of the topic, as it arrives in a queue that is subscribed to it."""

        def look() -> Item | None:
            self.messages += self._probe.taken()
            return next((message for message in self.messages if wanted(message)), None)

        return wait_for(what, look, seconds)

    def alarm(self, logical_id: str, seconds: float) -> Item:
        """What an alarm says when it goes off, as it arrives in that queue."""
        return self.message(logical_id, lambda message: self.is_alarm(message, logical_id), seconds)

    def is_alarm(self, message: Item, logical_id: str) -> bool:
        """Whether a message of the topic says that an alarm went off."""
        body = json.loads(message["Message"]) if message["Message"].startswith("{") else {}
        return body.get("AlarmName") == self.physical_ids[logical_id] and body["NewStateValue"] == "ALARM"

    def taken(self, output: str) -> list[Item]:
        """The messages that wait in a queue; they are removed from it.

        Args:
            output: of the template, that names the queue.
        """
        return take(self.client("sqs"), self.output(output))

    # --- levers ---

    @cached_property
    def physical_ids(self) -> dict[str, str]:
        """What was made, by its name in the template."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources")
        return {
            resource["LogicalResourceId"]: resource["PhysicalResourceId"]
            for page in pages.paginate(StackName=self.stack.name)
            for resource in page["StackResourceSummaries"]
        }

    def disable_rule(self, logical_id: str) -> None:
        """Switch a scheduled rule off."""
        self.client("events").disable_rule(Name=self.physical_ids[logical_id].rsplit("|", 1)[-1])

    def switch_mapping(self, *, on: bool) -> None:
        """Switch the mapping from the stream to the dispatcher."""
        self.client("lambda").update_event_source_mapping(
            UUID=self.physical_ids["DispatcherFunctionRuns"], Enabled=on
        )

    def invoke(self, function: str, event: Item) -> Item:
        """Invoke a function and wait for its answer."""
        answer = self.client("lambda").invoke(FunctionName=self.output(function), Payload=json.dumps(event))
        payload: Item = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, payload
        return payload

    def put_run(self, job: str, sort_key: str) -> None:
        """Write an item that looks like a run to be started from the stream, and has nothing else."""
        item = {"pk": f"JOB#{job}", "sk": sort_key, "status": "PENDING", "dispatch": "stream"}
        self.client("dynamodb").put_item(
            TableName=self.output("RunsTableName"), Item={name: {"S": value} for name, value in item.items()}
        )


def plain(item: Item) -> Item:
    """An item of DynamoDB as plain values."""
    return {name: PLAIN.deserialize(value) for name, value in item.items()}
