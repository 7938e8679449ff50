"""The one alarm over the metrics of jobs, judged on what the deployed watchdog publishes.

Invariants:
- nobody has metrics by job who did not ask for them;
- P98: a job that is removed is no contributor any more, and raises nothing;
- a job in trouble is a contributor in ALARM by its name, others are not, and it ends with its alert;
- the query names the metric, the dimensions and the stack that the watchdog publishes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronce.bootstrap.process import forget
from cronce.engine.metrics import JOB_IN_TROUBLE
from cronce_tools.local.alarm_model import AlarmModel, State
from cronce_tools.local.metrics import MINUTE
from cronce_tools.local.stack import STACK, LocalStack, local_stack
from tests.template.stack import Stack
from tests.template.test_permissions_used import only_jobs_of

NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
ALARM = "JobInTroubleAlarm"
QUERY = re.compile(
    r'SELECT MAX\((\w+)\) FROM SCHEMA\("(\w+)", (\w+), (\w+)\) '
    r"WHERE stack = '\$\{AWS::StackName\}' GROUP BY job ORDER BY MAX\(\) DESC LIMIT 500"
)
"""A query returns at most 500 series and an alarm looks at three hours of them; Amazon CloudWatch User Guide,
"Metrics Insights quotas"."""
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
    """What the alarm says of each job: a series is there as long as it has data in what is looked at."""
    properties = stack.properties(ALARM)
    (query,) = properties["Metrics"]
    found = QUERY.fullmatch(query["Expression"]["Fn::Sub"])
    assert found
    metric, namespace, *dimensions = found.groups()
    model = AlarmModel.of(properties)
    states = {}
    for series in list(local.metrics.points):
        named = dict(series.dimensions)
        if (series.namespace, series.name) != (namespace, metric) or set(named) != set(dimensions):
            continue
        points = local.metrics.statistic(
            series, "Maximum", before, model.range, timedelta(seconds=query["Period"])
        )
        if named["stack"] == STACK and any(point is not None for point in points):
            states[named["job"]] = model.state(points)
    return states


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


def test_the_query_names_the_metric_of_the_code_and_the_alarm_tells_both_ways(stack: Stack) -> None:
    properties = stack.properties(ALARM)
    (query,) = properties["Metrics"]
    found = QUERY.fullmatch(query["Expression"]["Fn::Sub"])
    assert found
    assert found.groups() == (JOB_IN_TROUBLE, "cronce", "stack", "job")
    assert properties["AlarmActions"] == properties["OKActions"] == [{"Ref": "NoticeTopic"}]
    assert properties["TreatMissingData"] == "notBreaching"
    assert len(properties["AlarmDescription"]) <= 1024
