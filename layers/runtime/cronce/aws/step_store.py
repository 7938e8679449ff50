"""Steps, chunks and kept attempts of runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from cronce.aws.calls import Calls, Verdict
from cronce.aws.items_step import read_act, read_attempt, read_input, read_step, step_item
from cronce.aws.keys import ACT, ATTEMPT, INPUT, STEP, run_key
from cronce.aws.limits import ITEM_BYTES, item_bytes
from cronce.aws.run_changes import LIVE, live_values
from cronce.aws.step_writes import IDENTITY, step_write
from cronce.aws.writes import check
from cronce.core.acts import Act
from cronce.core.errors import StepResultTooLargeError
from cronce.core.records import AttemptRecord, RunRecord, RunRef, StepRecord


class DynamoStepStore:
    """`StepStore` on both tables: the steps stand in one, the claim that guards them in the other.

    Args:
        calls: the client's calls.
        runs: name of the runs table.
        steps: name of the steps table.
        retention: how long the record of a finished run is kept.
    """

    def __init__(self, calls: Calls, *, runs: str, steps: str, retention: timedelta) -> None:
        self._calls = calls
        self._runs = runs
        self._table = steps
        self._retention = retention

    def load(self, ref: RunRef) -> Iterator[StepRecord]:
        """All steps and chunks of a run in order of their keys, strong, page by page as they are taken.

        Raises:
            UnreadableItemError: one of them cannot be read: leaving it out would repeat a finished step.
        """
        items = self._calls.beginning_with(f"read steps of {ref.id}", self._table, ref.id, STEP)
        return map(read_step, items)

    def record(self, claimed: RunRecord, step: StepRecord, before: StepRecord | None = None) -> bool:
        """Put a step item.

        Conditions: ABSENT or SAME on the step, LIVE on its run, in one transaction. Writes the whole item.
        A reply that was lost: the own write is known on the step item, by status, owner and token. The guard
        proves nothing: a run that was declared lost may still carry this worker's owner and token.

        Raises:
            StepResultTooLargeError: the item would exceed what the store takes.
        """
        item = step_item(step, self._retention)
        size = item_bytes(item)
        if size > ITEM_BYTES:
            raise StepResultTooLargeError(
                f"run {step.ref.id}: step {step.name!r}: {size} bytes, and an item takes {ITEM_BYTES}"
            )
        operation = f"record step {step.name!r} of {step.ref.id}"
        writes = [
            step_write(self._table, item, before),
            check(self._runs, run_key(claimed.ref), LIVE, live_values(claimed)),
        ]
        settlement = self._calls.settled(operation, lambda: self._calls.transact(operation, writes))
        if settlement.done:
            return True
        stored = settlement.answers[0]
        return stored.verdict is Verdict.FAILED and all(
            (stored.item or {}).get(name) == item[name] for name in IDENTITY
        )

    def attempts(self, ref: RunRef) -> list[AttemptRecord]:
        """The attempts kept of a run, oldest first, strong, all pages.

        Raises:
            UnreadableItemError: one of them cannot be read.
        """
        items = self._calls.beginning_with(f"read attempts of {ref.id}", self._table, ref.id, ATTEMPT)
        return sorted((read_attempt(item) for item in items), key=lambda attempt: attempt.number)

    def input(self, ref: RunRef) -> str | None:
        """The input that is kept beside a run, strong.

        Raises:
            UnreadableItemError: it is malformed.
        """
        items = self._calls.beginning_with(f"read the input of {ref.id}", self._table, ref.id, INPUT)
        return next((read_input(item).text for item in items), None)

    def acts(self, of: str) -> list[Act]:
        """The displaced acts on a run or a job, oldest first, strong, all pages.

        Raises:
            UnreadableItemError: one of them cannot be read.
        """
        return [
            read_act(item) for item in self._calls.beginning_with(f"read acts on {of}", self._table, of, ACT)
        ]
