"""What was changed by hand in a deployed stack, and what drives it beside its own rules.

* P84: each setting that is not as the template says is a finding, with what is expected and what is there,
  and with the command that puts it back.
* P41: another rule or schedule that drives scheduler or watchdog is a finding.
* Every page of an answer is read, and no more than a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cronce_tools.doctor.aws import MANY_PAGES
from cronce_tools.doctor.expected import alarm_settings
from cronce_tools.doctor.finding import Level
from cronce_tools.doctor.settings import differences
from cronce_tools.doctor.values import Deployment
from tests.template.stack import Stack
from tests.tools.doctor_world import LAMBDA, World, deployed, findings

SCHEDULER = f"{LAMBDA}:shop-SchedulerFunction"


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


MAPPING: list[tuple[dict[str, object], str, str]] = [
    ({"State": "Disabled"}, "enabled is off, expected on", "--enabled"),
    ({"BatchSize": 1}, "batch size is 1, expected 100", "--batch-size 100"),
    (
        {"MaximumBatchingWindowInSeconds": 5},
        "batching window is 5, expected 0",
        "--maximum-batching-window-in-seconds 0",
    ),
    ({"ParallelizationFactor": 2}, "lanes is 2, expected 1", "--parallelization-factor 1"),
    ({"StartingPosition": "LATEST"}, "starting position is LATEST, expected TRIM_HORIZON", "template.yaml"),
    (
        {"FunctionResponseTypes": []},
        "partial failures is off, expected on",
        "--function-response-types ReportBatchItemFailures",
    ),
    ({"BisectBatchOnFunctionError": False}, "bisect is off", "--bisect-batch-on-function-error"),
    ({"MaximumRetryAttempts": -1}, "retries is -1, expected 4", "--maximum-retry-attempts 4"),
    (
        {"MaximumRecordAgeInSeconds": -1},
        "record age is -1, expected 3600",
        "--maximum-record-age-in-seconds 3600",
    ),
    ({"DestinationConfig": {}}, "failures to is none, expected shop-DispatchFailureQueue", "template.yaml"),
    ({"FilterCriteria": {}}, 'filters is none, expected {"dynamodb"', '--filter-criteria \'{"Filters"'),
    (
        {"FilterCriteria": {"Filters": [{"Pattern": '{"eventName": ["INSERT"]}'}]}},
        'filters is {"eventName": ["INSERT"]}',
        "--filter-criteria",
    ),
    (
        {"FunctionArn": f"{LAMBDA}:shop-DispatcherFunction"},
        f"function is {LAMBDA}:shop-DispatcherFunction, expected",
        f"--function-name {LAMBDA}:shop-DispatcherFunction:live",
    ),
    (
        {"EventSourceArn": "arn:aws:dynamodb:us-east-1:123456789012:table/other/stream/2026"},
        "table is other, expected runs",
        "template.yaml",
    ),
    (
        {"LastProcessingResult": "PROBLEM: Function call failed"},
        "last batch failed: PROBLEM: Function call failed",
        "dispatcher's log",
    ),
]


@pytest.mark.parametrize("change, what, remedy", MAPPING, ids=[each[1] for each in MAPPING])
def test_p84_each_setting_of_the_mapping_is_compared(
    world: World, change: dict[str, Any], what: str, remedy: str
) -> None:
    assert findings("stream mapping") == []
    world.changes("lambda", "GetEventSourceMapping", **change)
    (found,) = findings("stream mapping")
    assert found.level is Level.WRONG
    assert what in found.what
    assert remedy in found.remedy


def test_p84_a_filter_that_is_written_otherwise_is_the_same(world: World) -> None:
    criteria = world.said["lambda", "GetEventSourceMapping"]({})["FilterCriteria"]
    pattern = criteria["Filters"][0]["Pattern"].replace(" ", "")
    assert pattern != criteria["Filters"][0]["Pattern"]
    world.changes("lambda", "GetEventSourceMapping", FilterCriteria={"Filters": [{"Pattern": pattern}]})
    assert findings("stream mapping") == []


ASYNC = "GetFunctionEventInvokeConfig"
Answered = tuple[str, str, dict[str, Any], str, str]
ANSWERS: list[Answered] = [
    ("functions", "GetAlias", {"FunctionVersion": "6"}, "names version 6, the last", "--function-version 7"),
    (
        "functions", "GetAlias", {"RoutingConfig": {"AdditionalVersionWeights": {"6": 0.1}}},
        "sends a part of the calls", "--routing-config",
    ),
    ("functions", "GetFunctionConfiguration", {"State": "Failed"}, "cannot be invoked", "get-function-conf"),
    ("asynchronous calls", ASYNC, {"MaximumRetryAttempts": 2}, "retries is 2, expected 0", "attempts 0"),
    (
        "asynchronous calls", ASYNC, {"MaximumEventAgeInSeconds": 21_600}, "event age is 21600, expected",
        "update-function-event-invoke-config --function-name shop-",
    ),
    (
        "reserved", "GetFunctionConcurrency", {"ReservedConcurrentExecutions": 0},
        "reserved for shop-SchedulerFunction: 0, expected none", "delete-function-concurrency",
    ),
]  # fmt: skip


@pytest.mark.parametrize("answered", ANSWERS, ids=[each[3] for each in ANSWERS])
def test_p84_what_lambda_says_is_compared(world: World, answered: Answered) -> None:
    check, operation, change, what, remedy = answered
    assert findings(check) == []
    world.changes("lambda", operation, **change)
    found = findings(check)
    assert [each for each in found if what in each.what and remedy in each.remedy], found


GONE = [
    ("stream mapping", "lambda", "GetEventSourceMapping", "the stream mapping 14e0db71", "deploy"),
    ("rules", "events", "DescribeRule", "the rule shop-SchedulerFunctionTick is gone", "deploy"),
    ("functions", "lambda", "GetAlias", "the function shop-SchedulerFunction or its alias `live`", "deploy"),
    ("topic", "sns", "GetTopicAttributes", "the topic arn:aws:sns", "NoticeTopic in template.yaml"),
    ("tables", "dynamodb", "DescribeTable", "the table runs is gone", "restore it"),
]


@pytest.mark.parametrize("row", GONE, ids=[each[2] for each in GONE])
def test_p84_what_is_gone_is_found(world: World, row: tuple[str, str, str, str, str]) -> None:
    check, service, operation, what, remedy = row
    world.refuses(service, operation, "NotFound" if service == "sns" else "ResourceNotFoundException")
    found = findings(check)
    assert [each for each in found if what in each.what and remedy in each.remedy], found


def test_lambdas_own_settings_are_found_where_none_are_set(world: World) -> None:
    world.refuses("lambda", ASYNC, "ResourceNotFoundException")
    assert {each.what.split(" of ")[-1] for each in findings("asynchronous calls")} == {
        "shop-SchedulerFunction",
        "shop-ExecutorFunction",
        "shop-WatchdogFunction",
    }


def test_an_alarm_on_a_query_is_compared_by_its_query(made: Stack) -> None:
    given = dict(Stack.load().properties("JobInTroubleAlarm"))
    (query,) = given["Metrics"]
    names = {"NoticeTopic": "notices"}
    text = Deployment(stack="shop", parameters={}, names=names).value(query["Expression"])
    assert "WHERE stack = 'shop' GROUP BY job" in text
    there = {**given, "AlarmActions": ["notices"], "OKActions": ["notices"]}
    mine = alarm_settings({**there, "Metrics": [{**query, "Expression": text}]})
    other = alarm_settings({**there, "Metrics": [{**query, "Expression": text.replace("job", "app")}]})
    assert (mine.metric, mine.period, mine.points) == (text, 60, "1 of 1")
    assert [each.name for each in differences(mine, other)] == ["metric"]


def test_throttles_of_the_last_hour_are_counted_by_function(world: World) -> None:
    def metrics(asked: dict[str, Any]) -> dict[str, Any]:
        assert (asked["EndTime"] - asked["StartTime"]).total_seconds() == 3600
        (query,) = [
            each for each in asked["MetricDataQueries"]
            if each["MetricStat"]["Metric"]["Dimensions"][0]["Value"] == "shop-ExecutorFunction"
        ]  # fmt: skip
        more = {} if "NextToken" in asked else {"NextToken": "more"}
        return {"MetricDataResults": [{"Id": query["Id"], "Values": [2.0, 1.0]}], **more}

    world.says("cloudwatch", "GetMetricData", metrics)
    (found,) = findings("throttles")
    assert found.what == "6 calls of shop-ExecutorFunction were throttled in the last hour"


# --- P41: two that tick ---


def schedule(number: int, arn: str, state: str = "ENABLED") -> dict[str, Any]:
    return {"Name": f"s{number}", "GroupName": "default", "State": state, "Target": {"Arn": arn}}


def test_p41_another_schedule_that_drives_the_watchdog_is_found_on_a_later_page(world: World) -> None:
    watchdog = f"{LAMBDA}:shop-WatchdogFunction"

    def page(asked: dict[str, Any]) -> dict[str, Any]:
        if "NextToken" not in asked:
            return {"Schedules": [schedule(1, f"{LAMBDA}:other")], "NextToken": "more"}
        return {"Schedules": [schedule(2, watchdog), schedule(3, watchdog, "DISABLED")]}

    world.says("scheduler", "ListSchedules", page)
    (found,) = findings("other schedules")
    assert found.what == f"the schedule default/s2 calls {watchdog} too"


def test_an_account_full_of_schedules_is_not_read_for_ever(world: World) -> None:
    world.says(
        "scheduler", "ListSchedules", lambda _: {"Schedules": [schedule(1, SCHEDULER)], "NextToken": "more"}
    )
    hint, *found = findings("other schedules")
    assert (hint.level, len(found)) == (Level.HINT, MANY_PAGES)
    assert f"more than {MANY_PAGES} pages" in hint.what


def test_a_rule_on_a_later_page_is_found(world: World) -> None:
    def page(asked: dict[str, Any]) -> dict[str, Any]:
        own = {"RuleNames": [world.names["SchedulerFunctionTick"]], "NextToken": "more"}
        return {"RuleNames": ["late"]} if "NextToken" in asked else own

    world.says("events", "ListRuleNamesByTarget", page)
    assert {each.what.split()[2] for each in findings("other rules")} == {"late"}
