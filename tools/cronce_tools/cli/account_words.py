"""What became of an occurrence, in words and colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from cronce.core.accounting import Account
from cronce.core.jobstate import Gap, GapReason, JobState
from cronce.core.records import RunRecord
from cronce.core.verdicts import Verdict
from cronce_tools.cli.output import BAD, GOOD, QUIET, WAITS
from cronce_tools.cli.times import shown

OUTCOME_STYLES = {
    Verdict.RAN: GOOD,
    Verdict.LATE: "cyan",
    Verdict.FAILED: BAD,
    Verdict.CANCELLED: WAITS,
    Verdict.SKIPPED: WAITS,
    Verdict.MISSED: f"bold {BAD}",
    Verdict.OVERDUE: f"bold {BAD}",
    Verdict.STUCK: f"bold {BAD}",
    Verdict.UNDER_WAY: "blue",
    Verdict.DUE: "blue",
    Verdict.TO_COME: QUIET,
    Verdict.UNREADABLE: BAD,
    Verdict.NOT_BEGUN: QUIET,
    Verdict.UNRECORDED: QUIET,
}
GAPS = {
    GapReason.LATE: "it was later than the job's policy allows",
    GapReason.SUPERSEDED: "a newer time ran in its place",
    GapReason.PAUSED: "the job was paused",
    GapReason.REMOVED: "the job was not in the deployment",
    GapReason.REDEFINED: "another schedule took over",
    GapReason.CATCH_UP_LIMIT: "more was missed than the job catches up",
    GapReason.EXCLUDED: "the job's calendar excludes it",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Teller:
    """Puts accounts of a job into words.

    Attributes:
        state: the job.
        zone: whose clock is read.
        forgotten: before this nothing is kept.
    """

    state: JobState
    zone: str
    forgotten: datetime

    def lines(self, accounts: Sequence[Account]) -> Iterator[tuple[str, Verdict]]:
        """One line for each occurrence; one for several in a row that the same holds for.

        Args:
            accounts: ascending.
        """
        for (why, outcome), group in groupby(accounts, key=lambda each: (self._why(each), each.outcome)):
            times = list(group)
            count = sum(account.count for account in times)
            when = shown(times[0].at, self.zone)
            if len(times) > 1:
                when = f"{when} to {shown(times[-1].at, self.zone)}, {count} times:"
            yield f"{when} {outcome.replace('_', ' ')}{why}", outcome

    def _why(self, account: Account) -> str:
        if account.run is not None:
            return f": {self._of_run(account.run)}"
        if account.gap is not None:
            return f"({account.gap.reason.value}): {self._of_gap(account.gap)}"
        if account.unread is not None:
            return f": {account.unread.problem}"
        return f": {self._without_record(account)}"

    def _of_gap(self, gap: Gap) -> str:
        if gap.count == 1:
            return GAPS[gap.reason]
        ends = f"{shown(gap.first, self.zone)} to {shown(gap.last, self.zone)}"
        return f"{GAPS[gap.reason]}; in a gap of {gap.count} times from {ends}"

    def _of_run(self, run: RunRecord) -> str:
        reason = f"({run.reason.value})" if run.reason else ""
        parts = [f"{run.ref.id} {run.status.value}{reason}"]
        if run.status.is_final:
            parts.append(f"at {shown(run.ended_at, self.zone)}")
        elif run.attempt:
            parts.append(f"attempt {run.attempt} of {run.max_attempts}")
        if run.act:
            parts.append(
                f"{run.act.what.value} by {run.act.by}" + (f" ({run.act.why})" if run.act.why else "")
            )
        if run.error:
            parts.append(" ".join(run.error.split()))
        return ", ".join(parts)

    def _without_record(self, account: Account) -> str:
        if self.state.removed_at and account.at > self.state.planned_to:
            return f"the job is not in the deployment since {shown(self.state.removed_at, self.zone)}"
        if account.outcome is Verdict.TO_COME:
            return "its time has not come"
        if account.outcome is Verdict.NOT_BEGUN:
            return f"before this job began (planned after {shown(self.state.began_at, self.zone)})"
        if account.outcome is Verdict.UNRECORDED:
            if account.at < self.forgotten:
                return "records of that time are not kept any more"
            return "there is no record: the job was not planned then, or by another schedule"
        if self.state.paused:
            why = f" ({self.state.paused.why})" if self.state.paused.why else ""
            return f"the job is paused by {self.state.paused.by}{why}; resuming it decides what becomes of it"
        if self.state.held:
            return f"no tick has planned it: the job is held ({self.state.held.value})"
        return "no tick has planned it yet"
