"""The deployed functions and a service outside AWS that behaves well and badly.

Invariants:
- with URLs in Parameter Store, as SecureString, the service is told of runs and patrols in its own form;
- whatever the service does, and whatever stands where a URL should be, runs and patrols come out as they do
  without it, after a bounded time;
- the URL is in no log line, metric, notice, stored item or exception, whatever happens;
- a stack that is given no place of URLs asks SSM for nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from time import perf_counter
from typing import Any

import boto3
import pytest

from cronce.aws import pinger
from cronce.core import pings
from tests.functions.deployed import DUE, RUNS, STEPS, Deployed
from tests.support import ping_server as service
from tests.support.ping_server import Behaviour, answers, closed_port, ping_server

SECRET = "5ec2e7-5ec2e7"
JOB = """
from cronce import Cron, Retry, Run, job

@job("menu", schedule=Cron("0 * * * *"), ping="healthchecks", retry=Retry(attempts=1))
def menu(run: Run) -> None:
    run.step("build", str, run.attempt)
    {body}
"""
BODIES = {"succeeds": "pass", "fails": "raise ValueError('not today')"}
HEARTBEAT, JOBS = "/shop/heartbeat", "/shop/pings"
RUN = "menu@2026-03-08T10:00:00Z"
PATIENCE = timedelta(seconds=60)
"""For services that answer, well or badly: never used up, however busy this machine is."""
WITHIN = timedelta(seconds=1)
"""For services that hang."""
SLACK = 45.0
"""Seconds that a busy machine may take beyond the time of signals; what hangs would do so for ever."""
MOVES = {"owner", "last_owner", "fencing_token", "dispatch", "log_stream", "request_id"}
"""What differs between two runs of everything by chance."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pings, "WITHIN", PATIENCE)
    monkeypatch.setattr(pinger, "DEFAULT_BOUNDS", pinger.Bounds(pause=0.01))


def kept(name: str, value: str) -> None:
    """Keep a value in Parameter Store."""
    boto3.client("ssm").put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)


def told_where(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """The stack is told where the URLs are, which are below this one."""
    monkeypatch.setenv("CRONCE_PING_URLS", JOBS)
    monkeypatch.setenv("CRONCE_HEARTBEAT_URL", HEARTBEAT)
    kept(f"{JOBS}/menu", f"{url}/{SECRET}/menu")
    kept(HEARTBEAT, f"{url}/{SECRET}/stack")


def an_hour(stack: Deployed, body: str) -> dict[str, Any]:
    """The job's run at DUE and a patrol, and what comes of both."""
    stack.job("menu", JOB.replace("{body}", body))
    stack.minutes(-1)
    stack.tick(DUE)
    ran = stack.settle()
    patrolled = stack.patrol(DUE)
    run = {name: value for name, value in stack.run(RUN).items() if name not in MOVES}
    metrics = {name: stack.values(name) for name in ("RunsSucceeded", "RunsFailed", "PatrolCompleted")}
    return {"answers": ran, "patrol": patrolled, "run": run, "metrics": metrics, "heard": stack.heard()}


def everything(stack: Deployed) -> str:
    """All that was printed, told and stored."""
    items = [stack.dynamodb.scan(TableName=table)["Items"] for table in (RUNS, STEPS)]
    return repr([stack.lines, stack.metrics, stack.heard(), items])


@pytest.mark.parametrize(
    "body, told",
    [("succeeds", ["/menu/start", "/menu"]), ("fails", ["/menu/start", "/menu/fail"])],
)
def test_runs_and_patrols_are_told(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch, body: str, told: list[str]
) -> None:
    with ping_server(answers(200)) as server:
        told_where(monkeypatch, server.url)
        an_hour(stack, BODIES[body])

    paths = [target.partition("?")[0].removeprefix(f"/{SECRET}") for target in server.asked]
    assert paths == ["/stack", *told, "/stack"]  # the patrol a minute before, the run, the patrol after it
    rids = {target.partition("?rid=")[2] for target in server.asked if "rid" in target}
    assert len(rids) == 1
    assert stack.events("ping.failed") == []
    assert SECRET not in everything(stack)


SERVICES: dict[str, Behaviour] = {
    "500": answers(500),
    "404": answers(404),
    "429": answers(429),
    "redirect": service.redirects,
    "not found": answers(200, "OK (not found)"),
    "reset": service.resets,
    "closed": service.says_nothing,
    "echo": service.echoes,
    "endless header": service.floods_headers,
    "slow body": service.drips_body,
    "flood": service.floods,
}
HANGING: dict[str, Behaviour] = {
    "hangs": service.hangs,
    "deaf": service.is_deaf,
    "slow headers": service.drips_headers,
}
WELL = {"slow body", "flood"}


EXPECTED = {"succeeds": ("SUCCEEDED", "succeeded", 0), "fails": ("FAILED", "failed", 1)}


def check(stack: Deployed, result: dict[str, Any], body: str) -> None:
    """It came out as it does without a service."""
    status, outcome, failed = EXPECTED[body]
    assert (result["run"]["status"], result["answers"][0]["outcome"]) == (status, outcome)
    assert result["patrol"] == {"complete": True, "missed": 0, "failed": failed}
    ended = "RunsFailed" if failed else "RunsSucceeded"
    assert result["metrics"] == {"RunsSucceeded": [], "RunsFailed": [], "PatrolCompleted": [1, 1], ended: [1]}
    assert len(result["heard"]) == failed
    assert SECRET not in repr(result) + everything(stack)


@pytest.mark.parametrize("body", BODIES)
def test_a_stack_without_places_asks_nobody(stack: Deployed, body: str) -> None:
    """What everything below is compared with."""
    check(stack, an_hour(stack, BODIES[body]), body)
    assert not [call for call in stack.cloud.calls if call[0] == "ssm"]
    assert stack.values("PingsFailed") == []


@pytest.mark.parametrize(
    "behaviour, body", [*((name, "succeeds") for name in SERVICES), ("500", "fails"), ("echo", "fails")]
)
def test_whatever_the_service_answers_all_comes_out_the_same(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch, behaviour: str, body: str
) -> None:
    with ping_server(SERVICES[behaviour]) as server:
        told_where(monkeypatch, server.url)
        check(stack, an_hour(stack, BODIES[body]), body)
    assert len(server.asked) >= 4
    heartbeats = [event["of"] for event in stack.events("ping.failed")].count("heartbeat")
    assert heartbeats == (0 if behaviour in WELL else 2)
    assert sum(stack.values("PingsFailed")) == 2 * heartbeats
    assert len(stack.events("ping.failed")) == sum(stack.values("PingsFailed"))


@pytest.mark.parametrize("behaviour, body", [*((name, "succeeds") for name in HANGING), ("hangs", "fails")])
def test_a_service_that_hangs_takes_its_time_and_nothing_else(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch, behaviour: str, body: str
) -> None:
    monkeypatch.setattr(pings, "WITHIN", WITHIN)
    with ping_server(HANGING[behaviour]) as server:
        told_where(monkeypatch, server.url)
        begun = perf_counter()
        check(stack, an_hour(stack, BODIES[body]), body)
        assert perf_counter() - begun < 4 * WITHIN.total_seconds() + SLACK
        for thread in [thread for thread in threading.enumerate() if thread.name == "ping"]:
            thread.join(SLACK)
            assert not thread.is_alive()
    assert len(stack.events("ping.failed")) == sum(stack.values("PingsFailed")) == 4


WRONG: dict[str, Callable[[], str]] = {
    "nobody listens": lambda: f"{closed_port()}/{SECRET}",
    "in the clear": lambda: f"http://example.com/{SECRET}",
    "no URL": lambda: SECRET,
    "with a password": lambda: f"https://ann:{SECRET}@127.0.0.1:1/",
    "two lines": lambda: f"https://127.0.0.1:1/{SECRET}\nX: {SECRET}",
    "not there": lambda: "",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_whatever_stands_where_a_url_should_be_it_is_said_and_not_shown(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("CRONCE_PING_URLS", JOBS)
    monkeypatch.setenv("CRONCE_HEARTBEAT_URL", HEARTBEAT)
    value = WRONG[wrong]()
    if value:
        kept(f"{JOBS}/menu", value)
        kept(HEARTBEAT, value)
    check(stack, an_hour(stack, "pass"), "succeeds")

    problems = [line["problem"] for line in stack.events("ping.failed")]
    assert len(problems) == 4
    if wrong != "nobody listens":
        assert {f"{JOBS}/menu" in problem or HEARTBEAT in problem for problem in problems} == {True}


def test_a_place_that_is_the_url_itself_is_refused_and_not_shown(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONCE_HEARTBEAT_URL", f"https://hc-ping.com/{SECRET}")
    with pytest.raises(Exception, match="CRONCE_HEARTBEAT_URL takes a name") as raised:
        stack.patrol(DUE)
    assert SECRET not in str(raised.value)


def test_a_url_is_asked_for_every_five_minutes_and_a_new_one_used_from_then_on(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ping_server(answers(200)) as server:
        told_where(monkeypatch, server.url)
        stack.minutes(0)
        kept(HEARTBEAT, f"{server.url}/new")
        stack.minutes(*range(1, 12))

    assert server.asked == [f"/{SECRET}/stack"] * 5 + ["/new"] * 7
    assert stack.cloud.calls["ssm", "GetParameter"] == 3
