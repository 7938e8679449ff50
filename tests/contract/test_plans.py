"""The planning transaction: all of it or nothing.

Invariants:
- records, gaps, queue markers and the new `planned_to` of a job are there together or not at all;
- a record that exists is reported, and nothing is written until it has been dropped;
- what the window does not own (slots, token) stays as stored;
- a transaction that the store would refuse is a `problem`, and the jobs go through alone.
"""

from __future__ import annotations

from dataclasses import replace

from cronce.core.answers import CommitOutcome
from cronce.core.jobstate import GapReason, JobState
from cronce.core.records import Slots
from cronce.core.run import Notice, Reason, RunStatus
from tests.contract.backends import Backend
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    gap,
    grant_of,
    job_in,
    job_state,
    pending,
    queued,
    ref,
    stored,
    window,
)

DONE = CommitOutcome(done=True)


def planned(backend: Backend, *states: JobState) -> list[JobState]:
    """Store jobs by hand."""
    backend.place(*states)
    return list(states)


def test_a_new_job_is_born_with_its_first_run(backend: Backend) -> None:
    new = window(None, pending(ref(1)))

    assert backend.plans.commit(grant_of(backend), [new]) == DONE

    assert job_in(backend) == new.after
    assert stored(backend, ref(1)) == pending(ref(1), rev=1)


def test_a_window_moves_planned_to_together_with_its_runs_and_gaps(backend: Backend) -> None:
    (state,) = planned(backend, job_state())
    skipped = pending(
        ref(3), status=RunStatus.SKIPPED, reason=Reason.EXCLUDED, dispatch=None, due_at=None, ended_at=NOW
    )

    outcome = backend.plans.commit(
        grant_of(backend), [window(state, pending(ref(1)), skipped, gaps=(gap(5),))]
    )

    assert outcome == DONE
    assert job_in(backend).planned_to == NOW + MINUTE
    assert stored(backend, ref(1)) == pending(ref(1), rev=1)
    assert stored(backend, ref(3)) == replace(skipped, rev=1)
    assert backend.runs.gaps(JOB).records == [gap(5)]


def test_every_field_of_the_job_but_its_slots_is_written(backend: Backend) -> None:
    (state,) = planned(
        backend, job_state(slots=Slots(held=frozenset({ref(0).id}), queued=1, fencing_token=9))
    )
    changed = window(
        state,
        module="jobs.renamed",
        schedule={"kind": "every", "seconds": "60"},
        schedule_hash="hash-2",
        zone_data="2027a",
        next_at=None,
        due_at=None,
        expect_by=None,
        slots=Slots(),
    )

    assert backend.plans.commit(grant_of(backend), [changed]) == DONE

    assert job_in(backend) == replace(changed.after, slots=state.slots)


def test_slots_that_move_while_a_window_without_queued_runs_is_planned_stay_as_they_are(
    backend: Backend,
) -> None:
    (state,) = planned(backend, job_state())
    moved = replace(state, slots=Slots(held=frozenset({ref(0).id}), fencing_token=5))
    backend.place(moved)

    assert backend.plans.commit(grant_of(backend), [window(state, pending(ref(1)))]) == DONE

    assert job_in(backend).slots == moved.slots


def test_i36_runs_born_queued_get_markers_and_are_counted(backend: Backend) -> None:
    (state,) = planned(backend, job_state(slots=Slots(queued=1, fencing_token=4)))
    runs = (pending(ref(1)), queued(ref(2)), queued(ref(3)))

    assert backend.plans.commit(grant_of(backend), [window(state, *runs)]) == DONE

    assert job_in(backend).slots == Slots(queued=3, fencing_token=4)
    assert backend.markers(JOB) == [ref(2), ref(3)]
    assert stored(backend, ref(2)).is_queued


def test_a_recreated_job_starts_with_the_token_that_the_window_gives(backend: Backend) -> None:
    epoch_seconds = int(NOW.timestamp())
    again = window(None, queued(ref(1)), slots=Slots(fencing_token=epoch_seconds))

    assert backend.plans.commit(grant_of(backend), [again]) == DONE

    assert job_in(backend).slots == Slots(queued=1, fencing_token=epoch_seconds)


def test_several_jobs_share_a_transaction(backend: Backend) -> None:
    states = planned(backend, *(job_state(f"job-{n}") for n in range(10)))
    windows = [window(state, pending(ref(1, job=state.name))) for state in states]

    assert backend.plans.commit(grant_of(backend), windows) == DONE

    assert all(job_in(backend, state.name).planned_to == NOW + MINUTE for state in states)
    assert len(backend.runs.get_many([ref(1, job=state.name) for state in states])) == 10


def test_p34_a_record_that_exists_is_reported_and_the_rest_goes_through_without_it(backend: Backend) -> None:
    (state,) = planned(backend, job_state())
    earlier = pending(ref(1), status=RunStatus.SUCCEEDED, dispatch=None, due_at=None, rev=4)
    backend.place(earlier)
    grant = grant_of(backend)
    both = window(state, pending(ref(1)), pending(ref(2)))

    outcome = backend.plans.commit(grant, [both])

    assert outcome == CommitOutcome(runs=frozenset({ref(1)}))
    assert job_in(backend) == state
    assert backend.runs.get(ref(2)) is None
    assert backend.plans.commit(grant, [both.without(outcome.runs, frozenset())]) == DONE
    assert stored(backend, ref(1)) == earlier
    assert stored(backend, ref(2)).status is RunStatus.PENDING


def test_a_gap_that_exists_is_reported_and_nothing_is_written(backend: Backend) -> None:
    (state,) = planned(backend, job_state())
    backend.place(gap(5, notice=Notice.TOLD))
    planned_gap = gap(5)

    outcome = backend.plans.commit(grant_of(backend), [window(state, pending(ref(1)), gaps=(planned_gap,))])

    assert outcome == CommitOutcome(gaps=frozenset({planned_gap}))
    assert job_in(backend) == state
    assert backend.runs.get(ref(1)) is None
    assert backend.runs.gaps(JOB).records == [gap(5, notice=Notice.TOLD)]


def test_p34_a_longer_gap_from_the_same_time_on_is_a_gap_of_its_own(backend: Backend) -> None:
    """The job's item was set back, and more time has passed: what lies beyond the old gap is in the new."""
    (state,) = planned(backend, job_state())
    short, long = gap(5, count=3, last=NOW + 7 * MINUTE), gap(5)
    backend.place(short)

    assert backend.plans.commit(grant_of(backend), [window(state, gaps=(long,))]) == DONE

    assert backend.runs.gaps(JOB).records == [short, long]


def test_two_gaps_of_different_reasons_may_begin_at_one_time(backend: Backend) -> None:
    (state,) = planned(backend, job_state())
    gaps = (gap(5), gap(5, reason=GapReason.PAUSED, notice=None))

    assert backend.plans.commit(grant_of(backend), [window(state, gaps=gaps)]) == DONE

    assert set(backend.runs.gaps(JOB).records) == set(gaps)


def test_i11_an_expired_run_and_gap_still_count_as_present(backend: Backend) -> None:
    (state,) = planned(backend, job_state())
    old = pending(ref(1), status=RunStatus.SUCCEEDED, dispatch=None, due_at=None, forget_at=NOW, rev=4)
    backend.place(old, gap(5, notice=None, forget_at=NOW))
    grant = grant_of(backend)

    run_meets = backend.plans.commit(grant, [window(state, pending(ref(1)))])
    gap_meets = backend.plans.commit(grant, [window(state, gaps=(gap(5),))])

    assert run_meets.runs == {ref(1)}
    assert gap_meets.gaps == {gap(5)}
    assert job_in(backend) == state


def test_i6_a_record_too_large_for_the_store_is_a_problem_and_the_other_job_goes_through_alone(
    backend: Backend,
) -> None:
    large, fine = planned(backend, job_state("large"), job_state("fine"))
    grant = grant_of(backend)
    too_large = window(large, pending(ref(1, job="large"), error="x" * 410_000))
    others = window(fine, pending(ref(1, job="fine")))

    assert backend.plans.commit(grant, [too_large, others]).problem
    assert (job_in(backend, "large"), job_in(backend, "fine")) == (large, fine)

    assert backend.plans.commit(grant, [too_large]).problem
    assert backend.plans.commit(grant, [others]) == DONE
    assert job_in(backend, "large") == large
    assert job_in(backend, "fine").planned_to == NOW + MINUTE


def test_a_transaction_of_ninety_nine_actions_fits_and_one_more_is_a_problem(backend: Backend) -> None:
    (state,) = planned(backend, job_state())
    grant = grant_of(backend)
    runs = [pending(ref(n)) for n in range(1, 100)]

    assert backend.plans.commit(grant, [window(state, *runs)]).problem
    assert job_in(backend) == state
    assert backend.runs.get(ref(1)) is None
    assert backend.plans.commit(grant, [window(state, *runs[:98])]) == DONE
    assert stored(backend, ref(98)).rev == 1


def test_two_windows_of_one_job_do_not_fit_into_one_transaction(backend: Backend) -> None:
    (state,) = planned(backend, job_state())

    outcome = backend.plans.commit(
        grant_of(backend), [window(state, pending(ref(1))), window(state, pending(ref(2)))]
    )

    assert outcome.problem
    assert job_in(backend) == state
