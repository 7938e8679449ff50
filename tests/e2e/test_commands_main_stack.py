"""The `cronce` command, as a process of its own, against a deployed stack.

* The doctor finds what the stage does to the stack on purpose, what local AWS drops, and nothing else; every
  call of it is answered.
* Jobs, runs and steps that are listed are those that ran.
* What it changes is changed, and a run that it starts is started by the stream while it waits.
"""

from __future__ import annotations

import pytest

from tests.e2e.command import Cronce
from tests.e2e.driver import Driver, run_id
from tests.e2e.stage import Stage
from tests.e2e.test_main_stack import FIRST_RUN

DROPPED = {
    "expire by the attribute none, expected forget_at": 2,
    "has no point-in-time recovery": 2,
}
"""What local AWS takes and does nothing with (docs/deploy.md), and how often it is found."""
ON_PURPOSE = (
    "JobsMissedAlarm",  # `slow` is longer than its grace
    "JobsFailedAlarm",  # `forbidden` and `hanging` fail
    "DispatchGivenUpAlarm",  # poison
    "StreamLagAlarm",  # the mapping was off for some seconds, and poison stops its shard
    "messages lie in DispatchFailureQueue",
    "ExecutorGivenUpAlarm",  # a worker that is killed
    "messages lie in ExecutorFailureQueue",
    "the stream mapping's last batch failed",  # poison
)
"""What is found because of what the stage does, or is not, as that stands at the moment."""


@pytest.fixture(scope="module")
def cronce(stage: Stage, main: Driver) -> Cronce:
    return Cronce(stage.project, stage.endpoint.environment(), "--stack", main.stack.name)


def test_the_doctor_finds_what_was_done_on_purpose_what_is_dropped_here_and_nothing_else(
    stage: Stage, main: Driver, cronce: Cronce
) -> None:
    stage.redelivered.result(timeout=180)  # the mapping was off for some seconds
    main.first_run("minutely", status="SUCCEEDED", seconds=FIRST_RUN)
    document = cronce("doctor", code=1)
    found = [each["what"] for each in document["findings"] if each["level"] != "hint"]
    assert {text: sum(text in what for what in found) for text in DROPPED} == DROPPED
    known = (*DROPPED, *ON_PURPOSE)
    assert [what for what in found if not any(text in what for text in known)] == []
    assert [each for each in document["findings"] if each["level"] == "not_looked_at"] == []
    hints = {each["check"] for each in document["findings"] if each["level"] == "hint"}
    assert hints <= {"functions"}  # the runtime of this machine's Python may be near its end


def test_what_is_listed_is_what_ran(main: Driver, cronce: Cronce) -> None:
    run = main.first_run("minutely", status="SUCCEEDED", seconds=FIRST_RUN)
    jobs = {job["job"]: job for job in cronce("list")["jobs"]}
    assert set(jobs) >= {"minutely", "slow", "hanging", "killed", "forbidden"}
    assert jobs["minutely"]["last"]["status"] == "SUCCEEDED"
    assert run_id(run) in [each["run"] for each in cronce("runs", "minutely")["runs"]]
    shown = cronce("show", run_id(run))
    assert (shown["run"], shown["status"]) == (run_id(run), "SUCCEEDED")
    assert [(step["step"], step["status"]) for step in shown["steps"]] == [
        ("first", "DONE"),
        ("second", "DONE"),
        ("third", "DONE"),
    ]


def test_what_it_changes_is_changed(main: Driver, cronce: Cronce) -> None:
    run = main.first_run("minutely", status="SUCCEEDED", seconds=FIRST_RUN)
    assert cronce("did-run", "minutely", run["sk"].removeprefix("RUN#"))["answer"] == "yes"
    cronce("pause", "forbidden", "--reason", "it may not")
    jobs = {job["job"]: job for job in cronce("list")["jobs"]}
    assert jobs["forbidden"]["paused"]["why"] == "it may not"
    ended = cronce("trigger", "minutely", "--wait", "--by", "ann")
    assert (ended["status"], ended["trigger"], ended["act"]["by"]) == ("SUCCEEDED", "manual", "ann")
