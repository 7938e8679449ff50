"""What became of each occurrence in a stretch of time: the answer to "did it run on the 14th?".

Guaranteed: every occurrence of the schedule in force, every scheduled run and every gap within the stretch is
in exactly one answer, and the answer says what the ledger says. What the ledger holds outranks the schedule,
which may have changed since: a run is answered for at its own time, and a run inside a gap by the run.

What cannot be read is not passed over: its times are unreadable (`core.found`), if nothing else accounts for
them.

Formula, for an occurrence without run and gap: after `now` it is to come; after `planned_to` it is due, and
missed once its grace is over (never while the job is paused, and
skipped if it was removed); up to `planned_to` the job had not begun yet (before a tick first saw it), or the
ledger should know it and does not (unrecorded). The last happens where another schedule was in force, or when
the record was forgotten or lost.

Not guaranteed: that a time which an earlier schedule named is found. Its run or gap is; the time alone is
not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from cronce.core import verdicts
from cronce.core.found import Unread, accounting_for
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import RunRecord
from cronce.core.schedule import Schedule
from cronce.core.values import dataclass
from cronce.core.verdicts import Verdict

_STRICTLY = timedelta(seconds=1)
# Occurrences are whole seconds, and windows of schedules leave their start out.


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """What became of one occurrence.

    Attributes:
        at: the occurrence. Of a gap whose times the schedule does not name: the first in the stretch.
        outcome: what became of it.
        run: its run, if it has one.
        gap: the gap that it lies in, if it has no run.
        unread: what cannot be read and is, or may be, its entry.
        count: how many occurrences it stands for: more than one only for a gap whose times are not known. Of
            one that reaches beyond what was asked, as many as surely lie within.
    """

    at: datetime
    outcome: Verdict
    run: RunRecord | None = None
    gap: Gap | None = None
    unread: Unread | None = None
    count: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Books:
    """What the ledger and the schedule say of a job.

    Attributes:
        state: the job.
        schedule: in force; None if the stored one cannot be read any more.
        runs: its runs in the stretch; manual ones are for no occurrence and are passed over.
        gaps: its gaps.
        unread: what cannot be read among its runs and gaps.
        now: the present.
    """

    state: JobState
    schedule: Schedule | None
    runs: Sequence[RunRecord]
    gaps: Sequence[Gap]
    unread: Sequence[Unread] = ()
    now: datetime

    def accounts(self, start: datetime, end: datetime) -> list[Account]:
        """One answer for each occurrence, oldest first.

        Args:
            start: included, whole seconds.
            end: excluded.
        """
        runs = {run.ref.scheduled_at: run for run in self.runs if not run.ref.suffix}
        named = self.schedule.between(start - _STRICTLY, end - _STRICTLY) if self.schedule else []
        at_keys = {one.run.scheduled_at for one in self.unread if one.run and not one.run.suffix}
        times = {*named, *(at for at in {*runs, *at_keys} if start <= at < end)}
        gaps = [gap for gap in self.gaps if gap.first < end and gap.last >= start]
        found = [self._account(at, runs.get(at), gaps) for at in times]
        found += self._unnamed(gaps, times, start, end)
        return sorted(found, key=lambda account: account.at)

    def _account(self, at: datetime, run: RunRecord | None, gaps: Sequence[Gap]) -> Account:
        if run is not None:
            return Account(at=at, outcome=verdicts.of_run(run, self.state.grace, self.now), run=run)
        gap = next((gap for gap in gaps if gap.first <= at <= gap.last), None)
        if gap is not None:
            return Account(at=at, outcome=Verdict.SKIPPED, gap=gap)
        unread = accounting_for(self.unread, at) if at <= self.now else None
        if unread is not None:
            return Account(at=at, outcome=Verdict.UNREADABLE, unread=unread)
        return Account(at=at, outcome=verdicts.of_unplanned(at, self.state, self.now))

    def _unnamed(
        self, gaps: Sequence[Gap], times: set[datetime], start: datetime, end: datetime
    ) -> Iterator[Account]:
        """Gaps none of whose times the schedule names any more."""
        for gap in gaps:
            if not any(gap.first <= at <= gap.last for at in times):
                at = max(gap.first, start)
                inside = sum(start <= edge < end for edge in {gap.first, gap.last})
                count = gap.count if start <= gap.first and gap.last < end else max(inside, 1)
                yield Account(at=at, outcome=Verdict.SKIPPED, gap=gap, count=count)
        for unread in self.unread:
            first, last = unread.stretch or (end, start)
            if first < end and last >= start and not any(first <= at <= last for at in times):
                yield Account(at=max(first, start), outcome=Verdict.UNREADABLE, unread=unread)


def ran(accounts: Sequence[Account]) -> bool:
    """Whether every occurrence ran; none at all is a no."""
    return bool(accounts) and all(account.outcome.is_success for account in accounts)
