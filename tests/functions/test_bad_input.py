"""What the functions do with input that is wrong.

Invariants:
- each wrong thing is a clear error or record that names it;
- no other job is affected, and nothing is lost.
"""

from __future__ import annotations

import json
import zoneinfo
from typing import Any

import pytest

from cronce.core.errors import DefinitionError, EventError, SettingsError
from cronce.engine import registry
from tests.functions.deployed import DUE, MINUTE, Context, Deployed, handler, sample

MENU = "menu@2026-03-08T10:00:00Z"
SOUP = "soup@2026-03-08T10:00:00Z"

VARIABLES = {
    "scheduler": ["CRONCE_STACK", "CRONCE_RUNS_TABLE", "CRONCE_STEPS_TABLE", "CRONCE_EXECUTOR"],
    "dispatcher": ["CRONCE_STACK", "CRONCE_EXECUTOR"],
    "executor": ["CRONCE_STACK", "CRONCE_RUNS_TABLE", "CRONCE_STEPS_TABLE"],
    "watchdog": ["CRONCE_STACK", "CRONCE_RUNS_TABLE", "CRONCE_STEPS_TABLE", "CRONCE_TOPIC_ARN"],
}


# --- environment ---


@pytest.mark.parametrize("function", ["scheduler", "executor"])
def test_p109_zones_of_the_machine_are_refused_by_whoever_evaluates_a_schedule(
    stack: Deployed, function: str
) -> None:
    zoneinfo.reset_tzpath(["/usr/share/zoneinfo"])
    try:
        with pytest.raises(DefinitionError, match="PYTHONTZPATH"):
            stack.call(function, sample(function))
    finally:
        zoneinfo.reset_tzpath([])
    stack.call(function, sample(function))


@pytest.mark.parametrize(
    "function, variable", [(function, name) for function, names in VARIABLES.items() for name in names]
)
@pytest.mark.parametrize("value", [None, "", "not/valid at all"])
@pytest.mark.usefixtures("settings")
def test_a_missing_or_malformed_variable_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, function: str, variable: str, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, value)

    with pytest.raises(SettingsError) as refused:
        handler(function)(sample(function), Context())

    message = str(refused.value)
    assert message.startswith(f"settings of the {function}: ")
    assert variable in message
    assert "\n" not in message


@pytest.mark.parametrize("days", ["6", "four hundred", "400.5", ""])
@pytest.mark.usefixtures("settings")
def test_a_malformed_retention_is_refused(monkeypatch: pytest.MonkeyPatch, days: str) -> None:
    monkeypatch.setenv("CRONCE_RETENTION_DAYS", days)

    with pytest.raises(SettingsError, match=r"CRONCE_RETENTION_DAYS is .*; it takes a whole number of days"):
        handler("scheduler")(sample("scheduler"), Context())


def test_a_variable_that_was_set_right_is_taken_by_the_next_call(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRONCE_STACK")
    with pytest.raises(SettingsError):
        stack.tick()

    monkeypatch.setenv("CRONCE_STACK", "shop")

    assert stack.tick() == {"tick": "completed"}


# --- events ---


@pytest.mark.parametrize(
    "event",
    [
        None,
        "menu",
        [],
        {},
        {"run": None},
        {"run": 7},
        {"run": ""},
        {"run": "menu"},
        {"run": "menu@2026-03-08"},
        {"run": "menu@2026-13-08T10:00:00Z"},
        {"run": "Menu@2026-03-08T10:00:00Z"},
        {"run": MENU, "now": "2026-03-08T10:00:00Z"},
        {"run": "x" * 5000},
    ],
    ids=repr,
)
def test_the_executor_refuses_any_other_event_and_shows_it(stack: Deployed, event: object) -> None:
    with pytest.raises(EventError, match="the executor takes") as refused:
        stack.call("executor", event)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "event", [None, {}, {"Records": None}, {"Records": [{"eventSource": "aws:sqs", "body": "{}"}]}], ids=repr
)
def test_the_dispatcher_refuses_what_is_no_stream(stack: Deployed, event: object) -> None:
    with pytest.raises(EventError, match="not the event of a DynamoDB stream"):
        stack.call("dispatcher", event)


def spoiled(record: dict[str, Any], how: str) -> Any:
    """A record of the stream, spoiled."""
    broken = json.loads(json.dumps(record))
    match how:
        case "no change":
            del broken["dynamodb"]["Keys"]
        case "no image":
            del broken["dynamodb"]["NewImage"]
        case "no status":
            del broken["dynamodb"]["NewImage"]["status"]
        case "status of another type":
            broken["dynamodb"]["NewImage"]["status"] = {"N": "1"}
        case "a key that names no run":
            broken["dynamodb"]["Keys"]["sk"]["S"] = "RUN#yesterday"
        case "a key of no job":
            broken["dynamodb"]["Keys"]["pk"]["S"] = "menu"
    return broken


@pytest.mark.parametrize(
    "how",
    [
        "no change",
        "no image",
        "no status",
        "status of another type",
        "a key that names no run",
        "a key of no job",
    ],
)
def test_p75_a_malformed_record_is_its_own_failure_only(stack: Deployed, how: str) -> None:
    for name in ("bread", "menu", "soup"):
        stack.job(name)
    stack.tick()
    stack.tick(DUE)
    event = stack.stream_event()
    first, second, third = event["Records"]
    bad = spoiled(second, how)

    answer = stack.call("dispatcher", {"Records": [first, bad, third]})

    assert answer == {"batchItemFailures": [{"itemIdentifier": second["dynamodb"]["SequenceNumber"]}]}
    assert len(stack.cloud.invocations) == 2
    (line,) = stack.events("record.malformed")
    assert line["record"] == second["dynamodb"]["SequenceNumber"]
    assert line["problem"]
    assert stack.values("DispatchFailures") == [1]


@pytest.mark.parametrize("record", [None, 7, {}, {"dynamodb": {}}], ids=repr)
def test_a_record_without_a_number_cannot_be_reported_and_is_in_the_log(
    stack: Deployed, record: object
) -> None:
    answer = stack.call("dispatcher", {"Records": [record, *sample("dispatcher")["Records"]]})

    assert answer == {"batchItemFailures": []}
    assert len(stack.cloud.invocations) == 1
    assert len(stack.events("record.malformed")) == 1


def test_p75_a_sequence_number_that_is_no_number_does_not_fail_the_batch(stack: Deployed) -> None:
    for name in ("bread", "menu"):
        stack.job(name)
    stack.tick()
    stack.tick(DUE)
    first, second = stack.stream_event()["Records"]
    odd, bad = spoiled(second, "no image"), spoiled(second, "no status")
    odd["dynamodb"]["SequenceNumber"] = "not-a-number"

    answer = stack.call("dispatcher", {"Records": [first, odd, bad]})

    reported = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
    assert reported == {"not-a-number", second["dynamodb"]["SequenceNumber"]}
    assert len(stack.cloud.invocations) == 1


def test_a_run_behind_a_malformed_record_is_started_by_the_sweep(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    stack.tick(DUE)
    (record,) = stack.stream_event()["Records"]
    stack.call("dispatcher", {"Records": [spoiled(record, "no image")]})
    assert not stack.cloud.invocations

    stack.tick(DUE + 3 * MINUTE)

    assert [answer["outcome"] for answer in stack.settle()] == ["succeeded"]


# --- jobs ---


def test_a_run_of_a_job_that_is_not_deployed_waits_ends_and_is_told(stack: Deployed) -> None:
    stack.job("menu")
    stack.job("soup")
    stack.tick()
    stack.tick(DUE)
    event = stack.stream_event()
    (stack.folder / "menu.py").unlink()
    stack.redeploy()

    stack.call("dispatcher", event)
    outcomes = {answer["run"]: answer["outcome"] for answer in stack.settle()}
    assert outcomes == {MENU: "unknown_job", SOUP: "succeeded"}
    waiting = stack.run(MENU)
    assert (waiting["status"], waiting["reason"]) == ("WAITING", "backoff")
    assert "'menu' is not in this deployment" in waiting["error"]

    stack.minutes(4, 8, 12, 16, 17)

    assert (stack.run(MENU)["status"], stack.run(MENU)["reason"]) == ("FAILED", "unknown_job")
    bodies = "\n".join(body for _, body in stack.heard())
    assert "menu" in bodies
    assert "2026-03-08T10:00:00Z" in bodies
    assert "soup" not in bodies


def declaring(schedule: str, body: str = "pass") -> str:
    """A module that declares the job `menu`."""
    return f"from cronce import Cron, job\n@job('menu', schedule={schedule})\ndef work(run):\n    {body}\n"


BROKEN = {
    "raises": ("raise RuntimeError('no soup today')", "RuntimeError: no soup today"),
    "exits": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "is no Python": ("def (:", "SyntaxError"),
    "hangs": ("while True:\n    pass", "took longer than"),
    "has a bad cron": (declaring("Cron('99 * * * *')"), "99"),
    "has an unknown zone": (declaring("Cron('0 6 * * *', tz='Mars/Olympus')"), "Mars/Olympus"),
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_i1_i7_a_broken_module_is_named_its_jobs_are_held_and_the_others_run(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(registry, "DISCOVERY_LIMIT", 3.0)
    monkeypatch.setattr(registry, "MODULE_LIMIT", 1.0)
    text, problem = BROKEN[how]
    stack.job("menu")
    stack.job("soup")
    stack.tick()
    stack.job("menu", text)
    stack.redeploy()

    assert stack.tick(DUE) == {"tick": "completed"}
    assert [answer["run"] for answer in stack.settle()] == [SOUP]

    (line,) = stack.events("module.unusable")
    assert line["module_"] == "jobs.menu"
    assert problem in line["problem"]
    assert "(jobs/menu.py:" in line["problem"]
    assert line["traceback"].startswith("Traceback (most recent call last):")
    assert stack.values("JobsHeld")[-1] == 1
    assert stack.run(MENU) == {}

    stack.job("menu")
    stack.redeploy()
    stack.tick(DUE + 5 * MINUTE)
    assert [answer["run"] for answer in stack.settle()] == [MENU], "planned late, not lost"
    assert stack.values("JobsHeld")[-1] == 0


def test_i9_a_broken_module_alarms_when_a_time_of_its_job_is_past_its_grace(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    stack.job("menu", "raise RuntimeError('no soup today')")
    stack.redeploy()

    stack.minutes(4, 8, 12, 14)
    assert stack.heard() == []
    stack.minutes(16)

    ((subject, body),) = stack.heard()
    assert subject == "Missed: menu 2026-03-08T10:00:00Z in shop"
    assert "its module jobs.menu does not import in this deployment" in body


def test_a_job_that_two_modules_declare_is_refused_in_both_and_the_others_run(stack: Deployed) -> None:
    stack.job("menu")
    stack.job("menu_again", name="menu")
    stack.job("soup")
    stack.tick()

    stack.tick(DUE)

    assert [answer["run"] for answer in stack.settle()] == [SOUP]
    lines = {line["module_"]: line["problem"] for line in stack.events("module.unusable")}
    assert lines.keys() == {"jobs.menu", "jobs.menu_again"}
    assert all("'menu' is declared in jobs.menu and in jobs.menu_again" in text for text in lines.values())


# --- items edited by hand ---


@pytest.mark.parametrize("attribute", ["status", "timeout", "max_attempts", "created_at", "shape", "rev"])
def test_a_run_with_a_missing_attribute_is_reported_told_and_delays_nobody(
    stack: Deployed, attribute: str
) -> None:
    stack.job("menu")
    stack.job("soup")
    stack.tick()
    stack.tick(DUE)
    event = stack.stream_event()
    stack.edit("JOB#menu", "RUN#2026-03-08T10:00:00Z", attribute)

    stack.call("dispatcher", event)
    outcomes = {answer["run"]: answer["outcome"] for answer in stack.settle()}
    assert outcomes == {MENU: "not_pending", SOUP: "succeeded"}
    line, *_ = stack.events("run.unreadable")  # a hand edit shows in the stream as well
    assert f"attribute `{attribute}` is missing" in line["problem"]
    assert line["run"] == MENU

    stack.minutes(4, 8, 12, 16)
    assert stack.values("JobsMissed") == [0, 0, 0, 1]
    assert stack.values("PatrolCompleted") == [1, 1, 1, 1]
    assert stack.events("item.set_aside")
    ((subject, body),) = stack.heard()
    assert subject == "Missed: menu 2026-03-08T10:00:00Z in shop"
    assert f"attribute `{attribute}` is missing" in body


@pytest.mark.parametrize("attribute", ["schedule", "planned_to", "grace", "fencing_token"])
def test_a_job_with_a_missing_attribute_is_reported_told_and_delays_nobody(
    stack: Deployed, attribute: str
) -> None:
    stack.job("menu")
    stack.job("soup")
    stack.tick()
    stack.edit("JOB#menu", "JOB", attribute)

    stack.minutes(0, 4, 8, 12, 16)

    assert stack.values("TickCompleted") == [1] * 6
    assert stack.run(SOUP)["status"] == "SUCCEEDED"
    assert stack.values("JobsHeld")[-1] == 1
    assert any(attribute in json.dumps(line) and "menu" in json.dumps(line) for line in stack.lines)
    ((subject, body),) = stack.heard()
    assert subject == "Missed: menu 2026-03-08T10:00:00Z in shop"
    assert attribute in body


def test_an_alert_with_a_missing_attribute_keeps_the_alarm_up_and_is_reported(stack: Deployed) -> None:
    stack.job("menu")
    stack.tick()
    stack.patrol(DUE + 4 * MINUTE)
    stack.edit("SCHEDULER", "ALERT", "since")

    answer = stack.patrol(DUE + 5 * MINUTE)

    assert answer == {"complete": True, "missed": 1, "failed": 1}
    (line,) = stack.events("item.unreadable")
    assert (line["item"], "`since` is missing" in line["problem"]) == ("alert of SCHEDULER", True)


# --- results of steps ---


STEPS_OF = {
    "too large": ("run.step('fetch', lambda: 'x' * 300_000)", "StepResultTooLargeError"),
    "not JSON": ("run.step('fetch', object)", "StepResultNotSerializableError"),
    "twice": ("run.step('fetch', str), run.step('fetch', str)", "DuplicateStepError"),
}


@pytest.mark.parametrize("how", list(STEPS_OF))
def test_a_step_used_wrongly_fails_its_run_at_once_and_is_named(stack: Deployed, how: str) -> None:
    call, error = STEPS_OF[how]
    stack.job("menu", declaring("Cron('0 * * * *')", call))
    stack.job("soup")
    stack.tick()
    stack.tick(DUE)

    outcomes = {answer["run"]: answer["outcome"] for answer in stack.settle()}

    assert outcomes == {MENU: "failed", SOUP: "succeeded"}
    assert error in stack.run(MENU)["error"]
    assert "fetch" in stack.run(MENU)["error"]
    assert stack.patrol(DUE + MINUTE)["failed"] == 1
