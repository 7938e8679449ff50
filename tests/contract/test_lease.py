"""The lease: one holder at a time by condition, and a token that only grows.

Invariants:
- a lease is given to one taker; the others get None, not an error;
- it is free again after its end, after it was given back, and at once when its end cannot be believed;
- every take has a higher token than all before it;
- giving back a lease that was taken over changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone

from cronce.core.jobstate import Registry
from cronce.core.lease import BELIEF_MARGIN, LEASE_TTL, Grant
from tests.contract.backends import Backend
from tests.contract.makers import JOB, MINUTE, NOW, grant_of, window

MOMENT = timedelta(milliseconds=1)


def test_the_first_take_creates_the_lease(backend: Backend) -> None:
    assert backend.lease.read() is None

    grant = backend.lease.take("a", NOW)

    assert grant == Grant(owner="a", fencing_token=1)
    lease = backend.lease.read()
    assert lease is not None
    assert (lease.owner, lease.fencing_token, lease.lease_until) == ("a", 1, NOW + LEASE_TTL)
    assert lease.completed_at is None


def test_p39_a_second_taker_is_refused_while_the_lease_stands(backend: Backend) -> None:
    grant_of(backend, "a")

    assert backend.lease.take("b", NOW) is None
    assert backend.lease.take("b", NOW + LEASE_TTL) is None
    lease = backend.lease.read()
    assert lease is not None
    assert (lease.owner, lease.fencing_token, lease.lease_until) == ("a", 1, NOW + LEASE_TTL)


def test_p15_an_expired_lease_is_taken_over_whatever_the_local_offset(backend: Backend) -> None:
    grant_of(backend, "a")
    in_kathmandu = (NOW + LEASE_TTL + MOMENT).astimezone(timezone(timedelta(hours=5, minutes=45)))

    grant = backend.lease.take("b", in_kathmandu)

    assert grant == Grant(owner="b", fencing_token=2)
    lease = backend.lease.read()
    assert lease is not None
    assert lease.lease_until == in_kathmandu + LEASE_TTL


def test_i10_an_end_that_nobody_can_believe_is_not_waited_for(backend: Backend) -> None:
    grant_of(backend, "an hour ahead", NOW + 60 * MINUTE)

    assert backend.lease.take("right", NOW) == Grant(owner="right", fencing_token=2)


def test_an_end_that_is_just_believable_is_respected(backend: Backend) -> None:
    grant_of(backend, "a minute ahead", NOW + BELIEF_MARGIN)

    assert backend.lease.take("right", NOW) is None
    assert backend.lease.take("right", NOW - MOMENT) is not None


def test_an_own_take_whose_reply_was_lost_is_recognised(backend: Backend) -> None:
    first = grant_of(backend, "a")

    assert backend.lease.take("a", NOW) == first


def test_a_given_back_lease_is_free_at_once_and_keeps_its_token(backend: Backend) -> None:
    grant = grant_of(backend, "a")

    assert backend.lease.release(grant, NOW)

    lease = backend.lease.read()
    assert lease is not None
    assert (lease.owner, lease.fencing_token, lease.completed_at) == (None, 1, NOW)
    assert lease.lease_until < NOW
    assert backend.lease.take("b", NOW) == Grant(owner="b", fencing_token=2, completed_at=NOW)


def test_giving_back_without_completion_keeps_when_a_tick_last_completed(backend: Backend) -> None:
    backend.lease.release(grant_of(backend, "a"), NOW)

    assert backend.lease.release(grant_of(backend, "b", NOW + MINUTE), None)

    lease = backend.lease.read()
    assert lease is not None
    assert lease.completed_at == NOW


def test_p32_a_late_release_of_a_lease_taken_over_is_harmless(backend: Backend) -> None:
    old = grant_of(backend, "a")
    new = grant_of(backend, "b", NOW + MINUTE)

    assert not backend.lease.release(old, NOW + MINUTE)

    lease = backend.lease.read()
    assert lease is not None
    assert (lease.owner, lease.fencing_token) == ("b", new.fencing_token)
    assert lease.lease_until == NOW + MINUTE + LEASE_TTL
    assert lease.completed_at is None


def test_p53_a_taker_that_paused_before_it_sent_loses_its_writes_to_the_next_holder(backend: Backend) -> None:
    """Six seconds pass between `now` and the call, so the lease ends so much before its holder thinks."""
    computed, sent = NOW, NOW + timedelta(seconds=6)
    slow = grant_of(backend, "slow", computed)
    taken = computed + LEASE_TTL + MOMENT
    assert taken < sent + LEASE_TTL, "the slow one, who counts from when it was answered, still believes"
    quick = grant_of(backend, "quick", taken)
    registry = Registry(jobs={}, zone_data="2026f", fingerprint="of slow")

    assert not backend.registry.write(slow, registry)
    assert backend.plans.commit(slow, [window(None)]).lease_lost
    assert not backend.lease.release(slow, sent + LEASE_TTL)

    assert (slow.fencing_token, quick.fencing_token) == (1, 2)
    assert (backend.registry.read(), backend.jobs.get(JOB)) == (None, None)
    assert backend.plans.commit(quick, [window(None)]).done
    assert backend.registry.write(quick, replace(registry, fingerprint="of quick"))


def test_p53_a_taker_that_paused_is_refused_if_somebody_took_the_lease_meanwhile(backend: Backend) -> None:
    grant_of(backend, "first", NOW)
    computed = NOW + LEASE_TTL + MOMENT
    grant_of(backend, "quick", computed + MOMENT)

    assert backend.lease.take("slow", computed) is None


def test_a_release_needs_the_owner_and_the_token(backend: Backend) -> None:
    grant = grant_of(backend, "a")

    assert not backend.lease.release(replace(grant, owner="b"), NOW)
    assert not backend.lease.release(replace(grant, fencing_token=2), NOW)
    assert backend.lease.release(grant, NOW)


def test_a_release_of_a_lease_that_was_never_taken_creates_nothing(backend: Backend) -> None:
    assert not backend.lease.release(Grant(owner="a", fencing_token=1), NOW)
    assert backend.lease.read() is None


def test_tokens_grow_with_every_take(backend: Backend) -> None:
    tokens = [grant_of(backend, f"owner-{n}", NOW + n * MINUTE).fencing_token for n in range(5)]

    assert tokens == [1, 2, 3, 4, 5]


def test_the_skew_is_zero_before_the_store_has_answered(backend: Backend) -> None:
    assert backend.clock.skew() == timedelta(0)
