"""What a crash does to a step and to a `once`: the table of docs/steps.md, played.

Invariant: each line of it is what happens.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from cronce.core.errors import StoreError
from cronce.core.retry import Retry
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import Killed, World

PAGE = Path(__file__).resolve().parents[2] / "docs/steps.md"
CASES = ("before the effect", "during the effect", "after the effect", "reply to the record lost")


class Bank:
    """Something outside. Whatever is asked of it happens; keys tell what a bank that honours them would do.

    Its worker dies in the case that it is told. A reply to the record of the step that it is about is lost in
    the last one.
    """

    def __init__(self, world: World, case: str) -> None:
        self.world = world
        self.case = case
        self.calls: Counter[str] = Counter()
        self.effects: Counter[str] = Counter()
        self.keys: set[str] = set()

    def charge(self, *, idempotency_key: str) -> str:
        self.calls[self.case] += 1
        self.die_if("before the effect")
        self.effects[self.case] += 1
        self.keys.add(idempotency_key)
        self.die_if("during the effect")
        if self.first:
            self.world.store.on_call(self.lose)
        return "paid"

    @property
    def first(self) -> bool:
        return self.calls[self.case] == 1

    def die_if(self, case: str) -> None:
        if self.first and self.case == case:
            self.world.store.on_call(killed)
            raise Killed

    def lose(self, call: str, when: str) -> None:
        """The record of what was done: its worker dies before it, or does not hear of it."""
        if call == "steps.record" and self.case == "after the effect":
            self.world.store.on_call(killed)
            raise Killed
        if (call, when) == ("steps.record", "after") and self.case == "reply to the record lost":
            self.world.store.on_call(None)
            raise StoreError("connection reset")


def killed(_call: str, _when: str) -> None:
    """The store hook of a dead process."""
    raise Killed


def line(way: str, case: str, attempts: int) -> str:
    """What becomes of a run, as a line of the table."""
    world = World(jitter=0.0)
    bank = Bank(world, case)

    def job(run: Run) -> None:
        getattr(run, way)("charge", bank.charge)

    world.declare(job, retry=Retry(attempts=attempts))
    ref = world.plan()
    if case == CASES[-1]:
        world.execute(ref)
    else:
        with pytest.raises(Killed):
            world.execute(ref)
    world.store.on_call(None)
    world.minutes(8)
    run = world.run(ref)
    assert run.status.is_final
    end = f"{run.status}({run.reason})" if run.reason else str(run.status)
    counts = bank.calls[case], bank.effects[case], len(bank.keys)
    return f"| `{way}` | {case} | {attempts} | {end} | {' | '.join(map(str, counts))} |"


def test_p104_the_table_of_the_page_is_what_happens() -> None:
    found = re.search(r"<!-- played by .* -->\n(.*?)\n<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert found is not None
    assert found[1].splitlines()[2:] == [
        line(way, case, attempts) for way in ("step", "once") for case in CASES for attempts in (3, 1)
    ]
