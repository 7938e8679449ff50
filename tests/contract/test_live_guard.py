"""LIVE, the condition of every write that a worker makes: RUNNING, under my owner, under my token.

Each part is refused by itself, on records made by hand in which the other parts match, for each write that a
worker makes: recording a step, extending its claim, handing the run on, finishing it.

Invariants:
- a worker that lost its claim cannot record a step, extend the claim, finish the run or free its slot;
- what it tried leaves no trace.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange, SlotsChange
from cronce.core.records import RunRecord, Slots
from cronce.core.run import Reason, RunStatus
from tests.contract.backends import Backend
from tests.contract.makers import (
    MINUTE,
    NOW,
    TTL,
    finish_of,
    job_in,
    job_state,
    queued,
    ref,
    running,
    step,
    stored,
)

RUN = ref(0)
MINE = running(RUN)
HELD = Slots(held=frozenset({RUN.id}), fencing_token=7)

NOT_LIVE = [
    pytest.param({"status": RunStatus.PENDING}, id="status: pending, owner and token still mine"),
    pytest.param({"status": RunStatus.WAITING, "reason": Reason.BACKOFF}, id="status: i24 waiting"),
    pytest.param({"status": RunStatus.FAILED, "reason": Reason.LOST}, id="status: i23 lost"),
    pytest.param({"status": RunStatus.FAILED, "reason": Reason.TIMEOUT}, id="status: i23 timed out"),
    pytest.param({"status": RunStatus.CANCELLED, "reason": Reason.OPERATOR}, id="status: i23 cancelled"),
    pytest.param({"owner": "another"}, id="owner: another worker under my token"),
    pytest.param({"owner": None, "last_owner": "me"}, id="owner: gone"),
    pytest.param({"fencing_token": 8}, id="token: p37 my owner under a newer token"),
    pytest.param({"fencing_token": 6}, id="token: my owner under an older token"),
    pytest.param({"owner": "another", "fencing_token": 8}, id="p36 taken over"),
]
not_live = pytest.mark.parametrize("difference", NOT_LIVE)


def placed(backend: Backend, difference: dict[str, object]) -> RunRecord:
    """The run as somebody else left it."""
    record = replace(MINE, **difference)  # type: ignore[arg-type]
    backend.place(record, job_state(slots=HELD))
    return record


def test_a_live_worker_records_renews_and_finishes(backend: Backend) -> None:
    placed(backend, {})

    assert backend.steps.record(MINE, step(RUN))
    assert backend.runs.renew(MINE, NOW + 2 * TTL) == replace(MINE, claim_until=NOW + 2 * TTL, rev=3)
    freed = SlotsChange(before=HELD, after=Slots(fencing_token=7))
    assert backend.runs.apply(finish_of(MINE, slots=freed)) is Applied.DONE
    assert stored(backend, RUN).status is RunStatus.SUCCEEDED
    assert job_in(backend).slots == Slots(fencing_token=7)


@not_live
def test_a_step_is_not_recorded_without_the_claim(backend: Backend, difference: dict[str, object]) -> None:
    left = placed(backend, difference)

    assert not backend.steps.record(MINE, step(RUN))

    assert list(backend.steps.load(RUN)) == []
    assert stored(backend, RUN) == left


@not_live
def test_p55_a_claim_that_is_lost_is_not_extended(backend: Backend, difference: dict[str, object]) -> None:
    left = placed(backend, difference)

    assert backend.runs.renew(MINE, NOW + 2 * TTL) is None
    assert stored(backend, RUN) == left


@not_live
def test_a_run_is_not_finished_and_its_slot_not_freed_without_the_claim(
    backend: Backend, difference: dict[str, object]
) -> None:
    left = placed(backend, difference)
    freed = SlotsChange(before=HELD, after=Slots(fencing_token=7))

    assert backend.runs.apply(finish_of(MINE, slots=freed)) is Applied.RUN_MOVED

    assert stored(backend, RUN) == left
    assert job_in(backend).slots == HELD


@not_live
def test_a_run_is_not_handed_to_its_next_slice_without_the_claim(
    backend: Backend, difference: dict[str, object]
) -> None:
    left = placed(backend, difference)
    after = replace(
        MINE, status=RunStatus.PENDING, owner=None, last_owner="me", claim_until=None, executed=MINUTE
    )

    assert backend.runs.apply(RunChange(before=MINE, after=after, guard=Guard.LIVE)) is Applied.RUN_MOVED
    assert stored(backend, RUN) == left


GOES_ON = [
    pytest.param({"status": RunStatus.WAITING, "reason": Reason.SLEEP}, id="it sleeps"),
    pytest.param(
        {"status": RunStatus.WAITING, "reason": Reason.BACKOFF, "slice": 0}, id="its attempt failed"
    ),
    pytest.param({"status": RunStatus.PENDING, "slice": 2}, id="its next slice"),
]


def handed_on(going_on: dict[str, object], before: RunRecord = MINE) -> RunChange:
    """What a worker writes when its share of the run is over, and the run is not."""
    gone = {"owner": None, "last_owner": "me", "claim_until": None, "executed": MINUTE}
    after = replace(before, **going_on, **gone)  # type: ignore[arg-type]
    return RunChange(before=before, after=after, guard=Guard.LIVE)


@pytest.mark.parametrize("going_on", GOES_ON)
def test_a_run_does_not_go_on_when_an_operator_has_asked_its_worker_to_stop(
    backend: Backend, going_on: dict[str, object]
) -> None:
    asked = placed(backend, {"cancel_requested": True, "rev": 3})

    assert backend.runs.apply(handed_on(going_on)) is Applied.STOP_REQUESTED
    assert stored(backend, RUN) == asked
    assert backend.runs.apply(finish_of(MINE)) is Applied.DONE, "an end is not overtaken"


@pytest.mark.parametrize("going_on", GOES_ON)
def test_a_run_that_went_on_with_the_reply_lost_has_gone_on(
    backend: Backend, going_on: dict[str, object]
) -> None:
    """An operator asks after it: the record is the worker's own, and says so."""
    placed(backend, {})
    assert [backend.runs.apply(handed_on(going_on)) for _ in range(2)] == [Applied.DONE, Applied.DONE]


@not_live
def test_a_claim_that_is_lost_is_lost_whatever_an_operator_asks(
    backend: Backend, difference: dict[str, object]
) -> None:
    left = placed(backend, {**difference, "cancel_requested": True})

    for param in GOES_ON:
        assert backend.runs.apply(handed_on(param.values[0])) is Applied.RUN_MOVED  # type: ignore[arg-type]
    assert stored(backend, RUN) == left


@not_live
def test_nobody_is_woken_without_the_claim(backend: Backend, difference: dict[str, object]) -> None:
    placed(backend, difference)
    waiting = queued(ref(1), rev=1)
    backend.place(waiting)
    woken = replace(waiting, status=RunStatus.PENDING, reason=None)

    assert backend.runs.apply(finish_of(MINE, woken=(waiting, woken))) is Applied.RUN_MOVED
    assert stored(backend, ref(1)) == waiting


def test_the_writes_of_a_worker_do_not_need_the_revision(backend: Backend) -> None:
    placed(backend, {})
    backend.runs.renew(MINE, NOW + 2 * TTL)
    backend.runs.renew(MINE, NOW + 3 * TTL)

    assert backend.runs.apply(finish_of(MINE)) is Applied.DONE
    assert stored(backend, RUN).rev == 5


def test_renewing_writes_the_claims_end_and_brings_what_others_set(backend: Backend) -> None:
    placed(backend, {"cancel_requested": True, "touched": True, "rev": 9})

    renewed = backend.runs.renew(MINE, NOW + 2 * TTL)

    assert renewed == replace(MINE, cancel_requested=True, touched=True, claim_until=NOW + 2 * TTL, rev=10)
    assert stored(backend, RUN) == renewed


def test_renewing_a_run_that_is_gone_creates_nothing(backend: Backend) -> None:
    assert backend.runs.renew(MINE, NOW + 2 * TTL) is None
    assert backend.runs.get(RUN) is None


def test_p37_a_paused_worker_records_nothing_after_another_took_over(backend: Backend) -> None:
    placed(backend, {"owner": "b", "fencing_token": 8})
    theirs = running(RUN, owner="b", fencing_token=8)
    assert backend.steps.record(theirs, step(RUN, "two", owner="b", fencing_token=8, result='"of b"'))

    assert not backend.steps.record(MINE, step(RUN, "two", result='"of a"'))
    assert not backend.steps.record(MINE, step(RUN, "three"))

    assert [(kept.name, kept.result) for kept in backend.steps.load(RUN)] == [("two", '"of b"')]


def test_a_claim_past_its_end_that_nobody_took_still_records(backend: Backend) -> None:
    placed(backend, {"claim_until": NOW - timedelta(hours=1)})

    assert backend.steps.record(MINE, step(RUN))
