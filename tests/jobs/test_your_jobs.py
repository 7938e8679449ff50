"""Every job in `functions/jobs`, yours too, before it is deployed.

* Every module imports, and no job is lost or doubled: what is wrong is told with its place and traceback.
* Every schedule has a time, and the job's calendar answers for it.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pytest

from cronce.engine.registry import Catalog, discover

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """What the scheduler finds in a new process. A Region is set, as in Lambda: clients want one."""
    for module in [name for name in sys.modules if name.split(".")[0] == "jobs"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return discover("jobs")


def test_every_module_of_jobs_can_be_used(catalog: Catalog) -> None:
    told = [
        f"{module}: {problem}\n{catalog.tracebacks.get(module, '')}"
        for module, problem in catalog.problems.items()
    ]
    assert not told, "\n".join(told)


def test_every_job_has_a_time_and_a_calendar_that_answers(catalog: Catalog) -> None:
    """Counted from long ago, so that a job for one time does not fail the tests when its time is over."""
    for name, declared in catalog.jobs.items():
        first = declared.job.schedule.next_after(LONG_AGO)
        assert first is not None, f"job {name!r} ({declared.module}): its schedule has no time"
        declared.job.is_excluded(first)
