"""Idempotency items.

Invariants:
- a step is recorded once, and only by the worker that holds the run at that instant;
- an own item is recognised on the item itself; the run's state never proves it;
- what was recorded is read back completely and in order, however much it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cronce.core.errors import StepResultTooLargeError
from cronce.core.records import StepStatus
from cronce.core.run import Reason, RunStatus
from tests.contract.backends import Backend
from tests.contract.makers import MINUTE, NOW, ref, running, step

RUN = ref(0)
MINE = running(RUN)


def test_a_step_is_read_back_with_every_field(backend: Backend) -> None:
    backend.place(MINE)
    plain = step(RUN, at=NOW + MINUTE)
    chunk = step(RUN, "send", chunk=25, keys=("ada", "bob", "é"), result="[1, 2, 3]")

    assert backend.steps.record(MINE, plain)
    assert backend.steps.record(MINE, chunk)

    assert list(backend.steps.load(RUN)) == [plain, chunk]


def test_a_run_without_steps_has_none(backend: Backend) -> None:
    assert list(backend.steps.load(RUN)) == []
    assert backend.steps.attempts(RUN) == []


def test_steps_come_in_order_of_name_and_chunk(backend: Backend) -> None:
    backend.place(MINE)
    steps = [
        step(RUN, "a"),
        step(RUN, "b", chunk=5, result="[]"),
        step(RUN, "b", chunk=25, result="[]"),
        step(RUN, "b", chunk=1_000, result="[]"),
        step(RUN, "b-later"),
        step(RUN, "c"),
    ]
    for item in reversed(steps):
        assert backend.steps.record(MINE, item)

    assert list(backend.steps.load(RUN)) == steps


def test_all_pages_are_loaded(backend: Backend) -> None:
    backend.place(MINE)
    steps = [step(RUN, "send", chunk=n, result='"' + "x" * 200_000 + '"') for n in range(1, 13)]
    for item in steps:
        assert backend.steps.record(MINE, item)

    assert list(backend.steps.load(RUN)) == steps


def test_steps_of_other_runs_stay_apart(backend: Backend) -> None:
    manual = running(ref(0, suffix="a1"))
    backend.place(MINE, manual)
    backend.steps.record(MINE, step(RUN))
    backend.steps.record(manual, step(manual.ref))

    assert list(backend.steps.load(RUN)) == [step(RUN)]
    assert list(backend.steps.load(manual.ref)) == [step(manual.ref)]


def test_a_step_whose_reply_was_lost_is_recognised_as_recorded(backend: Backend) -> None:
    backend.place(MINE)

    assert backend.steps.record(MINE, step(RUN))
    assert backend.steps.record(MINE, step(RUN))
    assert list(backend.steps.load(RUN)) == [step(RUN)]


def test_a_recorded_step_is_recognised_although_the_claim_was_lost_since(backend: Backend) -> None:
    backend.place(MINE)
    backend.steps.record(MINE, step(RUN))
    backend.place(replace(MINE, owner="another", fencing_token=8))

    assert backend.steps.record(MINE, step(RUN))


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param({"owner": "another", "fencing_token": 8}, id="p37 of the worker that took over"),
        pytest.param({"owner": "another"}, id="another owner"),
        pytest.param({"fencing_token": 6}, id="an earlier claim of mine"),
    ],
)
def test_a_step_that_somebody_else_recorded_is_not_mine(backend: Backend, theirs: dict[str, Any]) -> None:
    before = replace(MINE, **theirs)
    backend.place(before)
    recorded = step(RUN, result='"theirs"', **theirs)
    assert backend.steps.record(before, recorded)
    backend.place(MINE)

    assert not backend.steps.record(MINE, step(RUN, result='"mine"'))
    assert list(backend.steps.load(RUN)) == [recorded]


@pytest.mark.parametrize(
    "left",
    [
        pytest.param({"status": RunStatus.WAITING, "reason": Reason.BACKOFF}, id="still shown"),
        pytest.param(
            {"status": RunStatus.FAILED, "reason": Reason.LOST, "owner": None, "last_owner": "me"},
            id="last owner",
        ),
    ],
)
def test_i24_my_owner_and_token_on_the_run_do_not_prove_that_the_step_was_recorded(
    backend: Backend, left: dict[str, object]
) -> None:
    backend.place(replace(MINE, **left))  # type: ignore[arg-type]

    assert not backend.steps.record(MINE, step(RUN))
    assert list(backend.steps.load(RUN)) == []


def test_a_step_of_a_run_that_is_gone_is_not_recorded(backend: Backend) -> None:
    assert not backend.steps.record(MINE, step(RUN))
    assert list(backend.steps.load(RUN)) == []


def test_a_step_larger_than_an_item_names_the_run_and_the_step(backend: Backend) -> None:
    backend.place(MINE)

    with pytest.raises(StepResultTooLargeError, match=r"daily-menu@2026-01-05T00:00:00Z.*build"):
        backend.steps.record(MINE, step(RUN, result='"' + "x" * 410_000 + '"'))
    assert list(backend.steps.load(RUN)) == []


def test_keys_count_towards_the_size_of_a_chunk(backend: Backend) -> None:
    backend.place(MINE)
    keys = tuple("k" * 1_000 + str(n) for n in range(410))

    with pytest.raises(StepResultTooLargeError, match="send"):
        backend.steps.record(MINE, step(RUN, "send", chunk=410, keys=keys, result="[]"))


STARTED = step(RUN, "charge", status=StepStatus.STARTED, result="null", until=NOW + 15 * MINUTE)
OTHERS = [
    pytest.param({"owner": "another", "fencing_token": 8}, id="of another worker"),
    pytest.param({"fencing_token": 6}, id="of an earlier claim of mine"),
    pytest.param({"status": StepStatus.NOT_DONE, "until": None}, id="that was taken back"),
]


@pytest.mark.parametrize("status", [StepStatus.DONE, StepStatus.NOT_DONE])
def test_a_started_step_gives_way_to_its_end(backend: Backend, status: StepStatus) -> None:
    backend.place(MINE)
    end = replace(STARTED, status=status, result='"paid"', until=None, at=NOW + MINUTE)

    assert backend.steps.record(MINE, STARTED)
    assert list(backend.steps.load(RUN)) == [STARTED]
    assert backend.steps.record(MINE, end, STARTED)
    assert list(backend.steps.load(RUN)) == [end]


def test_the_end_of_a_started_step_is_recognised_when_its_reply_was_lost(backend: Backend) -> None:
    backend.place(MINE)
    end = replace(STARTED, status=StepStatus.DONE, until=None)
    backend.steps.record(MINE, STARTED)

    assert backend.steps.record(MINE, end, STARTED)
    assert backend.steps.record(MINE, end, STARTED)


def test_that_a_step_was_started_does_not_prove_that_its_end_was_recorded(backend: Backend) -> None:
    backend.place(MINE)
    backend.steps.record(MINE, STARTED)
    backend.place(replace(MINE, owner="another", fencing_token=8))

    assert not backend.steps.record(MINE, replace(STARTED, status=StepStatus.DONE, until=None), STARTED)
    assert list(backend.steps.load(RUN)) == [STARTED]


@pytest.mark.parametrize("stands", OTHERS)
def test_an_item_gives_way_only_if_it_is_the_one_that_was_read(
    backend: Backend, stands: dict[str, Any]
) -> None:
    stored = replace(STARTED, **stands)
    claimed = replace(MINE, owner=stored.owner, fencing_token=stored.fencing_token)
    backend.place(claimed)
    assert backend.steps.record(claimed, stored)
    backend.place(MINE)

    assert not backend.steps.record(MINE, replace(STARTED, status=StepStatus.DONE, until=None), STARTED)
    assert list(backend.steps.load(RUN)) == [stored]


def test_nothing_is_written_in_the_place_of_an_item_that_is_not_there(backend: Backend) -> None:
    backend.place(MINE)

    assert not backend.steps.record(MINE, replace(STARTED, status=StepStatus.DONE, until=None), STARTED)
    assert list(backend.steps.load(RUN)) == []
