"""Workers and consumers that were gone for long.

Invariants:
- a worker that Lambda ends within a step is followed by one that repeats that step under the same key;
- a run that nobody started for a day is found by its record, and judged by its job's own policy.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce.core.claim import TAKE_OVER_AFTER, TRUST_MARGIN
from cronce.core.run import Reason, RunStatus
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import HOUR, MINUTE, NAME, SECOND, Killed, World, dead

SHORT = 30 * SECOND


@pytest.fixture
def world() -> World:
    return World()


def test_p49_a_worker_that_times_out_within_a_step_is_followed_and_the_step_repeated_under_its_key(
    world: World,
) -> None:
    keys: list[str] = []

    def send(*, idempotency_key: str) -> None:
        keys.append(idempotency_key)
        if len(keys) == 1:
            world.clock.advance(SHORT)
            world.store.on_call(dead)  # the invocation is over: Lambda has ended the process
            raise Killed

    def work(run: Run) -> None:
        run.step("send", send)

    world.declare(work)
    ref = world.plan()
    began = world.clock.now()
    with pytest.raises(Killed):
        world.execute(ref, lasts=SHORT)
    world.store.on_call(None)

    claim_until = world.run(ref).claim_until
    assert claim_until is not None
    assert claim_until <= began + SHORT + TRUST_MARGIN, (
        "the claim ends with the invocation, not a minute later"
    )
    world.clock.set(claim_until + TAKE_OVER_AFTER)
    world.sweep()
    assert world.run(ref).status is RunStatus.WAITING

    world.minutes(3)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert keys == [f"shop/{ref.id}/send"] * 2


@pytest.mark.parametrize(
    "options, status, reason",
    [
        ({"catch_up": "all"}, RunStatus.SKIPPED, Reason.LATE),
        ({"catch_up": "all", "max_lateness": "2d"}, RunStatus.SUCCEEDED, None),
        ({"catch_up": "skip"}, RunStatus.SKIPPED, Reason.LATE),
    ],
)
def test_p76_runs_that_nobody_started_for_25_hours_are_found_and_run_or_marked_by_their_policy(
    world: World, options: dict[str, Any], status: RunStatus, reason: Reason | None
) -> None:
    world.declare(lambda run: None, NAME, **options)
    refs = [world.plan(world.clock.now() + number * MINUTE) for number in range(3)]
    world.store.drain_stream()  # the consumer is off; after a day the stream has forgotten the records
    world.clock.advance(timedelta(hours=25))

    for _ in range(int(HOUR / MINUTE)):
        world.minute(stream=False)

    assert [(world.run(ref).status, world.run(ref).reason) for ref in refs] == [(status, reason)] * 3
