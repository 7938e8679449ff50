"""Reading runs and gaps.

Invariants:
- what has expired is absent for readers, at the very second of its `forget_at`;
- an item that cannot be read raises where one was asked for, and is told where a stretch was;
- lists are complete, in order, and bounded as asked.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.core.errors import UnreadableItemError
from cronce.core.run import RunStatus, Trigger
from cronce.testing import ManualClock
from tests.contract.backends import Backend
from tests.contract.makers import JOB, MINUTE, NOW, gap, pending, ref

DONE = {"status": RunStatus.SUCCEEDED, "dispatch": None, "due_at": None, "rev": 4}


def test_a_missing_run_is_none(backend: Backend) -> None:
    assert backend.runs.get(ref(0)) is None
    assert backend.runs.get_many([ref(0)]) == {}


def test_a_run_is_readable_until_its_forget_at_and_absent_then(backend: Backend, clock: ManualClock) -> None:
    backend.place(pending(ref(0), **DONE, forget_at=NOW + MINUTE))

    clock.advance(MINUTE - timedelta(seconds=1))
    assert backend.runs.get(ref(0)) is not None
    clock.advance(timedelta(seconds=1))
    assert backend.runs.get(ref(0)) is None


def test_expired_items_are_absent_from_every_list(backend: Backend) -> None:
    kept, gone = pending(ref(0), **DONE), pending(ref(1), **DONE, forget_at=NOW)
    backend.place(kept, gone, gap(0, notice=None), gap(20, notice=None, forget_at=NOW))

    assert backend.runs.get_many([kept.ref, gone.ref]) == {kept.ref: kept}
    assert backend.runs.runs(JOB, NOW, NOW + MINUTE, 10).records == [kept]
    assert backend.runs.gaps(JOB).records == [gap(0, notice=None)]


def test_a_run_that_cannot_be_read_raises_and_names_it(backend: Backend) -> None:
    backend.place(pending(ref(0)))
    backend.spoil_item(pending(ref(0)))

    with pytest.raises(UnreadableItemError, match="2026-01-05T00:00:00Z"):
        backend.runs.get(ref(0))


def test_many_runs_come_without_the_missing_and_the_unreadable(backend: Backend) -> None:
    runs = [pending(ref(n), rev=1) for n in range(120)]
    backend.place(*runs)
    backend.spoil_item(runs[3])

    found = backend.runs.get_many([*(run.ref for run in runs), ref(500), ref(1)])

    assert found == {run.ref: run for run in runs if run is not runs[3]}


def test_no_refs_are_no_runs(backend: Backend) -> None:
    assert backend.runs.get_many([]) == {}


def test_runs_of_a_job_are_listed_newest_first_bounds_included(backend: Backend) -> None:
    runs = [pending(ref(n), rev=1) for n in range(6)]
    backend.place(*runs, pending(ref(2, job="another")), gap(2))

    assert backend.runs.runs(JOB, NOW + MINUTE, NOW + 4 * MINUTE, 100).records == runs[4:0:-1]
    assert backend.runs.runs(JOB, NOW + MINUTE, NOW + 4 * MINUTE, 2).records == [runs[4], runs[3]]
    assert backend.runs.runs(JOB, NOW + 10 * MINUTE, NOW + 20 * MINUTE, 100).records == []


def test_manual_runs_of_the_last_second_belong_to_the_list(backend: Backend) -> None:
    manual = pending(ref(2, suffix="a1"), trigger=Trigger.MANUAL, rev=1)
    backend.place(pending(ref(2), rev=1), manual, pending(ref(3), rev=1))

    listed = backend.runs.runs(JOB, NOW + 2 * MINUTE, NOW + 2 * MINUTE, 100).records

    assert {run.ref for run in listed} == {ref(2), ref(2, suffix="a1")}


def test_the_limit_counts_runs_that_are_shown(backend: Backend) -> None:
    backend.place(*(pending(ref(n), **DONE, forget_at=NOW) for n in range(5, 10)))
    backend.place(*(pending(ref(n), **DONE) for n in range(5)))

    assert [run.ref for run in backend.runs.runs(JOB, NOW, NOW + 10 * MINUTE, 3).records] == [
        ref(4),
        ref(3),
        ref(2),
    ]


def test_runs_that_cannot_be_read_are_told_by_their_keys(backend: Backend) -> None:
    runs = [pending(ref(n), rev=1) for n in range(6)]
    by_hand = pending(ref(3, suffix="a1"), trigger=Trigger.MANUAL, rev=1)
    backend.place(*runs, by_hand)
    for spoiled in (runs[0], runs[2], by_hand, runs[5]):
        backend.spoil_item(spoiled)

    found = backend.runs.runs(JOB, NOW + MINUTE, NOW + 4 * MINUTE, 100)

    assert found.records == [runs[4], runs[3], runs[1]]
    assert [one.run for one in found.unread] == [by_hand.ref, runs[2].ref]
    assert all(f"JOB#{JOB} / {one.sk}" in one.problem and one.job == JOB for one in found.unread)
    assert backend.runs.runs(JOB, NOW + 4 * MINUTE, NOW + 9 * MINUTE, 1).unread[0].run == runs[5].ref


def test_no_more_of_what_cannot_be_read_is_told_than_was_read(backend: Backend) -> None:
    runs = [pending(ref(n), rev=1) for n in range(6)]
    backend.place(*runs)
    backend.spoil_item(runs[0])

    assert backend.runs.runs(JOB, NOW, NOW + 9 * MINUTE, 2).unread == []


def test_gaps_that_cannot_be_read_are_told_with_the_stretch_that_their_keys_name(backend: Backend) -> None:
    kept, spoiled = gap(0), gap(20)
    backend.place(kept, spoiled)
    backend.spoil_item(spoiled)

    found = backend.runs.gaps(JOB)

    assert found.records == [kept]
    (one,) = found.unread
    assert one.stretch == (spoiled.first, spoiled.last)
    assert f"JOB#{JOB} / {one.sk}" in one.problem


def test_gaps_are_listed_oldest_first_with_every_field(backend: Backend) -> None:
    gaps = [gap(n, count=n + 1, forget_at=NOW + timedelta(days=400)) for n in (0, 20, 40)]
    backend.place(gaps[2], gaps[0], gaps[1], gap(0, job="another"))

    assert backend.runs.gaps(JOB).records == gaps


def test_a_job_without_history_has_none(backend: Backend) -> None:
    assert backend.runs.runs(JOB, NOW, NOW + MINUTE, 10).records == []
    assert backend.runs.gaps(JOB).records == []
