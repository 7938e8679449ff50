"""The life of an alert: it opens, grows, is told, closes, is told, and may open again.

Guaranteed: an alert that opened is told, whatever dies in between: a notice is owed from the write that opens
(or closes) the alert until the write that says it was published. Publishing comes between two conditional
writes (`sending_until`, then `notified_at`), so two watchdogs rarely tell the same thing; if they do, or if
one dies in between, it carries the same id. An alert does not close before its opening was told.

An alert that stays open is told again after 1, 2, 4, 8 and 16 hours, then every 16 to 24 hours, with what it
lists by then: until it closes, or somebody acknowledges it.

Not guaranteed: notices exactly once. Nor that a count is exact to the last one of more than fifty: an end
that a patrol has listed, and died before it could mark it as told, is counted again if it is not listed any
more.

Formula: a notice is owed while `notified_at` is None and `due_at <= now`. Closing, a reminder that is due,
and opening again, set `notified_at` to None; opening again within `REOPEN_WITHIN` of closing is the same
outage and puts `due_at` an hour ahead, so that it is told only if it lasts. Once told, an open alert is due
again after as long as it has been open, at least `FIRST_REMINDER`, at most `LONGEST_PAUSE`.

Failure cases: the publisher dies before or after publishing -> `sending_until` passes, the next patrol
publishes again; publishing fails -> it is given back at once; two watchdogs write one alert -> the second
write is refused by `rev`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cronce.core.alerts import TIMES_KEPT, Alert, Trouble, TroubledTime
from cronce.core.health import Finding
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Reason, RunStatus

REOPEN_WITHIN = timedelta(hours=1)
"""Opened again so soon after closing, it is the same outage."""
FIRST_REMINDER = timedelta(hours=1)
"""An alert that stands for so long is told again."""
LONGEST_PAUSE = timedelta(hours=24)
"""Between two reminders: a person who comes to work daily hears of it daily."""
SENDING = timedelta(seconds=50)
"""How long a publisher has. Longer than a patrol may take (45 s), shorter than the minute until the next
one."""
KEPT_AFTER_CLOSING = timedelta(days=32)
"""No run stays unfinished for longer (30 days): what an alert has told is not told again as long as it
lasts."""

SILENCES_KEPT = 10
"""Of a scheduler that falls silent again and again, the newest silences."""

RECOVERED, REMOVED, ACKNOWLEDGED = "recovered", "removed", "acknowledged"

_Key = tuple[str, datetime, str]
_WORTH = {Trouble.MISSED: 0, Trouble.FAILED: 2}
# Of too many times those worth least go first; any other trouble is between these two.
_SETTLED_SKIPS = frozenset({Reason.EXCLUDED, Reason.SAME_LOCAL_TIME})


def with_findings(
    alert: Alert | None, scope: str, findings: Sequence[Finding], now: datetime
) -> Alert | None:
    """The alert with what a patrol found: opened, grown, opened again, or as it was (the very object)."""
    if alert is not None and alert.is_open:
        return _grown(alert, findings)
    if not any(alert is None or _is_news(alert, finding) for finding in findings):
        return alert
    if alert is None or alert.closed_at is None:
        return _opened(scope, findings, now)
    if owes_notice(alert, now) and alert.sending_until is None:
        # Nobody was told that it had closed: it simply stayed open.
        again = replace(alert, notified_at=alert.since)
    elif now - alert.closed_at <= REOPEN_WITHIN:
        again = replace(alert, notified_at=None, reminders=alert.reminders + 1)
    else:
        return replace(_opened(scope, findings, now), rev=alert.rev)
    standing = replace(again, closed_at=None, closed_because=None, sending_until=None, forget_at=None)
    return _grown(replace(standing, due_at=now + FIRST_REMINDER), findings)


def closed(alert: Alert, because: str, now: datetime) -> Alert:
    """The alert once it is over; its end is told unless nobody can have been told that it stood.

    Args:
        alert: an open one.
        because: "recovered", "acknowledged" or "removed".
        now: the present.
    """
    reminds = alert.reminders > 0 and owes_notice(alert, now)
    known = alert.notified_at is not None or alert.sending_until is not None or reminds
    return replace(
        alert,
        closed_at=now,
        closed_because=because,
        due_at=now if known else None,
        notified_at=None,
        sending_until=None,
        forget_at=now + KEPT_AFTER_CLOSING,
    )


def may_close(alert: Alert, now: datetime) -> bool:
    """Whether an alert can be closed: it is open, and what it owes was told."""
    return alert.is_open and not owes_notice(alert, now)


def needs_reminder(alert: Alert, now: datetime) -> bool:
    """Whether an open alert was told so long ago that people must be reminded."""
    told_before = alert.is_open and alert.notified_at is not None
    return told_before and alert.due_at is not None and alert.due_at <= now


def reminding(alert: Alert) -> Alert:
    """The alert once it owes a reminder."""
    return replace(alert, notified_at=None, reminders=alert.reminders + 1)


def newest_trouble(alert: Alert, listed: Mapping[RunRef, RunRecord]) -> datetime | None:
    """The newest listed time that is not good by now; None if all are.

    Args:
        alert: of a job.
        listed: the runs of the listed times, as far as there are any.
    """
    refs = (ref_of(time, alert.scope) for time in alert.times)
    troubled = (ref.scheduled_at for ref in refs if ref not in listed or not _is_good(listed[ref]))
    return max(troubled, default=None)


def is_settled(alert: Alert, listed: Mapping[RunRef, RunRecord], later: Iterable[RunRecord]) -> bool:
    """Whether every listed time was made good, or a later scheduled run succeeded, itself listed or not.

    A success counts as later if its time is later than every listed one that is not good, and if it ended
    after those had: a backfill of last month that fails is not made good by yesterday's run.

    Args:
        alert: of a job.
        listed: the runs of the listed times, as far as there are any.
        later: runs of the job after its newest trouble.
    """
    newest = newest_trouble(alert, listed)
    if newest is None:
        return True
    ends = [run.ended_at for run in listed.values() if run.ended_at is not None and not _is_good(run)]
    return any(
        run.status is RunStatus.SUCCEEDED
        and run.is_scheduled
        and run.ref.scheduled_at > newest
        and (not ends or (run.ended_at is not None and run.ended_at >= max(ends)))
        for run in (*listed.values(), *later)
    )


def ref_of(time: TroubledTime, scope: str) -> RunRef:
    """The run that a listed time of a job's alert would be."""
    return RunRef(time.job or scope, time.scheduled_at, time.suffix)


def newest_of(alert: Alert | None, job: str) -> datetime | None:
    """The newest time of a job that an open alert lists; None if it lists none."""
    if alert is None or not alert.is_open:
        return None
    return max(
        (time.scheduled_at for time in alert.times if time.job == job and not time.suffix), default=None
    )


def lists_any(alert: Alert, *troubles: Trouble) -> bool:
    """Whether an alert lists a time with one of these troubles."""
    return any(time.trouble in troubles for time in alert.times)


def owes_notice(alert: Alert, now: datetime) -> bool:
    """Whether its present state must be told and was not."""
    return alert.notified_at is None and alert.due_at is not None and alert.due_at <= now


def may_send(alert: Alert, now: datetime) -> bool:
    """Whether a notice is owed and nobody is publishing it at this moment."""
    return owes_notice(alert, now) and (alert.sending_until is None or alert.sending_until <= now)


def sending(alert: Alert, now: datetime) -> Alert:
    """The alert while its notice is being published."""
    return replace(alert, sending_until=now + SENDING)


def not_told(alert: Alert) -> Alert:
    """The alert after publishing failed: the next patrol tries again."""
    return replace(alert, sending_until=None)


def told(alert: Alert, now: datetime) -> Alert:
    """The alert once its notice is out: an open one is looked at again, a closed one leaves the index."""
    pause = min(max(now - alert.since, FIRST_REMINDER), LONGEST_PAUSE)
    due_at = now + pause if alert.is_open else None
    return replace(alert, notified_at=now, sending_until=None, due_at=due_at)


def _opened(scope: str, findings: Sequence[Finding], now: datetime) -> Alert:
    return _grown(Alert(scope=scope, since=now, times=(), count=0, due_at=now), findings)


def _grown(alert: Alert, findings: Sequence[Finding]) -> Alert:
    """The alert with the findings listed: a time that it knows is brought up to date, a new one counted."""
    times = {_key(time): time for time in alert.times}
    forgotten = alert.count - len(times) if _is_full(alert) else 0
    count = alert.count
    for finding in findings:
        key, known = _key(finding.time), times.get(_key(finding.time))
        if known is None and _was_forgotten(alert, finding):
            continue
        if finding.count > 1 and (known is None or known.trouble is not finding.time.trouble):
            covered = [other for other, time in times.items() if _covers(finding, time)]
            count -= min(len(covered) + (forgotten if _is_older(finding.time, alert) else 0), finding.count)
            count += finding.count
            for other in covered:
                del times[other]
        elif known is None:
            count += 1
        if known is None or known.trouble is not Trouble.FAILED or finding.last is None:
            times[key] = finding.time
        else:  # a run that failed outranks the gap that begins with its time, and is counted already
            count -= finding.count > 1
    kept = _kept(times.values())
    return alert if (kept, count) == (alert.times, alert.count) else replace(alert, times=kept, count=count)


def _kept(times: Iterable[TroubledTime]) -> tuple[TroubledTime, ...]:
    """The times that are kept, oldest first.

    What the scheduler's alert is about is not crowded out. Nor is an end, which comes once, by times that are
    found again and again: a failure stays longest. The newest of each trouble stays in any case, so the last
    one listed is the newest of all, and what was cut as missed is older than what is listed as missed.
    """
    ordered = sorted(times, key=_order)
    silences = [time for time in ordered if time.trouble is Trouble.SILENT][-SILENCES_KEPT:]
    others = [time for time in ordered if time.trouble is not Trouble.SILENT]
    newest = {time.trouble: time for time in others}
    by_worth = sorted(others, key=lambda time: (time is newest[time.trouble], _WORTH.get(time.trouble, 1)))
    return tuple(sorted([*silences, *by_worth[len(silences) - TIMES_KEPT :]], key=_order))


def _is_news(alert: Alert, finding: Finding) -> bool:
    """Whether a closed alert opens again: for a new time, one that fails after all, or ends once more."""
    known = {_key(time): time for time in alert.times}.get(_key(finding.time))
    if known is None:
        return not _was_forgotten(alert, finding)
    if known.trouble is not Trouble.FAILED and known.ended_at is None:  # it was missed, or begins a gap
        return finding.time.trouble is Trouble.FAILED
    ended, before = finding.time.ended_at, known.ended_at
    return ended is not None and before is not None and ended > before


def _was_forgotten(alert: Alert, finding: Finding) -> bool:
    """Whether the time is one that an alert counts and no longer lists: older than what it lists as missed.

    Only what is found again and again can be one. An end is found until it is told, so it is new.
    """
    lists_missed = any(time.trouble is Trouble.MISSED for time in alert.times)  # the newest one always stays
    missed = finding.time.trouble is Trouble.MISSED
    return missed and lists_missed and _is_full(alert) and _is_older(finding.time, alert)


def _is_full(alert: Alert) -> bool:
    return len(alert.times) == TIMES_KEPT and alert.count > TIMES_KEPT


def _is_older(time: TroubledTime, alert: Alert) -> bool:
    """Whether a time comes before all that an alert lists as missed (before all, if nothing is)."""
    others = [other for other in alert.times if other.trouble is not Trouble.SILENT]
    missed = [other for other in others if other.trouble is Trouble.MISSED]
    listed = [_order(other) for other in missed or others]
    return bool(listed) and time.trouble is not Trouble.SILENT and _order(time) < listed[0]


def _covers(finding: Finding, time: TroubledTime) -> bool:
    """Whether a stretch of skipped times contains a time that was listed as missed."""
    return (
        time.trouble is Trouble.MISSED
        and (time.job, time.suffix) == (finding.time.job, "")
        and finding.time.scheduled_at <= time.scheduled_at <= (finding.last or finding.time.scheduled_at)
    )


def _is_good(run: RunRecord) -> bool:
    """Whether nobody need look at the run any more: it succeeded, was cancelled, or was not meant to run."""
    if run.status is RunStatus.SKIPPED:
        return run.reason in _SETTLED_SKIPS
    return run.status in {RunStatus.SUCCEEDED, RunStatus.CANCELLED}


def _key(time: TroubledTime) -> _Key:
    return time.job, time.scheduled_at, time.suffix


def _order(time: TroubledTime) -> tuple[datetime, str, str]:
    """By time; many jobs may be late at one instant, and of those some are kept and some are not."""
    return time.scheduled_at, time.job, time.suffix
