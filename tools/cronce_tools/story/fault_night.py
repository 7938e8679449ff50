"""A night in which at random places anything goes wrong that can: the seed decides what, and where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import MINUTE
from cronce_tools.story.night_jobs.watch_doors import DOORS
from cronce_tools.story.records import attempts_kept, runs_between
from cronce_tools.story.scene import Figure, promised, shown
from cronce_tools.story.world import World, at

JOB = "watch-doors"
FALLS, BEGINS, ENDS, DAWN = (at(3, time, month=11) for time in ("00:00", "00:05", "00:40", "04:30"))
PER_CALL = {"executor": 0.1}
ELSEWHERE = 0.03
"""Probabilities that a call meets a fault: nearly every run meets one, and some attempt comes through."""
MISSED_MINUTE, DOUBLE_MINUTE = 0.08, 0.08
STANDSTILL = timedelta(seconds=75)
"""Longer than a lease and a claim last."""
WEIGHTS = {
    "killed before a call": 4,
    "killed after a call": 4,
    "call lost": 3,
    "reply lost": 4,
    "conflict": 4,
    "throttled": 3,
    "stood still": 1,
}
OPERATOR = "operator"
"""Calls of the story itself: they meet no fault."""


@dataclass(kw_only=True)
class Faults:
    """Decides about each call to AWS.

    Attributes:
        world: where.
        chance: draws.
        injected: how many of each kind.
    """

    world: World
    chance: Random
    injected: Counter[str] = field(default_factory=Counter)
    _after: str | None = None

    def before(self, call: Call) -> None:
        """A call is about to be made."""
        self._after = None
        if call.process == OPERATOR or self.chance.random() >= PER_CALL.get(call.process, ELSEWHERE):
            return
        (kind,) = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        if kind == "conflict" and call.operation != "TransactWriteItems":
            kind = "call lost"
        self.injected[kind] += 1
        match kind:
            case "killed before a call":
                self.world.stack.cloud.kill()
            case "call lost":
                raise EndpointConnectionError(endpoint_url=f"https://{call.service}")
            case "conflict":
                raise _refused(call, "TransactionCanceledException")
            case "throttled":
                raise _refused(call, "ThrottlingException")
            case "stood still":
                self.world.stack.clock.advance(STANDSTILL)
            case _:
                self._after = kind

    def after(self, call: Call) -> None:
        """A call was made."""
        kind, self._after = self._after, None
        if kind == "killed after a call":
            self.world.stack.cloud.kill()
        if kind == "reply lost":
            raise ReadTimeoutError(endpoint_url=f"https://{call.service}")


def _refused(call: Call, code: str) -> ClientError:
    items = call.parameters.get("TransactItems", ())
    reasons: list[Any] = [{"Code": "TransactionConflict"}, *({"Code": "None"} for _ in items[1:])]
    return ClientError(
        {"Error": {"Code": code, "Message": "slow down"}, "CancellationReasons": reasons}, call.operation
    )


def fault_night(world: World, seed: int) -> list[Figure]:
    """For half an hour anything goes wrong while a watchman goes his rounds; at dawn the books are looked at.

    Args:
        world: just begun, at `FALLS`.
        seed: what goes wrong, and where.
    """
    chance = Random(seed)
    faults = Faults(world=world, chance=chance)
    world.play(BEGINS - MINUTE)
    with world.hook(faults.before), world.hook_after(faults.after), world.stack.errors_as_in_lambda():
        _trouble(world, chance, faults.injected)
    world.play_until(DAWN)
    runs = runs_between(world, JOB, BEGINS, ENDS)
    succeeded = [run for run in runs if run.status == "SUCCEEDED"]
    others = [run for run in runs if run not in succeeded]
    asked = [request.key for request in world.requests if "/look/" in request.key]
    entered = world.effects("door", JOB)
    in_succeeded = [key for key in entered if any(f"/{run.ref.id}/" in key for run in succeeded)]
    return [
        shown("faults", sum(faults.injected.values()), kept=bool(faults.injected)),
        *(shown(f"  {kind}", count) for kind, count in sorted(faults.injected.items())),
        shown("attempts of all rounds", sum(attempts_kept(world, run) for run in runs)),
        shown("rounds that succeeded", len(succeeded)),
        *(shown(f"  {run.ref.scheduled_at:%H:%M}Z", f"{run.status}({run.reason})") for run in others),
        promised("doors entered in those", len(in_succeeded), len(DOORS) * len(succeeded)),
        shown("requests repeated, each under its own key", len(asked) - len(set(asked))),
    ]


def _trouble(world: World, chance: Random, injected: Counter[str]) -> None:
    minute = BEGINS
    while minute <= ENDS:
        draw = chance.random()
        world.scheduler_up = draw >= MISSED_MINUTE
        twice = world.scheduler_up and draw < MISSED_MINUTE + DOUBLE_MINUTE
        injected["minute without a tick"] += not world.scheduler_up
        injected["minute with two ticks"] += twice
        world.play(minute, (lambda: (world.tick(), world.tick())) if twice else None)
        minute += MINUTE
    world.scheduler_up = True
