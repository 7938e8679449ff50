"""What the functions really ask of AWS is what their roles allow, no less and no more.

Invariants:
- every call of every handler, seen at the one gate of the local stack, is one that its role may make;
- every permission of a role is used by a call, or by AWS itself for a reason that stands below;
- so whichever single permission is removed from a role or added to it, this comparison says so.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import LocalStack, local_stack
from tests.support.jobs_modules import only_jobs_of
from tests.support.ping_server import answers, ping_server
from tests.template.stack import Stack, grants
from tests.template.test_permissions import (
    EXECUTOR,
    EXPECTED,
    EXPECTED_OF_JOBS,
    OPTIONS,
    has_samples,
    of_samples,
)

RESOURCES = {"runs": "RunsTable", "steps": "StepsTable", "outbox": "OutboxTable"}
ROLES = {name: f"{name.title()}Role" for name in ("scheduler", "dispatcher", "executor", "watchdog")}
PARTS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}
NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
PLACES = {"CRONCE_HEARTBEAT_URL": "/shop/heartbeat", "CRONCE_PING_URLS": "/shop/pings"}
"""Where URLs are kept in the stack that pings."""
Pair = tuple[str, str]  # resource, action
Used = dict[str, set[Pair]]

# What AWS does in a role's name, without a call of ours; no local engine asks for it.
STREAM = "Lambda reads the stream for the mapping"
LOGS = "Lambda writes what the function prints"
FAILURES = "Lambda sends what was given up to the queue"
BY_AWS: dict[str, dict[Pair, str]] = {
    **{
        role: {
            (f"{role.removesuffix('Role')}LogGroup", "logs:CreateLogStream"): LOGS,
            (f"{role.removesuffix('Role')}LogGroup", "logs:PutLogEvents"): LOGS,
        }
        for role in ROLES.values()
    },
}
BY_AWS["ExecutorRole"] |= {("ExecutorFailureQueue", "sqs:SendMessage"): FAILURES}
BY_AWS["DispatcherRole"] |= {
    ("DispatchFailureQueue", "sqs:SendMessage"): FAILURES,
    ("RunsTable.StreamArn", "dynamodb:DescribeStream"): STREAM,
    ("RunsTable.StreamArn", "dynamodb:GetRecords"): STREAM,
    ("RunsTable.StreamArn", "dynamodb:GetShardIterator"): STREAM,
    ("RunsTable/stream/*", "dynamodb:ListStreams"): STREAM,
}

# Jobs that queue, fail, are tried again, and are not caught up: so that every kind of write comes up. Pauses
# between attempts are drawn at random: those of `broken` are so long that it still waits after a month.
JOBS = """
from cronce import Cron, Retry, Run, job

EFFECTS = []

@job("belt", schedule=Cron("0-5 12 30 10 *"), overlap="queue", retry=Retry(attempts=1))
def belt(run: Run) -> None:
    run.step("pack", EFFECTS.append, run.id)

@job("wobbly", schedule=Cron("1 12 30 10 *"), retry=Retry(attempts=2, base="1s"))
def wobbly(run: Run) -> None:
    run.step("first", str, run.attempt)
    if run.attempt == 1:
        raise ValueError("not today")

@job("broken", schedule=Cron("2 12 * * *"), retry=Retry(attempts=10, base="12h", cap="12h"))
def broken(run: Run) -> None:
    raise ValueError("not today")

@job("strict", schedule=Cron("0 13 * * *"), catch_up="skip")
def strict(run: Run) -> None:
    pass
"""


def needs(call: Call) -> Iterator[Pair]:
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
        case "GetParameter":
            yield place_of(given["Name"]), "ssm:GetParameter"
        case operation:
            yield RESOURCES[given["TableName"]], f"dynamodb:{operation}"


def place_of(name: str) -> str:
    """The template's resource for a parameter's name."""
    if name == PLACES["CRONCE_HEARTBEAT_URL"]:
        return OPTIONS["HasHeartbeat"][1]
    assert name == f"{PLACES['CRONCE_PING_URLS']}/pinged"
    return OPTIONS["HasPings"][1]


PINGED = """
from cronce import Cron, Run, job

@job("pinged", schedule=Cron("0 12 * * *"), ping="get")
def pinged(run: Run) -> None:
    pass
"""


class Killer:
    """Ends an executor before its first call, and another one when it is about to record a step."""

    def __init__(self, stack: LocalStack) -> None:
        self._stack = stack
        self._before_claim = self._at_step = True

    def __call__(self, call: Call) -> None:
        """Look at a call."""
        if call.process != "executor":
            return
        if self._before_claim:
            self._before_claim = False
            self._stack.cloud.kill()
        if self._at_step and ("StepsTable", "dynamodb:PutItem") in needs(call):
            self._at_step = False
            self._stack.cloud.kill()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Used:
    """A quarter of an hour with dying workers, an outage of 100 minutes, and what is left a month later."""
    seen: Used = defaultdict(set)

    def watch(call: Call) -> None:
        if call.process in ROLES:
            seen[ROLES[call.process]].update(needs(call))

    folder = tmp_path_factory.mktemp("jobs")
    (folder / "belt.py").write_text(JOBS)
    with local_stack(NOON - timedelta(minutes=2)) as stack, only_jobs_of(folder):
        stack.cloud.hooks += [Killer(stack), watch]
        stack.play(minutes=12)
        stack.clock.advance(timedelta(minutes=100))
        stack.invoke("watchdog", {})
        stack.play(minutes=2)
        stack.clock.advance(timedelta(days=31))
        stack.play()
    if has_samples(Stack.load()):
        with local_stack(NOON - timedelta(minutes=1)) as stack:
            stack.cloud.hooks.append(watch)
            stack.play(minutes=1)
    return seen


def allowed(stack: Stack, role: str) -> set[Pair]:
    """What the template allows a role, that of the sample jobs included."""
    granted = list(stack.grants(role).items())
    if role == "ExecutorRole":
        granted += grants(of_samples(stack)).items()
    return {(resource, action) for resource, actions in granted for action in actions}


def differences(role: str, granted: set[Pair], used: Used) -> set[Pair]:
    """What is used and not allowed, or allowed and not used."""
    return granted ^ (used[role] | BY_AWS[role].keys())


@pytest.mark.parametrize("role", sorted(ROLES.values()))
def test_a_role_allows_what_is_used_and_nothing_else(plain: Stack, used: Used, role: str) -> None:
    assert len(used[role]) >= 1
    assert differences(role, allowed(plain, role), used) == set()


@pytest.mark.parametrize("role", sorted(ROLES.values()))
def test_nothing_that_a_call_uses_is_said_to_be_used_by_aws_only(used: Used, role: str) -> None:
    assert used[role] & BY_AWS[role].keys() == set()


# Each permission of each role. Another test holds EXPECTED to the template, so none is left out.
PERMISSIONS = [
    (role, resource, action)
    for role, expected in EXPECTED.items()
    for resource, actions in (
        *expected.items(),
        *(EXPECTED_OF_JOBS.items() if role == "ExecutorRole" else ()),
    )
    for action in sorted(actions)
]


@pytest.mark.parametrize("role, resource, action", PERMISSIONS)
def test_without_this_one_permission_the_comparison_fails(
    plain: Stack, used: Used, role: str, resource: str, action: str
) -> None:
    if resource in EXPECTED_OF_JOBS and not has_samples(plain):
        pytest.skip("the sample jobs are gone")
    granted = allowed(plain, role)
    assert (resource, action) in granted
    assert differences(role, granted - {(resource, action)}, used) == {(resource, action)}


@pytest.mark.parametrize("role", sorted(ROLES.values()))
def test_one_permission_too_many_is_found(plain: Stack, used: Used, role: str) -> None:
    granted = allowed(plain, role)
    for action in ("dynamodb:Scan", "dynamodb:DeleteTable"):
        assert differences(role, granted | {("RunsTable", action)}, used) == {("RunsTable", action)}


# --- with services outside AWS ---


@pytest.fixture(scope="module")
def used_to_ping(tmp_path_factory: pytest.TempPathFactory) -> Used:
    """What is used beside the rest by a stack that pings: every call of SSM."""
    seen: Used = defaultdict(set)

    def watch(call: Call) -> None:
        if call.service == "ssm" and call.process in ROLES:
            seen[ROLES[call.process]].update(needs(call))

    folder = tmp_path_factory.mktemp("pinged")
    (folder / "pinged.py").write_text(PINGED)
    with (
        ping_server(answers(200)) as service,
        local_stack(NOON - timedelta(minutes=1)) as stack,
        only_jobs_of(folder),
    ):
        os.environ.update(PLACES)
        client = boto3.client("ssm")
        for name in (PLACES["CRONCE_HEARTBEAT_URL"], f"{PLACES['CRONCE_PING_URLS']}/pinged"):
            client.put_parameter(Name=name, Value=f"{service.url}{name}", Type="SecureString")
        stack.cloud.hooks.append(watch)
        stack.play(minutes=3)
        assert set(service.asked) == {"/shop/heartbeat", "/shop/pings/pinged"}
    return seen


@pytest.mark.parametrize("role", sorted(ROLES.values()))
def test_a_role_may_read_the_urls_that_it_uses_and_no_others(
    stack: Stack, plain: Stack, used_to_ping: Used, role: str
) -> None:
    granted = allowed(stack.under(*OPTIONS), role) - allowed(plain, role)
    assert granted == used_to_ping[role]
    assert bool(granted) is (role in {who for who, _ in OPTIONS.values()})
