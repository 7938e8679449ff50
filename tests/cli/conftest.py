"""A local stack with jobs of the test's own, and a working copy of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import botocore.loaders
import botocore.session
import pytest

from cronce_tools.local.stack import LocalStack, local_stack

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


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working copy with a package of jobs, in front of the project's own."""
    jobs = tmp_path / "functions/jobs"
    jobs.mkdir(parents=True)
    (jobs / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "functions"), *sys.path])
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "jobs"]:
        del sys.modules[module]


@pytest.fixture
def stack(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalStack]:
    """A local stack that runs the working copy's jobs; two minutes to go until six."""
    monkeypatch.setattr(botocore.session, "create_loader", lambda *_: LOADER)
    (copy / "functions/jobs/shop.py").write_text(JOBS)
    with local_stack(START) as running:
        yield running
