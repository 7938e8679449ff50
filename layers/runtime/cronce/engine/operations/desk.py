"""What every command of an operator needs: strong reads, a clock that the store confirms, tries, a signature.

A command reads, decides in `cronce.core`, and writes once, on the condition of exactly what it read. When
others were first (a tick, a worker, another operator) it reads and decides anew, so its answer is about what
is, not about what was on somebody's screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from cronce.core.acts import Act, What, signed
from cronce.core.errors import JobNotFoundError, OperationRefusedError, StoreError
from cronce.core.found import Found
from cronce.core.instants import to_text
from cronce.core.job import Job
from cronce.core.jobstate import JobState
from cronce.core.lease import agreed_now
from cronce.core.ports import AlertStore, StepStore, StoreClock
from cronce.core.records import RunRecord, RunRef
from cronce.core.slots import UNKNOWN, RunPolicy
from cronce.core.values import dataclass
from cronce.engine.ledger import Ledger

MANY = 100_000
"""More records than lie among the times that one command looks at, runs by hand included."""
SUFFIX = 8
"""Digits of the suffix of a manual run's id: one second has not billions of them."""


def random_suffix() -> str:
    """A suffix that no other run has."""
    return uuid4().hex[:SUFFIX]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobAnswer:
    """A job after a command.

    Attributes:
        state: as it is now.
        changed: whether the command made it so; False = it was so before, and nothing was written.
    """

    state: JobState
    changed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RunAnswer:
    """A run after a command.

    Attributes:
        run: as it is now.
        changed: whether the command made it so; False = it was so before, and nothing was written.
    """

    run: RunRecord
    changed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Where operators' commands are carried out.

    Attributes:
        ledger: where runs are read and written.
        steps: where their steps are.
        alerts: where alerts are.
        store_clock: a host whose clock differs from the store's decides nothing.
        job_of: the code of a job, as far as this process has it.
        suffix: makes what tells manual runs of one second apart.
    """

    ledger: Ledger
    steps: StepStore
    alerts: AlertStore
    store_clock: StoreClock
    job_of: Callable[[str], Job | None]
    suffix: Callable[[], str] = random_suffix

    def in_the_way(self, what: str) -> StoreError:
        """The error of a command that met others at each of its tries.

        Args:
            what: it does.
        """
        return StoreError(f"{what}: others were in the way all the time, and nothing was written; try again")

    def run(self, ref: RunRef) -> RunRecord:
        """A run, strong.

        Raises:
            OperationRefusedError: there is none.
        """
        run = self.ledger.runs.get(ref)
        if run is None:
            raise OperationRefusedError(f"there is no run {ref.id}")
        return run

    def recorded(self, job: str, times: Sequence[datetime]) -> Found[RunRecord]:
        """The records of a stretch, strong, those that cannot be read too.

        Args:
            job: its name.
            times: ascending; from the first to the last one.
        """
        if not times:
            return Found(records=[], unread=[])
        return self.ledger.runs.runs(job, times[0], times[-1], MANY)

    def job(self, name: str) -> JobState:
        """A job, strong.

        Raises:
            JobNotFoundError: there is none.
        """
        state = self.ledger.jobs.get(name)
        if state is None:
            raise JobNotFoundError(f"there is no job {name!r}: the first tick after its deployment makes it")
        return state

    def deployed(self, name: str) -> JobState:
        """A job whose code is deployed, as far as the last tick knows, strong.

        Raises:
            JobNotFoundError: there is none.
            OperationRefusedError: it was removed.
        """
        state = self.job(name)
        if state.removed_at is not None:
            raise OperationRefusedError(
                f"job {name} was removed from the deployment at {to_text(state.removed_at)}: deploy it first"
            )
        return state

    def policy(self, name: str) -> RunPolicy:
        """The policy of a job; without its code a freed slot is handed on, and no other one is.

        Args:
            name: its name.
        """
        job = self.job_of(name)
        state = self.ledger.job_state(name) if job is None else None
        if state is None:
            return RunPolicy.of(job)
        return replace(UNKNOWN, concurrency=max(len(state.slots.held), 1))

    def now(self) -> datetime:
        """The instant to decide by. To be asked after a read: the store's clock is read off its answer.

        Raises:
            OperationRefusedError: this host's clock and the store's differ too much.
        """
        now = agreed_now(self.ledger.clock.now(), self.store_clock.skew())
        if now is None:
            raise OperationRefusedError(
                f"this host's clock differs from the store's by {self.store_clock.skew()}: set it right"
            )
        return now

    def sign(self, what: What, by: str, why: str) -> Act:
        """The operator's act, at this instant; see `now` and `signed`."""
        return signed(what, by, why, self.now())

    def tell(self, act: Act, **ids: object) -> None:
        """One line in the log of whoever gave the command."""
        self.ledger.telemetry.event(f"operator.{act.what}", **ids, by=act.by, why=act.why)
