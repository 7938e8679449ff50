"""`each` at scale: several items at once, very many items, values that nobody needs.

Invariants:
- so many items are under way at once as were allowed, never more; values come in order of the items;
- one thread pulls items and writes: an iterator is never ahead of the work, and chunks are what they were;
- nothing begins after a stop signal or a failure; what is under way is waited for and recorded;
- a hundred thousand items cost no more memory than their keys.
"""

from __future__ import annotations

import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from cronce.core.errors import StepError
from cronce.core.records import RunRef
from cronce.core.retry import Retry
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.named_lease import lease
from cronce.engine.run_handle import Run
from tests.scenarios.run_world import MINUTE, SECOND, Killed, World, ask_to_cancel, dead

AT_ONCE = 4
BYTES_AN_ITEM = 300
"""What a key, and the marks that it was seen and done, may take in memory; a body takes 2,000."""
LIMIT = 10.0
"""Seconds after which a test that waits for a thread has failed."""


@pytest.fixture
def world() -> World:
    return World(jitter=0.0)


@dataclass
class Crowd:
    """Items that wait for one another: the first `size` of them are under way at the same time."""

    size: int
    begun: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    most: int = 0
    meeting: threading.Barrier = field(init=False)
    lock: threading.Lock = field(default_factory=threading.Lock)
    now: int = 0

    def __post_init__(self) -> None:
        self.meeting = threading.Barrier(self.size)

    def meet(self, item: int) -> int:
        with self.lock:
            self.begun.append(item)
            self.now += 1
            self.most = max(self.most, self.now)
        if item < self.size:
            self.meeting.wait(LIMIT)
        with self.lock:
            self.now -= 1
            self.ended.append(item)
        return item * item


def chunks(world: World, ref: RunRef) -> list[tuple[int | None, int]]:
    return [(step.chunk, len(step.keys)) for step in world.store.steps.load(ref)]


def test_an_item_may_take_a_lease_whatever_thread_does_it(world: World) -> None:
    tokens: list[int] = []

    def export(item: int) -> None:
        with lease(f"export-{item}", timedelta(minutes=10)) as held:
            tokens.append(held.fencing_token)

    world.declare(lambda run: run.each("export", range(AT_ONCE), export, concurrency=AT_ONCE))
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert tokens == [1] * AT_ONCE


def test_items_are_done_at_once_and_values_come_in_order(world: World) -> None:
    crowd, values = Crowd(AT_ONCE), list[list[int]]()
    world.declare(lambda run: values.append(run.each("send", range(50), crowd.meet, concurrency=AT_ONCE)))
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert crowd.most == AT_ONCE
    assert sorted(crowd.begun) == list(range(50))
    assert values == [[item * item for item in range(50)]]


def test_chunks_are_written_by_one_thread_in_groups(world: World) -> None:
    crowd, threads = Crowd(AT_ONCE), set[str]()

    def writes(call: str, when: str) -> None:
        if call == "steps.record":
            threads.add(threading.current_thread().name)

    world.declare(
        lambda run: run.each("send", range(50), crowd.meet, concurrency=AT_ONCE, checkpoint_every=10)
    )
    ref = world.plan()
    world.store.on_call(writes)
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert chunks(world, ref) == [(10, 10), (20, 10), (30, 10), (40, 10), (50, 10)]
    assert threads == {threading.current_thread().name}


def test_no_thread_is_left_and_none_is_made_that_is_not_needed(world: World) -> None:
    made: set[str] = set()

    def look(_item: int) -> None:
        made.add(threading.current_thread().name + str(threading.get_ident()))

    world.declare(lambda run: run.each("send", [1], look, concurrency=50))
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert len(made) == 1
    assert [one for one in threading.enumerate() if one.name.startswith("each ")] == []


@pytest.mark.parametrize("concurrency", [1, AT_ONCE])
def test_an_iterator_is_not_ahead_of_the_work(world: World, concurrency: int) -> None:
    pulled: list[int] = []
    done: list[int] = []
    ahead: list[int] = []

    def items() -> Iterator[int]:
        for number in range(200):
            pulled.append(number)
            ahead.append(len(pulled) - len(done))
            yield number

    world.declare(lambda run: run.each("send", items(), done.append, concurrency=concurrency))
    assert world.execute(world.plan()).outcome is Outcome.SUCCEEDED
    assert len(done) == 200
    assert max(ahead) <= concurrency + 1


def test_after_a_failure_nothing_begins_and_what_is_under_way_is_recorded(world: World) -> None:
    began, failed = list[int](), threading.Event()
    crowd = threading.Barrier(AT_ONCE)

    def send(item: int, run: Run) -> None:
        began.append(item)
        if run.attempt > 1:
            return
        crowd.wait(LIMIT)
        if item == 1:
            failed.set()
            raise ConnectionError("line broken")
        assert failed.wait(LIMIT)

    world.declare(
        lambda run: run.each("send", range(20), send, run, concurrency=AT_ONCE, checkpoint_every=100)
    )
    ref = world.plan()
    assert [one.outcome for one in world.deliver()] == [Outcome.RETRYING]
    assert sorted(began) == [0, 1, 2, 3]
    (chunk,) = world.store.steps.load(ref)
    assert sorted(chunk.keys) == ["0", "2", "3"]
    assert world.run(ref).error == "ConnectionError: line broken"
    world.minutes(2)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert Counter(began) == Counter([1, *range(20)])


def test_a_second_failure_is_noted_with_the_first(world: World) -> None:
    crowd = threading.Barrier(2)

    def send(item: int) -> None:
        crowd.wait(LIMIT)
        raise ConnectionError(f"item {item}")

    world.declare(lambda run: run.each("send", range(2), send, concurrency=2), retry=Retry(attempts=1))
    world.execute(world.plan())
    (line,) = world.telemetry.named("attempt.failed")
    assert "failed as well: ConnectionError" in str(line.fields["traceback"])


def cancel(world: World, ref: RunRef) -> None:
    ask_to_cancel(world, ref)
    world.renewal.renew()


def lose(world: World, ref: RunRef) -> None:
    world.clock.advance(MINUTE)


def run_out(world: World, ref: RunRef) -> None:
    world.work(46 * SECOND)


@pytest.mark.parametrize("concurrency", [1, AT_ONCE])
@pytest.mark.parametrize(
    "signal, outcome, recorded",
    [
        pytest.param(cancel, Outcome.CANCELLED, True, id="cancelled"),
        pytest.param(lose, Outcome.CLAIM_LOST, False, id="claim lost"),
        pytest.param(run_out, Outcome.CONTINUES, True, id="out of time"),
    ],
)
def test_no_item_begins_after_a_stop_signal_and_what_was_under_way_is_recorded(
    world: World,
    concurrency: int,
    signal: Callable[[World, RunRef], None],
    outcome: Outcome,
    recorded: bool,
) -> None:
    began, signalled = list[int](), threading.Event()
    crowd = threading.Barrier(concurrency)

    def send(item: int) -> None:
        began.append(item)
        crowd.wait(LIMIT)
        if item == 0:
            signal(world, ref)
            signalled.set()
        assert signalled.wait(LIMIT)

    def job(run: Run) -> None:
        run.each("send", range(40), send, concurrency=concurrency, checkpoint_every=100)

    world.declare(job)
    ref = world.plan()
    assert world.execute(ref, lasts=MINUTE).outcome is outcome
    assert sorted(began) == list(range(concurrency))
    if recorded:
        assert sum(len(step.keys) for step in world.store.steps.load(ref)) == concurrency


def test_the_timeout_ends_an_each_whose_threads_hang_and_keeps_what_was_finished(world: World) -> None:
    hang, began = threading.Event(), list[int]()

    def send(item: int) -> None:
        began.append(item)
        if item >= 2:
            hang.wait(LIMIT)

    world.declare(
        lambda run: run.each("send", range(40), send, concurrency=2, checkpoint_every=100), timeout="1s"
    )
    ref = world.plan()
    try:
        assert world.execute(ref).outcome is Outcome.FAILED
    finally:
        hang.set()
    assert world.run(ref).reason is Reason.TIMEOUT
    assert sorted(began) == [0, 1, 2, 3]
    assert sorted(key for step in world.store.steps.load(ref) for key in step.keys) == ["0", "1"]


def test_a_worker_killed_within_loses_a_chunk_at_most_and_repeats_under_the_same_keys(world: World) -> None:
    calls: Counter[str] = Counter()
    lock = threading.Lock()

    def send(_item: int, *, idempotency_key: str) -> None:
        with lock:
            calls[idempotency_key] += 1

    def dies(call: str, when: str) -> None:
        if call == "steps.record" and when == "after":
            writes.append(call)
            if len(writes) == 24:
                world.store.on_call(dead)
                raise Killed

    writes: list[str] = []
    world.declare(
        lambda run: run.each(
            "send", range(1000), send, concurrency=AT_ONCE, checkpoint_every=25, results=False
        )
    )
    ref = world.plan()
    world.store.on_call(dies)
    with pytest.raises(Killed):
        world.execute(ref)
    world.store.on_call(None)
    world.minutes(5)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert len(calls) == 1000
    assert sum(calls.values()) - 1000 <= 25 + AT_ONCE


# --- values that nobody needs ------------------------------------------------------------------------------


def test_without_results_nothing_is_returned_and_json_need_not_carry_the_values(world: World) -> None:
    returned: list[object] = []
    world.declare(lambda run: returned.append(run.each("send", range(5), lambda _: {1, 2}, results=False)))
    ref = world.plan()
    assert world.execute(ref).outcome is Outcome.SUCCEEDED
    assert returned == [None]
    assert {step.result for step in world.store.steps.load(ref)} == {"null"}


def test_without_results_items_are_looked_up_all_the_same(world: World) -> None:
    done: list[int] = []

    def job(run: Run) -> None:
        run.each("send", range(6), done.append, checkpoint_every=4, results=False)
        if run.attempt == 1:
            raise ValueError

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.minutes(2)
    assert (done, world.run(ref).status) == (list(range(6)), RunStatus.SUCCEEDED)


@pytest.mark.parametrize("first, then, message", [(False, True, "with results=False"), (True, False, None)])
def test_values_that_were_not_kept_are_missed_by_name(
    world: World, first: bool, then: bool, message: str | None
) -> None:
    """The author changes his mind between two attempts."""
    problems: list[str] = []

    def job(run: Run) -> None:
        try:
            if first if run.attempt == 1 else then:
                run.each("send", range(3), str)
            else:
                run.each("send", range(3), str, results=False)
        except StepError as error:
            problems.append(str(error))
            raise
        if run.attempt == 1:
            raise ValueError

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.minutes(2)
    if message is None:
        assert world.run(ref).status is RunStatus.SUCCEEDED
    else:
        assert world.run(ref).reason is Reason.ERROR
        assert message in problems[0]


@pytest.mark.parametrize("many", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_very_many_items_cost_no_more_memory_than_their_keys(world: World, many: int) -> None:
    """They are resumed after six tenths, and what is looked up is no more than keys either."""
    peaks, done = list[int](), [0]

    def items() -> Iterator[dict[str, object]]:
        for number in range(many):
            yield {"id": number, "body": f"{number:02000}"}

    def send(item: dict[str, object]) -> str:
        done[0] += 1
        if done[0] == many * 6 // 10 + 1:
            raise ConnectionError
        return str(item["body"])

    def job(run: Run) -> None:
        tracemalloc.start()
        try:
            run.each("send", items(), send, key=lambda item: item["id"], checkpoint_every=500, results=False)
        finally:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    world.declare(job)
    ref = world.plan()
    world.deliver()
    world.minutes(2)
    assert world.run(ref).status is RunStatus.SUCCEEDED
    assert done[0] == many + 1
    keys = sum(len(step.keys) for step in world.store.steps.load(ref))
    assert keys == many
    assert max(peaks) < many * BYTES_AN_ITEM
