"""Edges of the ports that a store with batches, pages and conditional writes is likely to get wrong.

Invariants:
- a bound of a list may fall between two seconds, and a batch name an item twice, or more than one call takes;
- a window that changes nothing of its job is conditional on it all the same;
- a job that is born with queued runs counts them from the first.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from cronce.core.answers import CommitOutcome
from cronce.core.jobstate import JobWindow
from cronce.core.records import Slots
from tests.contract.backends import Backend
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    grant_of,
    job_in,
    job_state,
    pending,
    queued,
    ref,
    stored,
    window,
)

HALF = timedelta(milliseconds=500)


def test_bounds_between_two_seconds_include_no_run_outside_them(backend: Backend) -> None:
    runs = [pending(ref(number), rev=1) for number in range(4)]
    backend.place(*runs)

    assert backend.runs.runs(JOB, NOW + HALF, NOW + 2 * MINUTE + HALF, 10).records == [runs[2], runs[1]]
    assert backend.runs.runs(JOB, NOW + MINUTE - HALF, NOW + 2 * MINUTE - HALF, 10).records == [runs[1]]
    assert backend.runs.runs(JOB, NOW + HALF, NOW + HALF, 10).records == []


def test_many_jobs_and_runs_may_be_more_than_one_batch_and_named_twice(backend: Backend) -> None:
    jobs = [job_state(f"job-{number:03d}") for number in range(130)]
    runs = [pending(ref(number), rev=1) for number in range(130)]
    backend.place(*jobs, *runs)

    assert backend.jobs.get_many([job.name for job in jobs * 2]).states == {job.name: job for job in jobs}
    assert backend.runs.get_many([run.ref for run in runs * 2]) == {run.ref: run for run in runs}


def test_a_window_that_changes_nothing_of_its_job_writes_its_runs(backend: Backend) -> None:
    backend.place(job_state())
    state = job_in(backend)

    made = JobWindow(before=state, after=state, runs=(pending(ref(1)),))

    assert backend.plans.commit(grant_of(backend), [made]).done
    assert stored(backend, ref(1)).rev == 1
    assert job_in(backend) == state


def test_a_window_that_changes_nothing_of_a_job_that_moved_is_stale(backend: Backend) -> None:
    read = job_state()
    backend.place(replace(read, planned_to=NOW + MINUTE))

    made = JobWindow(before=read, after=read, runs=(pending(ref(1)),))

    assert backend.plans.commit(grant_of(backend), [made]) == CommitOutcome(stale=frozenset({JOB}))
    assert backend.runs.get(ref(1)) is None


def test_a_job_that_is_born_with_queued_runs_counts_them(backend: Backend) -> None:
    runs = (pending(ref(1)), queued(ref(2)), queued(ref(3)))

    made = JobWindow(before=None, after=job_state(slots=Slots(fencing_token=9)), runs=runs)

    assert backend.plans.commit(grant_of(backend), [made]).done
    assert job_in(backend).slots == Slots(queued=2, fencing_token=9)
    assert backend.markers(JOB) == [ref(2), ref(3)]


def test_no_windows_are_written_under_the_lease_and_refused_without_it(backend: Backend) -> None:
    grant = grant_of(backend)

    assert backend.plans.commit(grant, []) == CommitOutcome(done=True)
    other = replace(grant, fencing_token=grant.fencing_token + 1)
    assert backend.plans.commit(other, []) == CommitOutcome(lease_lost=True)


def test_a_window_queues_on_slots_that_are_held_as_read(backend: Backend) -> None:
    held = Slots(held=frozenset({ref(0).id, ref(-1).id}), queued=1, fencing_token=4)
    backend.place(job_state(slots=held))

    assert backend.plans.commit(grant_of(backend), [window(job_in(backend), queued(ref(1)))]).done
    assert job_in(backend).slots == replace(held, queued=2)


def test_p32_a_lease_that_another_took_and_gave_back_was_not_given_back_by_the_first(
    backend: Backend,
) -> None:
    first = grant_of(backend)
    second = grant_of(backend, "scheduler-2", NOW + 2 * MINUTE)
    assert backend.lease.release(second, NOW + 2 * MINUTE)

    assert not backend.lease.release(first, NOW + 3 * MINUTE)

    lease = backend.lease.read()
    assert lease is not None
    assert lease.completed_at == NOW + 2 * MINUTE
