"""The deployed functions in this process: handlers, their real adapters, and AWS on moto.

Each test has its own folder of jobs, its own environment and its own clock. Time stands still until the test
moves it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import pytest

from cronce.aws.dynamodb import make_client
from cronce.aws.store import DynamoStore
from cronce.core.records import RunRef
from cronce.engine.ledger import Ledger
from cronce.engine.operations import Operations
from cronce.testing import ManualClock, RecordingTelemetry
from cronce_tools.local.cloud import Cloud
from cronce_tools.local.filters import matches_any
from cronce_tools.local.template import Template
from tests.support.jobs_modules import forget_jobs

ROOT = Path(__file__).resolve().parents[2]
REGION = "eu-west-1"
ACCOUNT = "123456789012"
EXECUTOR = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:executor:live"
RUNS, STEPS = "runs", "steps"
START = datetime(2026, 3, 8, 9, 59, 30, tzinfo=UTC)
DUE = datetime(2026, 3, 8, 10, 0, tzinfo=UTC)
"""The first full hour after START."""
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",  # moto does not know the account's own endpoint of the stream
    "CRONCE_STACK": "shop",
    "CRONCE_RUNS_TABLE": RUNS,
    "CRONCE_STEPS_TABLE": STEPS,
    "CRONCE_EXECUTOR": EXECUTOR,
    "CRONCE_RETENTION_DAYS": "400",
}

HOURLY = '''
"""A job of this test."""
from datetime import timedelta
from cronce import Cron, job
DONE = []

@job("{name}", schedule=Cron("0 * * * *"))
def work(run):
    run.step("work", DONE.append, run.id)
'''


@dataclass
class Context:
    """What Lambda hands to a handler beside the event."""

    aws_request_id: str = "request-1"
    log_stream_name: str = "2026/03/08/[live]abc"
    function_name: str = "function"
    memory_limit_in_mb: int = 256
    invoked_function_arn: str = EXECUTOR
    remaining: timedelta = timedelta(seconds=45)

    def get_remaining_time_in_millis(self) -> int:
        return int(self.remaining / timedelta(milliseconds=1))


@dataclass
class Deployed:
    """A stack.

    Attributes:
        clock: of all functions.
        cloud: AWS.
        folder: the package `jobs` of this test.
        output: what was printed since it was last asked for.
    """

    clock: ManualClock
    cloud: Cloud
    folder: Path
    output: Callable[[], str]
    topic: str = ""
    queue: str = ""
    lines: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    _stream: Any = None
    _iterator: str = ""

    @cached_property
    def dynamodb(self) -> Any:
        return boto3.client("dynamodb")

    @cached_property
    def sqs(self) -> Any:
        return boto3.client("sqs")

    def deploy(self) -> None:
        """Make the template's tables, the topic, and a queue that hears it."""
        template = Template.load()
        for logical_id, name in (("RunsTable", RUNS), ("StepsTable", STEPS)):
            self.dynamodb.create_table(**template.table(logical_id, name))
        sns = boto3.client("sns")
        self.topic = sns.create_topic(Name="notices")["TopicArn"]
        self.queue = self.sqs.create_queue(QueueName="probe")["QueueUrl"]
        arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:probe"
        sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=arn)
        self._stream = boto3.client("dynamodbstreams")
        source = self.dynamodb.describe_table(TableName=RUNS)["Table"]["LatestStreamArn"]
        shard = self._stream.describe_stream(StreamArn=source)["StreamDescription"]["Shards"][0]["ShardId"]
        self._iterator = self._stream.get_shard_iterator(
            StreamArn=source, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        self._filters = template.filters()

    def job(self, module: str, text: str | None = None, *, name: str | None = None) -> None:
        """Put a module into the folder of jobs: an hourly job if no text is given."""
        source = text if text is not None else HOURLY.format(name=name or module.replace("_", "-"))
        (self.folder / f"{module}.py").write_text(source)
        importlib.invalidate_caches()

    def module(self, name: str) -> Any:
        """A module of jobs, as the functions have imported it."""
        return sys.modules[f"jobs.{name}"]

    def redeploy(self) -> None:
        """New processes: what was imported before is forgotten."""
        forget_jobs()

    def operations(self) -> Operations:
        """What an operator can do, from a host beside the stack that has no jobs."""
        clock = self.clock
        store = DynamoStore(
            make_client(), runs_table=RUNS, steps_table=STEPS, clock=clock, retention=timedelta(days=400)
        )
        ledger = Ledger(
            runs=store.runs,
            jobs=store.jobs,
            clock=clock,
            telemetry=RecordingTelemetry(),
            retention=timedelta(days=400),
        )
        return Operations(
            ledger=ledger,
            steps=store.steps,
            alerts=store.alerts,
            store_clock=store.clock,
            job_of=lambda _: None,
        )

    def call(self, function: str, event: object = None, **context: Any) -> Any:
        """Call a handler as Lambda does."""
        try:
            return handler(function)(event, Context(**context))
        finally:
            self._take_output()

    def tick(self, at: datetime | None = None) -> Any:
        """The scheduler, some seconds into a minute."""
        if at is not None:
            self.clock.set(at + 5 * SECOND)
        return self.call("scheduler", sample("scheduler"))

    def patrol(self, at: datetime | None = None) -> Any:
        """The watchdog, some seconds later."""
        if at is not None:
            self.clock.set(at + 20 * SECOND)
        return self.call("watchdog", sample("watchdog"))

    def minutes(self, *minutes: int) -> None:
        """Tick, settle and patrol so many minutes after DUE, one after the other."""
        for minute in minutes:
            self.tick(DUE + minute * MINUTE)
            self.settle()
            self.patrol(DUE + minute * MINUTE)

    def stream_event(self) -> dict[str, Any]:
        """What the mapping hands to the dispatcher next."""
        answer = self._stream.get_records(ShardIterator=self._iterator)
        self._iterator = answer["NextShardIterator"]
        records = [as_lambda_sends_it(record) for record in answer["Records"]]
        return {"Records": [record for record in records if matches_any(self._filters, record)]}

    def settle(self) -> list[dict[str, str]]:
        """Dispatch and execute until nothing is left. Returns what the executors answered."""
        answers: list[dict[str, str]] = []
        for _ in range(20):
            event = self.stream_event()
            if event["Records"]:
                self.call("dispatcher", event)
            if not self.cloud.invocations:
                return answers
            while self.cloud.invocations:
                payload = json.loads(self.cloud.invocations.popleft())
                answers.append(self.call("executor", payload, remaining=timedelta(seconds=900)))
        raise AssertionError("it never becomes quiet")

    def item(self, pk: str, sk: str) -> dict[str, Any]:
        """An item of the runs table, as it is stored."""
        key = {"pk": {"S": pk}, "sk": {"S": sk}}
        found = self.dynamodb.get_item(TableName=RUNS, Key=key, ConsistentRead=True)
        return dict(found.get("Item", {}))

    def run(self, run_id: str) -> dict[str, Any]:
        """Attributes of a run that are texts."""
        ref = RunRef.parse(run_id)
        item = self.item(f"JOB#{ref.job}", f"RUN#{ref.key}")
        return {name: next(iter(value.values())) for name, value in item.items()}

    def edit(self, pk: str, sk: str, name: str) -> None:
        """Take an attribute away from an item, as somebody did by hand."""
        self.dynamodb.update_item(
            TableName=RUNS,
            Key={"pk": {"S": pk}, "sk": {"S": sk}},
            UpdateExpression="REMOVE #name",
            ExpressionAttributeNames={"#name": name},
        )

    def heard(self) -> list[tuple[str, str]]:
        """Subject and body of each message that the topic delivered."""
        answer = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10)
        messages = [json.loads(message["Body"]) for message in answer.get("Messages", [])]
        return [(message["Subject"], message["Message"]) for message in messages]

    def events(self, name: str) -> list[dict[str, Any]]:
        """Log lines of one event, so far."""
        return [line for line in self.lines if line.get("message") == name]

    def values(self, metric: str) -> list[float]:
        """Datapoints of a metric, so far."""
        found = [block[metric] for block in self.metrics if metric in block]
        return [value for each in found for value in (each if isinstance(each, list) else [each])]

    def _take_output(self) -> None:
        for line in self.output().splitlines():
            entry = json.loads(line)
            (self.metrics if "_aws" in entry else self.lines).append(entry)


def handler(function: str) -> Callable[[object, Context], Any]:
    """The handler of a function."""
    found: Callable[[object, Context], Any] = importlib.import_module(function).handler
    return found


def sample(function: str) -> dict[str, Any]:
    """The sample event of a function."""
    event: dict[str, Any] = json.loads((ROOT / "events" / f"{function}.json").read_text())
    return event


def as_lambda_sends_it(record: dict[str, Any]) -> dict[str, Any]:
    """Moto hands out what the SDK does; Lambda sends plain JSON with the stream's ARN."""
    created = record["dynamodb"]["ApproximateCreationDateTime"].timestamp()
    return {
        **record,
        "eventSource": "aws:dynamodb",
        "eventSourceARN": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{RUNS}/stream/2026-03-08T00:00:00.000",
        "dynamodb": {**record["dynamodb"], "ApproximateCreationDateTime": created},
    }


def set_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the template sets, and nothing of the caller's account."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "CRONCE_", "POWERTOOLS_"))]:
        monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
