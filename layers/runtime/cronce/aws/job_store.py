"""Job items."""

from __future__ import annotations

from collections.abc import Sequence

from cronce.aws.attributes import COUNT, read_attribute
from cronce.aws.calls import Calls, Verdict
from cronce.aws.items_job import read_job
from cronce.aws.keys import job_key
from cronce.aws.writes import Changes, update
from cronce.core.answers import JobReads
from cronce.core.errors import UnreadableItemError
from cronce.core.jobstate import JobState

HAS_TOKEN = "attribute_exists(#fencing_token)"  # noqa: S105 - a condition, no secret
"""The job item is there, and whole enough to hand out tokens: one that began anew at 1 would not be
higher."""


class DynamoJobStore:
    """`JobStore` on the runs table.

    Args:
        calls: the client's calls.
        table: name of the runs table.
    """

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

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
