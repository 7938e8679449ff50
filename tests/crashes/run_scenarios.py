"""Pieces of life of a run: claim, steps, items, retries, slices, slots, queue, and all its ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from cronce.core.records import RunRef
from cronce.core.retry import Retry
from cronce.core.run import Reason
from cronce.engine.named_lease import lease
from cronce.engine.operations import Operations
from cronce.engine.run_handle import Run
from cronce.testing import LeaseItem
from tests.contract import makers
from tests.crashes.lives import Scenario
from tests.crashes.planning_scenarios import HALF_PAST_FIVE, declare, deployed, tick_and_deliver
from tests.crashes.stack import HOUR, MINUTE, SECOND, Stack, at

ITEMS = 5
MANY = Retry(attempts=6)
"""More attempts than faults and misfortunes of one life."""


def only_step(stack: Stack) -> Callable[[Run], object]:
    """A job of one step."""
    return lambda run: run.step("only", stack.effect)


def with_steps(stack: Stack) -> None:
    """A job of steps and items that works longer than its claim is renewed."""

    def function(run: Run) -> None:
        first = run.step("first", stack.effect)
        stack.work(25 * SECOND)
        values = run.each("each", range(ITEMS), stack.effect, checkpoint_every=2)
        last = run.step("last", stack.effect)
        names = ["first", *(f"each/{number}" for number in range(ITEMS)), "last"]
        assert [first, *values, last] == [f"shop/{run.id}/{name}" for name in names]

    deployed(stack, declare("steps", function, retry=MANY))


def with_one_step(stack: Stack) -> None:
    deployed(stack, declare("small", only_step(stack)))


def with_a_lease(stack: Stack) -> None:
    """A job with an exclusive section, whose lease is renewed, and stands longer than a claim."""

    def function(run: Run) -> None:
        with lease("export", "4m") as held:
            stack.work(90 * SECOND)
            held.check()
            run.step("export", stack.effect)
            stack.work(30 * SECOND)

    deployed(stack, declare("exclusive", function, retry=MANY))


def fails_once(stack: Stack) -> None:
    """The first attempt fails between two steps."""

    def function(run: Run) -> None:
        run.step("first", stack.effect)
        if run.attempt == 1:
            raise RuntimeError("no soup")
        run.step("second", stack.effect)

    deployed(stack, declare("retried", function, retry=MANY))


def dies_once(stack: Stack) -> None:
    """The first worker was killed between two steps, a minute ago."""

    def function(run: Run) -> None:
        run.step("first", stack.effect)
        if run.attempt == 1:
            stack.die()
        run.step("second", stack.effect)

    deployed(stack, declare("dying", function, retry=MANY))
    tick_and_deliver(stack)
    stack.clock.advance(MINUTE)


def in_slices(stack: Stack) -> None:
    """A job that takes several invocations."""

    def slowly(_item: int, *, idempotency_key: str) -> None:
        stack.effect(idempotency_key=idempotency_key)
        stack.work(15 * SECOND)

    deployed(stack, declare("sliced", lambda run: run.each("each", range(4), slowly), retry=MANY))
    stack.lasts = 40 * SECOND


def too_long(stack: Stack) -> None:
    """A job that works on and on, step by step, past its timeout."""

    def function(run: Run) -> None:
        for number in range(100):
            stack.work(25 * SECOND)
            run.step(f"step {number}", nothing_new)

    deployed(stack, declare("endless", function, timeout=70 * SECOND, retry=MANY))


def nothing_new() -> None:
    """A step without an effect."""


def cancelled(stack: Stack) -> None:
    """An operator cancels a run while it is executed."""

    def cancel(operations: Operations) -> None:
        (run,) = stack.runs()
        operations.cancel(run.ref, by="ann", why="not today")

    def function(run: Run) -> None:
        run.step("first", stack.effect)
        stack.command(cancel)
        stack.work(42 * SECOND)
        run.step("too late", stack.effect)

    deployed(stack, declare("cancelled", function, retry=MANY))


def at_most_once(stack: Stack) -> None:
    """A job that pays at a bank that knows no keys. Nobody is told: so what comes of it is the same."""

    def pay(*, idempotency_key: str) -> str:
        if idempotency_key in stack.service.effects:
            stack.service.repeated.append(idempotency_key)
        return stack.effect(idempotency_key=idempotency_key)

    def function(run: Run) -> None:
        run.step("first", stack.effect)
        run.once("pay", pay)
        run.step("last", stack.effect)

    deployed(stack, declare("paying", function, retry=MANY))
    stack.lasts = 2 * MINUTE
    stack.watching = False


def with_a_person(stack: Stack) -> None:
    """A minute, and a person who looks at the bank when a run asks for it."""
    stack.minute()
    for run in stack.runs():
        if run.reason is Reason.STEP_UNCERTAIN:
            done = '"paid"' if f"shop/{run.ref.id}/pay" in stack.service.effects else None
            resolve = partial(_resolve, run.ref, done)
            with stack.places.suspended():
                stack.command(resolve)  # it may be refused: not yet


def _resolve(ref: RunRef, done: str | None, operations: Operations) -> None:
    operations.resolve(ref, "pay", done, by="ann", why="looked at the statement")


def sleeping(stack: Stack) -> None:
    """A job that sleeps between two steps."""

    def function(run: Run) -> None:
        run.step("first", stack.effect)
        run.sleep("a while", 2 * MINUTE)
        run.step("last", early_or_not, stack)

    def early_or_not(stack: Stack, *, idempotency_key: str) -> None:
        if stack.clock.now() < at(6, 2):
            stack.service.repeated.append(f"{idempotency_key} too early")
        stack.effect(idempotency_key=idempotency_key)

    deployed(stack, declare("sleepy", function, retry=MANY))


def not_loadable(stack: Stack) -> None:
    """The executor has a deployment in which the job's module does not import."""
    deployed(stack, declare("unknown"))
    stack.broken = {"unknown"}


def no_tick_until(stack: Stack, instant: datetime) -> None:
    """Times are missed, within the grace. The silence is not the scenario's subject: it counts as over."""
    stack.clock.set(instant)
    (lease,) = stack.contents(LeaseItem)
    stack.store.place(replace(lease, completed_at=instant))


def catching_up(stack: Stack) -> None:
    """Three missed times and one slot: the first run is dispatched, the others are queued."""
    deployed(stack, declare("queued", only_step(stack), catch_up="all", grace="12h"))
    no_tick_until(stack, at(8, 20))


def without_limit(stack: Stack) -> None:
    """Two missed times of a job without slots: its tokens come from a counter."""
    deployed(stack, declare("free", only_step(stack), concurrency=None, catch_up="all", grace="12h"))
    no_tick_until(stack, at(7, 20))


def behind_another(stack: Stack, claim: timedelta = MINUTE) -> None:
    """The one slot is held by a run whose worker will not be heard of again."""
    deployed(stack, declare("busy", only_step(stack), overlap="queue"))
    now = stack.clock.now()
    ahead = makers.running(
        makers.ref(5 * 60, job="busy"),
        created_at=now - HOUR,
        started_at=now - 2 * MINUTE,
        attempt_started_at=now - 2 * MINUTE,
        slice_started_at=now - 2 * MINUTE,
        claim_until=now + claim,
        due_at=now + claim,
        expect_by=now + HOUR,
        fencing_token=1,
        owner="dead",
        timeout=HOUR,
    )
    stack.store.place(ahead)
    slots = replace(stack.job("busy").slots, held=frozenset({ahead.ref.id}), fencing_token=1)
    stack.change("busy", slots=slots)


def behind_a_dead_one(stack: Stack) -> None:
    """The one slot is held by a run whose claim is over, and no sweep has seen it yet."""
    behind_another(stack, claim=-MINUTE)
    (ahead,) = stack.runs()
    stack.store.place(replace(ahead, due_at=at(7)))


def minutes(number: int) -> Callable[[Stack], None]:
    """A tick with what follows from it, then full minutes."""

    def life(stack: Stack) -> None:
        tick_and_deliver(stack)
        stack.minutes(number)

    return life


def a_quarter_passes(stack: Stack) -> None:
    """As long as a run waits for its job to be deployed."""
    tick_and_deliver(stack)
    with stack.places.suspended():
        stack.minutes(5)
    stack.skip_to(at(6, 16))
    tick_and_deliver(stack)
    stack.minute()


SMALL = Scenario(name="claim", starts=HALF_PAST_FIVE, setup=with_one_step, life=tick_and_deliver)
SCENARIOS = (
    SMALL,
    Scenario(name="steps", starts=HALF_PAST_FIVE, setup=with_steps, life=tick_and_deliver),
    Scenario(name="lease", starts=HALF_PAST_FIVE, setup=with_a_lease, life=tick_and_deliver, bound=12),
    Scenario(name="retry", starts=HALF_PAST_FIVE, setup=fails_once, life=minutes(1)),
    Scenario(name="lost", starts=HALF_PAST_FIVE, setup=dies_once, life=lambda stack: stack.minutes(3)),
    Scenario(name="slices", starts=HALF_PAST_FIVE, setup=in_slices, life=tick_and_deliver),
    Scenario(
        name="once",
        starts=HALF_PAST_FIVE,
        setup=at_most_once,
        life=tick_and_deliver,
        bound=10,
        recover=with_a_person,
    ),
    Scenario(name="sleep", starts=HALF_PAST_FIVE, setup=sleeping, life=minutes(3), bound=8),
    Scenario(name="timeout", starts=HALF_PAST_FIVE, setup=too_long, life=minutes(1)),
    Scenario(name="cancel", starts=HALF_PAST_FIVE, setup=cancelled, life=minutes(1)),
    Scenario(name="unknown", starts=HALF_PAST_FIVE, setup=not_loadable, life=a_quarter_passes, bound=20),
    Scenario(name="queue", starts=HALF_PAST_FIVE, setup=catching_up, life=tick_and_deliver, bound=13),
    Scenario(name="no-slots", starts=HALF_PAST_FIVE, setup=without_limit, life=tick_and_deliver),
    Scenario(name="behind", starts=HALF_PAST_FIVE, setup=behind_another, life=minutes(2), bound=13),
    Scenario(name="holder", starts=HALF_PAST_FIVE, setup=behind_a_dead_one, life=minutes(2), bound=13),
)
