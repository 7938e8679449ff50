"""The places are all there are: nothing that the engine calls is left out.

Invariants:
- the calls that `Places` counts are those that the store, the invoker and the notifier saw themselves;
- every method of every port that the engine calls is a place of some scenario;
- every method that writes is known as one, so that all that can go wrong with it does.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Protocol

import pytest

from cronce.core import lease_ports, ports
from cronce.core.alerts import NoticeText
from cronce.core.records import RunRef
from cronce.testing import MemoryInvoker, MemoryNotifier
from tests.crashes.lives import Scenario, live, undisturbed
from tests.crashes.places import EFFECT, IN_CONFLICT, TOLD_OUTSIDE, WRITES, Fault, faults_at
from tests.crashes.stack import Stack
from tests.crashes.test_every_place import SCENARIOS
from tests.support import port_calls

ENGINE = Path(inspect.getfile(ports)).parents[1] / "engine"
LOOKING = ("inquiry.py", "run_search.py")
"""What only tells people how things are: whatever goes wrong in it, nothing is left to make good."""
NOTHING_TO_MAKE_GOOD = (ports.Clock, ports.StoreClock, ports.Telemetry, ports.Pinger, ports.Sending)
"""Ports whose calls never raise, and on which nothing recorded depends. A ping that does not arrive is told
by the service outside that waits for it."""
NAMES = {
    lease_ports.LeaseStore: "lease",
    lease_ports.NamedLeaseStore: "leases",
    ports.RegistryStore: "registry",
    ports.JobStore: "jobs",
    ports.PlanStore: "plans",
    ports.DueIndex: "index",
    ports.RunStore: "runs",
    ports.StepStore: "steps",
    ports.AlertStore: "alerts",
    ports.Invoker: "invoker",
    ports.Notifier: "notifier",
}


def port_methods() -> set[str]:
    """All methods of all ports."""
    return {
        f"{name}.{method}"
        for port, name in NAMES.items()
        for method, _ in inspect.getmembers(port, inspect.isfunction)
        if not method.startswith("_")
    }


def called_by_the_engine(method: str) -> bool:
    """Whether the engine's text calls a method of that name."""
    name = method.split(".")[1]
    paths = [path for path in ENGINE.rglob("*.py") if path.name not in LOOKING]
    return any(re.search(rf"\.{name}\(", path.read_text()) for path in paths)


class Seen:
    """Counts the calls where they arrive."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def watch(self, stack: Stack) -> None:
        """Count what arrives while places are counted."""
        seen = self.calls

        class SeenInvoker(MemoryInvoker):
            def invoke(self, ref: RunRef) -> None:
                seen["invoker.invoke"] += stack.places.counting
                super().invoke(ref)

        class SeenNotifier(MemoryNotifier):
            def publish(self, notice: NoticeText) -> None:
                seen["notifier.publish"] += stack.places.counting
                super().publish(notice)

        def arrived(name: str, when: str) -> None:
            counts = when == "before" and not name.startswith(("test.", "stream."))
            seen[name] += counts and stack.places.counting

        told = stack.notifier.notices
        stack.invoker, stack.notifier = SeenInvoker(), SeenNotifier()
        stack.notifier.notices = told
        stack.store.on_call(arrived)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_as_many_places_are_counted_as_calls_arrive(scenario: Scenario) -> None:
    seen = Seen()

    life = live(scenario, begin=seen.watch)

    assert +seen.calls == Counter(name for name in life.all_calls if name != EFFECT)
    assert list(life.places) == list(undisturbed(scenario).places), "a life is the same each time"


def test_every_port_is_known_here() -> None:
    protocols = {
        port
        for module in (ports, lease_ports)
        for _, port in inspect.getmembers(module, inspect.isclass)
        if port.__module__ == module.__name__ and Protocol in port.__mro__
    }

    assert protocols == {*NAMES, *NOTHING_TO_MAKE_GOOD}


def test_every_port_method_that_the_engine_calls_is_a_place() -> None:
    places = {name for scenario in SCENARIOS for name in undisturbed(scenario).places}
    missing = port_methods() - places

    assert places - port_methods() == {EFFECT}
    assert {method for method in missing if called_by_the_engine(method)} == set()
    assert missing == {"steps.attempts", "steps.acts"}, "nobody but a person reads them"


def test_every_method_that_writes_is_known_as_one() -> None:
    writes = {re.split("[: ]", name)[0] for name in port_calls.WRITES}

    assert {*WRITES} - {"runs.first_queued"} == writes
    assert {*WRITES, *TOLD_OUTSIDE} <= port_methods()
    assert {*IN_CONFLICT} <= {*WRITES}


def test_every_way_to_go_wrong_comes_to_pass() -> None:
    names = {name for scenario in SCENARIOS for name in undisturbed(scenario).places}
    happens = {fault for name in names for fault in faults_at(name)}

    assert happens == {*Fault}
