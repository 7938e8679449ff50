"""A run of five steps elsewhere: the AWS durable execution SDK with its local runner, and DBOS on SQLite.

Runs in an environment of its own (.venv-bench), without cronce. `make bench` starts it after cronce's own
figures, in the same minute on the same machine. What the three do for a step is not the same: the SDK's
runner keeps its checkpoints in memory, DBOS writes to a file, cronce's local stack to an engine in memory
that checks every condition. Only operations and their list prices are compared.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

STEPS = 5


def timed(runs: int, work: Callable[[int], object]) -> tuple[float, float]:
    """Median milliseconds of a run without steps and of one with five."""
    found = []
    for steps in (0, STEPS):
        times = []
        for _ in range(runs):
            begun = perf_counter()
            work(steps)
            times.append((perf_counter() - begun) * 1000)
        found.append(median(times))
    return found[0], found[1]


def durable_functions(runs: int) -> dict[str, float]:
    """The AWS SDK: operations and checkpoint calls of a run, and the time of a step."""
    from aws_durable_execution_sdk_python.context import DurableContext, durable_step  # noqa: PLC0415
    from aws_durable_execution_sdk_python.execution import durable_execution  # noqa: PLC0415
    from aws_durable_execution_sdk_python_testing.client import InMemoryServiceClient  # noqa: PLC0415
    from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner  # noqa: PLC0415

    checkpoints = [0]
    checkpoint = InMemoryServiceClient.checkpoint

    def counted(client: Any, *args: Any, **named: Any) -> Any:
        checkpoints[0] += 1
        return checkpoint(client, *args, **named)

    @durable_step
    def one(_context: Any, number: int) -> str:
        return str(number)

    @durable_execution
    def function(event: int, context: DurableContext) -> list[str]:
        return [context.step(one(number), name=f"step-{number}") for number in range(int(event))]

    InMemoryServiceClient.checkpoint = counted
    operations = [0]
    with DurableFunctionTestRunner(handler=function, poll_interval=0.001) as runner:

        def work(steps: int) -> None:
            checkpoints[0] = 0
            result = runner.run(input=str(steps))
            operations[0] = len(result.operations)

        none, five = timed(runs, work)
    return {
        "operations": operations[0],
        "checkpoint calls": checkpoints[0],
        "ms a run": five,
        "ms a step": (five - none) / STEPS,
    }


def dbos(runs: int) -> dict[str, float]:
    """DBOS on a SQLite file: the time of a step."""
    from dbos import DBOS  # noqa: PLC0415

    @DBOS.step()
    def one(number: int) -> str:
        return str(number)

    @DBOS.workflow()
    def function(steps: int) -> list[str]:
        return [one(number) for number in range(steps)]

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'dbos.sqlite'}"
        DBOS(
            config={
                "name": "bench",
                "system_database_url": url,
                "log_level": "ERROR",
                "run_admin_server": False,
            }
        )
        DBOS.launch()
        try:
            none, five = timed(runs, function)
        finally:
            DBOS.destroy()
    return {"ms a run": five, "ms a step": (five - none) / STEPS}


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="how often each is measured")
    runs = parser.parse_args().runs
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    print(f"\na run of {STEPS} steps elsewhere, median of {runs}")
    for name, found in (
        ("AWS durable SDK, local runner", durable_functions(runs)),
        ("DBOS, SQLite", dbos(runs)),
    ):
        print(f"  {name:<30} " + ", ".join(f"{what} {value:.1f}" for what, value in found.items()))


if __name__ == "__main__":
    main()
