"""A first deployment that fails leaves nothing behind: its tables are as empty as they were made.

What fails is a resource that the emulator refuses, made after the template's own tables.
"""

from __future__ import annotations

import json
from typing import Any

from cronce_tools.emulator.deployment import client
from cronce_tools.emulator.process import Emulator
from cronce_tools.local.template import Template
from tests.e2e.driver import wait_for

REFUSED = {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "Threshold": 1}
METRICS = [{"Id": "never", "Expression": "1"}]


def failing() -> dict[str, Any]:
    """A template with all tables of the real one, and an alarm on an expression that waits for them."""
    template = Template.load()
    tables = {
        name: resource
        for name, resource in template.resources.items()
        if resource["Type"] == "AWS::DynamoDB::Table"
    }
    alarm = {
        "Type": "AWS::CloudWatch::Alarm",
        "DependsOn": sorted(tables),
        "Properties": {**REFUSED, "Metrics": METRICS},
    }
    parts = {name: template.body[name] for name in ("Parameters", "Conditions")}
    return {**parts, "Resources": {**tables, "Refused": alarm}}


def test_a_first_deployment_that_fails_leaves_no_tables_behind() -> None:
    with Emulator() as emulator:
        stacks = client(emulator.endpoint, "cloudformation")
        stacks.create_stack(StackName="failing", TemplateBody=json.dumps(failing()))

        def rolled_back() -> bool:
            (stack,) = stacks.describe_stacks(StackName="failing")["Stacks"]
            return bool(stack["StackStatus"] == "ROLLBACK_COMPLETE")

        wait_for("the rollback", rolled_back, 60)
        events = stacks.describe_stack_events(StackName="failing")["StackEvents"]
        made = {each["LogicalResourceId"] for each in events if each["ResourceStatus"] == "CREATE_COMPLETE"}
        assert made == {"RunsTable", "StepsTable", "OutboxTable"}
        assert client(emulator.endpoint, "dynamodb").list_tables()["TableNames"] == []
