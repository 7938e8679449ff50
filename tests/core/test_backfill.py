"""What a backfill would do with each occurrence, and the runs that it makes.

Invariants:
- each occurrence that was asked for has exactly one fate, both ends of the stretch included;
- only what nobody accounts for, or will, gets a run: under the occurrence's own id, watched by nobody;
- a run is PENDING only with a slot that is its own, else it waits behind somebody who will wake it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from cronce.core.acts import Act, What
from cronce.core.backfill import MOST_TIMES, Asked, FillFate, Known, backfill_plan, filled, occurrences
from cronce.core.errors import OperationRefusedError
from cronce.core.found import Unread
from cronce.core.job import job
from cronce.core.jobstate import Gap, GapReason, JobState, Pause, Settled
from cronce.core.records import RunRecord, RunRef, Slots
from cronce.core.run import Dispatch, Reason, RunStatus, Trigger
from cronce.core.schedule import Cron, Schedule

NOW = datetime(2026, 3, 15, 12, 0, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
KEPT = 400 * DAY
HOURLY = Cron("0 * * * *")
ACT = Act(what=What.BACKFILL, at=NOW, by="ann", why="lost in the move")


def at(hour: int, day: int = 15) -> datetime:
    return datetime(2026, 3, day, hour, tzinfo=UTC)


def state(schedule: Schedule = HOURLY, **values: Any) -> JobState:
    known: dict[str, Any] = {
        "module": "jobs.menu",
        "schedule": schedule.spec(),
        "schedule_hash": "hash",
        "grace": 15 * MINUTE,
        "planned_to": at(10) + MINUTE,
        "planned_local": datetime(2026, 3, 15, 10),  # noqa: DTZ001 - a wall time
        "next_at": at(11),
        "expect_by": at(11) + 15 * MINUTE,
        "due_at": at(11),
    }
    return JobState(name="menu", **{**known, **values})


def record(
    when: datetime, status: RunStatus = RunStatus.SUCCEEDED, reason: Reason | None = None
) -> RunRecord:
    return RunRecord(
        ref=RunRef("menu", when),
        status=status,
        reason=reason,
        created_at=when,
        scheduled_local="",
        timeout=MINUTE,
        max_attempts=3,
    )


def gap(first: datetime, last: datetime, reason: GapReason = GapReason.LATE) -> Gap:
    return Gap(job="menu", first=first, last=last, count=2, reason=reason, created_at=NOW)


def fates(
    asked: Asked,
    *runs: RunRecord,
    job_state: JobState | None = None,
    gaps: tuple[Gap, ...] = (),
    unread: tuple[str, ...] = (),
    excluded: date | None = None,
) -> list[str]:
    """The fates by hour, with their details."""
    current = job_state or state()
    known = Known(
        runs={run.ref: run for run in runs},
        gaps=gaps,
        unread=[Unread(job="menu", sk=sk, problem=f"{sk[:3]} is spoiled") for sk in unread],
        excluded=lambda when: when.date() == excluded,
        now=NOW,
        retention=KEPT,
    )
    plan = backfill_plan(current, occurrences(current, asked), asked, known)
    assert plan.to_create == tuple(time.at for time in plan.times if time.fate is FillFate.CREATE)
    return [f"{time.at:%d %H} {time.fate} {time.detail}".rstrip() for time in plan.times]


SPOILED = ("RUN#2026-03-15T05:00:00Z", "GAP#2026-03-15T07:00:00Z#2026-03-15T08:00:00Z#late")


def test_what_a_spoiled_record_or_gap_accounts_for_is_left_alone_and_said_to_be() -> None:
    asked = Asked(since=at(4), until=at(8))
    run, gap = "unreadable RUN is spoiled", "unreadable GAP is spoiled"

    assert fates(asked, unread=SPOILED) == [
        "15 04 create", f"15 05 {run}", "15 06 create", f"15 07 {gap}", f"15 08 {gap}",
    ]  # fmt: skip
    assert fates(replace(asked, gaps=True), unread=SPOILED) == [
        "15 04 create", f"15 05 {run}", "15 06 create", "15 07 create", "15 08 create",
    ]  # fmt: skip


def test_a_spoiled_gap_whose_key_says_nothing_may_hold_every_time_that_nothing_else_accounts_for() -> None:
    found = fates(Asked(since=at(4), until=at(6)), record(at(5)), unread=("GAP#nonsense",))

    gap = "unreadable GAP is spoiled"
    assert found == [f"15 04 {gap}", "15 05 record SUCCEEDED", f"15 06 {gap}"]


def test_each_occurrence_has_the_fate_that_is_its_own() -> None:
    asked = Asked(since=at(4), until=at(13))

    found = fates(
        asked,
        record(at(5)),
        record(at(6), RunStatus.SKIPPED, Reason.LATE),
        record(at(12), RunStatus.PENDING),
        gaps=(gap(at(7), at(8)), gap(at(9), at(9), GapReason.EXCLUDED)),
    )

    assert found == [
        "15 04 create",
        "15 05 record SUCCEEDED",
        "15 06 record SKIPPED(late)",
        "15 07 gap late",
        "15 08 gap late",
        "15 09 gap excluded",
        "15 10 create",
        "15 11 planner",
        "15 12 record PENDING",
        "15 13 future",
    ]


def test_both_ends_are_included_and_nothing_beyond_them() -> None:
    assert fates(Asked(since=at(4), until=at(5))) == ["15 04 create", "15 05 create"]
    assert fates(Asked(since=at(4) + MINUTE, until=at(5) - MINUTE)) == []
    assert fates(Asked(since=at(4), until=at(4))) == ["15 04 create"]


def test_times_in_gaps_are_created_when_they_are_asked_for_and_records_outrank_the_gap() -> None:
    asked = Asked(since=at(6), until=at(8), gaps=True)

    assert fates(asked, record(at(7)), gaps=(gap(at(6), at(8)),)) == [
        "15 06 create",
        "15 07 record SUCCEEDED",
        "15 08 create",
    ]


def test_what_the_calendar_excludes_is_not_created_not_even_out_of_a_gap() -> None:
    asked = Asked(since=at(23, day=13), until=at(0, day=14), gaps=True)
    out = gap(at(0, day=13), at(23, day=14), GapReason.EXCLUDED)

    assert fates(asked, excluded=date(2026, 3, 14), gaps=(out,)) == ["13 23 create", "14 00 excluded"]


def test_i16_while_the_job_is_paused_a_person_may_do_what_the_scheduler_will_not() -> None:
    paused = state(paused=Pause(at=at(10), by="ann", why=""))

    assert fates(Asked(since=at(10), until=at(13)), job_state=paused) == [
        "15 10 create",
        "15 11 create",
        "15 12 create",
        "15 13 future",
    ]


def test_what_a_job_that_was_set_back_steps_over_is_not_the_schedulers_to_plan() -> None:
    gap_of_hours = gap(at(7), at(8))
    back = state(planned_to=at(6), settled=(Settled(first=at(7), last=at(8)),))
    asked = Asked(since=at(6), until=at(9))

    assert fates(asked, gaps=(gap_of_hours,), job_state=back) == [
        "15 06 create",
        "15 07 gap late",
        "15 08 gap late",
        "15 09 planner",
    ]
    assert fates(replace(asked, gaps=True), gaps=(gap_of_hours,), job_state=back) == [
        "15 06 create",
        "15 07 create",
        "15 08 create",
        "15 09 planner",
    ]


def test_what_is_so_old_that_its_record_may_be_forgotten_is_not_created() -> None:
    oldest = NOW - KEPT + DAY
    daily = state(Cron("0 12 * * *"))

    found = fates(Asked(since=oldest - 2 * DAY, until=oldest + 2 * DAY), job_state=daily)

    assert found == ["08 12 too_old", "09 12 too_old", "10 12 create", "11 12 create"]


def test_the_schedule_in_force_names_the_times_with_its_zone_and_its_clock_changes() -> None:
    berlin = state(Cron("30 2 * * *", tz="Europe/Berlin"), planned_to=NOW)

    assert fates(Asked(since=at(0, day=13), until=at(23, day=14)), job_state=berlin) == [
        "13 01 create",
        "14 01 create",
    ]


def test_a_stretch_backwards_or_with_too_many_times_is_refused_with_what_to_ask() -> None:
    minutely = state(Cron("* * * * *"))
    longest = Asked(since=at(0, day=1), until=at(0, day=1) + (MOST_TIMES - 1) * MINUTE)
    assert len(occurrences(minutely, longest)) == MOST_TIMES

    with pytest.raises(OperationRefusedError, match="not from 2026-03-15T05:00:00Z to 2026-03-15T04:00:00Z"):
        occurrences(state(), Asked(since=at(5), until=at(4)))
    with pytest.raises(OperationRefusedError, match=r"more than 5000 times.*up to 2026-03-04T11:19:00Z"):
        occurrences(minutely, replace(longest, until=longest.until + MINUTE))
    with pytest.raises(OperationRefusedError, match="its schedule cannot be read"):
        occurrences(replace(state(), schedule={"kind": "moon"}), longest)


@job("menu", schedule=HOURLY, concurrency=2, timeout="2h")
def menu(run: object) -> None:
    """A job with two slots."""


def test_a_backfilled_run_is_the_occurrences_own_and_watched_by_nobody() -> None:
    run = filled(state(Cron("0 6 * * *", tz="Asia/Tokyo")), at(4), menu, ACT).after

    assert (run.ref.id, run.trigger) == ("menu@2026-03-15T04:00:00Z", Trigger.BACKFILL)
    assert (run.status, run.dispatch, run.expect_by) == (RunStatus.PENDING, Dispatch.STREAM, None)
    assert (run.timeout, run.max_attempts, run.act) == (2 * HOUR, 3, ACT)
    assert (run.created_at, run.due_at) == (NOW, NOW + 2 * MINUTE)
    assert run.scheduled_local == "2026-03-15T13:00:00+09:00"


@pytest.mark.parametrize(
    "slots, status, after",
    [
        (Slots(), RunStatus.PENDING, Slots(held=frozenset({"menu@2026-03-15T04:00:00Z"}))),
        (
            Slots(held=frozenset({"a"}), fencing_token=3),
            RunStatus.PENDING,
            Slots(held=frozenset({"a", "menu@2026-03-15T04:00:00Z"}), fencing_token=3),
        ),
        (
            Slots(held=frozenset({"a", "b"})),
            RunStatus.WAITING,
            Slots(held=frozenset({"a", "b"}), queued=1),
        ),
        (
            Slots(held=frozenset({"a"}), queued=1),
            RunStatus.WAITING,
            Slots(held=frozenset({"a"}), queued=2),
        ),
    ],
    ids=["all free", "one free", "none free", "others wait"],
)
def test_it_holds_a_slot_of_its_own_or_waits_behind_others(
    slots: Slots, status: RunStatus, after: Slots
) -> None:
    change = filled(state(slots=slots), at(4), menu, ACT)

    assert change.after.status is status
    assert change.slots is not None
    assert (change.slots.before, change.slots.after) == (slots, after)


def test_a_job_without_limit_has_no_slots_and_no_queue() -> None:
    change = filled(state(), at(4), replace(menu, concurrency=None), ACT)

    assert (change.after.status, change.slots) == (RunStatus.PENDING, None)
