"""The right to execute a run: a claim that has to be renewed.

Guaranteed: at most one claim of a run is live in the store. Each claim carries an owner (made anew for
every invocation) and a fencing token (higher than all before it of the job), and every write of a worker
carries both as its condition. A worker that lost its claim cannot record a step, end the run or free
anything, whatever it believes.

Not guaranteed: that only one worker *believes* to hold the claim. What a step does to the outside world
cannot be conditional on the claim, so a worker stops believing long before anybody else may take over:

* a claim made or renewed at `t` stands until `t + CLAIM_TTL`, never past the run's timeout, and not past
  the end of the invocation by more than `TRUST_MARGIN`. `t` is the instant of the claiming call, when the
  clock agreed with the store's, and what has passed since;
* its worker trusts it for `CLAIM_TTL - TRUST_MARGIN`, counted from *before* the call that claimed or
  renewed it, and by the larger of wall clock and monotonic clock: a machine that stood still notices by
  the one, a wall clock that was set back by the other;
* others take over at its end + `TAKE_OVER_AFTER`, which covers clocks that differ by what `CLOCK_SKEW`
  lets pass.

Failure cases: the worker dies -> taken over about two minutes later, though the run may take hours; the
worker stands still -> its next call on the run stops it; a renewal is refused -> likewise; a worker's
clock is wrong -> it claims nothing; it is set back later -> nothing, the monotonic one goes on; an expiry
further ahead than any right clock can have written -> not believed.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from cronce.core.lease import BELIEF_MARGIN
from cronce.core.records import RunRecord
from cronce.core.values import dataclass

CLAIM_TTL = timedelta(seconds=60)
"""How long a claim stands: a crash is noticed within two minutes, and a renewal may fail."""
RENEW_EVERY = timedelta(seconds=20)
"""A third of the claim's life."""
TRUST_MARGIN = timedelta(seconds=15)
"""By how much a worker stops trusting its claim before it ends: time for the effect that is under way."""
TAKE_OVER_AFTER = timedelta(seconds=10)
"""An expired claim is taken only so much later: clocks of two hosts may each be off by `CLOCK_SKEW`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """One invocation of the executor.

    Attributes:
        owner: a uuid made when it began. The request id will not do: an event delivered twice carries the
            same one.
        deadline: when Lambda ends it.
        request_id: Lambda's request, for people who look for the log.
        log_stream: where it logs.
    """

    owner: str
    deadline: datetime
    request_id: str | None = None
    log_stream: str | None = None


def claim_end(run: RunRecord, now: datetime, deadline: datetime) -> datetime:
    """Until when a claim made or renewed now stands.

    Args:
        run: the record under this claim.
        now: of the claiming or renewing call.
        deadline: when the worker's invocation ends.
    """
    started = run.slice_started_at or now
    return min(now + CLAIM_TTL, started + run.timeout - run.executed, deadline + TRUST_MARGIN)


def is_expired(run: RunRecord, now: datetime, read_at: datetime) -> bool:
    """Whether a RUNNING run's claim may be taken over.

    A claim that ends further ahead than any right clock can have written is not believed. That is judged by
    the time after the run was read: measured by an earlier one (the tick's, or that of an executor which
    stood still since), a claim that was made or renewed meanwhile would look like one from the future.

    Args:
        run: as read.
        now: to judge its end by; rather too early than too late.
        read_at: an instant after it was read.
    """
    until = run.claim_until
    return until is None or until + TAKE_OVER_AFTER <= now or until > read_at + CLAIM_TTL + BELIEF_MARGIN
