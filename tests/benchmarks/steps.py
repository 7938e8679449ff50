"""One step beside one idempotent call of Powertools, and a thousand items, on one engine in one process.

Calls and units are counted. Milliseconds are those of the engine in memory, so only the ratio of two columns
of one run says anything; DynamoDB itself takes some milliseconds a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import boto3
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

from cronce.engine.run_handle import Run
from tests.benchmarks.meter import Meter, Use
from tests.benchmarks.subject import deployed, run_once

TABLE = "idempotency"
STARTED_OVER = RuntimeError("the first attempt ends here")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table.

    Attributes:
        name: what was measured.
        use: what was asked of DynamoDB.
        ms: milliseconds in all.
        count: how many steps, calls or items it was.
    """

    name: str
    use: Use
    ms: float
    count: int


class Watch:
    """Measures pieces of work, each in a phase of its own."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.rows: list[Row] = []

    def live(self, body: Callable[[Run], object]) -> list[Row]:
        """Let a job with that body run twice: counted, then timed, since counting takes time of its own."""
        counted = self._rows(body, counting=True)
        timed = self._rows(body, counting=False)
        return [replace(row, use=like.use) for row, like in zip(timed, counted, strict=True)]

    def _rows(self, body: Callable[[Run], object], *, counting: bool) -> list[Row]:
        self.rows = []
        with deployed(body, counting=counting) as (stack, meter):
            self.meter = meter
            run_once(stack)
        return self.rows

    def __call__(self, name: str, count: int, work: Callable[[], object]) -> None:
        """Do the work and remember what it took."""
        outer, self.meter.phase = self.meter.phase, name
        begun = perf_counter()
        try:
            work()
        finally:
            ms = (perf_counter() - begun) * 1000
            self.meter.phase = outer
            self.rows.append(Row(name=name, use=self.meter.used[name], ms=ms, count=count))


class Remaining:
    """What Powertools asks of Lambda's context: until when an unfinished call keeps others out."""

    def get_remaining_time_in_millis(self) -> int:
        """A minute."""
        return 60_000


def powertools() -> Callable[..., Any]:
    """A function that Powertools makes idempotent, with its table."""
    boto3.client("dynamodb").create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    store = DynamoDBPersistenceLayer(table_name=TABLE)

    config = IdempotencyConfig(raise_on_no_idempotency_key=True)
    config.register_lambda_context(Remaining())  # type: ignore[arg-type] # it is asked for nothing else

    def same(*, number: str) -> str:
        return number

    made: Callable[..., Any] = idempotent_function(
        same, data_keyword_argument="number", persistence_store=store, config=config
    )
    return made


def one_step(count: int) -> list[Row]:
    """So many steps and so many calls of Powertools, first and again."""
    watch = Watch()

    def body(run: Run) -> None:
        def steps() -> None:
            for number in range(count):
                run.step(f"step-{number}", str, number)

        if run.attempt > 1:
            watch("step, replayed", count, steps)
            return
        watch("step, first", count, steps)
        idempotent = powertools()

        def calls() -> None:
            for number in range(count):
                idempotent(number=str(number))

        watch("Powertools call, first", count, calls)
        watch("Powertools call, replayed", count, calls)
        raise STARTED_OVER

    return watch.live(body)


def items(count: int) -> list[Row]:
    """So many items by `each`, by Powertools one by one, and by a bare loop."""
    watch = Watch()
    numbers = [str(number) for number in range(count)]

    def body(run: Run) -> None:
        watch("bare loop", count, lambda: [str(number) for number in numbers])
        for every in (25, 1):  # the engine is slower the more it holds
            name = f"each, checkpoint_every={every}"
            watch(name, count, lambda: run.each(f"each-{every}", numbers, str, checkpoint_every=every))  # noqa: B023
        idempotent = powertools()
        watch("Powertools per item", count, lambda: [idempotent(number=number) for number in numbers])
        if "concurrency" in inspect.signature(run.each).parameters:
            for threads in (1, 16):
                name = f"each, checkpoint_every=25, concurrency={threads}"
                options: Any = {"checkpoint_every": 25, "concurrency": threads}
                watch(name, count, lambda: run.each(f"threads-{threads}", numbers, str, **options))  # noqa: B023

    return watch.live(body)


def resume(count: int, done: int, every: int) -> list[Row]:
    """A worker fails after `done` of `count` items; the next attempt goes on."""
    watch, executed = Watch(), [0]

    def body(run: Run) -> None:
        def one(number: int) -> int:
            if run.attempt == 1 and number == done:
                raise STARTED_OVER
            executed[0] += 1
            return number

        name = f"attempt {run.attempt}: {count} items, {done} done"
        executed[0] = 0
        try:
            watch(name, 0, lambda: run.each("each", range(count), one, checkpoint_every=every))
        finally:
            row = watch.rows[-1]
            watch.rows[-1] = replace(row, count=executed[0])

    return watch.live(body)


def show(title: str, rows: list[Row]) -> None:
    """Print a table."""
    print(f"\n{title:<48} {'calls':>7} {'write':>8} {'read':>8} {'ms':>9} {'ms each':>8}")
    for row in rows:
        each = row.ms / row.count if row.count else 0
        use = row.use
        units = f"{use.calls:>7} {use.writes:>8.0f} {use.reads:>8.1f}"
        print(f"  {row.name:<46} {units} {row.ms:>9.1f} {each:>8.3f}")


def main(scale: float = 1) -> None:
    """Measure and print. A smaller scale is for tests."""
    show("200 steps, 200 calls", one_step(int(200 * scale)))
    show("1,000 items", items(int(1000 * scale)))
    show("1,000 items, checkpoint_every=25", resume(int(1000 * scale), int(600 * scale), 25))
    show("100,000 items, checkpoint_every=1,000", resume(int(100_000 * scale), int(60_000 * scale), 1000))
