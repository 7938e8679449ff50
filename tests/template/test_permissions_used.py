"""What the functions really ask of AWS is what their roles allow.

* Every call of every handler, seen at the one gate of the local stack, is one that its role may make.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import LocalStack, local_stack
from tests.template.test_permissions import EXECUTOR, EXPECTED, EXPECTED_OF_JOBS

RESOURCES = {"runs": "RunsTable", "steps": "StepsTable", "outbox": "OutboxTable"}
ROLES = {name: f"{name.title()}Role" for name in ("scheduler", "dispatcher", "executor", "watchdog")}
PARTS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}
NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
Used = dict[str, set[tuple[str, str]]]


def needs(call: Call) -> Iterator[tuple[str, str]]:
    """Resource and IAM action of each part of a call."""
    given: dict[str, Any] = call.parameters
    match call.operation:
        case "TransactWriteItems":
            for item in given["TransactItems"]:
                ((kind, part),) = item.items()
                yield RESOURCES[part["TableName"]], PARTS[kind]
        case "BatchGetItem":
            for table in given["RequestItems"]:
                yield RESOURCES[table], "dynamodb:BatchGetItem"
        case "Query" if "IndexName" in given:
            yield f"{RESOURCES[given['TableName']]}/index/{given['IndexName']}", "dynamodb:Query"
        case "Invoke":
            yield EXECUTOR, "lambda:InvokeFunction"
        case "Publish":
            yield "NoticeTopic", "sns:Publish"
        case operation:
            yield RESOURCES[given["TableName"]], f"dynamodb:{operation}"


@pytest.fixture(scope="module")
def used() -> Used:
    """Two hours in which runs start, are killed, and are missed."""
    seen: Used = defaultdict(set)

    def watch(call: Call) -> None:
        if call.process in ROLES:
            seen[ROLES[call.process]].update(needs(call))

    with local_stack(NOON - timedelta(minutes=3)) as stack:
        stack.cloud.hooks.append(watch)
        _hours(stack)
    return seen


def _hours(stack: LocalStack) -> None:
    killed = False

    def kill(call: Call) -> None:
        nonlocal killed
        if call.process == "executor" and call.parameters.get("TableName") == "outbox" and not killed:
            killed = True
            stack.cloud.kill()

    stack.cloud.hooks.insert(0, kill)
    stack.play(minutes=10)
    stack.clock.advance(timedelta(minutes=100))
    stack.invoke("watchdog", {})
    stack.play(minutes=10)


@pytest.mark.parametrize("role", sorted(ROLES.values()))
def test_every_call_is_allowed(used: Used, role: str) -> None:
    grants = [*EXPECTED[role].items(), *(EXPECTED_OF_JOBS.items() if role == "ExecutorRole" else ())]
    allowed = {(resource, action) for resource, actions in grants for action in actions}
    assert used[role], "nothing was seen of it"
    assert used[role] - allowed == set()
