"""How functions are called: mapping, rules, asynchronous calls, alias.

Invariants:
- P83: the mapping is exactly the one below; a change of stream, position, filter or bounds needs a migration
  note;
- P85: nothing reads the stream before its role may;
- what waits too long is dropped, because something later replaces it: the next tick, the sweep;
- everything goes through the alias, which moves whenever code, layer, template or a parameter changes.
"""

import re
from typing import Any

import pytest

from tests.template.stack import FUNCTIONS, Stack, names_in, resource_label

MAPPING = "DispatcherFunctionRuns"
ALIASES = {f"{function}Aliaslive" for function in FUNCTIONS}
RULES = {"SchedulerFunctionTick": "SchedulerFunction", "WatchdogFunctionPatrol": "WatchdogFunction"}

# Properties of a function that are no part of a published version.
NOT_IN_A_VERSION = {"ReservedConcurrentExecutions", "Role", "Tags"}


def test_p83_the_mapping_is_exactly_this_one(stack: Stack) -> None:
    mapping = dict(stack.properties(MAPPING))
    del mapping["FilterCriteria"]  # judged by test_stream_filter.py
    assert mapping == {
        "EventSourceArn": {"Fn::GetAtt": ["RunsTable", "StreamArn"]},
        "FunctionName": {"Ref": "DispatcherFunctionAliaslive"},
        "StartingPosition": "TRIM_HORIZON",
        "BatchSize": 100,
        "ParallelizationFactor": 1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": 4,
        "MaximumRecordAgeInSeconds": 3600,
        "DestinationConfig": {"OnFailure": {"Destination": {"Fn::GetAtt": ["DispatchFailureQueue", "Arn"]}}},
    }
    assert set(stack.of_type("AWS::Lambda::EventSourceMapping")) == {MAPPING}


def test_p85_the_mapping_waits_for_the_role_and_the_role_may_read_the_stream(
    stack: Stack, plain: Stack
) -> None:
    assert "DispatcherRole" in stack.needs_at_last(MAPPING)
    # The policies are inside the role, so a role that is there has them.
    read = {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}
    source = resource_label(stack.properties(MAPPING)["EventSourceArn"])
    assert plain.grants("DispatcherRole")[source] >= read


def test_p85_the_executor_waits_for_the_permissions_of_the_jobs(stack: Stack) -> None:
    assert "JobsPolicy" in stack.needs_at_last("ExecutorFunctionAliaslive")


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_ticks_each_minute_and_forgets_a_tick_that_is_late(stack: Stack, rule: str) -> None:
    properties = stack.properties(rule)
    assert properties["ScheduleExpression"] == "cron(* * * * ? *)"
    (target,) = properties["Targets"]
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 1}
    assert target["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": ["RuleDeadLetterQueue", "Arn"]}}
    assert target["Arn"] == {"Ref": f"{RULES[rule]}Aliaslive"}
    assert "Input" not in target
    assert "InputTransformer" not in target


def test_there_are_no_other_rules_and_each_may_call_its_function(stack: Stack) -> None:
    assert set(stack.of_type("AWS::Events::Rule")) == set(RULES)
    assert stack.of_type("AWS::Lambda::Permission") == {
        f"{rule}Permission": {
            "Action": "lambda:InvokeFunction",
            "FunctionName": {"Ref": f"{function}Aliaslive"},
            "Principal": "events.amazonaws.com",
            "SourceArn": {"Fn::GetAtt": [rule, "Arn"]},
        }
        for rule, function in RULES.items()
    }


def test_asynchronous_calls_are_never_retried_and_soon_forgotten(stack: Stack) -> None:
    def config(function: str, age: int) -> dict[str, Any]:
        return {
            "FunctionName": {"Ref": function},
            "Qualifier": "live",
            "MaximumRetryAttempts": 0,
            "MaximumEventAgeInSeconds": age,
        }

    failures = {"OnFailure": {"Destination": {"Fn::GetAtt": ["ExecutorFailureQueue", "Arn"]}}}
    configs = {
        name: {key: value for key, value in properties.items() if value != {}}
        for name, properties in stack.of_type("AWS::Lambda::EventInvokeConfig").items()
    }
    assert configs == {
        "SchedulerFunctionEventInvokeConfig": config("SchedulerFunction", 60),
        "WatchdogFunctionEventInvokeConfig": config("WatchdogFunction", 60),
        "ExecutorFunctionEventInvokeConfig": {
            **config("ExecutorFunction", 120),
            "DestinationConfig": failures,
        },
    }


def test_each_function_has_its_handler_and_its_alias(stack: Stack) -> None:
    handlers = {name: stack.properties(name)["Handler"] for name in stack.of_type("AWS::Lambda::Function")}
    assert handlers == {
        "SchedulerFunction": "scheduler.handler",
        "DispatcherFunction": "dispatcher.handler",
        "ExecutorFunction": "executor.handler",
        "WatchdogFunction": "watchdog.handler",
    }
    assert set(stack.of_type("AWS::Lambda::Alias")) == ALIASES


def test_a_tick_ends_before_its_lease(stack: Stack) -> None:
    lease = 50
    assert stack.properties("SchedulerFunction")["Timeout"] == 45 < lease
    assert stack.properties("DispatcherFunction")["Timeout"] == 30
    assert stack.properties("WatchdogFunction")["Timeout"] == 45


def test_nothing_is_reserved_unless_asked_for(stack: Stack) -> None:
    """A new account allows ten concurrent executions and refuses to reserve any."""
    reserved = {
        name: properties["ReservedConcurrentExecutions"]
        for name, properties in stack.of_type("AWS::Lambda::Function").items()
        if "ReservedConcurrentExecutions" in properties
    }
    assert reserved == {
        "ExecutorFunction": {
            "Fn::If": ["ReservesConcurrency", {"Ref": "ExecutorReservedConcurrency"}, {"Ref": "AWS::NoValue"}]
        }
    }
    assert stack.template["Parameters"]["ExecutorReservedConcurrency"]["Default"] == 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_version_is_published_when_a_parameter_that_it_keeps_changes_and_only_then(
    stack: Stack, function: str
) -> None:
    """A new description makes CloudFormation publish; with nothing new to publish the deploy would fail."""
    kept = {key: value for key, value in stack.properties(function).items() if key not in NOT_IN_A_VERSION}
    parameters = names_in(kept) & stack.template["Parameters"].keys()
    (version,) = (
        properties
        for properties in stack.of_type("AWS::Lambda::Version").values()
        if properties["FunctionName"] == {"Ref": function}
    )
    assert names_in(version["Description"]) == parameters


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_runs_on_the_zone_data_of_the_layer(stack: Stack, function: str) -> None:
    assert stack.environment(function)["PYTHONTZPATH"] == ""
    (layer,) = stack.properties(function)["Layers"]
    assert re.fullmatch(r"RuntimeLayer[0-9a-f]+", resource_label(layer))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_knows_its_stack_tables_and_retention(stack: Stack, function: str) -> None:
    environment = stack.environment(function)
    assert environment["CRONCE_STACK"] == {"Ref": "AWS::StackName"}
    assert environment["CRONCE_RUNS_TABLE"] == {"Ref": "RunsTable"}
    assert environment["CRONCE_STEPS_TABLE"] == {"Ref": "StepsTable"}
    assert environment["CRONCE_RETENTION_DAYS"] == {"Ref": "RetentionDays"}
    assert environment["POWERTOOLS_SERVICE_NAME"] == function.removesuffix("Function").lower()
