"""The tables and the logs: what is kept, how it is kept, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cronce_tools.doctor.expected import Expected
from cronce_tools.doctor.finding import Finding
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.settings import NONE, TableSettings, differences
from cronce_tools.doctor.words import REMADE, difference


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFacts:
    """A table as it is.

    Attributes:
        name: of the table.
        settings: how it is set; None: it is gone.
        status: `ACTIVE`, if all is well.
    """

    name: str
    settings: TableSettings | None
    status: str = ""


def look_at_tables(place: Place) -> dict[str, TableFacts]:
    """Ask DynamoDB for the tables of the machinery."""
    return {table: _table(place, place.deployment.name(table)) for table in place.expected.tables}


def _table(place: Place, name: str) -> TableFacts:
    answer = place.aws.find("dynamodb", "describe_table", TableName=name)
    if answer is None:
        return TableFacts(name=name, settings=None)
    found = answer["Table"]
    stream = found.get("StreamSpecification", {})
    return TableFacts(
        name=name,
        status=found["TableStatus"],
        settings=TableSettings(
            billing=found.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
            stream=stream.get("StreamViewType", NONE) if stream.get("StreamEnabled") else NONE,
            deletion_protection=found.get("DeletionProtectionEnabled", False),
            indexes=tuple(sorted(each["IndexName"] for each in found.get("GlobalSecondaryIndexes", ()))),
        ),
    )


def judge_tables(expected: Expected, facts: Mapping[str, TableFacts]) -> Iterator[Finding]:
    """Compare them with the template."""
    for logical_id, table in facts.items():
        if table.settings is None:
            yield Finding(
                what=f"the table {table.name} is gone",
                why="nothing can be planned, run or told",
                remedy="restore it (docs/deploy.md), or delete the stack and deploy it anew",
            )
            continue
        command = f"aws dynamodb update-table --table-name {table.name}"
        for each in differences(expected.tables[logical_id], table.settings):
            yield difference(f"the table {table.name}", each, command, logical_id)
        if table.status != "ACTIVE":
            yield Finding(
                what=f"the table {table.name} is {table.status}",
                why="it may refuse what is written",
                remedy=f"aws dynamodb describe-table --table-name {table.name} says more",
            )


def look_at_expiry(place: Place) -> dict[str, tuple[str, str]]:
    """Ask DynamoDB by which attribute items expire."""

    def attribute(name: str) -> str:
        found = place.aws.ask("dynamodb", "describe_time_to_live", TableName=name)["TimeToLiveDescription"]
        on = found["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}
        return str(found["AttributeName"]) if on else NONE

    return {
        table: (place.deployment.name(table), attribute(place.deployment.name(table)))
        for table in place.expected.expiry
    }


def judge_expiry(expected: Expected, facts: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
    """Compare it with the template."""
    for logical_id, (name, attribute) in facts.items():
        want = expected.expiry[logical_id]
        if attribute != want:
            yield Finding(
                what=f"items of the table {name} expire by the attribute {attribute}, expected {want}",
                why="what is over is kept, and paid, for ever"
                if attribute == NONE
                else "what is not over may be deleted",
                remedy=f"aws dynamodb update-time-to-live --table-name {name} "
                f"--time-to-live-specification Enabled=true,AttributeName={want}",
            )


def look_at_backups(place: Place) -> dict[str, tuple[str, bool]]:
    """Ask DynamoDB whether tables can be restored to any second."""

    def on(name: str) -> bool:
        found = place.aws.ask("dynamodb", "describe_continuous_backups", TableName=name)
        recovery = found["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        return bool(recovery.get("PointInTimeRecoveryStatus") == "ENABLED")

    return {
        table: (place.deployment.name(table), on(place.deployment.name(table)))
        for table in place.expected.backups
    }


def judge_backups(expected: Expected, facts: Mapping[str, tuple[str, bool]]) -> Iterator[Finding]:
    """Compare it with the template."""
    for logical_id, (name, on) in facts.items():
        if expected.backups[logical_id] and not on:
            yield Finding(
                what=f"the table {name} has no point-in-time recovery",
                why="what is deleted by mistake is lost",
                remedy=f"aws dynamodb update-continuous-backups --table-name {name} "
                "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class LogFacts:
    """A log group as it is.

    Attributes:
        name: of the group.
        exists: whether there is one.
        days: that lines are kept; None: for ever.
    """

    name: str
    exists: bool = True
    days: int | None = None


def look_at_logs(place: Place) -> dict[str, LogFacts]:
    """Ask CloudWatch Logs how long lines are kept."""
    return {log: _log(place, place.deployment.name(log)) for log in place.expected.logs}


def _log(place: Place, name: str) -> LogFacts:
    """A group can only be asked for by how its name begins; the shortest such name comes first."""
    found = place.aws.ask("logs", "describe_log_groups", logGroupNamePrefix=name)["logGroups"]
    own = next((each for each in found if each["logGroupName"] == name), None)
    if own is None:
        return LogFacts(name=name, exists=False)
    return LogFacts(name=name, days=own.get("retentionInDays"))


def judge_logs(expected: Expected, facts: Mapping[str, LogFacts]) -> Iterator[Finding]:
    """Compare them with the template."""
    for logical_id, log in facts.items():
        want = expected.logs[logical_id]
        if not log.exists:
            yield Finding(
                what=f"the log group {log.name} is gone",
                why="nobody can see what the function did",
                remedy=REMADE.format(logical_id),
            )
        elif log.days != want:
            yield Finding(
                what=f"the log group {log.name} keeps lines {_kept(log.days)}, expected {_kept(want)}",
                why="logs are lost early, or paid for ever",
                remedy=f"aws logs put-retention-policy --log-group-name {log.name} --retention-in-days {want}"
                if want
                else f"aws logs delete-retention-policy --log-group-name {log.name}",
            )


def _kept(days: int | None) -> str:
    return "for ever" if days is None else f"{days} days"


TABLES = Check(name="tables", look=look_at_tables, judge=judge_tables, why="all records are in them")
EXPIRY = Check(
    name="expiry", look=look_at_expiry, judge=judge_expiry, why="what is over is to go", is_real_only=True
)
BACKUPS = Check(
    name="backups", look=look_at_backups, judge=judge_backups, why="they undo mistakes", is_real_only=True
)
LOGS = Check(name="logs", look=look_at_logs, judge=judge_logs, why="they say what happened")
