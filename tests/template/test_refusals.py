"""Who may not: what topic and queues refuse, whatever else somebody allows later.

Invariants:
- plain HTTP, other accounts, and AWS services that act for other accounts are refused everywhere;
- from outside, only alarms of this account may publish, and only this stack's two rules may send;
- a refusal covers every action that a policy of its kind may name.
"""

from typing import Any

import pytest

from tests.template.stack import MACHINERY, Stack, as_list

QUEUES = ("RuleDeadLetterQueue", "DispatchFailureQueue", "ExecutorFailureQueue")
POLICIES = {
    **{f"{queue}Policy": {"Fn::GetAtt": [queue, "Arn"]} for queue in QUEUES},
    "NoticeTopicPolicy": {"Ref": "NoticeTopic"},
}
ACCOUNT = {"Ref": "AWS::AccountId"}
# All that a topic's policy may name; SNS refuses `sns:*`.
TOPIC_ACTIONS = {
    "sns:AddPermission",
    "sns:DeleteTopic",
    "sns:GetTopicAttributes",
    "sns:ListSubscriptionsByTopic",
    "sns:Publish",
    "sns:RemovePermission",
    "sns:SetTopicAttributes",
    "sns:Subscribe",
}

REFUSALS = {
    "OnlyOverTls": {"Bool": {"aws:SecureTransport": "false"}},
    # Nobody's account is no account of ours: StringNotEquals holds for a request without credentials too.
    "NobodyOfAnotherAccount": {
        "StringNotEquals": {"aws:PrincipalAccount": ACCOUNT},
        "BoolIfExists": {"aws:PrincipalIsAWSService": "false"},
    },
    # A service has no account of its own; those that say for whom they act are held to it. Without `Null`,
    # one that does not say would be refused: a negated comparison holds for a missing key.
    "NoServiceForAnotherAccount": {
        "Bool": {"aws:PrincipalIsAWSService": "true"},
        "Null": {"aws:SourceAccount": "false"},
        "StringNotEquals": {"aws:SourceAccount": ACCOUNT},
    },
}


def statements(stack: Stack, policy: str, effect: str) -> list[dict[str, Any]]:
    document = stack.properties(policy)["PolicyDocument"]
    return [statement for statement in document["Statement"] if statement["Effect"] == effect]


def test_every_topic_and_queue_has_such_a_policy_of_its_own(stack: Stack) -> None:
    holders = {
        name: as_list(properties.get("Topics", properties.get("Queues")))
        for kind in ("AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy")
        for name, properties in stack.of_type(kind).items()
        if name in MACHINERY
    }
    expected = {f"{queue}Policy": [{"Ref": queue}] for queue in QUEUES}
    assert holders == {**expected, "NoticeTopicPolicy": [{"Ref": "NoticeTopic"}]}
    held = {*stack.of_type("AWS::SQS::Queue"), *stack.of_type("AWS::SNS::Topic")}
    assert MACHINERY & held == {*QUEUES, "NoticeTopic"}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_refuses(stack: Stack, policy: str, refusal: str) -> None:
    (statement,) = (each for each in statements(stack, policy, "Deny") if each["Sid"] == refusal)
    assert statement["Principal"] == "*"
    assert statement["Resource"] == POLICIES[policy]
    assert statement["Condition"] == REFUSALS[refusal]
    actions = set(as_list(statement["Action"]))
    assert actions == (TOPIC_ACTIONS if policy == "NoticeTopicPolicy" else {"sqs:*"})


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_refuses_nothing_else(stack: Stack, policy: str) -> None:
    assert {statement["Sid"] for statement in statements(stack, policy, "Deny")} == set(REFUSALS)


def test_from_outside_only_alarms_of_this_account_may_publish(stack: Stack) -> None:
    (allow,) = statements(stack, "NoticeTopicPolicy", "Allow")
    assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allow["Action"] == "sns:Publish"
    assert allow["Condition"] == {
        "StringEquals": {"aws:SourceAccount": ACCOUNT},
        "ArnLike": {
            "aws:SourceArn": {
                "Fn::Sub": "arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:*"
            }
        },
    }


def test_from_outside_only_the_two_rules_of_this_stack_may_send(stack: Stack) -> None:
    rules = [
        {"Fn::GetAtt": ["SchedulerFunctionTick", "Arn"]},
        {"Fn::GetAtt": ["WatchdogFunctionPatrol", "Arn"]},
    ]
    assert {queue: statements(stack, f"{queue}Policy", "Allow") for queue in QUEUES} == {
        "RuleDeadLetterQueue": [
            {
                "Sid": "RulesOfThisStack",
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": {"Fn::GetAtt": ["RuleDeadLetterQueue", "Arn"]},
                "Condition": {"ArnEquals": {"aws:SourceArn": rules}},
            }
        ],
        "DispatchFailureQueue": [],
        "ExecutorFailureQueue": [],
    }
