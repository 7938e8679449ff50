"""The mapping from the runs table's stream to the dispatcher: the fast way by which runs start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cronce_tools.doctor.expected import Expected, one_form
from cronce_tools.doctor.finding import Finding
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.settings import NONE, MappingSettings, differences
from cronce_tools.doctor.values import short
from cronce_tools.doctor.words import REMADE, difference

WORKING = frozenset({"Enabled", "Enabling", "Creating", "Updating"})
TROUBLE = "PROBLEM"
"""How the result of its last batch begins when there was one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingFacts:
    """The mapping as it is.

    Attributes:
        uuid: its id.
        settings: how it is set; None: it is gone.
        last_result: what Lambda says of its last batch.
    """

    uuid: str
    settings: MappingSettings | None
    last_result: str = ""


def look(place: Place) -> MappingFacts:
    """Ask Lambda."""
    uuid = place.deployment.name(place.expected.mapping_id)
    found = place.aws.find("lambda", "get_event_source_mapping", UUID=uuid)
    if found is None:
        return MappingFacts(uuid=uuid, settings=None)
    return MappingFacts(
        uuid=uuid, settings=_settings(found), last_result=found.get("LastProcessingResult") or ""
    )


def _settings(found: Mapping[str, Any]) -> MappingSettings:
    destination = found.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
    filters = found.get("FilterCriteria", {}).get("Filters", ())
    return MappingSettings(
        enabled=found["State"] in WORKING,
        table=found["EventSourceArn"].split("/")[1],
        function=found["FunctionArn"],
        batch_size=found["BatchSize"],
        batching_window=found.get("MaximumBatchingWindowInSeconds", 0),
        lanes=found.get("ParallelizationFactor", 1),
        starting_position=found.get("StartingPosition", NONE),
        partial_failures="ReportBatchItemFailures" in found.get("FunctionResponseTypes", ()),
        bisect=found.get("BisectBatchOnFunctionError", False),
        retries=found.get("MaximumRetryAttempts", -1),
        record_age=found.get("MaximumRecordAgeInSeconds", -1),
        failures_to=short(destination) or NONE,
        filters=tuple(sorted(one_form(each["Pattern"]) for each in filters)),
    )


def judge(expected: Expected, facts: MappingFacts) -> Iterator[Finding]:
    """Compare it with the template."""
    if facts.settings is None:
        yield Finding(
            what=f"the stream mapping {facts.uuid} is gone",
            why="runs wait for the sweep, and so start minutes late",
            remedy=REMADE.format(expected.mapping_id),
        )
        return
    command = f"aws lambda update-event-source-mapping --uuid {facts.uuid}"
    for each in differences(expected.mapping, facts.settings):
        yield difference("the stream mapping", each, command)
    if facts.last_result.startswith(TROUBLE):
        yield Finding(
            what=f"the stream mapping's last batch failed: {facts.last_result}",
            why="runs wait for the sweep, and so start minutes late",
            remedy="look at the dispatcher's log (DispatcherLogGroupName in the stack's outputs)",
        )


CHECK = Check(name="stream mapping", look=look, judge=judge, why="runs start through it")
