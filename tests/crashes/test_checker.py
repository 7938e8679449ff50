"""The checker sees what it is there for: each thing that must not happen, done by hand.

Invariant: a store that breaks one rule is reported; one that breaks none is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cronce.core.alerts import NoticeText
from cronce.core.named_lease import NamedLease
from cronce.core.records import RunRecord, Slots
from cronce.core.run import Reason, RunStatus
from cronce.testing import LeaseItem, ManualClock, Marker, run_key
from tests.contract import makers
from tests.crashes.checker import Watch, problems_of, unsettled
from tests.crashes.planning_scenarios import HALF_PAST_FIVE, declare, deployed, tick_and_deliver
from tests.crashes.run_scenarios import only_step
from tests.crashes.stack import HOUR, MINUTE, Stack

JOB = "small"


def run_of(stack: Stack) -> RunRecord:
    """The stack's only run, which has ended."""
    (run,) = stack.runs()
    assert run.status is RunStatus.SUCCEEDED
    return run


def reopened(stack: Stack) -> RunRecord:
    """The run as it was while a worker had it."""
    run = run_of(stack)
    later = replace(run.ref, scheduled_at=run.ref.scheduled_at + HOUR)
    return replace(run, ref=later, status=RunStatus.RUNNING, owner="me", ended_at=None, forget_at=None)


def lease_goes_back(stack: Stack) -> None:
    (lease,) = stack.contents(LeaseItem)
    stack.store.place(replace(lease, fencing_token=lease.fencing_token - 1))


def lease_has_two_owners(stack: Stack) -> None:
    (lease,) = stack.contents(LeaseItem)
    stack.store.place(replace(lease, owner="another"))


def named_lease(stack: Stack, owner: str, token: int, minutes: int) -> None:
    now = stack.clock.now()
    stack.store.place(
        NamedLease(
            name="export",
            owner=owner,
            holder=None,
            fencing_token=token,
            renewed_at=now,
            until=now + minutes * MINUTE,
        )
    )


def named_lease_goes_back(stack: Stack) -> None:
    named_lease(stack, "a", 2, 0)
    stack.places.after("leases.take")
    named_lease(stack, "b", 2, 1)


def named_lease_is_taken_from_its_holder(stack: Stack) -> None:
    named_lease(stack, "a", 1, 1)
    stack.places.after("leases.take")
    named_lease(stack, "b", 2, 1)


def end_is_undone(stack: Stack) -> None:
    stack.store.place(replace(run_of(stack), status=RunStatus.FAILED, reason=Reason.ERROR))


def token_is_used_twice(stack: Stack) -> None:
    again = reopened(stack)
    stack.change(JOB, slots=replace(stack.job(JOB).slots, held=frozenset({again.ref.id})))
    stack.store.place(again)


def slot_is_never_freed(stack: Stack) -> None:
    stack.change(JOB, slots=replace(stack.job(JOB).slots, held=frozenset({run_of(stack).ref.id})))


def run_has_no_slot(stack: Stack) -> None:
    stack.store.place(replace(reopened(stack), fencing_token=9))


def too_many_slots(stack: Stack) -> None:
    first = replace(reopened(stack), status=RunStatus.PENDING, owner=None)
    second = replace(first, ref=replace(first.ref, suffix="x"))
    stack.store.place(first, second)
    stack.change(JOB, slots=Slots(held=frozenset({first.ref.id, second.ref.id}), fencing_token=1))


def marker_without_run(stack: Stack) -> None:
    stack.store.place(Marker(ref=run_of(stack).ref))


def counted_but_not_queued(stack: Stack) -> None:
    stack.change(JOB, slots=replace(stack.job(JOB).slots, queued=1))


def queued_without_marker(stack: Stack) -> None:
    stack.store.place(makers.queued(makers.ref(0, job=JOB)))
    stack.change(JOB, slots=replace(stack.job(JOB).slots, queued=1))


def time_without_entry(stack: Stack) -> None:
    stack.change(JOB, planned_to=stack.job(JOB).planned_to + HOUR)


def planned_to_goes_back(stack: Stack) -> None:
    stack.change(JOB, planned_to=stack.job(JOB).planned_to - MINUTE)


def entry_is_gone(stack: Stack) -> None:
    stack.store.remove(run_key(run_of(stack).ref))
    stack.change(JOB, planned_to=stack.job(JOB).planned_to + MINUTE)


def time_has_two_entries(stack: Stack) -> None:
    at = run_of(stack).ref.scheduled_at
    stack.store.place(replace(makers.gap(0, job=JOB), first=at, last=at, count=1))
    stack.change(JOB, planned_to=stack.job(JOB).planned_to + MINUTE)


def step_is_recorded_by_another(stack: Stack) -> None:
    stack.store.place(makers.step(run_of(stack).ref, "late"))


def step_is_repeated(stack: Stack) -> None:
    stack.service.repeated.append("a key")


def told_three_times(stack: Stack) -> None:
    stack.notifier.notices += 3 * [
        NoticeText(id="1", subject="", body="", scope=JOB, kind="opened", stack="shop", trouble="missed")
    ]


def success_is_counted_twice(stack: Stack) -> None:
    stack.succeeded += 1


CRIMES: dict[Callable[[Stack], None], str] = {
    lease_goes_back: "lease: token",
    lease_has_two_owners: "lease: token",
    named_lease_goes_back: "lease export: token 2 after 2",
    named_lease_is_taken_from_its_holder: "lease export: b took it from a before its end",
    end_is_undone: "was final",
    token_is_used_twice: "token 1767591004001 after 1767591004001",
    slot_is_never_freed: "hold slots",
    run_has_no_slot: "were begun",
    too_many_slots: "2 hold slots",
    marker_without_run: "1 markers",
    counted_but_not_queued: "queued 1, 0 markers",
    queued_without_marker: "0 markers, 1 runs wait",
    time_without_entry: "07:00 0 times",
    planned_to_goes_back: "went back",
    entry_is_gone: "06:00 0 times",
    time_has_two_entries: "06:00 2 times",
    step_is_recorded_by_another: "who does not hold the run",
    step_is_repeated: "called again",
    told_three_times: "told 3 times",
    success_is_counted_twice: "successes were counted",
}


def ended_well() -> tuple[Stack, Watch]:
    """A stack in which one run has ended."""
    stack = Stack(ManualClock(HALF_PAST_FIVE))
    watch = Watch(stack)
    deployed(stack, declare(JOB, only_step(stack)))
    watch.begin()
    stack.places.after = watch.look
    tick_and_deliver(stack)
    return stack, watch


def test_nothing_is_reported_while_all_is_well() -> None:
    stack, watch = ended_well()
    watch.look("runs.apply")

    assert problems_of(stack, watch, 1) == []
    assert unsettled(stack) == []


@pytest.mark.parametrize("crime", CRIMES, ids=lambda crime: crime.__name__)
def test_what_must_not_happen_is_reported(crime: Callable[[Stack], None]) -> None:
    stack, watch = ended_well()
    crime(stack)
    watch.look("runs.apply")
    watch.look("steps.record")

    assert CRIMES[crime] in "\n".join(problems_of(stack, watch, 1))


@pytest.mark.parametrize(
    "left, what",
    [
        (makers.pending(makers.ref(0, job=JOB)), "is PENDING"),
        (makers.failed(makers.ref(0, job=JOB)), "is untold"),
        (makers.gap(0, job=JOB), "is untold"),
        (makers.job_state("other", due_at=HALF_PAST_FIVE), "other"),
    ],
)
def test_what_is_left_to_do_is_reported(left: object, what: str) -> None:
    stack, _ = ended_well()
    stack.store.place(left)  # type: ignore[arg-type]

    assert what in "\n".join(unsettled(stack))
