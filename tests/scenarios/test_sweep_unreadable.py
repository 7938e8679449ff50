"""The sweep and items that cannot be read, or written.

Invariants:
- whatever is looked at leaves the head of the index, so that nothing hides what lies behind it;
- what is set aside comes back, more and more rarely, and is counted;
- a store that is down ends the sweep; one item that it refuses does not;
- a run about which the store does not answer is looked at again soon, and hides nobody meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from cronce.core.answers import Applied, DueEntry
from cronce.core.changes import RunChange
from cronce.core.errors import NewerItemError, RefusedError, StoreError
from cronce.core.ports import RunStore
from cronce.core.records import RunRecord
from cronce.core.retry import Retry
from cronce.core.run import DueKind, RunStatus
from cronce.engine.metrics import ITEMS_UNREADABLE
from cronce.engine.sweep import PER_KIND, SweepReport
from cronce.testing import Unreadable, run_key
from cronce.testing.table import Row
from tests.scenarios.run_world import DAY, HOUR, MINUTE, NOON, SECOND, World, running


@pytest.fixture
def world() -> World:
    return World()


class NeverAnswers:
    """The run store, but for a few runs that nobody can write."""

    def __init__(self, runs: RunStore, poison: Collection[str]) -> None:
        self._runs, self._poison = runs, poison

    def apply(self, change: RunChange) -> Applied:
        if change.after.ref.id in self._poison:
            raise StoreError("InternalServerError")
        return self._runs.apply(change)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)


def test_i20_two_hundred_unreadable_items_at_the_head_hide_nothing(world: World) -> None:
    world.declare(lambda run: None)
    for number in range(PER_KIND):
        ref = world.plan(NOON + number * SECOND, due_at=NOON)
        world.store.spoil(run_key(ref))
    behind = world.plan(NOON + HOUR, due_at=NOON + SECOND)
    world.clock.advance(MINUTE)
    first = world.sweep()
    assert (first.unreadable, first.dispatched, first.complete) == (PER_KIND, 0, True)
    assert world.telemetry.metrics == {ITEMS_UNREADABLE: PER_KIND}
    assert world.sweep() == SweepReport(dispatched=1)
    assert world.invoker.refs == [behind]


def test_an_unreadable_item_is_looked_at_after_ten_minutes_doubling_to_a_day(world: World) -> None:
    world.declare(lambda run: None)
    world.store.spoil(run_key(world.plan(due_at=NOON)))
    looks: list[timedelta] = []
    for _ in range(6 * 24 * 4):
        world.clock.advance(10 * MINUTE - SECOND)
        if world.sweep().unreadable:
            looks.append(world.clock.now() - NOON)
    minutes = [look // MINUTE for look in looks]
    assert minutes[:8] == [10, 20, 40, 80, 160, 320, 640, 1280]
    assert all(later - earlier >= DAY for earlier, later in pairwise(looks[8:]))
    assert len(looks) >= 10


def test_a_repaired_item_is_executed_at_the_next_look(world: World) -> None:
    done: list[str] = []
    world.declare(lambda run: done.append(run.id))
    ref = world.plan(due_at=NOON)
    good = world.run(ref)
    world.store.drain_stream()
    world.store.spoil(run_key(ref))
    world.minute()
    world.store.place(good)
    world.store.drain_stream()
    world.minute()
    assert done == [ref.id]


def test_an_item_of_a_newer_release_is_left_alone_but_for_two_minutes(world: World) -> None:
    world.declare(lambda run: None)
    ref = world.plan(due_at=NOON)
    world.store.spoil(run_key(ref))

    def newer(call: str, when: str) -> None:
        if (call, when) == ("runs.get", "before"):
            raise NewerItemError("shape 2")

    world.store.on_call(newer)
    world.clock.advance(MINUTE)
    assert world.sweep() == SweepReport()
    assert world.sweep() == SweepReport()
    world.store.on_call(None)
    world.clock.advance(2 * MINUTE)
    assert world.sweep().unreadable == 1


def test_an_entry_whose_key_is_no_run_is_set_aside_for_a_day(world: World) -> None:
    key = ("JOB#menu", "RUN#not-a-time")
    world.store.table.store(key, misplaced(key, DueKind.WAITING))
    world.clock.advance(MINUTE)
    assert world.sweep() == SweepReport(unreadable=1)
    world.clock.advance(DAY - MINUTE)
    assert world.sweep() == SweepReport()
    world.clock.advance(2 * MINUTE)
    assert world.sweep() == SweepReport(unreadable=1)


def misplaced(key: tuple[str, str], kind: DueKind, item: RunRecord | None = None) -> Row:
    """An item at the head of a partition, put there by hand."""
    entry = DueEntry(kind=kind, due_at=NOON, pk=key[0], sk=key[1])
    return Row(item=item or Unreadable(problem="edited by hand"), entry=entry)


def test_an_item_in_the_wrong_place_of_the_index_does_not_stay_at_its_head(world: World) -> None:
    world.declare(lambda run: None)
    run = world.record(status=RunStatus.SUCCEEDED, dispatch=None, due_at=None)
    world.store.table.store(run_key(run.ref), misplaced(run_key(run.ref), DueKind.PENDING, run))
    world.clock.advance(MINUTE)
    assert world.sweep() == SweepReport(unreadable=1)
    assert world.sweep() == SweepReport()
    assert world.run(run.ref).status is RunStatus.SUCCEEDED


def test_an_item_that_the_store_refuses_to_write_holds_up_nobody(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    poison, other = running(world, 0), running(world, 1)
    world.clock.advance(2 * MINUTE)
    writes: list[str] = []

    def refuse(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before") and not writes:
            writes.append(call)
            raise RefusedError("ValidationException: item size")

    world.store.on_call(refuse)
    report = world.sweep()
    assert (report.lost, report.unreadable) == (1, 1)
    assert [world.run(ref).status for ref in (poison, other)] == [RunStatus.RUNNING, RunStatus.FAILED]


def test_a_run_about_which_the_store_did_not_answer_is_looked_at_again_in_two_minutes(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    unlucky, other = running(world, 0), running(world, 1)
    world.clock.advance(2 * MINUTE)
    writes: list[str] = []

    def no_answer(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before") and len(writes) < 2:
            writes.append(call)
            raise StoreError("ThrottlingException")

    world.store.on_call(no_answer)
    assert world.sweep() == SweepReport(lost=1, unanswered=1)
    assert world.telemetry.metrics[ITEMS_UNREADABLE] == 1
    assert [world.run(ref).status for ref in (unlucky, other)] == [RunStatus.RUNNING, RunStatus.FAILED]
    assert world.sweep() == SweepReport()
    world.clock.advance(2 * MINUTE)
    assert world.sweep() == SweepReport(lost=1)


def test_two_hundred_runs_about_which_the_store_never_answers_hide_nothing(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    poison = {running(world, second).id for second in range(PER_KIND)}
    world.clock.advance(SECOND)
    behind = running(world, PER_KIND)
    world.clock.advance(2 * MINUTE)
    world.ledger = replace(world.ledger, runs=NeverAnswers(world.store.runs, poison))
    world.sweeper = replace(world.sweeper, claims=replace(world.claims, ledger=world.ledger))

    assert world.sweep() == SweepReport(unanswered=PER_KIND)
    assert world.sweep() == SweepReport(lost=1)
    assert world.run(behind).status is RunStatus.FAILED
    assert world.telemetry.metrics[ITEMS_UNREADABLE] == PER_KIND
    world.clock.advance(3 * MINUTE)
    assert world.sweep().unanswered == PER_KIND, "they come back"


def test_a_write_that_was_made_though_nobody_answered_is_not_counted(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    ref = running(world)
    world.clock.advance(2 * MINUTE)

    def lost_reply(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "after"):
            raise StoreError("connection reset")

    world.store.on_call(lost_reply)
    assert world.sweep() == SweepReport()
    assert world.run(ref).status is RunStatus.FAILED
    assert ITEMS_UNREADABLE not in world.telemetry.metrics


def test_an_item_that_can_be_neither_read_nor_moved_holds_up_nobody(world: World) -> None:
    world.declare(lambda run: None)
    poison = world.plan(NOON, due_at=NOON)
    world.store.spoil(run_key(poison))
    silent = world.plan(NOON + SECOND, due_at=NOON)
    world.store.spoil(run_key(silent))
    behind = world.plan(NOON + 2 * SECOND, due_at=NOON + SECOND)
    world.clock.advance(MINUTE)
    reads: list[str] = []

    def refuse(call: str, when: str) -> None:
        if (call, when) == ("runs.set_aside", "before"):
            raise RefusedError("ValidationException: item size")
        if (call, when) == ("runs.get", "before"):
            reads.append(call)
            if len(reads) == 2:
                raise StoreError("InternalServerError")

    world.store.on_call(refuse)
    assert world.sweep() == SweepReport(unreadable=1, unanswered=1, dispatched=1)
    assert world.invoker.refs == [behind]
    assert world.telemetry.metrics[ITEMS_UNREADABLE] == 2


def test_a_store_that_takes_no_write_at_all_leaves_everything_where_it_is_and_says_so(world: World) -> None:
    world.declare(lambda run: None, retry=Retry(attempts=1))
    refs = [running(world, second) for second in range(3)]
    world.clock.advance(2 * MINUTE)

    def no_writes(call: str, when: str) -> None:
        if call in {"runs.apply", "runs.set_aside"}:
            raise StoreError("ThrottlingException")

    world.store.on_call(no_writes)
    assert world.sweep() == SweepReport(unanswered=3)
    assert world.telemetry.metrics[ITEMS_UNREADABLE] == 3
    world.store.on_call(None)
    assert world.sweep() == SweepReport(lost=3)
    assert {world.run(ref).status for ref in refs} == {RunStatus.FAILED}


def test_a_pending_run_about_which_the_store_did_not_answer_is_dispatched_again_in_two_minutes(
    world: World,
) -> None:
    world.declare(lambda run: None)
    ref = world.plan(NOON - DAY, due_at=NOON)

    def no_answer(call: str, when: str) -> None:
        if (call, when) == ("runs.apply", "before"):
            raise StoreError("ThrottlingException")

    world.store.on_call(no_answer)
    assert world.sweep().unanswered == 1
    world.store.on_call(None)
    world.clock.advance(2 * MINUTE)
    assert world.sweep().dispatched == 1
    assert world.run(ref).dispatches == 1


def test_a_store_that_is_down_ends_the_sweep(world: World) -> None:
    world.declare(lambda run: None)
    running(world)
    world.clock.advance(2 * MINUTE)

    def down(call: str, when: str) -> None:
        if call.startswith("runs."):
            raise StoreError("no route to host")

    world.store.on_call(down)
    with pytest.raises(StoreError, match="no route"):
        world.sweep()
