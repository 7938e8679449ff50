"""`cronce show`: a run with all its attempts and errors, its steps, and where its log is."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cronce_tools.cli.logs import log_place
from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import STORIES, stack_with
from tests.cli.terminal import cronce

SIX = "2026-10-30T10:00:00Z"


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Jobs with a story, six minutes later: all have been tried. They are only looked at."""
    with stack_with(tmp_path_factory.mktemp("stories"), STORIES) as running:
        running.play(minutes=6)
        yield running


def test_a_run_is_shown_with_its_attempts_and_their_whole_errors(stories: LocalStack) -> None:
    document = cronce("show", f"stubborn@{SIX}", "--json").json

    assert (document["status"], document["attempt"], document["error"]) == ("SUCCEEDED", 3, None)
    assert [(each["attempt"], each["outcome"]) for each in document["attempts"]] == [
        (1, "error"),
        (2, "error"),
    ]
    assert document["attempts"][1]["error"] == "RuntimeError: try 2: " + "x" * 300
    text = cronce("show", f"stubborn@{SIX}").out
    assert "error of attempt 1: RuntimeError: try 1: " + "x" * 300 in text
    assert "error of attempt 2: RuntimeError: try 2: " + "x" * 300 in text
    assert "error of attempt 3" not in text


def test_a_run_is_shown_with_its_steps_and_their_progress(stories: LocalStack) -> None:
    first, many = cronce("show", f"stubborn@{SIX}", "--json").json["steps"]
    assert (first["step"], first["status"], first["items_done"]) == ("first", "DONE", None)
    assert (many["step"], many["items_done"]) == ("many", 10)
    assert "many DONE" in " ".join(cronce("show", f"stubborn@{SIX}").out.split())
    assert "10 items done" in cronce("show", f"stubborn@{SIX}").out


def test_a_sleep_and_a_step_in_doubt_say_so(stories: LocalStack) -> None:
    (wait,) = cronce("show", f"sleeper@{SIX}", "--json").json["steps"]
    assert (wait["status"], wait["until"]) == ("ASLEEP", "2026-10-30T11:00:04Z")
    said = cronce("show", f"doubtful@{SIX}")
    assert said.lines[0] == f"doubtful@{SIX} FAILED(step_uncertain)"
    assert "nobody knows what came of it: `cronce resolve` says it" in said.out


def test_the_log_of_a_run_is_a_page_of_the_console(stories: LocalStack) -> None:
    log = cronce("show", f"doubtful@{SIX}", "--json").json["log"]
    assert log.startswith(
        "https://us-east-1.console.aws.amazon.com/cloudwatch/home?region=us-east-1#logsV2:log-groups/log-group/"
        "$252Faws$252Flambda$252Fexecutor/log-events/executor$252Frequest-"
    )


@pytest.mark.parametrize(
    "region, host",
    [
        ("eu-west-1", "eu-west-1.console.aws.amazon.com"),
        ("cn-north-1", "cn-north-1.console.amazonaws.cn"),
        ("us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"),
    ],
)
def test_each_partition_has_its_own_console(region: str, host: str) -> None:
    stack: Any = SimpleNamespace(region=region, is_local=False, outputs={"ExecutorLogGroupName": "/g"})
    assert log_place(stack, "2026/10/30/[live]1", "ab-1") == (
        f"https://{host}/cloudwatch/home?region={region}#logsV2:log-groups/log-group/$252Fg/log-events/"
        "2026$252F10$252F30$252F$255Blive$255D1$3FfilterPattern$3D$2522ab-1$2522"
    )


def test_on_local_aws_it_is_a_command() -> None:
    stack: Any = SimpleNamespace(region="r", is_local=True, outputs={"ExecutorLogGroupName": "/g"})
    assert log_place(stack, "s/1", "ab-1") == (
        "aws logs filter-log-events --log-group-name /g --log-stream-names 's/1' --filter-pattern '\"ab-1\"'"
    )


@pytest.mark.parametrize(
    "run, said",
    [
        (
            "sleeper",
            "not a run id of the form <job>@<YYYY-MM-DDTHH:MM:SSZ>: 'sleeper' (`cronce runs` lists them)",
        ),
        ("stubbern@2026-10-30T10:00:00Z", "there is no job 'stubbern': did you mean 'stubborn'?"),
        (
            "sleeper@2026-10-30T10:01:00Z",
            (
                "there is no run sleeper@2026-10-30T10:01:00Z: "
                "`cronce did-run sleeper 2026-10-30T10:01:00Z` says why"
            ),
        ),
    ],
    ids=["no id", "no job", "no run"],
)
def test_a_run_that_is_not_there_is_one_line(stories: LocalStack, run: str, said: str) -> None:
    answer = cronce("show", run)
    assert answer.code == 2
    assert answer.complaint == said


def test_the_names_in_json_are_these(stories: LocalStack) -> None:
    of_run = [
        "run", "job", "scheduled_at", "scheduled_local", "trigger", "status", "reason", "attempt",
        "max_attempts", "slice", "created_at", "started_at", "ended_at", "expect_by", "due_at",
        "fencing_token", "cancel_requested", "error", "act",
    ]  # fmt: skip
    listed = cronce("runs", "--json").json
    assert list(listed) == ["stack", "region", "now", "runs", "unreadable"]
    assert list(listed["runs"][0]) == of_run
    shown = cronce("show", f"stubborn@{SIX}", "--json").json
    more = ["attempts", "steps", "acts", "request_id", "log_stream", "log"]
    assert list(shown) == ["stack", "region", "now", *of_run, *more]
    assert list(shown["attempts"][0]) == [
        "attempt", "fencing_token", "started_at", "ended_at", "outcome", "error", "request_id", "log_stream",
    ]  # fmt: skip
    assert list(shown["steps"][0]) == [
        "step", "status", "recorded_at", "took_at_most_seconds", "items_done", "until", "by", "why",
    ]  # fmt: skip
    assert shown["scheduled_at"] == SIX
    assert shown["scheduled_local"] == "2026-10-30T10:00:00+00:00"
