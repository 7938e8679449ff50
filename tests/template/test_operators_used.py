"""What operators' commands ask of DynamoDB is what the two policies for people allow, no less and no more.

Invariants:
- every call of every command, seen at the one gate of the local stack, is one that a person with both
  policies may make;
- every permission to write to the tables is used by a command, so whichever single one is removed or added,
  this comparison says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from cronce.core.job import job
from cronce.core.records import RunRef
from cronce.core.run import Reason, RunStatus
from cronce.core.schedule import Cron
from cronce.engine.ledger import Ledger
from cronce.engine.operations import Operations
from cronce.testing import RecordingTelemetry
from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import RETENTION, LocalStack, local_stack
from tests.support.jobs_modules import only_jobs_of
from tests.template.stack import Stack
from tests.template.test_operators import READ, WRITE, of_policy
from tests.template.test_permissions_used import Pair, needs

MINUTE = timedelta(minutes=1)
NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
OPERATOR = "operator"
JOBS = """
from cronce import Cron, Retry, Run, job

@job("belt", schedule=Cron("0 12 * * *"), retry=Retry(attempts=1))
def belt(run: Run) -> None:
    raise ValueError("no soup")

@job("bank", schedule=Cron("0 12 * * *"))
def bank(run: Run) -> None:
    run.once("pay", lambda: 1 / 0)
"""
BELT = job("belt", schedule=Cron("0 12 * * *"))(lambda run: None)
SIGNED = {"by": "ann", "why": "month's end"}


@dataclass
class Desk:
    """A stack, and what its operator asks of it.

    Attributes:
        stack: the stack.
        used: resource and action of every call so far.
    """

    stack: LocalStack
    used: set[Pair]

    @contextmanager
    def operating(self) -> Iterator[Operations]:
        """Within the block, calls outside of functions are an operator's."""
        store = self.stack.store
        ledger = Ledger(
            runs=store.runs,
            jobs=store.jobs,
            clock=self.stack.clock,
            telemetry=RecordingTelemetry(),
            retention=RETENTION,
        )
        operations = Operations(
            ledger=ledger,
            steps=store.steps,
            alerts=store.alerts,
            store_clock=store.clock,
            job_of={"belt": BELT}.get,
        )
        self.stack.cloud.hooks.append(self._watch)
        try:
            yield operations
        finally:
            self.stack.cloud.hooks.remove(self._watch)

    def _watch(self, call: Call) -> None:
        if call.process == OPERATOR:
            self.used.update(needs(call))


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> set[Pair]:
    """A day on which each command is given, to runs and jobs that it applies to."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "canteen.py").write_text(JOBS)
    with local_stack(NOON - 2 * MINUTE) as stack, only_jobs_of(folder):
        desk = Desk(stack, set())
        stack.play(minutes=6)
        failed = RunRef("belt", NOON)
        assert stack.store.runs.get(failed).reason is Reason.ERROR  # type: ignore[union-attr]
        with desk.operating() as operations:
            _about_the_failed_run(operations, failed)
            _about_last_week(operations)
        _leave_a_marker(failed)
        with desk.operating() as operations:
            operations.cancel(failed, **SIGNED)
        with desk.operating() as operations:
            _about_the_job(operations)
        stack.clock.advance(timedelta(days=3))
        stack.play()
        with desk.operating() as operations:
            assert operations.rewind("belt", NOON + MINUTE, replan_gaps=True, **SIGNED).gaps
    return desk.used


def _about_the_failed_run(operations: Operations, failed: RunRef) -> None:
    assert operations.acknowledge("belt", **SIGNED)
    operations.retry(failed, **SIGNED)
    operations.resolve(RunRef("bank", NOON), "pay", "1", **SIGNED)
    long = operations.trigger("belt", json.dumps(300 * "x"), **SIGNED)
    assert operations.steps.input(long.ref)


def _about_last_week(operations: Operations) -> None:
    plan = operations.preview("belt", NOON - timedelta(days=4), NOON - timedelta(days=1))
    filled = list(operations.backfill(plan, **SIGNED))
    assert [one.created for one in filled] == 4 * [True]
    last = RunRef("belt", filled[-1].at)
    assert operations.cancel(last, **SIGNED).run.status is RunStatus.CANCELLED
    assert len(operations.steps.acts(last.id)) == 1


def _leave_a_marker(failed: RunRef) -> None:
    """What a hand has left in the queue, before everybody in it."""
    key = {"pk": {"S": "JOB#belt"}, "sk": {"S": "QUEUE#2026-01-01T00:00:00Z"}}
    boto3.client("dynamodb").put_item(TableName="runs", Item={**key, "shape": {"N": "1"}})


def _about_the_job(operations: Operations) -> None:
    first = RunRef("belt", NOON - timedelta(days=4))
    operations.cancel(first, **SIGNED)
    operations.pause("belt", **SIGNED)
    operations.resume("belt", **SIGNED)


def of_tables(stack: Stack, *policies: str) -> set[Pair]:
    """What policies allow on the tables."""
    return {
        (resource, action)
        for policy in policies
        for resource, actions in of_policy(stack, policy).items()
        for action in actions
        if action.startswith("dynamodb:")
    }


def test_commands_ask_for_nothing_that_the_policies_do_not_allow(plain: Stack, used: set[Pair]) -> None:
    assert used - of_tables(plain, READ, WRITE) == set()


def test_every_permission_to_write_is_used_by_a_command(plain: Stack, used: set[Pair]) -> None:
    assert of_tables(plain, WRITE) - used == set()
