"""What happens in a deployed stack, as lines for a person: the functions' logs, and what people are told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

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

Line = dict[str, Any]


@dataclass
class Follower:
    """Reads on in the logs of a stack.

    Attributes:
        stack: the stack.
        probe: a queue that gets what people are told.
    """

    stack: Stack
    probe: Probe
    _logs: Any = None
    _seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Make its client."""
        self._logs = client(self.stack.endpoint, "logs")

    def lines(self) -> Iterator[str]:
        """What has happened since the last time, oldest first."""
        found = [each for output, function in GROUPS.items() for each in self._of(output, function)]
        for _, text in sorted(found):
            yield text
        for message in self.probe.taken():
            yield told(message)

    def _of(self, output: str, function: str) -> list[tuple[int, str]]:
        pages = self._logs.get_paginator("filter_log_events").paginate(
            logGroupName=self.stack.outputs[output]
        )
        found = [event for page in pages for event in page["events"]]
        events = {f"{event['logStreamName']} {event['message']}": event for event in found}
        fresh = [event for name, event in events.items() if name not in self._seen]
        self._seen.update(events)
        return [(event["timestamp"], text) for event in fresh if (text := shown(function, event["message"]))]


def shown(function: str, message: str) -> str | None:
    """A line of a log as a person reads it; None for metrics and what the platform writes."""
    try:
        line = json.loads(message)
    except ValueError:
        return None
    if not isinstance(line, dict) or "message" not in line:
        return None
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
