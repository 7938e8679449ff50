"""The world of the story: the local stack, moved minute by minute, and what has been seen happening in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3

from cronce_tools.local.alarm_model import State
from cronce_tools.local.cloud import Call, Hook
from cronce_tools.local.stack import AFTER_THE_MINUTE, MINUTE, TABLES, LocalStack, event

LONGEST_QUIET = timedelta(hours=6)
"""At least so often a minute is played although nothing is due."""
ALARM_WINDOW = timedelta(minutes=6)
"""Heartbeat alarms are judged once so many minutes were played without a break."""
MINUTES_OF_LABOUR = 10
"""While a job works, every so many minutes are played: full hours, when other jobs are due, among them."""
FAR = "9999"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """One request to the outside world that a job made."""

    key: str
    process: str
    at: datetime


@dataclass
class World:
    """Plays minutes.

    Attributes:
        stack: the local stack.
        say: tells the watcher where the story is.
        requests: what the jobs asked of the outbox, in order, repeated requests included.
        alarm_changes: when an alarm changed its state: time, alarm, state.
        executed: ids of the runs that an executor was asked for, in order.
        scheduler_up: whether ticks are delivered.
        ticks: deliveries of the scheduler's rule so far.
    """

    stack: LocalStack
    say: Say
    requests: list[Request] = field(default_factory=list)
    alarm_changes: list[tuple[datetime, str, str]] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    scheduler_up: bool = True
    ticks: int = 0
    _states: dict[str, State] = field(default_factory=dict)
    _unbroken_since: datetime | None = None
    _last: datetime | None = None

    def __post_init__(self) -> None:
        self.stack.cloud.hooks += [self._watch_outbox, self._watch_executors]

    @property
    def now(self) -> datetime:
        """The virtual present."""
        return self.stack.clock.now()

    def play_until(self, end: datetime) -> None:
        """Play up to and including the minute `end`; minutes in which nothing is due are skipped."""
        while (minute := self._next_minute(end)) is not None:
            self.play(minute)

    def play_each(self, end: datetime) -> None:
        """Play every minute up to and including `end`."""
        minute = self._floor(self.now) + MINUTE
        while minute <= end:
            self.play(minute)
            minute += MINUTE

    def play(self, minute: datetime, tick: Callable[[], object] | None = None) -> None:
        """One minute: tick, stream, executors, patrol, alarms, notices.

        Args:
            minute: the full minute that EventBridge's rules name.
            tick: plays the scheduler's part instead of one plain delivery.
        """
        self.stack.clock.set(max(minute + AFTER_THE_MINUTE, self.now))
        if self._last is None or minute - self._last > MINUTE:
            self._unbroken_since = minute
        self._last = minute
        self.say(f"{minute:%a %d %b %H:%M}Z")
        if self.scheduler_up:
            (tick or self.tick)()
        self.stack.settle()
        self.stack.invoke("watchdog", event("watchdog"))
        self._judge_alarms(minute)
        self.stack.hear()

    def tick(self, process: str = "scheduler") -> Any:
        """One delivery of the scheduler's rule."""
        self.ticks += 1
        return self.stack.invoke("scheduler", event("scheduler"), process=process)

    def labour(self, duration: timedelta) -> None:
        """A job works for a while. Every few minutes of it the rest of the world is played."""
        end = self.now + duration
        while (minute := self._round_after(self.now)) + AFTER_THE_MINUTE <= end:
            self.stack.renewal.work(minute + AFTER_THE_MINUTE - self.now)
            self.play(minute)
            end = max(end, self.now)
        self.stack.renewal.work(end - self.now)

    def execute(self, run_id: str, process: str) -> Any:
        """One asynchronous invocation of the executor for a run."""
        return self.stack.invoke("executor", {"run": run_id}, process=process)

    @contextmanager
    def hook(self, hook: Hook) -> Iterator[None]:
        """See every call to AWS before it is made and before it is counted, until the end of the block."""
        self.stack.cloud.hooks.insert(0, hook)
        try:
            yield
        finally:
            self.stack.cloud.hooks.remove(hook)

    @contextmanager
    def hook_after(self, hook: Hook) -> Iterator[None]:
        """See every call to AWS once it was made, until the end of the block."""
        self.stack.cloud.hooks_after.append(hook)
        try:
            yield
        finally:
            self.stack.cloud.hooks_after.remove(hook)

    def effects(self, kind: str, containing: str) -> list[str]:
        """Keys of what took effect outside: the outbox's items of a kind whose key contains a text."""
        pages = (
            boto3.client("dynamodb")
            .get_paginator("scan")
            .paginate(
                TableName=TABLES["OutboxTable"],
                FilterExpression="kind = :kind AND contains(pk, :text)",
                ExpressionAttributeValues={":kind": {"S": kind}, ":text": {"S": containing}},
                ProjectionExpression="pk",
            )
        )
        return sorted(item["pk"]["S"] for page in pages for item in page["Items"])

    def sends_since(self, first: int) -> list[str]:
        """Keys of the messages asked for from that request on, repeated ones included."""
        return [request.key for request in self.requests[first:] if "/send/" in request.key]

    def alarm_states(self, *names: str) -> list[str]:
        """The present states of alarms of the template."""
        return [str(self._states.get(name, "not judged")) for name in names]

    def _watch_outbox(self, call: Call) -> None:
        key = outbox_key(call)
        if key is not None:
            self.requests.append(Request(key, call.process, self.now))

    def _watch_executors(self, call: Call) -> None:
        if (call.service, call.operation) == ("lambda", "Invoke"):
            self.executed.append(json.loads(call.parameters["Payload"])["run"])

    def _judge_alarms(self, minute: datetime) -> None:
        if self._unbroken_since is None or minute - self._unbroken_since < ALARM_WINDOW:
            return
        for alarm in self.stack.alarms():
            before = self._states.get(alarm.logical_id, State.OK)
            state = alarm.state(self.stack.metrics, self.now, before)
            if state is not before:
                self.alarm_changes.append((self.now, alarm.logical_id, state))
            self._states[alarm.logical_id] = state

    def _next_minute(self, end: datetime) -> datetime | None:
        """The next minute in which anything is due."""
        following = self._floor(self.now) + MINUTE
        due = self._earliest_due()
        minute = max(following, self._ceil(due) if due else following + LONGEST_QUIET)
        minute = min(minute, following + LONGEST_QUIET)
        return minute if minute <= end else None

    def _earliest_due(self) -> datetime | None:
        dynamodb = boto3.client("dynamodb")
        found = []
        for kind in ("job", "pending", "running", "waiting", "queued", "notice"):
            answer = dynamodb.query(
                TableName="runs",
                IndexName="due",
                KeyConditionExpression="due_kind = :kind AND due_at < :far",
                ExpressionAttributeValues={":kind": {"S": kind}, ":far": {"S": FAR}},
                Limit=1,
            )
            found += [datetime.fromisoformat(item["due_at"]["S"]) for item in answer["Items"]]
        return min(found, default=None)

    def _round_after(self, instant: datetime) -> datetime:
        """The next minute that is played while a job works."""
        floor = self._floor(instant)
        late = floor.minute % MINUTES_OF_LABOUR == 0 and floor + AFTER_THE_MINUTE > instant
        return floor if late else floor + (MINUTES_OF_LABOUR - floor.minute % MINUTES_OF_LABOUR) * MINUTE

    def _floor(self, instant: datetime) -> datetime:
        return instant.replace(second=0, microsecond=0)

    def _ceil(self, instant: datetime) -> datetime:
        """The first minute whose tick comes at or after an instant."""
        floor = self._floor(instant)
        return floor if floor + AFTER_THE_MINUTE >= instant else floor + MINUTE


def outbox_key(call: Call) -> str | None:
    """The idempotency key of a request to the outbox; None for any other call."""
    if call.operation != "PutItem" or call.parameters.get("TableName") != TABLES["OutboxTable"]:
        return None
    key = call.parameters["Item"]["pk"]
    return str(key["S"] if isinstance(key, dict) else key)


def at(day: int, time: str, month: int = 10) -> datetime:
    """An instant of autumn 2026, UTC."""
    hour, minute = map(int, time.split(":"))
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)
