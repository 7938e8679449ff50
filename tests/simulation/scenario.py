"""What a history is made of: jobs, what happens to them from outside, how long, how bad.

Everything follows from the seed. A shrunk scenario is the same one with something taken out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from cronce.core.schedule import Schedule
from tests.simulation.faults import Weather

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


class Part(StrEnum):
    """What a job's function does, one thing after the other."""

    STEP = "step"
    EACH = "each"
    WORK = "work"
    ONCE = "once"
    SLEEP = "sleep"


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One part of a job's function.

    Attributes:
        part: what it is.
        name: of the step.
        seconds: how long it takes; of an `each`, each item.
        items: of an `each`.
        every: items between two checkpoints.
    """

    part: Part
    name: str
    seconds: float
    items: int = 0
    every: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """One version of a job's declaration.

    Attributes:
        schedule: when.
        policies: arguments of `job`.
    """

    schedule: Schedule
    policies: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobPlan:
    """A job over the whole history.

    Attributes:
        name: of the job.
        definitions: its versions; which one is deployed, a deployment says.
        pieces: what its function does.
        trouble: probability that an attempt goes wrong by the function's own fault.
    """

    name: str
    definitions: tuple[Definition, ...]
    pieces: tuple[Piece, ...]
    trouble: float


class Happening(StrEnum):
    """What happens from outside."""

    SCHEDULER_DOWN = "scheduler down"
    WATCHDOG_DOWN = "watchdog down"
    EXECUTOR_DOWN = "executor throttled"
    MAPPING_OFF = "mapping off"
    TOPIC_DOWN = "topic down"
    STORE_DOWN = "store down"
    INDEX_LATE = "index late"
    STREAM_LATE = "stream late"
    TWO_SCHEDULERS = "two schedulers"
    SKEWED_HOSTS = "skewed hosts"
    STORM = "storm"
    ALTERNATE = "old and new code in turn"
    BROKEN = "module broken"
    GONE = "job not deployed"
    CHANGED = "job changed"
    ZONE_DATA = "other zone data"
    PAUSED = "job paused"
    CANCEL = "cancel asked for"
    OPERATED = "operators at work"
    ITEM_GONE = "job item deleted"
    ITEM_BACK = "job item restored"
    RECORDS_LOST = "records lost"

    __hash__ = str.__hash__  # an enum's own is slow, and every call asks what is happening


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident:
    """Something that happens, for a while.

    Attributes:
        what: happens.
        start: when.
        lasts: how long.
        job: to which job, if it is one job's.
    """

    what: Happening
    start: datetime
    lasts: timedelta
    job: str = ""

    @property
    def end(self) -> datetime:
        """When it is over."""
        return self.start + self.lasts

    def __str__(self) -> str:
        about = f" {self.job}" if self.job else ""
        return f"{self.start:%m-%d %H:%M} {self.what}{about} for {self.lasts}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A history to be.

    Attributes:
        seed: of all its draws.
        start: its first instant.
        trouble_ends: from then on nothing goes wrong any more.
        end: its last instant.
        jobs: its jobs.
        incidents: what happens to them.
        weather: how calls fare in quiet times.
        storm: how they fare in storms.
        mapping_lag: seconds from a write to its batch.
        spared: names of calls and events that meet no fault although they would.
    """

    seed: int
    start: datetime
    trouble_ends: datetime
    end: datetime
    jobs: tuple[JobPlan, ...]
    incidents: tuple[Incident, ...]
    weather: Weather
    storm: Weather
    mapping_lag: float = 0.5
    spared: frozenset[str] = field(default_factory=frozenset)

    @property
    def days(self) -> float:
        """Virtual days."""
        return (self.end - self.start) / DAY
