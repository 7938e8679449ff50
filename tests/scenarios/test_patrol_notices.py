"""What a notice says of what has become of its times by now.

Invariants:
- the run, its steps and the stretch of skipped times that a notice speaks of are those of the newest time;
- what cannot be read is left out, and said to be: the notice comes, and the patrol is a complete one if it
  judged everything;
- steps are read of a bounded number of items, of a bounded size, for a bounded time; no two results are held
  at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from weakref import WeakSet

import pytest

from cronce.core.alerts import SCHEDULER
from cronce.core.errors import StoreError
from cronce.core.jobstate import GapReason
from cronce.core.records import RunRef, StepRecord, StepStatus
from cronce.core.run import Notice, Reason
from cronce.engine import background
from cronce.engine.metrics import PATROL_COMPLETED
from cronce.testing import job_key, run_key
from cronce.testing.keys import gap_key
from tests.contract.makers import JOB, NOW, failed, gap, ref, running, step
from tests.scenarios.patrol_world import MINUTE, SECOND, STACK, World, job_state


@pytest.fixture
def world() -> World:
    return World()


def refusing(call: str) -> Callable[[str, str], None]:
    """A call that the store never answers."""

    def hook(name: str, when: str) -> None:
        if name == call and when == "before":
            raise StoreError(f"{name}: no answer")

    return hook


def test_a_run_that_hangs_is_told_with_the_last_step_it_finished(world: World) -> None:
    run = running(ref(0))
    world.store.place(run, step(ref(0), "build"), step(ref(0), "send", at=NOW + MINUTE))
    world.until(NOW + timedelta(minutes=16))

    assert world.notice().body.splitlines()[2] == "Last step finished: send, 2026-01-05T00:01:00Z."


def test_a_run_in_doubt_is_told_with_the_step_that_somebody_must_settle(world: World) -> None:
    run = failed(ref(0), attempt=1, reason=Reason.STEP_UNCERTAIN)
    world.store.place(run, step(ref(0), "pay", status=StepStatus.STARTED))

    world.patrol()

    assert f"  cronce resolve {run.ref.id} --redo --stack {STACK} -- pay" in world.notice().body.splitlines()


def test_of_a_run_with_very_many_steps_none_is_called_the_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read in the order of their names, and only so many."""
    monkeypatch.setattr(background, "STEPS_READ", 2)
    world.store.place(failed(ref(0), attempt=1), *(step(ref(0), name) for name in ("a", "b", "c")))

    world.patrol()

    assert "Last step finished" not in world.notice().body


class Result(str):
    """A result of which one can know whether somebody still holds it."""

    __slots__ = ("__weakref__",)


class Steps:
    """A store that hands out steps with large results one by one, each after a while."""

    def __init__(self, world: World, size: int, pause: timedelta) -> None:
        self.world, self.size, self.pause = world, size, pause
        self.held: WeakSet[Result] = WeakSet()
        self.most_held = self.read = 0

    def load(self, of: RunRef) -> Iterator[StepRecord]:
        for number in range(20):
            self.world.clock.advance(self.pause)
            result = Result(f'"{number:03}{"x" * self.size}"')
            self.held.add(result)
            self.most_held, self.read = max(self.most_held, len(self.held)), number + 1
            yield step(of, f"step-{number:03}", result=result, at=NOW + number * SECOND)
            del result


@pytest.mark.parametrize(
    "size, pause, read",
    [
        (100_000, timedelta(0), 20),
        (1_000_000, timedelta(0), 10),
        (1_000, timedelta(seconds=0.3), 7),
    ],
    ids=["few", "very large", "slow"],
)
def test_one_jobs_results_neither_fill_the_memory_nor_take_the_time_of_others_notices(
    world: World, monkeypatch: pytest.MonkeyPatch, size: int, pause: timedelta, read: int
) -> None:
    steps = Steps(world, size, pause)
    monkeypatch.setattr(world.store, "steps", steps)
    world.store.place(failed(ref(0), attempt=1))

    report = world.patrol()

    assert (report.complete, world.told()) == (True, [("opened", JOB)])
    assert ("Last step finished: step-019" in world.notice().body) == (read == 20)
    assert steps.read == read
    assert steps.most_held <= 2, "the one that is read, and the one before it"


def test_steps_that_cannot_be_read_are_left_out_and_the_patrol_is_complete(world: World) -> None:
    world.store.place(failed(ref(0), attempt=1), step(ref(0), "build"))
    world.store.on_call(refusing("steps.load"))

    report = world.patrol()

    assert report.complete
    assert world.told() == [("opened", JOB)]
    assert "Last step finished" not in world.notice().body
    (line,) = world.telemetry.named("patrol.left_out")
    assert line.fields["part"] == f"steps of {ref(0).id}"


READS = {"jobs.get_many", "runs.get_many", "runs.get", "index.due"}


def refusing_what_a_notice_reads(alert_writes: int = 2) -> Callable[[str, str], None]:
    """No read is answered between the write that a notice is being published and the one that it is out."""
    written = 0

    def hook(name: str, when: str) -> None:
        nonlocal written
        written += (name, when) == ("alerts.put", "after")
        if written == alert_writes and when == "before" and name in READS:
            raise StoreError(f"{name}: no answer")

    return hook


@pytest.mark.parametrize("silent", [False, True], ids=["a job's", "the scheduler's"])
def test_a_notice_does_not_wait_for_what_it_says_beside_and_the_patrol_is_complete(
    world: World, silent: bool
) -> None:
    world.store.place(job_state(), *([] if silent else [failed(ref(0), attempt=1)]))
    world.patrols(int(silent))
    world.ticking = not silent
    world.store.on_call(refusing_what_a_notice_reads())

    reports = world.patrols(6 if silent else 1)

    assert [report.complete for report in reports] == [True] * len(reports)
    assert world.told() == [("opened", SCHEDULER if silent else JOB)]
    assert world.telemetry.metrics[PATROL_COMPLETED] == 1
    if not silent:
        assert "could not be read" in world.notice().body
        assert "never planned" not in world.notice().body


def unreadable_run(world: World) -> None:
    world.store.place(job_state(expect_by=NOW + timedelta(days=1)), running(ref(0), expect_by=NOW + MINUTE))
    world.store.spoil(run_key(ref(0)))


def unreadable_job(world: World) -> None:
    world.store.place(job_state(grace=MINUTE, expect_by=NOW + 2 * MINUTE))
    world.store.spoil(job_key(JOB))


def unreadable_gap(world: World) -> None:
    skipped = gap(reason=GapReason.CATCH_UP_LIMIT, notice=Notice.PENDING)
    world.store.place(skipped)
    world.store.spoil(gap_key(skipped))


@pytest.mark.parametrize("spoil", [unreadable_run, unreadable_job, unreadable_gap])
def test_what_is_there_and_cannot_be_read_is_neither_never_planned_nor_a_broken_setting(
    world: World, spoil: Callable[[World], None]
) -> None:
    spoil(world)

    world.patrols(4)

    body = world.notice().body
    assert "names items that cannot be read: mend those first" in body
    assert f"  cronce doctor --stack {STACK}" in body.splitlines()
    assert "never planned" not in body
    assert "Setting broken" not in body


def test_a_stretch_of_skipped_times_is_told_with_the_command_that_makes_runs_of_it(world: World) -> None:
    skipped = gap(reason=GapReason.CATCH_UP_LIMIT, notice=Notice.PENDING)
    world.store.place(skipped)

    world.patrol()

    first, last = (f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (skipped.first, skipped.last))
    command = f"  cronce backfill {JOB} --from {first} --to {last} --gaps --stack {STACK}"
    assert command in world.notice().body.splitlines()


def test_the_setting_that_was_broken_is_told_as_the_job_has_it(world: World) -> None:
    world.store.place(job_state(grace=timedelta(minutes=7), expect_by=NOW + timedelta(days=1)))
    world.store.place(running(ref(0), expect_by=NOW + 7 * MINUTE))

    world.until(NOW + 8 * MINUTE)

    assert "Setting broken: grace 7m." in world.notice().body


def test_the_silent_schedulers_notice_reads_no_run_and_no_step(world: World) -> None:
    world.store.place(job_state())
    world.patrol()
    world.ticking = False
    world.store.on_call(refusing("steps.load"))

    world.patrols(6)

    assert world.told() == [("opened", SCHEDULER)]
    assert world.telemetry.named("patrol.left_out") == []
