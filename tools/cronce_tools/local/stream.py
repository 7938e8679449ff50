"""The stream of the runs table and the mapping that reads it, with the template's own settings.

One batch at a time, in order. Of a batch, what the function reports as failed comes again together with
everything after the lowest reported record; a batch whose function failed as a whole is halved (bisect) or
comes again as it is. After `MaximumRetryAttempts` a record is given up and kept in `given_up`. (AWS Lambda
developer guide, "Using Lambda with DynamoDB".)
"""

from __future__ import annotations

from collections import deque
from typing import Any

import boto3

from cronce_tools.local.filters import matches_any
from cronce_tools.local.template import Template

Record = dict[str, Any]


class Stream:
    """A reader of the stream with the mapping's filter, batch size and retry rules.

    Attributes:
        enabled: false while the mapping is switched off; records wait.
        given_up: records that failed too often.
    """

    def __init__(self, table: str, template: Template) -> None:
        mapping = template.mapping()
        self._filters = template.filters()
        self._batch_size = int(mapping["BatchSize"])
        self._attempts = int(mapping["MaximumRetryAttempts"])
        self._bisect = bool(mapping.get("BisectBatchOnFunctionError"))
        self._client = boto3.client("dynamodbstreams")
        self._arn = boto3.client("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
        self._seen: str | None = None
        self._waiting: deque[tuple[list[Record], int]] = deque()
        self._tries = 0
        self.enabled = True
        self.given_up: list[Record] = []

    def next_batch(self) -> list[Record]:
        """The records to hand to the function next; empty when there are none."""
        if not self.enabled:
            return []
        if not self._waiting:
            self._read()
        if not self._waiting:
            return []
        records, self._tries = self._waiting.popleft()
        return records

    def report(self, records: list[Record], answer: object) -> None:
        """Take the function's answer to a batch: None means that it failed as a whole."""
        if not isinstance(answer, dict):
            self._again(records, failed_whole=True)
            return
        failed = {entry["itemIdentifier"] for entry in answer.get("batchItemFailures", [])}
        for position, record in enumerate(records):
            if record["dynamodb"]["SequenceNumber"] in failed:
                self._again(records[position:], failed_whole=position == 0)
                return

    def _again(self, records: list[Record], *, failed_whole: bool) -> None:
        tries = self._tries + 1 if failed_whole else 1
        if self._bisect and len(records) > 1:
            half = len(records) // 2
            self._waiting.extendleft([(records[half:], 0), (records[:half], 0)])
        elif tries > self._attempts:
            self.given_up += records
        else:
            self._waiting.appendleft((records, tries))

    def _read(self) -> None:
        answer = self._client.get_records(ShardIterator=self._iterator())
        if answer["Records"]:
            self._seen = answer["Records"][-1]["dynamodb"]["SequenceNumber"]
        passed = [self._as_lambda_sends_it(record) for record in answer["Records"]]
        passed = [record for record in passed if matches_any(self._filters, record)]
        for start in range(0, len(passed), self._batch_size):
            self._waiting.append((passed[start : start + self._batch_size], 0))

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
