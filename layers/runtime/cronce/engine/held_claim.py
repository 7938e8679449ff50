"""A worker's view of its claim: how long it is trusted, and the one lock for all store writes of its run.

See `core.claim` for the argument. The handle of a run asks `check()` before whatever it does; once that
has raised, it raises the same signal for ever, so a `finally` block or a bare `except:` of the job cannot
go on by mistake.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.core.claim import CLAIM_TTL, TRUST_MARGIN, claim_end
from cronce.core.errors import Asleep, Cancelled, ClaimLost, OutOfTime, StepUncertainError, StoreError
from cronce.core.ports import Clock, RunStore
from cronce.core.records import RunRecord
from cronce.core.values import dataclass

TRUSTED_FOR = CLAIM_TTL - TRUST_MARGIN
"""How long after the start of the claiming or renewing call the claim is trusted."""

_MILLISECOND = timedelta(milliseconds=1)


class Stop(StrEnum):
    """Why a worker has to stop."""

    CLAIM_LOST = "claim_lost"
    """The claim is gone, or can no longer be trusted."""
    TIMEOUT = "timeout"
    """The run's timeout has passed."""
    INVOCATION_ENDS = "invocation_ends"
    """The invocation is nearly over: the run goes on in the next one."""
    CANCELLED = "cancelled"
    """An operator asked for it."""
    UNCERTAIN = "uncertain"
    """An at-most-once step was started, and nobody knows what came of it."""
    ASLEEP = "asleep"
    """The job asked to sleep."""
    NEWER_RELEASE = "newer_release"
    """What the run has done was recorded by a later release, in a form that this one does not know."""


_SIGNALS: dict[Stop, Callable[[str], BaseException]] = {
    Stop.CLAIM_LOST: ClaimLost,
    Stop.TIMEOUT: OutOfTime,
    Stop.INVOCATION_ENDS: OutOfTime,
    Stop.CANCELLED: Cancelled,
    Stop.UNCERTAIN: StepUncertainError,
    Stop.ASLEEP: Asleep,
    Stop.NEWER_RELEASE: OutOfTime,
}
_RANKS = {Stop.CLAIM_LOST: 2, Stop.UNCERTAIN: 1}
"""The first reason to stop stands, except that nothing may be written once the claim is lost, and that a
payment of which nobody knows is told whatever else there was."""
_OVERTAKEN_BY_TIMEOUT = frozenset({None, Stop.INVOCATION_ENDS, Stop.ASLEEP})
"""Signals after which a job should have ended; one that went on until its time was over has timed out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """An instant on both clocks."""

    wall: datetime
    ticks: float

    @classmethod
    def of(cls, clock: Clock) -> Moment:
        """The present."""
        return cls(wall=clock.now(), ticks=clock.monotonic())

    def elapsed(self, clock: Clock) -> timedelta:
        """Time since, by the clock that says more: one stands still with the machine, one can be set."""
        return max(clock.now() - self.wall, timedelta(seconds=clock.monotonic() - self.ticks))


@dataclass(frozen=True, kw_only=True, slots=True)
class SteadyClock:
    """Goes on from an instant at which the host's clock was right, though that clock is set back later.

    By a clock that is set back under way a claim would be renewed for too short, and taken over while it is
    trusted. One that is set forward is followed: a machine may have stood still. If it is then set right,
    this one runs backwards with it, to the time that has passed and never before it: trust and timeout are
    counted by a clock that does not (`Moment.elapsed`).

    Attributes:
        since: that instant.
        clock: the host's.
    """

    since: Moment
    clock: Clock

    def now(self) -> datetime:
        """The instant, and the time since by whichever clock says more; whole milliseconds."""
        return self.since.wall + self.since.elapsed(self.clock) // _MILLISECOND * _MILLISECOND

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return self.clock.monotonic()

    def pause(self, seconds: float) -> None:
        """Let that much time pass."""
        self.clock.pause(seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """When a worker has to stop by itself.

    Attributes:
        deadline: when its invocation ends.
        reserve: so much before that it hands the run to the next one.
    """

    deadline: datetime
    reserve: timedelta


class HeldClaim:
    """A claim while a worker holds it. Safe to use from the renewal thread.

    Args:
        claimed: the record as claimed.
        asked: the start of the claiming call.
        limits: of the invocation.
        runs: where the run is kept.
        clock: a steady one.
    """

    def __init__(
        self, claimed: RunRecord, asked: Moment, limits: Limits, runs: RunStore, clock: Clock
    ) -> None:
        self._record = claimed
        self._begun = self._asked = asked
        self._limits = limits
        self._runs = runs
        self._clock = clock
        self._lock = threading.Lock()
        self._stop: tuple[Stop, str] | None = None
        self.input = claimed.input
        """JSON text that the run was given; if it is kept beside the run, put here by who has read it."""
        self.signalled: Stop | None = None
        """The signal that the job was given; None: none so far."""
        self.broken: StoreError | None = None
        """The store's error that closed it."""
        self.sleeps_until = limits.deadline
        """Once the job asked to sleep: when it goes on."""

    @property
    def record(self) -> RunRecord:
        """The run as it was when last written or read under this claim."""
        return self._record

    @property
    def now(self) -> datetime:
        """The present."""
        return self._clock.now()

    @property
    def ticks(self) -> float:
        """Seconds that never go backwards."""
        return self._clock.monotonic()

    @property
    def remaining(self) -> timedelta:
        """Of the invocation; never negative."""
        return max(self._limits.deadline - self._clock.now(), timedelta(0))

    @property
    def deadline(self) -> datetime:
        """When the invocation ends: nothing of it can act later."""
        return self._limits.deadline

    @property
    def why(self) -> str:
        """Why it is closed; empty while it is open."""
        return self._stop[1] if self._stop else ""

    @property
    def time_left(self) -> timedelta:
        """Of the run's timeout; negative when it is over."""
        run = self._record
        return run.timeout - run.executed - self._begun.elapsed(self._clock)

    def interrupted(self) -> None:
        """The job was interrupted by the run's timeout, which decides what comes of it.

        Unless the job had heard before that the claim is lost, that the run is cancelled, or that a step's
        outcome is unknown.
        """
        if self.signalled in _OVERTAKEN_BY_TIMEOUT:
            self.signalled = Stop.TIMEOUT

    def check(self, needs: timedelta = timedelta(0)) -> None:
        """Go on, or stop.

        Args:
            needs: what comes next is expected to take so long. If the invocation ends before, the next one
                is to do it.

        Raises:
            ClaimLost: the claim is gone or no longer trusted.
            OutOfTime: the run's timeout has passed, the invocation is nearly over, or it waits for a later
                release.
            Cancelled: an operator asked for it.
            StepUncertainError: an at-most-once step was started, and nobody knows what came of it.
            Asleep: the job asked for it.
        """
        if self._stop is None:
            found = self._found(needs)
            if found:
                self._close(*found)
        if self._stop is not None:
            stop, why = self._stop
            self.signalled = stop
            raise _SIGNALS[stop](f"run {self._record.ref.id}: {why}")

    def renew(self) -> bool:
        """Renew the claim. False: there is nothing more to renew, it is lost or the run has ended.

        Raises:
            StoreError: the store did not answer; the claim is trusted as before.
        """
        with self._lock:
            if self._is_lost():
                return False
            asked = Moment.of(self._clock)
            until = claim_end(self._record, asked.wall, self._limits.deadline)
            renewed = self._runs.renew(self._record, until)
            if renewed is None:
                self._close(
                    Stop.CLAIM_LOST, "another worker may have the claim: the store refused to renew it"
                )
                return False
            self._record, self._asked = renewed, asked
            return True

    def lose(self, why: str, broken: StoreError | None = None) -> None:
        """Close it: a write was refused, or could not be made."""
        self._close(Stop.CLAIM_LOST, why)
        self.broken = self.broken or broken

    def hand_back(self) -> None:
        """Close it: this process is told to end, and another one goes on."""
        self._close(Stop.INVOCATION_ENDS, "the process was told to end, the next one goes on")

    def uncertain(self, why: str) -> None:
        """Close it: nobody knows what came of an at-most-once step."""
        self._close(Stop.UNCERTAIN, why)

    def newer(self, why: str) -> None:
        """Close it: the run is to wait for the release that knows what it has done."""
        self._close(Stop.NEWER_RELEASE, why)

    def sleep(self, until: datetime) -> None:
        """Close it: the run is to go on at an instant, and not before."""
        self._close(Stop.ASLEEP, f"it sleeps until {until:%Y-%m-%d %H:%M:%S}Z")
        self.sleeps_until = until

    @contextmanager
    def writing(self) -> Iterator[RunRecord]:
        """Alone with the run's record: no renewal in between."""
        with self._lock:
            yield self._record

    def _found(self, needs: timedelta) -> tuple[Stop, str] | None:
        run = self._record
        trusted = self._asked.elapsed(self._clock) < TRUSTED_FOR
        timed_out = self.time_left <= timedelta(0)
        if timed_out and (trusted or self._stands_to_timeout()):
            return Stop.TIMEOUT, f"its timeout of {run.timeout} has passed"
        if not trusted:
            return Stop.CLAIM_LOST, "the claim was not renewed in time and can no longer be trusted"
        if run.cancel_requested:
            return Stop.CANCELLED, "an operator cancelled it"
        if self.remaining < self._limits.reserve + needs:
            return Stop.INVOCATION_ENDS, f"the invocation ends in {self.remaining}, the next one goes on"
        return None

    def _stands_to_timeout(self) -> bool:
        """Whether the claim ended with the timeout, not before it (then it is a lost one)."""
        run = self._record
        if run.claim_until is None or run.slice_started_at is None:
            return False
        return run.claim_until >= run.slice_started_at + run.timeout - run.executed

    def _close(self, stop: Stop, why: str) -> None:
        if self._stop is None or _RANKS.get(stop, 0) > _RANKS.get(self._stop[0], 0):
            self._stop = stop, why

    def _is_lost(self) -> bool:
        return self._stop is not None and self._stop[0] is Stop.CLAIM_LOST
