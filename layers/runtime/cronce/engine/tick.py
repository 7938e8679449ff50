"""Reconciling and planning within one tick: reads, decides job by job, writes, reports who is left out.

The time of a tick is everybody's. So jobs without a calendar are planned first: nothing of theirs can take
long. A calendar is the author's code and has `EVALUATION_LIMIT`; those jobs come last, and each tick begins
with another one of them, so that no number of hanging calendars keeps one job from its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from datetime import datetime

from cronce.core.answers import JobReads
from cronce.core.errors import NewerItemError, RefusedError, StoreError, UnreadableItemError
from cronce.core.jobstate import JobWindow, Registry
from cronce.core.lease import Grant
from cronce.core.planning import Moment
from cronce.core.ports import Clock, DueIndex, JobStore, PlanStore, RegistryStore, Telemetry
from cronce.core.run import DueKind
from cronce.core.values import dataclass
from cronce.engine import tick_log
from cronce.engine.plan_writer import PlanWriter, Written
from cronce.engine.reconciliation import INCOMPLETE, fingerprint, missing, present, registry_of, unfinished
from cronce.engine.registry import Catalog
from cronce.engine.time_limit import TimeLimitExceeded, time_limit

DUE_JOBS = 10_000
"""Lines of the index that one tick reads. Jobs that are unavailable stay at its head for as long as they are,
so the bound must be far above their number."""
PLANNING_TIME = 15.0
"""Seconds for planning. With discovery (15) and the sweep it fits into the scheduler's 45."""
EVALUATION_LIMIT = 2.0
"""Seconds for one job: judging 20,000 occurrences takes a fraction of one."""
WRITTEN_AT_ONCE = 200
"""Jobs that are evaluated before their windows are written: what a tick has done when its time is over is
kept."""
RETRY_MINUTES = 5
"""Reconciling what waits for a person is tried in every fifth minute, and in the first tick of an hour: each
try reads every job, and a tick is to read what is due."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanningPorts:
    """What planning needs of the outside world."""

    clock: Clock
    registry: RegistryStore
    jobs: JobStore
    plans: PlanStore
    index: DueIndex
    telemetry: Telemetry


@dataclass(kw_only=True, slots=True)
class TickPlanner:
    """Plans one tick.

    Attributes:
        ports: where to read and write.
        catalog: the jobs of this deployment.
        grant: the lease.
        moment: of the tick.
        until: on the monotonic clock: no further job is looked at after this.
        failed: job -> why it could not be planned.
        due: jobs that were looked at.
        reconciled: whether the jobs were compared with the deployment.
        in_time: whether everything due was looked at.
    """

    ports: PlanningPorts
    catalog: Catalog
    grant: Grant
    moment: Moment
    until: float
    failed: dict[str, str] = field(default_factory=dict)
    due: int = 0
    reconciled: bool = False
    in_time: bool = True
    _writer: PlanWriter = field(init=False)
    _code: str = field(init=False)
    _waits: bool = False

    def __post_init__(self) -> None:
        ports = self.ports
        self._code = fingerprint(self.catalog, self.moment.zone_data)
        self._writer = PlanWriter(ports.plans, ports.clock, ports.telemetry, self.grant)

    @property
    def written(self) -> Written:
        """What became of the windows so far."""
        return self._writer.written

    @property
    def unplanned(self) -> dict[str, str]:
        """Jobs that could not be planned: not read, not evaluated, or refused by the store."""
        return {**self.failed, **self.written.refused}

    @property
    def held(self) -> int:
        """What waits for a person: at least 1 between two tries too; an alarm is not to come and go."""
        return max(len(self.unplanned), int(self._waits))

    def run(self) -> None:
        """Reconcile if there is reason to, then plan what is due.

        Raises:
            StoreError: the store could not be reached.
        """
        if self._is_time_to_reconcile():
            self._reconcile()
        if not self.written.lease_lost:
            self._plan_due()

    # --- reconcile ----------------------------------------------------------------------------------------

    def _is_time_to_reconcile(self) -> bool:
        """The deployment is another one, or this hour has no complete tick: an item may have gone missing.

        A deployment that was tried, and of which something waits for a person, has its turns.
        """
        last, now, known = self.grant.completed_at, self.moment.now, self.grant.fingerprint
        if last is None or _hour(last) != _hour(now):
            return True
        if known == unfinished(self._code):
            self._waits = now.minute % RETRY_MINUTES != 0
            return not self._waits
        return known != self._code

    def _reconcile(self) -> None:
        """Every job that the deployment or the registry knows. The registry is written last: it was done."""
        stored, writable = self._read_registry()
        known = stored.jobs if stored else {}
        reads = self._read(sorted({*self.catalog.jobs, *known}))

        def decide(name: str) -> JobWindow | None:
            state = reads.states.get(name)
            if name in self.catalog.jobs:
                return present(self.catalog.jobs[name], state, self.moment)
            return missing(state, self.catalog, self.moment.now) if state else None

        names = [name for name in (*self.catalog.jobs, *known) if name not in reads.unreadable]
        self._evaluate(dict.fromkeys(names), decide)
        self.reconciled = self.in_time and not self.written.lease_lost
        if self.reconciled and writable:
            left = {*self.unplanned, *self.written.stale}
            registry = registry_of(self.catalog, stored, self.moment.zone_data, left, self._mark())
            if registry != stored or registry.fingerprint != self.grant.fingerprint:
                self._write_registry(registry, stored)

    def _mark(self) -> str:
        """What the registry says of this reconciliation."""
        if self.written.stale:
            return INCOMPLETE
        return unfinished(self._code) if self.unplanned else self._code

    def _write_registry(self, registry: Registry, stored: Registry | None) -> None:
        """Write the registry. It serves reconciliation only, so without it the tick goes on.

        One that the store never takes (an item has a size, and so a deployment has a number of jobs) leaves
        the stored list of jobs in place, marked as unfinished.
        """
        try:
            self.ports.registry.write(self.grant, registry)
        except RefusedError as problem:
            self._not_written(problem)
            self._waits = True
            former = stored or Registry(jobs={}, zone_data=registry.zone_data, fingerprint="")
            try:
                self.ports.registry.write(self.grant, replace(former, fingerprint=unfinished(self._code)))
            except StoreError as again:
                self._not_written(again)
        except StoreError as problem:
            self._not_written(problem)

    def _not_written(self, problem: StoreError) -> None:
        self.ports.telemetry.warn(
            "registry.not_written", problem=str(problem), jobs_deployed=len(self.catalog.jobs)
        )

    def _read_registry(self) -> tuple[Registry | None, bool]:
        """The registry, and whether it may be written: that of a later release is left alone."""
        try:
            return self.ports.registry.read(), True
        except UnreadableItemError as problem:
            self.ports.telemetry.warn("registry.unreadable", problem=str(problem))
            return None, not isinstance(problem, NewerItemError)

    # --- plan ---------------------------------------------------------------------------------------------

    def _plan_due(self) -> None:
        lines = self.ports.index.due(DueKind.JOB, self.moment.now, DUE_JOBS)
        self.in_time = self.in_time and len(lines) < DUE_JOBS
        names = dict.fromkeys([*(line.job for line in lines if line.job), *self._came_due()])
        self.due = len(names)
        reads = self._read([name for name in names if name not in self.unplanned])

        def decide(name: str) -> JobWindow | None:
            state = reads.states[name]
            if name in self.catalog.jobs:
                return present(self.catalog.jobs[name], state, self.moment)
            return missing(state, self.catalog, self.moment.now)

        self._evaluate([name for name in names if name in reads.states], decide)

    def _came_due(self) -> list[str]:
        """Jobs that reconciliation made due: the index is late, and they need not wait for the next tick."""
        now = self.moment.now
        states = (window.after for window in self.written.done)
        return [state.name for state in states if state.due_at is not None and state.due_at <= now]

    def _read(self, names: Sequence[str]) -> JobReads:
        reads = self.ports.jobs.get_many(names) if names else JobReads()
        for name, problem in reads.unreadable.items():
            self._fail(name, problem)
        return reads

    # --- job by job ---------------------------------------------------------------------------------------

    def _evaluate(self, names: Iterable[str], decide: Callable[[str], JobWindow | None]) -> None:
        """Decide for each job and write, until the time is over."""
        ready: list[JobWindow] = []
        for name in self._in_order(names):
            if self.ports.clock.monotonic() >= self.until:
                self.in_time = False
                break
            window = self._guarded(name, decide)
            if window is not None:
                ready.append(window)
            if len(ready) == WRITTEN_AT_ONCE:
                self._write(ready)
                ready = []
        self._write(ready)

    def _in_order(self, names: Iterable[str]) -> list[str]:
        calm: list[str] = []
        slow: list[str] = []
        for name in names:
            declared = self.catalog.jobs.get(name)
            (slow if declared is not None and declared.job.excluded is not None else calm).append(name)
        turn = self.grant.fencing_token % len(slow) if slow else 0
        return [*calm, *slow[turn:], *slow[:turn]]

    def _guarded(self, name: str, decide: Callable[[str], JobWindow | None]) -> JobWindow | None:
        """Whatever a job's own code does at this point is that job's problem."""
        what = f"planning job {name}"
        try:
            with time_limit(EVALUATION_LIMIT, what):
                return decide(name)
        except TimeLimitExceeded as problem:
            if problem.what != what:  # the limit of the whole tick
                raise
            self._fail(name, str(problem))
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - it must stop nobody else
            self._fail(name, f"{type(problem).__name__}: {problem}")
        return None

    def _fail(self, name: str, problem: str) -> None:
        self.failed[name] = problem
        self.ports.telemetry.warn("job.failed_to_plan", job=name, problem=problem)

    def _write(self, windows: Sequence[JobWindow]) -> None:
        before = len(self.written.done)
        self._writer.write(windows)
        for window in self.written.done[before:]:
            tick_log.tell(window, self.ports.telemetry)


def _hour(instant: datetime) -> datetime:
    return instant.replace(minute=0, second=0, microsecond=0)
