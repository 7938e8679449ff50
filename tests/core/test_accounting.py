"""What became of each occurrence.

Invariants:
- each occurrence of the schedule, each scheduled run and each gap of a stretch is in exactly one answer;
- the ledger outranks the schedule, and a run inside a gap outranks the gap;
- only success is a yes, and a day without any occurrence is a no.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core.accounting import Account, Books, ran
from cronce.core.found import Unread
from cronce.core.jobstate import Gap, GapReason, JobState, Pause
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import Reason, RunStatus, Trigger
from cronce.core.schedule import Cron
from cronce.core.verdicts import Verdict

DAY = datetime(2026, 3, 10, tzinfo=UTC)
NEXT = DAY + timedelta(days=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
EVENING = DAY + 20 * HOUR
GRACE = 15 * MINUTE
SIX = Cron("0 6 * * *")
HOURLY = Cron("0 * * * *")


def job(**changes: Any) -> JobState:
    state = JobState(
        name="menu",
        module="jobs.menu",
        schedule={},
        schedule_hash="hash",
        grace=GRACE,
        planned_to=EVENING,
        planned_local=EVENING.replace(tzinfo=None),
        next_at=None,
        expect_by=None,
        due_at=None,
    )
    return replace(state, **changes)


def run(at: datetime, status: RunStatus, reason: Reason | None = None, **changes: Any) -> RunRecord:
    record = RunRecord(
        ref=RunRef("menu", at),
        status=status,
        reason=reason,
        created_at=at,
        scheduled_local=at.isoformat(),
        timeout=GRACE,
        max_attempts=3,
        ended_at=at + MINUTE if status.is_final else None,
        expect_by=at + GRACE,
    )
    return replace(record, **changes)


def gap(first: datetime, last: datetime, count: int) -> Gap:
    return Gap(job="menu", first=first, last=last, count=count, reason=GapReason.PAUSED, created_at=last)


def books(
    *runs: RunRecord,
    schedule: Cron | None = SIX,
    gaps: tuple[Gap, ...] = (),
    unread: tuple[Unread, ...] = (),
    now: datetime = EVENING,
    **changes: Any,
) -> Books:
    return Books(state=job(**changes), schedule=schedule, runs=runs, gaps=gaps, unread=unread, now=now)


def spoiled(sk: str) -> Unread:
    return Unread(job="menu", sk=sk, problem="it is spoiled")


def the_one(found: Books) -> Account:
    (account,) = found.accounts(DAY, NEXT)
    return account


AT_SIX = DAY + 6 * HOUR
SPOILED_RUN = spoiled("RUN#2026-03-10T06:00:00Z")
SPOILED_GAP = spoiled("GAP#2026-03-10T05:00:00Z#2026-03-10T07:00:00Z#paused")


@pytest.mark.parametrize("item", [SPOILED_RUN, SPOILED_GAP, spoiled("GAP#nonsense")])
def test_a_time_whose_entry_cannot_be_read_is_not_called_unrecorded(item: Unread) -> None:
    account = the_one(books(unread=(item,)))

    assert (account.outcome, account.unread) == (Verdict.UNREADABLE, item)
    assert not ran([account])


def test_what_can_be_read_outranks_a_gap_that_cannot() -> None:
    assert the_one(books(run(AT_SIX, RunStatus.SUCCEEDED), unread=(SPOILED_GAP,))).outcome is Verdict.RAN
    assert the_one(books(gaps=(gap(AT_SIX, AT_SIX, 1),), unread=(SPOILED_GAP,))).outcome is Verdict.SKIPPED
    assert (
        the_one(books(unread=(spoiled("GAP#nonsense"),), now=DAY, planned_to=DAY)).outcome is Verdict.TO_COME
    )


def test_what_cannot_be_read_is_answered_for_though_the_schedule_does_not_name_its_time() -> None:
    for item, at in ((SPOILED_RUN, AT_SIX), (SPOILED_GAP, AT_SIX - HOUR)):
        account = the_one(books(schedule=Cron("0 6 1 1 *"), unread=(item,)))
        assert (account.at, account.outcome, account.unread) == (at, Verdict.UNREADABLE, item)
    assert (
        books(schedule=Cron("0 6 1 1 *"), unread=(spoiled("RUN#2026-03-10T06:00:00Z#a1"),)).accounts(
            DAY, NEXT
        )
        == []
    )


@pytest.mark.parametrize(
    "record, outcome",
    [
        (run(AT_SIX, RunStatus.SUCCEEDED), Verdict.RAN),
        (run(AT_SIX, RunStatus.SUCCEEDED, ended_at=AT_SIX + GRACE), Verdict.RAN),
        (run(AT_SIX, RunStatus.SUCCEEDED, ended_at=AT_SIX + GRACE + MINUTE), Verdict.LATE),
        (run(AT_SIX, RunStatus.FAILED, Reason.ERROR), Verdict.FAILED),
        (run(AT_SIX, RunStatus.SKIPPED, Reason.OVERLAP), Verdict.SKIPPED),
        (run(AT_SIX, RunStatus.CANCELLED, Reason.OPERATOR), Verdict.CANCELLED),
        (run(AT_SIX, RunStatus.RUNNING, expect_by=EVENING + MINUTE), Verdict.UNDER_WAY),
        (run(AT_SIX, RunStatus.WAITING, Reason.QUEUED, expect_by=None), Verdict.UNDER_WAY),
        (run(AT_SIX, RunStatus.RUNNING), Verdict.MISSED),
        (run(AT_SIX, RunStatus.SUCCEEDED, trigger=Trigger.BACKFILL, ended_at=EVENING), Verdict.LATE),
    ],
    ids=[
        "in time", "at the end of its grace", "after it", "failed", "skipped", "cancelled", "under way",
        "queued", "overdue", "backfilled",
    ],
)  # fmt: skip
def test_a_run_says_what_became_of_its_time(record: RunRecord, outcome: Verdict) -> None:
    account = the_one(books(record))
    assert (account.at, account.outcome, account.run) == (AT_SIX, outcome, record)


def test_a_time_in_a_gap_was_skipped_for_the_gaps_reason() -> None:
    paused = gap(AT_SIX - 24 * HOUR, AT_SIX + 24 * HOUR, 3)
    account = the_one(books(gaps=(paused,)))
    assert (account.outcome, account.gap) == (Verdict.SKIPPED, paused)


def test_a_run_inside_a_gap_outranks_it() -> None:
    record = run(AT_SIX, RunStatus.SUCCEEDED, trigger=Trigger.BACKFILL)
    account = the_one(books(record, gaps=(gap(AT_SIX, AT_SIX, 1),)))
    assert (account.outcome, account.gap) == (Verdict.RAN, None)


@pytest.mark.parametrize(
    "now, changes, outcome",
    [
        (AT_SIX - MINUTE, {"planned_to": DAY}, Verdict.TO_COME),
        (AT_SIX + MINUTE, {"planned_to": DAY}, Verdict.DUE),
        (AT_SIX + GRACE + MINUTE, {"planned_to": DAY}, Verdict.MISSED),
        (
            AT_SIX + GRACE + MINUTE,
            {"planned_to": DAY, "next_at": AT_SIX, "due_at": AT_SIX, "expect_by": AT_SIX + HOUR},
            Verdict.DUE,
        ),
        (AT_SIX + HOUR, {"planned_to": DAY, "paused": Pause(at=DAY, by="ann", why="")}, Verdict.DUE),
        (AT_SIX + HOUR, {"planned_to": DAY, "removed_at": DAY}, Verdict.SKIPPED),
        (AT_SIX - HOUR, {"planned_to": DAY, "removed_at": DAY}, Verdict.TO_COME),
        (EVENING, {"planned_to": EVENING}, Verdict.UNRECORDED),
        (EVENING, {"planned_to": EVENING, "began_at": AT_SIX - MINUTE}, Verdict.UNRECORDED),
        (EVENING, {"planned_to": EVENING, "began_at": AT_SIX}, Verdict.NOT_BEGUN),
    ],
    ids=[
        "to come",
        "due",
        "missed",
        "has its grace from a later time",
        "paused",
        "removed",
        "of a removed job",
        "unrecorded",
        "lost since it began",
        "before it began",
    ],
)
def test_a_time_without_a_record(now: datetime, changes: dict[str, Any], outcome: Verdict) -> None:
    assert the_one(books(now=now, **changes)).outcome is outcome


def test_a_run_of_an_earlier_schedule_is_answered_for_at_its_own_time() -> None:
    found = books(run(DAY + 7 * HOUR, RunStatus.SUCCEEDED), run(AT_SIX, RunStatus.SUCCEEDED))
    assert [account.at for account in found.accounts(DAY, NEXT)] == [AT_SIX, DAY + 7 * HOUR]


def test_a_gap_whose_times_nobody_names_any_more_is_one_answer() -> None:
    redefined = gap(DAY - HOUR, DAY + HOUR, 120)
    first, six = books(gaps=(redefined,)).accounts(DAY, NEXT)
    assert (first.at, first.outcome, first.count) == (DAY, Verdict.SKIPPED, 1), "its last time is known"
    (whole, _) = books(gaps=(gap(DAY, DAY + HOUR, 60),)).accounts(DAY, NEXT)
    assert (whole.at, whole.outcome, whole.count) == (DAY, Verdict.SKIPPED, 60)
    assert six.at == AT_SIX


def test_without_a_schedule_the_ledger_still_answers() -> None:
    found = books(run(AT_SIX, RunStatus.SUCCEEDED), schedule=None)
    assert the_one(found).outcome is Verdict.RAN


def test_a_manual_run_is_for_no_occurrence() -> None:
    by_hand = run(AT_SIX, RunStatus.SUCCEEDED, ref=RunRef("menu", AT_SIX, "x1"), trigger=Trigger.MANUAL)
    assert the_one(books(by_hand)).outcome is Verdict.UNRECORDED


def test_only_success_of_all_is_a_yes() -> None:
    good = Account(at=AT_SIX, outcome=Verdict.RAN)
    assert ran([good, Account(at=AT_SIX, outcome=Verdict.LATE)])
    assert not ran([])
    for outcome in set(Verdict) - {Verdict.RAN, Verdict.LATE}:
        assert not ran([good, Account(at=AT_SIX, outcome=outcome)])


@given(
    st.sets(st.integers(0, 23)),
    st.lists(st.tuples(st.integers(-3, 23), st.integers(0, 5)), max_size=3),
    st.integers(0, 24),
    st.integers(-24, 48),
)
def test_each_time_of_the_stretch_is_in_exactly_one_answer(
    hours: set[int], stretches: list[tuple[int, int]], planned: int, now: int
) -> None:
    runs = [run(DAY + hour * HOUR, RunStatus.SUCCEEDED) for hour in hours]
    gaps = tuple(gap(DAY + first * HOUR, DAY + (first + more) * HOUR, more + 1) for first, more in stretches)
    present = DAY + now * HOUR
    found = books(*runs, schedule=HOURLY, gaps=gaps, now=present, planned_to=DAY + planned * HOUR)

    accounts = found.accounts(DAY, NEXT)

    assert [account.at for account in accounts] == HOURLY.between(DAY - MINUTE, NEXT - MINUTE)
    for account in accounts:
        hour = int((account.at - DAY) / HOUR)
        inside = any(first <= hour <= first + more for first, more in stretches)
        assert (account.run is not None) is (hour in hours)
        assert (account.gap is not None) is (inside and hour not in hours)
