"""Two stacks in one account and Region do not meet, and one function's load stops no other.

Invariants:
- whatever a policy, rule, alarm, variable or subscription names is of this stack: no name is written down;
  only who looks sees more, where AWS knows no less or a policy has no room (docs/security.md);
- every metric that a stack publishes or watches carries the stack's name, those of AWS the name of a queue or
  function of the stack;
- only the executor's concurrency is ever reserved, and so bounded: the others are functions of their own;
- no variable of a function holds a secret or a parameter that could be one.
"""

import re
from typing import Any

import pytest

from tests.template.stack import FUNCTIONS, MACHINERY, Stack, as_list, names_in

# What a text may name beside resources of this stack.
OF_AWS = {"AWS::Partition", "AWS::Region", "AWS::AccountId", "AWS::StackName", "AWS::StackId"}

# Alarms are listed for the account or not at all, their history by how names begin, and some actions name no
# resource (docs/security.md).
ALARMS = "arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:"
DASHBOARD = "arn:${AWS::Partition}:cloudwatch::${AWS::AccountId}:dashboard/${AWS::StackName}-${AWS::Region}"
BEYOND: list[Any] = [
    {"Fn::Sub": DASHBOARD},  # the stack's own, which may have been left out
    {"Fn::Sub": f"{ALARMS}*"},
    {"Fn::Sub": f"{ALARMS}${{AWS::StackName}}-*"},
    "*",
]

SECRET = re.compile(r"secret|password|passwd|token|api_?key|credential|private", re.IGNORECASE)


def resources_of(stack: Stack) -> list[tuple[str, Any]]:
    """Where each policy of a role or a person points, by policy."""
    documents = [
        (name, document)
        for name, properties in stack.of_type("AWS::IAM::ManagedPolicy").items()
        for document in [properties["PolicyDocument"]]
        if name in MACHINERY  # what jobs may do is their authors' business
    ] + [
        (name, policy["PolicyDocument"])
        for name, properties in stack.of_type("AWS::IAM::Role").items()
        for policy in properties["Policies"]
    ]
    return [
        (name, resource)
        for name, document in documents
        for statement in document["Statement"]
        for resource in as_list(statement["Resource"])
    ]


def not_of_this_stack(stack: Stack) -> list[tuple[str, Any]]:
    """Where a policy points beyond its stack: a name that is written down, or a pattern with a name in it."""
    own = {*stack.template["Resources"], "AWS::StackId", "KmsKeyArn"}
    beyond = [each for each in resources_of(stack) if not names_in(each[1]) & own]
    for known in BEYOND:
        beyond.remove(("OperatorReadPolicy", known))
    return beyond


def test_policies_name_resources_of_their_own_stack_only(with_key: Stack) -> None:
    assert len(resources_of(with_key)) > 50
    assert not_of_this_stack(with_key) == []


@pytest.mark.parametrize("resource", ["*", {"Fn::Sub": "arn:${AWS::Partition}:sqs:*:*:${AWS::StackName}-*"}])
def test_a_policy_that_points_beyond_is_found(with_key: Stack, resource: Any) -> None:
    other = with_key.under()
    statement = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": resource}
    other.properties("OperatorWritePolicy")["PolicyDocument"]["Statement"].append(statement)
    assert not_of_this_stack(other) == [("OperatorWritePolicy", resource)]


def test_every_metric_that_is_watched_is_of_this_stack(stack: Stack) -> None:
    for name, alarm in stack.under().of_type("AWS::CloudWatch::Alarm").items():
        (dimension,) = alarm["Dimensions"]
        if alarm["Namespace"] == "cronce":
            assert dimension == {"Name": "stack", "Value": {"Ref": "AWS::StackName"}}, name
        else:
            kind = {"AWS/SQS": "AWS::SQS::Queue", "AWS/Lambda": "AWS::Lambda::Function"}[alarm["Namespace"]]
            assert names_in(dimension["Value"]) & stack.of_type(kind).keys(), name
        assert "AlarmName" not in alarm, name


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_function_is_told_names_this_stack(stack: Stack, function: str) -> None:
    """A text in a variable would be the same in every stack; the few that are name no resource."""
    ours = {
        name: value
        for name, value in stack.environment(function).items()
        if name.startswith(("CRONCE_", "POWERTOOLS_", "PYTHON"))  # the jobs' own are their authors' business
    }
    assert len(ours) >= 7
    written = {name for name, value in ours.items() if isinstance(value, str)}
    assert written == {"POWERTOOLS_SERVICE_NAME", "PYTHONTZPATH"}
    told = names_in(ours) - OF_AWS
    settings = {"RetentionDays", "LogLevel", "IdempotencyPrefix", "JobMetrics"}
    places = {
        "HeartbeatUrl",
        "PingUrls",
    }  # of URLs, in Parameter Store: they are their stack's by its owner's choice
    assert told <= stack.template["Resources"].keys() | settings | places


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_variable_of_a_function_is_a_secret(stack: Stack, function: str) -> None:
    names = stack.environment(function)
    # The name or ARN of a secret is none: the job reads it with that.
    assert [name for name in names if SECRET.search(name) and not name.endswith(("_NAME", "_ARN"))] == []
    assert not re.search("resolve:(ssm-secure|secretsmanager)", str(stack.environment(function)))


def test_no_parameter_is_a_secret(stack: Stack) -> None:
    """Whoever may read the stack reads its parameters; a job reads its secrets itself, at run time."""
    parameters = stack.template["Parameters"]
    assert [name for name, each in parameters.items() if SECRET.search(name) or each.get("NoEcho")] == []


@pytest.mark.parametrize("reserves", [False, True])
def test_jobs_that_hang_use_up_only_their_own_functions_concurrency(stack: Stack, reserves: bool) -> None:
    """What is reserved for a function is also its limit: with it, the rest of the account stays free."""
    deployed = stack.under(*(["ReservesConcurrency"] if reserves else []))
    bounded = {
        name: properties["ReservedConcurrentExecutions"]
        for name, properties in deployed.of_type("AWS::Lambda::Function").items()
        if "ReservedConcurrentExecutions" in properties
    }
    assert bounded == ({"ExecutorFunction": {"Ref": "ExecutorReservedConcurrency"}} if reserves else {})
    assert set(deployed.of_type("AWS::Lambda::Function")) == set(FUNCTIONS)
    aliases = deployed.of_type("AWS::Lambda::Alias").values()
    assert not [alias for alias in aliases if "ProvisionedConcurrencyConfig" in alias]
