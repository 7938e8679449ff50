"""Writes of a run: born once, judged then changed, and only what differs is written.

Invariants:
- a run is born once, whatever its key already holds;
- a change judged on an older record is refused, and nothing of its transaction is written;
- what somebody else set meanwhile survives, unless it is what this change is about;
- what stands in a transaction is written with it or not at all.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import timedelta

import pytest

from cronce.core.acts import Act, What
from cronce.core.answers import Applied
from cronce.core.changes import Guard, RunChange
from cronce.core.errors import StoreError
from cronce.core.records import AttemptRecord, RunRecord
from cronce.core.run import Dispatch, Notice, Reason, RunStatus, Trigger
from cronce.core.run_input import RunInput
from tests.contract.backends import Backend
from tests.contract.makers import (
    JOB,
    MINUTE,
    NOW,
    born,
    claim_of,
    failed,
    finish_of,
    pending,
    ref,
    running,
    stored,
)

RUN = ref(0)


def test_a_run_is_born_with_its_first_revision(backend: Backend) -> None:
    assert born(backend, pending(RUN)) == pending(RUN, rev=1)


def test_a_run_is_not_born_over_one_that_exists(backend: Backend) -> None:
    first = born(backend, pending(RUN))
    second = RunChange(before=None, after=pending(RUN, created_at=NOW + MINUTE), guard=Guard.BORN)

    assert backend.runs.apply(second) is Applied.RUN_MOVED
    assert stored(backend, RUN) == first


def test_i11_a_run_is_not_born_over_one_that_has_expired(backend: Backend) -> None:
    backend.place(pending(RUN, status=RunStatus.SUCCEEDED, dispatch=None, due_at=None, forget_at=NOW, rev=5))
    assert backend.runs.get(RUN) is None

    assert (
        backend.runs.apply(RunChange(before=None, after=pending(RUN), guard=Guard.BORN)) is Applied.RUN_MOVED
    )
    assert backend.runs.get(RUN) is None


def test_manual_runs_of_one_second_are_two_runs(backend: Backend) -> None:
    one, two = ref(0, suffix="a1"), ref(0, suffix="b2")
    born(backend, pending(one, trigger=Trigger.MANUAL))
    born(backend, pending(two, trigger=Trigger.MANUAL))

    assert set(backend.runs.get_many([RUN, one, two])) == {one, two}


def everything(run: RunRecord) -> RunRecord:
    """The run, claimed, with every field that a record has set to something of its own."""
    return replace(
        run,
        status=RunStatus.RUNNING,
        trigger=Trigger.MANUAL,
        created_at=NOW + timedelta(milliseconds=1),
        scheduled_local="2026-01-05T01:00:00+01:00",
        timeout=timedelta(hours=3),
        max_attempts=7,
        attempt=2,
        slice=3,
        started_at=NOW + timedelta(milliseconds=2),
        attempt_started_at=NOW + timedelta(milliseconds=3),
        slice_started_at=NOW + timedelta(milliseconds=4),
        slice_ends_at=NOW + timedelta(minutes=10),
        ended_at=NOW + timedelta(milliseconds=5),
        attempt_ended_at=NOW + timedelta(milliseconds=10),
        attempt_outcome=Reason.LOST,
        executed=timedelta(seconds=61, milliseconds=250),
        owner="6e1f",
        last_owner="5d0e",
        fencing_token=42,
        claim_until=NOW + timedelta(milliseconds=6),
        due_at=NOW + timedelta(milliseconds=7),
        expect_by=NOW + timedelta(milliseconds=8),
        dispatch=Dispatch.SWEEP,
        dispatches=4,
        touched=True,
        cancel_requested=True,
        act=Act(what=What.CANCEL, at=NOW + timedelta(milliseconds=11), by="ann", why="not today"),
        unknown_since=NOW + timedelta(milliseconds=9),
        request_id="request-1",
        log_stream="2026/01/05/[live]abc",
        error="ValueError: a menu without soup\nin build_menu",
        error_kept=True,
        input='{"day": "2026-01-05"}',
        input_kept=True,
    )


def test_every_field_is_written_and_read_back(backend: Backend) -> None:
    before = born(backend, pending(RUN))
    after = everything(before)
    exempt = {"ref", "rev", "reason", "notice", "forget_at"}
    assert {f.name for f in fields(RunRecord) if getattr(before, f.name) == getattr(after, f.name)} == exempt

    assert backend.runs.apply(RunChange(before=before, after=after, guard=Guard.SEEN)) is Applied.DONE
    assert stored(backend, RUN) == replace(after, rev=2)

    ended = replace(after, status=RunStatus.FAILED, reason=Reason.LOST, owner=None, notice=Notice.PENDING)
    ended = replace(ended, forget_at=NOW + timedelta(days=400))
    change = RunChange(before=replace(after, rev=2), after=ended, guard=Guard.SEEN)
    assert backend.runs.apply(change) is Applied.DONE
    assert stored(backend, RUN) == replace(ended, rev=3)


def test_fields_that_become_none_or_false_are_gone(backend: Backend) -> None:
    full = everything(pending(RUN, rev=1))
    backend.place(full)
    plain = replace(pending(RUN), fencing_token=42, last_owner="6e1f")

    assert backend.runs.apply(RunChange(before=full, after=plain, guard=Guard.SEEN)) is Applied.DONE
    assert stored(backend, RUN) == replace(plain, rev=2)


def test_a_change_judged_on_an_older_record_is_refused(backend: Backend) -> None:
    seen = born(backend, pending(RUN))
    touched = RunChange(before=seen, after=replace(seen, touched=True), guard=Guard.SEEN)
    backend.runs.apply(touched)

    assert backend.runs.apply(claim_of(seen)) is Applied.RUN_MOVED
    assert stored(backend, RUN) == replace(seen, touched=True, rev=2)


def test_a_change_of_a_run_that_is_gone_is_refused_and_creates_nothing(backend: Backend) -> None:
    seen = pending(RUN, rev=1)

    assert backend.runs.apply(claim_of(seen)) is Applied.RUN_MOVED
    assert backend.runs.apply(finish_of(running(RUN))) is Applied.RUN_MOVED
    assert backend.runs.get(RUN) is None


def test_p42_i25_a_run_that_is_dispatched_twice_is_claimed_once(backend: Backend) -> None:
    seen = born(backend, pending(RUN))

    assert backend.runs.apply(claim_of(seen, owner="one")) is Applied.DONE
    assert backend.runs.apply(claim_of(seen, owner="two")) is Applied.RUN_MOVED
    assert stored(backend, RUN).owner == "one"


def test_a_stop_request_set_meanwhile_survives_the_workers_own_write(backend: Backend) -> None:
    claimed = running(RUN)
    backend.place(claimed)
    asked = RunChange(before=claimed, after=replace(claimed, cancel_requested=True), guard=Guard.SEEN)
    assert backend.runs.apply(asked) is Applied.DONE

    moved = RunChange(before=claimed, after=replace(claimed, executed=MINUTE), guard=Guard.LIVE)
    assert backend.runs.apply(moved) is Applied.DONE

    assert stored(backend, RUN) == replace(claimed, cancel_requested=True, executed=MINUTE, rev=4)


def test_an_own_stop_request_is_withdrawn_when_that_is_the_change(backend: Backend) -> None:
    claimed = running(RUN, cancel_requested=True)
    backend.place(claimed)
    ended = replace(claimed, status=RunStatus.CANCELLED, reason=Reason.OPERATOR, owner=None, last_owner="me")
    ended = replace(ended, cancel_requested=False)

    assert backend.runs.apply(RunChange(before=claimed, after=ended, guard=Guard.LIVE)) is Applied.DONE
    assert not stored(backend, RUN).cancel_requested


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED])
def test_a_stop_request_that_the_worker_never_saw_ends_with_the_run(
    backend: Backend, status: RunStatus
) -> None:
    claimed = running(RUN)
    backend.place(claimed)
    asked = RunChange(before=claimed, after=replace(claimed, cancel_requested=True), guard=Guard.SEEN)
    assert backend.runs.apply(asked) is Applied.DONE

    reason = {RunStatus.FAILED: Reason.ERROR, RunStatus.CANCELLED: Reason.OPERATOR}.get(status)
    ended = replace(finish_of(claimed).after, status=status, reason=reason)
    assert backend.runs.apply(RunChange(before=claimed, after=ended, guard=Guard.LIVE)) is Applied.DONE

    assert stored(backend, RUN) == replace(ended, rev=4)
    assert not stored(backend, RUN).cancel_requested


def test_a_finished_attempt_is_kept_with_the_change(backend: Backend) -> None:
    backend.place(running(RUN))
    change = replace(finish_of(running(RUN)), attempt=attempt(1))

    assert backend.runs.apply(change) is Applied.DONE
    assert backend.steps.attempts(RUN) == [attempt(1)]


def test_attempts_are_listed_oldest_first_also_beyond_nine(backend: Backend) -> None:
    backend.place(running(RUN))
    for number in range(1, 13):
        seen = stored(backend, RUN)
        change = RunChange(before=seen, after=seen, guard=Guard.LIVE, attempt=attempt(number))
        assert backend.runs.apply(change) is Applied.DONE

    assert [kept.number for kept in backend.steps.attempts(RUN)] == list(range(1, 13))


def test_an_attempt_is_not_kept_by_a_change_that_is_refused(backend: Backend) -> None:
    backend.place(running(RUN, fencing_token=8))
    change = replace(finish_of(running(RUN)), attempt=attempt(1))

    assert backend.runs.apply(change) is Applied.RUN_MOVED
    assert backend.steps.attempts(RUN) == []


def attempt(number: int) -> AttemptRecord:
    """A failed attempt with every field set."""
    return AttemptRecord(
        ref=RUN,
        number=number,
        fencing_token=7,
        started_at=NOW,
        ended_at=NOW + MINUTE,
        outcome="error",
        error="ValueError: " + "x" * 1000,
        request_id="request-1",
        log_stream="2026/01/05/[live]abc",
    )


def test_a_move_that_the_table_does_not_know_never_reaches_the_store(backend: Backend) -> None:
    before = failed(RUN)
    backend.place(before)

    with pytest.raises(StoreError, match=RUN.id):
        RunChange(before=before, after=replace(before, status=RunStatus.SUCCEEDED), guard=Guard.SEEN)
    assert stored(backend, RUN) == before


def test_a_run_of_another_job_at_the_same_time_is_another_run(backend: Backend) -> None:
    mine, other = born(backend, pending(RUN)), born(backend, pending(ref(0, job=f"{JOB}-2")))

    assert backend.runs.apply(claim_of(mine)) is Applied.DONE
    assert stored(backend, other.ref) == other


GIVEN = RunInput(ref=RUN, text=json.dumps(["ü" * 300]), at=NOW)
ASKED = RunChange(before=None, after=pending(RUN, input_kept=True), guard=Guard.BORN, input=GIVEN)


def test_a_run_and_its_long_input_are_born_together(backend: Backend) -> None:
    assert backend.steps.input(RUN) is None

    assert [backend.runs.apply(ASKED) for _ in range(2)] == [Applied.DONE, Applied.DONE]

    assert stored(backend, RUN).input_kept
    assert backend.steps.input(RUN) == GIVEN.text
    assert list(backend.steps.load(RUN)) == []
    assert backend.steps.input(ref(1)) is None


def test_a_run_that_is_there_keeps_the_input_that_it_has(backend: Backend) -> None:
    assert backend.runs.apply(ASKED) is Applied.DONE
    other = replace(
        ASKED, after=pending(RUN, input_kept=True, max_attempts=9), input=replace(GIVEN, text="[]")
    )

    assert backend.runs.apply(other) is Applied.RUN_MOVED
    assert backend.steps.input(RUN) == GIVEN.text


def test_an_act_that_makes_way_is_kept_with_the_write_that_displaces_it(backend: Backend) -> None:
    acts = [
        Act(what=What.CANCEL, at=NOW + number * MINUTE, by=name, why="") for number, name in enumerate("abc")
    ]
    seen = born(backend, pending(RUN))
    for act in acts:
        seen = stored(backend, RUN)
        change = RunChange(before=seen, after=replace(seen, act=act), guard=Guard.SEEN)
        assert [backend.runs.apply(change) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    stale = RunChange(before=seen, after=replace(seen, act=acts[0]), guard=Guard.SEEN)
    assert backend.runs.apply(stale) is Applied.RUN_MOVED

    assert stored(backend, RUN).act == acts[2]
    assert backend.steps.acts(RUN.id) == acts[:2]
    assert backend.steps.acts(ref(1).id) == []
