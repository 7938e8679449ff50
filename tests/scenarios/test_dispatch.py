"""The stream's dispatcher.

Invariants:
- one invocation for each run, harmless when repeated;
- what was not accepted is reported by its sequence numbers, counted, and nothing else is held up by it.
"""

from __future__ import annotations

import threading

from cronce.core.errors import DispatchError
from cronce.core.records import RunRef
from cronce.core.run import RunStatus
from cronce.engine.dispatcher import PARALLEL, Dispatcher
from cronce.engine.metrics import DISPATCH_FAILURES
from cronce.testing import MemoryInvoker, RecordingTelemetry
from tests.scenarios.run_world import MINUTE, NOON, World


def refs(number: int) -> list[RunRef]:
    return [RunRef("menu", NOON + minute * MINUTE) for minute in range(number)]


def test_every_run_is_asked_for_once() -> None:
    invoker, telemetry = MemoryInvoker(), RecordingTelemetry()
    runs = refs(40)
    records = [(f"seq-{number}", ref) for number, ref in enumerate(runs)]
    assert Dispatcher(invoker=invoker, telemetry=telemetry).dispatch(records) == []
    assert sorted(invoker.refs) == runs
    assert telemetry.metrics == {}


def test_an_empty_batch_is_nothing_to_do() -> None:
    assert Dispatcher(invoker=MemoryInvoker(), telemetry=RecordingTelemetry()).dispatch([]) == []


class Picky:
    """Refuses some runs."""

    def __init__(self, refuses: set[RunRef]) -> None:
        self.accepts = MemoryInvoker()
        self.refuses = refuses

    def invoke(self, ref: RunRef) -> None:
        if ref in self.refuses:
            raise DispatchError(f"run {ref.id}: throttled")
        self.accepts.invoke(ref)


def test_what_fails_is_reported_with_all_its_sequence_numbers_and_holds_up_nothing_else() -> None:
    one, two, three = refs(3)
    invoker, telemetry = Picky({two}), RecordingTelemetry()
    records = [("10", one), ("11", two), ("12", three), ("13", two)]
    assert Dispatcher(invoker=invoker, telemetry=telemetry).dispatch(records) == ["11", "13"]
    assert sorted(invoker.accepts.refs) == [one, three]
    assert telemetry.metrics == {DISPATCH_FAILURES: 1}
    assert "throttled" in str(telemetry.warnings[0].fields["problem"])


def test_a_run_that_a_batch_holds_twice_is_asked_for_once() -> None:
    (one,) = refs(1)
    invoker = MemoryInvoker()
    Dispatcher(invoker=invoker, telemetry=RecordingTelemetry()).dispatch([("1", one), ("2", one)])
    assert invoker.refs == [one]


def test_a_batch_is_invoked_in_parallel() -> None:
    together = threading.Barrier(PARALLEL, timeout=10)

    class Slow:
        def invoke(self, ref: RunRef) -> None:
            together.wait()

    records = [(str(number), ref) for number, ref in enumerate(refs(PARALLEL))]
    assert Dispatcher(invoker=Slow(), telemetry=RecordingTelemetry()).dispatch(records) == []


def test_p42_a_batch_delivered_three_times_executes_each_run_once() -> None:
    world, done = World(), list[str]()
    world.declare(lambda run: done.append(run.id), concurrency=None)
    planned = [world.plan(NOON + minute * MINUTE) for minute in range(3)]
    records = [(str(number), ref) for number, ref in enumerate(world.store.drain_stream())]
    for _ in range(3):
        assert world.dispatcher.dispatch(records) == []
        world.deliver()
    assert sorted(done) == [ref.id for ref in planned]
    assert {world.run(ref).status for ref in planned} == {RunStatus.SUCCEEDED}
