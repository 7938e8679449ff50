"""A job's own lease: an exclusive section under a name, with a fencing token.

Guaranteed: in the store a lease has one holder at a time. Each taking has a higher fencing token than all
before it under that name, also after years: a lease is never deleted. Nobody but its holder gives it back.

Not guaranteed: that only one process *believes* to hold it. What a section does to the outside world cannot
be conditional on the lease, so a holder stops believing before anybody else may take over:

* a lease taken or renewed at `t` stands until `t + ttl`; from then on anybody may take it;
* its holder trusts it for `ttl - TRUST_MARGIN`, counted from *before* the call, and by the larger of wall
  clock and monotonic clock. The margin covers two clocks that are each off by `CLOCK_SKEW`, and leaves time
  for the effect that is under way;
* who holds on to it longer than that all the same is refused where it writes, if it writes under the token.

Belief: a renewal that lies in the future by more than `BELIEF_MARGIN` was written by a clock that was wrong,
so that the end (renewal + ttl) is not waited for. It is judged by the taker's clock *after* the lease was
read, and the take is then conditional on the lease that was judged. One that stood still between reading its
clock and asking would otherwise take a lease from a holder that renewed it meanwhile. The renewal's instant
is stored because takers of one name may ask for different ttls: a release that shortens the ttl must not
disbelieve the holder of the release before.

Failure cases: the holder dies -> taken over at its end; it stands still -> its next `check()` says so; a
renewal is refused -> likewise; a late release -> refused, it carries an old token.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from cronce.core.claim import RENEW_EVERY, TRUST_MARGIN
from cronce.core.durations import duration
from cronce.core.errors import CronceError, DefinitionError
from cronce.core.lease import BELIEF_MARGIN
from cronce.core.retry import RetryAfter
from cronce.core.values import dataclass

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
"""As of jobs."""
SHORTEST = timedelta(minutes=1)
"""A third of it is what passes between two renewals of a claim (`RENEW_EVERY`), which renew leases too."""
LONGEST = timedelta(days=1)
"""A lease outlives its holder by this at most. Longer sections are renewed."""
RENEWALS = 3
"""Renewals in the life of a lease: two may fail."""


class LeaseHeldError(CronceError, RetryAfter):
    """Somebody else holds the lease. Let it pass: the run is tried again when that lease ends.

    Like every `RetryAfter` it costs the run an attempt.

    Attributes:
        until: the end of the lease as it stands; its holder may renew it, or give it back sooner.
    """

    def __init__(self, delay: timedelta, message: str, until: datetime) -> None:
        super().__init__(delay, message)
        self.until = until


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedLease:
    """A lease as stored.

    Attributes:
        name: of the lease.
        owner: of this taking, made anew for each; None once given back.
        holder: id of the run that took it, for people; None once given back.
        fencing_token: of this taking.
        renewed_at: when it was taken or last renewed, by its holder's clock.
        until: until when it stands.
    """

    name: str
    owner: str | None
    holder: str | None
    fencing_token: int
    renewed_at: datetime
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Taking:
    """Who wants a lease.

    Attributes:
        name: of the lease.
        owner: unique to this taking.
        holder: id of the run that asks.
        ttl: how long it shall stand.
        now: of the asking.
    """

    name: str
    owner: str
    holder: str
    ttl: timedelta
    now: datetime

    def taken(self, token: int) -> NamedLease:
        """The lease once it is taken under a token."""
        return NamedLease(
            name=self.name,
            owner=self.owner,
            holder=self.holder,
            fencing_token=token,
            renewed_at=self.now,
            until=self.now + self.ttl,
        )


def is_free(lease: NamedLease | None, now: datetime) -> bool:
    """Whether anybody may take it: the stores' condition, in words."""
    return lease is None or lease.until <= now


def is_believed(lease: NamedLease, read_at: datetime) -> bool:
    """Whether its end can have been written by a right clock.

    Args:
        lease: as read.
        read_at: an instant after it was read.
    """
    return lease.renewed_at <= read_at + BELIEF_MARGIN


def renewed(lease: NamedLease, ttl: timedelta, now: datetime) -> NamedLease:
    """The lease after a renewal."""
    return replace(lease, renewed_at=now, until=now + ttl)


def trusted_for(ttl: timedelta) -> timedelta:
    """How long after the start of the taking or renewing call a holder trusts its lease."""
    return ttl - TRUST_MARGIN


def renew_after(ttl: timedelta) -> timedelta:
    """How long after a renewal the next one is due."""
    return max(ttl / RENEWALS, RENEW_EVERY)


def check_name(name: object) -> str:
    """The name of a lease.

    Raises:
        DefinitionError: it is malformed.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DefinitionError(
            f"a lease's name is 1 to 63 lower-case letters, digits and hyphens, beginning with a letter or "
            f"digit, not {name!r}"
        )
    return name


def check_ttl(ttl: object) -> timedelta:
    """How long a lease stands.

    Raises:
        DefinitionError: it is no duration, too short or too long.
    """
    wanted = duration("ttl", ttl, at_least=SHORTEST)
    if wanted > LONGEST:
        raise DefinitionError(
            f"ttl takes at most {LONGEST}, not {wanted}: a lease is renewed while its holder lives, "
            "and a dead holder keeps everybody out for that long"
        )
    return wanted
