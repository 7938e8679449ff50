"""One run of a job from its birth to its end, in memory, on a clock that moves by itself.

Executor, sweep, dispatcher and watchdog are the deployed ones; the store is the one in memory, which is held
to the same contract as DynamoDB. When nothing is left to be done at once, the clock goes on to the next
minute in which somebody has to look at the run (its backoff or sleep is over, its claim has run out, it is
overdue). So a run that sleeps for three weeks takes milliseconds.

Each invocation is a process of its own. One that is to die, dies by an exception: see `watch`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from cronce.core.changes import RunChange
from cronce.core.claim import Invocation
from cronce.core.job import Job
from cronce.core.records import RunRecord, StepStatus
from cronce.engine.claims import Claims
from cronce.engine.dispatcher import Dispatcher
from cronce.engine.executor import Executor
from cronce.engine.ledger import Ledger
from cronce.engine.sweep import Sweep
from cronce.engine.watchdog import Watchdog, WatchdogPorts
from cronce.testing.birth import AFTER_THE_MINUTE, state_of
from cronce.testing.clock import ManualClock
from cronce.testing.ctrl_c import ctrl_c_ends
from cronce.testing.effects import MemoryInvoker, MemoryNotifier, RecordingTelemetry
from cronce.testing.memory import MemoryStore
from cronce.testing.renewal import ClockRenewal
from cronce.testing.watch import Crashed, Watch, Work
from cronce.testing.watched_run import watched

KEY_PREFIX = "test"
"""Stands for the stack's name, in idempotency keys and notices."""
INVOCATION = timedelta(minutes=15)
"""How long an invocation lasts: the template's default of `ExecutorTimeout`."""
FINISHED = frozenset({StepStatus.DONE, StepStatus.ASLEEP})
MINUTE = timedelta(minutes=1)
SWEEP_LASTS = timedelta(seconds=30)
RETENTION = timedelta(days=400)


@dataclass(kw_only=True)
class Surroundings:
    """What a run needs around it.

    Attributes:
        clock: the virtual clock.
        renewal: lets a job work on it.
        store: of everything.
        telemetry: all log lines.
        invoker: asked for executors.
        notifier: told what people would be told.
    """

    clock: ManualClock
    renewal: ClockRenewal = field(init=False)
    store: MemoryStore = field(init=False)
    telemetry: RecordingTelemetry = field(default_factory=RecordingTelemetry)
    invoker: MemoryInvoker = field(default_factory=MemoryInvoker)
    notifier: MemoryNotifier = field(default_factory=MemoryNotifier)

    def __post_init__(self) -> None:
        self.renewal = ClockRenewal(self.clock)
        self.store = MemoryStore(self.clock)

    def claims(self) -> Claims:
        """Who may start. Every backoff is as long as it may be, so that each life is like the other."""
        ledger = Ledger(
            runs=self.store.runs,
            jobs=self.store.jobs,
            clock=self.clock,
            telemetry=self.telemetry,
            retention=RETENTION,
            draw=lambda: 1.0,
        )
        return Claims(ledger=ledger, store_clock=self.store.clock)

    def watchdog(self) -> Watchdog:
        """The switch that tells people."""
        store = self.store
        ports = WatchdogPorts(
            clock=self.clock,
            store_clock=store.clock,
            lease=store.lease,
            jobs=store.jobs,
            runs=store.runs,
            steps=store.steps,
            index=store.index,
            alerts=store.alerts,
            notifier=self.notifier,
            telemetry=self.telemetry,
        )
        return Watchdog(ports, KEY_PREFIX)


class OneRun:
    """A run, and everything that looks after it.

    Args:
        job: whose.
        watch: sees what its function does.
        birth: of the run.

    Attributes:
        around: what it needs around it.
        invocations: how often an executor was asked to work on it.
    """

    def __init__(self, job: Job, watch: Watch, birth: RunChange) -> None:
        run = birth.after
        self._job = replace(job, function=watched(job.function, watch))
        self._watch = watch
        self._ref = run.ref
        self._numbers = count(1)
        self._deadline = run.created_at
        self.around = around = Surroundings(clock=ManualClock(run.created_at))
        self.invocations = 0
        watch.work, watch.recorded, watch.lease_tokens = self._work, self._recorded, self._lease_tokens
        around.store.place(state_of(job, run))
        around.store.runs.apply(birth)
        around.store.on_call(lambda *_: watch.alive())
        claims = around.claims()
        self._dispatcher = Dispatcher(invoker=around.invoker, telemetry=around.telemetry)
        self._sweep = Sweep(
            index=around.store.index, claims=claims, dispatcher=self._dispatcher, job_of=lambda _: self._job
        )
        self._watchdog = around.watchdog()
        self._executor = Executor(
            claims=claims,
            steps=around.store.steps,
            leases=around.store.leases,
            load=lambda *_: self._job,
            renewal=around.renewal,
            key_prefix=KEY_PREFIX,
        )

    @property
    def record(self) -> RunRecord:
        """The run as it is stored."""
        return next(run for run in self.around.store.all_runs() if run.ref == self._ref)

    def play(self) -> None:
        """Let time pass until the run has ended, and what there is to tell is told."""
        self._deliver()
        while not self.record.status.is_final:
            self._minute(self._next_look())
            self._sweep.sweep(self._now, self._now + SWEEP_LASTS)
            self._deliver()
            self._watchdog.patrol()
        self._minute(self._now)
        self._watchdog.patrol()

    def _work(self, duration: timedelta) -> None:
        """A function works so long, or until Lambda ends the invocation."""
        left = self._deadline - self._now
        self.around.renewal.work(min(duration, left))
        if duration > left:
            self._watch.dead = True
            self._watch.alive()

    def _recorded(self) -> frozenset[Work]:
        """The steps and items that are recorded."""
        found = self.around.store.steps.load(self._ref)
        plain = {(step.name, None) for step in found if step.chunk is None and step.status in FINISHED}
        return frozenset({*plain, *((step.name, key) for step in found for key in step.keys)})

    def _lease_tokens(self) -> frozenset[int]:
        """The tokens of all leases taken so far."""
        taken = (line.fields["token"] for line in self.around.telemetry.named("lease.taken"))
        return frozenset(token for token in taken if isinstance(token, int))

    @property
    def _now(self) -> datetime:
        return self.around.clock.now()

    def _next_look(self) -> datetime:
        """When somebody has to look at the run."""
        run, now = self.record, self._now
        times = [at for at in (run.due_at, run.expect_by) if at is not None and at > now]
        return min(times, default=now)

    def _minute(self, instant: datetime) -> None:
        """Let time pass to the tick of the first minute that begins after an instant."""
        self.around.clock.set(instant.replace(second=0, microsecond=0) + MINUTE + AFTER_THE_MINUTE)

    def _deliver(self) -> None:
        """Let the stream, the dispatcher and the executors do their work until nothing is left."""
        while told := self.around.store.drain_stream():
            self._dispatcher.dispatch([(str(number), ref) for number, ref in enumerate(told)])
            self._execute_all()
        self._execute_all()

    def _execute_all(self) -> None:
        for ref in self.around.invoker.drain():
            self.invocations += 1
            with suppress(Crashed), ctrl_c_ends():
                self._executor.execute(ref, self._invocation())
            self._watch.dead = False  # the next one is another process

    def _invocation(self) -> Invocation:
        name = f"worker-{next(self._numbers)}"
        self._deadline = self._now + INVOCATION
        return Invocation(owner=name, deadline=self._deadline, request_id=name)
