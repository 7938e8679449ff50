"""`cronce list`.

* P66: each job stands in a line with its schedule in words and its zone, UTC where none was given, and its
  next time both as its zone shows it and in UTC.
* Its last result stands beside, and whatever is wrong: overdue, held, paused by whom and why, an open alert.
* `--json` says the same under stable names.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3

from cronce.core.jobstate import Pause
from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import START
from tests.cli.terminal import cronce

HOUR = timedelta(hours=1)


def by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {job["job"]: job for job in document["jobs"]}


def edit(name: str, values: dict[str, Any]) -> None:
    """Write attributes of a job's item, as nobody but the scheduler and the commands do."""
    names = {f"#{key}": key for key in values}
    boto3.client("dynamodb").update_item(
        TableName="runs",
        Key={"pk": {"S": f"JOB#{name}"}, "sk": {"S": "JOB"}},
        UpdateExpression="SET " + ", ".join(f"#{key} = :{key}" for key in values),
        ExpressionAttributeNames=names,
        ExpressionAttributeValues={f":{key}": value for key, value in values.items()},
    )


def test_p66_a_job_stands_with_its_words_its_zone_and_both_its_next_times(stack: LocalStack) -> None:
    stack.play(minutes=1)

    said = cronce("list")

    assert said.code == 0
    heading, broken, hourly, menu = said.lines
    assert heading == "job schedule next (local) next (UTC) last state"
    assert menu.startswith(
        "menu daily at 06:00 America/New_York Fri 2026-10-30 06:00 EDT Fri 2026-10-30 10:00 UTC"
    )
    assert hourly.startswith("hourly hourly at :00 UTC Fri 2026-10-30 10:00 UTC Fri 2026-10-30 10:00 UTC")
    assert broken.startswith("broken every 30 minutes Fri 2026-10-30 10:00 UTC Fri 2026-10-30 10:00 UTC")
    assert menu.endswith("none fine")


def test_the_last_result_and_an_open_alert_stand_beside(stack: LocalStack) -> None:
    stack.play(minutes=4)

    _, broken, hourly, menu = cronce("list").lines

    assert "FAILED(error) Fri 2026-10-30 10:00 UTC alert since Fri 2026-10-30 10:00" in broken
    assert hourly.endswith("SUCCEEDED Fri 2026-10-30 10:00 UTC fine")
    assert menu.endswith("SUCCEEDED Fri 2026-10-30 06:00 EDT fine")


def test_a_time_that_nobody_planned_is_overdue_after_its_grace(stack: LocalStack) -> None:
    stack.play(minutes=4)
    stack.clock.set(START + 25 * HOUR)  # no tick came

    said = by_name(cronce("list", "--json").json)

    assert said["menu"]["overdue"] == ["2026-10-31T10:00:00Z"]
    assert len(said["hourly"]["overdue"]) == 24
    assert "MISSED: Sat 2026-10-31 06:00 EDT" in cronce("list").lines[3]
    assert "MISSED: Fri 2026-10-30 11:00 UTC and 23 more" in cronce("list").lines[2]


def test_who_paused_a_job_and_why_is_said(stack: LocalStack) -> None:
    stack.play(minutes=1)
    state = stack.store.jobs.get("menu")
    assert state is not None
    pause = replace(state, paused=Pause(at=START, by="ann", why="the kitchen burns")).paused
    assert pause is not None
    edit(
        "menu",
        {
            "paused": {
                "M": {"at": {"S": "2026-10-30T09:58:00.000Z"}, "by": {"S": "ann"}, "why": {"S": pause.why}}
            }
        },
    )

    assert cronce("list").lines[3].endswith("paused by ann: the kitchen burns")
    assert by_name(cronce("list", "--json").json)["menu"]["paused"] == {
        "at": "2026-10-30T09:58:00Z",
        "by": "ann",
        "why": "the kitchen burns",
    }


def test_a_job_whose_module_does_not_import_any_more_is_held(stack: LocalStack) -> None:
    stack.play(minutes=1)
    edit("menu", {"held": {"S": "unavailable"}})
    assert cronce("list").lines[3].endswith("held: unavailable")


def test_an_item_that_cannot_be_read_is_a_line_of_its_own_and_costs_nobody_else(stack: LocalStack) -> None:
    stack.play(minutes=1)
    edit("menu", {"planned_to": {"S": "yesterday"}})

    said = cronce("list")

    assert said.code == 0
    assert said.lines[1].endswith("fine")
    assert "planned_to" in said.lines[3]
    assert "planned_to" in by_name(cronce("list", "--json").json)["menu"]["problem"]


def test_before_the_first_tick_there_are_no_jobs(stack: LocalStack) -> None:
    said = cronce("list")
    assert said.code == 0
    assert said.lines == [
        "There are no jobs in cronce-local (us-east-1): no tick of its scheduler has planned any yet."
    ]
    assert cronce("list", "--json").json["jobs"] == []


def test_the_names_in_json_are_these(stack: LocalStack) -> None:
    stack.play(minutes=4)

    document = cronce("list", "--json").json
    menu = by_name(document)["menu"]

    assert list(document) == ["stack", "region", "now", "jobs"]
    assert (document["stack"], document["region"]) == ("cronce-local", "us-east-1")
    assert document["now"].startswith("2026-10-30T10:02:0")
    assert document["now"].endswith("Z")
    assert list(menu) == [
        "job", "problem", "module", "schedule", "schedule_in_words", "tz", "grace_seconds", "planned_to",
        "next_at", "paused", "held", "removed_at", "began_at", "queued", "slots", "last", "unfinished",
        "overdue", "alert",
    ]  # fmt: skip
    assert menu["schedule_in_words"] == "daily at 06:00 America/New_York"
    assert (menu["module"], menu["tz"], menu["grace_seconds"]) == ("jobs.shop", "America/New_York", 900)
    assert (menu["next_at"], menu["last"]["status"]) == ("2026-10-31T10:00:00Z", "SUCCEEDED")
    assert by_name(document)["broken"]["alert"]["count"] == 1
