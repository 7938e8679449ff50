"""The stream of the runs table and the mapping that reads it, with the template's own settings.

`cronce_tools.local.batches` says what comes again and when it is given up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import boto3

from cronce_tools.local.batches import Batches, Record, RetryRules
from cronce_tools.local.filters import matches_any
from cronce_tools.local.template import Template


class MappedStream(ABC):
    """A stream as its mapping hands it on: in batches, by the template's retry rules.

    Attributes:
        enabled: false while the mapping is switched off; records wait.
        given_up: records that failed too often.
    """

    def __init__(self, template: Template) -> None:
        mapping = template.mapping()
        self._batch_size = int(mapping["BatchSize"])
        self._batches = Batches(RetryRules.of(mapping))
        self.enabled = True
        self.given_up: list[Record] = []

    @abstractmethod
    def _new(self) -> list[Record]:
        """The records since the last call that pass the mapping's filter."""

    def next_batch(self) -> list[Record]:
        """The records to hand to the function next; empty when there are none."""
        if not self.enabled:
            return []
        if not self._batches:
            records = self._new()
            for start in range(0, len(records), self._batch_size):
                self._batches.add(records[start : start + self._batch_size])
        return self._batches.take()

    def report(self, records: list[Record], answer: object) -> None:
        """Take the function's answer to a batch: None means that it failed as a whole."""
        now = float(records[0]["dynamodb"]["ApproximateCreationDateTime"])  # here no record grows old
        given_up = self._batches.report(records, answer, now)
        if given_up:
            self.given_up += given_up.records


class Stream(MappedStream):
    """The stream of a table in moto, with the mapping's filter."""

    def __init__(self, table: str, template: Template) -> None:
        super().__init__(template)
        self._filters = template.filters()
        self._client = boto3.client("dynamodbstreams")
        self._arn = boto3.client("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
        self._seen: str | None = None

    def _new(self) -> list[Record]:
        answer = self._client.get_records(ShardIterator=self._iterator())
        if answer["Records"]:
            self._seen = answer["Records"][-1]["dynamodb"]["SequenceNumber"]
        passed = [self._as_lambda_sends_it(record) for record in answer["Records"]]
        return [record for record in passed if matches_any(self._filters, record)]

    def _iterator(self) -> str:
        """A new iterator for each read.

        moto takes back a cancelled transaction by putting a copy of the whole table in its place; an iterator
        from before reads the old one, for ever.
        """
        shards = self._client.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]
        where: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if self._seen:
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._seen}
        answer = self._client.get_shard_iterator(StreamArn=self._arn, ShardId=shards[0]["ShardId"], **where)
        return str(answer["ShardIterator"])

    def _as_lambda_sends_it(self, record: Any) -> Record:
        created = record["dynamodb"]["ApproximateCreationDateTime"].timestamp()
        return {
            **record,
            "eventSourceARN": self._arn,
            "dynamodb": {**record["dynamodb"], "ApproximateCreationDateTime": created},
        }
