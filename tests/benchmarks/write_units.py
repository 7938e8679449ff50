"""Write units of a run, by DynamoDB's published rules, counted at every call of the deployed handlers.

`make bench` prints a table. Nothing is timed. Local engines report consumed capacity wrongly, so it is
computed here from the items before and after each call:

* a plain write: 1 unit per KB of the larger of the item before and after, rounded up;
* in a transaction: 2 units per KB, for a condition check too (of the item that is checked);
* the index: 1 unit for each entry (under 1 KB) that is put, changed or deleted; a moved key is a deletion and
  a put.

(Amazon DynamoDB developer guide: "Read and write operations", "Managing complex workflows with transactions",
"Using Global Secondary Indexes".)
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer
from botocore.client import BaseClient

from cronce_tools.local.moto_engine import Proceed, behind
from cronce_tools.local.stack import MINUTE, LocalStack, local_stack

Item = dict[str, Any]
KB = 1024
DOLLARS_A_MILLION = 0.625
"""On demand, us-east-1."""
PROJECTED = ("pk", "sk", "due_kind", "due_at", "status", "expect_by", "notice", "shape")
NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
STEPS = 5
JOB = """
from cronce import At, Run, job
from datetime import UTC, datetime

@job("measured", schedule=At(datetime(2026, 10, 30, 12, 2, tzinfo=UTC)))
def measured(run: Run) -> None:
    for number in range({steps}):
        run.step(f"step-{{number}}", str, number)
"""


def size_of(value: object) -> int:
    """Bytes of an attribute's value, by the documented rules, near enough for whole KB."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, dict):
        return 3 + sum(len(name) + size_of(part) + 1 for name, part in value.items())
    if isinstance(value, list | set | tuple):
        return 3 + sum(size_of(part) + 1 for part in value)
    return 1 if isinstance(value, bool) or value is None else ceil(len(str(value)) / 2) + 1


def kilobytes(item: Item | None) -> int:
    """KB of an item, rounded up; 1 for one that is not there."""
    return max(1, ceil(sum(len(name) + size_of(value) for name, value in (item or {}).items()) / KB))


def entry_of(item: Item | None) -> Item | None:
    """The item's entry in the index `due`, if it has one."""
    if item is None or "due_kind" not in item or "due_at" not in item:
        return None
    return {name: item[name] for name in PROJECTED if name in item}


def index_units(before: Item | None, after: Item | None) -> int:
    """Units of the index for one write."""
    old, new = entry_of(before), entry_of(after)
    if old == new:
        return 0
    moved = old and new and (old["due_kind"], old["due_at"]) != (new["due_kind"], new["due_at"])
    return 2 if moved else 1


class Meter:
    """Counts units by phase. Use its `gate` with `behind`."""

    def __init__(self) -> None:
        self.units: Counter[str] = Counter()
        self.phase = "set-up"
        self._looking = False
        self._read = TypeDeserializer().deserialize

    def gate(self, client: BaseClient, operation: str, parameters: Item, proceed: Proceed) -> Any:
        """What every call passes."""
        writes = list(_writes(operation, parameters))
        if self._looking or not writes or client.meta.service_model.service_name != "dynamodb":
            return proceed()
        before = [self._item(table, key) for table, key, _ in writes]
        answer = proceed()
        factor = 2 if operation == "TransactWriteItems" else 1
        for (table, key, checks), old in zip(writes, before, strict=True):
            new = self._item(table, key)
            self.units[self.phase] += factor * max(kilobytes(old), kilobytes(new))
            self.units[self.phase] += 0 if checks else index_units(old, new)
        return answer

    def _item(self, table: str, key: Item) -> Item | None:
        self._looking = True
        try:
            found = boto3.client("dynamodb").get_item(TableName=table, Key=key).get("Item")
        finally:
            self._looking = False
        return {name: self._read(value) for name, value in found.items()} if found else None


def _writes(operation: str, parameters: Item) -> Iterator[tuple[str, Item, bool]]:
    """Table, key and whether it is a mere check, of each write in a call to the runs or steps table."""
    parts = [(operation, parameters)]
    if operation == "TransactWriteItems":
        parts = [next(iter(part.items())) for part in parameters["TransactItems"]]
    for kind, part in parts:
        if kind in {"Put", "PutItem", "Update", "UpdateItem", "Delete", "DeleteItem", "ConditionCheck"}:
            key = part.get("Key") or {
                name: part["Item"][name] for name in ("pk", "sk") if name in part["Item"]
            }
            if "sk" in key:
                yield part["TableName"], key, kind == "ConditionCheck"


def measured(steps: int) -> Counter[str]:
    """Units of one run of so many steps, by phase; `quiet tick` is a tick with nothing due."""
    meter, jobs = Meter(), importlib.import_module("jobs")
    before = list(jobs.__path__)
    with TemporaryDirectory() as folder, local_stack(NOON) as stack, behind(meter.gate):
        (Path(folder) / "measured.py").write_text(JOB.format(steps=steps))
        jobs.__path__[:] = [folder]
        try:
            stack.play(minutes=1)
            meter.phase = "tick that plans it"
            _tick(stack)
            meter.phase = "execution"
            stack.settle()
            meter.phase = "quiet tick"
            _tick(stack)
        finally:
            jobs.__path__[:] = before
            sys.modules.pop("jobs.measured", None)
    return meter.units


def _tick(stack: LocalStack) -> None:
    stack.clock.set(stack.clock.now().replace(second=4, microsecond=0))
    stack.clock.advance(MINUTE)
    stack.invoke("scheduler", {})


def figures() -> dict[str, float]:
    """Units of a run without its steps and of one step; dollars of a million runs of five."""
    none, five = measured(0), measured(STEPS)
    tick = five["quiet tick"]
    run = none["tick that plans it"] - tick + none["execution"]
    step = (five["execution"] - none["execution"]) / STEPS
    return {
        "quiet tick": tick,
        "plan": none["tick that plans it"] - tick,
        "claim and finish": none["execution"],
        "run": run,
        "step": step,
        "dollars": (run + STEPS * step) * DOLLARS_A_MILLION,
    }


def main() -> None:
    """Print the table."""
    found = figures()
    print(f"a tick with nothing due             {found['quiet tick']:5.0f} units")
    print(f"a run: planned                      {found['plan']:5.0f} units")
    print(f"a run: claimed and finished         {found['claim and finish']:5.0f} units")
    print(f"a step                              {found['step']:5.0f} units")
    print(f"a million runs of five steps       ${found['dollars']:5.2f}")


if __name__ == "__main__":
    main()
