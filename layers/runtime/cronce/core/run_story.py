"""What a run did, step by step, as its items tell it.

A step's item says when it was recorded, not when it began. Nothing of a run happens before its claim, nor
before what its worker recorded last, so the time since the later of the two is the longest that a step can
have taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from cronce.core.records import AttemptRecord, RunRecord, StepRecord, StepStatus
from cronce.core.values import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class StepStory:
    """What is known of one step.

    Attributes:
        name: of the step.
        status: whether it is finished.
        at: when it was recorded last.
        at_most: the longest that it can have taken, waits between attempts within an `each` included; None:
            nothing is known.
        items: of an `each`: how many are done.
        until: of a sleep: when the run goes on; of a step that was started at most once: when its invocation
            ends.
        by: the operator who resolved it.
        why: what the operator said.
    """

    name: str
    status: StepStatus
    at: datetime
    at_most: timedelta | None
    items: int | None = None
    until: datetime | None = None
    by: str | None = None
    why: str | None = None


OPERATOR = "operator "
"""How the owner of a step begins that an operator resolved."""


def step_stories(
    run: RunRecord, records: Iterable[StepRecord], attempts: Sequence[AttemptRecord]
) -> list[StepStory]:
    """The steps of a run in the order in which they were recorded last; the chunks of an `each` as one.

    Args:
        run: the run.
        records: all its step items.
        attempts: its earlier attempts.
    """
    starts = [
        run.started_at,
        run.attempt_started_at,
        run.slice_started_at,
        *(past.started_at for past in attempts),
    ]
    points = sorted(start for start in starts if start is not None)
    stories: dict[str, StepStory] = {}
    for record in sorted(records, key=lambda each: each.at):
        before = stories.get(record.name)
        stories[record.name] = _story(record, before, [at for at in points if at <= record.at])
        points.append(record.at)
    return sorted(stories.values(), key=lambda story: story.at)


def _story(record: StepRecord, before: StepStory | None, points: Sequence[datetime]) -> StepStory:
    took = record.at - max(points) if points else None
    if before is not None:
        took = took + before.at_most if took is not None and before.at_most is not None else None
    by = record.owner.removeprefix(OPERATOR) if record.owner.startswith(OPERATOR) else None
    waits = record.status is StepStatus.ASLEEP or by is not None
    return StepStory(
        name=record.name,
        status=record.status,
        at=record.at,
        at_most=None if waits else took,
        items=record.chunk if before is None else max(record.chunk or 0, before.items or 0),
        until=record.until,
        by=by,
        why=record.why,
    )
