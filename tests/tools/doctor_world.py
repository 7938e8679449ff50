"""A deployed stack as the doctor sees it: moto for what moto knows, answers of our own for the rest.

All of it is made from the *translated* template, while the doctor reads the source: what SAM makes of the
source stands between the two. Every call is checked against AWS's own description of it, and so is every
answer of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import botocore.loaders
import botocore.session
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from cronce_tools.cli.call import PROJECT
from cronce_tools.cli.stack_choice import Target
from cronce_tools.cli.stacks import Reached, reach
from cronce_tools.doctor.checks import CHECKS
from cronce_tools.doctor.examination import examine, place_of
from cronce_tools.doctor.finding import Finding
from cronce_tools.doctor.place import Place
from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import STACK, TABLES, LocalStack, local_stack
from tests.support.jobs_modules import only_jobs_of
from tests.template.stack import Stack

START = datetime(2026, 10, 30, 11, 11, tzinfo=UTC)
"""No job is due in the next minutes."""
ACCOUNT = "123456789012"
LAMBDA = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function"
ATTRIBUTES = {
    "QueueName": "",
    "Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:",
    "StreamArn": f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/",
}
"""What stands before a name in an attribute, of those that are asked for."""
PAGE = 20
"""Resources that one page of CloudFormation's list has here."""
JOB = """
from cronce import Cron, Run, job

@job("hello", schedule=Cron("0 6 * * *"))
def hello(run: Run) -> None:
    pass
"""
Answer = dict[str, Any]
LOADER = botocore.loaders.Loader()
"""Reads the services' descriptions once for all tests; that is most of what making a client takes."""
SESSION = botocore.session.Session()
SESSION.register_component("data_loader", LOADER)


def described(service: str, operation: str) -> Any:
    """AWS's own description of a call."""
    return SESSION.get_service_model(service).operation_model(operation)


def check(value: Answer, shape: Any) -> None:
    """Refuse what AWS would not take, or not answer."""
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()


@dataclass
class World:
    """A stack and what AWS says of it.

    Attributes:
        local: tables, clock and handlers.
        made: the translated template.
        names: what was made, by its name in the template.
        calls: every call of the doctor's.
        said: our own answers by service and operation: given the parameters, the answer.
    """

    local: LocalStack
    made: Stack
    names: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    said: dict[tuple[str, str], Callable[[Answer], Answer]] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """A client of the account's owner."""
        return SESSION.create_client(service)

    def says(self, service: str, operation: str, answer: Callable[[Answer], Answer]) -> None:
        """Let AWS answer a call so, from now on."""
        shape = described(service, operation).output_shape

        def checked(parameters: Answer) -> Answer:
            given = answer(parameters)
            check(given, shape)
            return given

        self.said[service, operation] = answer
        self.local.cloud.answers[service, operation] = checked

    def changes(self, service: str, operation: str, **change: object) -> None:
        """Let AWS answer a call as before, but for this."""
        before = self.said[service, operation]
        self.says(service, operation, lambda parameters: {**before(parameters), **change})

    def refuses(self, service: str, operation: str, code: str = "AccessDeniedException") -> None:
        """Let AWS refuse a call from now on."""

        def refuse(_: Answer) -> Answer:
            raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)

        self.local.cloud.answers[service, operation] = refuse

    def look(self, call: Call) -> None:
        """Note a call, and check it."""
        if call.process == "operator":
            check(call.parameters, described(call.service, call.operation).input_shape)
            self.calls.append(call)

    @contextmanager
    def as_it_was(self) -> Iterator[World]:
        """What AWS says within the block is forgotten after it; what was done in moto is not."""
        answers, said = dict(self.local.cloud.answers), dict(self.said)
        self.calls.clear()
        try:
            yield self
        finally:
            self.said = said
            self.local.cloud.answers.clear()
            self.local.cloud.answers.update(answers)

    # --- what is deployed ---

    def deploy(self) -> None:
        """Make what the template makes."""
        for name, resource in self.made.template["Resources"].items():
            self.names[name] = self._name(name, resource["Type"])
        self.names |= {name: table for name, table in TABLES.items() if name in self.names}
        for name in self.made.of_type("AWS::SQS::Queue"):
            self.names[name] = self.client("sqs").create_queue(QueueName=f"shop-{name}")["QueueUrl"]
        self.names["NoticeTopic"] = self.local.topic
        self._tables()
        self._rules()
        self._alarms()
        for name, properties in self.made.of_type("AWS::Logs::LogGroup").items():
            logs, group = self.client("logs"), self.names[name]
            logs.create_log_group(logGroupName=group)
            logs.create_log_group(logGroupName=f"{group}-older")  # its name begins likewise
            logs.put_retention_policy(
                logGroupName=group, retentionInDays=int(self.plain(properties["RetentionInDays"]))
            )
        self._cloudformation()
        self._lambda()
        self.says("scheduler", "ListSchedules", lambda _: {"Schedules": []})
        self.says("cloudwatch", "GetMetricData", lambda _: {"MetricDataResults": []})

    def plain(self, value: Any) -> Any:
        """A value of the template with names and parameters in place."""
        match value:
            case {"Ref": "AWS::StackName"}:
                return STACK
            case {"Ref": str(name)} if name in self.made.template["Parameters"]:
                return self.made.template["Parameters"][name]["Default"]
            case {"Ref": str(name)}:
                return self.names[name]
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return ATTRIBUTES[attribute] + self.names[name].rsplit("/", 1)[-1]
            case dict():
                return {key: self.plain(part) for key, part in value.items()}
            case list():
                return [self.plain(part) for part in value]
        return value

    def _name(self, name: str, kind: str) -> str:
        function, _, _ = name.partition("Function")
        if kind == "AWS::Lambda::Alias":
            return f"{LAMBDA}:shop-{function}Function:live"
        if kind == "AWS::Lambda::EventSourceMapping":
            return "14e0db71-5d35-4eb5-b481-8945cf9d10c2"
        if kind == "AWS::Lambda::Version":
            return f"{LAMBDA}:shop-{function}Function:7"
        return f"/shop/{name}" if kind == "AWS::Logs::LogGroup" else f"shop-{name}"

    def _tables(self) -> None:
        dynamodb = self.client("dynamodb")
        for name, properties in self.made.of_type("AWS::DynamoDB::Table").items():
            table = self.names[name]
            dynamodb.update_continuous_backups(
                TableName=table,
                PointInTimeRecoverySpecification=properties["PointInTimeRecoverySpecification"],
            )
            if expiry := properties.get("TimeToLiveSpecification"):
                dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=expiry)

    def _rules(self) -> None:
        events = self.client("events")
        for name, properties in self.made.of_type("AWS::Events::Rule").items():
            rule = self.names[name]
            events.put_rule(Name=rule, ScheduleExpression=properties["ScheduleExpression"])
            events.put_targets(Rule=rule, Targets=self.plain(properties["Targets"]))

    def _alarms(self) -> None:
        takes = described("cloudwatch", "PutMetricAlarm").input_shape.members
        for name, properties in self.made.of_type("AWS::CloudWatch::Alarm").items():
            given = {key: value for key, value in self.plain(properties).items() if key in takes}
            self.client("cloudwatch").put_metric_alarm(AlarmName=self.names[name], **given)

    def _cloudformation(self) -> None:
        body = (PROJECT / "template.yaml").read_text()
        self.says("cloudformation", "GetTemplate", lambda _: {"TemplateBody": body})
        resources = [
            {
                "LogicalResourceId": name,
                "PhysicalResourceId": self.names[name],
                "ResourceType": resource["Type"],
                "LastUpdatedTimestamp": START,
                "ResourceStatus": "UPDATE_COMPLETE",
            }
            for name, resource in self.made.template["Resources"].items()
        ]

        def page(parameters: Answer) -> Answer:
            first = int(parameters.get("NextToken", "0"))
            more = {"NextToken": str(first + PAGE)} if first + PAGE < len(resources) else {}
            return {"StackResourceSummaries": resources[first : first + PAGE], **more}

        self.says("cloudformation", "ListStackResources", page)

    def _lambda(self) -> None:
        ((_, mapping),) = self.made.of_type("AWS::Lambda::EventSourceMapping").items()
        mapping = self.plain(mapping)
        mapping["FunctionArn"] = f"{LAMBDA}:shop-DispatcherFunction:live"
        takes = described("lambda", "GetEventSourceMapping").output_shape.members
        found = {key: value for key, value in mapping.items() if key in takes}
        state = {"UUID": self.names["DispatcherFunctionRuns"], "State": "Enabled"}
        self.says("lambda", "GetEventSourceMapping", lambda _: {**found, **state})
        configs = {
            self.plain(each["FunctionName"]): self.plain(each)
            for each in self.made.of_type("AWS::Lambda::EventInvokeConfig").values()
        }
        keys = described("lambda", "GetFunctionEventInvokeConfig").output_shape.members
        self.says(
            "lambda",
            "GetFunctionEventInvokeConfig",
            lambda asked: {
                key: value for key, value in configs[asked["FunctionName"]].items() if key in keys
            },
        )
        runtime = {"Runtime": "python3.13", "State": "Active"}
        self.says("lambda", "GetAlias", lambda _: {"FunctionVersion": "7"})
        self.says("lambda", "GetFunctionConfiguration", lambda _: runtime)
        self.says("lambda", "GetFunctionConcurrency", lambda _: {})
        limit = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
        self.says("lambda", "GetAccountSettings", lambda _: {"AccountLimit": limit})


@contextmanager
def deployed(made: Stack) -> Iterator[World]:
    """A stack with one job, `hello`, that has ticked twice.

    Args:
        made: the translated template, its conditions resolved.
    """
    with (
        TemporaryDirectory() as folder,
        one_loader(),
        local_stack(START) as local,
        only_jobs_of(Path(folder)),
    ):
        (Path(folder) / "hello.py").write_text(JOB)
        world = World(local=local, made=made)
        world.deploy()
        local.play(minutes=2)
        local.cloud.hooks.append(world.look)
        yield world


@contextmanager
def one_loader() -> Iterator[None]:
    """Every session made within the block shares one loader."""
    before = botocore.session.create_loader
    botocore.session.create_loader = lambda *_: LOADER
    try:
        yield
    finally:
        botocore.session.create_loader = before


def reached() -> Reached:
    """The stack as the command reaches it."""
    return reach(Target(stack=STACK), lambda _: None)


def findings(*names: str, place: Place | None = None) -> list[Finding]:
    """What the checks of these names find."""
    checks = [check for check in CHECKS if check.name in names]
    assert len(checks) == len(names)
    return list(examine(place or place_of(reached(), PROJECT), checks=checks).findings)
