"""Tells services outside AWS of runs and patrols, after what they are told of is on record.

Nothing here changes what is told of. A run's start is sent beside its work; its end once it is written and
its slot is free; the heartbeat once the patrol is over and its metrics are out. Each is waited for, so that
nothing of it is left when the invocation ends, and for a bounded time: a service that hangs makes an
invocation some seconds longer, and no run later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cronce.core import pings
from cronce.core.values import dataclass
from cronce.engine.metrics import PINGS_FAILED

if TYPE_CHECKING:
    from cronce.core.job import Job
    from cronce.core.pings import Signal
    from cronce.core.ports import Clock, Pinger, Sending, Telemetry
    from cronce.core.records import RunRecord

NO_TIME = "its invocation was about to end"
"""Why a signal was not sent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pings:
    """Sends signals and reports those that failed.

    Attributes:
        pinger: sends them.
        clock: to tell how much time there is.
        telemetry: a signal that failed is one line and a count.
        prefix: that of the stack's idempotency keys.
    """

    pinger: Pinger
    clock: Clock
    telemetry: Telemetry
    prefix: str

    def beat(self, deadline: datetime) -> None:
        """The stack is well.

        Args:
            deadline: when the invocation ends.
        """
        self._send_and_wait(pings.heartbeat(), deadline, "")

    @contextmanager
    def begun(self, job: Job, claimed: RunRecord, deadline: datetime) -> Iterator[None]:
        """Tell of a run's start beside the block; it has arrived, or never will, when the block is left.

        A start that came after its own end would leave the service waiting for another end.
        """
        signal = pings.at_claim(job, claimed, self.prefix)
        sending = self._send(signal, deadline) if signal else None
        try:
            yield
        finally:
            if signal and sending:
                self._report(signal, sending.outcome(), claimed.ref.id)

    def ended(self, job: Job, run: RunRecord, deadline: datetime) -> None:
        """Tell of a run's end, if it has ended and is to be told."""
        signal = pings.at_end(job, run, self.prefix)
        if signal:
            self._send_and_wait(signal, deadline, run.ref.id)

    def _send_and_wait(self, signal: Signal, deadline: datetime, run: str) -> None:
        self.telemetry.flush()  # what is known is published, whatever becomes of this
        sending = self._send(signal, deadline)
        self._report(signal, sending.outcome() if sending else NO_TIME, run)

    def _send(self, signal: Signal, deadline: datetime) -> Sending | None:
        within = min(pings.WITHIN, deadline - self.clock.now() - pings.MARGIN)
        return self.pinger.send(signal, within) if within > timedelta(0) else None

    def _report(self, signal: Signal, problem: str | None, run: str) -> None:
        if problem is not None:
            self.telemetry.warn("ping.failed", of=signal.of, signal=signal.kind, run=run, problem=problem)
            self.telemetry.count(PINGS_FAILED)
