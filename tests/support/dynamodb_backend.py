"""The DynamoDB stores, as a backend of the contract tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cronce.aws.attributes import Attribute, Item
from cronce.aws.items_job import job_item
from cronce.aws.items_run import gap_item, marker_item, read_marker, run_item
from cronce.aws.store import DynamoStore
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRecord, RunRef
from cronce.testing import ManualClock, Marker
from tests.support.dynamodb_engine import (
    RUNS,
    STEPS,
    Engine,
    emulator_engine,
    endpoint_engine,
    moto_engine,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ENDPOINT = os.environ.get("CRONCE_TEST_DYNAMODB", "")
"""Address of a DynamoDB Local, if there is one."""
RETENTION = timedelta(days=400)
Placeable = JobState | RunRecord | Gap | Marker
NEEDED = {JobState: "planned_local", RunRecord: "scheduled_local", Gap: "count"}
"""An attribute that every reader of such an item needs."""


def item_of(record: Placeable) -> Item:
    """A record as it is stored; a run keeps its `rev`."""
    match record:
        case JobState():
            return job_item(record)
        case RunRecord():
            return run_item(record, record.rev)
        case Gap():
            return gap_item(record)
        case Marker():
            return marker_item(record.ref)


class DynamoBackend(DynamoStore):
    """The real stores, and a way round their conditions."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(
            engine.client, runs_table=RUNS, steps_table=STEPS, clock=engine.clock, retention=RETENTION
        )
        self.engine = engine

    def place(self, *items: Placeable) -> None:
        """Store items as they are, unconditionally."""
        for record in items:
            self.engine.client.put_item(TableName=RUNS, Item=item_of(record))

    def spoil_item(self, item: JobState | RunRecord | Gap) -> None:
        """Take an attribute away that every reader needs."""
        self.edit(item, NEEDED[type(item)])

    def edit(self, record: Placeable, name: str, value: Attribute | None = None) -> None:
        """Change one attribute by hand, or take it away."""
        item = item_of(record)
        request: dict[str, Any] = {"UpdateExpression": f"REMOVE #{name}"}
        if value is not None:
            request = {
                "UpdateExpression": f"SET #{name} = :value",
                "ExpressionAttributeValues": {":value": value},
            }
        self.engine.client.update_item(
            TableName=RUNS,
            Key={"pk": item["pk"], "sk": item["sk"]},
            ExpressionAttributeNames={f"#{name}": name},
            **request,
        )

    def remove_item(self, item: Placeable) -> None:
        """Delete an item."""
        stored = item_of(item)
        self.engine.client.delete_item(TableName=RUNS, Key={"pk": stored["pk"], "sk": stored["sk"]})

    def markers(self, job: str) -> list[RunRef]:
        """The runs of a job that have a queue marker, in order."""
        stored = sorted(self.engine.items(), key=lambda item: str(item["sk"]))
        keys = [item for item in stored if item["sk"]["S"].startswith("QUEUE#")]
        return [ref for ref in map(read_marker, keys) if ref.job == job]


@contextmanager
def _on(engine: AbstractContextManager[Engine]) -> Iterator[DynamoBackend]:
    with engine as running:
        store = DynamoBackend(running)
        yield store
        running.client.meta.events.unregister("after-call.dynamodb", store.clock._look)


def moto(clock: ManualClock) -> AbstractContextManager[DynamoBackend]:
    """An empty store on moto."""
    return _on(moto_engine(clock))


def emulated(clock: ManualClock, client: DynamoDBClient) -> AbstractContextManager[DynamoBackend]:
    """An empty store on the emulator's engine."""
    return _on(emulator_engine(clock, client))


def endpoint(clock: ManualClock) -> AbstractContextManager[DynamoBackend]:
    """An empty store on the engine that the environment names."""
    return _on(endpoint_engine(clock, ENDPOINT))


def dynamodb(clock: ManualClock) -> AbstractContextManager[DynamoBackend]:
    """An empty store on the most faithful engine at hand."""
    return endpoint(clock) if ENDPOINT else moto(clock)
