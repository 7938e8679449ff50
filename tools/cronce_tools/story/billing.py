"""The billing job started three times in the same second: two defences, shown apart.

With claims, all three find the run due, the store takes one claim, and two leave. With claims bypassed, all
three run, and the keys that name each renewal in the words of the business keep every customer from being
charged twice.
"""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cronce.core.run import RunStatus
from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import MINUTE
from cronce_tools.story.lone_run import run_alone
from cronce_tools.story.records import run_at
from cronce_tools.story.scene import Figure, promised, shown
from cronce_tools.story.world import World, at

DUE = at(1, "07:30", month=11)
COPIES = ("copy 1", "copy 2", "copy 3")
INVOICES = 40


def three_copies_with_claims(world: World) -> list[Figure]:
    """Three executors find one run due; each overtakes the one before as it writes its claim."""
    world.play_until(DUE - MINUTE)
    run_id = f"renewal-invoices@{DUE:%Y-%m-%dT%H:%M:%SZ}"
    ends: dict[str, Any] = {}
    waiting = list(COPIES[1:])

    def overtake(call: Call) -> None:
        if call.process in COPIES and call.operation == "TransactWriteItems" and waiting:
            copy = waiting.pop(0)
            ends[copy] = world.execute(run_id, copy)

    def tick() -> None:
        world.tick()
        with world.hook(overtake):
            ends[COPIES[0]] = world.execute(run_id, COPIES[0])

    world.play(DUE, tick)
    run = run_at(world, "renewal-invoices", DUE)
    asked = [sum(request.process == copy for request in world.requests) for copy in COPIES]
    return [
        promised("the run", run.status, "SUCCEEDED"),
        promised("attempts", run.attempt, 1),
        promised(
            "how the copies ended",
            [ends[copy]["outcome"] for copy in COPIES],
            ["not_pending", "not_pending", "succeeded"],
        ),
        promised("charges asked for by each copy", asked, [0, 0, INVOICES]),
        promised("invoices charged", len(world.effects("charge", "2026-11")), INVOICES),
    ]


def three_copies_bypassed(world: World) -> list[Figure]:
    """Next month's invoices: each copy has a ledger of its own, so that no claim is in the way of any."""
    due = at(1, "07:30", month=12)
    job = importlib.import_module("jobs.renewal_invoices").renewal_invoices
    first = len(world.requests)
    with ThreadPoolExecutor(len(COPIES)) as threads:
        ends = list(threads.map(lambda _: run_alone(job, due), COPIES))
    asked = len(world.requests) - first
    charged = world.effects("charge", "2026-12")
    return [
        promised("copies that ran to the end", ends.count(RunStatus.SUCCEEDED), len(COPIES)),
        promised("charges asked for", asked, INVOICES * len(COPIES)),
        promised("invoices charged", len(charged), INVOICES),
        shown("refused under a key that was used", asked - len(charged)),
    ]
