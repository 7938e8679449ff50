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

    assert backend.steps.load(RUN) == [plain, chunk]


def test_a_run_without_steps_has_none(backend: Backend) -> None:
    assert backend.steps.load(RUN) == []
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

    assert backend.steps.load(RUN) == steps


def test_all_pages_are_loaded(backend: Backend) -> None:
    backend.place(MINE)
    steps = [step(RUN, "send", chunk=n, result='"' + "x" * 200_000 + '"') for n in range(1, 13)]
    for item in steps:
        assert backend.steps.record(MINE, item)

    assert backend.steps.load(RUN) == steps


def test_steps_of_other_runs_stay_apart(backend: Backend) -> None:
    manual = running(ref(0, suffix="a1"))
    backend.place(MINE, manual)
    backend.steps.record(MINE, step(RUN))
    backend.steps.record(manual, step(manual.ref))

    assert backend.steps.load(RUN) == [step(RUN)]
    assert backend.steps.load(manual.ref) == [step(manual.ref)]


def test_a_step_whose_reply_was_lost_is_recognised_as_recorded(backend: Backend) -> None:
    backend.place(MINE)

    assert backend.steps.record(MINE, step(RUN))
    assert backend.steps.record(MINE, step(RUN))
    assert backend.steps.load(RUN) == [step(RUN)]


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
    assert backend.steps.load(RUN) == [recorded]


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
    assert backend.steps.load(RUN) == []


def test_a_step_of_a_run_that_is_gone_is_not_recorded(backend: Backend) -> None:
    assert not backend.steps.record(MINE, step(RUN))
    assert backend.steps.load(RUN) == []


def test_a_step_larger_than_an_item_names_the_run_and_the_step(backend: Backend) -> None:
    backend.place(MINE)

    with pytest.raises(StepResultTooLargeError, match=r"daily-menu@2026-01-05T00:00:00Z.*build"):
        backend.steps.record(MINE, step(RUN, result='"' + "x" * 410_000 + '"'))
    assert backend.steps.load(RUN) == []


def test_keys_count_towards_the_size_of_a_chunk(backend: Backend) -> None:
    backend.place(MINE)
    keys = tuple("k" * 1_000 + str(n) for n in range(410))

    with pytest.raises(StepResultTooLargeError, match="send"):
        backend.steps.record(MINE, step(RUN, "send", chunk=410, keys=keys, result="[]"))
