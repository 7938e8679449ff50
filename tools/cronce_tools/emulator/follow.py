"""What happens in a deployed stack, as lines for a person: logs, what jobs print, what people are told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from cronce_tools.emulator.deployment import Stack, client
from cronce_tools.emulator.probe import Probe

GROUPS = {
    "SchedulerLogGroupName": "scheduler",
    "DispatcherLogGroupName": "dispatcher",
    "ExecutorLogGroupName": "executor",
    "WatchdogLogGroupName": "watchdog",
}
HIDDEN = frozenset({"level", "location", "message", "timestamp", "service", "stack", "function_request_id"})
"""Fields that a line of the log has for machines."""
SHOWN = 100
"""Characters of a field that are shown; a traceback is in the log."""
PLATFORM = re.compile(r"(START|END|REPORT) RequestId: |INIT_START ")
"""What Lambda itself writes begins so."""

Line = dict[str, Any]


class Taken(Protocol):
    """A queue."""

    def taken(self) -> list[Line]:
        """The messages in it; they are removed."""
        ...


@dataclass
class Follower:
    """Reads on in the logs of a stack.

    Attributes:
        groups: the function that writes to it, by name of the log group.
        logs: a client of CloudWatch Logs.
        probe: a queue that gets what people are told.
    """

    groups: Mapping[str, str]
    logs: Any
    probe: Taken
    _read: dict[tuple[str, str], int] = field(default_factory=dict)
    _positions: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, stack: Stack) -> Follower:
        """For a deployed stack."""
        groups = {stack.outputs[output]: function for output, function in GROUPS.items()}
        return cls(groups=groups, logs=client(stack.endpoint, "logs"), probe=Probe(stack))

    def lines(self) -> Iterator[str]:
        """What has happened since the last time, oldest first."""
        found = [each for group, function in self.groups.items() for each in self._of(group, function)]
        for _, text in sorted(found):
            yield text
        for message in self.probe.taken():
            yield told(message)

    def _of(self, group: str, function: str) -> list[tuple[int, str]]:
        fresh = [event for stream in self._changed(group) for event in self._read_on(group, stream)]
        return [(event["timestamp"], text) for event in fresh if (text := shown(function, event["message"]))]

    def _changed(self, group: str) -> Iterator[str]:
        """The streams of a group that were written to since the last time. Each process has its own."""
        pages = self.logs.get_paginator("describe_log_streams").paginate(logGroupName=group)
        for stream in (stream for page in pages for stream in page["logStreams"]):
            name, written = stream["logStreamName"], stream.get("lastIngestionTime")
            if self._read.get((group, name)) != written:
                self._read[group, name] = written
                yield name

    def _read_on(self, group: str, stream: str) -> Iterator[Line]:
        """The events of a stream from where the last reading stopped."""
        while True:
            position = self._positions.get((group, stream))
            further = {"nextToken": position} if position else {}
            page = self.logs.get_log_events(
                logGroupName=group, logStreamName=stream, startFromHead=True, **further
            )
            yield from page["events"]
            if page["nextForwardToken"] == position:
                return
            self._positions[group, stream] = page["nextForwardToken"]


def shown(function: str, message: str) -> str | None:
    """A line of a log as a person reads it, what a job prints as it is; None for metrics and Lambda's own."""
    if PLATFORM.match(message) or not message.strip():
        return None
    try:
        line = json.loads(message)
    except ValueError:
        line = None
    if isinstance(line, dict) and "_aws" in line:
        return None
    if not isinstance(line, dict) or "message" not in line:
        return f"{'':8} {function:<10} | {message.rstrip()}"
    at = str(line.get("timestamp", ""))[11:19]
    fields = " ".join(f"{name}={_short(value)}" for name, value in line.items() if name not in HIDDEN)
    warning = "! " if line.get("level") in {"WARNING", "ERROR"} else ""
    return f"{at} {function:<10} {warning}{line['message']} {fields}".rstrip()


def told(message: Line) -> str:
    """A message of the topic as a person reads it: a notice, or the change of an alarm."""
    at = str(message.get("Timestamp", ""))[11:19]
    text = str(message.get("Message", ""))
    try:
        alarm = json.loads(text)
    except ValueError:
        indented = "\n".join(f"    {line}" for line in text.splitlines())
        return f"{at} notice     {message.get('Subject', '')}\n{indented}"
    return f"{at} alarm      {alarm['AlarmName']}: {alarm['OldStateValue']} -> {alarm['NewStateValue']}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    first = text.splitlines()[0] if text else ""
    return first if len(first) <= SHOWN and first == text else f"{first[: SHOWN - 3]}..."
