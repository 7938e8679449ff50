"""`cronce rewind` and `cronce resume --dry-run`.

* A job that is set back is planned again from the named time on: what has a record is left alone, and what
  lies in a gap unless it is asked.
* What a resumed job would catch up can be looked at first; nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import JOBS, START, stack_with
from tests.cli.terminal import cronce, operations
from tests.support.jobs_modules import forget_jobs

HERE = "cronce-local (us-east-1)"
HOUR = timedelta(hours=1)


@pytest.fixture
def noon(tmp_path: Path) -> Iterator[LocalStack]:
    """Ten o'clock runs; no tick comes until one: 11:00 and 12:00 lie in a gap, 13:00 runs."""
    with stack_with(tmp_path, JOBS) as running:
        running.play(minutes=2)
        running.clock.set(START + 3 * HOUR + timedelta(minutes=1))
        running.play()
        yield running


def lose(run: str) -> None:
    """A hand, or a restore, has taken a record away."""
    job, _, at = run.partition("@")
    boto3.client("dynamodb").delete_item(
        TableName="runs", Key={"pk": {"S": f"JOB#{job}"}, "sk": {"S": f"RUN#{at}"}}
    )


def test_a_lost_record_is_planned_again_and_nothing_else(noon: LocalStack) -> None:
    lose("hourly@2026-10-30T10:00:00Z")

    said = cronce(
        "rewind", "hourly", "--to", "2026-10-30T10:00Z", "--yes", "--reason", "the table was restored"
    )

    assert said.code == 0
    assert said.lines == [
        f"set hourly in {HERE} back: the next tick plans 1 time",
        "Fri 2026-10-30 10:00 UTC",
    ]
    noon.play()
    assert [run.ref.key for run in noon.runs("hourly")] == ["2026-10-30T10:00:00Z", "2026-10-30T13:00:00Z"]
    state = noon.store.jobs.get("hourly")
    assert state is not None
    assert state.act is not None
    assert (state.act.what, state.act.by, state.act.why) == ("rewind", "moto", "the table was restored")


def test_gaps_are_given_up_only_if_that_is_asked(noon: LocalStack) -> None:
    document = cronce("rewind", "hourly", "--to", "2026-10-30", "--yes", "--json").json
    assert list(document) == ["stack", "region", "now", "job", "planned_to", "times", "gaps"]
    assert document["planned_to"] == "2026-10-29T23:59:59Z"
    assert "2026-10-30T11:00:00Z" not in document["times"]
    noon.play()

    said = cronce("rewind", "hourly", "--to", "2026-10-30T11:00Z", "--replan-gaps", "--yes")

    assert said.lines[0] == f"set hourly in {HERE} back: the next tick plans 2 times; 1 gap given up"


def test_it_is_asked_before(noon: LocalStack) -> None:
    before = noon.store.jobs.get("hourly")
    answer = cronce("rewind", "hourly", "--to", "2026-10-30T11:00Z")
    assert answer.code == 2
    assert answer.complaint == (
        f"from Fri 2026-10-30 11:00 UTC on hourly in {HERE} is planned again: what has no record: "
        "nobody is there to be asked; --yes agrees beforehand"
    )
    assert noon.store.jobs.get("hourly") == before


def test_what_a_resumed_job_would_catch_up_can_be_looked_at(noon: LocalStack) -> None:
    operations().pause("hourly", by="ann", why="")
    noon.clock.set(START + 6 * HOUR + timedelta(minutes=3))
    before = noon.store.jobs.get("hourly")

    said = cronce("resume", "hourly", "--dry-run")

    assert said.code == 0
    assert said.lines == [
        "local times what becomes of it",
        "Fri 2026-10-30 14:00 UTC to Fri 2026-10-30 15:00 UTC 2 skipped(paused)",
        "Fri 2026-10-30 16:00 UTC 1 runs",
    ]
    document = cronce("resume", "hourly", "--dry-run", "--json").json
    assert document["times"][1] == {
        "first": "2026-10-30T16:00:00Z",
        "last": "2026-10-30T16:00:00Z",
        "count": 1,
        "reason": None,
    }
    assert document["more"] is False
    assert noon.store.jobs.get("hourly") == before
    assert cronce("resume", "menu", "--dry-run").lines == ["nothing is due"]


def test_a_calendar_that_raises_is_one_line(noon: LocalStack, tmp_path: Path) -> None:
    text = JOBS.replace('Cron("0 * * * *"))', 'Cron("0 * * * *"), exclude=lambda day: 1 / 0)')
    (tmp_path / "functions/jobs/shop.py").write_text(text)
    forget_jobs()
    noon.clock.set(START + 6 * HOUR)
    for command in (("resume", "hourly", "--dry-run"), ("next", "hourly", "--code")):
        answer = cronce(*command, "--project", tmp_path)
        assert answer.code == 2
        assert answer.complaint.startswith(
            "job 'hourly': exclude: ZeroDivisionError: division by zero (jobs/shop.py:"
        )
