"""The form of records in JSON. Names and meanings are part of the command's contract: they stay.

Times are ISO 8601 in UTC, or with their offset where the name ends in `_local`; durations are seconds and
say so in their name. What is not known is null. docs/operations.md lists the fields.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cronce.core.instants import to_text
from cronce_tools.cli.output import Json
from cronce_tools.cli.times import local_json

if TYPE_CHECKING:
    from cronce.core.accounting import Account
    from cronce.core.acts import Act
    from cronce.core.jobstate import Gap, JobState
    from cronce.core.records import AttemptRecord, RunRecord
    from cronce.core.run_story import StepStory
    from cronce.engine.inquiry import Standing
    from cronce_tools.cli.stacks import Reached


def instant(at: datetime | None) -> str | None:
    """`2026-03-08T07:00:00Z`, with milliseconds if there are any."""
    if at is None:
        return None
    return to_text(at).replace(".000Z", "Z")


def seconds(length: timedelta | None) -> float | None:
    """Seconds, whole where they are."""
    if length is None:
        return None
    number = length.total_seconds()
    return int(number) if number == int(number) else number


def head(stack: Reached, now: datetime) -> Json:
    """What every answer of a stack begins with."""
    return {"stack": stack.name, "region": stack.region, "now": instant(now)}


def run(record: RunRecord) -> Json:
    """A run."""
    return {
        "run": record.ref.id,
        "job": record.ref.job,
        "scheduled_at": instant(record.ref.scheduled_at),
        "scheduled_local": record.scheduled_local,
        "trigger": record.trigger.value,
        "status": record.status.value,
        "reason": record.reason.value if record.reason else None,
        "attempt": record.attempt,
        "max_attempts": record.max_attempts,
        "slice": record.slice,
        "created_at": instant(record.created_at),
        "started_at": instant(record.started_at),
        "ended_at": instant(record.ended_at),
        "expect_by": instant(record.expect_by),
        "due_at": instant(record.due_at),
        "fencing_token": record.fencing_token,
        "cancel_requested": record.cancel_requested,
        "error": record.error,
        "act": act(record.act) if record.act else None,
    }


def attempt(record: AttemptRecord) -> Json:
    """An earlier attempt."""
    return {
        "attempt": record.number,
        "fencing_token": record.fencing_token,
        "started_at": instant(record.started_at),
        "ended_at": instant(record.ended_at),
        "outcome": record.outcome,
        "error": record.error,
        "request_id": record.request_id,
        "log_stream": record.log_stream,
    }


def step(story: StepStory) -> Json:
    """A step of a run."""
    return {
        "step": story.name,
        "status": story.status.value,
        "recorded_at": instant(story.at),
        "took_at_most_seconds": seconds(story.at_most),
        "items_done": story.items,
        "until": instant(story.until),
        "by": story.by,
        "why": story.why,
    }


def act(done: Act) -> Json:
    """What an operator did."""
    return {"what": done.what.value, "at": instant(done.at), "by": done.by, "why": done.why}


def account(found: Account, zone: str) -> Json:
    """What became of an occurrence."""
    return {
        "at": instant(found.at),
        "at_local": local_json(found.at, zone),
        "outcome": found.outcome.value,
        "count": found.count,
        "run": run(found.run) if found.run else None,
        "gap": gap(found.gap) if found.gap else None,
        "unreadable": found.unread.problem if found.unread else None,
    }


def gap(record: Gap) -> Json:
    """A stretch of occurrences that were not run."""
    return {
        "first": instant(record.first),
        "last": instant(record.last),
        "count": record.count,
        "reason": record.reason.value,
        "created_at": instant(record.created_at),
    }


def job(state: JobState, words: str, zone: str) -> Json:
    """A job as it is stored."""
    paused = state.paused
    return {
        "module": state.module,
        "schedule": dict(state.schedule),
        "schedule_in_words": words,
        "tz": zone,
        "grace_seconds": seconds(state.grace),
        "planned_to": instant(state.planned_to),
        "next_at": instant(state.next_at),
        "paused": {"at": instant(paused.at), "by": paused.by, "why": paused.why} if paused else None,
        "held": state.held.value if state.held else None,
        "removed_at": instant(state.removed_at),
        "began_at": instant(state.began_at),
        "queued": state.slots.queued,
        "slots": sorted(state.slots.held),
    }


def standing(found: Standing, words: str, zone: str) -> Json:
    """How a job stands. Without `planned_to` no tick has planned it, or its item cannot be read."""
    alert = found.alert
    return {
        "job": found.name,
        "problem": found.problem,
        **(job(found.state, words, zone) if found.state else {}),
        "last": run(found.last) if found.last else None,
        "unfinished": [run(each) for each in found.unfinished],
        "overdue": [instant(each.time.scheduled_at) for each in found.overdue],
        "alert": {"since": instant(alert.since), "count": alert.count} if alert else None,
    }
