"""The one alarm over the metrics of jobs, judged on what the deployed watchdog publishes.

Invariants:
- nobody has metrics by job who did not ask for them;
- P98: a job that is removed is no contributor any more, and raises nothing;
- a job in trouble is a contributor in ALARM by its name, others are not, and it ends with its alert;
- the query asks for what the watchdog publishes, or there would be no contributor;
- the page says how many jobs it tells at most.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cronce.bootstrap.process import forget
from cronce.engine.metrics import JOB_IN_TROUBLE
from cronce_tools.local.alarm_model import State
from cronce_tools.local.alarms import alarms
from cronce_tools.local.metrics import MINUTE
from cronce_tools.local.stack import STACK, LocalStack, local_stack
from cronce_tools.local.template import Template
from tests.support.jobs_modules import only_jobs_of
from tests.template.stack import ROOT, Stack

NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
ALARM = "JobInTroubleAlarm"
BELT = """
from cronce import Cron, PermanentError, job

@job("belt", schedule=Cron("* * * * *"))
def belt(run):
    if run.scheduled_at.minute < 3:
        raise PermanentError("no soup")
"""
BANK = """
from cronce import Cron, job

@job("bank", schedule=Cron("0 12 * * *"))
def bank(run):
    pass
"""


@contextmanager
def stack_with(folder: Path, monkeypatch: pytest.MonkeyPatch, asked: str) -> Iterator[LocalStack]:
    (folder / "belt.py").write_text(BELT)
    (folder / "bank.py").write_text(BANK)
    with local_stack(NOON - 2 * MINUTE) as local, only_jobs_of(folder):
        monkeypatch.setenv("CRONCE_JOB_METRICS", asked)
        yield local


def contributors(stack: Stack, local: LocalStack, before: datetime) -> dict[str, State]:
    """What the alarm says of each job."""
    template = Template.parse(json.dumps(stack.template), "the translated template")
    (alarm,) = [one for one in alarms(template, STACK, ["HasJobMetrics"]) if one.logical_id == ALARM]
    found = alarm.contributors(local.metrics, before)
    return {job: alarm.model.state(points) for job, points in found.items()}


def later(local: LocalStack) -> datetime:
    return local.clock.now().replace(second=0, microsecond=0) + MINUTE


def test_a_job_in_trouble_is_in_alarm_by_its_name_until_its_alert_is_over(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stack_with(tmp_path, monkeypatch, "all") as local:
        local.play(minutes=1)
        assert contributors(stack, local, later(local)) == {"bank": State.OK, "belt": State.OK}
        local.play(minutes=2)
        assert contributors(stack, local, later(local)) == {"bank": State.OK, "belt": State.ALARM}
        local.play(minutes=4)
        assert contributors(stack, local, later(local)) == {"bank": State.OK, "belt": State.OK}


def test_p98_a_removed_job_leaves_no_contributor_and_no_alarm(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stack_with(tmp_path, monkeypatch, "all") as local:
        local.play(minutes=3)
        assert contributors(stack, local, later(local))["belt"] is State.ALARM
        (tmp_path / "belt.py").unlink()
        forget()
        local.play(minutes=4)
        assert contributors(stack, local, later(local)) == {"bank": State.OK}


def test_nobody_has_them_who_did_not_ask(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stack_with(tmp_path, monkeypatch, "none") as local:
        local.play(minutes=2)
        assert JOB_IN_TROUBLE not in {series.name for series in local.metrics.points}
    assert ALARM not in stack.under().template["Resources"]
    assert ALARM in stack.under("HasJobMetrics").template["Resources"]
    assert stack.template["Conditions"]["HasJobMetrics"] == {"Fn::Equals": [{"Ref": "JobMetrics"}, "all"]}
    assert stack.template["Parameters"]["JobMetrics"]["Default"] == "none"
    assert stack.environment("WatchdogFunction")["CRONCE_JOB_METRICS"] == {"Ref": "JobMetrics"}


def test_the_alarm_tells_both_ways_and_says_what_happened(stack: Stack) -> None:
    properties = stack.properties(ALARM)
    assert properties["AlarmActions"] == properties["OKActions"] == [{"Ref": "NoticeTopic"}]
    assert properties["TreatMissingData"] == "notBreaching"
    assert len(properties["AlarmDescription"]) <= 1024


def test_what_is_told_at_most_is_on_the_page() -> None:
    section = (ROOT / "docs/alarms.md").read_text().partition("### JobInTrouble\n")[2].partition("\n### ")[0]
    assert "100 contributors" in section
    assert "500 jobs" in section
