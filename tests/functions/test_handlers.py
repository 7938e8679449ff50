"""The handlers that Lambda calls, through their real adapters, from the minute to the notice.

Invariants:
- the sample events are what AWS and the functions send to each other, and "now" is never taken from them;
- a due time becomes a record, the record an invocation, the invocation a run that has succeeded;
- each function publishes its metrics under the one dimension `stack`, and a heartbeat only for complete work;
- a warm process keeps its clients; importing a handler makes none.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from cronce.aws.executor_event import read_event
from cronce.aws.stream import read_batch
from cronce.bootstrap.process import forget
from cronce.bootstrap.scheduler import scheduler
from cronce.core.errors import StoreError
from cronce.core.lease import LEASE_TTL
from cronce.core.records import RunRef
from cronce_tools.local.cloud import Call
from cronce_tools.local.filters import matches_any
from cronce_tools.local.template import Template
from tests.functions.deployed import DUE, MINUTE, ROOT, SECOND, START, Deployed, sample

RUN = "menu@2026-03-08T10:00:00Z"
FUNCTIONS = ("scheduler", "dispatcher", "executor", "watchdog")

FAILING = """
from cronce import Cron, Retry, job

@job("bills", schedule=Cron("0 * * * *"), retry=Retry(attempts=1))
def bills(run):
    raise ValueError("no paper")
"""


# --- from the minute to the notice ---


def test_a_due_time_becomes_a_record_an_invocation_and_a_success(stack: Deployed) -> None:
    stack.job("menu")
    assert stack.tick() == {"tick": "completed"}
    assert stack.run(RUN) == {}

    stack.tick(DUE)
    assert stack.run(RUN)["status"] == "PENDING"
    answers = stack.settle()

    assert answers == [{"run": RUN, "outcome": "succeeded"}]
    assert stack.run(RUN)["status"] == "SUCCEEDED"
    assert stack.module("menu").DONE == [RUN]
    assert stack.settle() == [], "ending it starts nothing"


def test_a_run_remembers_which_request_executed_it_and_where_that_logged(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    stack.tick(DUE)

    stack.settle()

    run = stack.run(RUN)
    assert (run["request_id"], run["log_stream"]) == ("request-1", "2026/03/08/[live]abc")


def test_p42_the_same_dispatch_twice_is_one_execution(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    stack.tick(DUE)
    event = stack.stream_event()

    assert stack.call("dispatcher", event) == stack.call("dispatcher", event) == {"batchItemFailures": []}
    answers = stack.settle()

    assert sorted(answer["outcome"] for answer in answers) == ["not_pending", "succeeded"]
    assert stack.module("menu").DONE == [RUN]


def test_p12_a_run_that_fails_is_told_by_job_and_time_with_its_error_and_its_log(stack: Deployed) -> None:
    stack.job("bills", FAILING)
    stack.tick()
    stack.patrol()
    stack.tick(DUE)
    stack.settle()
    assert stack.run("bills@2026-03-08T10:00:00Z")["status"] == "FAILED"

    assert stack.patrol(DUE + MINUTE) == {"complete": True, "missed": 0, "failed": 1}

    ((subject, body),) = stack.heard()
    assert subject == "Failed: bills 2026-03-08T10:00:00Z in shop"
    assert "Ended FAILED(error) after attempt 1 of 1: ValueError: no paper" in body
    assert "log stream 2026/03/08/[live]abc, request request-1" in body
    assert stack.values("JobsFailed") == [0, 1]
    assert stack.values("JobsMissed") == [0, 0]
    assert stack.values("RunsFailed") == [1]


def test_what_is_found_again_by_every_patrol_is_one_time_of_one_alert(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    stack.tick(DUE)
    stack.stream_event()  # lost

    for minute in (16, 17, 18):
        stack.tick(DUE + minute * MINUTE)
        stack.patrol(DUE + minute * MINUTE)

    alert = stack.item("JOB#menu", "ALERT")
    assert (alert["count"], len(alert["times"]["L"])) == ({"N": "1"}, 1)
    assert alert["rev"] == {"N": "3"}, "opened, being told, told; nothing since"
    assert len(stack.heard()) == 1


def test_p94_an_outage_past_the_grace_is_told_and_the_gauge_returns_to_zero(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    for minute in (1, 4, 10, 16):
        stack.patrol(DUE + minute * MINUTE)
    assert "menu, 2026-03-08T10:00:00Z" in stack.heard()[0][1]
    assert stack.values("JobsMissed")[-1] == 1

    stack.tick(DUE + 20 * MINUTE)
    assert [answer["outcome"] for answer in stack.settle()] == ["succeeded"]
    stack.patrol(DUE + 20 * MINUTE)

    assert stack.heard()[0][0] == "Recovered: the scheduler is back in shop"
    assert stack.values("JobsMissed")[-1] == 0
    assert stack.heard() == []


def test_p74_i18_without_the_stream_a_run_is_started_by_the_sweep(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    stack.tick(DUE)
    stack.stream_event()  # lost

    stack.tick(DUE + 3 * MINUTE)

    assert [answer["outcome"] for answer in stack.settle()] == ["succeeded"]


WEEKLY = """
from cronce import Cron, job
DONE = []

@job("report", schedule=Cron("0 10 * * 0"))
def report(run):
    run.step("work", DONE.append, run.id)
"""


def test_p17_a_weekly_job_whose_time_fell_into_an_outage_of_twenty_minutes_runs_after_it(
    stack: Deployed,
) -> None:
    stack.job("report", WEEKLY)
    stack.tick()

    stack.tick(DUE + 20 * MINUTE)

    assert [answer["outcome"] for answer in stack.settle()] == ["succeeded"]
    run = stack.run("report@2026-03-08T10:00:00Z")
    assert (run["status"], run["started_at"]) == ("SUCCEEDED", "2026-03-08T10:20:05.000Z")
    stack.minutes(*range(21, 25))
    assert stack.module("report").DONE == ["report@2026-03-08T10:00:00Z"]


def test_p98_a_removed_job_leaves_no_series_no_alarm_and_no_notice(stack: Deployed) -> None:
    stack.job("bread")
    stack.job("menu")
    stack.tick()
    stack.minutes(0, 1)
    (stack.folder / "menu.py").unlink()
    stack.redeploy()

    stack.minutes(2, 3, 60, 61, 62, 77, 78, 79)

    assert stack.run("bread@2026-03-08T11:00:00Z")["status"] == "SUCCEEDED"
    assert stack.run("menu@2026-03-08T11:00:00Z") == {}
    assert [stack.values(gauge)[-6:] for gauge in ("JobsMissed", "JobsFailed", "JobsHeld")] == 3 * [6 * [0]]
    published = [block["_aws"]["CloudWatchMetrics"] for block in stack.metrics]
    assert {str(group["Dimensions"]) for (group,) in published} == {"[['stack']]"}
    assert "menu" not in json.dumps(stack.metrics)
    assert [subject for subject, _ in stack.heard() if "menu" in subject] == []


# --- sample events ---


@pytest.mark.parametrize("function", ["scheduler", "watchdog"])
def test_now_is_never_taken_from_an_event(stack: Deployed, function: str) -> None:
    event = sample(function)
    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")
    stack.job("menu")
    stack.tick()
    stack.clock.set(DUE + 5 * SECOND)

    stack.call(function, {**event, "time": "1999-12-31T23:59:00Z"})
    stack.tick()

    assert stack.run(RUN)["created_at"] == "2026-03-08T10:00:05.000Z"


def test_the_dispatchers_sample_is_what_the_stream_carries_and_the_filter_passes(stack: Deployed) -> None:
    stack.job("daily_menu")
    stack.tick()
    stack.tick(DUE)
    (real,) = stack.stream_event()["Records"]
    (written,) = sample("dispatcher")["Records"]

    assert matches_any(Template.load().filters(), written)
    assert {name: list(value) for name, value in written["dynamodb"]["NewImage"].items()} == {
        name: list(value) for name, value in real["dynamodb"]["NewImage"].items()
    }
    assert written.keys() == real.keys()
    assert [run.ref for run in read_batch(sample("dispatcher")).runs] == [read_event(sample("executor"))]


def test_the_dispatcher_sends_what_the_executor_takes(stack: Deployed) -> None:
    stack.call("dispatcher", sample("dispatcher"))

    assert json.loads(stack.cloud.invocations.popleft()) == sample("executor")


def test_the_executors_sample_is_taken(stack: Deployed) -> None:
    assert stack.call("executor", sample("executor")) == {**sample("executor"), "outcome": "not_pending"}


# --- dispatching ---


def test_a_run_that_cannot_be_dispatched_is_reported_alone(stack: Deployed) -> None:
    for name in ("bread", "menu", "soup"):
        stack.job(name)
    stack.tick()
    stack.tick(DUE)

    def throttle(call: Call) -> None:
        if call.operation == "Invoke" and b"menu" in call.parameters["Payload"]:
            raise ClientError(
                {"Error": {"Code": "TooManyRequestsException", "Message": "slow down"}}, "Invoke"
            )

    stack.cloud.hooks.append(throttle)
    event = stack.stream_event()
    answer = stack.call("dispatcher", event)

    (refused,) = (
        record["dynamodb"]["SequenceNumber"]
        for record in event["Records"]
        if record["dynamodb"]["Keys"]["pk"]["S"] == "JOB#menu"
    )
    assert answer == {"batchItemFailures": [{"itemIdentifier": refused}]}
    assert len(stack.cloud.invocations) == 2
    assert stack.values("DispatchFailures") == [1]


# --- metrics and heartbeats ---


def test_i50_metrics_carry_the_stack_and_nothing_else(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "something")
    stack.job("menu")
    stack.tick()
    stack.patrol()
    monkeypatch.setenv("CRONCE_STACK", "other-shop")
    forget()
    stack.patrol()

    # A tick is one block; a patrol is two: its gauges as soon as they are known, its heartbeat at its end.
    assert [block["stack"] for block in stack.metrics] == [*3 * ["shop"], *2 * ["other-shop"]]
    for block in stack.metrics:
        (published,) = block["_aws"]["CloudWatchMetrics"]
        assert (published["Namespace"], published["Dimensions"]) == ("cronce", [["stack"]])


def test_p94_every_patrol_publishes_its_gauges_and_its_heartbeat(stack: Deployed) -> None:
    stack.patrol()
    stack.patrol(DUE)

    assert stack.values("JobsMissed") == stack.values("JobsFailed") == [0, 0]
    assert stack.values("PatrolCompleted") == [1, 1]


def test_p11_p14_a_tick_without_a_store_sends_no_heartbeat_and_the_next_one_does_its_work(
    stack: Deployed,
) -> None:
    stack.job("menu")
    stack.tick()

    def unreachable(call: Call) -> None:
        if call.service == "dynamodb" and call.operation == "TransactWriteItems":
            raise EndpointConnectionError(endpoint_url="https://dynamodb")

    stack.cloud.hooks.append(unreachable)
    with pytest.raises(StoreError):
        stack.tick(DUE)
    assert stack.values("TickCompleted") == [1]
    stack.cloud.hooks.clear()

    assert stack.tick(DUE + MINUTE) == {"tick": "completed"}
    assert stack.run(RUN)["status"] == "PENDING"
    assert stack.values("TickCompleted") == [1, 1]


def test_a_patrol_without_a_store_is_no_complete_one(stack: Deployed) -> None:
    def unreachable(call: Call) -> None:
        raise EndpointConnectionError(endpoint_url="https://dynamodb")

    stack.cloud.hooks.append(unreachable)

    assert stack.patrol() == {"complete": False, "missed": 0, "failed": 0}
    assert stack.metrics == []
    assert stack.events("patrol.part_failed")


def test_a_tick_that_hangs_ends_before_its_invocation_does(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    before = scheduler()

    def hang(call: Call) -> None:
        while call.operation == "Query":
            pass

    stack.cloud.hooks.append(hang)
    stack.clock.set(DUE + 5 * SECOND)
    answer = stack.call("scheduler", sample("scheduler"), remaining=timedelta(seconds=3.5))
    stack.cloud.hooks.clear()

    assert answer == {"tick": "out_of_time"}
    assert len(stack.events("tick.out_of_time")) == 1
    assert stack.values("TickCompleted") == [1]
    assert scheduler() is not before, "a client that was interrupted in a call is not used again"
    assert LEASE_TTL < MINUTE
    assert stack.tick(DUE + MINUTE) == {"tick": "completed"}


# --- processes ---


def test_a_warm_process_keeps_what_it_has_made(stack: Deployed) -> None:
    for name in FUNCTIONS:
        make = getattr(importlib.import_module(f"cronce.bootstrap.{name}"), name)
        assert make() is make()
    assert stack.clock.now() == START


def test_importing_the_handlers_makes_nothing_and_needs_no_setting() -> None:
    code = (
        "import sys, scheduler, dispatcher, executor, watchdog\n"
        "from cronce.bootstrap.process import _process\n"
        "print(_process._made, 'session' in vars(_process), 'jobs' in sys.modules)"
    )
    environment = {"PYTHONPATH": f"{ROOT / 'functions'}:{ROOT / 'layers/runtime'}", "PYTHONTZPATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert ran.stdout.strip() == "{} False False"


@pytest.mark.parametrize("function", ["dispatcher", "watchdog"])
def test_dispatcher_and_watchdog_never_load_a_job(stack: Deployed, function: str) -> None:
    stack.job("menu")

    stack.call(function, sample(function))

    assert "jobs.menu" not in sys.modules


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_handler_is_at_most_thirty_lines(function: str) -> None:
    source = Path(importlib.import_module(function).__file__ or "").read_text()

    assert len(source.splitlines()) <= 30


def test_a_run_id_of_a_dispatch_is_that_of_the_record() -> None:
    assert read_event({"run": RUN}) == RunRef("menu", DUE)
