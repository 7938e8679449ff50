"""Finds runs by state and time, over all jobs.

The `due` index is asked only where to look for unfinished runs; what it names is read again, strongly. So no
run is shown in a state that it is not in, and one that was born a moment ago may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TypeVar

from cronce.core.errors import UnreadableItemError
from cronce.core.found import RUN, Found, Unread
from cronce.core.occurrences import EPOCH
from cronce.core.ports import Clock, DueIndex, RegistryStore, RunStore
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import DueKind, RunStatus
from cronce.core.values import dataclass
from cronce.core.verdicts import claim_is_over

AT_ONCE = 16
"""Jobs that are looked at side by side: a call takes some ten milliseconds, and there may be a thousand
jobs."""
PAGE = 500
"""Runs of a job that are read at a time while those of some states are looked for."""
ENTRIES = 100_000
"""Lines of the index that are read."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""The scheduler's clock may be ahead of the one here: its newest run is not overlooked."""
UNFINISHED = {
    RunStatus.PENDING: (DueKind.PENDING,),
    RunStatus.RUNNING: (DueKind.RUNNING,),
    RunStatus.WAITING: (DueKind.WAITING, DueKind.QUEUED),
}
"""The partitions of the index that name the runs in a state."""

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """Which runs are looked for.

    Attributes:
        job: of this one; None: of all jobs.
        statuses: in one of these states; none: in any.
        since: not older than this; None: however old.
        until: older than this; None: up to the present.
        limit: the newest so many.
    """

    job: str | None = None
    statuses: frozenset[RunStatus] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    limit: int

    def wants(self, run: RunRecord, now: datetime) -> bool:
        """Whether it is one of them. RUNNING is only what somebody stands behind."""
        if self.since is not None and run.ref.scheduled_at < self.since:
            return False
        if self.until is not None and run.ref.scheduled_at >= self.until:
            return False
        return not self.statuses or (run.status in self.statuses and not claim_is_over(run, now))


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSearch:
    """Where runs are looked for.

    Attributes:
        registry: which jobs there are.
        runs: the runs.
        index: where those are that have not ended.
        clock: the present.
    """

    registry: RegistryStore
    runs: RunStore
    index: DueIndex
    clock: Clock

    def find(self, search: Search) -> Found[RunRecord]:
        """Runs, newest first, and what was met on the way that cannot be read: it may be one of them.

        Runs that have not ended are found whatever their age, also those of jobs that are gone. Of all jobs
        means, for the others, of those in the deployment.
        """
        unfinished = bool(search.statuses) and search.statuses <= UNFINISHED.keys()
        found = self._unfinished(search) if unfinished else self._by_jobs(search)
        now = self.clock.now()
        wanted = [run for run in found.records if search.wants(run, now)]
        newest = sorted(wanted, key=lambda run: (run.ref.key, run.ref.job), reverse=True)
        return Found(records=newest[: search.limit], unread=found.unread)

    def _unfinished(self, search: Search) -> Found[RunRecord]:
        kinds = {kind for status in search.statuses for kind in UNFINISHED[status]}
        entries = [entry for kind in kinds for entry in self.index.due(kind, None, ENTRIES)]
        refs = {entry.run for entry in entries if entry.run and search.job in {None, entry.job}}
        found = self.runs.get_many(sorted(refs))
        unread = [broken for ref in sorted(refs - found.keys()) if (broken := self._unread(ref))]
        return Found(records=list(found.values()), unread=unread)

    def _unread(self, ref: RunRef) -> Unread | None:
        """What is wrong with a run that a batch left out; None: it is gone."""
        try:
            self.runs.get(ref)
        except UnreadableItemError as error:
            return Unread(job=ref.job, sk=f"{RUN}{ref.key}", problem=str(error))
        return None

    def _by_jobs(self, search: Search) -> Found[RunRecord]:
        jobs = [search.job] if search.job else deployed(self.registry)
        found: Found[RunRecord] = Found(records=[], unread=[])
        for part in side_by_side(lambda job: self._of_job(job, search), jobs):
            found.records.extend(part.records)
            found.unread.extend(part.unread)
        return found

    def _of_job(self, job: str, search: Search) -> Found[RunRecord]:
        """The newest runs of one job that are wanted, at most as many as are wanted of all jobs."""
        now, wanted, unread = self.clock.now(), list[RunRecord](), dict[str, Unread]()
        since, until = search.since or EPOCH, search.until or now + CLOCKS_DIFFER
        page = PAGE if search.statuses else search.limit + 1
        seen = set[RunRef]()
        while len(wanted) < search.limit:
            found = self.runs.runs(job, since, until, page)
            unread |= {one.sk: one for one in found.unread}
            fresh = [run for run in found.records if run.ref not in seen]
            wanted += [run for run in fresh if search.wants(run, now)]
            if len(found.records) < page or not fresh:
                break
            seen = {run.ref for run in found.records}
            until = found.records[
                -1
            ].ref.scheduled_at  # included: others of that second may be on the next page
        return Found(records=wanted[: search.limit], unread=list(unread.values()))


def deployed(registry: RegistryStore) -> list[str]:
    """The jobs of the deployment that planned last, in order of their names; none before that."""
    found = registry.read()
    return sorted(found.jobs) if found else []


def side_by_side(ask: Callable[[A], B], questions: Sequence[A]) -> Iterator[B]:
    """The answers in the order of the questions, some of them asked at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(ask, questions)
