"""The parts of `make run` that no promise of the story itself would miss.

* The fork's own jobs are planned, each at its next time, and none of them is executed.
* Each fault of the night does what it is called, and the operator's own calls meet none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

import jobs
from cronce_tools.local.cloud import ProcessKilled
from cronce_tools.local.stack import local_stack
from cronce_tools.story import fault_night
from cronce_tools.story.fault_night import FALLS, Faults
from cronce_tools.story.world import World, at
from cronce_tools.story.yours import scene, your_jobs

MINE = """
from cronce import Cron, job

@job("mine", schedule=Cron("45 8 * * *"))
def mine(run):
    raise AssertionError("nothing of it is executed")
"""


@pytest.fixture
def world() -> Iterator[World]:
    with local_stack(FALLS) as stack:
        yield World(stack, lambda _: None)


def test_the_forks_own_jobs_are_planned_each_at_its_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.setattr(jobs, "__path__", [str(tmp_path)])
    with local_stack(at(30, "08:44")) as stack:
        (figure,) = scene(your_jobs()).play(World(stack, lambda _: None))
        (run,) = stack.runs("mine")
    sys.modules.pop("jobs.mine")
    assert (figure.what, figure.value, figure.kept) == ("mine, 2026-10-30 08:45Z", "PENDING", True)
    assert (run.status, run.attempt) == ("PENDING", 0)


def put(world: World, process: str) -> None:
    with world.stack.cloud.process(process):
        boto3.client("dynamodb").put_item(TableName="outbox", Item={"pk": {"S": "x"}})


def written(world: World) -> bool:
    return "Item" in boto3.client("dynamodb").get_item(TableName="outbox", Key={"pk": {"S": "x"}})


@pytest.mark.parametrize(
    "kind, ends_as, takes_effect",
    [
        ("killed before a call", ProcessKilled, False),
        ("killed after a call", ProcessKilled, True),
        ("call lost", EndpointConnectionError, False),
        ("reply lost", ReadTimeoutError, True),
        ("throttled", ClientError, False),
    ],
)
def test_each_fault_does_what_it_is_called(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    ends_as: type[BaseException],
    takes_effect: bool,
) -> None:
    monkeypatch.setattr(fault_night, "WEIGHTS", {kind: 1})
    monkeypatch.setattr(fault_night, "PER_CALL", {"executor": 1.0})
    faults = Faults(world=world, chance=Random(1))
    with world.hook(faults.before), world.hook_after(faults.after):
        with pytest.raises(ends_as):
            put(world, "executor")
        assert written(world) is takes_effect
        put(world, "operator")
    assert faults.injected == {kind: 1}


def test_a_process_that_stands_still_does_so_longer_than_a_lease_lasts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_night, "WEIGHTS", {"stood still": 1})
    monkeypatch.setattr(fault_night, "PER_CALL", {"executor": 1.0})
    before = world.now
    with world.hook(Faults(world=world, chance=Random(1)).before):
        put(world, "executor")
    assert world.now - before > timedelta(seconds=70)
