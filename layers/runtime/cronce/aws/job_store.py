"""Job items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from cronce.aws.attributes import COUNT, read_attribute
from cronce.aws.calls import Answer, Calls, Verdict
from cronce.aws.items_job import PLANNING_FORMS, planning_item, read_job
from cronce.aws.items_run import GAP_FORMS, gap_item
from cronce.aws.items_step import act_item
from cronce.aws.keys import gap_key, job_key
from cronce.aws.writes import Changes, Write, as_read, delete, put, update
from cronce.core.answers import Applied, JobReads
from cronce.core.errors import UnreadableItemError
from cronce.core.job_change import JobChange
from cronce.core.jobstate import JobState

HAS_TOKEN = "attribute_exists(#fencing_token)"  # noqa: S105 - a condition, no secret
"""The job item is there, and whole enough to hand out tokens: one that began anew at 1 would not be
higher."""


class DynamoJobStore:
    """`JobStore` on the runs table; acts of operators that are displaced go to the steps table.

    Args:
        calls: the client's calls.
        runs: name of the runs table.
        steps: name of the steps table.
        retention: how long the record of a finished run is kept.
    """

    def __init__(self, calls: Calls, *, runs: str, steps: str, retention: timedelta) -> None:
        self._calls = calls
        self._table = runs
        self._steps = steps
        self._retention = retention

    def get(self, name: str) -> JobState | None:
        """One job, strong."""
        item = self._calls.get(f"read job {name}", self._table, job_key(name))
        return read_job(item) if item else None

    def get_many(self, names: Sequence[str]) -> JobReads:
        """Many jobs, strong: a batch read for each hundred."""
        states: dict[str, JobState] = {}
        unreadable: dict[str, str] = {}
        keys = [job_key(name) for name in names]
        for item in self._calls.get_many("read jobs", self._table, keys):
            try:
                state = read_job(item)
            except UnreadableItemError as error:
                unreadable[item["pk"]["S"].removeprefix("JOB#")] = str(error)
            else:
                states[state.name] = state
        return JobReads(states=states, unreadable=unreadable)

    def change(self, change: JobChange) -> Applied:
        """Write what an operator makes of a job, in one transaction or, if only the job is in it, one write.

        Conditions: every attribute of PLANNING_FORMS as read on the job, of GAP_FORMS on each gap. Writes
        what differs of the job's planning part; deletes the gaps; puts the displaced act. A reply that was
        lost: the job is as this call writes it, the operator's act included.
        """
        operation = f"change job {change.after.name}"
        writes = self._writes(change)
        if len(writes) == 1:
            answers: tuple[Answer, ...] = (self._calls.write(operation, writes[0]),)
        else:
            answers = self._calls.transact(operation, writes).answers
        verdicts = {answer.verdict for answer in answers}
        if Verdict.FAILED in verdicts:
            return Applied.DONE if _wrote(change, answers[0].item) else Applied.JOB_MOVED
        return Applied.CONFLICT if Verdict.AGAIN in verdicts else Applied.DONE

    def _writes(self, change: JobChange) -> list[Write]:
        read = planning_item(change.before)
        changes = Changes.between(read, planning_item(change.after))
        condition, values = as_read(read, PLANNING_FORMS)
        writes = [update(self._table, job_key(change.after.name), changes, condition, values)]
        for gap in change.gaps:
            condition, values = as_read(gap_item(gap), GAP_FORMS)
            writes.append(delete(self._table, gap_key(gap), condition, values))
        if change.past_act:
            writes.append(put(self._steps, act_item(change.past_act, self._retention)))
        return writes

    def next_token(self, name: str) -> int | None:
        """Add one to the job's fencing token and return it.

        Condition: HAS_TOKEN. Adds one to fencing_token, nothing else. A reply that was lost burns a token.

        Raises:
            UnreadableItemError: the job item has no token.
        """
        operation = f"next token of job {name}"
        write = update(self._table, job_key(name), Changes(add={"fencing_token": 1}), HAS_TOKEN)
        answer = self._calls.settled(
            operation, lambda: self._calls.write(operation, write, returning="ALL_NEW")
        )
        if answer.item is None:
            return None
        token: int = read_attribute(answer.item, "fencing_token", COUNT)
        return token if answer.verdict is Verdict.DONE else None


def _wrote(change: JobChange, item: Mapping[str, Any] | None) -> bool:
    """Whether the job on which the condition failed is this very change, written before."""
    try:
        return item is not None and change.wrote(read_job(item))
    except UnreadableItemError:
        return False
