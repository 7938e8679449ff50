"""Ctrl-C while code of an author's is executed.

Invariants:
- it ends the tool that executes it: the command, one run of a job, the local stack;
- it is neither the module's problem nor the job's failure;
- what an author raises comes without a signal, and stays the author's: in a tool as in a deployment.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cronce import Cron, Run, job
from cronce.core.run import RunStatus
from cronce.testing import run_job
from cronce.testing.ctrl_c import ctrl_c_ends
from cronce_tools.cli.working_copy import authors_code, catalog
from cronce_tools.local.stack import local_stack
from tests.support.jobs_modules import jobs_set_aside

PRESSED = "import signal\nsignal.raise_signal(signal.SIGINT)\n"


@pytest.fixture(autouse=True)
def ctrl_c_as_in_a_terminal() -> Iterator[None]:
    """Processes that run tests side by side ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "functions/jobs"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch, jobs_set_aside():
        patch.setattr(sys, "path", [str(folder.parent), *sys.path])
        yield folder


def test_it_ends_the_command_that_imports_a_module(jobs: Path) -> None:
    (jobs / "slow.py").write_text(PRESSED)
    with pytest.raises(KeyboardInterrupt):
        catalog(jobs.parents[1])
    (jobs / "slow.py").write_text(f"try:\n    {PRESSED.replace(chr(10), ';')}\nexcept BaseException: pass\n")
    with pytest.raises(KeyboardInterrupt):
        catalog(jobs.parents[1])


def test_what_a_module_raises_itself_is_its_problem(jobs: Path) -> None:
    (jobs / "odd.py").write_text("raise KeyboardInterrupt\n")
    assert list(catalog(jobs.parents[1]).problems) == ["jobs.odd"]


def test_it_ends_one_run_of_a_job_and_what_a_job_raises_itself_is_its_failure() -> None:
    @job("hangs", schedule=Cron("0 6 * * *"))
    def hangs(run: Run) -> None:
        run.step("work", signal.raise_signal, signal.SIGINT)

    @job("odd", schedule=Cron("0 6 * * *"))
    def odd(run: Run) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(hangs)
    assert run_job(odd).status is RunStatus.FAILED


def test_it_ends_the_local_stack(jobs: Path) -> None:
    (jobs / "slow.py").write_text(PRESSED)
    with local_stack(datetime(2026, 3, 1, 12, tzinfo=UTC)) as stack, pytest.raises(KeyboardInterrupt):
        stack.play()


def test_the_handler_that_was_there_is_there_again_and_where_it_is_ignored_it_stays_so() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ctrl_c_ends(), authors_code():
        pass
    assert signal.getsignal(signal.SIGINT) is before
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with ctrl_c_ends():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
