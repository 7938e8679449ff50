"""The two policies for people: looking, and operating.

Invariants:
- they allow exactly what stands below, on resources of this stack, each of them by its name but for the
  wildcards that are listed, each with its reason on the page on security;
- every call of `cronce doctor` is allowed to who may look, and what it alone needs is there for a call of it;
- looking changes nothing; operating is worth nothing without looking, and repeats none of it;
- with a key of one's own they let it be used through the services that need it;
- IAM takes them, however long the names are that docs/deploy.md allows;
- the outputs name them.
"""

import json
import re
from typing import Any

import pytest

from cronce_tools.local.cloud import Call
from tests.cli.terminal import cronce
from tests.template.stack import FUNCTIONS, ROOT, Stack, as_list, grants, resource_label
from tests.tools.doctor_world import World, deployed

READ, WRITE = "OperatorReadPolicy", "OperatorWritePolicy"
QUEUES = ("RuleDeadLetterQueue", "DispatchFailureQueue", "ExecutorFailureQueue")
RULES = ("SchedulerFunctionTick", "WatchdogFunctionPatrol")
LOGS = [function.replace("Function", "LogGroup") for function in FUNCTIONS]
TABLE = {
    "dynamodb:BatchGetItem",
    "dynamodb:DescribeContinuousBackups",
    "dynamodb:DescribeTable",
    "dynamodb:DescribeTimeToLive",
    "dynamodb:GetItem",
    "dynamodb:Query",
}
FUNCTION = {
    "lambda:GetAlias",
    "lambda:GetFunctionConcurrency",
    "lambda:GetFunctionConfiguration",
    "lambda:GetFunctionEventInvokeConfig",
}
LOG = {
    "logs:DescribeLogGroups",
    "logs:DescribeLogStreams",
    "logs:FilterLogEvents",
    "logs:GetLogEvents",
    "logs:StartQuery",
}
HERE = "${AWS::Region}:${AWS::AccountId}"
ALARMS = f"arn:${{AWS::Partition}}:cloudwatch:{HERE}:alarm:${{AWS::StackName}}-*"
DASHBOARD = "arn:${AWS::Partition}:cloudwatch::${AWS::AccountId}:dashboard/${AWS::StackName}-${AWS::Region}"
MAPPING = f"arn:${{AWS::Partition}}:lambda:{HERE}:event-source-mapping:${{DispatcherFunctionRuns}}"
OF_DOCTOR = {
    "cloudwatch:GetMetricData",
    "events:ListRuleNamesByTarget",
    "lambda:GetAccountSettings",
    "scheduler:ListSchedules",
}
SAVED_QUERIES = {"logs:DescribeQueryDefinitions", "logs:GetQueryResults"}
"""For the console, where people run the saved queries."""
ACCOUNT = OF_DOCTOR | SAVED_QUERIES
"""What AWS allows on nothing or on everything."""
LOOKING = ("Describe", "Get", "BatchGet", "Query", "List", "Filter", "StartQuery")

# Characters, without white space. (IAM user guide, "IAM and AWS STS quotas".)
LARGEST_POLICY = 6144
LONGEST_STACK_NAME = 60
# The longest partition and its Regions' names: what stands before a resource's own name, with its kind.
BEFORE = {
    "AWS::DynamoDB::Table": "arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/",
    "AWS::Logs::LogGroup": "arn:aws-us-gov:logs:us-gov-west-1:123456789012:log-group::*",
    "AWS::CloudWatch::Alarm": "arn:aws-us-gov:cloudwatch:us-gov-west-1:123456789012:alarm:",
    "AWS::SQS::Queue": "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:",
    "AWS::SNS::Topic": "arn:aws-us-gov:sns:us-gov-west-1:123456789012:",
    "AWS::Lambda::Function": "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:",
    "AWS::Events::Rule": "arn:aws-us-gov:events:us-gov-west-1:123456789012:rule/",
}
PLACES = {
    "AWS::Partition": "aws-us-gov",
    "AWS::Region": "us-gov-west-1",
    "AWS::AccountId": "123456789012",
    "AWS::StackName": LONGEST_STACK_NAME * "x",
    "DispatcherFunctionRuns": 36 * "x",
}
# CloudFormation shortens a name to what the service takes; the other services take 255 characters.
SHORTENED = {"AWS::Lambda::Function": 64, "AWS::Events::Rule": 64, "AWS::SQS::Queue": 80}
RANDOM = "-" + 13 * "x"
KMS = "arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-" + 32 * "x"
STACK_ID = (
    f"arn:aws-us-gov:cloudformation:us-gov-west-1:123456789012:stack/{LONGEST_STACK_NAME * 'x'}/{36 * 'x'}"
)


ALL_ALARMS = "arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:*"


def of_policy(stack: Stack, policy: str) -> dict[str, set[str]]:
    return grants(stack.properties(policy)["PolicyDocument"]["Statement"])


def test_looking_allows_exactly_this(plain: Stack) -> None:
    assert of_policy(plain, READ) == {
        "AWS::StackId": {
            "cloudformation:DescribeStacks",
            "cloudformation:GetTemplate",
            "cloudformation:ListStackResources",
        },
        "RunsTable": TABLE,
        "RunsTable/index/due": {"dynamodb:Query"},
        "StepsTable": TABLE,
        "NoticeTopic": {"sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic"},
        "*": ACCOUNT,
        ALL_ALARMS: {"cloudwatch:DescribeAlarms"},
        ALARMS: {"cloudwatch:DescribeAlarmHistory"},
        DASHBOARD: {"cloudwatch:GetDashboard"},
        MAPPING: {"lambda:GetEventSourceMapping"},
        **dict.fromkeys(LOGS, LOG),
        **{key: {"sqs:GetQueueAttributes"} for key in QUEUES},
        **dict.fromkeys(FUNCTIONS, FUNCTION),
        **{f"{function}Aliaslive": FUNCTION for function in FUNCTIONS},
        **{key: {"events:DescribeRule", "events:ListTargetsByRule"} for key in RULES},
    }


def test_operating_allows_exactly_this(plain: Stack) -> None:
    write = {"dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
    assert of_policy(plain, WRITE) == {
        "RunsTable": write,
        "StepsTable": {"dynamodb:PutItem"},
        **{key: {"sqs:DeleteMessage", "sqs:PurgeQueue", "sqs:ReceiveMessage"} for key in QUEUES},
        **{key: {"events:DisableRule", "events:EnableRule"} for key in RULES},
    }


def test_looking_changes_nothing(with_key: Stack) -> None:
    actions = {action for actions in of_policy(with_key, READ).values() for action in actions}
    assert {action for action in actions if not action.partition(":")[2].startswith(LOOKING)} == {
        "kms:Decrypt"
    }


def test_the_two_share_nothing_and_have_only_these_wildcards(plain: Stack) -> None:
    pairs = {
        policy: {
            (resource, action) for resource, actions in of_policy(plain, policy).items() for action in actions
        }
        for policy in (READ, WRITE)
    }
    assert not pairs[READ] & pairs[WRITE]
    wild = {pair for both in pairs.values() for pair in both if "*" in "".join(pair)}
    assert {action for resource, action in wild if resource == "*"} == ACCOUNT
    assert {resource for resource, _ in wild} == {"*", ALARMS, ALL_ALARMS}


def test_the_wildcards_have_their_reason_on_the_page() -> None:
    page = (ROOT / "docs/security.md").read_text()
    assert "| `alarm:<stack>-*` in `OperatorReadPolicy` | " in page
    assert f"| `*` for {', '.join(f'`{action}`' for action in sorted(ACCOUNT))} | " in page


def written_out(stack: Stack, value: Any) -> Any:
    """A piece of a policy with ARNs as long as they can be, in the place of what names them."""
    match value:
        case {"Ref": "AWS::StackId"}:
            return STACK_ID
        case {"Ref": "KmsKeyArn"}:
            return KMS
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), "Arn"]}:
            function, alias, _ = name.partition("Aliaslive")
            kind = stack.resource(function)["Type"]
            full = f"{LONGEST_STACK_NAME * 'x'}-{function}{RANDOM}"
            return BEFORE[kind] + full[: SHORTENED.get(kind)] + (":live" if alias else "")
        case {"Fn::Sub": str(text)}:
            table = written_out(stack, {"Ref": "RunsTable"})
            places = {**PLACES, "RunsTable.Arn": table}
            return re.sub(r"\$\{([^}]+)\}", lambda found: places[found[1]], text)
        case dict():
            return {key: written_out(stack, part) for key, part in value.items()}
        case list():
            return [written_out(stack, part) for part in value]
    return value


@pytest.mark.parametrize("policy", [READ, WRITE])
def test_a_policy_is_no_larger_than_iam_takes(with_key: Stack, policy: str) -> None:
    text = json.dumps(written_out(with_key, with_key.properties(policy)["PolicyDocument"]))
    assert not re.search('"(Fn::|Ref")', text)
    assert len(re.sub(r"\s", "", text)) <= LARGEST_POLICY


def test_the_longest_name_of_a_stack_is_on_the_page() -> None:
    assert f"up to {LONGEST_STACK_NAME} characters" in (ROOT / "docs/deploy.md").read_text()


@pytest.mark.parametrize("policy, services", [(READ, ["dynamodb"]), (WRITE, ["dynamodb", "sqs"])])
def test_with_a_key_people_may_decrypt_what_they_read(
    plain: Stack, with_key: Stack, policy: str, services: list[str]
) -> None:
    before = plain.properties(policy)["PolicyDocument"]["Statement"]
    after = with_key.properties(policy)["PolicyDocument"]["Statement"]
    (added,) = (statement for statement in after if statement not in before)
    assert (added["Action"], resource_label(added["Resource"])) == ("kms:Decrypt", "KmsKeyArn")
    via = as_list(added["Condition"]["StringLike"]["kms:ViaService"])
    assert via == [{"Fn::Sub": f"{service}.${{AWS::Region}}.amazonaws.com*"} for service in services]


def test_the_outputs_name_them_and_nobody_has_them_yet(stack: Stack) -> None:
    outputs = stack.template["Outputs"]
    assert outputs["OperatorReadPolicyArn"]["Value"] == {"Ref": READ}
    assert outputs["OperatorWritePolicyArn"]["Value"] == {"Ref": WRITE}
    for policy in (READ, WRITE):
        assert not {"Users", "Groups", "Roles", "ManagedPolicyName"} & stack.properties(policy).keys()


# --- what the doctor asks ---

ONE = {
    "lambda": "FunctionName",
    "logs": "logGroupNamePrefix",
    "sns": "TopicArn",
    "sqs": "QueueUrl",
    "dynamodb": "TableName",
}
"""The parameter by which a call of a service names what it asks of."""
ONLY_DOCTOR = {
    "cloudformation:GetTemplate",
    "dynamodb:DescribeContinuousBackups",
    "dynamodb:DescribeTable",
    "dynamodb:DescribeTimeToLive",
    "events:ListTargetsByRule",
    "lambda:GetAlias",
    "lambda:GetEventSourceMapping",
    "lambda:GetFunctionConcurrency",
    "lambda:GetFunctionConfiguration",
    "lambda:GetFunctionEventInvokeConfig",
    "logs:DescribeLogGroups",
    *OF_DOCTOR,
}
"""What nobody else needs: each is allowed because the doctor calls it."""


def needs(world: World, call: Call) -> set[tuple[str, str]]:
    """Resource and action that IAM asks for at a call."""
    action, given = f"{call.service}:{call.operation}", call.parameters
    labels = {name: label for label, name in world.names.items()}
    if action in ACCOUNT:
        return {("*", action)}
    match call.service:
        case "cloudformation" | "cloudwatch":
            assert set(given.get("AlarmNames", ())) <= labels.keys()
            return {("AWS::StackId" if call.service == "cloudformation" else ALL_ALARMS, action)}
        case "events":
            return {(labels[given.get("Rule") or given["Name"]], action)}
        case "lambda" if "UUID" in given:
            return {(MAPPING, action)}
        case "lambda" if "FunctionName" in given:
            function = labels[given["FunctionName"]]
            alias = {"Name", "Qualifier"} & given.keys()
            return {(function, action)} | ({(f"{function}Aliaslive", action)} if alias else set())
        case "dynamodb" if "RequestItems" in given:
            return {(labels[table], action) for table in given["RequestItems"]}
        case "dynamodb" if "IndexName" in given:
            return {(f"{labels[given['TableName']]}/index/{given['IndexName']}", action)}
    return {(labels[given[ONE[call.service]]], action)}


@pytest.fixture(scope="module")
def asked(plain: Stack) -> set[tuple[str, str]]:
    """What `cronce doctor` needs to be allowed."""
    with deployed(plain) as world:
        said = cronce("doctor")
        assert said.code == 0, said.out + said.err
        return {need for call in world.calls for need in needs(world, call)}


def test_who_may_look_may_make_every_call_of_the_doctor(plain: Stack, asked: set[tuple[str, str]]) -> None:
    policy = of_policy(plain, READ)
    assert {
        (resource, action) for resource, action in asked if action not in policy.get(resource, ())
    } == set()


def test_what_only_the_doctor_needs_it_does_ask(plain: Stack, asked: set[tuple[str, str]]) -> None:
    allowed = {
        (resource, action) for resource, actions in of_policy(plain, READ).items() for action in actions
    }
    of_doctor = {pair for pair in allowed if pair[1] in ONLY_DOCTOR}
    # One statement names functions and aliases. Nothing is reserved for an alias; only a stream calls the
    # dispatcher.
    spared = {(f"{function}Aliaslive", "lambda:GetFunctionConcurrency") for function in FUNCTIONS}
    for name in ("DispatcherFunction", "DispatcherFunctionAliaslive"):
        spared.add((name, "lambda:GetFunctionEventInvokeConfig"))
    assert of_doctor - asked == spared
