"""Tables, queues and logs as they will be made.

No local engine does any of this, so it is asserted here.

Invariants:
- a table that holds records survives the stack, can be restored to any second, and is encrypted;
- only `forget_at` makes the store forget, and the sample jobs' table never forgets;
- the Runs table has the stream and the one sparse index, the Steps table has neither;
- queues are encrypted and keep what was given up as long as SQS can; nobody but those who must may send;
- no log is kept for ever.
"""

import pytest

from tests.template.stack import FUNCTIONS, Stack

TABLES = ("RunsTable", "StepsTable", "OutboxTable")
QUEUES = ("RuleDeadLetterQueue", "DispatchFailureQueue", "ExecutorFailureQueue")


def test_there_are_no_other_tables_and_queues(stack: Stack) -> None:
    assert set(stack.of_type("AWS::DynamoDB::Table")) == set(TABLES)
    assert set(stack.of_type("AWS::SQS::Queue")) == set(QUEUES)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_survives_the_stack_and_its_own_replacement(stack: Stack, table: str) -> None:
    assert stack.resource(table)["DeletionPolicy"] == "Retain"
    assert stack.resource(table)["UpdateReplacePolicy"] == "Retain"


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_restorable_encrypted_and_paid_by_use(stack: Stack, table: str) -> None:
    properties = stack.properties(table)
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["SSESpecification"] == {"SSEEnabled": True}
    assert properties["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("table", ["RunsTable", "StepsTable"])
def test_the_store_forgets_by_forget_at_only(stack: Stack, table: str) -> None:
    assert stack.properties(table)["TimeToLiveSpecification"] == {
        "AttributeName": "forget_at",
        "Enabled": True,
    }


def test_the_outbox_never_forgets_what_was_sent(stack: Stack) -> None:
    assert "TimeToLiveSpecification" not in stack.properties("OutboxTable")


@pytest.mark.parametrize("table", ["RunsTable", "StepsTable"])
def test_records_are_keyed_by_pk_and_sk(stack: Stack, table: str) -> None:
    properties = stack.properties(table)
    types = {item["AttributeName"]: item["AttributeType"] for item in properties["AttributeDefinitions"]}
    assert [(key["AttributeName"], key["KeyType"]) for key in properties["KeySchema"]] == [
        ("pk", "HASH"),
        ("sk", "RANGE"),
    ]
    assert types["pk"] == types["sk"] == "S"


def test_the_runs_table_has_a_stream_of_new_images_and_the_steps_table_none(stack: Stack) -> None:
    assert stack.properties("RunsTable")["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}
    assert "StreamSpecification" not in stack.properties("StepsTable")


def test_the_one_index_is_due_with_what_a_hint_needs(stack: Stack) -> None:
    (index,) = stack.properties("RunsTable")["GlobalSecondaryIndexes"]
    assert index["IndexName"] == "due"
    assert [(key["AttributeName"], key["KeyType"]) for key in index["KeySchema"]] == [
        ("due_kind", "HASH"),
        ("due_at", "RANGE"),
    ]
    assert index["Projection"]["ProjectionType"] == "INCLUDE"
    assert set(index["Projection"]["NonKeyAttributes"]) == {"status", "expect_by", "notice", "shape"}
    assert "GlobalSecondaryIndexes" not in stack.properties("StepsTable")


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_is_encrypted_and_keeps_for_two_weeks(stack: Stack, queue: str) -> None:
    assert stack.properties(queue) == {"MessageRetentionPeriod": 14 * 24 * 3600, "SqsManagedSseEnabled": True}


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_refuses_plain_http(stack: Stack, queue: str) -> None:
    policy = stack.properties(f"{queue}Policy")
    assert policy["Queues"] == [{"Ref": queue}]
    assert {
        "Sid": "OnlyOverTls",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "sqs:*",
        "Resource": {"Fn::GetAtt": [queue, "Arn"]},
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    } in policy["PolicyDocument"]["Statement"]


def test_only_the_two_rules_of_this_stack_may_send_to_a_queue_from_outside(stack: Stack) -> None:
    allowed = {
        queue: [
            statement
            for statement in stack.properties(f"{queue}Policy")["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Allow"
        ]
        for queue in QUEUES
    }
    rules = [
        {"Fn::GetAtt": ["SchedulerFunctionTick", "Arn"]},
        {"Fn::GetAtt": ["WatchdogFunctionPatrol", "Arn"]},
    ]
    assert allowed == {
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


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_writes_to_a_log_that_is_made_for_it_and_forgets(stack: Stack, function: str) -> None:
    group = function.replace("Function", "LogGroup")
    assert stack.properties(function)["LoggingConfig"] == {"LogFormat": "Text", "LogGroup": {"Ref": group}}
    assert stack.properties(group)["RetentionInDays"] == {"Ref": "LogRetentionDays"}
