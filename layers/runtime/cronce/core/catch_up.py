"""What becomes of a stretch of occurrences that nobody has planned yet: each is run, or skipped for a reason.

Every occurrence gets exactly one fate, and the same question always has the same answer. In this order:

1. An occurrence that is barred (excluded by the job's calendar, a local time that ran before, or accounted
   for behind where the job was set back to) is not run.
2. If the oldest occurrence is at most `ON_TIME` old there is nothing to catch up: all the others run,
   whatever the policy. A tick may be a little late, or one may be missing; a policy for outages must not drop
   anything then.
3. Otherwise the stretch is caught up. Whatever is later than `max_lateness` (and never less than a day before
   records are forgotten) is late. Of the others `latest` runs the newest, `all` the newest up to its cap,
   `skip` those at most `ON_TIME` old.
4. Occurrences up to `resumed_at` are caught up whatever their age, and what does not run of them was paused.

When the stretch goes on beyond what was looked at, only what is certain is answered: a newer occurrence may
be the one that `latest` runs, or push another over the cap. So the answer ends before the oldest one that
might still run. Failure case: that one is the very first. `latest` then gives it up (it has 20,000 barred
ones behind it), so that the stretch gets shorter with every tick; `all` runs it, at the price of one run over
the cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.job import CatchUp, Job
from cronce.core.judgement import ON_TIME
from cronce.core.values import dataclass

FORGETTING_MARGIN = timedelta(days=1)
"""Nothing runs that is older than retention less this: its record may have existed and be forgotten."""


class Fate(StrEnum):
    """What becomes of an occurrence."""

    RUN = "run"
    """It becomes a run."""
    EXCLUDED = "excluded"
    """The job's calendar excludes its date."""
    SAME_LOCAL_TIME = "same_local_time"
    """That local time ran before, under older zone data."""
    LATE = "late"
    """Later than the policy allows."""
    SUPERSEDED = "superseded"
    """A newer one runs in its place."""
    CATCH_UP_LIMIT = "catch_up_limit"
    """More were missed than the job catches up."""
    SETTLED = "settled"
    """It is accounted for, and the job was set back behind it: it stays as it is."""
    PAUSED = "paused"
    """The job was paused."""


_WHATEVER_THE_PAUSE = frozenset({Fate.RUN, Fate.SETTLED})
_BEYOND = {CatchUp.LATEST: Fate.SUPERSEDED, CatchUp.ALL: Fate.CATCH_UP_LIMIT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """When the judgement is made.

    Attributes:
        now: of the tick.
        resumed_at: occurrences up to here were paused; None = none was.
        retention: how long records are kept.
        more: whether the stretch goes on beyond the occurrences that were looked at.
    """

    now: datetime
    resumed_at: datetime | None
    retention: timedelta
    more: bool = False

    def was_paused(self, at: datetime) -> bool:
        """Whether the occurrence came while the job was paused."""
        return self.resumed_at is not None and at <= self.resumed_at

    def is_fresh(self, at: datetime) -> bool:
        """Whether the occurrence is on time."""
        return self.now - at <= ON_TIME and not self.was_paused(at)


def judge(job: Job, times: Sequence[datetime], barred: Sequence[Fate | None], scene: Scene) -> list[Fate]:
    """The fates of the occurrences, oldest first; fewer than `times` if only those are certain.

    Args:
        job: whose policies apply.
        times: the occurrences, ascending.
        barred: for each whether it is barred, and why.
        scene: when this is asked.
    """
    if not times or scene.is_fresh(times[0]):
        return [bar or Fate.RUN for bar in barred]
    fates = _caught_up(job, times, barred, scene)
    if scene.more:
        fates = _certain(job.catch_up, fates)
    return [
        Fate.PAUSED if fate not in _WHATEVER_THE_PAUSE and scene.was_paused(at) else fate
        for at, fate in zip(times, fates, strict=False)
    ]


def _caught_up(
    job: Job, times: Sequence[datetime], barred: Sequence[Fate | None], scene: Scene
) -> list[Fate]:
    oldest = scene.now - _latest_start(job, scene.retention)
    room = job.catch_up_cap if job.catch_up is CatchUp.ALL else 1
    fates = []
    for at, bar in zip(reversed(times), reversed(barred), strict=True):
        if bar is not None:
            fate = bar
        elif at < oldest:
            fate = Fate.LATE
        elif job.catch_up is CatchUp.SKIP:
            fate = Fate.RUN if scene.is_fresh(at) else Fate.LATE
        else:
            fate = Fate.RUN if room > 0 else _BEYOND[job.catch_up]
            room -= 1
        fates.append(fate)
    fates.reverse()
    return fates


def _latest_start(job: Job, retention: timedelta) -> timedelta:
    """How late an occurrence may be caught up at all."""
    kept = retention - FORGETTING_MARGIN
    return kept if job.max_lateness is None else min(job.max_lateness, kept)


def _certain(policy: CatchUp, fates: list[Fate]) -> list[Fate]:
    """The fates that no newer occurrence can change."""
    if policy is CatchUp.SKIP or Fate.RUN not in fates:
        return fates
    first = fates.index(Fate.RUN)
    if first > 0:
        return fates[:first]
    return [Fate.SUPERSEDED, *fates[1:]] if policy is CatchUp.LATEST else fates
