"""Tables, queues and logs as they will be made.

No local engine does any of this, so it is asserted here.

Invariants:
- a table that holds records survives the stack, but not the failed deployment that made it; it can be
  restored to any second, and is encrypted;
- only `forget_at` makes the store forget, and the sample jobs' table never forgets;
- the Runs table has the stream and the one sparse index, the Steps table has neither;
- queues are encrypted and keep what was given up as long as SQS can;
- no log is kept for ever;
- a key of one's own encrypts all of it: tables, queues, topic and logs; without one there is no trace of it.
"""

from typing import Any

import pytest

from cronce_tools.local.template import Template
from tests.template.stack import FUNCTIONS, MACHINERY, Stack, names_in

SAMPLES = tuple({"OutboxTable"} & set(Template.load().resources))  # it goes when the sample jobs go
TABLES = ("RunsTable", "StepsTable", *SAMPLES)
QUEUES = ("RuleDeadLetterQueue", "DispatchFailureQueue", "ExecutorFailureQueue")


def test_there_are_no_other_tables_and_queues(stack: Stack) -> None:
    assert MACHINERY & set(stack.of_type("AWS::DynamoDB::Table")) == set(TABLES) - set(SAMPLES)
    assert MACHINERY & set(stack.of_type("AWS::SQS::Queue")) == set(QUEUES)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_survives_the_stack_and_its_own_replacement_but_no_failed_first_deployment(
    stack: Stack, table: str
) -> None:
    assert stack.resource(table)["DeletionPolicy"] == "RetainExceptOnCreate"
    assert stack.resource(table)["UpdateReplacePolicy"] == "Retain"


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_restorable_encrypted_and_paid_by_use(plain: Stack, table: str) -> None:
    properties = plain.properties(table)
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    assert properties["BillingMode"] == "PAY_PER_REQUEST"


@pytest.mark.parametrize("table", ["RunsTable", "StepsTable"])
def test_the_store_forgets_by_forget_at_only(stack: Stack, table: str) -> None:
    assert stack.properties(table)["TimeToLiveSpecification"] == {
        "AttributeName": "forget_at",
        "Enabled": True,
    }


@pytest.mark.parametrize("table", SAMPLES)
def test_the_outbox_never_forgets_what_was_sent(stack: Stack, table: str) -> None:
    assert "TimeToLiveSpecification" not in stack.properties(table)


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
def test_a_queue_is_encrypted_and_keeps_for_two_weeks(plain: Stack, queue: str) -> None:
    assert plain.properties(queue) == {"MessageRetentionPeriod": 14 * 24 * 3600, "SqsManagedSseEnabled": True}


KEY = {"Ref": "KmsKeyArn"}
ENCRYPTED: dict[str, dict[str, Any]] = {
    **{
        table: {"SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}}
        for table in TABLES
    },
    **{queue: {"KmsMasterKeyId": KEY} for queue in QUEUES},
    **{function.replace("Function", "LogGroup"): {"KmsKeyId": KEY} for function in FUNCTIONS},
    "NoticeTopic": {"KmsMasterKeyId": KEY},
}


@pytest.mark.parametrize("name", ENCRYPTED)
def test_a_key_of_ones_own_encrypts_what_is_kept(with_key: Stack, name: str) -> None:
    properties = with_key.properties(name)
    assert {key: properties[key] for key in ENCRYPTED[name]} == ENCRYPTED[name]
    assert "SqsManagedSseEnabled" not in properties  # SQS refuses two kinds of encryption


def test_nothing_else_keeps_data(stack: Stack) -> None:
    kinds = ("DynamoDB::Table", "SQS::Queue", "SNS::Topic", "Logs::LogGroup", "S3::Bucket")
    keeping = {name for kind in kinds for name in stack.of_type(f"AWS::{kind}")}
    assert MACHINERY & keeping == set(ENCRYPTED) - set(SAMPLES)


def test_without_a_key_of_ones_own_none_is_named(plain: Stack) -> None:
    assert "KmsKeyArn" not in names_in(plain.template["Resources"])
    assert "KmsMasterKeyId" not in plain.properties("NoticeTopic")  # one of AWS' would shut alarms out


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_writes_to_a_log_that_is_made_for_it_and_forgets(stack: Stack, function: str) -> None:
    group = function.replace("Function", "LogGroup")
    assert stack.properties(function)["LoggingConfig"] == {"LogFormat": "Text", "LogGroup": {"Ref": group}}
    assert stack.properties(group)["RetentionInDays"] == {"Ref": "LogRetentionDays"}
