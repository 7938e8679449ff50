"""What each function may do: exactly what it does, on exactly the resources that it uses.

Invariants:
- each function has a role of its own, whose actions and resources are the sets below, no more and no less;
- no wildcard but the ones named below, each with its reason;
- no policy that AWS manages; the jobs' permissions come in one policy, which lies in "Your jobs";
- a function is told of a resource only if it may use it;
- with a key of one's own a role may use it as well, through the services that it calls and in no other way.
"""

from typing import Any

import pytest

from tests.template.stack import FUNCTIONS, ROOT, Properties, Stack, as_list, grants, resource_label

EXECUTOR = "ExecutorFunctionAliaslive"
LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
READ = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"}
TRANSACT = {"dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}

# The one place where the permissions stand a second time. An action that is not needed goes from both.
EXPECTED = {
    "SchedulerRole": {
        "RunsTable": READ | TRANSACT,
        "RunsTable/index/due": {"dynamodb:Query"},
        "StepsTable": {"dynamodb:PutItem"},
        EXECUTOR: {"lambda:InvokeFunction"},
        "SchedulerLogGroup": LOG,
    },
    "DispatcherRole": {
        "RunsTable.StreamArn": {
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
        },
        "RunsTable/stream/*": {"dynamodb:ListStreams"},
        EXECUTOR: {"lambda:InvokeFunction"},
        "DispatchFailureQueue": {"sqs:SendMessage"},
        "DispatcherLogGroup": LOG,
    },
    "ExecutorRole": {
        "RunsTable": READ | TRANSACT,
        "StepsTable": {"dynamodb:PutItem", "dynamodb:Query"},
        "ExecutorFailureQueue": {"sqs:SendMessage"},
        "ExecutorLogGroup": LOG,
    },
    "WatchdogRole": {
        "RunsTable": READ | {"dynamodb:PutItem", "dynamodb:UpdateItem"},
        "RunsTable/index/due": {"dynamodb:Query"},
        "StepsTable": {"dynamodb:Query"},
        "NoticeTopic": {"sns:Publish"},
        "WatchdogLogGroup": LOG,
    },
}

# Sending is a put on the condition that it was not sent before.
EXPECTED_OF_JOBS = {"OutboxTable": {"dynamodb:PutItem"}}

# What each may do with a key of one's own, through which service: DynamoDB decrypts the table's key in its
# caller's name; SQS and SNS make a key for what is sent.
SEND = {"kms:Decrypt", "kms:GenerateDataKey"}
EXPECTED_WITH_KEY = {
    "SchedulerRole": {"dynamodb": {"kms:Decrypt"}},
    "DispatcherRole": {"dynamodb": {"kms:Decrypt"}, "sqs": SEND},
    "ExecutorRole": {"dynamodb": {"kms:Decrypt"}, "sqs": SEND},
    "WatchdogRole": {"dynamodb": {"kms:Decrypt"}, "sns": SEND},
}

# What each may do beside that when its URLs are kept somewhere: read them, and use a key of one's own for it.
PARAMETER = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter"
OPTIONS = {
    "HasHeartbeat": ("WatchdogRole", f"{PARAMETER}${{HeartbeatUrl}}"),
    "HasPings": ("ExecutorRole", f"{PARAMETER}${{PingUrls}}/*"),
}

WILDCARDS = {
    "RunsTable/stream/*",  # ListStreams names no single stream
    OPTIONS["HasPings"][1],  # one URL a job, under a path that is given
}

# Environment variables that name a resource: who is told of it may use it.
TELLS = {"CRONCE_EXECUTOR": EXECUTOR, "CRONCE_TOPIC_ARN": "NoticeTopic", "OUTBOX_TABLE": "OutboxTable"}


def role_of(function: str) -> str:
    return function.replace("Function", "Role")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_do_exactly_what_it_does(plain: Stack, function: str) -> None:
    role = role_of(function)
    assert resource_label(plain.properties(function)["Role"]) == role
    assert plain.grants(role) == EXPECTED[role]


@pytest.mark.parametrize("role", EXPECTED)
def test_with_a_key_a_role_may_use_it_through_its_services_and_in_no_other_way(
    plain: Stack, with_key: Stack, role: str
) -> None:
    before = plain.statements(role)
    added = [statement for statement in with_key.statements(role) if statement not in before]
    assert {key_service(statement): set(as_list(statement["Action"])) for statement in added} == (
        EXPECTED_WITH_KEY[role]
    )
    assert [resource_label(statement["Resource"]) for statement in added] == ["KmsKeyArn"] * len(added)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("role", EXPECTED)
def test_urls_outside_aws_are_read_by_who_pings_them_and_only_if_there_are_some(
    stack: Stack, plain: Stack, role: str, option: str
) -> None:
    taken = stack.under(option)
    who, where = OPTIONS[option]
    added = [each for each in taken.statements(role) if each not in plain.statements(role)]
    assert grants(added) == ({where: {"ssm:GetParameter"}} if role == who else {})


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("role", EXPECTED)
def test_with_a_key_too_it_may_be_used_to_read_them(
    stack: Stack, with_key: Stack, role: str, option: str
) -> None:
    with_both = stack.under("HasKmsKey", option, f"HasKeyOf{option.removeprefix('Has')}")
    who, where = OPTIONS[option]
    added = [each for each in with_both.statements(role) if each not in with_key.statements(role)]
    expected = {where: {"ssm:GetParameter"}, "KmsKeyArn": {"kms:Decrypt"}} if role == who else {}
    assert grants(added) == expected
    assert [key_service(each) for each in added if "Condition" in each] == (["ssm"] if role == who else [])


@pytest.mark.parametrize("option", OPTIONS)
def test_the_conditions_are_the_parameters(stack: Stack, option: str) -> None:
    parameter = {"HasHeartbeat": "HeartbeatUrl", "HasPings": "PingUrls"}[option]
    conditions = stack.template["Conditions"]
    assert conditions[option] == {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, ""]}]}
    both = {"Fn::And": [{"Condition": "HasKmsKey"}, {"Condition": option}]}
    assert conditions[f"HasKeyOf{option.removeprefix('Has')}"] == both


def key_service(statement: Properties) -> str:
    """The one service through which a statement lets a key be used."""
    ((operator, keys),) = statement["Condition"].items()
    assert operator == "StringLike"  # the domain is another one in China
    ((key, value),) = keys.items()
    assert key == "kms:ViaService"
    service, _, rest = value["Fn::Sub"].partition(".")
    assert rest == "${AWS::Region}.amazonaws.com*"
    return str(service)


def test_there_are_no_other_roles_and_policies(stack: Stack) -> None:
    assert set(stack.of_type("AWS::IAM::Role")) == set(EXPECTED)
    managed = {"JobsPolicy", "OperatorReadPolicy", "OperatorWritePolicy"}
    assert set(stack.of_type("AWS::IAM::ManagedPolicy")) == managed
    assert not stack.of_type("AWS::IAM::Policy")


@pytest.mark.parametrize("role", EXPECTED)
def test_only_lambda_may_take_a_role(stack: Stack, role: str) -> None:
    assert stack.properties(role)["AssumeRolePolicyDocument"]["Statement"] == [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ]


def test_only_the_executor_has_one_more_policy_and_it_is_the_jobs_own(stack: Stack) -> None:
    managed = {role: stack.properties(role).get("ManagedPolicyArns", []) for role in EXPECTED}
    assert managed == {
        "SchedulerRole": [],
        "DispatcherRole": [],
        "ExecutorRole": [{"Ref": "JobsPolicy"}],
        "WatchdogRole": [],
    }


def of_samples(stack: Stack) -> list[dict[str, Any]]:
    """The statements of the sample jobs; what a fork adds for its own jobs is not judged here."""
    statements = stack.properties("JobsPolicy")["PolicyDocument"]["Statement"]
    return [statement for statement in statements if statement.get("Sid") == "Outbox"]


def has_samples(stack: Stack) -> bool:
    return "OutboxTable" in stack.template["Resources"]


def test_the_sample_jobs_may_do_exactly_what_they_do(stack: Stack) -> None:
    assert grants(of_samples(stack)) == (EXPECTED_OF_JOBS if has_samples(stack) else {})


def all_statements(stack: Stack) -> list[dict[str, Any]]:
    return [*of_samples(stack), *(statement for role in EXPECTED for statement in stack.statements(role))]


def test_no_wildcard_but_those_that_have_a_reason(stack: Stack) -> None:
    statements = all_statements(stack.under(*stack.template["Conditions"]))
    assert not [
        action for statement in statements for action in as_list(statement["Action"]) if "*" in action
    ]
    resources = {
        resource_label(resource) for statement in statements for resource in as_list(statement["Resource"])
    }
    assert {resource for resource in resources if "*" in resource} == WILDCARDS


@pytest.mark.parametrize("variable", TELLS)
def test_a_resource_is_named_to_those_who_may_use_it_and_to_nobody_else(stack: Stack, variable: str) -> None:
    told = {role_of(function) for function in FUNCTIONS if variable in stack.environment(function)}
    allowed = {role for role, expected in EXPECTED.items() if TELLS[variable] in expected}
    if TELLS[variable] in EXPECTED_OF_JOBS and has_samples(stack):
        allowed.add("ExecutorRole")
    assert told == allowed
    values = {
        resource_label(stack.environment(function)[variable])
        for function in FUNCTIONS
        if role_of(function) in told
    }
    assert values == ({TELLS[variable]} if allowed else set())


def test_what_people_edit_lies_in_their_section() -> None:
    source = (ROOT / "template.yaml").read_text()
    start, end = source.index("# Your jobs: edit here."), source.index("# From here on: the machinery.")
    section = source[start:end]
    for name in ("JobsPolicy", "ExecutorFunction"):
        assert f"\n  {name}:\n" in section
    assert "\n  ExecutorRole:\n" not in section
