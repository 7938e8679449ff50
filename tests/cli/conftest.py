"""A local stack with jobs of the test's own, and a working copy of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import botocore.loaders
import botocore.session
import pytest

from cronce_tools.local.stack import LocalStack, local_stack
from tests.support.jobs_modules import jobs_set_aside

LOADER = botocore.loaders.Loader()
"""Reads the services' descriptions once for all tests; that is most of what making a client takes."""
START = datetime(2026, 10, 30, 9, 58, tzinfo=UTC)
"""A Friday, two minutes before six in New York, two days before its clocks are set back."""

JOBS = """
from datetime import date
from cronce import Cron, PermanentError, job

@job("menu", schedule=Cron("0 6 * * *", tz="America/New_York"), grace="15m")
def menu(run):
    run.step("build", int, 7)
    run.each("send", range(5), str, key=str, checkpoint_every=2)

@job("hourly", schedule=Cron("0 * * * *"))
def hourly(run):
    run.step("work", int, 1)

@job("broken", schedule=Cron("*/30 * * * *"))
def broken(run):
    run.step("fine", int, 1)
    raise PermanentError("no money left")
"""

STORIES = """
from cronce import Cron, Retry, job

@job("stubborn", schedule=Cron("0 * * * *"), retry=Retry(attempts=3, base="30s", cap="30s"))
def stubborn(run):
    run.step("first", int, 1)
    if run.attempt < 3:
        raise RuntimeError(f"try {run.attempt}: " + "x" * 300)
    run.each("many", range(10), str, key=str, checkpoint_every=3)

@job("sleeper", schedule=Cron("0 * * * *"))
def sleeper(run):
    run.sleep("wait", "1h")

@job("doubtful", schedule=Cron("0 * * * *"))
def doubtful(run):
    run.once("pay", int, "no number")
"""


@contextmanager
def working_copy(folder: Path) -> Iterator[Path]:
    """A working copy with a package of jobs, in front of the project's own until the end of the block."""
    jobs = folder / "functions/jobs"
    jobs.mkdir(parents=True)
    (jobs / "__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch, jobs_set_aside():
        patch.setattr(sys, "path", [str(folder / "functions"), *sys.path])
        patch.setattr(botocore.session, "create_loader", lambda *_: LOADER)
        yield folder


@contextmanager
def stack_with(folder: Path, jobs: str) -> Iterator[LocalStack]:
    """A local stack that runs these jobs; two minutes to go until six in New York."""
    with working_copy(folder):
        (folder / "functions/jobs/shop.py").write_text(jobs)
        with local_stack(START) as running:
            yield running


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """A working copy without jobs."""
    with working_copy(tmp_path) as folder:
        yield folder


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[LocalStack]:
    """A local stack with some ordinary jobs."""
    with stack_with(tmp_path, JOBS) as running:
        yield running
