"""What a month costs, all in: from counted calls, counted bytes of log, and list prices.

How long Lambda bills for an invocation cannot be counted here: `BILLED` is an assumption, stated on the page.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache

import boto3

from cronce.aws.telemetry import PowertoolsTelemetry
from cronce.engine import metrics
from cronce.engine.run_handle import Run
from cronce_tools.local.stack import STACK, LocalStack
from cronce_tools.local.template import Template
from tests.benchmarks import prices
from tests.benchmarks.meter import KEYS, Use, item_size
from tests.benchmarks.subject import deployed, tick

STEPS = 5
DAYS = 30
MINUTES = DAYS * 24 * 60
RUNS = DAYS * 24
"""Of an hourly job."""
JOBS = (10, 100, 1000)
KEPT_DAYS = 430
"""A run and its steps are kept 400 days and a month more; in a steady state so much is stored."""
OVERHEAD = 100
"""Bytes that DynamoDB adds to the size of each stored item."""
GB = 1024**3
PLATFORM_LINES = 350
"""Bytes of the lines that Lambda itself writes for an invocation: START, END, REPORT."""
BILLED = {"scheduler": 100, "watchdog": 60, "dispatcher": 40, "executor": 200}
"""Milliseconds: warm, without the job's own work. Assumed; a cold start is some 500 ms, and rare."""
MEMORY_GB = 0.5
"""All functions have 512 MB unless somebody asks for more."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What was counted on the deployed handlers.

    Attributes:
        minute: a minute with nothing due, tick and patrol.
        run: one run of five steps, without its share of the minute.
        minute_log: bytes of log of such a minute.
        run_log: bytes of log of the run.
        stored: bytes that the run leaves behind.
    """

    minute: Use
    run: Use
    minute_log: int
    run_log: int
    stored: int


class Logged:
    """Counts what handlers print."""

    def __init__(self, stack: LocalStack) -> None:
        self.bytes: Counter[str] = Counter()
        self.phase = "set-up"
        write = stack.console.write

        def counted(text: str) -> int:
            self.bytes[self.phase] += len(text.encode())
            return write(text)

        stack.console.write = counted  # type: ignore[method-assign]


@cache
def counted() -> Counted:
    """Count a run and a quiet minute."""

    def body(run: Run) -> None:
        for number in range(STEPS):
            run.step(f"step-{number}", str, number)

    with deployed(body) as (stack, meter):
        logged, before = Logged(stack), _stored(stack)
        for phase, work in (
            ("planned", lambda: tick(stack)),
            ("executed", stack.settle),
            ("tick", lambda: tick(stack)),
            ("patrol", lambda: stack.invoke("watchdog", {})),
        ):
            meter.phase = logged.phase = phase
            work()
        stored, used, log = _stored(stack) - before, meter.used, logged.bytes
    run = used["planned"] - used["tick"]
    return Counted(
        minute=_sum(used["tick"], used["patrol"]),
        run=_sum(run, used["executed"]),
        minute_log=log["tick"] + log["patrol"],
        run_log=log["planned"] - log["tick"] + log["executed"],
        stored=stored,
    )


def month(jobs: int) -> Mapping[str, float]:
    """Dollars of a month with so many hourly jobs of five steps, by what they are paid for."""
    found, runs = counted(), jobs * RUNS
    invocations = 2 * MINUTES + 2 * runs  # scheduler and watchdog; dispatcher and executor
    compute = MINUTES * (BILLED["scheduler"] + BILLED["watchdog"])
    compute += runs * (BILLED["dispatcher"] + BILLED["executor"])
    log = MINUTES * found.minute_log + runs * found.run_log + invocations * PLATFORM_LINES
    stored = runs / DAYS * KEPT_DAYS * found.stored
    lines = {
        "minutes: DynamoDB": MINUTES * _units(found.minute),
        "runs: DynamoDB": runs * _units(found.run),
        "storage and its backup": stored / GB * (prices.STORED_GB + prices.BACKUP_GB),
        "Lambda": invocations * prices.LAMBDA_REQUEST + compute / 1000 * MEMORY_GB * prices.LAMBDA_GB_SECOND,
        "logs": log / GB * prices.LOG_GB,
        "metrics": metric_count() * prices.METRIC,
        "alarms": alarm_count() * prices.ALARM,
    }
    return {**lines, "all": sum(lines.values())}


def watching(jobs: int) -> Mapping[str, float]:
    """Dollars of a month for being told, by what they are paid for. The last two are asked for."""
    series = jobs * (prices.METRIC + prices.QUERY_ALARM_METRIC)
    lines = jobs * MINUTES * gauge_line() / GB * prices.LOG_GB
    return {
        "metrics of the stack": metric_count() * prices.METRIC,
        "its alarms": alarm_count() * prices.ALARM,
        "a fourth dashboard of the account": prices.DASHBOARD,
        "`JobMetrics=all`": series + lines,
    }


@cache
def gauge_line() -> int:
    """Bytes of the line of log that is a job's metric."""
    said = io.StringIO()
    with redirect_stdout(said):
        PowertoolsTelemetry("watchdog", STACK).by_job(metrics.JOB_IN_TROUBLE, {"job-with-a-name": 0})
    return len(said.getvalue().encode())


def metric_count() -> int:
    """Custom metrics of a stack that did not ask for those of jobs."""
    names = {value for name, value in vars(metrics).items() if name.isupper() and isinstance(value, str)}
    return len(names - {metrics.JOB_IN_TROUBLE})


def alarm_count() -> int:
    """Alarms of a stack that did not ask for metrics of jobs; each is on one metric."""
    alarms = [each for each in Template.load().resources.values() if each["Type"] == "AWS::CloudWatch::Alarm"]
    return sum("Condition" not in alarm for alarm in alarms)


def table(of: Callable[[int], Mapping[str, float]] = month) -> str:
    """A table of the page, in Markdown."""
    months = {jobs: of(jobs) for jobs in JOBS}
    rows = ["| a month, in dollars | " + " | ".join(f"{jobs:,} jobs" for jobs in JOBS) + " |"]
    rows.append("|---|" + "--:|" * len(JOBS))
    rows += [
        f"| {line} | " + " | ".join(f"{months[jobs][line]:,.2f}" for jobs in JOBS) + " |"
        for line in months[JOBS[0]]
    ]
    return "\n".join(rows)


def main() -> None:
    """Print the table."""
    found = counted()
    print(f"\na run of {STEPS} steps: {found.run}, {found.run_log} bytes of log, {found.stored} bytes stored")
    print(f"a minute: {found.minute}, {found.minute_log} bytes of log\n")
    print(f"{table()}\n\n{table(watching)}")


def _units(use: Use) -> float:
    return use.writes * prices.WRITE_UNIT + use.reads * prices.READ_UNIT


def _sum(one: Use, other: Use) -> Use:
    return one - (Use() - other)


def _stored(stack: LocalStack) -> int:
    """Bytes in all tables of the stack."""
    resource = boto3.resource("dynamodb")
    names = [name for name in KEYS if name != "idempotency"]
    items = [item for name in names for item in resource.Table(name).scan()["Items"]]
    return sum(item_size(dict(item)) + OVERHEAD for item in items)
