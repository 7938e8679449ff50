"""What became of a time: one judgement for the watchdog and for the commands.

Invariants:
- every run has one verdict, by its grace and by how far it came;
- what is called so is told, or about to be: nobody is blamed in two windows only;
- the watchdog finds a run, or a time without one, exactly if the commands call it missed, overdue or stuck.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core import health
from cronce.core.jobstate import Pause
from cronce.core.records import RunRecord
from cronce.core.run import Reason, RunStatus
from cronce.core.schedule import Cron
from cronce.core.verdicts import CLAIM_OVER, Verdict, of_run, of_unplanned
from tests.contract import makers
from tests.contract.makers import MINUTE, NOW, pending, queued, ref, running

GRACE = 15 * MINUTE
LATER = NOW + GRACE + MINUTE
LATE = {Verdict.MISSED, Verdict.OVERDUE, Verdict.STUCK}


def ended(status: RunStatus, at: datetime = LATER, **values: Any) -> RunRecord:
    return pending(ref(), status=status, ended_at=at, dispatch=None, due_at=None, **values)


@pytest.mark.parametrize(
    "run, verdict",
    [
        (ended(RunStatus.SUCCEEDED, NOW + GRACE), Verdict.RAN),
        (ended(RunStatus.SUCCEEDED, NOW + GRACE + MINUTE / 60), Verdict.LATE),
        (ended(RunStatus.FAILED), Verdict.FAILED),
        (ended(RunStatus.SKIPPED), Verdict.SKIPPED),
        (ended(RunStatus.CANCELLED), Verdict.CANCELLED),
        (pending(ref(), expect_by=LATER), Verdict.UNDER_WAY),
        (pending(ref(), expect_by=None), Verdict.UNDER_WAY),
        (pending(ref()), Verdict.MISSED),
        (queued(ref(), expect_by=NOW + GRACE), Verdict.MISSED),
        (queued(ref(), attempt=1, reason=Reason.BACKOFF, expect_by=NOW + GRACE), Verdict.OVERDUE),
        (running(ref(), claim_until=LATER), Verdict.OVERDUE),
        (running(ref(), claim_until=LATER - CLAIM_OVER), Verdict.OVERDUE),
        (running(ref(), claim_until=LATER - CLAIM_OVER - MINUTE), Verdict.STUCK),
        (running(ref(), claim_until=NOW, expect_by=None), Verdict.UNDER_WAY),
    ],
)
def test_a_run_has_one_verdict(run: RunRecord, verdict: Verdict) -> None:
    assert of_run(run, GRACE, LATER) is verdict


@given(
    status=st.sampled_from(RunStatus),
    attempt=st.integers(0, 2),
    expect_by=st.none() | st.integers(-20, 20),
    claim_until=st.none() | st.integers(-20, 20),
)
def test_the_watchdog_finds_a_run_exactly_if_the_commands_call_it_late(
    status: RunStatus, attempt: int, expect_by: int | None, claim_until: int | None
) -> None:
    run = replace(
        running(ref(), attempt=attempt),
        status=status,
        expect_by=None if expect_by is None else LATER + expect_by * MINUTE,
        claim_until=None if claim_until is None else LATER + claim_until * MINUTE,
    )

    found = health.overdue_run(run, LATER)

    assert (found is not None) == (of_run(run, GRACE, LATER) in LATE)
    assert found is None or found.verdict is of_run(run, GRACE, LATER)


@given(
    minutes=st.integers(0, 60),
    planned=st.integers(0, 30),
    grace=st.integers(1, 20),
    expect_by=st.integers(0, 60),
    change=st.sampled_from(
        [
            {},
            {"paused": Pause(at=NOW, by="ann", why="")},
            {"removed_at": NOW},
        ]
    ),
)
def test_the_watchdog_finds_an_unplanned_time_exactly_if_the_commands_call_it_missed(
    minutes: int, planned: int, grace: int, expect_by: int, change: dict[str, Any]
) -> None:
    start, now = NOW + planned * MINUTE, NOW + minutes * MINUTE + MINUTE / 2
    job = makers.job_state(
        schedule=Cron("* * * * *").spec(),
        grace=grace * MINUTE,
        planned_to=start,
        **{
            "next_at": start + MINUTE,
            "due_at": start + MINUTE,
            "expect_by": NOW + expect_by * MINUTE,
            **change,
        },
    )
    times = [NOW + minute * MINUTE for minute in range(70)]

    found = [finding.time.scheduled_at for finding in health.overdue_times(job, now)]

    assert found == [at for at in times if of_unplanned(at, job, now) is Verdict.MISSED]


@given(ticked=st.integers(-400, 0), back=st.none() | st.integers(-40, 0), planned=st.booleans())
def test_what_the_commands_call_missed_is_told_or_about_to_be(
    ticked: int, back: int | None, planned: bool
) -> None:
    """Nobody is blamed in two windows only, and both end."""
    now = NOW + 2 * MINUTE + MINUTE / 2
    job = makers.job_state(
        schedule=Cron("* * * * *").spec(),
        grace=MINUTE,
        planned_to=NOW,
        next_at=NOW + MINUTE,
        due_at=NOW + MINUTE,
        expect_by=NOW + 2 * MINUTE,
    )
    run = pending(ref(1), expect_by=NOW + 2 * MINUTE)
    finding = health.overdue_run(run, now) if planned else health.overdue_times(job, now)[0]
    assert finding is not None
    completed = now + timedelta(seconds=ticked)
    watch = health.SchedulerWatch(
        completed_at=completed,
        silent=completed < now - health.SILENT_AFTER,
        back_at=None if back is None else now + timedelta(seconds=back),
    )

    before_a_tick = not planned and not watch.silent and completed < finding.time.scheduled_at
    back_at = watch.back_at
    just_back = back_at is not None and finding.time.scheduled_at <= back_at and now < back_at + finding.grace
    held_back = before_a_tick or (not watch.silent and just_back)
    assert (watch.blame(finding, now) is health.Blame.NOBODY) == held_back


def test_a_run_whose_worker_is_gone_is_told_as_such() -> None:
    found = health.overdue_run(running(ref(), claim_until=NOW + MINUTE), NOW + timedelta(days=1))

    assert found is not None
    assert found.time.detail == (
        "attempt 1 of 3 started 2026-01-05T00:00:00.000Z, "
        "and its worker is gone since 2026-01-05T00:01:00.000Z"
    )
