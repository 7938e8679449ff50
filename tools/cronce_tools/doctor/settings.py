"""The settings that are compared: the same dataclasses hold what is expected and what is deployed.

Each field carries why a difference matters, and the AWS CLI's option that sets it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

NONE = "none"
"""Stands for what is not set."""


def setting(why: str, option: str | Callable[[Any], str] = "") -> Any:
    """A field that is compared.

    Args:
        why: why a difference matters, one clause.
        option: of the command that mends it: `{}` is replaced by what is expected; or made of it.
    """
    return field(metadata={"why": why, "option": option})


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A setting that is not as expected.

    Attributes:
        name: of the setting, as people read it.
        expected: what the template says.
        found: what is deployed.
        why: why it matters.
        option: of the command that mends it; empty if there is none.
    """

    name: str
    expected: str
    found: str
    why: str
    option: str

    @property
    def text(self) -> str:
        """Both values, in words."""
        return f"{self.name} is {self.found}, expected {self.expected}"


def differences(expected: Any, found: Any) -> Iterator[Difference]:
    """What differs between two of a kind, field by field."""
    for each in fields(expected):
        want, have = getattr(expected, each.name), getattr(found, each.name)
        if want == have or not each.metadata:
            continue
        yield Difference(
            name=each.name.replace("_", " "),
            expected=shown(want),
            found=shown(have),
            why=each.metadata["why"],
            option=_option(each.metadata["option"], want),
        )


def _option(option: str | Callable[[Any], str], want: object) -> str:
    if not isinstance(option, str):
        return option(want)
    if want is False:
        return option.replace("--", "--no-", 1)
    return option.replace("{}", shown(want))


def _filter_option(patterns: tuple[str, ...]) -> str:
    criteria = {"Filters": [{"Pattern": pattern} for pattern in patterns]}
    return f"--filter-criteria '{json.dumps(criteria)}'"


def shown(value: object) -> str:
    """A value of a setting, for people."""
    match value:
        case bool():
            return "on" if value else "off"
        case tuple():
            return " and ".join(map(str, value)) or NONE
        case float():
            return f"{value:g}"
        case None | "":
            return NONE
    return str(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingSettings:
    """The mapping from the runs table's stream to the dispatcher. Times in seconds."""

    enabled: bool = setting("runs wait for the sweep, and so start minutes late", "--enabled")
    table: str = setting("runs of this stack are not in the stream that it reads")
    function: str = setting("runs are not started, or by code that nobody released", "--function-name {}")
    batch_size: int = setting("it bounds how many runs wait for one another", "--batch-size {}")
    batching_window: int = setting("runs wait for it", "--maximum-batching-window-in-seconds {}")
    lanes: int = setting("each lane takes one of the account's invocations", "--parallelization-factor {}")
    starting_position: str = setting("what is written while a mapping is made is lost with another one")
    partial_failures: bool = setting(
        "one failed record repeats its whole batch", "--function-response-types ReportBatchItemFailures"
    )
    bisect: bool = setting("one bad record gives up on its whole batch", "--bisect-batch-on-function-error")
    retries: int = setting("a bad record stops its shard while it is tried", "--maximum-retry-attempts {}")
    record_age: int = setting(
        "a bad record stops its shard until it is too old", "--maximum-record-age-in-seconds {}"
    )
    failures_to: str = setting("what is given up is told to nobody")
    filters: tuple[str, ...] = setting(
        "runs are not started, or every write starts the dispatcher", _filter_option
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleSettings:
    """A scheduled rule."""

    enabled: bool = setting("nothing is scheduled, or nobody says what is missed, while it is off")
    schedule: str = setting("ticks and patrols come once a minute")


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetSettings:
    """What a rule calls. Times in seconds."""

    function: str = setting("what is called is another function, or code that nobody released")
    retries: int = setting("the next minute is the retry")
    event_age: int = setting("old ticks come beside new ones")
    failures_to: str = setting("a tick that cannot be delivered is told to nobody")


@dataclass(frozen=True, kw_only=True, slots=True)
class AsyncSettings:
    """What Lambda does with asynchronous invocations of a function. Times in seconds."""

    retries: int = setting(
        "the run's record is what retries, and Lambda would too", "--maximum-retry-attempts {}"
    )
    event_age: int = setting(
        "invocations that waited long come beside those that replaced them",
        "--maximum-event-age-in-seconds {}",
    )
    failures_to: str = setting("a worker that died is told to nobody")


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmSettings:
    """What an alarm watches and whom it tells. Times in seconds."""

    metric: str = setting("it watches something else")
    dimensions: tuple[str, ...] = setting("it watches another stack, or nothing")
    statistic: str = setting("it judges other figures")
    condition: str = setting("it goes off at other times")
    period: int = setting("it goes off at other times")
    points: str = setting("it goes off at other times")
    missing_data: str = setting("silence is judged otherwise")
    actions: bool = setting("it tells nobody")
    tells: tuple[str, ...] = setting("nobody is told when it goes off")
    tells_when_over: tuple[str, ...] = setting("nobody is told when it is over")


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSettings:
    """A table."""

    billing: str = setting("with a fixed capacity, a busy minute is refused", "--billing-mode {}")
    stream: str = setting(
        "the dispatcher is not told of new runs, or without what it needs",
        "--stream-specification StreamEnabled=true,StreamViewType={}",
    )
    deletion_protection: bool = setting("one call deletes all records", "--deletion-protection-enabled")
    indexes: tuple[str, ...] = setting("what is due is not found")
