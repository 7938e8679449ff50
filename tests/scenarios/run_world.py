"""Everything between a planned run and its end, over the memory store and a clock moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from cronce.core.claim import RENEW_EVERY, Invocation
from cronce.core.errors import ClaimLost, StopSignal
from cronce.core.job import Job, job
from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord, RunRef, Slots
from cronce.core.run import Dispatch, Reason, RunStatus, Trigger
from cronce.core.schedule import Cron, Schedule
from cronce.engine.claims import Claims
from cronce.engine.dispatcher import Dispatcher
from cronce.engine.executor import RESERVE, Execution, Executor
from cronce.engine.job_loader import LoadProblem
from cronce.engine.ledger import Ledger
from cronce.engine.operations import Operations
from cronce.engine.pinging import Pings
from cronce.engine.run_handle import Run
from cronce.engine.sweep import Sweep, SweepReport
from cronce.testing import ManualClock, Marker, MemoryInvoker, MemoryStore, RecordingTelemetry, job_key

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
RETENTION = 400 * DAY
LONG = 15 * MINUTE
HOURLY = Cron("0 * * * *")
NAME = "menu"
NO_SLOTS = Slots()


class HandRenewal:
    """Renews when the test says so: only the newest worker, for tests have one at work at a time."""

    def __init__(self) -> None:
        self.renew: Callable[[], bool] = lambda: False

    @contextmanager
    def renewing(self, renew: Callable[[], bool]) -> Iterator[None]:
        self.renew = renew
        yield


@dataclass
class World:
    """One deployment: its store, its jobs, and what runs them.

    `loaded` holds what the executor finds for a job's name: the job, a problem, or nothing. `pings` tells a
    service outside AWS, if there is one.
    """

    clock: ManualClock = field(default_factory=lambda: ManualClock(NOON))
    telemetry: RecordingTelemetry = field(default_factory=RecordingTelemetry)
    invoker: MemoryInvoker = field(default_factory=MemoryInvoker)
    renewal: HandRenewal = field(default_factory=HandRenewal)
    loaded: dict[str, Job | LoadProblem] = field(default_factory=dict)
    reserve: timedelta = RESERVE
    jitter: float = 1.0
    pings: Pings | None = None
    owners: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        self.ledger = Ledger(
            runs=self.store.runs,
            jobs=self.store.jobs,
            clock=self.clock,
            telemetry=self.telemetry,
            retention=RETENTION,
            draw=lambda: self.jitter,
        )
        self.claims = Claims(ledger=self.ledger, store_clock=self.store.clock)
        self.dispatcher = Dispatcher(invoker=self.invoker, telemetry=self.telemetry)
        self.sweeper = Sweep(
            index=self.store.index, claims=self.claims, dispatcher=self.dispatcher, job_of=self.job_of
        )

    def job_of(self, name: str) -> Job | None:
        found = self.loaded.get(name)
        return found if isinstance(found, Job) else None

    def declare(
        self,
        function: Callable[[Run], object],
        name: str = NAME,
        *,
        schedule: Schedule = HOURLY,
        planned_to: datetime = NOON,
        slots: Slots = NO_SLOTS,
        **options: Any,
    ) -> Job:
        """Deploy a job, planned up to an instant; deployed once more, it keeps its slots."""
        declared = job(name, schedule=schedule, **options)(function)
        self.loaded[name] = declared
        known = self.store.items().get(job_key(name))
        self.store.place(
            JobState(
                name=name,
                module="jobs.any",
                schedule=schedule.spec(),
                schedule_hash="hash",
                grace=declared.grace,
                planned_to=planned_to,
                planned_local=planned_to.replace(tzinfo=None),
                next_at=schedule.next_after(planned_to),
                expect_by=None,
                due_at=None,
                slots=known.slots if isinstance(known, JobState) else slots,
            )
        )
        return declared

    def record(self, at: datetime = NOON, name: str = NAME, *, suffix: str = "", **values: Any) -> RunRecord:
        """A run as the planner makes it, not stored."""
        declared = self.job_of(name)
        known: dict[str, Any] = {
            "status": RunStatus.PENDING,
            "created_at": self.clock.now(),
            "scheduled_local": at.isoformat(),
            "timeout": declared.timeout if declared else LONG,
            "max_attempts": declared.retry.attempts if declared else 3,
            "due_at": self.clock.now() + 2 * MINUTE,
            "expect_by": at + LONG,
            "dispatch": Dispatch.STREAM,
            "rev": 1,
        }
        return RunRecord(ref=RunRef(name, at, suffix), **{**known, **values})

    def plan(self, at: datetime = NOON, name: str = NAME, **values: Any) -> RunRef:
        """Store a run as the planner does: the stream will tell the dispatcher."""
        run = self.record(at, name, **values)
        self.store.place(run)
        return run.ref

    def plan_queued(self, at: datetime = NOON, name: str = NAME, **values: Any) -> RunRef:
        """Store a run behind others, with its marker, as a planner does in one transaction."""
        waits = {"status": RunStatus.WAITING, "reason": Reason.QUEUED, "dispatch": None, "expect_by": None}
        run = self.record(at, name, **{**waits, "due_at": self.clock.now() + 10 * MINUTE, **values})
        self.store.place(run, Marker(ref=run.ref))
        slots = self.slots(name)
        self.set_slots(replace(slots, queued=slots.queued + 1), name)
        return run.ref

    def manual(self, suffix: str, at: datetime = NOON, name: str = NAME, **values: Any) -> RunRef:
        """Store a run that a person asked for."""
        return self.plan(at, name, suffix=suffix, trigger=Trigger.MANUAL, expect_by=None, **values)

    def run(self, ref: RunRef) -> RunRecord:
        """The run as stored, expired or not."""
        return next(run for run in self.store.all_runs() if run.ref == ref)

    def slots(self, name: str = NAME) -> Slots:
        state = self.store.items()[job_key(name)]
        assert isinstance(state, JobState)
        return state.slots

    def set_slots(self, slots: Slots, name: str = NAME) -> None:
        state = self.store.items()[job_key(name)]
        assert isinstance(state, JobState)
        self.store.place(replace(state, slots=slots))

    def executor(self) -> Executor:
        return Executor(
            claims=self.claims,
            steps=self.store.steps,
            leases=self.store.leases,
            load=lambda _, name: self.loaded.get(name),
            renewal=self.renewal,
            key_prefix="shop",
            reserve=self.reserve,
            pings=self.pings,
        )

    def operations(self) -> Operations:
        """What an operator can do."""
        return Operations(
            ledger=self.ledger,
            steps=self.store.steps,
            alerts=self.store.alerts,
            store_clock=self.store.clock,
            job_of=self.job_of,
        )

    def invocation(self, lasts: timedelta = LONG, request_id: str | None = None) -> Invocation:
        number = next(self.owners)
        return Invocation(
            owner=f"worker-{number}",
            deadline=self.clock.now() + lasts,
            request_id=request_id or f"request-{number}",
            log_stream="log",
        )

    def execute(self, ref: RunRef, lasts: timedelta = LONG) -> Execution:
        """One invocation of the executor."""
        return self.executor().execute(ref, self.invocation(lasts))

    def work(self, duration: timedelta) -> None:
        """Let a job compute for a while, with its renewals."""
        while duration > RENEW_EVERY:
            self.clock.advance(RENEW_EVERY)
            self.renewal.renew()
            duration -= RENEW_EVERY
        self.clock.advance(duration)

    def sweep(self, lasts: timedelta = 30 * SECOND) -> SweepReport:
        """One sweep, when the index has caught up."""
        self.clock.advance(SECOND)
        return self.sweeper.sweep(self.clock.now(), self.clock.now() + lasts)

    def deliver(self, lasts: timedelta = LONG, *, stream: bool = True) -> list[Execution]:
        """Let the stream's dispatcher and all executors that were asked for do their work."""
        told = self.store.drain_stream()
        if stream:
            self.dispatcher.dispatch([(str(number), ref) for number, ref in enumerate(told)])
        return [self.execute(ref, lasts) for ref in self.invoker.drain()]

    def minute(self, lasts: timedelta = LONG, *, stream: bool = True) -> list[Execution]:
        """A minute passes: a sweep, then everybody who is asked to."""
        self.clock.advance(MINUTE)
        self.sweep()
        done = self.deliver(lasts, stream=stream)
        # What was woken or handed on by these executions is dispatched within the minute too.
        return done + (self.deliver(lasts) if stream else [])

    def minutes(self, number: int, *, stream: bool = True) -> list[Execution]:
        return [one for _ in range(number) for one in self.minute(stream=stream)]


class Killed(BaseException):
    """The process is gone: nothing after this instant happens in it."""


def dead(call: str, when: str) -> None:
    """The store hook of a dead process."""
    raise Killed


def kill(world: World, ref: RunRef) -> None:
    """A worker claims the run and dies at once."""

    def dies(run: Run) -> None:
        world.store.on_call(dead)
        raise Killed

    known = world.job_of(ref.job)
    assert known is not None
    world.loaded[ref.job] = replace(known, function=dies)
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.loaded[ref.job] = known


def no_more(run: Run, kind: type[StopSignal] = ClaimLost) -> None:
    """Whatever is called on it, the handle raises the same signal."""
    for _ in range(3):
        with pytest.raises(kind):
            run.step("late", pytest.fail, "it must not be executed")
        with pytest.raises(kind):
            run.each("late", [1], pytest.fail)


def ask_to_cancel(world: World, ref: RunRef) -> None:
    """An operator's command while the run is RUNNING."""
    answer = world.operations().cancel(ref, by="ann", why="not today")
    assert (answer.run.status, answer.run.cancel_requested) == (RunStatus.RUNNING, True)


def running(world: World, at: int = 0, name: str = NAME, **values: object) -> RunRef:
    """A run that a worker claimed just now."""
    now = world.clock.now()
    run = world.record(NOON + at * SECOND, name)
    claimed = replace(
        run,
        status=RunStatus.RUNNING,
        dispatch=None,
        attempt=1,
        slice=1,
        owner="dead",
        fencing_token=1,
        attempt_started_at=now,
        slice_started_at=now,
        claim_until=now + MINUTE,
        due_at=now + MINUTE,
    )
    world.store.place(replace(claimed, **values))  # type: ignore[arg-type]
    return run.ref


class Gauge:
    """How many runs of a job are between their first claim and their end at once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.most = 0

    def look(self) -> None:
        begun = [run for run in self.world.store.all_runs() if run.attempt and not run.status.is_final]
        self.most = max(self.most, len(begun))
