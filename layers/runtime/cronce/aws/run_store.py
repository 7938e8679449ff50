"""Run records, gaps and queue markers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from cronce.aws.attributes import INSTANT, TEXT, Item
from cronce.aws.calls import Answer, Calls, Verdict
from cronce.aws.due_index import BrokenEntry
from cronce.aws.items_run import read_gap, read_marker, read_run
from cronce.aws.keys import GAP, QUEUE, RUN, job_partition, key, marker_key, run_key
from cronce.aws.run_changes import LIVE, live_values, outcome_of, writes_of
from cronce.aws.writes import Changes, check, delete, update
from cronce.core.answers import Applied, DueEntry
from cronce.core.changes import RunChange
from cronce.core.errors import UnreadableItemError
from cronce.core.found import Found, Unread
from cronce.core.instants import to_key
from cronce.core.jobstate import Gap
from cronce.core.ports import Clock
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Notice, Reason, RunStatus

R = TypeVar("R", RunRecord, Gap)

TO_BE_TOLD = "#notice = :pending"
"""Nobody has told it yet, and no operator has brought the run back."""
WHERE_IT_WAS = "#due_kind = :kind AND #due_at = :was"
"""The item is where the index showed it: nobody has moved it meanwhile."""

#   a finish finds a marker and reads its run: not queued ... the run is queued again, which puts the marker
#   the finish deletes the marker: without this check a queued run would have none
NOT_QUEUED = "attribute_not_exists(#pk) OR #status <> :waiting OR #reason <> :queued"
"""The run of a marker is gone, or no longer queued."""

QUEUE_PAGE = 10
"""Markers read at a time: the first one is nearly always the answer."""
AFTER_EVERY_SUFFIX = "~"
"""Sorts behind the suffix of any manual run of the same second."""


class DynamoRunStore:
    """`RunStore` on both tables.

    Args:
        calls: the client's calls.
        runs: name of the runs table.
        steps: name of the steps table.
        clock: tells what has expired.
        retention: how long the record of a finished run is kept.
    """

    def __init__(self, calls: Calls, *, runs: str, steps: str, clock: Clock, retention: timedelta) -> None:
        self._calls = calls
        self._table = runs
        self._steps = steps
        self._clock = clock
        self._retention = retention

    def get(self, ref: RunRef) -> RunRecord | None:
        """One run, strong; one past its `forget_at` is absent."""
        item = self._calls.get(f"read run {ref.id}", self._table, run_key(ref))
        run = read_run(item) if item else None
        return run if run and self._is_kept(run) else None

    def get_many(self, refs: Sequence[RunRef]) -> dict[RunRef, RunRecord]:
        """Many runs, strong: a batch read for each hundred."""
        items = self._calls.get_many("read runs", self._table, [run_key(ref) for ref in refs])
        return {run.ref: run for run in self._readable(items, read_run, [])}

    def runs(self, job: str, since: datetime, until: datetime, limit: int) -> Found[RunRecord]:
        """Runs of a job by occurrence, newest first, strong."""
        first = since.replace(microsecond=0) + timedelta(seconds=1 if since.microsecond else 0)
        last = until.replace(microsecond=0)
        unread: list[Unread] = []
        if last < first:
            return Found(records=[], unread=unread)
        arguments = {
            "TableName": self._table,
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :first AND :last",
            "ConsistentRead": True,
            "ScanIndexForward": False,
            "Limit": limit,
            "ExpressionAttributeValues": {
                ":pk": {"S": job_partition(job)},
                ":first": {"S": f"{RUN}{to_key(first)}"},
                ":last": {"S": f"{RUN}{to_key(last)}{AFTER_EVERY_SUFFIX}"},
            },
        }
        items = self._calls.query(f"read runs of job {job}", arguments)
        readable = self._readable(items, read_run, unread)
        return Found(records=list(islice(readable, limit)), unread=unread)

    def gaps(self, job: str) -> Found[Gap]:
        """All gaps of a job, oldest first, strong, all pages."""
        operation = f"read gaps of job {job}"
        items = self._calls.beginning_with(operation, self._table, job_partition(job), GAP)
        unread: list[Unread] = []
        return Found(records=list(self._readable(items, read_gap, unread)), unread=unread)

    def apply(self, change: RunChange) -> Applied:
        """Write the change, in one transaction or, if only the run is in it, one plain write.

        Conditions: on the run ABSENT, SEEN or LIVE, by the guard, and UNASKED if it lets the worker's run go
        on; on the job its slots as read; SEEN on the
        woken run. Writes what differs between `before` and `after` and adds one to rev; slots; markers; the
        kept attempt. A reply that was lost: `RunChange.wrote` knows the own write on the run itself.
        """
        operation = f"write run {change.after.ref.id}"
        parts = writes_of(change, self._table, self._steps, self._retention)
        writes = [write for _, write in parts]
        if len(writes) == 1:
            answers: tuple[Answer, ...] = (self._calls.write(operation, writes[0]),)
        else:
            answers = self._calls.transact(operation, writes).answers
        return outcome_of(change, [(part, answer) for (part, _), answer in zip(parts, answers, strict=True)])

    def renew(self, claimed: RunRecord, claim_until: datetime) -> RunRecord | None:
        """Extend a claim.

        Condition: LIVE. Writes claim_until, adds one to rev. Returns the whole record as written, which
        brings an operator's request to stop. A reply that was lost: the condition still holds, and it is
        renewed again.
        """
        operation = f"renew run {claimed.ref.id}"
        changes = Changes(put={"claim_until": INSTANT.attribute(claim_until)}, add={"rev": 1})
        write = update(self._table, run_key(claimed.ref), changes, LIVE, live_values(claimed))
        answer = self._calls.settled(
            operation, lambda: self._calls.write(operation, write, returning="ALL_NEW")
        )
        return read_run(answer.item) if answer.verdict is Verdict.DONE and answer.item else None

    def first_queued(self, job: str) -> RunRecord | None:
        """The run of the first queue marker, strong; None: there is no marker.

        A marker whose run is gone or no longer queued is deleted, conditional on NOT_QUEUED of its run. A run
        that cannot be read is passed over: it must not stop those behind it.
        """
        operation = f"read the queue of job {job}"
        for item in self._calls.beginning_with(operation, self._table, job_partition(job), QUEUE, QUEUE_PAGE):
            try:
                ref = read_marker(item)
                run = self.get(ref)
            except UnreadableItemError:
                continue
            if run is not None and run.is_queued:
                return run
            self._drop_marker(ref)
        return None

    def mark_told(self, entry: DueEntry) -> bool:
        """Set `notice` of a run or gap from pending to told.

        Condition: TO_BE_TOLD. Writes notice, removes due_kind and due_at; adds one to rev of a run.
        """
        operation = f"mark {entry.pk} / {entry.sk} as told"
        changes = Changes(
            put={"notice": TEXT.attribute(Notice.TOLD)},
            remove=("due_kind", "due_at"),
            add={"rev": 1} if entry.sk.startswith(RUN) else {},
        )
        values = {":pending": TEXT.attribute(Notice.PENDING)}
        write = update(self._table, key(entry.pk, entry.sk), changes, TO_BE_TOLD, values)
        answer = self._calls.settled(operation, lambda: self._calls.write(operation, write))
        return answer.verdict is Verdict.DONE

    def set_aside(self, entry: DueEntry, due_at: datetime) -> bool:
        """Move an item to a later place in the index, by key alone.

        Condition: WHERE_IT_WAS. Writes due_at, nothing else: no other attribute can be relied on.
        A reply that was lost: the item is where this call puts it.
        """
        operation = f"set {entry.pk} / {entry.sk} aside"
        later = INSTANT.attribute(due_at)
        was = {"S": entry.due_text} if isinstance(entry, BrokenEntry) else INSTANT.attribute(entry.due_at)
        values: Item = {":kind": {"S": entry.kind.value}, ":was": was}
        write = update(
            self._table, key(entry.pk, entry.sk), Changes(put={"due_at": later}), WHERE_IT_WAS, values
        )
        answer = self._calls.settled(operation, lambda: self._calls.write(operation, write))
        return answer.verdict is Verdict.DONE or (answer.item or {}).get("due_at") == later

    def _drop_marker(self, ref: RunRef) -> None:
        """Delete an orphan marker. If anything changes meanwhile it stays, and the next one looks again."""
        values = {
            ":waiting": {"S": RunStatus.WAITING.value},
            ":queued": {"S": Reason.QUEUED.value},
        }
        self._calls.transact(
            f"delete the queue marker of {ref.id}",
            [
                delete(self._table, marker_key(ref)),
                check(self._table, run_key(ref), NOT_QUEUED, values),
            ],
        )

    def _is_kept(self, record: RunRecord | Gap) -> bool:
        return record.forget_at is None or record.forget_at > self._clock.now()

    def _readable(self, items: Iterable[Any], read: Callable[[Any], R], unread: list[Unread]) -> Iterator[R]:
        """The records of items, without those that have expired; what cannot be read is added to `unread`."""
        for item in items:
            try:
                record = read(item)
            except UnreadableItemError as error:
                job, sk = item["pk"]["S"].removeprefix("JOB#"), item["sk"]["S"]
                unread.append(Unread(job=job, sk=sk, problem=str(error)))
                continue
            if self._is_kept(record):
                yield record
