"""`run_job`: one run of a job in memory, from its birth to its end.

Invariants:
- the run is that of the deployed executor: attempts, backoff, slices and sleeps pass on a clock of its own;
- a worker dies exactly where it is told to, and another one goes on when its claim has run out;
- whatever the job does is in the result: values, calls with their keys, exceptions, notices, log lines;
- a request that makes no sense is refused with what to write instead.
"""

from __future__ import annotations

import doctest
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from cronce import Cron, DefinitionError, Every, Job, NotDone, PermanentError, Retry, Run, job, lease
from cronce.testing import RunResult, run_job

SIX_IN_NEW_YORK = datetime(2026, 10, 30, 10, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ITEMS = 60


def declare(function: Callable[[Run], object], **options: Any) -> Job:
    values: dict[str, Any] = {"schedule": Cron("0 6 * * *", tz="America/New_York"), **options}
    return job("menu", **values)(function)


def send(person: str, menu: str, *, idempotency_key: str) -> str:
    return f"{menu} to {person} under {idempotency_key}"


def menu(run: Run) -> None:
    people = [f"{number:03}" for number in range(1, ITEMS + 1)]
    dish = run.step("build", str.title, "pancakes")
    run.each("send", people, send, dish, key=str, checkpoint_every=25)
    run.step("mark", run.local_date.isoformat)
    run.log.info("menu sent", people=len(people))


def keys(result: RunResult, step: str) -> list[str | None]:
    return [call.item for call in result.calls[step]]


def numbers(*spans: tuple[int, int]) -> list[str]:
    return [f"{number:03}" for first, last in spans for number in range(first, last + 1)]


def test_a_run_succeeds_and_everything_of_it_is_in_the_result() -> None:
    result = run_job(declare(menu), at=SIX_IN_NEW_YORK)

    assert (result.status, result.reason, result.error) == ("SUCCEEDED", None, None)
    assert (result.attempts, result.invocations, result.duration) == (1, 1, timedelta(0))
    assert list(result.steps) == ["build", "mark", "send"]
    assert (result.steps["build"], result.steps["mark"]) == ("Pancakes", "2026-10-30")
    key = "test/menu@2026-10-30T10:00:00Z/send/007"
    assert result.steps["send"]["007"] == f"Pancakes to 007 under {key}"
    assert [call.idempotency_key for call in result.calls["send"]][6] == key
    assert keys(result, "send") == numbers((1, ITEMS))
    assert [(line.name, line.fields, line.warning) for line in result.log] == [
        ("menu sent", {"people": 60}, False)
    ]
    assert (result.raised, result.notices, result.outside) == ((), (), {})


def test_a_worker_that_dies_after_an_item_loses_what_lies_behind_the_last_checkpoint() -> None:
    result = run_job(declare(menu), at=SIX_IN_NEW_YORK, crash_after="send:30")

    assert (result.status, result.attempts, result.invocations) == ("SUCCEEDED", 2, 2)
    assert keys(result, "send") == numbers((1, 30), (26, 60))
    assert Counter(call.idempotency_key for call in result.calls["send"]).most_common(6)[5][1] == 1
    assert len(result.calls["build"]) == 1


def test_a_worker_that_dies_after_a_full_chunk_loses_nothing() -> None:
    result = run_job(declare(menu), at=SIX_IN_NEW_YORK, crash_after="send:50")
    assert keys(result, "send") == numbers((1, 60))


def test_a_worker_that_dies_before_a_chunk_is_recorded_repeats_it() -> None:
    result = run_job(declare(menu), at=SIX_IN_NEW_YORK, crash_before_recording="send:50")
    assert keys(result, "send") == numbers((1, 50), (26, 60))


def test_a_worker_that_dies_after_an_each_has_recorded_all_of_it() -> None:
    result = run_job(declare(menu), at=SIX_IN_NEW_YORK, crash_after="send")
    assert (result.attempts, keys(result, "send")) == (2, numbers((1, 60)))


@pytest.mark.parametrize(
    "where, calls", [({"crash_after": "build"}, 1), ({"crash_before_recording": "build"}, 2)]
)
def test_a_step_is_done_again_only_if_it_was_not_recorded(where: dict[str, Any], calls: int) -> None:
    result = run_job(declare(menu), at=SIX_IN_NEW_YORK, **where)

    assert (result.status, result.attempts) == ("SUCCEEDED", 2)
    assert [call.idempotency_key for call in result.calls["build"]] == [
        "test/menu@2026-10-30T10:00:00Z/build"
    ] * calls
    assert [call.attempt for call in result.calls["build"]] == [1, 2][:calls]


def test_another_worker_goes_on_when_the_claim_has_run_out_and_the_backoff_is_over() -> None:
    result = run_job(declare(menu), at=SIX_IN_NEW_YORK, crash_after="build")
    assert result.duration == 3 * MINUTE  # 60 s of claim + 10 s, at a tick; 30 s of backoff, at a tick
    assert result.invocations == 2


def test_a_dead_worker_calls_no_function_and_writes_nothing_though_its_job_swallows_the_death() -> None:
    done: list[str] = []

    def stubborn(run: Run) -> None:
        for name in ("a", "b"):
            with suppress(BaseException):
                run.step(name, done.append, f"{name}{run.attempt}")

    result = run_job(declare(stubborn), crash_before_recording="a")
    assert (result.status, result.attempts) == ("SUCCEEDED", 2)
    assert done == ["a1", "a2", "b2"]


def test_a_crash_with_several_items_at_once_ends_the_worker() -> None:
    def many(run: Run) -> None:
        run.each("send", range(40), str, checkpoint_every=5, concurrency=4)

    result = run_job(declare(many), crash_before_recording="send:12")
    assert (result.status, result.attempts) == ("SUCCEEDED", 2)
    assert set(keys(result, "send")) == {str(number) for number in range(40)}
    assert 40 < len(result.calls["send"]) <= 40 + 5 + 4


def test_an_at_most_once_step_whose_worker_died_asks_a_person() -> None:
    paid: list[int] = []

    def pay(run: Run) -> None:
        run.once("pay", paid.append, 7)

    result = run_job(declare(pay), crash_before_recording="pay")
    assert (result.status, result.reason, paid) == ("FAILED", "step_uncertain", [7])
    assert [notice.kind for notice in result.notices] == ["opened"]
    assert run_job(declare(pay), crash_after="pay").status == "SUCCEEDED"


def test_an_at_most_once_step_that_did_nothing_is_done_again() -> None:
    refusals = [NotDone("refused"), None]

    def pay() -> str:
        refusal = refusals.pop(0)
        if refusal:
            raise refusal
        return "paid"

    result = run_job(declare(lambda run: run.once("pay", pay)))
    assert (result.status, result.attempts, result.steps) == ("SUCCEEDED", 2, {"pay": "paid"})


def test_what_a_job_raises_is_kept_with_the_notice_that_people_would_get() -> None:
    def fails(run: Run) -> None:
        run.step("build", str, 1)
        raise RuntimeError(f"no soup {run.attempt}")

    result = run_job(declare(fails, retry=Retry(attempts=2, base="10m")), at=SIX_IN_NEW_YORK)
    assert (result.status, result.reason, result.attempts) == ("FAILED", "error", 2)
    assert [str(error) for error in result.raised] == ["no soup 1", "no soup 2"]
    assert result.error == "RuntimeError: no soup 2"
    assert [notice.kind for notice in result.notices] == ["opened"]
    assert "menu" in result.notices[0].subject
    assert (result.duration, len(result.calls["build"])) == (11 * MINUTE, 1)


def test_a_permanent_error_ends_the_run_at_once() -> None:
    def fails(_run: Run) -> None:
        raise PermanentError("never")

    assert run_job(declare(fails)).attempts == 1


def test_a_run_that_waits_past_its_grace_is_told_as_missed_and_then_as_over() -> None:
    def late(run: Run) -> None:
        if run.attempt == 1:
            raise RuntimeError("not yet")

    result = run_job(declare(late, grace="5m", retry=Retry(base="12m")))
    assert [notice.kind for notice in result.notices] == ["opened", "closed"]


def test_a_sleep_of_weeks_passes_at_once() -> None:
    def sleepy(run: Run) -> None:
        run.step("order", str, 1)
        run.sleep("delivery", "20d")
        run.step("check", str, 2)

    result = run_job(declare(sleepy), at=SIX_IN_NEW_YORK)
    assert (result.status, result.attempts, result.invocations) == ("SUCCEEDED", 1, 2)
    assert result.steps["delivery"] == SIX_IN_NEW_YORK + 4 * SECOND + timedelta(days=20)
    assert timedelta(days=20) <= result.duration <= timedelta(days=20) + MINUTE
    assert run_job(declare(sleepy), crash_after="delivery").attempts == 2


def test_a_long_run_goes_through_several_invocations() -> None:
    def long(run: Run) -> None:
        run.each("work", range(360), str)

    result = run_job(declare(long, timeout="3h"), takes={"work": "10s"})
    assert (result.status, result.attempts, len(result.calls["work"])) == ("SUCCEEDED", 1, 360)
    assert (result.duration, result.invocations) == (HOUR, 5)


@pytest.mark.parametrize("takes", ["70s", "2m", "14m"])
def test_no_item_is_begun_that_the_invocation_has_no_time_for(takes: str) -> None:
    def long(run: Run) -> None:
        run.each("work", range(24), str, checkpoint_every=50)

    result = run_job(declare(long, timeout="10h"), takes={"work": takes})
    assert (result.status, result.attempts, len(result.calls["work"])) == ("SUCCEEDED", 1, 24)


def test_a_function_that_works_past_the_end_of_its_invocation_is_cut_off() -> None:
    def long(run: Run) -> None:
        run.step("first", str, 1)
        run.step("work", str, 2)

    result = run_job(declare(long, timeout="3h"), takes={"work": "20m"})
    assert (result.status, result.reason, result.attempts) == ("FAILED", "lost", 3)
    assert (len(result.calls["first"]), len(result.calls["work"])) == (1, 3)


def test_items_that_are_done_at_once_share_the_time() -> None:
    def many(run: Run) -> None:
        run.each("work", range(40), str, concurrency=4)

    assert run_job(declare(many), takes={"work": 8 * SECOND}).duration == 80 * SECOND


def test_a_run_past_its_timeout_ends_in_it() -> None:
    def long(run: Run) -> None:
        run.each("work", range(60), str)

    result = run_job(declare(long, timeout="10m"), takes={"work": "2m"})
    assert (result.status, result.reason, len(result.calls["work"])) == ("FAILED", "timeout", 5)


def test_an_input_makes_the_run_a_manual_one_at_any_instant() -> None:
    def asked(run: Run) -> None:
        run.step("note", lambda: [run.trigger, run.input["day"], run.scheduled_at.isoformat()])

    result = run_job(declare(asked), at=SIX_IN_NEW_YORK + 17 * SECOND, input={"day": "friday"})
    assert result.steps["note"] == ["manual", "friday", "2026-10-30T10:00:17+00:00"]
    assert result.run.expect_by is None


def test_without_an_instant_it_is_the_first_occurrence_of_2026() -> None:
    result = run_job(declare(menu))
    assert result.run.ref.scheduled_at == datetime(2026, 1, 5, 11, tzinfo=UTC)


def test_a_lease_of_a_dead_worker_runs_out_as_in_production() -> None:
    def exclusive(run: Run) -> None:
        with lease("export", "10m"):
            run.step("export", str, 1)
        run.step("last", str, 2)

    result = run_job(declare(exclusive), crash_after="export")
    assert (result.status, result.attempts) == ("SUCCEEDED", 3)
    assert [type(error).__name__ for error in result.raised] == ["LeaseHeldError"]


def test_a_key_that_the_author_gives_is_the_one_that_is_seen() -> None:
    def pay(amount: int, **named: str) -> None:
        assert named["idempotency_key"] == "invoice-7"

    result = run_job(declare(lambda run: run.step("pay", pay, 1, idempotency_key="invoice-7")))
    assert result.status == "SUCCEEDED"
    assert [call.idempotency_key for call in result.calls["pay"]] == ["invoice-7"]


def test_misuse_of_a_run_is_told_as_by_the_engine() -> None:
    def wrong(run: Run) -> None:
        run.step("a", "no function")  # type: ignore[arg-type]

    assert "takes a function, not 'no function'" in str(run_job(declare(wrong)).error)
    seven: Any = 7
    assert "items takes a list" in str(run_job(declare(lambda run: run.each("a", seven, str))).error)
    assert "concurrency takes" in str(
        run_job(declare(lambda run: run.each("a", [], str, concurrency=0))).error
    )


def test_a_place_that_no_worker_comes_to_is_an_error_that_names_the_steps() -> None:
    with pytest.raises(
        ValueError, match=r'no worker came to crash_after="sent".*build \(1 call\), send \(60'
    ):
        run_job(declare(menu), crash_after="sent")
    with pytest.raises(ValueError, match="dies once"):
        run_job(declare(menu), crash_after="build", crash_before_recording="send")


def test_a_request_that_makes_no_sense_says_what_it_takes() -> None:
    with pytest.raises(TypeError, match="what @job has made"):
        run_job(menu)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"does not name 2026-10-30 10:00:01Z; its next time after that is 2026"
    ):
        run_job(declare(menu), at=SIX_IN_NEW_YORK + SECOND)
    with pytest.raises(ValueError, match="aware instant"):
        run_job(declare(menu), at=datetime(2026, 10, 30, 10))  # noqa: DTZ001 - the point
    with pytest.raises(ValueError, match="calendar excludes"):
        run_job(declare(menu, exclude=[date(2026, 10, 30)]), at=SIX_IN_NEW_YORK)
    with pytest.raises(ValueError, match="JSON cannot carry the input"):
        run_job(declare(menu), input={1, 2})
    with pytest.raises(ValueError, match="at most 262144 bytes"):
        run_job(declare(menu), input="x" * 262143)
    with pytest.raises(DefinitionError, match=r"takes\['build'\]"):
        run_job(declare(menu), takes={"build": "soon"})
    with pytest.raises(DefinitionError, match=r"takes\['build'\]"):
        run_job(declare(menu), takes={"build": -SECOND})
    with pytest.raises(TypeError, match="takes takes a dict of durations by step"):
        run_job(declare(menu), takes="2s")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match='crash_after takes the name of a step, such as "build"'):
        run_job(declare(menu), crash_after=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="crash_before_recording is empty"):
        run_job(declare(menu), crash_before_recording="")


def test_a_duration_of_a_step_that_the_run_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no worker came to takes\['buld'\]. The run ended SUCCEEDED"):
        run_job(declare(menu), takes={"build": "2s", "buld": "2s"})


def test_an_input_that_is_too_long_for_the_record_reaches_the_job_too() -> None:
    given: list[object] = []
    result = run_job(declare(lambda run: given.append(run.input)), input=["x" * 1000])
    assert (result.status, given) == ("SUCCEEDED", [["x" * 1000]])


def test_without_limit_of_concurrency_there_are_no_slots_to_take() -> None:
    result = run_job(declare(menu, schedule=Every(HOUR), concurrency=None), crash_after="build")
    assert (result.status, result.run.fencing_token) == ("SUCCEEDED", 2)


def test_the_examples_run() -> None:
    assert doctest.testmod(sys.modules["cronce.testing.job_run"]) == doctest.TestResults(
        failed=0, attempted=4
    )
