"""`cronce.lease` in runs: exclusive sections that survive deaths, stand-stills and wrong clocks.

Invariants:
- while a lease stands nobody else is in its section; the one who is refused is tried again when it ends;
- it is renewed as long as its worker has its claim, and given back however the section ends;
- a holder that cannot trust it any more is told at `check()`, and at the end of the section at the latest;
- the dead holder's late release changes nothing, and every holder has a higher token than all before it;
- a wrong clock takes nothing, and what one wrote is not waited for.
"""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from cronce.core.claim import RENEW_EVERY, TRUST_MARGIN
from cronce.core.errors import (
    ClaimLost,
    CronceError,
    DefinitionError,
    LeaseLostError,
    StoreError,
)
from cronce.core.named_lease import LeaseHeldError, NamedLease
from cronce.core.records import RunRecord, RunRef
from cronce.core.retry import Retry
from cronce.core.run import Reason, RunStatus
from cronce.engine.executor import Outcome
from cronce.engine.named_lease import ASK_AGAIN, HeldLease, lease
from cronce.engine.run_handle import Run
from cronce.testing import named_lease_key
from tests.scenarios.run_world import HOUR, LONG, MINUTE, NOON, SECOND, Killed, World, dead

TWO = NOON + 14 * HOUR
EXPORT = "warehouse-export"
TEN = "10m"


@pytest.fixture
def world() -> World:
    world = World(jitter=0.0)
    world.clock.set(TWO)
    return world


class Section:
    """The section of every run of one job, and what came of it.

    Attributes:
        entered: run ids, by when they entered.
        tokens: of the lease, in order.
        held: the leases.
    """

    def __init__(self, world: World, name: str = "export", **options: Any) -> None:
        self.world = world
        self.name = name
        self.entered: list[tuple[datetime, str]] = []
        self.tokens: list[int] = []
        self.held: list[HeldLease] = []
        self.work: Any = lambda run, held: None
        self.wait: timedelta | str = "0s"
        world.declare(self.function, name, **{"timeout": "2h", "concurrency": None, **options})

    def function(self, run: Run) -> None:
        with lease(EXPORT, TEN, wait=self.wait) as held:
            self.entered.append((self.world.clock.now(), run.id))
            self.tokens.append(held.fencing_token)
            self.held.append(held)
            self.work(run, held)

    def execute(self, suffix: str, lasts: timedelta = 2 * HOUR) -> Outcome:
        """One run, in one invocation; it may be within another's."""
        outer = self.world.renewal.renew
        outcome = self.world.execute(self.world.manual(suffix, TWO, self.name), lasts).outcome
        self.world.renewal.renew = outer
        return outcome

    def run(self, suffix: str) -> RunRecord:
        """The run as stored."""
        return self.world.run(RunRef(self.name, TWO, suffix))


def stored(world: World) -> NamedLease:
    found = world.store.items()[named_lease_key(EXPORT)]
    assert isinstance(found, NamedLease)
    return found


def free(world: World) -> bool:
    return stored(world).owner is None


def of_another(world: World, **values: Any) -> NamedLease:
    """Somebody else's lease, stored."""
    known: dict[str, Any] = {
        "name": EXPORT,
        "owner": "another/1",
        "holder": "another@2026-01-06T02:00:00Z",
        "fencing_token": 41,
        "renewed_at": world.clock.now(),
        "until": world.clock.now() + 10 * MINUTE,
    }
    held = NamedLease(**{**known, **values})
    world.store.place(held)
    return held


def dies_at_three(world: World, section: Section) -> HeldLease:
    """A worker takes the lease at 02:00 and is killed at 02:03."""

    def die(run: Run, held: HeldLease) -> None:
        world.work(3 * MINUTE)
        world.store.on_call(dead)
        raise Killed

    section.work = die
    with pytest.raises(Killed):
        section.execute("dies")
    world.store.on_call(None)
    section.work = lambda run, held: None
    return section.held[0]


def test_a_dead_holders_lease_is_refused_to_all_until_its_end_and_then_given_to_one(world: World) -> None:
    section = Section(world)
    dies_at_three(world, section)

    for minute in (3, 5, 9):
        world.clock.set(TWO + minute * MINUTE)
        assert section.execute(f"at-{minute}") is Outcome.RETRYING
    world.clock.set(TWO + 10 * MINUTE - timedelta(milliseconds=1))
    assert section.execute("too-early") is Outcome.RETRYING

    world.clock.set(TWO + 10 * MINUTE)
    meanwhile: list[Outcome] = []
    section.work = lambda run, held: meanwhile.append(section.execute("second"))
    assert section.execute("first") is Outcome.SUCCEEDED
    assert meanwhile == [Outcome.RETRYING]
    assert section.tokens == [1, 2]


def test_the_dead_holders_late_release_changes_nothing(world: World) -> None:
    section = Section(world)
    late = dies_at_three(world, section)
    world.clock.set(TWO + 10 * MINUTE)
    seen: list[tuple[bool, NamedLease, NamedLease]] = []

    def work(run: Run, held: HeldLease) -> None:
        before = stored(world)
        seen.append((late.give_back(), before, stored(world)))
        held.check()

    section.work = work
    assert section.execute("next") is Outcome.SUCCEEDED
    ((gave, before, after),) = seen
    assert not gave
    assert before == after
    assert after.fencing_token == 2


def test_of_two_in_the_same_second_one_wins_and_the_other_is_tried_again_when_the_lease_ends(
    world: World,
) -> None:
    section = Section(world)
    section.work = lambda run, held: section.execute("second") if run.id.endswith("first") else None
    assert section.execute("first") is Outcome.SUCCEEDED
    assert [run.rpartition("#")[2] for _, run in section.entered] == ["first"]
    refused = section.run("second")
    assert (refused.status, refused.reason, refused.due_at) == (
        RunStatus.WAITING,
        Reason.BACKOFF,
        TWO + 10 * MINUTE,
    )
    assert refused.error == (
        "LeaseHeldError: lease 'warehouse-export' is held by export@2026-01-06T02:00:00Z#first "
        "until 2026-01-06 02:10:00Z"
    )

    world.minutes(12)
    assert section.run("second").status is RunStatus.SUCCEEDED
    assert section.tokens == [1, 2]


def test_a_lease_is_renewed_while_its_worker_computes(world: World) -> None:
    section = Section(world)
    outcomes: list[Outcome] = []

    def work(run: Run, held: HeldLease) -> None:
        for minutes in (9, 9, 12):
            world.work(minutes * MINUTE)
            held.check()
            section.work = lambda run, held: pytest.fail("it is held")
            outcomes.append(section.execute(f"at-{world.clock.now():%H-%M}"))

    section.work = work
    assert section.execute("long") is Outcome.SUCCEEDED
    assert outcomes == [Outcome.RETRYING] * 3
    assert free(world)


def test_a_lease_is_renewed_by_hand_too(world: World) -> None:
    section = Section(world)

    def work(run: Run, held: HeldLease) -> None:
        world.clock.advance(RENEW_EVERY)
        held.renew()
        assert held.until == stored(world).until == TWO + RENEW_EVERY + 10 * MINUTE

    section.work = work
    assert section.execute("one") is Outcome.SUCCEEDED


def test_it_is_renewed_in_every_third_of_its_ttl_and_not_more_often(world: World) -> None:
    section = Section(world)
    calls: list[str] = []
    world.store.on_call(lambda call, when: calls.append(call) if when == "before" else None)
    section.work = lambda run, held: world.work(20 * MINUTE)
    assert section.execute("one") is Outcome.SUCCEEDED
    assert calls.count("leases.renew") == 5
    assert (calls.count("leases.take"), calls.count("leases.release")) == (1, 1)


def test_a_worker_that_has_lost_its_claim_renews_no_lease(world: World) -> None:
    section = Section(world)
    ends: list[datetime] = []

    def work(run: Run, held: HeldLease) -> None:
        record = world.run(RunRef.parse(run.id))
        world.store.place(replace(record, owner="another", fencing_token=99, rev=record.rev + 1))
        world.work(9 * MINUTE)
        ends.append(stored(world).until)
        with pytest.raises(ClaimLost):
            held.check()
        ends.append(stored(world).until)

    section.work = work
    assert section.execute("one") is Outcome.CLAIM_LOST
    assert ends == [TWO + 10 * MINUTE] * 2
    assert free(world), "the section was left, by its holder"


def test_a_holder_that_was_replaced_is_told_and_told_again(world: World) -> None:
    section = Section(world, retry=Retry(attempts=1))
    told: list[str] = []

    def work(run: Run, held: HeldLease) -> None:
        of_another(world)
        world.work(4 * MINUTE)
        for ask in (held.check, held.renew, held.check):
            with pytest.raises(LeaseLostError) as raised:
                ask()
            told.append(str(raised.value))

    section.work = work
    assert section.execute("one") is Outcome.FAILED
    assert told == ["lease 'warehouse-export': somebody else has taken it"] * 3
    assert section.run("one").error == (
        "LeaseLostError: lease 'warehouse-export' was lost before its section ended: "
        "somebody else may have been in it"
    )
    assert stored(world).owner == "another/1"
    assert [line.name for line in world.telemetry.warnings if line.name.startswith("lease.")] == [
        "lease.lost"
    ]


def unrenewed(world: World, duration: timedelta) -> None:
    """Time passes, and the store takes no renewal of a lease."""

    def refuse(call: str, when: str) -> None:
        if (call, when) == ("leases.renew", "before"):
            raise StoreError("no answer")

    world.store.on_call(refuse)
    end = world.clock.now() + duration
    while world.clock.now() < end:
        world.clock.advance(min(RENEW_EVERY, end - world.clock.now()))
        try:
            world.renewal.renew()
        except StoreError:
            continue
    world.store.on_call(None)


@pytest.mark.parametrize("early, trusted", [(timedelta(milliseconds=1), True), (timedelta(0), False)])
def test_a_lease_is_trusted_until_so_long_before_its_end(
    world: World, early: timedelta, trusted: bool
) -> None:
    section = Section(world)
    found: list[bool] = []

    def work(run: Run, held: HeldLease) -> None:
        unrenewed(world, 10 * MINUTE - TRUST_MARGIN - early)
        try:
            held.check()
        except LeaseLostError:
            found.append(False)
        else:
            found.append(True)

    section.work = work
    section.execute("one")
    assert found == [trusted]


def test_trust_counts_from_before_the_call_that_took_the_lease(world: World) -> None:
    section = Section(world, retry=Retry(attempts=1))

    def slow(call: str, when: str) -> None:
        if (call, when) == ("leases.take", "after"):
            world.store.on_call(None)
            for _ in range(30):
                world.clock.advance(RENEW_EVERY)
                world.renewal.renew()

    section.work = lambda run, held: held.check()
    world.store.on_call(slow)
    assert section.execute("one") is Outcome.FAILED
    assert "can no longer be trusted" in str(section.run("one").error)


def test_a_section_that_nobody_else_entered_ends_well_though_its_lease_ran_out(world: World) -> None:
    section = Section(world)
    section.work = lambda run, held: unrenewed(world, 15 * MINUTE)
    assert section.execute("one") is Outcome.SUCCEEDED
    assert free(world)


def test_a_release_that_gets_no_answer_fails_no_section_that_was_held(world: World) -> None:
    section = Section(world)

    def work(run: Run, held: HeldLease) -> None:
        world.store.on_call(refuse)

    def refuse(call: str, when: str) -> None:
        if (call, when) == ("leases.release", "before"):
            raise StoreError("no answer")

    section.work = work
    assert section.execute("one") is Outcome.SUCCEEDED
    assert not free(world), "it ends by itself"
    assert world.telemetry.warnings[0].name == "lease.not_released"


@pytest.mark.parametrize("error", [ValueError("no soup"), KeyboardInterrupt()])
def test_it_is_given_back_however_the_section_ends(world: World, error: BaseException) -> None:
    section = Section(world)

    def work(run: Run, held: HeldLease) -> None:
        raise error

    section.work = work
    assert section.execute("one") is Outcome.RETRYING
    assert free(world)


def test_a_run_of_many_slices_gives_it_back_between_them_and_takes_it_anew(world: World) -> None:
    section = Section(world, concurrency=1)

    def work(run: Run, held: HeldLease) -> None:
        for number in range(6):
            run.step(f"step-{number}", world.work, 3 * MINUTE)

    section.work = work
    ref = world.manual("sliced", TWO, "export")
    outcomes = [world.execute(ref, LONG).outcome for _ in range(2)]
    assert outcomes == [Outcome.CONTINUES, Outcome.SUCCEEDED]
    assert section.tokens == [1, 2]


def test_one_that_waits_gets_it_once_it_is_given_back(world: World) -> None:
    section = Section(world)
    held = of_another(world)
    section.wait = "2m"

    def give_back(call: str, when: str) -> None:
        if call == "leases.take" and when == "before" and world.clock.now() >= TWO + 30 * SECOND:
            world.store.on_call(None)
            world.store.leases.release(held)

    world.store.on_call(give_back)
    assert section.execute("one", LONG) is Outcome.SUCCEEDED
    assert section.entered == [(TWO + 30 * SECOND, "export@2026-01-06T02:00:00Z#one")]
    assert section.tokens == [42]


def test_one_that_waits_does_so_for_no_longer_than_it_said(world: World) -> None:
    section = Section(world)
    of_another(world)
    section.wait = "31s"
    assert section.execute("one", LONG) is Outcome.RETRYING
    assert world.clock.now() == TWO + 31 * SECOND
    assert world.clock.pauses == [ASK_AGAIN.total_seconds()] * 6 + [1.0]
    assert section.run("one").due_at == TWO + 10 * MINUTE


def test_one_that_waits_stops_when_its_run_must(world: World) -> None:
    section = Section(world)
    of_another(world, until=TWO + HOUR)
    section.wait = "30m"
    assert section.execute("one", LONG) is not Outcome.SUCCEEDED
    assert world.clock.now() < TWO + LONG
    assert section.entered == []


def test_a_job_may_catch_the_refusal_and_let_others_do_the_work(world: World) -> None:
    seen: list[LeaseHeldError] = []

    def job(run: Run) -> None:
        try:
            with lease(EXPORT, TEN):
                pytest.fail("it is held")
        except LeaseHeldError as error:
            seen.append(error)

    world.declare(job)
    until = of_another(world).until
    assert world.execute(world.plan(TWO)).outcome is Outcome.SUCCEEDED
    assert (seen[0].until, seen[0].delay) == (until, 10 * MINUTE)


def test_the_holder_itself_is_refused_a_second_time(world: World) -> None:
    section = Section(world)

    def work(run: Run, held: HeldLease) -> None:
        with pytest.raises(LeaseHeldError, match="is held by export@"), lease(EXPORT, TEN):
            pytest.fail("it is held")

    section.work = work
    assert section.execute("one") is Outcome.SUCCEEDED


@pytest.mark.parametrize("offset", [6 * SECOND, -HOUR])
def test_i28_a_host_whose_clock_went_wrong_takes_no_lease(world: World, offset: timedelta) -> None:
    def job(run: Run) -> None:
        world.store.clock.offset = offset
        with lease(EXPORT, TEN):
            pytest.fail("its clock is wrong")

    world.declare(job)
    ref = world.plan(TWO)
    assert world.execute(ref).outcome is Outcome.RETRYING
    assert "no lease is taken: this host's clock is" in str(world.run(ref).error)
    assert named_lease_key(EXPORT) not in world.store.items()


def test_i28_a_host_whose_clock_went_wrong_renews_no_lease(world: World) -> None:
    section = Section(world)

    def work(run: Run, held: HeldLease) -> None:
        world.store.clock.offset = -HOUR
        world.work(9 * MINUTE)
        ends.append(stored(world).until)

    ends: list[datetime] = []
    section.work = work
    assert section.execute("one") is Outcome.SUCCEEDED
    assert ends == [TWO + 10 * MINUTE]


def test_i10_an_end_that_nobody_can_believe_is_not_waited_for(world: World) -> None:
    section = Section(world)
    ahead = TWO + 61 * SECOND
    of_another(world, renewed_at=ahead, until=ahead + 10 * MINUTE)
    assert section.execute("one") is Outcome.SUCCEEDED
    assert section.tokens == [42]


def test_an_end_that_is_just_believable_is_waited_for(world: World) -> None:
    section = Section(world)
    ahead = TWO + 60 * SECOND
    of_another(world, renewed_at=ahead, until=ahead + 10 * MINUTE)
    assert section.execute("one") is Outcome.RETRYING


def test_a_long_lease_is_believed_by_one_who_asks_for_a_short_one(world: World) -> None:
    of_another(world, until=TWO + 6 * HOUR)
    section = Section(world)
    assert section.execute("one") is Outcome.RETRYING
    assert section.run("one").due_at == TWO + 6 * HOUR


def test_one_that_stood_still_before_it_asked_takes_nothing_from_a_holder_that_renewed(world: World) -> None:
    section = Section(world)
    of_another(world)

    def stand_still(call: str, when: str) -> None:
        if (call, when) == ("leases.take", "before"):
            world.store.on_call(None)
            world.clock.advance(40 * SECOND)
            world.renewal.renew()
            world.clock.advance(40 * SECOND)
            world.renewal.renew()
            of_another(world)

    world.store.on_call(stand_still)
    assert section.execute("one") is Outcome.RETRYING
    assert stored(world).owner == "another/1"


def test_a_disbelieved_holder_whose_clock_was_put_right_meanwhile_keeps_its_lease(world: World) -> None:
    section = Section(world)
    held = of_another(world, renewed_at=TWO + HOUR, until=TWO + HOUR + 10 * MINUTE)

    def put_right(call: str, when: str) -> None:
        if (call, when) == ("leases.take", "after"):
            world.store.on_call(None)
            world.store.leases.renew(replace(held, renewed_at=TWO, until=TWO + 10 * MINUTE))

    world.store.on_call(put_right)
    assert section.execute("one") is Outcome.RETRYING
    assert (stored(world).owner, section.run("one").due_at) == ("another/1", TWO + 10 * MINUTE)


@pytest.mark.parametrize("call", ["leases.renew", "leases.release"])
def test_a_lost_reply_about_a_lease_costs_nothing(world: World, call: str) -> None:
    section = Section(world)

    def lose(name: str, when: str) -> None:
        if (name, when) == (call, "after"):
            world.store.on_call(None)
            raise StoreError("connection reset")

    def work(run: Run, held: HeldLease) -> None:
        world.store.on_call(lose)
        try:
            world.work(4 * MINUTE)
        except StoreError:
            world.work(MINUTE)

    section.work = work
    assert section.execute("one") is Outcome.SUCCEEDED
    assert free(world)


def test_outside_of_a_job_it_says_so() -> None:
    with pytest.raises(CronceError, match="is not taken within a job's function"), lease(EXPORT, TEN):
        pytest.fail("there is no run")


def test_after_a_run_it_says_so_too(world: World) -> None:
    assert Section(world).execute("one") is Outcome.SUCCEEDED
    test_outside_of_a_job_it_says_so()


def test_a_thread_of_the_job_needs_the_jobs_context(world: World) -> None:
    tokens: list[int] = []

    def take() -> None:
        with lease(EXPORT, TEN) as held:
            tokens.append(held.fencing_token)

    def job(run: Run) -> None:
        with ThreadPoolExecutor(1) as pool:
            with pytest.raises(CronceError, match="copy_context"):
                pool.submit(take).result()
            pool.submit(contextvars.copy_context().run, take).result()

    world.declare(job)
    assert world.execute(world.plan(TWO)).outcome is Outcome.SUCCEEDED
    assert tokens == [1]


@pytest.mark.parametrize(
    "name, ttl, wait, problem",
    [
        ("Export", TEN, "0s", "a lease's name is"),
        ("", TEN, "0s", "a lease's name is"),
        (7, TEN, "0s", "a lease's name is"),
        ("e" * 64, TEN, "0s", "a lease's name is"),
        (EXPORT, "59s", "0s", "ttl takes 0:01:00 to"),
        (EXPORT, "1d1s", "0s", "ttl takes at most 1 day"),
        (EXPORT, 600, "0s", "ttl takes a timedelta or text"),
        (EXPORT, TEN, "soon", "wait takes a timedelta or text"),
        (EXPORT, TEN, timedelta(seconds=-1), "wait takes 0:00:00 to"),
    ],
)
def test_what_cannot_be_a_lease_is_refused(name: Any, ttl: Any, wait: Any, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem), lease(name, ttl, wait=wait):
        pytest.fail("it must be refused")


def test_leases_of_other_names_are_free(world: World) -> None:
    section = Section(world)

    def work(run: Run, held: HeldLease) -> None:
        with lease("another", "1m") as other:
            world.work(3 * MINUTE)
            other.check()
            assert other.fencing_token == 1

    section.work = work
    assert section.execute("one") is Outcome.SUCCEEDED
    assert free(world)
