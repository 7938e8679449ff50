"""`cronce doctor` against a deployed stack: what it asks, what it makes of the answers, and of refusals.

* A stack as SAM's translation of the template makes it is well, and nothing is said but that.
* What the caller may not see is a finding that names the permission; all other checks are made.
* A stack of another release is said once; then the template that was deployed is what is expected.
* The ledger is looked at through its real store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cronce.core.jobstate import Registry, RegistryEntry
from cronce_tools.cli.call import PROJECT
from cronce_tools.doctor.checks import CHECKS
from cronce_tools.doctor.examination import place_of
from cronce_tools.doctor.finding import Level
from cronce_tools.doctor.ledger import look_at_jobs_here
from cronce_tools.doctor.place import Place
from cronce_tools.emulator.local_note import DEMO_JOBS
from tests.cli.terminal import cronce
from tests.template.stack import Stack
from tests.tools.doctor_world import World, deployed, findings, reached


@pytest.fixture(scope="module")
def made() -> Stack:
    return Stack.load().under()


@pytest.fixture(scope="module")
def shared(made: Stack) -> Iterator[World]:
    with deployed(made) as world:
        yield world


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    """A stack in which nothing is done but by answers."""
    with shared.as_it_was():
        yield shared


def test_a_stack_as_the_template_makes_it_is_well(world: World) -> None:
    said = cronce("doctor")
    assert (said.code, said.err) == (0, "")
    assert said.lines == [f"cronce-local (us-east-1): {len(CHECKS)} checks, nothing is wrong"]


def test_the_names_in_json_are_these(world: World) -> None:
    world.changes("lambda", "GetEventSourceMapping", MaximumRetryAttempts=9)
    said = cronce("doctor", "--json")
    assert said.code == 1
    assert list(said.json) == ["stack", "region", "now", "checks", "findings"]
    assert said.json["checks"] == [check.name for check in CHECKS]
    (finding,) = said.json["findings"]
    assert finding == {
        "check": "stream mapping",
        "level": "wrong",
        "what": "the stream mapping: retries is 9, expected 4",
        "why": "a bad record stops its shard while it is tried",
        "remedy": f"aws lambda update-event-source-mapping --uuid {world.names['DispatcherFunctionRuns']} "
        "--maximum-retry-attempts 4",
    }


def test_the_page_on_operations_has_every_check() -> None:
    page = (PROJECT / "docs/operations.md").read_text().partition("| check | what is found |")[2]
    table = page.partition("\n\n")[0]
    assert re.findall(r"`([^`]+)`(?=[^|]*\| )", table) == sorted(
        (check.name for check in CHECKS), key=lambda name: table.index(f"`{name}`")
    )


def test_for_people_each_finding_has_its_reason_and_its_remedy(world: World) -> None:
    world.changes("lambda", "GetEventSourceMapping", MaximumRetryAttempts=9)
    limit = {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}
    world.says("lambda", "GetAccountSettings", lambda _: {"AccountLimit": limit})
    said = cronce("doctor")
    assert said.code == 1
    assert [line.partition(":")[0] for line in said.lines] == [
        *("wrong", "why", "remedy"),
        *("hint", "why", "remedy"),
        "cronce-local (us-east-1)",
    ]
    assert said.lines[-1].endswith(f"{len(CHECKS)} checks, 1 finding, 1 hint")


# --- what is not seen ---

DENIED = [
    ("release", "cloudformation", "GetTemplate"),
    ("scheduler", "dynamodb", "GetItem"),
    ("rules", "events", "ListTargetsByRule"),
    ("other rules", "events", "ListRuleNamesByTarget"),
    ("other schedules", "scheduler", "ListSchedules"),
    ("functions", "lambda", "GetAlias"),
    ("functions", "lambda", "GetFunctionConfiguration"),
    ("asynchronous calls", "lambda", "GetFunctionEventInvokeConfig"),
    ("stream mapping", "lambda", "GetEventSourceMapping"),
    ("account limit", "lambda", "GetAccountSettings"),
    ("reserved", "lambda", "GetFunctionConcurrency"),
    ("throttles", "cloudwatch", "GetMetricData"),
    ("alarms", "cloudwatch", "DescribeAlarms"),
    ("topic", "sns", "GetTopicAttributes"),
    ("topic", "sns", "ListSubscriptionsByTopic"),
    ("queues", "sqs", "GetQueueAttributes"),
    ("jobs", "dynamodb", "BatchGetItem"),
    ("runs", "dynamodb", "Query"),
    ("tables", "dynamodb", "DescribeTable"),
    ("expiry", "dynamodb", "DescribeTimeToLive"),
    ("backups", "dynamodb", "DescribeContinuousBackups"),
    ("logs", "logs", "DescribeLogGroups"),
    ("rules", "events", "DescribeRule"),
]


@pytest.mark.parametrize("check, service, operation", DENIED, ids=[each[2] for each in DENIED])
def test_what_the_caller_may_not_see_is_a_finding_that_names_the_permission(
    world: World, check: str, service: str, operation: str
) -> None:
    world.refuses(service, operation, "AuthorizationError" if service == "sns" else "AccessDeniedException")
    (found,) = findings(check)
    assert found.level is Level.NOT_LOOKED_AT
    assert found.what.endswith(f"not looked at: needs permission {service}:{operation}")
    assert "OperatorReadPolicyArn" in found.remedy


def test_every_call_that_is_made_can_be_refused(world: World) -> None:
    assert cronce("doctor").code == 0
    made = {(call.service, call.operation) for call in world.calls}
    assert made - {(service, operation) for _, service, operation in DENIED} == {
        ("cloudformation", "DescribeStacks"),
        ("cloudformation", "ListStackResources"),
    }


def test_who_may_not_see_all_hears_so_and_the_rest_is_looked_at(world: World) -> None:
    world.refuses("lambda", "GetAccountSettings")
    world.changes("lambda", "GetEventSourceMapping", MaximumRetryAttempts=9)
    said = cronce("doctor", "--json")
    assert said.code == 1
    assert [each["level"] for each in said.json["findings"]] == ["wrong", "not_looked_at"]


def test_who_may_not_even_list_what_the_stack_has_hears_it_in_one_line(world: World) -> None:
    world.refuses("cloudformation", "ListStackResources")
    said = cronce("doctor")
    assert said.code == 3
    assert "without the permission cloudformation:ListStackResources" in said.complaint


def test_what_local_aws_does_not_know_is_a_hint(world: World) -> None:
    world.refuses("scheduler", "ListSchedules", "UnknownOperationException")
    (found,) = findings("other schedules")
    assert (found.level, found.what[:14]) == (Level.HINT, "not known here")


def test_what_aws_refuses_for_another_reason_was_not_looked_at(world: World) -> None:
    world.refuses("lambda", "GetAccountSettings", "TooManyRequestsException")
    (found,) = findings("account limit")
    assert found.level is Level.NOT_LOOKED_AT
    assert "TooManyRequestsException" in found.what


# --- releases ---


def of_another_release(world: World) -> None:
    body = (PROJECT / "template.yaml").read_text()
    assert "MaximumRetryAttempts: 4" in body
    other = body.replace("MaximumRetryAttempts: 4", "MaximumRetryAttempts: 7")
    world.says("cloudformation", "GetTemplate", lambda _: {"TemplateBody": other})


def test_a_stack_of_another_release_is_said_once(world: World) -> None:
    of_another_release(world)
    world.changes("lambda", "GetEventSourceMapping", MaximumRetryAttempts=7)
    (found,) = findings("release", "stream mapping")
    assert (found.check, found.level) == ("release", Level.HINT)
    assert found.what == "the stack was deployed from another template than the one here (mapping)"


def test_what_differs_from_the_template_that_was_deployed_was_changed_by_hand(world: World) -> None:
    of_another_release(world)
    _, found = findings("release", "stream mapping")
    assert found.what == "the stream mapping: retries is 4, expected 7"


def test_without_the_deployed_template_that_of_the_working_copy_is_what_is_expected(world: World) -> None:
    world.refuses("cloudformation", "GetTemplate")
    world.changes("lambda", "GetEventSourceMapping", MaximumRetryAttempts=7)
    unseen, found = findings("release", "stream mapping")
    assert unseen.level is Level.NOT_LOOKED_AT
    assert found.what == "the stream mapping: retries is 7, expected 4"


def test_a_working_copy_without_a_template_still_has_the_deployed_one(world: World, tmp_path: Path) -> None:
    place = place_of(reached(), tmp_path)
    (found,) = findings("release", "stream mapping", "jobs here", place=place)
    assert (found.check, found.level) == ("release", Level.HINT)
    assert "No such file" in found.what


def test_without_any_template_there_is_one_line(world: World, tmp_path: Path) -> None:
    world.refuses("cloudformation", "GetTemplate")
    said = cronce("doctor", "--project", tmp_path)
    assert said.code == 3
    assert "nobody says what is expected of the stack" in said.complaint


def test_parameters_of_the_stack_are_what_is_expected(world: World) -> None:
    described = world.local.cloud.answers["cloudformation", "DescribeStacks"]

    def with_parameter(asked: dict[str, Any]) -> Any:
        answer = described(asked)
        given = answer["Stacks"][0]["Parameters"]
        for each in given:
            if each["ParameterKey"] == "LogRetentionDays":
                each["ParameterValue"] = "90"
            if each["ParameterKey"] == "ExecutorReservedConcurrency":
                each["ParameterValue"] = "5"
        return answer

    world.local.cloud.answers["cloudformation", "DescribeStacks"] = with_parameter
    assert {each.what.rsplit(", ")[-1] for each in findings("logs")} == {"expected 90 days"}
    (found,) = findings("reserved")
    assert found.what == "invocations reserved for shop-ExecutorFunction: none, expected 5"
    assert found.remedy.endswith("shop-ExecutorFunction --reserved-concurrent-executions 5")


def test_zone_data_and_jobs_are_those_of_the_working_copy(world: World) -> None:
    assert findings("zone data", "jobs here") == []


def test_local_aws_is_not_asked_for_what_it_drops(world: World) -> None:
    place = place_of(reached(), PROJECT)
    local = Place(**{name: getattr(place, name) for name in Place.__slots__} | {"is_local": True})
    found = findings("expiry", "backups", place=local)
    assert [(each.level, each.what[:14]) for each in found] == [(Level.HINT, "not known here")] * 2


def test_the_job_that_make_local_adds_is_no_difference_and_its_remedy_is_an_update(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "functions/jobs").mkdir(parents=True)
    (tmp_path / "functions/jobs/__init__.py").touch()  # its jobs are imported already: those of the stack
    place = place_of(reached(), tmp_path)
    registry = place.operator.inquiry.registry.read()
    assert registry is not None
    demo = dict.fromkeys(DEMO_JOBS, next(iter(registry.jobs.values())))
    facts = look_at_jobs_here(_with_jobs(place, {**registry.jobs, **demo}, is_local=True))
    assert facts.deployed is not None
    assert facts.deployed.keys() == registry.jobs.keys()
    there = look_at_jobs_here(_with_jobs(place, {**registry.jobs, **demo}, is_local=False))
    assert there.deployed is not None
    assert there.deployed.keys() - facts.deployed.keys() == DEMO_JOBS

    other = {**registry.jobs, "other": next(iter(registry.jobs.values()))}
    (found,) = findings("jobs here", place=_with_jobs(place, other, is_local=True))
    assert found.remedy == "check out what is deployed, or `make local-update`"


def test_the_jobs_that_make_local_adds_are_known_by_name() -> None:
    folder = PROJECT / "tools/cronce_tools/emulator/demo/jobs"
    text = "".join(file.read_text() for file in folder.glob("*.py"))
    declared = set(re.findall(r'@job\("(.+?)"', text))
    assert declared == DEMO_JOBS


def _with_jobs(place: Place, jobs: dict[str, RegistryEntry], *, is_local: bool) -> Place:
    """The same place whose registry holds these jobs."""
    registry = Registry(jobs=jobs, zone_data="2026a", fingerprint="x")
    inquiry = replace(place.operator.inquiry, registry=SimpleNamespace(read=lambda: registry))
    return replace(place, operator=replace(place.operator, inquiry=inquiry), is_local=is_local)
