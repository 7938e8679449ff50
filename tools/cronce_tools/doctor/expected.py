"""What a stack should be, read from a template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cronce_tools.doctor.settings import (
    NONE,
    AlarmSettings,
    AsyncSettings,
    MappingSettings,
    RuleSettings,
    TableSettings,
    TargetSettings,
)
from cronce_tools.doctor.values import Deployment, short
from cronce_tools.local.template import Template, TemplateError

TABLES = ("RunsTable", "StepsTable")
"""The tables of the machinery; those of jobs are their authors' affair."""
Part = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedRule:
    """A scheduled rule and the one thing that it calls."""

    rule: RuleSettings
    target: TargetSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What is expected of a stack, by names in the template.

    Attributes:
        mapping_id: the stream mapping's name in the template.
        mapping: its settings.
        rules: scheduled rules.
        alarms: alarms.
        asyncs: settings of asynchronous invocations, by function.
        functions: all functions.
        tables: the machinery's tables.
        expiry: the attribute by which items of a table expire.
        backups: whether a table can be restored to any second.
        logs: days that a log group keeps its lines; None: for ever.
        queues: what lies in a queue, in words.
        reserved: invocations that a function has reserved; None: none.
    """

    mapping_id: str
    mapping: MappingSettings
    rules: Mapping[str, ExpectedRule]
    alarms: Mapping[str, AlarmSettings]
    asyncs: Mapping[str, AsyncSettings]
    functions: tuple[str, ...]
    tables: Mapping[str, TableSettings]
    expiry: Mapping[str, str]
    backups: Mapping[str, bool]
    logs: Mapping[str, int | None]
    queues: Mapping[str, str]
    reserved: Mapping[str, int | None]

    def differs(self, other: Expected) -> list[str]:
        """The parts in which another one differs, as words."""
        return [
            each.name.removesuffix("_id").replace("_", " ")
            for each in fields(self)
            if getattr(self, each.name) != getattr(other, each.name)
        ]


def expected_of(template: Template, deployment: Deployment) -> Expected:
    """What a template makes of a stack.

    Raises:
        TemplateError: it lacks something, or has something that the stack has not.
    """
    with_defaults = deployment.of(template)
    try:
        return _Reader(with_defaults.resolved(template), with_defaults).read()
    except (KeyError, TypeError, AttributeError) as error:
        raise TemplateError(f"the template is not one of cronce: {type(error).__name__} {error}") from None


class _Reader:
    """Reads one template for one stack."""

    def __init__(self, template: Template, deployment: Deployment) -> None:
        self._template = template
        self._deployment = deployment
        self._functions = dict(template.of_type("AWS::Serverless::Function"))

    def read(self) -> Expected:
        mapping_id, mapping = self._mapping()
        tables = {name: self._template.properties(name) for name in TABLES}
        return Expected(
            mapping_id=mapping_id,
            mapping=mapping,
            rules=self._rules(),
            alarms={
                name: self._alarm(each) for name, each in self._template.of_type("AWS::CloudWatch::Alarm")
            },
            asyncs={
                name: self._async(each["EventInvokeConfig"])
                for name, each in self._functions.items()
                if "EventInvokeConfig" in each
            },
            functions=tuple(self._functions),
            tables={name: _table(each) for name, each in tables.items()},
            expiry={name: _expiry(each) for name, each in tables.items()},
            backups={name: _backups(each) for name, each in tables.items()},
            logs={
                name: self._number_or_none(each.get("RetentionInDays"))
                for name, each in self._template.of_type("AWS::Logs::LogGroup")
            },
            queues=self._queues(),
            reserved={
                name: self._number_or_none(each.get("ReservedConcurrentExecutions"))
                for name, each in self._functions.items()
            },
        )

    def _events(self, kind: str) -> dict[str, tuple[str, Part]]:
        """Function and properties of each event of a kind, by the name that SAM makes of both."""
        return {
            f"{function}{name}": (function, event["Properties"])
            for function, properties in self._functions.items()
            for name, event in properties.get("Events", {}).items()
            if event["Type"] == kind
        }

    def _mapping(self) -> tuple[str, MappingSettings]:
        found = self._events("DynamoDB")
        if len(found) != 1:
            raise TemplateError(f"the template has {len(found)} stream mappings, not one")
        ((name, (function, given)),) = found.items()
        patterns = [entry["Pattern"] for entry in given.get("FilterCriteria", {}).get("Filters", ())]
        number = self._deployment.number
        return name, MappingSettings(
            enabled=given.get("Enabled", True),
            table=self._deployment.value(given["Stream"]),
            function=self._deployment.alias(function),
            batch_size=number(given.get("BatchSize", 100)),
            batching_window=number(given.get("MaximumBatchingWindowInSeconds", 0)),
            lanes=number(given.get("ParallelizationFactor", 1)),
            starting_position=given["StartingPosition"],
            partial_failures="ReportBatchItemFailures" in given.get("FunctionResponseTypes", ()),
            bisect=given.get("BisectBatchOnFunctionError", False),
            retries=number(given.get("MaximumRetryAttempts", -1)),
            record_age=number(given.get("MaximumRecordAgeInSeconds", -1)),
            failures_to=self._failures_to(given),
            filters=tuple(sorted(map(one_form, patterns))),
        )

    def _rules(self) -> dict[str, ExpectedRule]:
        return {
            name: ExpectedRule(
                rule=RuleSettings(enabled=given.get("Enabled", True), schedule=given["Schedule"]),
                target=TargetSettings(
                    function=self._deployment.alias(function),
                    retries=self._deployment.number(given["RetryPolicy"]["MaximumRetryAttempts"]),
                    event_age=self._deployment.number(given["RetryPolicy"]["MaximumEventAgeInSeconds"]),
                    failures_to=self._deployment.value(given["DeadLetterConfig"]["Arn"]),
                ),
            )
            for name, (function, given) in self._events("Schedule").items()
        }

    def _alarm(self, given: Part) -> AlarmSettings:
        value = self._deployment.value
        return alarm_settings(
            {
                **given,
                "Threshold": value(given.get("Threshold", 0)),
                "Metrics": [
                    {**each, "Expression": value(each.get("Expression", ""))}
                    for each in given.get("Metrics", ())
                ],
                "Dimensions": [
                    {"Name": each["Name"], "Value": value(each["Value"])}
                    for each in given.get("Dimensions", ())
                ],
                "AlarmActions": [value(each) for each in given.get("AlarmActions", ())],
                "OKActions": [value(each) for each in given.get("OKActions", ())],
            }
        )

    def _async(self, given: Part) -> AsyncSettings:
        return AsyncSettings(
            retries=self._deployment.number(given["MaximumRetryAttempts"]),
            event_age=self._deployment.number(given["MaximumEventAgeInSeconds"]),
            failures_to=self._failures_to(given),
        )

    def _queues(self) -> dict[str, str]:
        """The template's outputs say what lies in them."""
        outputs = self._template.body.get("Outputs", {}).values()
        texts = {str(each["Value"]): each.get("Description", "") for each in outputs}
        return {
            name: texts.get(str({"Ref": name})) or "what was given up"
            for name, _ in self._template.of_type("AWS::SQS::Queue")
        }

    def _failures_to(self, given: Part) -> str:
        destination = given.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
        return self._deployment.value(destination) if destination else NONE

    def _number_or_none(self, value: object) -> int | None:
        return None if value is None else self._deployment.number(value)


def alarm_settings(given: Part) -> AlarmSettings:
    """The settings of an alarm: CloudFormation and CloudWatch call them by the same names.

    One on an expression has that as its metric, with the period that is given there.
    """
    periods = given.get("EvaluationPeriods", 1)
    queries = given.get("Metrics", ())
    metric = f"{given.get('Namespace', NONE)}/{given.get('MetricName', NONE)}"
    return AlarmSettings(
        metric=", ".join(each["Expression"] for each in queries) or metric,
        dimensions=tuple(sorted(f"{each['Name']}={each['Value']}" for each in given.get("Dimensions", ()))),
        statistic=given.get("Statistic") or given.get("ExtendedStatistic", NONE),
        condition=f"{given['ComparisonOperator']} {float(given.get('Threshold', 0)):g}",
        period=int(given.get("Period", 0) or max((each.get("Period", 0) for each in queries), default=0)),
        points=f"{given.get('DatapointsToAlarm', periods)} of {periods}",
        missing_data=given.get("TreatMissingData", "missing"),
        actions=bool(given.get("ActionsEnabled", True)),
        tells=tuple(sorted(map(short, given.get("AlarmActions", ())))),
        tells_when_over=tuple(sorted(map(short, given.get("OKActions", ())))),
    )


def one_form(pattern: str) -> str:
    """A filter's pattern as one text, however it was written."""
    try:
        return json.dumps(json.loads(pattern), sort_keys=True)
    except ValueError:
        return pattern


def _table(given: Part) -> TableSettings:
    return TableSettings(
        billing=given.get("BillingMode", "PROVISIONED"),
        stream=given.get("StreamSpecification", {}).get("StreamViewType", NONE),
        deletion_protection=given.get("DeletionProtectionEnabled", False),
        indexes=tuple(sorted(each["IndexName"] for each in given.get("GlobalSecondaryIndexes", ()))),
    )


def _expiry(given: Part) -> str:
    wanted = given.get("TimeToLiveSpecification", {})
    return str(wanted["AttributeName"]) if wanted.get("Enabled") else NONE


def _backups(given: Part) -> bool:
    return bool(given.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled", False))
