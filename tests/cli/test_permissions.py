"""The policies for people allow what the command does.

* Asking needs nothing beyond OperatorReadPolicy, changing nothing beyond OperatorWritePolicy beside it.
* What the latter allows on the tables is used.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import TABLES, LocalStack
from cronce_tools.local.template import Template
from tests.cli.conftest import START, stack_with
from tests.cli.terminal import cronce
from tests.cli.test_operate import FALLIBLE

Allowed = set[tuple[str, str]]
"""IAM actions, each with what it is allowed on."""

AT = "2026-10-30T10:00:00Z"
TABLE_OF = {name: logical_id for logical_id, name in TABLES.items()}
PARTS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}


def allowed(policy: str) -> Allowed:
    found: Allowed = set()
    for statement in Template.load().properties(policy)["PolicyDocument"]["Statement"]:
        if "Fn::If" in statement:
            continue
        resources = statement["Resource"]
        for resource in resources if isinstance(resources, list) else [resources]:
            if resource == "*":
                continue  # alarms, which the command does not ask for
            target = resource.get("Ref") or resource.get("Fn::Sub") or resource["Fn::GetAtt"][0]
            actions = statement["Action"]
            found |= {(action, target) for action in ([actions] if isinstance(actions, str) else actions)}
    return found


def used_by(call: Call) -> Allowed:
    """What IAM would be asked for."""
    parameters: dict[str, Any] = call.parameters
    if call.service == "sts":
        return set()  # who calls may always be asked
    if call.service == "cloudformation":
        return {(f"cloudformation:{call.operation}", "AWS::StackId")}
    assert call.service == "dynamodb"
    if call.operation == "TransactWriteItems":
        parts = [part for action in parameters["TransactItems"] for part in action.items()]
        return {(PARTS[kind], TABLE_OF[body["TableName"]]) for kind, body in parts}
    if call.operation == "BatchGetItem":
        return {("dynamodb:BatchGetItem", TABLE_OF[table]) for table in parameters["RequestItems"]}
    table = TABLE_OF[parameters["TableName"]]
    index = parameters.get("IndexName")
    return {(f"dynamodb:{call.operation}", f"${{{table}.Arn}}/index/{index}" if index else table)}


def watched(stack: LocalStack, *commands: tuple[str, ...]) -> Allowed:
    """What the commands need."""
    used: Allowed = set()

    def watch(call: Call) -> None:
        nonlocal used
        if call.process == "operator":
            used |= used_by(call)

    stack.cloud.hooks.append(watch)
    for command in commands:
        said = cronce(*command)
        assert said.code in {0, 1}, said.err
    stack.cloud.hooks.remove(watch)
    return used


ASKING = (
    ("list",),
    ("next", "menu"),
    ("runs",),
    ("runs", "--status", "waiting"),
    ("show", f"payout@{AT}"),
    ("did-run", "menu", "today"),
    ("history", "menu"),
    ("backfill", "menu", "--from", "2026-10-29", "--to", "2026-10-29", "--dry-run"),
    ("resume", "menu", "--dry-run"),
)
CHANGING = (
    ("resolve", f"payout@{AT}", "pay", "--done", "1", "--yes"),
    ("retry", f"broken@{AT}"),
    ("cancel", f"broken@{AT}", "--yes"),
    ("ack", "broken"),
    ("pause", "menu"),
    ("resume", "menu"),
    ("trigger", "menu", "--input", f'"{"x" * 500}"'),
    ("trigger", "menu"),
    ("backfill", "menu", "--from", "2026-10-29", "--to", "2026-10-29"),
    ("rewind", "broken", "--to", "2026-10-30T11:00Z", "--replan-gaps", "--yes"),
)


def test_the_policies_allow_what_the_command_does(tmp_path: Path) -> None:
    with stack_with(tmp_path, FALLIBLE) as stack:
        stack.play(minutes=2)
        stack.clock.set(START + timedelta(hours=3, minutes=1))
        stack.play()
        asked = watched(stack, *ASKING)
        changed = watched(stack, *CHANGING)
    reading, writing = allowed("OperatorReadPolicy"), allowed("OperatorWritePolicy")
    assert asked <= reading
    assert changed <= reading | writing
    # It is for an orphan in the queue, which is deleted if its run is still gone.
    assert {each for each in writing if each[1] in TABLES} - changed == {
        ("dynamodb:ConditionCheckItem", "RunsTable")
    }
