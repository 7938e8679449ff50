"""What somebody did to a deployed stack by hand, seen by `cronce doctor`: all of it at once, in moto.

* P84: whatever is not as the template says is a finding that says how it is put back; nothing else is one.
* P41: another rule that drives the scheduler, under whichever of its names, is a finding.
* Items of the ledger that were edited until they cannot be read are findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from cronce.core.instants import to_text
from cronce_tools.doctor.checks import CHECKS
from cronce_tools.doctor.finding import Finding, Level
from tests.template.stack import Stack
from tests.tools.doctor_world import LAMBDA, START, World, deployed, findings

SCHEDULER = f"{LAMBDA}:shop-SchedulerFunction"
ALL = [check.name for check in CHECKS]


@dataclass(frozen=True, kw_only=True)
class Deed:
    """Something that was done, and what is found.

    Attributes:
        service: whose call it was.
        call: of the client.
        given: what it was given; `{X}` is the name of X.
        check: what finds it.
        what: a part of what is said.
        remedy: a part of the remedy.
    """

    service: str
    call: str
    given: dict[str, Any] = field(default_factory=dict)
    check: str
    what: str
    remedy: str

    def do(self, world: World) -> None:
        """Do it."""
        getattr(world.client(self.service), self.call)(**named(world, self.given))


def named(world: World, value: Any) -> Any:
    """A value with the names of what was made in place."""
    match value:
        case str():
            return world.names.get(value[1:-1], value) if value.startswith("{") else value
        case dict():
            return {key: named(world, part) for key, part in value.items()}
        case list():
            return [named(world, part) for part in value]
    return value


def alarm(name: str, what: str, **change: object) -> Deed:
    """An alarm that was set otherwise. It had the settings that most have."""
    given = {
        "AlarmName": f"{{{name}}}",
        "Namespace": "cronce",
        "MetricName": name.removesuffix("Alarm"),
        "Dimensions": [{"Name": "stack", "Value": "cronce-local"}],
        "Statistic": "Maximum",
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "Threshold": 1,
        "Period": 60,
        "EvaluationPeriods": 1,
        "DatapointsToAlarm": 1,
        "TreatMissingData": "notBreaching",
        "AlarmActions": ["{NoticeTopic}"],
        "OKActions": ["{NoticeTopic}"],
    }
    return Deed(
        service="cloudwatch",
        call="put_metric_alarm",
        given={**given, **change},
        check="alarms",
        what=f"the alarm shop-{name}: {what}",
        remedy=f"change anything in {name} in template.yaml",
    )


def intruder(name: str, suffix: str) -> list[Deed]:
    """A rule that drives the scheduler under one of its names."""
    arn = f"{SCHEDULER}{suffix}"
    said = {"check": "other rules", "what": f"the rule {name} calls {arn} too"}
    remedy = f"aws events disable-rule --name {name}"
    rule = {"Name": name, "ScheduleExpression": "rate(1 minute)"}
    targets = {"Rule": name, "Targets": [{"Id": "1", "Arn": arn}]}
    return [
        Deed(service="events", call="put_rule", given=rule, **said, remedy=remedy),
        Deed(service="events", call="put_targets", given=targets, **said, remedy=remedy),
    ]


DEEDS = {
    "rule off": Deed(
        service="events",
        call="disable_rule",
        given={"Name": "{SchedulerFunctionTick}"},
        check="rules",
        what="shop-SchedulerFunctionTick: enabled is off, expected on",
        remedy="aws events enable-rule --name shop-SchedulerFunctionTick",
    ),
    "rule slow": Deed(
        service="events",
        call="put_rule",
        given={"Name": "{WatchdogFunctionPatrol}", "ScheduleExpression": "rate(1 hour)"},
        check="rules",
        what="schedule is rate(1 hour), expected cron(* * * * ? *)",
        remedy="--schedule-expression 'cron(* * * * ? *)'",
    ),
    "one target more": Deed(
        service="events",
        call="put_targets",
        given={
            "Rule": "{WatchdogFunctionPatrol}",
            "Targets": [{"Id": "more", "Arn": f"{LAMBDA}:other"}],
        },
        check="rules",
        what=f"calls {LAMBDA}:other too",
        remedy="remove-targets --rule shop-WatchdogFunctionPatrol --ids more",
    ),
    "one target less": Deed(
        service="events",
        call="remove_targets",
        given={"Rule": "{SchedulerFunctionTick}", "Ids": ["SchedulerFunctionTickLambdaTarget"]},
        check="rules",
        what=f"does not call {SCHEDULER}:live",
        remedy="aws events put-targets --rule shop-SchedulerFunctionTick",
    ),
    "target retries": Deed(
        service="events",
        call="put_targets",
        given={
            "Rule": "{WatchdogFunctionPatrol}",
            "Targets": [
                {
                    "Id": "WatchdogFunctionPatrolLambdaTarget",
                    "Arn": "{WatchdogFunctionAliaslive}",
                    "RetryPolicy": {"MaximumRetryAttempts": 9, "MaximumEventAgeInSeconds": 60},
                    "DeadLetterConfig": {
                        "Arn": "arn:aws:sqs:us-east-1:123456789012:shop-RuleDeadLetterQueue"
                    },
                }
            ],
        },
        check="rules",
        what="the target of the rule shop-WatchdogFunctionPatrol: retries is 9, expected 1",
        remedy="change anything in WatchdogFunctionPatrol",
    ),
    "alarm gone": Deed(
        service="cloudwatch",
        call="delete_alarms",
        given={"AlarmNames": ["{JobsHeldAlarm}"]},
        check="alarms",
        what="the alarm shop-JobsHeldAlarm is gone",
        remedy="change anything in JobsHeldAlarm",
    ),
    "alarm silent": Deed(
        service="cloudwatch",
        call="disable_alarm_actions",
        given={"AlarmNames": ["{SchedulerSilentAlarm}"]},
        check="alarms",
        what="the alarm shop-SchedulerSilentAlarm: actions is off, expected on",
        remedy="aws cloudwatch enable-alarm-actions --alarm-names shop-SchedulerSilentAlarm",
    ),
    "alarm on": Deed(
        service="cloudwatch",
        call="set_alarm_state",
        given={"AlarmName": "{WatchdogSilentAlarm}", "StateValue": "ALARM", "StateReason": "0 < 1"},
        check="alarms",
        what="the alarm shop-WatchdogSilentAlarm is on: 0 < 1",
        remedy="Look at the watchdog's log for the last error",
    ),
    "alarm tells nobody": alarm("JobsMissedAlarm", "tells is none, expected notices", AlarmActions=[]),
    "alarm of another stack": alarm(
        "JobsFailedAlarm",
        "dimensions is stack=other, expected stack=cronce-local",
        Dimensions=[{"Name": "stack", "Value": "other"}],
    ),
    "alarm patient": alarm(
        "NoticesFailedAlarm",
        "condition is GreaterThanOrEqualToThreshold 50, expected GreaterThanOrEqualToThreshold 1",
        Statistic="Sum",
        Threshold=50,
    ),
    "queue gone": Deed(
        service="sqs",
        call="delete_queue",
        given={"QueueUrl": "{RuleDeadLetterQueue}"},
        check="queues",
        what="shop-RuleDeadLetterQueue is gone",
        remedy="RuleDeadLetterQueue in template.yaml",
    ),
    "queue full": Deed(
        service="sqs",
        call="send_message",
        given={"QueueUrl": "{ExecutorFailureQueue}", "MessageBody": "x"},
        check="queues",
        what="1 messages lie in ExecutorFailureQueue: Invocations of the executor that failed",
        remedy="aws sqs purge-queue --queue-url",
    ),
    "logs kept": Deed(
        service="logs",
        call="delete_retention_policy",
        given={"logGroupName": "{ExecutorLogGroup}"},
        check="logs",
        what="keeps lines for ever, expected 30 days",
        remedy="put-retention-policy --log-group-name /shop/ExecutorLogGroup --retention-in-days 30",
    ),
    "logs gone": Deed(
        service="logs",
        call="delete_log_group",
        given={"logGroupName": "{WatchdogLogGroup}"},
        check="logs",
        what="the log group /shop/WatchdogLogGroup is gone",
        remedy="WatchdogLogGroup",
    ),
    "table provisioned": Deed(
        service="dynamodb",
        call="update_table",
        given={
            "TableName": "{StepsTable}",
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        },
        check="tables",
        what="billing is PROVISIONED, expected PAY_PER_REQUEST",
        remedy="aws dynamodb update-table --table-name steps --billing-mode PAY_PER_REQUEST",
    ),
    "table protected": Deed(
        service="dynamodb",
        call="update_table",
        given={"TableName": "{StepsTable}", "DeletionProtectionEnabled": True},
        check="tables",
        what="the table steps: deletion protection is on, expected off",
        remedy="aws dynamodb update-table --table-name steps --no-deletion-protection-enabled",
    ),
    "stream off": Deed(
        service="dynamodb",
        call="update_table",
        given={"TableName": "{RunsTable}", "StreamSpecification": {"StreamEnabled": False}},
        check="tables",
        what="stream is none, expected NEW_IMAGE",
        remedy="--stream-specification StreamEnabled=true,StreamViewType=NEW_IMAGE",
    ),
    "expiry off": Deed(
        service="dynamodb",
        call="update_time_to_live",
        given={
            "TableName": "{RunsTable}",
            "TimeToLiveSpecification": {"Enabled": False, "AttributeName": "forget_at"},
        },
        check="expiry",
        what="items of the table runs expire by the attribute none, expected forget_at",
        remedy="--time-to-live-specification Enabled=true,AttributeName=forget_at",
    ),
    "no backups": Deed(
        service="dynamodb",
        call="update_continuous_backups",
        given={
            "TableName": "{RunsTable}",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False},
        },
        check="backups",
        what="the table runs has no point-in-time recovery",
        remedy="PointInTimeRecoveryEnabled=true",
    ),
}
INTRUDERS = {"alias": ":live", "function": "", "latest": ":$LATEST"}
ITEMS = {
    "the item of job hello cannot be read": ("JOB", {"planned_to": "yesterday"}),
    "the item JOB#hello / RUN#2026-10-30T11:00:00Z cannot be read": (
        "RUN#2026-10-30T11:00:00Z",
        {"due_kind": "pending", "due_at": to_text(START), "status": "PENDING"},
    ),
    "the item JOB#hello / RUN#never cannot be read: its key is that of no run": (
        "RUN#never",
        {"due_kind": "waiting", "due_at": to_text(START)},
    ),
}


def edit(world: World, sk: str, values: dict[str, str]) -> None:
    """Write attributes of an item of the job `hello`."""
    world.client("dynamodb").update_item(
        TableName="runs",
        Key={"pk": {"S": "JOB#hello"}, "sk": {"S": sk}},
        UpdateExpression="SET " + ", ".join(f"#{key} = :{key}" for key in values),
        ExpressionAttributeNames={f"#{key}": key for key in values},
        ExpressionAttributeValues={f":{key}": {"S": value} for key, value in values.items()},
    )


@pytest.fixture(scope="module")
def found() -> Iterator[list[Finding]]:
    """What is found after all of it was done; before, nothing was."""
    with deployed(Stack.load().under()) as world:
        assert findings(*ALL) == []
        for name, suffix in INTRUDERS.items():
            for deed in intruder(name, suffix):
                deed.do(world)
        for sk, values in ITEMS.values():
            edit(world, sk, values)
        for deed in DEEDS.values():
            deed.do(world)
        yield findings(*ALL)


@pytest.mark.parametrize("name", DEEDS)
def test_p84_what_was_changed_by_hand_is_found_with_its_remedy(found: list[Finding], name: str) -> None:
    deed = DEEDS[name]
    (own,) = [each for each in found if deed.what in each.what]
    assert deed.remedy in own.remedy
    assert (own.check, own.level) == (deed.check, Level.WRONG)
    assert own.why


@pytest.mark.parametrize("name", INTRUDERS)
def test_p41_another_rule_that_drives_the_scheduler_is_found(found: list[Finding], name: str) -> None:
    (deed, _) = intruder(name, INTRUDERS[name])
    (own,) = [each for each in found if each.what == deed.what]
    assert (own.check, own.remedy) == (deed.check, deed.remedy)


@pytest.mark.parametrize("what", ITEMS)
def test_an_item_that_was_edited_until_it_cannot_be_read_is_found(found: list[Finding], what: str) -> None:
    (own,) = [each for each in found if each.what.startswith(what)]
    assert own.level is Level.WRONG


def test_nothing_else_is_found(found: list[Finding]) -> None:
    assert len(found) == len(DEEDS) + len(INTRUDERS) + len(ITEMS), [each.what for each in found]
