"""`cronce runs`, and what `cronce show` says of a run that goes on.

* P47: a run whose claim ended more than five minutes ago is not listed as running, and is marked elsewhere.
* Runs are found by job, state and time, newest first; those that have not ended whatever their age.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cronce.core.records import RunRef
from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import START, STORIES, stack_with
from tests.cli.terminal import cronce, did_run, operations
from tests.support.jobs_modules import forget_jobs

MINUTE = timedelta(minutes=1)
SIX = "2026-10-30T10:00:00Z"


@pytest.fixture
def early(tmp_path: Path) -> Iterator[LocalStack]:
    """Jobs with a story, right after their first attempts."""
    with stack_with(tmp_path, STORIES) as running:
        running.play(minutes=2)
        yield running


def half_an_hour(stack: LocalStack) -> None:
    """At ten and at half past ten jobs are due; nothing is in between."""
    for minute in (START + MINUTE, START + 31 * MINUTE):
        stack.clock.set(minute)
        stack.play()


def runs(*arguments: str) -> list[str]:
    return [run["run"] for run in cronce("runs", *arguments, "--json").json["runs"]]


def stop_in_the_middle(stack: LocalStack, job: str) -> None:
    """Kill the worker of a job at its first step."""

    def kill(call: Call) -> None:
        text = str(call.parameters)
        if (
            call.process == "executor"
            and call.operation == "TransactWriteItems"
            and job in text
            and "STEP#" in text
        ):
            stack.cloud.hooks.remove(kill)
            stack.cloud.kill()

    stack.cloud.hooks.append(kill)


def test_runs_stand_newest_first(stack: LocalStack) -> None:
    half_an_hour(stack)
    assert runs() == [
        "broken@2026-10-30T10:30:00Z",
        f"menu@{SIX}",
        f"hourly@{SIX}",
        f"broken@{SIX}",
    ]
    said = cronce("runs", "broken")
    assert said.lines[0] == "run local time status attempt started (UTC) took remark"
    assert said.lines[1] == (
        "broken@2026-10-30T10:30:00Z Fri 2026-10-30 10:30 UTC FAILED(error) 1 of 3 2026-10-30 10:30:04 0 ms "
        "PermanentError: no money left"
    )


def test_runs_are_found_by_state_and_time(stack: LocalStack) -> None:
    half_an_hour(stack)
    assert runs("--status", "failed", "--limit", "1") == ["broken@2026-10-30T10:30:00Z"]
    assert runs("--status", "failed", "--status", "succeeded", "--until", "2026-10-30T10:29Z") == [
        f"menu@{SIX}",
        f"hourly@{SIX}",
        f"broken@{SIX}",
    ]
    assert runs("broken", "--since", "20m") == ["broken@2026-10-30T10:30:00Z"]
    assert runs("menu", "--since", "2026-10-30T06:00") == [f"menu@{SIX}"]  # by its own clock
    assert runs("menu", "--since", "2026-10-30T06:01") == []


def test_what_has_ended_in_some_state_is_looked_for_a_week_back_unless_more_is_asked(
    stack: LocalStack,
) -> None:
    stack.play(minutes=4)
    stack.clock.set(START + timedelta(days=8))
    said = cronce("runs", "--status", "failed")
    assert (said.code, said.lines) == (1, ["no such runs"])
    assert said.err == "looked back to Sat 2026-10-31 09:58 UTC; --since looks further\n"
    assert runs("--status", "failed", "--since", "9d") == [f"broken@{SIX}"]


def test_many_runs_are_read_page_by_page(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cronce.engine.run_search.PAGE", 2)
    for half_hour in range(5):
        stack.clock.set(START + (half_hour * 30 + 1) * MINUTE)
        stack.play()
    found = runs("--status", "failed", "--since", "1d")
    assert len(found) == 5
    assert found == sorted(found, reverse=True)
    assert runs("--status", "failed", "--limit", "3") == found[:3]


def test_p47_a_run_with_nobody_behind_it_is_not_listed_as_running(stack: LocalStack) -> None:
    stop_in_the_middle(stack, "menu")
    stack.play(minutes=2)
    assert runs("--status", "running") == [f"menu@{SIX}"]

    stack.clock.set(stack.clock.now() + 6 * MINUTE + timedelta(seconds=1))  # nobody sweeps

    assert runs("--status", "running") == []
    (menu,) = [line for line in cronce("runs").lines if line.startswith("menu@")]
    assert "RUNNING, its claim is over" in menu


def test_a_run_that_has_not_ended_is_found_whatever_its_age(early: LocalStack) -> None:
    early.clock.set(START + timedelta(days=20))
    assert runs("--status", "waiting") == [f"stubborn@{SIX}", f"sleeper@{SIX}"]
    assert runs("sleeper", "--status", "waiting") == [f"sleeper@{SIX}"]
    assert runs("doubtful", "--status", "waiting") == []


def test_no_runs_is_a_no(stack: LocalStack) -> None:
    stack.play(minutes=1)
    said = cronce("runs")
    assert (said.code, said.lines) == (1, ["no such runs"])


def test_the_last_error_is_whole_too(early: LocalStack) -> None:
    document = cronce("show", f"stubborn@{SIX}", "--json").json
    assert (document["status"], document["reason"], document["attempts"]) == ("WAITING", "backoff", [])
    assert document["error"] == "RuntimeError: try 1: " + "x" * 300


def test_who_resolved_a_step_and_why_is_shown(early: LocalStack) -> None:
    ref = RunRef.parse(f"doubtful@{SIX}")
    operations().resolve(ref, "pay", "17", by="ann", why="the bank said so")

    document = cronce("show", f"doubtful@{SIX}", "--json").json

    (pay,) = document["steps"]
    assert (pay["by"], pay["why"]) == ("ann", "the bank said so")
    assert [(act["what"], act["by"], act["why"]) for act in document["acts"]] == [
        ("resolve", "ann", "the bank said so")
    ]
    assert "resolved by ann: the bank said so" in cronce("show", f"doubtful@{SIX}").out


def test_a_removed_jobs_run_under_way_is_still_found_and_its_times_are_not_run(
    early: LocalStack, tmp_path: Path
) -> None:
    jobs = STORIES.replace("sleeper", "slumberer")
    (tmp_path / "functions/jobs/shop.py").write_text(jobs)
    forget_jobs()
    early.clock.set(START + timedelta(hours=1, minutes=1))
    early.play()

    assert f"sleeper@{SIX}" in runs("--status", "waiting", "--status", "running", "--status", "pending")
    assert runs("sleeper") == [f"sleeper@{SIX}"]
    assert "sleeper" not in {job["job"] for job in cronce("list", "--json").json["jobs"]}
    code, (answer,) = did_run("sleeper", "2026-10-30T11:00")
    assert code == 1
    assert answer.startswith(
        "no: Fri 2026-10-30 11:00 UTC skipped: the job is not in the deployment since Fri"
    )
