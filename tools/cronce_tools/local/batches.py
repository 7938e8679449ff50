"""What becomes of the records of a stream that were handed to a function: Lambda's rules for one shard.

One batch at a time, in order. Of a batch, what the function reports as failed comes again together with
everything after the lowest reported record; a batch whose function failed as a whole is halved (bisect) or
comes again as it is. After `MaximumRetryAttempts`, or once its oldest record is older than
`MaximumRecordAgeInSeconds`, it is given up. (AWS Lambda developer guide, "Using Lambda with DynamoDB".)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]

NO_BOUND = -1
"""What a mapping says for "for ever", which is also its default."""


@dataclass(frozen=True, kw_only=True)
class RetryRules:
    """How often a batch comes again.

    Attributes:
        attempts: retries of a batch that got no further; `NO_BOUND` for ever.
        max_age: seconds after which a record is no longer tried; `NO_BOUND` never.
        bisect: a batch that failed is halved.
        partial: the function's report of single failures is looked at.
    """

    attempts: int = NO_BOUND
    max_age: int = NO_BOUND
    bisect: bool = False
    partial: bool = False

    @classmethod
    def of(cls, mapping: Mapping[str, Any]) -> RetryRules:
        """Read the properties of an event source mapping, from a template or from Lambda."""
        return cls(
            attempts=int(mapping.get("MaximumRetryAttempts", NO_BOUND)),
            max_age=int(mapping.get("MaximumRecordAgeInSeconds", NO_BOUND)),
            bisect=bool(mapping.get("BisectBatchOnFunctionError")),
            partial="ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", ()),
        )


@dataclass(frozen=True)
class GivenUp:
    """Records that are not tried again.

    Attributes:
        records: in order.
        condition: what the on-failure message calls the reason.
    """

    records: list[Record]
    condition: str


class Batches:
    """The batches of one shard that wait.

    Args:
        rules: of its mapping.
    """

    def __init__(self, rules: RetryRules) -> None:
        self._rules = rules
        self._waiting: deque[tuple[list[Record], int]] = deque()
        self._tries = 0

    def __bool__(self) -> bool:
        """Whether one waits."""
        return bool(self._waiting)

    def add(self, records: list[Record]) -> None:
        """Take a new batch, behind all others."""
        self._waiting.append((records, 0))

    def take(self) -> list[Record]:
        """The records to hand to the function next; empty when there are none."""
        if not self._waiting:
            return []
        records, self._tries = self._waiting.popleft()
        return records

    def report(self, records: list[Record], answer: object, now: float) -> GivenUp | None:
        """Take the function's answer to the batch that was taken last.

        Args:
            records: the batch.
            answer: what the function returned; anything but an object means that it failed as a whole.
            now: seconds since 1970, to be compared with the records' own times.

        Returns:
            What is given up by this.
        """
        if not isinstance(answer, dict):
            return self._again(records, now, got_further=False)
        position = self._lowest(records, answer.get("batchItemFailures") or ())
        if position is None:
            return None
        return self._again(records[position:], now, got_further=position > 0)

    def _lowest(self, records: list[Record], failures: Iterable[Mapping[str, str]]) -> int | None:
        """Position of the first failed record; a number that is not in the batch fails all of it."""
        if not self._rules.partial:
            return None
        positions = {record["dynamodb"]["SequenceNumber"]: place for place, record in enumerate(records)}
        return min((positions.get(entry.get("itemIdentifier", ""), 0) for entry in failures), default=None)

    def _again(self, records: list[Record], now: float, *, got_further: bool) -> GivenUp | None:
        rules = self._rules
        tries = 1 if got_further else self._tries + 1
        age = now - float(records[0]["dynamodb"].get("ApproximateCreationDateTime", now))
        if NO_BOUND < rules.max_age < age:
            return GivenUp(records, "MaxRecordAgeExceeded")
        if rules.bisect and len(records) > 1:
            half = len(records) // 2
            self._waiting.extendleft([(records[half:], 0), (records[:half], 0)])
        elif NO_BOUND < rules.attempts < tries:
            return GivenUp(records, "RetryAttemptsExhausted")
        else:
            self._waiting.appendleft((records, tries))
        return None
