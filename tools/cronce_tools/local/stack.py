"""The deployed system in one process: template's tables, real handlers, what AWS does in between.

    with local_stack(datetime(2026, 3, 1, 11, 58, tzinfo=UTC)) as stack:
        stack.play(minutes=8)
        assert [run.status for run in stack.runs("hello")] == ["SUCCEEDED", "SUCCEEDED"]

The handlers are the very ones that Lambda calls. What is not real: the clock (it moves when told to), the
network, and processes (a killed one only loses its calls, see `cloud`).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import boto3
from botocore.exceptions import ClientError

from cronce.aws.dynamodb import make_client
from cronce.aws.store import DynamoStore
from cronce.bootstrap.process import using_clock
from cronce.core.errors import StoreError
from cronce.core.records import RunRecord
from cronce.testing import ClockRenewal, ManualClock
from cronce.testing.ctrl_c import ctrl_c_ends
from cronce_tools.local.alarms import Alarm, alarms
from cronce_tools.local.cloud import Cloud, ProcessKilled
from cronce_tools.local.console import Console, output_to
from cronce_tools.local.lambda_context import REGION, LambdaContext
from cronce_tools.local.metrics import Metrics
from cronce_tools.local.stream import MappedStream, Stream
from cronce_tools.local.template import Template

FUNCTIONS = Path(__file__).resolve().parents[3] / "functions"
STACK = "cronce-local"
TABLES = {"RunsTable": "runs", "StepsTable": "steps", "OutboxTable": "outbox"}
EXECUTOR = f"arn:aws:lambda:{REGION}:123456789012:function:executor:live"
EXECUTOR_LOG = "/aws/lambda/executor"
MINUTE = timedelta(minutes=1)
AFTER_THE_MINUTE = timedelta(seconds=4)
"""EventBridge delivers some seconds after the full minute."""
EVENTS = FUNCTIONS.parent / "events"
RETENTION = timedelta(days=400)
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
StartStack = Callable[[datetime], "LocalStack"]
"""The fixture `local_stack` of the jobs' tests: starts a stack that lives until the end of the test."""
MANY = 10_000
"""More runs than a test makes."""
ROUNDS = 1000
"""Bound of deliveries in one minute: a loop between functions would otherwise never end."""


@dataclass
class LocalStack:
    """A running local stack. Make one with `local_stack()`.

    Attributes:
        clock: the virtual clock.
        cloud: AWS.
        template: what is deployed.
        metrics: every datapoint the functions published.
        console: what they logged.
        notices: every message the topic delivered, with the time.
    """

    clock: ManualClock
    cloud: Cloud
    template: Template
    metrics: Metrics = field(default_factory=Metrics)
    notices: list[tuple[datetime, str, str]] = field(default_factory=list)
    console: Console = field(init=False)
    stream: MappedStream = field(init=False)
    renewal: ClockRenewal = field(init=False)
    topic: str = ""
    probe: str = ""
    _requests: int = 0
    _errors_end_invocations: bool = False

    def __post_init__(self) -> None:
        self.console = Console(self.clock, self.metrics)
        self.renewal = ClockRenewal(self.clock)

    def deploy(self) -> None:
        """Make the template's tables, and a queue that hears what the topic says."""
        dynamodb, sns, sqs = boto3.client("dynamodb"), boto3.client("sns"), boto3.client("sqs")
        for logical_id, name in TABLES.items():
            if logical_id in self.template.resources:  # the sample jobs' table goes when they go
                dynamodb.create_table(**self.template.table(logical_id, name))
        self.topic = sns.create_topic(Name="notices")["TopicArn"]
        self.probe = sqs.create_queue(QueueName="probe")["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=self.probe, AttributeNames=["QueueArn"])["Attributes"]
        sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=attributes["QueueArn"])
        self.stream = Stream("runs", self.template)
        self.cloud.answers["cloudformation", "DescribeStacks"] = self._described

    def _described(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """What CloudFormation says of the stack, as far as tools ask for it."""
        if parameters.get("StackName") != STACK:
            message = f"Stack with id {parameters.get('StackName')} does not exist"
            raise ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "DescribeStacks")
        outputs = {
            "RunsTableName": TABLES["RunsTable"],
            "StepsTableName": TABLES["StepsTable"],
            "ExecutorAlias": EXECUTOR,
            "ExecutorLogGroupName": EXECUTOR_LOG,
            "NoticeTopicArn": self.topic,
        }
        defaults = {name: str(each.get("Default", "")) for name, each in self.template.parameters.items()}
        stack = {
            "StackName": STACK,
            "StackStatus": "CREATE_COMPLETE",
            "Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()],
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in defaults.items()],
        }
        return {"Stacks": [stack]}

    def invoke(self, function: str, event: Mapping[str, Any], *, process: str = "") -> Any:
        """Call a handler as Lambda does, in a process of its own.

        Args:
            function: `scheduler`, `dispatcher`, `executor` or `watchdog`.
            event: what it is handed.
            process: name of the process, for the hooks of the cloud.

        Returns:
            What the handler returned; None if its process was killed.
        """
        self._requests += 1
        context = LambdaContext(function, f"request-{self._requests:06}", self.clock)
        handler = importlib.import_module(function).handler
        with self.cloud.process(process or function), ctrl_c_ends():
            try:
                return handler(dict(event), context)
            except ProcessKilled:
                return None
            except StoreError:
                if not self._errors_end_invocations:
                    raise
                return None

    @contextmanager
    def errors_as_in_lambda(self) -> Iterator[None]:
        """Let a store that does not answer end the invocation alone, until the end of the block."""
        self._errors_end_invocations = True
        try:
            yield
        finally:
            self._errors_end_invocations = False

    def play(self, minutes: int = 1) -> None:
        """Let so many minutes pass: in each a tick, all runs that are due, a patrol.

        Args:
            minutes: full minutes from now on.
        """
        for _ in range(minutes):
            self.play_at(self.clock.now() + MINUTE)

    def play_at(self, *instants: datetime) -> None:
        """Let time pass to the minutes of these instants, one after the other; nothing happens in between.

        Args:
            instants: each in a later minute than the one before.
        """
        for instant in instants:
            self.clock.set(instant.replace(second=0, microsecond=0) + AFTER_THE_MINUTE)
            self.invoke("scheduler", event("scheduler"))
            self.settle()
            self.invoke("watchdog", event("watchdog"))
            self.hear()

    def empty(self, table: str) -> None:
        """Delete all items of a table that jobs write to.

        Args:
            table: its name, or its logical id in the template.
        """
        items = boto3.resource("dynamodb").Table(TABLES.get(table, table))
        keys = [key["AttributeName"] for key in items.key_schema]
        with items.batch_writer() as batch:
            for item in items.scan()["Items"]:
                batch.delete_item(Key={key: item[key] for key in keys})

    @cached_property
    def store(self) -> DynamoStore:
        """The ledger, read through the adapters that the functions use."""
        return DynamoStore(
            make_client(),
            runs_table=TABLES["RunsTable"],
            steps_table=TABLES["StepsTable"],
            clock=self.clock,
            retention=RETENTION,
        )

    def runs(self, job: str) -> list[RunRecord]:
        """The runs of a job so far, oldest first."""
        found = self.store.runs.runs(job, FIRST, self.clock.now(), MANY).records
        return sorted(found, key=lambda run: run.ref)

    def settle(self) -> None:
        """Deliver the stream and the asynchronous invocations until nothing is left."""
        for _ in range(ROUNDS):
            records = self.stream.next_batch()
            if records:
                self.stream.report(records, self.invoke("dispatcher", {"Records": records}))
            elif self.cloud.invocations:
                self.invoke("executor", json.loads(self.cloud.invocations.popleft()))
            else:
                return
        raise RuntimeError(f"not quiet after {ROUNDS} deliveries: do two functions call each other?")

    def hear(self) -> list[tuple[datetime, str, str]]:
        """The messages that the topic delivered since the last call: time, subject, body."""
        sqs = boto3.client("sqs")
        heard = []
        for _ in range(ROUNDS):
            messages = sqs.receive_message(QueueUrl=self.probe, MaxNumberOfMessages=10).get("Messages", [])
            for message in messages:
                envelope = json.loads(message["Body"])
                heard.append((self.clock.now(), envelope.get("Subject", ""), envelope["Message"]))
                sqs.delete_message(QueueUrl=self.probe, ReceiptHandle=message["ReceiptHandle"])
            if not messages:
                break
        self.notices += heard
        return heard

    def alarms(self) -> list[Alarm]:
        """The alarms that the template makes with its defaults."""
        return alarms(self.template, STACK)


AnyStack = TypeVar("AnyStack", bound=LocalStack)


def event(name: str) -> dict[str, Any]:
    """A sample event of `events/`."""
    body: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return body


@contextmanager
def local_stack(start: datetime, template: Template | None = None) -> Iterator[LocalStack]:
    """Run a local stack until the end of the block; environment, output and AWS clients are its own."""
    clock = ManualClock(start)
    with running(LocalStack(clock, Cloud(clock), template or Template.load())) as stack:
        yield stack


@contextmanager
def running(stack: AnyStack) -> Iterator[AnyStack]:
    """Run a stack until the end of the block."""
    clock, cloud = stack.clock, stack.cloud
    with cloud.running(), environment(), output_to(stack.console), using_clock(clock, stack.renewal):
        stack.deploy()
        os.environ["CRONCE_TOPIC_ARN"] = stack.topic
        yield stack


@contextmanager
def environment() -> Iterator[None]:
    """The variables that the template sets, and nothing of the caller's AWS account."""
    before, path = dict(os.environ), list(sys.path)
    for name in [name for name in os.environ if name.startswith(("AWS_", "CRONCE_", "POWERTOOLS_"))]:
        del os.environ[name]
    os.environ.update(
        {
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            # moto does not know the account's own stream endpoint
            "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
            "CRONCE_STACK": STACK,
            "CRONCE_RUNS_TABLE": TABLES["RunsTable"],
            "CRONCE_STEPS_TABLE": TABLES["StepsTable"],
            "CRONCE_EXECUTOR": EXECUTOR,
            "OUTBOX_TABLE": TABLES["OutboxTable"],
            "POWERTOOLS_SERVICE_NAME": "local",
        }
    )
    if str(FUNCTIONS) not in sys.path:
        sys.path.insert(0, str(FUNCTIONS))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        sys.path[:] = path
