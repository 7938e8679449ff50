"""Jobs' own leases in the store: one holder at a time under a name, and a token that only grows.

Invariants:
- a lease is given to one taker; the others see who holds it and until when;
- it is free from its end on, and at once when it was given back;
- every taking has a higher token than all before it, also after the lease was given back;
- renewing and giving back need the owner and the token of the taking: a late holder changes nothing;
- a lease that is not believed is taken only if it is still as it was judged.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone

from cronce.core.named_lease import NamedLease, Taking, renewed
from tests.contract.backends import Backend
from tests.contract.makers import MINUTE, NOW

MOMENT = timedelta(milliseconds=1)
TTL = 10 * MINUTE
NAME = "warehouse-export"


def taking(owner: str, minutes: int = 0, *, name: str = NAME, late: timedelta = timedelta(0)) -> Taking:
    """Somebody asks so many minutes after NOW."""
    return Taking(
        name=name, owner=owner, holder=f"run of {owner}", ttl=TTL, now=NOW + minutes * MINUTE + late
    )


def taken(backend: Backend, asked: Taking) -> NamedLease:
    """The lease, taken."""
    lease = backend.leases.take(asked)
    assert lease.owner == asked.owner, f"{asked.owner} did not get it: {lease}"
    return lease


def standing(backend: Backend) -> NamedLease:
    """The lease as it stands, seen by somebody who asks far too early."""
    lease = backend.leases.take(taking("onlooker", -60))
    assert lease.owner != "onlooker", "it was free"
    return lease


def test_the_first_taker_gets_the_lease_for_its_ttl(backend: Backend) -> None:
    lease = backend.leases.take(taking("a"))

    assert lease == NamedLease(
        name=NAME, owner="a", holder="run of a", fencing_token=1, renewed_at=NOW, until=NOW + TTL
    )
    assert standing(backend) == lease


def test_others_are_refused_until_the_end_and_are_told_who_holds_it(backend: Backend) -> None:
    held = taken(backend, taking("a"))

    assert backend.leases.take(taking("b", 3)) == held
    assert backend.leases.take(taking("b", 10, late=-MOMENT)) == held
    assert taken(backend, taking("b", 10)).fencing_token == 2


def test_the_end_is_an_instant_whatever_the_local_offset(backend: Backend) -> None:
    held = taken(backend, taking("a"))
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    asked = taking("b", 10)

    assert backend.leases.take(replace(asked, now=(asked.now - MOMENT).astimezone(kathmandu))) == held
    assert taken(backend, replace(asked, now=asked.now.astimezone(kathmandu))).fencing_token == 2


def test_two_in_the_same_second_are_one_holder_and_one_who_knows(backend: Backend) -> None:
    first, second = backend.leases.take(taking("a")), backend.leases.take(taking("b"))

    assert (first.owner, second.owner) == ("a", "a")


def test_leases_of_different_names_know_nothing_of_each_other(backend: Backend) -> None:
    taken(backend, taking("a"))

    assert taken(backend, taking("b", name="another")).fencing_token == 1


def test_a_taking_whose_reply_was_lost_is_known_by_its_owner(backend: Backend) -> None:
    first = taken(backend, taking("a"))

    assert backend.leases.take(taking("a")) == first


def test_a_renewal_moves_the_end(backend: Backend) -> None:
    held = taken(backend, taking("a"))
    later = renewed(held, TTL, NOW + 5 * MINUTE)

    assert backend.leases.renew(later)

    assert standing(backend) == later
    assert later.until == NOW + 15 * MINUTE
    assert backend.leases.take(taking("b", 14)).owner == "a"


def test_a_lease_that_has_ended_is_renewed_if_nobody_has_taken_it(backend: Backend) -> None:
    held = taken(backend, taking("a"))

    assert backend.leases.renew(renewed(held, TTL, NOW + 20 * MINUTE))

    assert backend.leases.take(taking("b", 29)).owner == "a"


def test_a_lease_that_was_taken_over_is_not_renewed(backend: Backend) -> None:
    old = taken(backend, taking("a"))
    new = taken(backend, taking("b", 10))

    assert not backend.leases.renew(renewed(old, TTL, NOW + 11 * MINUTE))

    assert standing(backend) == new


def test_a_lease_that_was_given_back_is_free_at_once_and_keeps_its_token(backend: Backend) -> None:
    held = taken(backend, taking("a"))

    assert backend.leases.release(held)

    assert not backend.leases.renew(renewed(held, TTL, NOW + MINUTE))
    assert taken(backend, taking("b")).fencing_token == 2


def test_a_late_release_changes_nothing(backend: Backend) -> None:
    old = taken(backend, taking("a"))
    new = taken(backend, taking("b", 10))

    assert not backend.leases.release(old)

    assert standing(backend) == new


def test_renewing_and_releasing_need_the_owner_and_the_token(backend: Backend) -> None:
    held = taken(backend, taking("a"))

    for other in (replace(held, owner="b"), replace(held, fencing_token=2)):
        assert not backend.leases.renew(replace(other, until=NOW + timedelta(days=1)))
        assert not backend.leases.release(other)
    assert standing(backend) == held


def test_neither_renewing_nor_releasing_makes_a_lease(backend: Backend) -> None:
    never = taking("a").taken(1)

    assert not backend.leases.renew(never)
    assert not backend.leases.release(never)
    assert taken(backend, taking("b")).fencing_token == 1


def test_tokens_grow_with_every_taking(backend: Backend) -> None:
    tokens = []
    for number in range(4):
        lease = taken(backend, taking(f"owner-{number}", number * 10))
        tokens.append(lease.fencing_token)
        if number % 2:
            assert backend.leases.release(lease)

    assert tokens == [1, 2, 3, 4]


def test_a_lease_that_is_not_believed_is_taken_as_it_was_judged(backend: Backend) -> None:
    judged = taken(backend, taking("an hour ahead", 60))

    lease = backend.leases.take(taking("b"), judged=judged)

    assert (lease.owner, lease.fencing_token, lease.until) == ("b", 2, NOW + TTL)


def test_a_judged_lease_that_was_renewed_meanwhile_is_not_taken(backend: Backend) -> None:
    judged = taken(backend, taking("a", 60))
    right = replace(judged, renewed_at=NOW, until=NOW + TTL)
    assert backend.leases.renew(right)

    assert backend.leases.take(taking("b"), judged=judged) == right


def test_a_judged_lease_that_changed_hands_meanwhile_is_not_taken(backend: Backend) -> None:
    judged = taken(backend, taking("a", 60))
    assert backend.leases.release(judged)
    new = taken(backend, replace(taking("c"), now=judged.renewed_at))

    assert backend.leases.take(taking("b"), judged=judged) == new


def test_a_judged_lease_that_is_gone_is_not_made_anew(backend: Backend) -> None:
    lease = backend.leases.take(taking("b"), judged=taking("a", 60).taken(7))

    assert lease.owner is None
    assert taken(backend, taking("c")).fencing_token == 1
