"""Every value of every policy, through the handlers that Lambda calls.

Invariants:
- what a policy says becomes of a time is what the ledger says of it: a record with its reason, or a gap;
- neither do late runs keep on-time ones from running for ever, nor the reverse;
- a run keeps the times of all its attempts.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.aws.dynamodb import make_client
from cronce.aws.store import DynamoStore
from cronce.core.records import RunRecord
from tests.functions.deployed import DUE, MINUTE, RUNS, START, STEPS, Deployed

HOUR = timedelta(hours=1)
NOTHING = "pass"
SLEEPS = "run.sleep('a long time', '{}')"
"""A run that sleeps keeps its slot, and no invocation is running meanwhile."""


def declare(stack: Deployed, policies: str, body: str = NOTHING, cron: str = "0 * * * *") -> None:
    """Deploy the job `menu` with these policies, and let its first tick see it before it is due."""
    stack.job(
        "menu",
        "from datetime import date, datetime, timedelta\n"
        "from cronce import Cron, PermanentError, Retry, RetryAfter, job\n"
        "WORKED = []\n"
        f"@job('menu', schedule=Cron('{cron}'), {policies})\n"
        "def menu(run):\n"
        "    WORKED.append(run.scheduled_at.hour)\n"
        f"    {body}\n",
    )
    stack.tick()


def store(stack: Deployed) -> DynamoStore:
    return DynamoStore(
        make_client(), runs_table=RUNS, steps_table=STEPS, clock=stack.clock, retention=timedelta(days=400)
    )


def records(stack: Deployed) -> list[RunRecord]:
    found = store(stack).runs.runs("menu", START - 40 * 24 * HOUR, stack.clock.now(), 1000).records
    return sorted(found, key=lambda run: run.ref)


def ledger(stack: Deployed) -> list[str]:
    """What became of each hour: `10 SUCCEEDED`, or `11-13 superseded` for a gap."""
    entries = [
        (
            run.ref.scheduled_at,
            f"{run.ref.scheduled_at:%H} {run.status}" + (f" {run.reason}" if run.reason else ""),
        )
        for run in records(stack)
    ]
    entries += [
        (gap.first, f"{gap.first:%H}-{gap.last:%H} {gap.reason}")
        for gap in store(stack).runs.gaps("menu").records
    ]
    return [text for _, text in sorted(entries)]


def outage(stack: Deployed, hours: float) -> None:
    """Nobody ticks from before the first time until so long after it; then two ticks, and all they start."""
    for minute in (0, 1):
        stack.tick(DUE + hours * HOUR + minute * MINUTE)
        stack.settle()


# --- catch_up, max_lateness, catch_up_cap ---


@pytest.mark.parametrize(
    "policies, expected",
    [
        ("catch_up='latest'", ["10-12 superseded", "13 SUCCEEDED"]),
        ("catch_up='all'", ["10 SUCCEEDED", "11 SUCCEEDED", "12 SUCCEEDED", "13 SUCCEEDED"]),
        ("catch_up='skip'", ["10-13 late"]),
        ("catch_up='all', catch_up_cap=2", ["10-11 catch_up_limit", "12 SUCCEEDED", "13 SUCCEEDED"]),
        ("catch_up='all', max_lateness='100m'", ["10-11 late", "12 SUCCEEDED", "13 SUCCEEDED"]),
        ("catch_up='latest', max_lateness='20m'", ["10-13 late"]),
    ],
)
def test_what_becomes_of_times_missed_in_an_outage(
    stack: Deployed, policies: str, expected: list[str]
) -> None:
    declare(stack, policies)
    outage(stack, hours=3.5)
    assert ledger(stack) == expected


# --- exclude ---


@pytest.mark.parametrize("calendar", ["[date(2026, 3, 8)]", "lambda day: day.weekday() == 6"])
def test_an_excluded_day_is_recorded_and_not_run(stack: Deployed, calendar: str) -> None:
    declare(stack, f"exclude={calendar}")
    stack.minutes(0, 1, 60, 61, 75, 76)
    assert ledger(stack) == ["10 SKIPPED excluded", "11 SKIPPED excluded"]
    assert stack.module("menu").WORKED == []
    assert stack.heard() == [], "nobody is told of what was meant"


# --- concurrency and overlap ---


@pytest.mark.parametrize(
    "policies, third",
    [
        ("concurrency=1, overlap='skip'", "12 SKIPPED overlap"),
        ("concurrency=1, overlap='queue'", "12 WAITING queued"),
        ("concurrency=2, overlap='skip'", "12 SKIPPED overlap"),
        ("concurrency=3, overlap='skip'", "12 WAITING sleep"),
        ("concurrency=None", "12 WAITING sleep"),
    ],
)
def test_what_becomes_of_an_on_time_run_when_the_slots_are_full(
    stack: Deployed, policies: str, third: str
) -> None:
    declare(stack, f"timeout='10h', {policies}", SLEEPS.format("5h"))
    stack.minutes(0, 60, 120)
    assert ledger(stack)[2] == third


def test_queued_runs_start_oldest_first_when_a_slot_becomes_free(stack: Deployed) -> None:
    declare(stack, "overlap='queue'", SLEEPS.format("85m"))
    stack.minutes(*range(0, 5 * 60, 15))
    assert ledger(stack) == [
        "10 SUCCEEDED",
        "11 SUCCEEDED",
        "12 SUCCEEDED",
        "13 WAITING sleep",
        "14 WAITING queued",
    ]


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_on_time_runs_run_again_once_late_ones_are_done_and_late_ones_are_never_pushed_out(
    stack: Deployed, overlap: str
) -> None:
    """Four hours are made up at half an hour each, while each hour brings a new time."""
    declare(stack, f"catch_up='all', overlap='{overlap}'", SLEEPS.format("25m"))
    stack.minutes(*(30 * half_hour for half_hour in range(7, 20)))
    entries = ledger(stack)
    late, on_time = entries[:4], entries[4:-1]
    assert {entry[3:] for entry in late} == {"SUCCEEDED"}, "each late one had its turn"
    assert [entry[3:] for entry in on_time[-2:]] == 2 * ["SUCCEEDED"], "and then each on-time one"
    skipped = [entry for entry in on_time if entry[3:] == "SKIPPED overlap"]
    assert bool(skipped) is (overlap == "skip"), "only `skip` gives up times while the late ones run"


# --- retry, timeout, grace ---


def test_a_run_keeps_the_times_and_errors_of_all_its_attempts(stack: Deployed) -> None:
    declare(stack, "retry=Retry(attempts=3, base='4m', cap='4m')", "raise ValueError(f'try {run.attempt}')")
    stack.minutes(*range(20))
    (run,) = [each for each in records(stack) if each.ref.scheduled_at == DUE]
    assert (run.status, run.reason, run.attempt) == ("FAILED", "error", 3)
    earlier = store(stack).steps.attempts(run.ref)
    assert [(each.number, each.outcome, each.error) for each in earlier] == [
        (1, "error", "ValueError: try 1"),
        (2, "error", "ValueError: try 2"),
    ]
    times = [(each.started_at, each.ended_at) for each in earlier] + [(run.attempt_started_at, run.ended_at)]
    flat = [time for pair in times for time in pair if time is not None]
    assert len(flat) == 6
    assert flat == sorted(flat)
    assert flat[-1] - flat[0] <= 2 * 5 * MINUTE, "two pauses, each at most four minutes and a tick"


@pytest.mark.parametrize(
    "policies, body, attempts, reason",
    [
        ("retry=Retry(attempts=1)", "raise ValueError('x')", 1, "error"),
        ("retry=Retry(attempts=2, base='1s')", "raise ValueError('x')", 2, "error"),
        ("retry=Retry(attempts=5)", "raise PermanentError('no such table')", 1, "error"),
        ("retry=Retry(attempts=2)", "raise RetryAfter('3m')", 2, "error"),
    ],
)
def test_how_often_a_failing_run_is_tried(
    stack: Deployed, policies: str, body: str, attempts: int, reason: str
) -> None:
    declare(stack, policies, body)
    stack.minutes(*range(12))
    (run,) = records(stack)
    assert (run.status, run.reason, run.attempt) == ("FAILED", reason, attempts)


def test_retry_after_chooses_the_time_of_the_next_attempt(stack: Deployed) -> None:
    declare(stack, "retry=Retry(attempts=2)", "run.attempt == 2 or (_ for _ in ()).throw(RetryAfter('7m'))")
    stack.minutes(*range(12))
    (run,) = records(stack)
    assert (run.status, run.attempt) == ("SUCCEEDED", 2)
    (first,) = store(stack).steps.attempts(run.ref)
    assert run.attempt_started_at is not None
    assert 7 * MINUTE <= run.attempt_started_at - first.ended_at <= 8 * MINUTE


def test_sleep_is_no_work_that_the_timeout_bounds(stack: Deployed) -> None:
    declare(stack, "timeout='5m'", SLEEPS.format("3h"))
    stack.minutes(0, 179, 181)
    assert ledger(stack)[0] == "10 SUCCEEDED"


def test_a_run_is_told_as_missed_once_its_grace_is_over_and_not_before(stack: Deployed) -> None:
    declare(stack, "grace='30m'")
    for minute in (0, 20, 28, 30, 31):
        stack.tick(DUE + minute * MINUTE)
        stack.stream_event()  # lost, and no invocation arrives either
        stack.cloud.invocations.clear()
        stack.patrol(DUE + minute * MINUTE)
    assert stack.values("JobsMissed") == [0, 0, 0, 1, 1]
    ((subject, _),) = stack.heard()
    assert "menu" in subject
