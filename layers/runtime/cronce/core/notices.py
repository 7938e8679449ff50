"""What people are told: the text of a notice, from an alert.

A notice names the job and each time in the job's zone and in UTC, says what happened, and where to look. Its
id follows from the alert alone, so the same notice published twice can be recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from cronce.core.alerting import ACKNOWLEDGED, RECOVERED, REMOVED
from cronce.core.alerts import SCHEDULER, Alert, NoticeText, Trouble, TroubledTime
from cronce.core.errors import DefinitionError
from cronce.core.instants import to_key, to_text
from cronce.core.values import dataclass
from cronce.core.zones import load_zone

OUTLOOK = 50
"""Times named in the notice about a silent scheduler: what is due and what comes next."""

_WORDS = {
    Trouble.MISSED: "missed",
    Trouble.FAILED: "failed",
    Trouble.LATE: "skipped as too late",
    Trouble.CATCH_UP_LIMIT: "skipped, too many were missed",
    Trouble.OVERLAP: "skipped for overlap",
    Trouble.SILENT: "scheduler silent",
}
_LOOK = {
    Trouble.SILENT: "The scheduler's log has the last error (a job module that kills the process is one "
    "cause). Is its rule enabled, and is the account's Lambda concurrency used up?",
    Trouble.MISSED: "Why a time was not planned is in the scheduler's log, what a run did in the executor's. "
    "The job's item and the records of its runs are in the Runs table under the partition key JOB#<job>.",
    Trouble.FAILED: "The executor's log has the traceback: log stream and request stand with the run. "
    "Once the cause is mended, the next scheduled run closes this alert.",
    Trouble.LATE: "These times do not run by themselves any more. Was the work needed, or is the job's "
    "max_lateness (or catch_up) too strict?",
    Trouble.CATCH_UP_LIMIT: "These times do not run any more; the newest of them, up to catch_up_cap, do.",
    Trouble.OVERLAP: "Does a run of this job hang, or does it take longer than its interval? Its unfinished "
    "runs are in the Runs table under the partition key JOB#<job>.",
}
_ENDED = {
    RECOVERED: "Every time listed here succeeded in the end, or a later scheduled run did.",
    REMOVED: "The job is no longer part of the deployment. Its records are kept.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class NextTime:
    """A time that a silent scheduler has not planned yet."""

    job: str
    at: datetime


def notice_of(alert: Alert, zones: Mapping[str, str], outlook: Sequence[NextTime] = ()) -> NoticeText:
    """The notice that an alert owes in its present state.

    Args:
        alert: as it stands.
        zones: the zone of each job's schedule, as far as they are known.
        outlook: what a silent scheduler has not planned: the oldest first.
    """
    scheduler = alert.scope == SCHEDULER
    parts = [_opening(alert, scheduler), *_times(alert, zones, scheduler)]
    if alert.is_open:
        parts += _outlook(outlook, zones) if scheduler else []
        parts += ["", "What to look at:", *_hints(alert.times)]
    parts += ["", f"Open since {to_text(alert.since)}."]
    kind = _kind(alert)
    return NoticeText(
        id=_id(alert, kind),
        subject=_subject(alert, scheduler),
        body="\n".join(parts),
        scope=alert.scope,
        kind=kind,
    )


def in_words(at: datetime, zone: str | None) -> str:
    """An instant in a job's zone and in UTC.

    For example `2026-03-08 06:00 -0400 America/New_York (2026-03-08T10:00:00Z)`.
    """
    utc = _utc(at)
    try:
        local = at.astimezone(load_zone(zone)) if zone not in {None, "UTC"} else None
    except DefinitionError:
        local = None
    if local is None:
        return f"{utc} (UTC)"
    seconds = ":%S" if local.second else ""
    return f"{local.strftime(f'%Y-%m-%d %H:%M{seconds} %z')} {zone} ({utc})"


def _utc(at: datetime) -> str:
    return to_key(at.replace(microsecond=0))


def _kind(alert: Alert) -> str:
    if not alert.is_open:
        return "closed"
    return "reminder" if alert.reminders else "opened"


def _id(alert: Alert, kind: str) -> str:
    """Stable: made of what does not change until the notice is told."""
    number = {"closed": to_text(alert.closed_at or alert.since), "reminder": str(alert.reminders)}.get(kind)
    return f"{alert.scope}/{to_text(alert.since)}/{kind}" + (f"/{number}" if number else "")


def _subject(alert: Alert, scheduler: bool) -> str:
    """One line of at most 100 characters, which is what an e-mail's subject may have on SNS."""
    if not alert.is_open:
        what = {REMOVED: "Removed"}.get(alert.closed_because or "", "Acknowledged")
        what = "Recovered" if alert.closed_because == RECOVERED else what
        return "Recovered: the scheduler is back" if scheduler else f"{what}: {alert.scope}"
    again = "Reminder: " if alert.reminders else ""
    if scheduler:
        silent = [time for time in alert.times if time.trouble is Trouble.SILENT]
        return f"{again}Scheduler silent since {_utc((silent or alert.times)[-1].scheduled_at)}"
    newest = alert.times[-1]
    more = f" (+{alert.count - 1})" if alert.count > 1 else ""
    word = {Trouble.MISSED: "Missed", Trouble.FAILED: "Failed"}.get(newest.trouble, "Skipped")
    return f"{again}{word} {_utc(newest.scheduled_at)}{more}: {alert.scope}"[:100]


def _opening(alert: Alert, scheduler: bool) -> str:
    if not alert.is_open:
        if scheduler:
            return (
                "The scheduler completes its ticks again. What was missed is started late or recorded as "
                "skipped, by each job's own policy. A job that does not come back is told of by itself."
            )
        return f"The alert of job {alert.scope} is closed. {_ended(alert)}"
    if scheduler:
        return "The scheduler has not completed a tick for minutes: nothing is planned until it does."
    return f"Job {alert.scope} {'still needs' if alert.reminders else 'needs'} somebody to look at it."


def _ended(alert: Alert) -> str:
    act = alert.act
    if alert.closed_because != ACKNOWLEDGED or act is None:
        return _ENDED.get(alert.closed_because or "", "")
    return f"{act.by} has acknowledged it{f': {act.why}' if act.why else ''}."


def _times(alert: Alert, zones: Mapping[str, str], scheduler: bool) -> Iterable[str]:
    yield ""
    if alert.count > len(alert.times):
        yield f"{len(alert.times)} of {alert.count} times, the newest, failures before others:"
    for time in alert.times:
        if time.trouble is Trouble.SILENT:
            yield f"- {time.detail}"
            continue
        whose = f"{time.job}, " if scheduler else ""
        by_hand = f", started by hand as {time.suffix}" if time.suffix else ""
        when = in_words(time.scheduled_at, zones.get(time.job or alert.scope))
        yield f"- {whose}{when}{by_hand}: {_WORDS[time.trouble]}; {time.detail}"


def _outlook(outlook: Sequence[NextTime], zones: Mapping[str, str]) -> list[str]:
    if not outlook:
        return []
    lines = [f"- {coming.job}, {in_words(coming.at, zones.get(coming.job))}" for coming in outlook]
    return ["", "Not planned yet, and late or missed unless it comes back:", *lines]


def _hints(times: Iterable[TroubledTime]) -> list[str]:
    present = {time.trouble for time in times}
    return [f"- {hint}" for trouble, hint in _LOOK.items() if trouble in present]
