"""The right to schedule: a fenced lease.

Guaranteed: each holder has a higher fencing token than all before it, and every planning write carries
owner and token as its condition. A scheduler that was paused, or whose lease was taken over, is refused by
the store; its own belief does not matter. Not guaranteed: that only one scheduler *believes* to hold the
lease at a time.

Formula: a lease taken at `now` stands until `now + LEASE_TTL`. It may be taken by anybody when it is
absent, when it has expired, or when its expiry lies further ahead than `LEASE_TTL + BELIEF_MARGIN`: a host
whose clock is an hour ahead took it, and everybody else must not wait for that hour.

Failure cases: the holder dies -> taken over after expiry; the holder pauses -> its next write fails on the
token; clocks differ -> the tick stops at more than `CLOCK_SKEW`, measured on the store's own clock; a
scheduler stands still between reading its clock and asking, for nearly `BELIEF_MARGIN` or longer -> it may
take a lease that stands, as if the clock that wrote it were wrong. The holder's next write fails on the token
then, and the taker, which reads its clock again, does the tick: all that is lost is the holder's. A function
ends after 45 s, so only a machine that is frozen gets there, and asking twice each minute is not worth it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from cronce.core.values import dataclass

LEASE_TTL = timedelta(seconds=50)
"""Longer than the scheduler function may run (45 s), shorter than the minute between two ticks."""
BELIEF_MARGIN = timedelta(seconds=60)
"""An expiry further ahead than TTL plus this was written by a clock that is wrong."""
CLOCK_SKEW = timedelta(seconds=5)
"""Own clock against the store's: beyond this the host neither plans nor claims."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """A lease that was taken: what every planning write carries.

    Attributes:
        owner: this invocation.
        fencing_token: higher than all before it.
        fingerprint: of the registry, as stored; None = none was ever written.
        completed_at: when a tick last completed.
    """

    owner: str
    fencing_token: int
    fingerprint: str | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """The lease item as read.

    Attributes:
        owner: who took it last; None once released.
        fencing_token: the last token.
        lease_until: until when it stands.
        completed_at: when a tick last completed; None = never.
    """

    owner: str | None
    fencing_token: int
    lease_until: datetime
    completed_at: datetime | None


def may_take(lease: Lease | None, now: datetime) -> bool:
    """Whether the lease is free for the taking: the stores' condition, in words."""
    if lease is None:
        return True
    return lease.lease_until < now or lease.lease_until > now + LEASE_TTL + BELIEF_MARGIN


def agreed_now(own: datetime, skew: timedelta) -> datetime | None:
    """The instant to act on, or None when own clock and store's clock differ too much to act at all.

    Args:
        own: this host's clock.
        skew: the store's clock less this host's.
    """
    if abs(skew) > CLOCK_SKEW:
        return None
    return min(own, own + skew)
