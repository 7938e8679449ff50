"""An operator sets a job back, and planning goes over its past again.

Invariants:
- what has a record, or lies in a gap that is not given up, is accounted for once before and after;
- what nothing accounts for is planned by the schedule in force and the job's policy, and nothing else is;
- where nothing can be planned again, or a gap would be torn, it is refused with what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cronce.core.acts import Act, What
from cronce.core.errors import OperationRefusedError
from cronce.core.found import Unread
from cronce.core.job_change import JobChange
from cronce.core.jobstate import Gap, GapReason, Held, Settled
from cronce.core.records import RunRecord
from cronce.core.rewinding import MOST_GAPS, MOST_TIMES, Past, missing, rewound, times_after
from cronce.core.run import RunStatus
from cronce.core.schedule import Cron
from tests.core.planned_job import DAY, HOUR, MINUTE, RETENTION, Planned, at, declare, spans

HOURLY = Cron("0 * * * *")
NOON = at("2026-01-05 12:00:04")
SECOND = timedelta(seconds=1)


def planned(policy: str = "all", schedule: Cron = HOURLY, seen: str = "2026-01-05 05:30:04") -> Planned:
    """A job that ran every hour from six to noon."""
    menu = Planned(declare(schedule, catch_up=policy, max_lateness="2d"), at(seen))
    for hour in range(6, 13):
        menu.tick(at(f"2026-01-05 {hour:02}:00:04"))
    return menu


def rewind(
    menu: Planned,
    to: datetime,
    *,
    now: datetime = NOON + MINUTE,
    replan_gaps: bool = False,
    unread: Sequence[Unread] = (),
) -> JobChange:
    """As the command does it, on what is left of the ledger."""
    times = times_after(menu.state, to, now, RETENTION)
    runs = {run.ref: run for run in menu.runs if run.ref.scheduled_at in times}
    past = Past(times=times, runs=runs, gaps=menu.gaps, unread=unread, replan_gaps=replan_gaps)
    change = rewound(menu.state, to, past, Act(what=What.REWIND, at=now, by="ann", why=""))
    menu.state = change.after
    menu.gaps = [gap for gap in menu.gaps if gap not in change.gaps]
    return change


def lose(menu: Planned, *hours: int) -> list[RunRecord]:
    """Records that are gone."""
    gone = [run for run in menu.runs if run.ref.scheduled_at.hour in hours]
    menu.runs = [run for run in menu.runs if run not in gone]
    return gone


def hours(times: Sequence[datetime]) -> list[int]:
    return [when.hour for when in times]


@pytest.mark.parametrize("policy", ["all", "latest", "skip"])
def test_what_nothing_accounts_for_is_planned_again_and_each_time_has_one_entry(policy: str) -> None:
    menu = planned(policy)
    lose(menu, 8, 9, 11)

    back = at("2026-01-05 06:30:00")

    change = rewind(menu, back)
    assert hours(missing(change, times_after(change.before, back, NOON, RETENTION))) == [8, 9, 11]
    window = menu.tick(NOON + 2 * MINUTE)

    assert set(menu.accounts().values()) == {1}
    assert len(menu.accounts()) == 7
    ran = {"all": [8, 9, 11], "latest": [11], "skip": []}[policy]
    planned_now = [run.ref.scheduled_at for run in window.runs if run.status is not RunStatus.SKIPPED]
    assert hours(planned_now) == ran
    assert (menu.state.settled, menu.state.held, menu.state.planned_to) == ((), None, NOON + 2 * MINUTE)


def test_the_job_is_due_at_once_with_its_grace_from_now() -> None:
    menu = planned()
    lose(menu, 8)

    after = rewind(menu, at("2026-01-05 06:30:00")).after

    assert (after.planned_to, after.next_at, after.due_at) == (
        at("2026-01-05 06:30:00"),
        at("2026-01-05 07:00:00"),
        at("2026-01-05 07:00:00"),
    )
    assert after.expect_by == NOON + MINUTE + menu.declared.grace
    assert after.settled == (
        Settled(first=at("2026-01-05 07:00:00"), last=at("2026-01-05 07:00:00")),
        Settled(first=at("2026-01-05 09:00:00"), last=at("2026-01-05 12:00:00")),
    )
    assert after.act is not None
    assert after.act.what is What.REWIND


def test_the_time_that_it_is_set_back_to_is_not_looked_at_the_next_one_is() -> None:
    menu = planned()
    lose(menu, 8, 9)

    rewind(menu, at("2026-01-05 08:00:00"))
    menu.tick(NOON + 2 * MINUTE)

    assert 8 not in hours(list(menu.accounts()))
    assert 9 in hours(list(menu.accounts()))


def with_gap() -> Planned:
    """A job that was not planned from seven to ten."""
    menu = Planned(declare(HOURLY, catch_up="latest"), at("2026-01-05 05:30:04"))
    menu.tick(at("2026-01-05 06:00:04"))
    menu.tick(at("2026-01-05 10:00:04"))
    menu.tick(at("2026-01-05 11:00:04"))
    assert spans(menu.gaps) == ["05 07:00 - 05 09:00: 3 superseded"]
    menu.declared = declare(HOURLY, catch_up="all")
    return menu


def test_a_gap_is_left_alone_and_what_is_missing_beside_it_is_planned() -> None:
    menu = with_gap()
    lose(menu, 10)

    rewind(menu, at("2026-01-05 06:30:00"))
    menu.tick(at("2026-01-05 11:30:04"))

    assert spans(menu.gaps) == ["05 07:00 - 05 09:00: 3 superseded"]
    assert set(menu.accounts().values()) == {1}
    assert "05 10:00" in menu.ran


def test_gaps_that_are_given_up_are_judged_by_the_policy_of_today() -> None:
    menu = with_gap()

    change = rewind(menu, at("2026-01-05 06:30:00"), replan_gaps=True)
    menu.tick(at("2026-01-05 11:30:04"))

    assert spans(change.gaps) == ["05 07:00 - 05 09:00: 3 superseded"]
    assert menu.gaps == []
    assert menu.ran == [f"05 {hour:02}:00" for hour in (6, 10, 11, 7, 8, 9)]
    assert set(menu.accounts().values()) == {1}


def test_a_record_in_a_gap_that_is_given_up_stays_the_times_entry() -> None:
    menu = with_gap()
    backfilled = replace(menu.runs[0], ref=replace(menu.runs[0].ref, scheduled_at=at("2026-01-05 08:00:00")))
    menu.runs.append(backfilled)

    rewind(menu, at("2026-01-05 06:30:00"), replan_gaps=True)
    menu.tick(at("2026-01-05 11:30:04"))

    assert set(menu.accounts().values()) == {1}


def test_a_fixed_time_of_a_zone_is_not_taken_for_one_that_ran_before() -> None:
    schedule = Cron("0 6-12 * * *", tz="Europe/Berlin")
    menu = Planned(declare(schedule, catch_up="all", max_lateness="2d"), at("2026-01-05 04:30:04"))
    for hour in range(5, 12):
        menu.tick(at(f"2026-01-05 {hour:02}:00:04"))
    lose(menu, 8)

    rewind(menu, at("2026-01-05 05:30:00"))
    menu.tick(NOON)

    assert menu.skipped == []
    assert "05 08:00" in menu.ran


def test_a_paused_job_is_set_back_and_stays_out_of_the_index() -> None:
    menu = planned()
    lose(menu, 8)
    menu.pause(NOON)

    after = rewind(menu, at("2026-01-05 06:30:00")).after
    assert (after.due_at, after.expect_by, after.paused is not None) == (None, None, True)
    menu.resume(NOON + HOUR)
    menu.tick(NOON + HOUR + MINUTE)

    assert set(menu.accounts().values()) == {1}
    assert {gap.reason for gap in menu.gaps} <= {GapReason.PAUSED}
    assert "05 08:00" in menu.ran


def test_a_stretch_that_does_not_fit_into_a_tick_keeps_what_is_settled_until_it_is_through() -> None:
    minutely = Cron("* * * * *")
    declared = declare(minutely, catch_up="all", catch_up_cap=1000, concurrency=None)
    menu = Planned(declared, at("2026-01-05 05:30:04"))
    menu.tick(at("2026-01-05 05:31:04"))
    for minute in range(32, 60):
        menu.tick(at(f"2026-01-05 05:{minute}:04"))
    menu.tick(at("2026-01-05 08:00:04"))
    while menu.state.held is Held.BEHIND:
        menu.tick(at("2026-01-05 08:00:04"))
    gone = [run for run in menu.runs if run.ref.scheduled_at.minute % 50 >= 10]
    menu.runs = [run for run in menu.runs if run not in gone]

    rewind(menu, at("2026-01-05 05:35:00"), now=at("2026-01-05 08:01:00"))
    ticks = 0
    while menu.state.settled:
        menu.tick(at("2026-01-05 08:01:04"))
        ticks += 1

    assert ticks > 1
    assert set(menu.accounts().values()) == {1}
    looked_at = minutely.between(at("2026-01-05 05:35:00"), at("2026-01-05 08:01:00"))
    assert all(menu.accounts()[when] == 1 for when in looked_at)


def test_a_schedule_that_changes_before_the_next_tick_finds_nothing_twice() -> None:
    menu = planned()
    lose(menu, 8)
    rewind(menu, at("2026-01-05 06:30:00"))
    menu.declared = declare(Cron("30 * * * *"), catch_up="all", max_lateness="2d")

    menu.tick(NOON + 2 * MINUTE)

    assert "05 08:00" in menu.ran
    assert len(menu.ran) == len(set(menu.ran))
    assert menu.state.settled == ()


def set_back_behind_noon_which_was_excluded() -> Planned:
    """A gap from eleven to noon, and eight is lost; the calendar excludes nothing any more."""
    menu = planned()
    menu.runs = [run for run in menu.runs if run.ref.scheduled_at.hour not in (11, 12)]
    first, last = at("2026-01-05 11:00:00"), at("2026-01-05 12:00:00")
    excluded = GapReason.EXCLUDED
    menu.gaps = [Gap(job="menu", first=first, last=last, count=2, reason=excluded, created_at=NOON)]
    lose(menu, 8)
    rewind(menu, at("2026-01-05 06:30:00"), now=NOON + SECOND)
    return menu


def test_a_schedule_adopted_within_the_minute_leaves_a_time_alone_that_a_gap_accounts_for() -> None:
    menu = set_back_behind_noon_which_was_excluded()
    menu.declared = declare(Cron("0,30 * * * *"), catch_up="all", max_lateness="2d")

    menu.tick(NOON + 2 * SECOND)
    menu.tick(NOON + 3 * SECOND)
    menu.tick(NOON + 30 * MINUTE)

    assert "05 08:00" in menu.ran
    assert "05 12:00" not in menu.ran
    assert menu.ran[-1] == "05 12:30"
    assert menu.state.settled == ()


def test_a_time_that_only_the_adopted_schedule_names_is_planned_though_times_around_it_are_settled() -> None:
    """Another host's clock was two minutes ahead: what it planned lies beyond the tick that adopts."""
    menu = set_back_behind_noon_which_was_excluded()
    menu.declared = declare(Cron("0,59 * * * *"), catch_up="all", max_lateness="2d")

    menu.tick(NOON - 2 * MINUTE)
    menu.tick(NOON - MINUTE)
    menu.tick(NOON + MINUTE)

    assert [when for when in menu.ran if when > "05 11:00"] == ["05 11:59"]


def test_a_schedule_that_cannot_be_read_when_another_is_adopted_leaves_settled_times_alone() -> None:
    menu = set_back_behind_noon_which_was_excluded()
    menu.state = replace(menu.state, schedule={"kind": "moon"}, schedule_hash="moon")

    window = menu.tick(NOON + 2 * SECOND)
    menu.tick(NOON + 3 * SECOND)

    assert window.gaps == ()  # seven, the only time that is known, has its record
    assert "05 12:00" not in menu.ran


def test_a_job_that_begins_anew_after_it_was_set_back_has_no_time_in_two_gaps() -> None:
    menu = set_back_behind_noon_which_was_excluded()
    menu.state = replace(menu.state, removed_at=NOON + MINUTE)

    menu.tick(NOON + 2 * DAY)

    assert spans(menu.gaps)[1:] == ["05 08:00 - 05 08:00: 1 removed", "05 13:00 - 07 11:00: 47 removed"]
    assert set(menu.accounts().values()) == {1}


def test_a_tick_whose_clock_is_behind_what_is_settled_keeps_it() -> None:
    menu = set_back_behind_noon_which_was_excluded()

    menu.tick(NOON - MINUTE)
    menu.tick(NOON + MINUTE)

    assert set(menu.accounts().values()) == {1}


def spoiled(sk: str) -> Unread:
    return Unread(job="menu", sk=sk, problem=f"item JOB#menu / {sk} is spoiled")


SPOILED_RUN = spoiled("RUN#2026-01-05T08:00:00Z")
SPOILED_GAP = spoiled("GAP#2026-01-05T09:00:00Z#2026-01-05T10:00:00Z#late")


def test_what_a_spoiled_record_or_gap_accounts_for_is_settled_and_not_planned_again() -> None:
    menu = planned()
    lose(menu, 7, 8, 9, 10)

    change = rewind(menu, at("2026-01-05 06:30:00"), unread=(SPOILED_RUN, SPOILED_GAP))
    window = menu.tick(NOON + 2 * MINUTE)

    assert hours([run.ref.scheduled_at for run in window.runs]) == [7]
    assert change.after.is_settled(at("2026-01-05 10:00:00"))


def test_a_spoiled_gap_is_not_given_up_and_a_rewind_that_it_leaves_nothing_to_names_it() -> None:
    menu = planned()
    lose(menu, 8)

    with pytest.raises(OperationRefusedError, match=r"not given up; .*: item JOB#menu / GAP#2026-01-05T09"):
        rewind(menu, at("2026-01-05 06:30:00"), replan_gaps=True, unread=(SPOILED_GAP,))
    with pytest.raises(OperationRefusedError, match="not given up"):
        rewind(menu, at("2026-01-05 06:30:00"), replan_gaps=True, unread=(spoiled("GAP#nonsense"),))
    with pytest.raises(OperationRefusedError, match="account for some: item JOB#menu / GAP#nonsense is"):
        rewind(menu, at("2026-01-05 06:30:00"), unread=(spoiled("GAP#nonsense"),))
    long_ago = spoiled("GAP#2026-01-04T09:00:00Z#2026-01-04T10:00:00Z#late")
    change = rewind(menu, at("2026-01-05 06:30:00"), replan_gaps=True, unread=(long_ago,))
    assert missing(change, [at("2026-01-05 08:00:00")])


def test_set_back_twice_before_a_tick_it_plans_what_is_missing_and_nothing_else() -> None:
    menu = planned("latest")
    lose(menu, 7, 10)
    rewind(menu, at("2026-01-05 09:30:00"))

    rewind(menu, at("2026-01-05 06:30:00"))
    window = menu.tick(NOON + 2 * MINUTE)

    assert hours([run.ref.scheduled_at for run in window.runs if run.status is not RunStatus.SKIPPED]) == [10]
    assert set(menu.accounts().values()) == {1}


# --- refused ------------------------------------------------------------------------------------------


def test_when_all_is_accounted_for_there_is_nothing_to_do() -> None:
    with pytest.raises(OperationRefusedError, match=r"has 6 times.*accounted for; there is nothing"):
        rewind(planned(), at("2026-01-05 06:30:00"))
    with pytest.raises(OperationRefusedError, match="1 of its gaps among them: say so if those"):
        rewind(with_gap(), at("2026-01-05 06:30:00"))
    with pytest.raises(OperationRefusedError, match="has 0 times"):
        rewind(planned(), NOON - MINUTE + 58 * timedelta(seconds=1))


def test_it_goes_back_and_not_further_than_records_last() -> None:
    menu = planned()
    with pytest.raises(OperationRefusedError, match="is planned up to 2026-01-05T12:00:04"):
        rewind(menu, menu.state.planned_to)
    with pytest.raises(OperationRefusedError, match="what is older may be forgotten"):
        rewind(menu, NOON + MINUTE - RETENTION + DAY - timedelta(milliseconds=1))


def test_too_much_is_refused_with_what_to_do() -> None:
    minutely = planned(schedule=Cron("* * * * *"))
    with pytest.raises(OperationRefusedError, match=rf"than {MOST_TIMES} times.*backfill what is missing"):
        rewind(minutely, NOON - 4 * DAY)
    patchy = planned(schedule=Cron("* * * * *"))
    patchy.runs = [run for run in patchy.runs if run.ref.scheduled_at.minute % 2]
    patchy.gaps = []
    first = patchy.runs[0]
    every_other = [
        replace(first, ref=replace(first.ref, scheduled_at=at("2026-01-05 06:01:00") + 2 * number * MINUTE))
        for number in range(60)
    ]
    patchy.runs = every_other
    with pytest.raises(OperationRefusedError, match="more than 50 holes there: backfill them instead"):
        rewind(patchy, at("2026-01-05 06:00:00"))


def test_a_gap_is_not_torn() -> None:
    with pytest.raises(OperationRefusedError, match="from 2026-01-05T07:00:00Z to 2026-01-05T09:00:00Z"):
        rewind(with_gap(), at("2026-01-05 07:00:00"), replan_gaps=True)
    menu = with_gap()
    lose(menu, 10)
    rewind(menu, at("2026-01-05 07:00:00"))
    menu.tick(at("2026-01-05 11:30:04"))
    assert set(menu.accounts().values()) == {1}


def test_no_more_gaps_are_given_up_than_a_transaction_takes() -> None:
    menu = planned()
    one = Gap(job="menu", first=NOON, last=NOON, count=1, reason=GapReason.LATE, created_at=NOON)
    times = [at("2026-01-05 07:00:00") + number * MINUTE for number in range(MOST_GAPS + 1)]
    menu.gaps = [replace(one, first=when, last=when) for when in times]
    with pytest.raises(OperationRefusedError, match="has 91 gaps there, and at most 90"):
        rewind(menu, at("2026-01-05 06:30:00"), replan_gaps=True)


def test_a_schedule_that_cannot_be_read_is_one_line() -> None:
    menu = planned()
    menu.state = replace(menu.state, schedule={"kind": "moon"})
    with pytest.raises(OperationRefusedError, match="its schedule cannot be read"):
        rewind(menu, at("2026-01-05 06:30:00"))
