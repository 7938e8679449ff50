"""What a planning write is conditional on, each condition by itself.

Invariants:
- without the lease (owner, token) nothing is written, whatever the scheduler believes;
- a job that moved since it was read is stale, and no other job of the transaction is written either;
- slots count only when the window queues runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cronce.core.answers import CommitOutcome
from cronce.core.jobstate import JobState, Pause
from cronce.core.records import Slots
from tests.contract.backends import Backend
from tests.contract.makers import JOB, MINUTE, NOW, grant_of, job_in, job_state, pending, queued, ref, window

STALE = CommitOutcome(stale=frozenset({JOB}))
LOST = CommitOutcome(lease_lost=True)


@pytest.mark.parametrize(
    "difference", [{"owner": "somebody"}, {"fencing_token": 2}, {"fencing_token": 0}], ids=str
)
def test_a_window_needs_the_owner_and_the_token_of_the_lease(
    backend: Backend, difference: dict[str, Any]
) -> None:
    backend.place(job_state())
    grant = replace(grant_of(backend), **difference)

    assert backend.plans.commit(grant, [window(job_state(), pending(ref(1)))]) == LOST

    assert job_in(backend) == job_state()
    assert backend.runs.get(ref(1)) is None


def test_p32_p53_a_scheduler_whose_lease_was_taken_over_plans_nothing(backend: Backend) -> None:
    backend.place(job_state())
    old = grant_of(backend, "a")
    grant_of(backend, "b", NOW + MINUTE)

    assert backend.plans.commit(old, [window(job_state(), pending(ref(1)))]) == LOST
    assert backend.plans.commit(old, [window(None, pending(ref(1, job="new")), name="new")]) == LOST
    assert job_in(backend) == job_state()
    assert backend.jobs.get("new") is None


def test_a_scheduler_that_gave_its_lease_back_plans_nothing(backend: Backend) -> None:
    grant = grant_of(backend)
    backend.lease.release(grant, NOW)

    assert backend.plans.commit(grant, [window(None, pending(ref(1)))]) == LOST
    assert backend.jobs.get(JOB) is None


def test_without_any_lease_nothing_is_planned(backend: Backend) -> None:
    grant = grant_of(backend)
    stranger = replace(grant, owner="stranger", fencing_token=99)

    assert backend.plans.commit(stranger, [window(None, pending(ref(1)))]) == LOST


@pytest.mark.parametrize(
    "moved",
    [
        pytest.param({"planned_to": NOW + MINUTE}, id="planned_to further on"),
        pytest.param({"planned_to": NOW - MINUTE}, id="planned_to rolled back"),
        pytest.param({"paused": Pause(at=NOW, by="ada", why="stock-taking")}, id="i3 paused meanwhile"),
        pytest.param({"resumed_at": NOW}, id="resumed meanwhile"),
        pytest.param({"removed_at": NOW}, id="removed meanwhile"),
        pytest.param({"schedule_hash": "hash-2"}, id="schedule adopted meanwhile"),
    ],
)
def test_a_job_that_moved_since_it_was_read_is_stale(backend: Backend, moved: dict[str, Any]) -> None:
    now_stored = job_state(**moved)
    backend.place(now_stored)

    assert backend.plans.commit(grant_of(backend), [window(job_state(), pending(ref(1)))]) == STALE

    assert job_in(backend) == now_stored
    assert backend.runs.get(ref(1)) is None


@pytest.mark.parametrize(
    "as_read",
    [
        pytest.param({"paused": Pause(at=NOW, by="ada", why="stock-taking")}, id="no longer paused"),
        pytest.param({"paused": Pause(at=NOW - MINUTE, by="ada", why="stock-taking")}, id="another pause"),
        pytest.param({"resumed_at": NOW}, id="resumption planned meanwhile"),
        pytest.param({"removed_at": NOW}, id="back meanwhile"),
    ],
)
def test_a_job_that_lost_what_was_read_is_stale(backend: Backend, as_read: dict[str, Any]) -> None:
    another_pause = as_read.get("paused") == Pause(at=NOW - MINUTE, by="ada", why="stock-taking")
    now_stored = job_state(paused=Pause(at=NOW, by="ada", why="stock-taking") if another_pause else None)
    backend.place(now_stored)

    outcome = backend.plans.commit(grant_of(backend), [window(job_state(**as_read), pending(ref(1)))])

    assert outcome == STALE
    assert job_in(backend) == now_stored


def test_conditions_hold_on_values_that_are_set_as_well(backend: Backend) -> None:
    state = job_state(
        paused=Pause(at=NOW, by="ada", why="stock-taking"),
        resumed_at=NOW - MINUTE,
        removed_at=NOW - 2 * MINUTE,
    )
    backend.place(state)

    outcome = backend.plans.commit(
        grant_of(backend), [window(state, paused=None, resumed_at=None, removed_at=None)]
    )

    assert outcome == CommitOutcome(done=True)
    after = job_in(backend)
    assert (after.paused, after.resumed_at, after.removed_at) == (None, None, None)


def test_a_new_job_that_exists_already_is_stale(backend: Backend) -> None:
    backend.place(job_state())

    assert backend.plans.commit(grant_of(backend), [window(None, pending(ref(1)))]) == STALE
    assert job_in(backend) == job_state()


def test_i8_a_job_item_that_is_gone_is_stale_and_not_created(backend: Backend) -> None:
    assert backend.plans.commit(grant_of(backend), [window(job_state(), pending(ref(1)))]) == STALE
    assert backend.jobs.get(JOB) is None
    assert backend.runs.get(ref(1)) is None


@pytest.mark.parametrize(
    "slots",
    [
        pytest.param(Slots(held=frozenset(), fencing_token=3), id="i37 slot freed"),
        pytest.param(Slots(held=frozenset({ref(0).id}), queued=1, fencing_token=3), id="another queued"),
        pytest.param(Slots(held=frozenset({ref(0).id}), fencing_token=4), id="token moved"),
    ],
)
def test_a_window_that_queues_is_stale_when_the_slots_have_moved(backend: Backend, slots: Slots) -> None:
    as_read = job_state(slots=Slots(held=frozenset({ref(0).id}), fencing_token=3))
    now_stored = replace(as_read, slots=slots)
    backend.place(now_stored)

    assert backend.plans.commit(grant_of(backend), [window(as_read, queued(ref(1)))]) == STALE

    assert job_in(backend) == now_stored
    assert backend.markers(JOB) == []
    assert backend.runs.get(ref(1)) is None


def test_a_window_that_queues_is_stale_when_a_free_slot_was_handed_out(backend: Backend) -> None:
    handed_out = job_state(slots=Slots(held=frozenset({ref(0).id})))
    backend.place(handed_out)

    assert backend.plans.commit(grant_of(backend), [window(job_state(), queued(ref(1)))]) == STALE

    assert job_in(backend) == handed_out
    assert backend.runs.get(ref(1)) is None


def test_a_stale_job_stops_the_others_of_its_transaction_only_until_it_is_left_out(backend: Backend) -> None:
    fresh: list[JobState] = [job_state("a"), job_state("c")]
    backend.place(*fresh, job_state("b", planned_to=NOW + 5 * MINUTE))
    grant = grant_of(backend)
    windows = [window(job_state(name), pending(ref(1, job=name))) for name in "abc"]

    outcome = backend.plans.commit(grant, windows)

    assert outcome == CommitOutcome(stale=frozenset({"b"}))
    assert [job_in(backend, state.name) for state in fresh] == fresh
    assert backend.plans.commit(grant, [windows[0], windows[2]]) == CommitOutcome(done=True)


def test_a_lost_lease_outranks_everything_else(backend: Backend) -> None:
    backend.place(job_state(planned_to=NOW + 5 * MINUTE), pending(ref(1)))
    stale_grant = replace(grant_of(backend), fencing_token=0)

    assert backend.plans.commit(stale_grant, [window(job_state(), pending(ref(1)))]) == LOST
