"""What people are told: the text of a notice, from an alert.

Its first two lines say everything to somebody who reads them on a phone at night: what happened to which job
of which stack, at which time (in the job's zone and in UTC), how far it came, and which setting was broken.
Then come all times that the alert lists, where to look, and what to do, as commands that can be copied. Its
id follows from stack and alert alone, so the same notice published twice can be recognised.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cronce.core.alerting import ACKNOWLEDGED, RECOVERED, REMOVED
from cronce.core.alerts import SCHEDULER, SUBJECT_LIMIT, Alert, NoticeText, Trouble
from cronce.core.background import Background
from cronce.core.durations import duration_text
from cronce.core.errors import DefinitionError
from cronce.core.instants import to_key, to_text
from cronce.core.records import RunRecord, StepStatus
from cronce.core.remedies import remedies
from cronce.core.run import Reason, RunStatus
from cronce.core.zones import load_zone

OUTLOOK = 50
"""Times named in the notice about a silent scheduler: what is due and what comes next."""
SHORTEST_NAME = 8
"""Characters of a stack's name that say anything; with room for fewer a subject goes without it."""

_WORDS = {
    Trouble.MISSED: "missed",
    Trouble.FAILED: "failed",
    Trouble.LATE: "skipped as too late",
    Trouble.CATCH_UP_LIMIT: "skipped, too many were missed",
    Trouble.OVERLAP: "skipped for overlap",
    Trouble.SILENT: "scheduler silent",
}
_SHORT = {Trouble.MISSED: "missed", Trouble.FAILED: "failed"}
_ENDED = {
    RECOVERED: "Every time listed here succeeded in the end, or a later scheduled run did.",
    REMOVED: "The job is no longer part of the deployment. Its records are kept.",
}
_ENDS = {RECOVERED: "Recovered", REMOVED: "Removed", ACKNOWLEDGED: "Acknowledged"}


def notice_of(alert: Alert, known: Background) -> NoticeText:
    """The notice that an alert owes in its present state.

    Args:
        alert: as it stands.
        known: what to say beside it.
    """
    scheduler = alert.scope == SCHEDULER
    parts = [*(_of_scheduler if scheduler else _of_job)(alert, known)]
    if scheduler or alert.count > 1:
        parts += ["", *_times(alert, known, scheduler)]
    if alert.is_open:
        parts += _outlook(known) if scheduler else []
        parts += ["", *remedies(alert, known)]
    parts += ["", f"Open since {to_text(alert.since)}."]
    kind = _kind(alert)
    return NoticeText(
        id=_id(alert, kind, known.stack),
        subject=_subject(alert, scheduler, known.stack),
        body="\n".join(parts),
        scope=alert.scope,
        kind=kind,
        stack=known.stack,
        trouble=alert.newest.trouble.value,
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


def _id(alert: Alert, kind: str, stack: str) -> str:
    """Stable: made of what does not change until the notice is told."""
    number = {"closed": to_text(alert.closed_at or alert.since), "reminder": str(alert.reminders)}.get(kind)
    return f"{stack}/{alert.scope}/{to_text(alert.since)}/{kind}" + (f"/{number}" if number else "")


def _subject(alert: Alert, scheduler: bool, stack: str) -> str:
    """One line that fits into an e-mail's subject; of what is too long the stack's name is cut first."""
    if not alert.is_open:
        what = "the scheduler is back" if scheduler else alert.scope
        return _fitted(f"{_ends(alert)}: ", what, "", stack)
    again = "Still " if alert.reminders else ""
    at = _utc(alert.newest.scheduled_at)
    if scheduler:
        return _fitted("", "Scheduler", f" {again.lower()}silent since {at}", stack)
    more = f" (+{alert.count - 1})" if alert.count > 1 else ""
    word = _SHORT.get(alert.newest.trouble, "skipped")
    return _fitted(_capital(f"{again}{word}: "), alert.scope, f" {at}{more}", stack)


def _fitted(before: str, name: str, after: str, stack: str) -> str:
    line = f"{before}{_cut(name, SUBJECT_LIMIT - len(before) - len(after))}{after}"
    room = SUBJECT_LIMIT - len(line) - len(" in ")
    return f"{line} in {_cut(stack, room)}" if room >= min(len(stack), SHORTEST_NAME) else line


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 2]}.."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ends(alert: Alert) -> str:
    return _ENDS.get(alert.closed_because or "", "Closed")


def _of_scheduler(alert: Alert, known: Background) -> Iterator[str]:
    if alert.is_open:
        since = _utc(alert.newest.scheduled_at)
        yield f"Scheduler silent: in {known.stack} no tick has completed since {since}."
        yield "Nothing is planned, woken or started again until one does. All jobs are concerned."
    else:
        yield f"Recovered: the scheduler of {known.stack} completes its ticks again."
        yield (
            "What was missed is started late or recorded as skipped, by each job's own policy. "
            "A job that does not come back is told of by itself."
        )


def _of_job(alert: Alert, known: Background) -> Iterator[str]:
    time = alert.newest
    when = in_words(time.scheduled_at, known.zone(alert.scope))
    by_hand = f", started by hand as {time.suffix}" if time.suffix else ""
    more = f", and {alert.count - 1} more" if alert.count > 1 else ""
    if not alert.is_open:
        yield f"{_ends(alert)}: {alert.scope} in {known.stack}. {_why_closed(alert)}"
        yield f"It was about {when}{by_hand}{more}: {_WORDS[time.trouble]}."
        return
    word = _capital(f"{'still ' if alert.reminders else ''}{_WORDS[time.trouble]}")
    yield f"{word}: {alert.scope} in {known.stack}, {when}{by_hand}{more}."
    broken = _broken(alert, known)
    asked = _asked(known.newest_run(alert))
    yield f"{_capital(time.detail)}.{asked}" + (f" Setting broken: {broken}." if broken else "")
    done = next((step for step in reversed(known.steps) if step.status is StepStatus.DONE), None)
    if done:
        items = f" ({done.items} items)" if done.items is not None else ""
        yield f"Last step finished: {done.name}{items}, {_utc(done.at)}."


def _asked(run: RunRecord | None) -> str:
    """How often the sweep has asked for an executor of a run that waits for one."""
    if run is None or run.status is not RunStatus.PENDING or not run.dispatches:
        return ""
    often = "once" if run.dispatches == 1 else f"{run.dispatches} times"
    return f" The scheduler has asked {often} by now."


def _broken(alert: Alert, known: Background) -> str | None:
    """Which of a job's two settings of time was broken, and what it is; of what cannot be read, neither."""
    run, state, trouble = known.newest_run(alert), known.jobs.get(alert.scope), alert.newest.trouble
    if trouble is Trouble.MISSED and (run is not None or known.never_planned(alert)):
        return f"grace {duration_text(state.grace)}" if state else "grace"
    if trouble is Trouble.FAILED and run is not None and run.reason is Reason.TIMEOUT:
        return f"timeout {duration_text(run.timeout)}"
    return None


def _why_closed(alert: Alert) -> str:
    act = alert.act
    if alert.closed_because != ACKNOWLEDGED or act is None:
        return _ENDED.get(alert.closed_because or "", "")
    return f"{act.by} has acknowledged it{f': {act.why}' if act.why else ''}."


def _times(alert: Alert, known: Background, scheduler: bool) -> Iterator[str]:
    if alert.count > len(alert.times):
        yield f"{len(alert.times)} of {alert.count} times, the newest, failures before others:"
    for time in alert.times:
        if time.trouble is Trouble.SILENT:
            yield f"- {time.detail}"
            continue
        whose = f"{time.job}, " if scheduler else ""
        by_hand = f", started by hand as {time.suffix}" if time.suffix else ""
        when = in_words(time.scheduled_at, known.zone(time.job or alert.scope))
        yield f"- {whose}{when}{by_hand}: {_WORDS[time.trouble]}; {time.detail}"


def _outlook(known: Background) -> list[str]:
    if not known.outlook:
        return []
    lines = [f"- {coming.job}, {in_words(coming.at, known.zone(coming.job))}" for coming in known.outlook]
    return ["", "Not planned yet, and late or missed unless it comes back:", *lines]
