"""`cronce.lease`: exclusive sections of jobs. See `core.named_lease` for the argument.

A lease belongs to the run within which it is taken. The thread that renews the run's claim renews its leases
too, so a worker that has lost its claim renews nothing more, and its leases end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from itertools import count

from cronce.core.durations import Duration, duration
from cronce.core.errors import CronceError, LeaseLostError, StoreError
from cronce.core.lease import agreed_now
from cronce.core.lease_ports import NamedLeaseStore
from cronce.core.named_lease import (
    LeaseHeldError,
    NamedLease,
    Taking,
    check_name,
    check_ttl,
    is_believed,
    renew_after,
    renewed,
    trusted_for,
)
from cronce.core.ports import Clock, StoreClock, Telemetry
from cronce.core.retry import RetryAfter
from cronce.engine.held_claim import HeldClaim, Moment

ASK_AGAIN = timedelta(seconds=5)
"""Between two tries of one that waits for a lease. A try that is refused costs a write unit."""
CLOCK_IS_OFF = timedelta(minutes=1)
"""Until the next attempt, when this host's clock is wrong: another host may have a right one."""
AT_ONCE = timedelta(0)


class HeldLease:
    """A lease while it is held.

    Attributes:
        name: of the lease.
        fencing_token: higher than that of every holder before. A condition on it in the writes of the
            section refuses a holder that is late (`fenced_update`, `fenced_put`).
    """

    def __init__(self, lease: NamedLease, ttl: timedelta, asked: Moment, leases: RunLeases) -> None:
        self.name = lease.name
        self.fencing_token = lease.fencing_token
        self._lease = lease
        self._ttl = ttl
        self._asked = asked
        self._leases = leases
        self._lock = threading.Lock()
        self._lost: str | None = None

    @property
    def until(self) -> datetime:
        """Until when it stands, as last written: nobody else takes it before."""
        return self._lease.until

    def check(self) -> None:
        """Go on only while the lease is held, and the run's claim too.

        Raises:
            LeaseLostError: it was taken over, or was not renewed in time; then every later call says so.
            StopSignal: the run must stop.
        """
        self._leases.claim.check()
        if self._lost is None and not self._is_trusted():
            self._lost = "it was not renewed in time and can no longer be trusted"
        if self._lost is not None:
            raise LeaseLostError(f"lease {self.name!r}: {self._lost}")

    def renew(self) -> None:
        """Let it stand for its whole ttl from now on. It is also renewed by itself, in the background.

        Raises:
            LeaseLostError: it was taken over, or was not renewed in time.
            StopSignal: the run must stop.
            StoreError: the store did not answer; the lease is trusted as before.
        """
        self.check()
        self._renew()
        self.check()

    def renew_if_due(self) -> None:
        """Renew it if a third of its ttl has passed.

        Raises:
            StoreError: the store did not answer.
        """
        if self._asked.elapsed(self._leases.clock) >= renew_after(self._ttl):
            self._renew()

    def _renew(self) -> None:
        """Renew it, unless it is lost, or this host's clock is off: then it is left to end."""
        with self._lock:
            asked = Moment.of(self._leases.clock)
            now = self._leases.now()
            if now is None or self._lost is not None:
                return
            lease = renewed(self._lease, self._ttl, now)
            if self._leases.store.renew(lease):
                self._lease, self._asked = lease, asked
            else:
                self._lost = "somebody else has taken it"

    def give_back(self) -> bool:
        """Give it back. False: for some time it may not have been held.

        A refusal alone proves nothing while it is trusted: the reply to a release may have been lost, and
        somebody may have taken it since.
        """
        with self._lock:
            trusted = self._lost is None and self._is_trusted()
            try:
                released = self._leases.store.release(self._lease)
            except StoreError as error:  # it ends by itself
                self._leases.telemetry.warn("lease.not_released", lease=self.name, problem=str(error))
                released = False
            self._lost = self._lost or "it was given back"
            return released or trusted

    def _is_trusted(self) -> bool:
        return self._asked.elapsed(self._leases.clock) < trusted_for(self._ttl)


class RunLeases:
    """The leases of one worker.

    Args:
        store: where leases are kept.
        claim: of the run, which ends them all when it is lost.
        clock: the worker's.
        store_clock: the store's.
        telemetry: for a line about each taking.
    """

    def __init__(
        self,
        store: NamedLeaseStore,
        claim: HeldClaim,
        clock: Clock,
        store_clock: StoreClock,
        telemetry: Telemetry,
    ) -> None:
        self.store = store
        self.claim = claim
        self.clock = clock
        self.telemetry = telemetry
        self._store_clock = store_clock
        self._numbers = count(1)
        self._held: list[HeldLease] = []

    def renew(self) -> bool:
        """Renew the claim, then the leases that are due. False: the claim is lost, and nothing is renewed.

        Raises:
            StoreError: the store did not answer.
        """
        if not self.claim.renew():
            return False
        for lease in list(self._held):
            lease.renew_if_due()
        return True

    @contextmanager
    def holding(self, name: str, ttl: timedelta, wait: timedelta) -> Iterator[HeldLease]:
        """Hold a lease within the block."""
        held = self._take(name, ttl, wait)
        self._held.append(held)
        try:
            yield held
        except BaseException:
            self._let_go(held)
            raise
        if not self._let_go(held):
            raise LeaseLostError(
                f"lease {name!r} was lost before its section ended: somebody else may have been in it"
            )

    def _let_go(self, held: HeldLease) -> bool:
        self._held.remove(held)
        kept = held.give_back()
        if not kept:
            run = self.claim.record.ref.id
            self.telemetry.warn("lease.lost", lease=held.name, run=run, token=held.fencing_token)
        return kept

    def _take(self, name: str, ttl: timedelta, wait: timedelta) -> HeldLease:
        begun = Moment.of(self.clock)
        run = self.claim.record
        owner = f"{run.owner}/{next(self._numbers)}"
        while True:
            self.claim.check()
            asked = Moment.of(self.clock)
            taking = Taking(name=name, owner=owner, holder=run.ref.id, ttl=ttl, now=self._right_now())
            lease = self._asked(taking)
            if lease.owner == owner:
                self.telemetry.event("lease.taken", lease=name, run=run.ref.id, token=lease.fencing_token)
                return HeldLease(lease, ttl, asked, self)
            left = wait - begun.elapsed(self.clock)
            if left <= AT_ONCE:
                raise self._refused(lease)
            self.clock.pause(min(left, ASK_AGAIN).total_seconds())

    def _asked(self, taking: Taking) -> NamedLease:
        """The lease after the asking; one that cannot be believed is taken, if it is still as it was read."""
        lease = self.store.take(taking)
        if lease.owner == taking.owner or is_believed(lease, self._right_now()):
            return lease
        self.telemetry.warn("lease.not_believed", lease=lease.name, renewed_at=str(lease.renewed_at))
        return self.store.take(taking, judged=lease)

    def now(self) -> datetime | None:
        """The instant to judge a lease by. None: this host's clock is off."""
        return agreed_now(self.clock.now(), self._store_clock.skew())

    def _right_now(self) -> datetime:
        now = self.now()
        if now is None:
            skew = abs(self._store_clock.skew())
            raise RetryAfter(CLOCK_IS_OFF, f"no lease is taken: this host's clock is {skew} off the store's")
        return now

    def _refused(self, lease: NamedLease) -> LeaseHeldError:
        self.telemetry.event("lease.refused", lease=lease.name, holder=lease.holder, until=str(lease.until))
        delay = max(lease.until - self.clock.now(), AT_ONCE)
        text = f"lease {lease.name!r} is held by {lease.holder} until {lease.until:%Y-%m-%d %H:%M:%S}Z"
        return LeaseHeldError(delay, text, lease.until)


_LEASES: ContextVar[RunLeases | None] = ContextVar("cronce_leases", default=None)


@contextmanager
def leasing(leases: RunLeases) -> Iterator[None]:
    """Within the block, `lease` takes leases of this worker."""
    token = _LEASES.set(leases)
    try:
        yield
    finally:
        _LEASES.reset(token)


@contextmanager
def lease(name: str, ttl: Duration, *, wait: Duration = AT_ONCE) -> Iterator[HeldLease]:
    """Keep everybody else out of a section while it is executed, across runs, jobs and machines.

    The lease is renewed in the background while the worker lives, and given back at the end of the block.
    If the worker dies, others wait for what is left of `ttl`. What is written within the section to
    something that others write too is safe only with the fencing token: see docs/leases.md.

    Args:
        name: of the section: 1 to 63 of a-z, 0-9 and '-'. Whoever uses the same name in this deployment
            shares it.
        ttl: how long it stands without a renewal: a minute to a day. Longer than the longest stand-still
            that you can imagine, shorter than what you can wait after a crash.
        wait: how long to wait for it if somebody else holds it, in this invocation, which is billed.

    Yields:
        The lease as it is held, with `fencing_token`, `check()` and `renew()`.

    Raises:
        LeaseHeldError: somebody else holds it. Let it pass, and the run is tried again when that lease ends.
        LeaseLostError: the block ended, but the lease had been lost before.
        CronceError: this is not within a job's function, or in a thread that it has started.
        DefinitionError: name, ttl or wait is malformed.
        RetryAfter: this host's clock is off.
        StoreError: the store did not answer.

    Example:
        with lease("warehouse-export", ttl="10m") as held:
            run.each("rows", rows(), write_row, held.fencing_token)
    """
    leases = _LEASES.get()
    checked, stands = check_name(name), check_ttl(ttl)
    waits = duration("wait", wait)
    if leases is None:
        raise CronceError(
            f"lease {name!r} is not taken within a job's function: a lease belongs to a run. A thread "
            "that the job starts needs its context: start it with `contextvars.copy_context().run`"
        )
    with leases.holding(checked, stands, waits) as held:
        yield held
