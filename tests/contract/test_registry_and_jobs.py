"""The registry, and job items.

Invariants:
- only the holder of the lease writes the registry, and the lease carries its fingerprint from then on;
- a job item that is missing and one that cannot be read are different answers;
- tokens handed out grow by one, and nothing is created for a job that does not exist.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.errors import UnreadableItemError
from cronce.core.jobstate import Held, Pause, Registry, RegistryEntry
from cronce.core.records import Slots
from tests.contract.backends import Backend
from tests.contract.makers import JOB, MINUTE, NOW, grant_of, job_in, job_state

REGISTRY = Registry(
    jobs={JOB: RegistryEntry(module="jobs.daily_menu", schedule_hash="hash-1", grace=timedelta(minutes=15))},
    zone_data="2026f",
    fingerprint="print-1",
)


def test_there_is_no_registry_before_the_first_is_written(backend: Backend) -> None:
    assert backend.registry.read() is None


def test_a_written_registry_is_read_back_and_its_fingerprint_comes_with_the_next_lease(
    backend: Backend,
) -> None:
    grant = grant_of(backend, "a")
    assert grant.fingerprint is None

    assert backend.registry.write(grant, REGISTRY)

    assert backend.registry.read() == REGISTRY
    backend.lease.release(grant, NOW)
    assert grant_of(backend, "b").fingerprint == "print-1"


def test_p32_a_registry_write_needs_the_owner_and_the_token(backend: Backend) -> None:
    grant = grant_of(backend, "a")

    assert not backend.registry.write(replace(grant, owner="b"), REGISTRY)
    assert not backend.registry.write(replace(grant, fencing_token=2), REGISTRY)

    assert backend.registry.read() is None
    assert grant_of(backend, "b", NOW + MINUTE).fingerprint is None


def test_p32_a_scheduler_whose_lease_was_taken_over_does_not_write_the_registry(backend: Backend) -> None:
    old = grant_of(backend, "a")
    new = grant_of(backend, "b", NOW + MINUTE)

    assert not backend.registry.write(old, replace(REGISTRY, fingerprint="stale"))
    assert backend.registry.write(new, REGISTRY)
    assert backend.registry.read() == REGISTRY


def test_every_field_of_a_job_is_read_back(backend: Backend) -> None:
    state = job_state(
        paused=Pause(at=NOW, by="ada", why="stock-taking"),
        resumed_at=NOW - MINUTE,
        held=Held.BEHIND,
        removed_at=NOW - 2 * MINUTE,
        slots=Slots(held=frozenset({f"{JOB}@2026-01-05T00:00:00Z"}), queued=2, fencing_token=41),
    )
    backend.place(state)

    assert backend.jobs.get(JOB) == state


def test_a_job_with_nothing_optional_is_read_back(backend: Backend) -> None:
    state = job_state(zone_data=None, next_at=None, expect_by=None, due_at=None)
    backend.place(state)

    assert backend.jobs.get(JOB) == state


def test_a_missing_job_is_none(backend: Backend) -> None:
    assert backend.jobs.get(JOB) is None


def test_a_job_that_cannot_be_read_raises_and_names_it(backend: Backend) -> None:
    backend.place(job_state())
    backend.spoil_item(job_state())

    with pytest.raises(UnreadableItemError, match=JOB):
        backend.jobs.get(JOB)


def test_many_jobs_come_with_the_unreadable_ones_apart_and_the_missing_ones_left_out(
    backend: Backend,
) -> None:
    names = [f"job-{n:03d}" for n in range(120)]
    backend.place(*(job_state(name) for name in names))
    backend.spoil_item(job_state("job-007"))

    reads = backend.jobs.get_many([*names, "missing", "job-001"])

    assert set(reads.states) == set(names) - {"job-007"}
    assert reads.states["job-119"] == job_state("job-119")
    assert set(reads.unreadable) == {"job-007"}
    assert "job-007" in reads.unreadable["job-007"]


def test_no_names_are_no_jobs(backend: Backend) -> None:
    reads = backend.jobs.get_many([])

    assert (dict(reads.states), dict(reads.unreadable)) == ({}, {})


def test_tokens_of_a_job_without_slots_grow_by_one_and_nothing_else_changes(backend: Backend) -> None:
    state = job_state(slots=Slots(fencing_token=40))
    backend.place(state)

    assert [backend.jobs.next_token(JOB) for _ in range(3)] == [41, 42, 43]
    assert job_in(backend) == replace(state, slots=Slots(fencing_token=43))


def test_no_token_is_handed_out_for_a_job_that_is_gone(backend: Backend) -> None:
    assert backend.jobs.next_token(JOB) is None
    assert backend.jobs.get(JOB) is None
