"""The two policies for people: looking, and operating.

Invariants:
- they allow exactly what stands below, on resources of this stack, each of them by its name;
- looking changes nothing; operating is worth nothing without looking, and repeats none of it;
- with a key of one's own they let it be used through the services that need it;
- the outputs name them.
"""

import pytest

from tests.template.stack import FUNCTIONS, Stack, as_list, grants, resource_label

READ, WRITE = "OperatorReadPolicy", "OperatorWritePolicy"
QUEUES = ("RuleDeadLetterQueue", "DispatchFailureQueue", "ExecutorFailureQueue")
RULES = ("SchedulerFunctionTick", "WatchdogFunctionPatrol")
LOGS = [function.replace("Function", "LogGroup") for function in FUNCTIONS]
TABLE = {"dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Query"}
FUNCTION = {"lambda:GetAlias", "lambda:GetFunctionConcurrency", "lambda:GetFunctionConfiguration"}
LOOKING = ("Describe", "Get", "BatchGet", "Query", "List", "Filter")


def of_policy(stack: Stack, policy: str) -> dict[str, set[str]]:
    return grants(stack.properties(policy)["PolicyDocument"]["Statement"])


def test_looking_allows_exactly_this(plain: Stack) -> None:
    alarms = plain.of_type("AWS::CloudWatch::Alarm")
    assert of_policy(plain, READ) == {
        "AWS::StackId": {"cloudformation:DescribeStacks"},
        "RunsTable": TABLE,
        "RunsTable/index/due": {"dynamodb:Query"},
        "StepsTable": TABLE,
        "NoticeTopic": {"sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic"},
        **{key: {"logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"} for key in LOGS},
        **{key: {"cloudwatch:DescribeAlarmHistory", "cloudwatch:DescribeAlarms"} for key in alarms},
        **{key: {"sqs:GetQueueAttributes"} for key in QUEUES},
        **dict.fromkeys(FUNCTIONS, FUNCTION),
        **{f"{function}Aliaslive": {"lambda:GetFunctionConfiguration"} for function in FUNCTIONS},
        **{key: {"events:DescribeRule"} for key in RULES},
    }


def test_operating_allows_exactly_this(plain: Stack) -> None:
    write = {"dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
    assert of_policy(plain, WRITE) == {
        "RunsTable": write,
        "StepsTable": {"dynamodb:PutItem"},
        "ExecutorFunctionAliaslive": {"lambda:InvokeFunction"},
        **{key: {"sqs:DeleteMessage", "sqs:PurgeQueue", "sqs:ReceiveMessage"} for key in QUEUES},
        **{key: {"events:DisableRule", "events:EnableRule"} for key in RULES},
    }


def test_looking_changes_nothing(with_key: Stack) -> None:
    actions = {action for actions in of_policy(with_key, READ).values() for action in actions}
    assert {action for action in actions if not action.partition(":")[2].startswith(LOOKING)} == {
        "kms:Decrypt"
    }


def test_the_two_share_nothing_and_have_no_wildcard(plain: Stack) -> None:
    pairs = {
        policy: {
            (resource, action) for resource, actions in of_policy(plain, policy).items() for action in actions
        }
        for policy in (READ, WRITE)
    }
    assert not pairs[READ] & pairs[WRITE]
    assert [pair for both in pairs.values() for pair in both if "*" in "".join(pair)] == []


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
