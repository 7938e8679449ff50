"""Scenes about runs that last: hours of work, a payment that waits for a person, a sleep over a deploy."""

from __future__ import annotations

import importlib
import json
import sys
from datetime import timedelta
from pathlib import Path

import jobs
from cronce.core.records import RunRecord, RunRef
from cronce.engine.ledger import Ledger
from cronce.engine.operations import Operations
from cronce.testing import RecordingTelemetry
from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import MINUTE, RETENTION
from cronce_tools.story.records import run_at
from cronce_tools.story.scene import Figure, promised, shown
from cronce_tools.story.world import World, at, outbox_key

ORDERS = 3_000
SLEEPER = "await_delivery"
VERSION_2 = """
from datetime import UTC, datetime

from cronce import At, job

@job("await-delivery", schedule=At(datetime(2026, 11, 2, 9, 10, tzinfo=UTC)))
def await_delivery(run):
    run.step("order", str, "flour, and sugar")
    run.step("tell the baker", str, "soon")
    run.sleep("delivery", "10h")
    run.step("look", str, "version 2")
"""


def operations_of(world: World) -> Operations:
    """What an operator can do."""
    store = world.stack.store
    ledger = Ledger(
        runs=store.runs,
        jobs=store.jobs,
        clock=world.stack.clock,
        telemetry=RecordingTelemetry(),
        retention=RETENTION,
    )
    return Operations(
        ledger=ledger,
        steps=store.steps,
        alerts=store.alerts,
        store_clock=store.clock,
        job_of=lambda _: None,
    )


def three_hours(world: World) -> list[Figure]:
    """A job of 3,000 items takes three hours, in invocations of 15 minutes, while the other jobs go on."""
    due = at(2, "05:30", month=11)
    world.play_until(due)
    world.play_until(due + timedelta(hours=3, minutes=15))
    run = run_at(world, "archive-orders", due)
    archived = importlib.import_module("jobs.archive_orders").ARCHIVED
    return [
        promised("the run", run.status, "SUCCEEDED"),
        promised("attempts", run.attempt, 1),
        shown("invocations", run.slice, kept=run.slice >= 12),
        shown(
            "hours of work", f"{run.executed / timedelta(hours=1):.1f}", kept=run.executed >= 3 * 59 * MINUTE
        ),
        promised("orders archived", len(archived), ORDERS),
        promised("orders archived twice", sum(times > 1 for times in archived.values()), 0),
        promised("progress on record", operations_of(world).progress(run.ref), {"archive": ORDERS}),
    ]


def payment_waits(world: World) -> list[Figure]:
    """The worker is killed right after its bank took a payment; nobody but a person can know that."""
    due = at(2, "08:50", month=11)
    world.play_until(due - MINUTE)
    first, told = len(world.requests), len(world.stack.notices)

    def kill(call: Call) -> None:
        paid = any("/transfer" in request.key for request in world.requests[first:])
        if paid and call.process == "executor" and outbox_key(call) is None:
            world.stack.cloud.kill()

    with world.hook(kill):
        world.play(due)
    world.play_each(due + 4 * MINUTE)
    asked = run_at(world, "pay-supplier", due)
    subjects = [subject for _, subject, _ in world.stack.notices[told:]]
    receipt = json.dumps(world.effects("transfer", asked.ref.id)[0])
    operations_of(world).resolve(
        asked.ref, "transfer", receipt, by="ann", why="the bank's statement shows the payment"
    )
    world.play_each(due + 6 * MINUTE)
    run = run_at(world, "pay-supplier", due)
    sent = [request for request in world.requests[first:] if "/transfer" in request.key]
    return [
        promised("the run after the crash", f"{asked.status}({asked.reason})", "FAILED(step_uncertain)"),
        shown("its error names the step", asked.error, kept="'transfer'" in (asked.error or "")),
        shown("notices", subjects, kept=len(subjects) == 1 and "pay-supplier" in subjects[0]),
        promised("the run once a person said that it was paid", run.status, "SUCCEEDED"),
        promised("payments asked for in all", len(sent), 1),
    ]


def sleep_over_deploy(world: World) -> list[Figure]:
    """A run sleeps for 40 minutes; meanwhile a new version is deployed, which would sleep for ten hours."""
    due = at(2, "09:10", month=11)
    world.play_until(due)
    asleep = run_at(world, "await-delivery", due)
    told = len(world.stack.notices)
    world.play_until(due + 10 * MINUTE)
    folder = Path(next(iter(jobs.__path__)))
    (folder / f"{SLEEPER}.py").write_text(VERSION_2)
    _new_process()
    invocations = len(world.executed)
    world.play_until(due + 39 * MINUTE)
    meanwhile = [run for run in world.executed[invocations:] if run == asleep.ref.id]
    world.play_each(due + 43 * MINUTE)
    run = run_at(world, "await-delivery", due)
    return [
        promised("the run at ten past nine", f"{asleep.status}({asleep.reason})", "WAITING(sleep)"),
        promised("its invocations while it slept", len(meanwhile), 0),
        promised("the run after 40 minutes", run.status, "SUCCEEDED"),
        promised("attempts, invocations", (run.attempt, run.slice), (1, 2)),
        promised(
            "its steps",
            _values(world, run),
            {"order": "flour", "look": "version 2", "tell the baker": "soon"},
        ),
        promised("notices", len(world.stack.notices) - told, 0),
    ]


def _new_process() -> None:
    """As after a deployment: modules are imported anew."""
    sys.modules.pop(f"jobs.{SLEEPER}", None)
    importlib.invalidate_caches()


def _values(world: World, run: RunRecord) -> dict[str, object]:
    ref: RunRef = run.ref
    steps = world.stack.store.steps.load(ref)
    return {step.name: json.loads(step.result) for step in steps if step.status == "DONE"}
