"""One deployed job whose body is what a measurement says, on the real handlers and in the local stack."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cronce.core.records import RunRecord
from cronce.engine.renewal import RenewalThread
from cronce.engine.run_handle import Run
from cronce_tools.local.moto_engine import behind
from cronce_tools.local.stack import MINUTE, LocalStack, local_stack
from tests.benchmarks.meter import Meter

NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
JOB = """
from cronce import Cron, Retry, Run, job
from tests.benchmarks import subject

@job("measured", schedule=Cron("2 * * * *"), timeout="12h", retry=Retry(attempts=3, base="1s"){options})
def measured(run: Run) -> None:
    subject.body(run)
"""

body: Callable[[Run], object] = lambda run: None  # noqa: E731 - it is replaced, not called by name
"""What the job does."""


@contextmanager
def deployed(
    does: Callable[[Run], object], *, counting: bool = True, options: str = ""
) -> Iterator[tuple[LocalStack, Meter]]:
    """A stack in which nothing but the job is deployed, a minute before its time.

    Args:
        does: the job's body.
        counting: whether the meter counts from the start.
        options: more arguments of the job, as text.
    """
    global body  # noqa: PLW0603 - the job's module looks here
    meter, jobs = Meter(counting=counting), importlib.import_module("jobs")
    before, body_before = list(jobs.__path__), body
    with TemporaryDirectory() as folder, local_stack(NOON) as stack, behind(meter.gate):
        (Path(folder) / "measured.py").write_text(JOB.format(options=options))
        jobs.__path__[:] = [folder]
        body = does
        try:
            with _without_renewals():
                stack.play(minutes=1)
                yield stack, meter
        finally:
            body = body_before
            jobs.__path__[:] = before
            sys.modules.pop("jobs.measured", None)


@contextmanager
def _without_renewals() -> Iterator[None]:
    """A claim is renewed by real time, of which counting takes more than the work does."""
    renewing: Any = RenewalThread.renewing
    none: Any = lambda _thread, _renew: nullcontext()  # noqa: E731
    RenewalThread.renewing = none  # type: ignore[method-assign]
    try:
        yield
    finally:
        RenewalThread.renewing = renewing  # type: ignore[method-assign]


def tick(stack: LocalStack) -> None:
    """A minute passes, and the scheduler ticks. Nothing is delivered."""
    stack.clock.set(stack.clock.now().replace(second=4, microsecond=0))
    stack.clock.advance(MINUTE)
    stack.invoke("scheduler", {})


def run_once(stack: LocalStack) -> RunRecord:
    """Let the job run, attempt by attempt, to its end.

    Raises:
        RuntimeError: it did not succeed.
    """
    runs: list[RunRecord] = []
    for _ in range(10):
        tick(stack)
        stack.settle()
        runs = stack.runs("measured")
        if runs and runs[-1].status.is_final:
            break
    if not runs or runs[-1].status != "SUCCEEDED":
        raise RuntimeError(f"the measured job did not succeed: {runs}")
    return runs[-1]
