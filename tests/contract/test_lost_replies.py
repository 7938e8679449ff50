"""Whose write was it? A change that is sent again because its reply was lost.

Invariants:
- an own write is recognised on the record that it wrote, and done once, with all of its transaction;
- a write of somebody else is never taken for it, however alike the states are that both leave.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from cronce.core.acts import Act, What
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.records import Slots
from cronce.core.run import Dispatch
from tests.contract.backends import Backend
from tests.contract.makers import (
    MINUTE,
    NOW,
    born,
    claim_of,
    finish_of,
    job_in,
    job_state,
    pending,
    ref,
    running,
    stored,
)

RUN = ref(0)
ACT = Act(what=What.BACKFILL, at=NOW, by="ann", why="")


def test_a_birth_whose_reply_was_lost_is_recognised(backend: Backend) -> None:
    change = RunChange(before=None, after=pending(RUN), guard=Guard.BORN)

    assert [backend.runs.apply(change) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert stored(backend, RUN).rev == 1


def test_a_birth_whose_reply_was_lost_is_recognised_after_the_run_was_claimed(backend: Backend) -> None:
    backend.place(job_state(slots=Slots(fencing_token=6)))
    change = RunChange(before=None, after=pending(RUN, act=ACT), guard=Guard.BORN)
    assert backend.runs.apply(change) is Applied.DONE
    claim = claim_of(stored(backend, RUN), token=7, slots=Slots(fencing_token=6))
    assert backend.runs.apply(claim) is Applied.DONE

    assert backend.runs.apply(change) is Applied.DONE
    assert stored(backend, RUN).rev == 2


def test_the_birth_that_another_operator_asked_for_is_not_taken_for_ones_own(backend: Backend) -> None:
    first, second = (
        RunChange(before=None, after=pending(RUN, act=replace(ACT, by=by)), guard=Guard.BORN)
        for by in ("ann", "bob")
    )

    assert [backend.runs.apply(change) for change in (first, second)] == [Applied.DONE, Applied.RUN_MOVED]


def test_a_claim_whose_reply_was_lost_is_recognised_and_takes_its_slot_once(backend: Backend) -> None:
    backend.place(job_state(slots=Slots(fencing_token=6)))
    claim = claim_of(born(backend, pending(RUN)), token=7, slots=Slots(fencing_token=6))

    assert [backend.runs.apply(claim) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert stored(backend, RUN).rev == 2
    assert job_in(backend).slots == Slots(held=frozenset({RUN.id}), fencing_token=7)


def test_a_finish_whose_reply_was_lost_is_recognised(backend: Backend) -> None:
    backend.place(running(RUN))
    finish = finish_of(running(RUN))

    assert [backend.runs.apply(finish) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert stored(backend, RUN).rev == 3


def test_two_sweepers_that_move_a_run_alike_are_both_right(backend: Backend) -> None:
    seen = born(backend, pending(RUN))
    swept = RunChange(
        before=seen,
        after=replace(seen, dispatch=Dispatch.SWEEP, dispatches=1, due_at=NOW + 4 * MINUTE),
        guard=Guard.SEEN,
    )

    assert [backend.runs.apply(swept) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert stored(backend, RUN).dispatches == 1


def test_two_different_changes_of_one_revision_are_not_taken_for_each_other(backend: Backend) -> None:
    seen = born(backend, pending(RUN))
    swept = replace(seen, dispatch=Dispatch.SWEEP, dispatches=1, due_at=NOW + 4 * MINUTE)
    assert backend.runs.apply(RunChange(before=seen, after=swept, guard=Guard.SEEN)) is Applied.DONE

    touched = RunChange(before=seen, after=replace(seen, touched=True), guard=Guard.SEEN)
    assert backend.runs.apply(touched) is Applied.RUN_MOVED
    assert stored(backend, RUN) == replace(swept, rev=2)


def test_a_renewal_is_not_taken_for_the_stop_request_that_it_overtook(backend: Backend) -> None:
    claimed = running(RUN)
    backend.place(claimed)
    assert backend.runs.renew(claimed, NOW + 2 * MINUTE)

    asked = RunChange(before=claimed, after=replace(claimed, cancel_requested=True), guard=Guard.SEEN)
    assert backend.runs.apply(asked) is Applied.RUN_MOVED
    assert not stored(backend, RUN).cancel_requested


def test_a_claim_whose_reply_was_lost_is_recognised_although_a_stop_was_requested_since(
    backend: Backend,
) -> None:
    claim = claim_of(born(backend, pending(RUN)), token=7)
    assert backend.runs.apply(claim) is Applied.DONE
    claimed = stored(backend, RUN)
    asked = RunChange(before=claimed, after=replace(claimed, cancel_requested=True), guard=Guard.SEEN)
    assert backend.runs.apply(asked) is Applied.DONE

    assert backend.runs.apply(claim) is Applied.DONE
    assert stored(backend, RUN).rev == 3


def test_instants_are_cut_to_milliseconds_and_a_lost_reply_is_recognised_all_the_same(
    backend: Backend,
) -> None:
    seen = born(backend, pending(RUN, created_at=NOW + timedelta(microseconds=1001)))
    assert seen.created_at == NOW + timedelta(milliseconds=1)
    later = replace(seen, due_at=NOW + timedelta(microseconds=2999))
    change = RunChange(before=seen, after=later, guard=Guard.SEEN)

    assert [backend.runs.apply(change) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert stored(backend, RUN) == replace(later, due_at=NOW + timedelta(milliseconds=2), rev=2)
