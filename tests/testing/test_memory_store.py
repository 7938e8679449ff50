"""What the memory store does beyond the contract: it is late, it conflicts and it breaks when told to.

Invariants:
- an index read shows what was true `index_lag` ago: new places not yet, left ones still;
- strong reads and conditions are never late;
- the stream reports each write that leaves a run PENDING with dispatch = stream, and no other;
- what a hook raises is a lost call or a lost reply, and a retry comes right in both cases.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.answers import Applied, CommitOutcome, DueEntry
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import StoreError, UnreadableItemError
from cronce.core.records import RunRecord, Slots
from cronce.core.run import Dispatch, DueKind, Notice, RunStatus
from cronce.testing import ManualClock, Marker, MemoryStore, Unreadable, job_key, key_of, run_key
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    claim_of,
    failed,
    finish_of,
    gap,
    grant_of,
    job_state,
    pending,
    queued,
    ref,
    running,
    step,
    stored,
    window,
)

LAG = timedelta(seconds=1)
MOMENT = timedelta(milliseconds=1)
RUN = ref(0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


def shown(store: MemoryStore) -> list[DueEntry]:
    """Every line of the index."""
    return [line for kind in DueKind for line in store.index.due(kind, None, 100)]


def test_a_write_is_in_the_index_only_after_the_lag(store: MemoryStore, clock: ManualClock) -> None:
    store.place(pending(RUN))

    assert shown(store) == []
    clock.advance(LAG - MOMENT)
    assert shown(store) == []
    clock.advance(MOMENT)
    assert [line.run for line in shown(store)] == [RUN]


def test_an_item_is_still_shown_where_it_was_until_the_lag_has_passed(
    store: MemoryStore, clock: ManualClock
) -> None:
    store.place(running(RUN))
    clock.advance(LAG)
    store.runs.apply(finish_of(running(RUN)))

    assert [(line.kind, line.status) for line in shown(store)] == [(DueKind.RUNNING, "RUNNING")]
    assert stored(store, RUN).status is RunStatus.SUCCEEDED
    clock.advance(LAG)
    assert shown(store) == []


def test_an_item_that_moves_often_is_shown_as_it_was_at_one_instant(
    store: MemoryStore, clock: ManualClock
) -> None:
    for number in range(5):
        store.place(pending(RUN, due_at=NOW + number * MINUTE))
        clock.advance(LAG / 2)

    assert [line.due_at for line in shown(store)] == [NOW + 3 * MINUTE]


def test_a_deleted_item_is_still_shown_until_the_lag_has_passed(
    store: MemoryStore, clock: ManualClock
) -> None:
    store.place(pending(RUN))
    clock.advance(LAG)
    store.remove(run_key(RUN))

    assert len(shown(store)) == 1
    clock.advance(LAG)
    assert shown(store) == []


def test_what_was_there_for_less_than_the_lag_may_never_be_shown(
    store: MemoryStore, clock: ManualClock
) -> None:
    store.place(pending(RUN))
    store.remove(run_key(RUN))

    clock.advance(10 * LAG)
    assert shown(store) == []


def test_without_lag_the_index_is_exact(clock: ManualClock) -> None:
    store = MemoryStore(clock, index_lag=timedelta(0))
    store.place(pending(RUN))

    assert len(shown(store)) == 1
    store.place(failed(RUN, notice=Notice.TOLD))
    assert shown(store) == []


def test_an_expired_run_that_must_be_told_is_still_in_the_index_and_absent(
    store: MemoryStore, clock: ManualClock
) -> None:
    store.place(failed(RUN, forget_at=NOW + MINUTE))
    clock.advance(2 * MINUTE)

    (line,) = shown(store)
    assert store.runs.get(RUN) is None
    assert store.runs.mark_told(line)


def test_the_stream_reports_runs_that_became_pending_for_it(store: MemoryStore) -> None:
    store.place(job_state())
    planned = window(job_state(), pending(ref(1)), queued(ref(2)), gaps=(gap(5),))
    store.plans.commit(grant_of(store), [planned])
    assert store.drain_stream() == [ref(1)]

    waiting = stored(store, ref(2))
    woken = replace(waiting, status=RunStatus.PENDING, reason=None, dispatch=Dispatch.STREAM)
    store.runs.apply(RunChange(before=waiting, after=woken, guard=Guard.SEEN))
    assert store.drain_stream() == [ref(2)]
    assert store.drain_stream() == []


@pytest.mark.parametrize(
    "item",
    [
        pending(RUN, dispatch=Dispatch.SWEEP),
        running(RUN),
        queued(RUN),
        failed(RUN),
        job_state(),
        gap(0),
        Marker(ref=RUN),
    ],
    ids=["i22 the sweep's own", "running", "queued", "failed", "job", "gap", "marker"],
)
def test_p77_the_stream_reports_nothing_else(store: MemoryStore, item: RunRecord) -> None:
    store.place(item)

    assert store.drain_stream() == []


def test_a_write_that_changes_nothing_is_not_reported(store: MemoryStore) -> None:
    store.place(pending(RUN))
    store.place(pending(RUN))

    assert store.drain_stream() == [RUN]


def test_a_deletion_is_not_reported(store: MemoryStore) -> None:
    store.place(pending(RUN))
    store.drain_stream()
    store.remove(run_key(RUN))

    assert store.drain_stream() == []


def test_a_call_that_never_reached_the_store_is_made_again(store: MemoryStore) -> None:
    store.place(running(RUN))
    store.on_call(lose("runs.apply", "before"))

    with pytest.raises(StoreError):
        store.runs.apply(finish_of(running(RUN)))
    assert stored(store, RUN) == running(RUN)
    assert store.runs.apply(finish_of(running(RUN))) is Applied.DONE


def test_a_write_whose_reply_was_lost_is_recognised_when_made_again(store: MemoryStore) -> None:
    store.place(running(RUN))
    store.on_call(lose("runs.apply", "after"))

    with pytest.raises(StoreError):
        store.runs.apply(finish_of(running(RUN)))
    assert stored(store, RUN).status is RunStatus.SUCCEEDED
    assert store.runs.apply(finish_of(running(RUN))) is Applied.DONE
    assert stored(store, RUN).rev == 3


def test_a_lease_whose_reply_was_lost_is_recognised(store: MemoryStore) -> None:
    store.on_call(lose("lease.take", "after"))

    with pytest.raises(StoreError):
        store.lease.take("a", NOW)
    assert grant_of(store, "a").fencing_token == 1


def test_a_hook_sees_every_call_of_a_port(store: MemoryStore) -> None:
    seen: list[tuple[str, str]] = []
    store.on_call(lambda call, moment: seen.append((call, moment)))
    store.jobs.get(JOB)
    store.steps.record(running(RUN), step(RUN))
    store.on_call(None)
    store.jobs.get(JOB)

    assert seen == [
        ("jobs.get", "before"),
        ("jobs.get", "after"),
        ("steps.record", "before"),
        ("steps.record", "after"),
    ]


class lose:  # noqa: N801 - reads as a verb where it is used
    """A hook that loses one call, or its reply."""

    def __init__(self, call: str, moment: str) -> None:
        self._left = [(call, moment)]

    def __call__(self, call: str, moment: str) -> None:
        if (call, moment) in self._left:
            self._left.remove((call, moment))
            raise StoreError(f"{call}: lost")


def test_conflicts_refuse_so_many_transactions_and_nothing_is_written(store: MemoryStore) -> None:
    store.place(running(RUN), job_state())
    grant = grant_of(store)
    store.conflict(3)

    assert store.lease.take("b", NOW + MINUTE) is None
    assert store.runs.apply(finish_of(running(RUN))) is Applied.CONFLICT
    assert "conflict" in (store.plans.commit(grant, [window(job_state())]).problem or "")
    assert stored(store, RUN) == running(RUN)
    assert store.runs.apply(finish_of(running(RUN))) is Applied.DONE
    assert store.plans.commit(grant, [window(job_state())]) == CommitOutcome(done=True)


def test_a_spoiled_item_keeps_its_place_and_meets_no_condition(
    store: MemoryStore, clock: ManualClock
) -> None:
    store.place(pending(RUN, rev=1))
    store.spoil(run_key(RUN), "attribute `timeout` is 'soon'")
    clock.advance(LAG)

    with pytest.raises(UnreadableItemError, match="timeout"):
        store.runs.get(RUN)
    assert [line.run for line in shown(store)] == [RUN]
    assert store.runs.apply(claim_of(pending(RUN, rev=1))) is Applied.RUN_MOVED
    birth = RunChange(before=None, after=pending(RUN), guard=Guard.BORN)
    assert store.runs.apply(birth) is Applied.RUN_MOVED


def test_an_unreadable_item_cannot_be_placed_without_a_key() -> None:
    with pytest.raises(ValueError, match="spoil"):
        key_of(Unreadable(problem="?"))


def test_everything_stored_can_be_looked_at(store: MemoryStore) -> None:
    grant_of(store)
    store.place(job_state(), running(RUN), gap(0), queued(ref(1)), Marker(ref=ref(1)), step(RUN))

    assert store.all_runs() == [running(RUN), queued(ref(1))]
    assert store.all_gaps() == [gap(0)]
    assert store.markers(JOB) == [ref(1)]
    assert len(store.items()) == 7
    store.remove(job_key(JOB))
    assert store.jobs.get(JOB) is None


def test_what_was_read_does_not_change_what_is_stored(store: MemoryStore) -> None:
    state = job_state()
    store.plans.commit(grant_of(store), [window(None)])
    read = store.jobs.get(JOB)
    assert read is not None
    read.schedule["expression"] = "0 0 1 1 *"
    state.schedule["expression"] = "0 0 1 1 *"

    assert store.jobs.get(JOB) == replace(window(None).after, slots=Slots())


def test_the_store_clock_has_the_skew_that_the_test_says(store: MemoryStore) -> None:
    store.clock.offset = timedelta(seconds=7)

    assert store.clock.skew() == timedelta(seconds=7)
