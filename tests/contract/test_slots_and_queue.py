"""What changes with a run: its job's slots, and the queued run that is handed the slot.

Invariants:
- slots are compared before they are set: held, queued and token;
- a refusal says which part failed, the run first, and nothing of the transaction is written;
- a queue marker is there exactly while its run waits for a slot.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange, SlotsChange
from cronce.core.records import RunRecord, Slots
from cronce.core.run import Dispatch, Reason, RunStatus
from cronce.testing import Marker
from tests.contract.backends import Backend
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    born,
    claim_of,
    finish_of,
    job_in,
    job_state,
    pending,
    queued,
    ref,
    running,
    stored,
)

RUN, NEXT = ref(0), ref(1)
HELD = Slots(held=frozenset({RUN.id}), queued=1, fencing_token=7)
HANDED_ON = Slots(held=frozenset({NEXT.id}), queued=0, fencing_token=7)


def woken(waiting: RunRecord) -> RunRecord:
    """The queued run once it has been handed a slot."""
    return replace(
        waiting,
        status=RunStatus.PENDING,
        reason=None,
        dispatch=Dispatch.STREAM,
        due_at=NOW + 2 * MINUTE,
        expect_by=NOW + 15 * MINUTE,
    )


def one_runs_and_one_waits(backend: Backend) -> RunChange:
    """A finish that hands the slot to the run that waits."""
    waiting = born(backend, queued(NEXT))
    backend.place(job_state(slots=HELD), running(RUN))
    return finish_of(
        running(RUN),
        slots=SlotsChange(before=HELD, after=HANDED_ON),
        woken=(waiting, woken(waiting)),
    )


def test_a_finish_hands_its_slot_to_the_run_that_waits(backend: Backend) -> None:
    finish = one_runs_and_one_waits(backend)
    assert backend.markers(JOB) == [NEXT]

    assert backend.runs.apply(finish) is Applied.DONE

    assert stored(backend, RUN).status is RunStatus.SUCCEEDED
    assert stored(backend, NEXT) == replace(woken(queued(NEXT)), rev=2)
    assert job_in(backend).slots == HANDED_ON
    assert backend.markers(JOB) == []


def test_a_finish_with_wake_up_whose_reply_was_lost_wakes_once(backend: Backend) -> None:
    finish = one_runs_and_one_waits(backend)

    assert [backend.runs.apply(finish) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert stored(backend, NEXT).rev == 2


@pytest.mark.parametrize(
    "now_stored",
    [
        pytest.param(replace(HELD, held=frozenset()), id="held"),
        pytest.param(
            replace(HELD, held=frozenset({RUN.id, "other@2026-01-05T00:00:00Z"})), id="held: one more"
        ),
        pytest.param(replace(HELD, queued=2), id="i37 queued"),
        pytest.param(replace(HELD, fencing_token=8), id="fencing_token"),
        pytest.param(Slots(), id="all of them"),
    ],
)
def test_slots_that_have_moved_are_not_overwritten(backend: Backend, now_stored: Slots) -> None:
    finish = one_runs_and_one_waits(backend)
    backend.place(job_state(slots=now_stored))

    assert backend.runs.apply(finish) is Applied.JOB_MOVED

    assert stored(backend, RUN) == running(RUN)
    assert stored(backend, NEXT).is_queued
    assert job_in(backend).slots == now_stored
    assert backend.markers(JOB) == [NEXT]


def test_i34_slots_of_a_job_item_that_is_gone_are_not_recreated(backend: Backend) -> None:
    finish = one_runs_and_one_waits(backend)
    backend.remove_item(job_state())

    assert backend.runs.apply(finish) is Applied.JOB_MOVED
    assert backend.jobs.get(JOB) is None
    assert backend.runs.apply(finish_of(running(RUN))) is Applied.DONE


def test_a_queued_run_that_has_moved_is_not_woken(backend: Backend) -> None:
    finish = one_runs_and_one_waits(backend)
    seen = stored(backend, NEXT)
    cancelled = replace(seen, status=RunStatus.CANCELLED, reason=Reason.OPERATOR, due_at=None)
    backend.runs.apply(RunChange(before=seen, after=cancelled, guard=Guard.SEEN))

    assert backend.runs.apply(finish) is Applied.WOKEN_MOVED

    assert stored(backend, RUN) == running(RUN)
    assert stored(backend, NEXT).status is RunStatus.CANCELLED
    assert job_in(backend).slots == HELD


def test_a_queued_run_that_is_gone_is_not_woken(backend: Backend) -> None:
    finish = one_runs_and_one_waits(backend)
    backend.remove_item(queued(NEXT))

    assert backend.runs.apply(finish) is Applied.WOKEN_MOVED
    assert backend.runs.get(NEXT) is None


def test_a_lost_claim_outranks_moved_slots_and_a_moved_queue(backend: Backend) -> None:
    finish = one_runs_and_one_waits(backend)
    backend.place(running(RUN, fencing_token=8), job_state(slots=Slots()), queued(NEXT, rev=5))

    assert backend.runs.apply(finish) is Applied.RUN_MOVED


def test_moved_slots_outrank_a_moved_queue(backend: Backend) -> None:
    finish = one_runs_and_one_waits(backend)
    backend.place(job_state(slots=Slots()), queued(NEXT, rev=5))

    assert backend.runs.apply(finish) is Applied.JOB_MOVED


def test_a_claim_takes_a_slot_and_the_jobs_next_token(backend: Backend) -> None:
    before = Slots(fencing_token=6)
    backend.place(job_state(slots=before))

    assert backend.runs.apply(claim_of(born(backend, pending(RUN)), token=7, slots=before)) is Applied.DONE

    assert stored(backend, RUN).fencing_token == 7
    assert job_in(backend) == job_state(slots=Slots(held=frozenset({RUN.id}), fencing_token=7))


def test_a_free_place_that_was_handed_to_a_woken_run_is_not_taken_as_well(backend: Backend) -> None:
    handed_out = Slots(held=frozenset({NEXT.id}))
    backend.place(job_state(slots=handed_out))
    seen = born(backend, pending(RUN))

    assert backend.runs.apply(claim_of(seen, token=1, slots=Slots())) is Applied.JOB_MOVED
    assert job_in(backend).slots == handed_out
    assert stored(backend, RUN) == seen


def test_the_last_slot_is_freed_and_taken_again(backend: Backend) -> None:
    mine = Slots(held=frozenset({RUN.id}), fencing_token=7)
    backend.place(job_state(slots=mine), running(RUN))
    freed = SlotsChange(before=mine, after=Slots(fencing_token=7))
    assert backend.runs.apply(finish_of(running(RUN), slots=freed)) is Applied.DONE
    assert job_in(backend).slots == Slots(fencing_token=7)

    claim = claim_of(born(backend, pending(NEXT)), token=8, slots=Slots(fencing_token=7))
    assert backend.runs.apply(claim) is Applied.DONE
    assert job_in(backend).slots == Slots(held=frozenset({NEXT.id}), fencing_token=8)


def test_i26_the_second_of_two_claims_on_the_same_slots_reads_again(backend: Backend) -> None:
    before = Slots()
    backend.place(job_state(slots=before))
    one, two = born(backend, pending(RUN)), born(backend, pending(NEXT))

    assert backend.runs.apply(claim_of(one, token=1, slots=before)) is Applied.DONE
    assert backend.runs.apply(claim_of(two, token=1, slots=before)) is Applied.JOB_MOVED
    again = claim_of(two, token=2, slots=job_in(backend).slots)
    assert backend.runs.apply(again) is Applied.DONE
    assert job_in(backend).slots == Slots(held=frozenset({RUN.id, NEXT.id}), fencing_token=2)


def test_a_run_that_has_to_queue_gets_a_marker(backend: Backend) -> None:
    seen = born(backend, pending(NEXT))
    backend.place(job_state(slots=replace(HELD, queued=0)))
    assert backend.markers(JOB) == []
    after = replace(seen, status=RunStatus.WAITING, reason=Reason.QUEUED, dispatch=None)
    counted = SlotsChange(before=replace(HELD, queued=0), after=HELD)

    assert (
        backend.runs.apply(RunChange(before=seen, after=after, guard=Guard.SEEN, slots=counted))
        is Applied.DONE
    )

    assert backend.markers(JOB) == [NEXT]
    assert job_in(backend).slots == HELD


@pytest.mark.parametrize(
    "end",
    [
        pytest.param({"status": RunStatus.PENDING, "reason": None}, id="woken by the sweep"),
        pytest.param({"status": RunStatus.SKIPPED, "reason": Reason.LATE}, id="skipped"),
        pytest.param({"status": RunStatus.CANCELLED, "reason": Reason.OPERATOR}, id="i38 cancelled"),
        pytest.param({"status": RunStatus.FAILED, "reason": Reason.EXPIRED}, id="expired"),
    ],
)
def test_a_run_that_leaves_the_queue_takes_its_marker_along(backend: Backend, end: dict[str, object]) -> None:
    seen = born(backend, queued(NEXT))

    after = replace(seen, **end)  # type: ignore[arg-type]
    assert backend.runs.apply(RunChange(before=seen, after=after, guard=Guard.SEEN)) is Applied.DONE

    assert backend.markers(JOB) == []


def test_a_run_that_stays_queued_keeps_its_marker(backend: Backend) -> None:
    seen = born(backend, queued(NEXT))

    after = replace(seen, due_at=NOW + 20 * MINUTE)
    assert backend.runs.apply(RunChange(before=seen, after=after, guard=Guard.SEEN)) is Applied.DONE

    assert backend.markers(JOB) == [NEXT]


def test_a_run_that_waits_for_anything_else_has_no_marker(backend: Backend) -> None:
    backend.place(running(RUN))
    after = replace(
        running(RUN), status=RunStatus.WAITING, reason=Reason.BACKOFF, owner=None, last_owner="me"
    )

    assert backend.runs.apply(RunChange(before=running(RUN), after=after, guard=Guard.LIVE)) is Applied.DONE
    assert backend.markers(JOB) == []


def test_i36_the_first_queued_run_is_the_oldest_occurrence(backend: Backend) -> None:
    for minutes in (3, 1, 2):
        born(backend, queued(ref(minutes)))
    born(backend, queued(ref(0, job="another")))

    first = backend.runs.first_queued(JOB)

    assert first == queued(ref(1), rev=1)


def test_i39_two_manual_runs_of_one_second_are_both_queued(backend: Backend) -> None:
    one, two = born(backend, queued(ref(0, suffix="a1"))), born(backend, queued(ref(0, suffix="b2")))
    assert backend.markers(JOB) == [one.ref, two.ref]

    assert backend.runs.first_queued(JOB) == one
    backend.runs.apply(RunChange(before=one, after=woken(one), guard=Guard.SEEN))
    assert backend.runs.first_queued(JOB) == two


def test_nobody_queued_is_none(backend: Backend) -> None:
    assert backend.runs.first_queued(JOB) is None


def test_orphan_markers_are_deleted_on_the_way_to_the_first_queued_run(backend: Backend) -> None:
    no_longer_queued = pending(ref(2), rev=2)
    backend.place(Marker(ref=ref(1)), Marker(ref=ref(2)), no_longer_queued)
    waiting = born(backend, queued(ref(3)))

    assert backend.runs.first_queued(JOB) == waiting

    assert backend.markers(JOB) == [ref(3)]
    assert stored(backend, ref(2)) == no_longer_queued


def test_a_queue_of_orphan_markers_is_empty(backend: Backend) -> None:
    backend.place(*(Marker(ref=ref(n)) for n in range(30)))

    assert backend.runs.first_queued(JOB) is None
    assert backend.markers(JOB) == []


def test_a_queued_run_that_cannot_be_read_is_passed_over_and_keeps_its_marker(backend: Backend) -> None:
    born(backend, queued(ref(1)))
    backend.spoil_item(queued(ref(1)))
    waiting = born(backend, queued(ref(2)))

    assert backend.runs.first_queued(JOB) == waiting
    assert backend.markers(JOB) == [ref(1), ref(2)]
