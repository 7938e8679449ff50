"""The `due` index, and the two writes that begin at one of its lines.

Every read waits a moment first: the index may be late, and nothing here depends on how late.

Invariants:
- an item stands under the kind that its state says, and leaves the index when nobody has to look at it;
- lines come oldest first, as many as asked for, each kind by itself;
- an end is told once; an item that cannot be read is moved by its key alone, and only from where it was.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cronce.core.alerts import SCHEDULER, Alert
from cronce.core.answers import Applied, DueEntry
from cronce.core.changes import Guard, RunChange
from cronce.core.jobstate import JobState
from cronce.core.records import RunRecord
from cronce.core.run import DueKind, Notice, Reason, RunStatus
from cronce.testing import ManualClock
from tests.contract.backends import Backend
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    failed,
    finish_of,
    gap,
    grant_of,
    job_state,
    pending,
    queued,
    ref,
    running,
    stored,
    window,
)

WAIT = timedelta(seconds=2)


def due(
    backend: Backend, clock: ManualClock, kind: DueKind, until: datetime | None = None, limit: int = 50
) -> list[DueEntry]:
    """The index once it has caught up."""
    clock.advance(WAIT)
    return backend.index.due(kind, until, limit)


@pytest.mark.parametrize(
    "item, kind",
    [
        (job_state(), DueKind.JOB),
        (pending(ref(0)), DueKind.PENDING),
        (running(ref(0)), DueKind.RUNNING),
        (queued(ref(0), reason=Reason.BACKOFF), DueKind.WAITING),
        (queued(ref(0)), DueKind.QUEUED),
        (failed(ref(0)), DueKind.NOTICE),
    ],
    ids=lambda value: value.value if isinstance(value, DueKind) else type(value).__name__,
)
def test_an_item_stands_under_its_kind_and_no_other(
    backend: Backend, clock: ManualClock, item: RunRecord | JobState, kind: DueKind
) -> None:
    backend.place(item)

    lines = {kind: due(backend, clock, kind) for kind in DueKind}

    assert [found for found in DueKind if lines[found]] == [kind]
    (line,) = lines[kind]
    assert (line.kind, line.due_at, line.job, line.expect_by) == (kind, item.due_at, JOB, item.expect_by)
    if isinstance(item, RunRecord):
        assert (line.run, line.status) == (ref(0), item.status.value)
    else:
        assert (line.run, line.sk) == (None, "JOB")


def test_a_gap_that_must_be_told_stands_under_notice(backend: Backend, clock: ManualClock) -> None:
    backend.place(gap(0))

    (line,) = due(backend, clock, DueKind.NOTICE)

    assert (line.job, line.run, line.sk) == (JOB, None, "GAP#2026-01-05T00:00:00Z#2026-01-05T00:09:00Z#late")


def test_an_open_alert_stands_under_alert_until_it_is_done(backend: Backend, clock: ManualClock) -> None:
    opened = Alert(scope=SCHEDULER, since=NOW, times=(), count=1, due_at=NOW + MINUTE)
    assert backend.alerts.put(None, opened)

    (line,) = due(backend, clock, DueKind.ALERT)
    assert (line.pk, line.sk, line.due_at, line.job) == ("SCHEDULER", "ALERT", NOW + MINUTE, None)

    assert backend.alerts.put(replace(opened, rev=1), replace(opened, due_at=None, closed_at=NOW))
    assert due(backend, clock, DueKind.ALERT) == []


@pytest.mark.parametrize(
    "item",
    [
        job_state(due_at=None),
        pending(ref(0), status=RunStatus.SUCCEEDED, due_at=None),
        failed(ref(0), notice=Notice.TOLD, due_at=None),
        gap(0, notice=None),
        gap(0, notice=Notice.TOLD),
    ],
    ids=["paused job", "succeeded", "told failure", "gap not to be told", "told gap"],
)
def test_what_nobody_has_to_look_at_is_in_no_partition(
    backend: Backend, clock: ManualClock, item: RunRecord | JobState
) -> None:
    backend.place(item)

    assert [kind for kind in DueKind if due(backend, clock, kind)] == []


def test_lines_come_oldest_first_up_to_instant_and_limit(backend: Backend, clock: ManualClock) -> None:
    backend.place(*(pending(ref(n), due_at=NOW + (10 - n) * MINUTE) for n in range(10)))

    assert [line.run for line in due(backend, clock, DueKind.PENDING, NOW + 3 * MINUTE)] == [
        ref(9),
        ref(8),
        ref(7),
    ]
    assert [line.run for line in due(backend, clock, DueKind.PENDING, None, 2)] == [ref(9), ref(8)]
    assert len(due(backend, clock, DueKind.PENDING)) == 10
    assert due(backend, clock, DueKind.PENDING, NOW + MINUTE - timedelta(milliseconds=1)) == []


def test_i21_each_kind_has_its_own_bound(backend: Backend, clock: ManualClock) -> None:
    backend.place(*(pending(ref(n), due_at=NOW) for n in range(30)), running(ref(50)), queued(ref(51)))

    assert len(due(backend, clock, DueKind.PENDING, limit=5)) == 5
    assert [line.run for line in due(backend, clock, DueKind.RUNNING, limit=5)] == [ref(50)]
    assert [line.run for line in due(backend, clock, DueKind.QUEUED, limit=5)] == [ref(51)]


def test_a_change_moves_the_line(backend: Backend, clock: ManualClock) -> None:
    backend.place(running(ref(0)))
    assert due(backend, clock, DueKind.RUNNING)

    backend.runs.apply(finish_of(running(ref(0))))

    assert [kind for kind in DueKind if due(backend, clock, kind)] == []


def test_renewing_does_not_move_the_line(backend: Backend, clock: ManualClock) -> None:
    backend.place(running(ref(0)))

    backend.runs.renew(running(ref(0)), NOW + 10 * MINUTE)

    assert [line.due_at for line in due(backend, clock, DueKind.RUNNING)] == [running(ref(0)).due_at]


def test_planning_moves_the_jobs_line_and_adds_one_for_each_run(backend: Backend, clock: ManualClock) -> None:
    backend.place(job_state())
    planned = window(job_state(), pending(ref(1)), queued(ref(2)), gaps=(gap(5),))
    assert backend.plans.commit(grant_of(backend), [planned]).done

    assert [line.due_at for line in due(backend, clock, DueKind.JOB)] == [planned.after.due_at]
    assert [line.run for line in due(backend, clock, DueKind.PENDING)] == [ref(1)]
    assert [line.run for line in due(backend, clock, DueKind.QUEUED)] == [ref(2)]
    assert len(due(backend, clock, DueKind.NOTICE)) == 1


def test_i44_a_run_is_told_once_and_leaves_the_index(backend: Backend, clock: ManualClock) -> None:
    backend.place(failed(ref(0)))
    (line,) = due(backend, clock, DueKind.NOTICE)

    assert backend.runs.mark_told(line)

    told = stored(backend, ref(0))
    assert (told.notice, told.due_at, told.status) == (Notice.TOLD, None, RunStatus.FAILED)
    assert due(backend, clock, DueKind.NOTICE) == []
    assert not backend.runs.mark_told(line)


def test_i45_a_gap_is_told_once_and_leaves_the_index(backend: Backend, clock: ManualClock) -> None:
    backend.place(gap(0))
    (line,) = due(backend, clock, DueKind.NOTICE)

    assert backend.runs.mark_told(line)

    assert backend.runs.gaps(JOB).records == [gap(0, notice=Notice.TOLD)]
    assert due(backend, clock, DueKind.NOTICE) == []
    assert not backend.runs.mark_told(line)


def test_telling_a_run_voids_what_was_judged_before(backend: Backend, clock: ManualClock) -> None:
    backend.place(failed(ref(0)))
    (line,) = due(backend, clock, DueKind.NOTICE)
    seen = stored(backend, ref(0))
    backend.runs.mark_told(line)

    again = replace(seen, status=RunStatus.PENDING, reason=None, notice=None, touched=True)
    assert backend.runs.apply(RunChange(before=seen, after=again, guard=Guard.SEEN)) is Applied.RUN_MOVED


def test_a_run_brought_back_meanwhile_is_not_told(backend: Backend, clock: ManualClock) -> None:
    backend.place(failed(ref(0)))
    (line,) = due(backend, clock, DueKind.NOTICE)
    seen = stored(backend, ref(0))
    again = replace(
        seen, status=RunStatus.PENDING, reason=None, notice=None, touched=True, due_at=NOW + MINUTE
    )
    assert backend.runs.apply(RunChange(before=seen, after=again, guard=Guard.SEEN)) is Applied.DONE

    assert not backend.runs.mark_told(line)
    assert stored(backend, ref(0)) == replace(again, rev=seen.rev + 1)


def test_a_run_that_is_gone_is_not_told_and_not_created(backend: Backend, clock: ManualClock) -> None:
    backend.place(failed(ref(0)))
    (line,) = due(backend, clock, DueKind.NOTICE)
    backend.remove_item(failed(ref(0)))

    assert not backend.runs.mark_told(line)
    assert not backend.runs.set_aside(line, NOW + MINUTE)
    assert backend.runs.get(ref(0)) is None


def test_i20_unreadable_items_are_moved_out_of_the_way_of_what_lies_behind(
    backend: Backend, clock: ManualClock
) -> None:
    broken = [pending(ref(n), due_at=NOW - MINUTE) for n in range(5)]
    backend.place(*broken, pending(ref(9), due_at=NOW))
    for run in broken:
        backend.spoil_item(run)
    lines = due(backend, clock, DueKind.PENDING, NOW, 5)
    assert {line.run for line in lines} == {run.ref for run in broken}, "in any order: they are due at once"

    assert all(backend.runs.set_aside(line, NOW + 10 * MINUTE) for line in lines)

    assert [line.run for line in due(backend, clock, DueKind.PENDING, NOW + MINUTE, 5)] == [ref(9)]
    assert len(due(backend, clock, DueKind.PENDING, NOW + 10 * MINUTE)) == 6


def test_an_unreadable_job_is_moved_as_well(backend: Backend, clock: ManualClock) -> None:
    backend.place(job_state())
    backend.spoil_item(job_state())
    (line,) = due(backend, clock, DueKind.JOB)

    assert backend.runs.set_aside(line, NOW + 10 * MINUTE)
    assert [line.due_at for line in due(backend, clock, DueKind.JOB)] == [NOW + 10 * MINUTE]


def test_an_item_that_has_moved_meanwhile_is_not_set_aside(backend: Backend, clock: ManualClock) -> None:
    backend.place(running(ref(0)))
    (line,) = due(backend, clock, DueKind.RUNNING)
    lost = replace(
        running(ref(0)), status=RunStatus.WAITING, reason=Reason.BACKOFF, owner=None, last_owner="me"
    )
    backend.runs.apply(RunChange(before=running(ref(0)), after=lost, guard=Guard.SEEN))

    assert not backend.runs.set_aside(line, NOW + 10 * MINUTE)
    assert stored(backend, ref(0)).due_at == lost.due_at


def test_an_old_line_does_not_set_an_item_aside_again(backend: Backend, clock: ManualClock) -> None:
    backend.place(pending(ref(0)))
    (line,) = due(backend, clock, DueKind.PENDING)

    assert backend.runs.set_aside(line, NOW + 10 * MINUTE)
    assert not backend.runs.set_aside(line, NOW + 20 * MINUTE)
    assert stored(backend, ref(0)).due_at == NOW + 10 * MINUTE
