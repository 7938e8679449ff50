"""Draws a scenario from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from cronce.core.retry import Retry
from cronce.core.schedule import At, Cron, Every, Schedule
from tests.simulation.chance import Chance
from tests.simulation.faults import STANDSTILLS, Fault, Weather
from tests.simulation.scenario import (
    DAY,
    MINUTE,
    Definition,
    Happening,
    Incident,
    JobPlan,
    Part,
    Piece,
    Scenario,
)

STARTS = tuple(
    datetime.fromisoformat(text)
    for text in (
        "2026-01-05T00:00Z",
        "2026-03-07T00:00Z",
        "2026-03-28T00:00Z",
        "2026-10-03T00:00Z",
        "2026-10-31T00:00Z",
    )
)
"""Mondays and the days before clocks change: New York, Berlin, Lord Howe, New York again."""
CALM = timedelta(minutes=75)
"""How long nothing goes wrong at the end: longer than anything may stay unfinished, see `bounds`."""
DAYS = (*[0.1] * 10, 0.25, *[1.0] * 3, 2, 2, 3, *[7.0] * 10, 14, 30, 60)
"""How long histories are, one as likely as the other. Nearly all mistakes show in a few dense hours; what
takes weeks to happen is looked for in one of ten."""
DENSE = ("* * * * *", "*/5 * * * *", "*/15 6-20 * * *", "*/20 * * * *")
SPARSE = (
    "0 * * * *",
    "30 1 * * *",
    "30 2 * * *",
    "0 6 * * *",
    "15 2,14 * * *",
    "0 */6 * * *",
    "45 1-3 * * *",
)
RARE = (
    "30 2 * * *",
    "0 6 * * *",
    "0 6 * * 1-5",
    "0 6 * * SUN",
    "30 1 * * SUN",
    "30 1 * * SAT,SUN",
    "0 6 1,15 * *",
    "30 2 L * *",
    "0 6 * * MON#2",
)
"""For histories of weeks: what is due often is tried in short ones."""
LONG = 7
"""Days of a long history."""
QUICK = (0.0, 0.0, 0.0, 0.2, 2.0, 10.0)
ALL_PACES = (0.0, 0.0, 0.2, 2.0, 25.0, 70.0, 200.0)
"""Seconds of a piece of work. In long histories most jobs go well: no alert stands all the time."""
ZONES = ("UTC", "UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe")
_LASTS = {
    Happening.STORE_DOWN: (30, 900),
    Happening.INDEX_LATE: (60, 3600),
    Happening.STORM: (60, 7200),
    Happening.SCHEDULER_DOWN: (60, 6 * 3600),
    Happening.CANCEL: (60, 60),
    Happening.OPERATED: (60, 2 * 3600),
    Happening.ITEM_GONE: (60, 60),
    Happening.ITEM_BACK: (60, 60),
    Happening.RECORDS_LOST: (60, 60),
    Happening.BROKEN: (60, 4 * 3600),
}
_OF_A_JOB = {
    Happening.BROKEN,
    Happening.GONE,
    Happening.CHANGED,
    Happening.PAUSED,
    Happening.CANCEL,
    Happening.OPERATED,
    Happening.ITEM_GONE,
    Happening.ITEM_BACK,
    Happening.RECORDS_LOST,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What kind of histories are drawn.

    Attributes:
        days: how long they may be.
        fair: probabilities of a fault of a call in quiet times.
        bad: likewise in storms.
        dense: probability that a job of a short history is due often.
        kinds: probability of each kind of fault to be there at all.
        incidents: of a history, at least.
        only: the kinds of faults that there may be.
        happenings: the kinds of incidents that there may be.
        trouble: probabilities that an attempt goes wrong by the job's own fault.
        parts: what functions of jobs do.
        no_mapping: probability that the stream's mapping is off from beginning to end: the sweep is enough.
    """

    days: tuple[float, ...] = DAYS
    fair: tuple[float, ...] = (0.0, 0.001, 0.005, 0.02)
    bad: tuple[float, ...] = (0.01, 0.03, 0.08)
    dense: float = 0.5
    kinds: float = 0.7
    incidents: int = 0
    only: tuple[Fault, ...] = tuple(Fault)
    happenings: tuple[Happening, ...] = (*Happening, Happening.OPERATED)
    trouble: tuple[float, ...] = (0.0, 0.0, 0.05, 0.3)
    parts: tuple[Part, ...] = tuple(Part)
    no_mapping: float = 0.1


WIDE = Shape()
STORMY = Shape(days=(0.1, 0.2), fair=(0.01, 0.03), bad=(0.05,), dense=0.8, kinds=0.8, incidents=3)
"""Short ones in which much goes wrong: to see whether a mistake is found."""

STALLING = replace(STORMY, fair=(0.04,), dense=1.0, kinds=1.0, only=(Fault.STOPPED, Fault.FROZEN))
"""Processes stand still for minutes, and nothing else goes wrong with calls."""
OPERATING = replace(STORMY, fair=(0.03,), kinds=1.0, only=(Fault.OPERATOR_ACTS,))
"""Operators act between the calls of others."""
HURRIED = replace(
    OPERATING, only=(Fault.OPERATOR_ACTS, Fault.CONFLICT, Fault.REPLY_LOST, Fault.STOPPED), no_mapping=0.0
)
"""Operators act while processes stand still and calls meet each other."""
STANDING = replace(
    OPERATING, fair=(0.06,), only=(Fault.OPERATOR_ACTS, *STANDSTILLS), parts=(Part.ONCE,), no_mapping=0.0
)
"""Operators act while processes stand still that do what must not be repeated."""
RESTORED = replace(STORMY, happenings=(Happening.ITEM_BACK, Happening.SCHEDULER_DOWN))
"""Items are set back by hand."""
LOST = replace(STORMY, happenings=(Happening.RECORDS_LOST, Happening.SCHEDULER_DOWN, Happening.OPERATED))
"""Records are lost, and operators see to it."""
DELETED = replace(STORMY, happenings=(Happening.ITEM_GONE, Happening.GONE))
"""Items are deleted by hand, also of jobs that are not deployed at that time."""
UNMAPPED = replace(STORMY, no_mapping=1.0)
"""Nothing comes through the stream."""
FAILING = replace(STORMY, fair=(0.0,), trouble=(0.5,), no_mapping=0.0)
"""Jobs fail, and little else happens."""
UNHEARD = replace(FAILING, fair=(0.04,), kinds=1.0, only=(Fault.CALL_LOST, Fault.THROTTLED))
"""Jobs fail, and calls too: what failed is to be told all the same."""


def drawn(seed: int, shape: Shape = WIDE) -> Scenario:
    """The scenario of a seed."""
    chance = Chance(seed)
    start = chance.one_of("start", STARTS)
    days = chance.one_of("days", shape.days)
    trouble_ends = start + days * DAY
    dense = shape.dense if days <= 0.5 else 0.0
    most = 20 if days >= LONG else 5 if days > STORMY.days[-1] else 3
    stage = _Stage(start, days, dense, shape.trouble, shape.parts)
    jobs = tuple(_job(chance, number, stage) for number in range(chance.number("jobs", 1, most)))
    kinds = tuple(kind for kind in shape.only if chance.happens(f"kind {kind}", shape.kinds))
    turns = chance.one_of("turns", (0.0, 0.05, 0.3))
    return Scenario(
        seed=seed,
        start=start,
        trouble_ends=trouble_ends,
        end=trouble_ends + CALM,
        jobs=jobs,
        incidents=_mapping(chance, start, trouble_ends, shape)
        + _incidents(chance, (start, trouble_ends), [job.name for job in jobs], shape),
        weather=Weather(fault=chance.one_of("fair", shape.fair), kinds=kinds, turns=turns),
        storm=Weather(
            fault=chance.one_of("bad", shape.bad), kinds=kinds or tuple(Fault), turns=max(turns, 0.3)
        ),
        mapping_lag=chance.one_of("lag", (0.2, 0.5, 3.0, 20.0)),
    )


class Calendar(frozenset[date]):
    """Dates that are excluded by a callable."""

    def __call__(self, day: date) -> bool:
        """Whether the day is excluded."""
        return day in self


@dataclass(frozen=True, slots=True)
class _Stage:
    """What jobs are drawn for."""

    start: datetime
    days: float
    dense: float
    trouble: tuple[float, ...]
    parts: tuple[Part, ...]


def _job(chance: Chance, number: int, stage: _Stage) -> JobPlan:
    what = f"job {number}"
    schedule = _schedule(chance, what, stage)
    other = _schedule(chance, f"{what} changed", stage)
    policies = _policies(chance, what, stage.start)
    more = chance.happens(f"{what} other policies", 0.3)
    return JobPlan(
        name=f"job-{number}",
        definitions=(
            Definition(schedule=schedule, policies=policies),
            Definition(
                schedule=other,
                policies=_policies(chance, f"{what} changed", stage.start) if more else policies,
            ),
        ),
        pieces=_pieces(chance, what, stage),
        trouble=chance.one_of(f"{what} trouble", stage.trouble),
    )


def _schedule(chance: Chance, what: str, stage: _Stage) -> Schedule:
    days = stage.days
    kind = chance.number(f"{what} kind", 0, 9)
    if kind == 0:
        at = stage.start + chance.number(f"{what} at", 1, int(days * 1440)) * MINUTE
        return At(at)
    dense = chance.happens(f"{what} dense", stage.dense)
    if kind == 1:
        sparse = (1440, 2880, 10080) if days >= LONG else (90, 250, 1440)
        minutes = chance.one_of(f"{what} every", (7, 25, 90) if dense else sparse)
        return Every(timedelta(minutes=minutes), anchor=datetime(2026, 1, 1, tzinfo=UTC))
    expression = chance.one_of(f"{what} cron", DENSE if dense else RARE if days >= LONG else SPARSE)
    return Cron(
        expression,
        tz=chance.one_of(f"{what} zone", ZONES),
        dst_gap=chance.one_of(f"{what} gap", ("next_valid", "skip")),
        dst_repeat=chance.one_of(f"{what} repeat", ("first", "last", "both")),
    )


def _policies(chance: Chance, what: str, start: datetime) -> dict[str, Any]:
    concurrency = chance.one_of(f"{what} concurrency", (1, 1, 1, 2, 3, None))
    excluded = chance.happens(f"{what} exclude", 0.15)
    days = {date(start.year, start.month, start.day) + n * DAY for n in (0, 2)}
    return {
        "grace": timedelta(minutes=chance.one_of(f"{what} grace", (1, 2, 5, 15))),
        "timeout": timedelta(seconds=chance.one_of(f"{what} timeout", (20, 90, 300, 900))),
        "retry": Retry(
            attempts=chance.number(f"{what} attempts", 1, 4),
            base=timedelta(seconds=chance.one_of(f"{what} base", (1, 30))),
            cap=timedelta(seconds=chance.one_of(f"{what} cap", (30, 300))),
        ),
        "concurrency": concurrency,
        "overlap": chance.one_of(f"{what} overlap", ("skip", "queue")),
        "catch_up": chance.one_of(f"{what} catch up", ("latest", "latest", "all", "skip")),
        "max_lateness": chance.one_of(
            f"{what} lateness", (None, None, timedelta(minutes=4), timedelta(hours=2))
        ),
        "catch_up_cap": chance.one_of(f"{what} cap of runs", (2, 5, 8)),
        "exclude": chance.one_of(f"{what} excludes", (frozenset, Calendar))(days) if excluded else (),
    }


def _pieces(chance: Chance, what: str, stage: _Stage) -> tuple[Piece, ...]:
    pieces = []
    for number in range(chance.number(f"{what} pieces", 1, 3)):
        part = chance.one_of(f"{what} piece {number}", stage.parts)
        seconds = chance.one_of(f"{what} seconds {number}", QUICK if stage.days >= LONG else ALL_PACES)
        items = chance.number(f"{what} items {number}", 1, 12) if part is Part.EACH else 0
        pieces.append(
            Piece(
                part=part,
                name=f"{part}-{number}",
                seconds=seconds / items if items else seconds,
                items=items,
                every=chance.one_of(f"{what} checkpoint {number}", (1, 3)),
            )
        )
    return tuple(pieces)


def _mapping(chance: Chance, start: datetime, trouble_ends: datetime, shape: Shape) -> tuple[Incident, ...]:
    """The incident that the mapping is off all the time, if it is."""
    off = Incident(what=Happening.MAPPING_OFF, start=start, lasts=trouble_ends + CALM - start)
    return (off,) if chance.happens("no mapping", shape.no_mapping) else ()


def _incidents(
    chance: Chance, when: tuple[datetime, datetime], jobs: list[str], shape: Shape
) -> tuple[Incident, ...]:
    start, end = when
    days = (end - start) / DAY
    incidents = []
    for number in range(
        chance.number("incidents", shape.incidents, shape.incidents + min(3 + int(2 * days), 12))
    ):
        what = chance.one_of(f"incident {number}", shape.happenings)
        at = start + chance.fraction(f"incident {number} at") * (end - start)
        low, high = _LASTS.get(what, (60, 8 * 3600 if days < LONG else 3600))
        lasts = chance.span(f"incident {number} lasts", low, high)
        if what in (Happening.GONE, Happening.PAUSED) and chance.happens(f"incident {number} long", 0.2):
            lasts = timedelta(hours=chance.number(f"incident {number} hours", 20, 40))
        at = at.replace(microsecond=0)
        incident = Incident(what=what, start=at, lasts=min(lasts, end - at))
        if what in _OF_A_JOB:
            incident = replace(incident, job=chance.one_of(f"incident {number} job", jobs))
        incidents.append(incident)
    return tuple(sorted(incidents, key=lambda one: (one.start, one.what, one.job)))
