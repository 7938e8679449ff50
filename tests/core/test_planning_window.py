"""Which occurrences a tick accounts for, and what it says about the job afterwards.

Invariants:
- the window is (planned_to, now], whenever ticks come; a job begins a minute before the minute it is first
  seen in;
- while the oldest unplanned occurrence is at most 150 s old, every occurrence runs, whatever the policy;
- `planned_to`, `next_at`, `expect_by` and the place in the index move together, and only when there is
  something to say.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.core.errors import DefinitionError
from cronce.core.jobstate import Held
from cronce.core.planning import first_sight, plan
from cronce.core.run import Dispatch, Notice, Reason, RunStatus, Trigger
from cronce.core.schedule import At, Cron, Every
from cronce.core.verdicts import Verdict, of_unplanned
from tests.core.planned_job import HOUR, MINUTE, RETENTION, Planned, at, declare, moment

POLICIES = ["latest", "all", "skip"]


def test_p20_a_job_first_seen_three_minutes_past_the_hour_begins_with_the_next_hour() -> None:
    hourly = Planned(declare(Cron("0 * * * *")), at("2026-01-05 10:03:00"))

    assert hourly.look(at("2026-01-05 10:03:00")) is None
    hourly.tick(at("2026-01-05 11:00:04"))

    assert hourly.ran == ["05 11:00"]
    assert hourly.gaps == []


def test_p20_the_anchor_is_the_start_of_the_current_minute_less_sixty_seconds() -> None:
    state = Planned(declare(Cron("0 * * * *")), at("2026-01-05 10:03:59.999")).state

    assert state.planned_to == at("2026-01-05 10:02:00")


def test_p30_a_job_deployed_just_before_its_time_runs_at_that_time() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 08:00:04"))

    daily.tick(at("2026-01-05 08:00:04"))
    daily.tick(at("2026-01-05 08:01:04"))

    assert daily.ran == ["05 08:00"]


def test_a_job_first_seen_two_minutes_after_its_time_does_not_run_at_that_time() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 08:01:00"))

    assert daily.look(at("2026-01-05 08:01:00")) is None
    assert daily.state.next_at == at("2026-01-06 08:00:00")


def test_p6_the_due_set_is_everything_after_planned_to_up_to_now() -> None:
    noon = Planned(declare(Cron("0 12 * * *")), at("2026-01-05 10:00:00"))
    noon.state = replace(noon.state, planned_to=at("2026-01-05 11:59:30"))

    noon.tick(at("2026-01-05 12:02:10"))

    assert noon.ran == ["05 12:00"]


def test_p4_a_tick_that_comes_160_s_late_runs_the_time_late() -> None:
    quarterly = Planned(declare(Cron("*/15 * * * *")), at("2026-01-05 12:01:05"))
    assert quarterly.look(at("2026-01-05 12:14:05")) is None

    (run,) = quarterly.tick(at("2026-01-05 12:17:40")).runs

    assert run.ref.scheduled_at == at("2026-01-05 12:15:00")
    assert run.created_at - run.ref.scheduled_at == timedelta(seconds=160)
    assert run.expect_by == run.created_at + quarterly.declared.grace
    assert run.notice is None


def test_p3_a_bound_of_lateness_below_the_ticks_own_jitter_is_refused() -> None:
    with pytest.raises(DefinitionError, match="120 s or more"):
        declare(Cron("0 12 * * *"), max_lateness="10s")


def test_p3_a_tick_70_s_late_runs_a_job_whose_bound_is_120_s() -> None:
    noon = Planned(declare(Cron("0 12 * * *"), max_lateness="120s"), at("2026-01-05 11:00:00"))

    noon.tick(at("2026-01-05 12:01:10"))

    assert noon.ran == ["05 12:00"]


@pytest.mark.parametrize("policy", POLICIES)
def test_i13_one_crashed_tick_drops_nothing_of_an_every_minute_job(policy: str) -> None:
    minutely = Planned(declare(Cron("* * * * *"), catch_up=policy), at("2026-01-05 10:00:02"))
    minutely.tick(at("2026-01-05 10:00:02"))

    minutely.tick(at("2026-01-05 10:02:58"))  # the tick of 10:01 died

    assert minutely.ran == ["05 10:00", "05 10:01", "05 10:02"]
    assert minutely.gaps == []


@pytest.mark.parametrize("policy", POLICIES)
def test_the_oldest_occurrence_decides_and_150_s_is_still_on_time(policy: str) -> None:
    for late, expected in (("10:03:30", ["05 10:01", "05 10:02", "05 10:03"]), ("10:03:30.001", None)):
        minutely = Planned(declare(Cron("* * * * *"), catch_up=policy), at("2026-01-05 10:00:02"))
        minutely.tick(at("2026-01-05 10:00:02"))
        minutely.runs.clear()
        minutely.tick(at(f"2026-01-05 {late}"))
        caught_up = {"latest": ["05 10:03"], "skip": ["05 10:02", "05 10:03"], "all": None}[policy]
        assert minutely.ran == (expected or caught_up or ["05 10:01", "05 10:02", "05 10:03"])


def test_it_is_the_oldest_occurrence_and_not_planned_to_that_decides() -> None:
    """A job that was quiet for hours has an old `planned_to` and nothing to catch up."""
    hourly = Planned(declare(Cron("0 * * * *"), catch_up="skip"), at("2026-01-05 10:03:00"))

    hourly.tick(at("2026-01-05 11:02:30"))

    assert hourly.ran == ["05 11:00"]


def test_an_on_time_run_is_born_ready_to_be_dispatched() -> None:
    daily = Planned(
        declare(Cron("0 8 * * *", tz="Europe/Berlin"), timeout="20m", grace="10m"), at("2026-01-05 06:00:00")
    )
    now = at("2026-01-05 07:00:05")

    (run,) = daily.tick(now).runs

    assert run.ref.id == "menu@2026-01-05T07:00:00Z"
    assert (run.status, run.reason, run.trigger) == (RunStatus.PENDING, None, Trigger.SCHEDULE)
    assert run.scheduled_local == "2026-01-05T08:00:00+01:00"
    assert (run.timeout, run.max_attempts) == (timedelta(minutes=20), 3)
    assert (run.dispatch, run.dispatches, run.due_at) == (Dispatch.STREAM, 0, now + 2 * MINUTE)
    assert run.expect_by == run.ref.scheduled_at + timedelta(minutes=10)
    assert (run.created_at, run.forget_at, run.notice) == (now, None, None)


def test_after_a_window_the_job_expects_its_next_time() -> None:
    daily = Planned(declare(Cron("0 8 * * *", tz="Europe/Berlin"), grace="10m"), at("2026-01-05 06:00:00"))
    now = at("2026-01-05 07:00:05.250")

    state = daily.tick(now).after

    assert state.planned_to == now
    assert state.planned_local == at("2026-01-05 08:00:00").replace(tzinfo=None)
    assert state.next_at == state.due_at == at("2026-01-06 07:00:00")
    assert state.expect_by == at("2026-01-06 07:10:00")
    assert (state.held, state.zone_data) == (None, "2026f")


def test_a_tick_with_nothing_due_writes_nothing() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 09:00:00"))

    assert daily.look(at("2026-01-05 23:59:00")) is None
    assert daily.state.planned_to == at("2026-01-05 08:59:00")


def test_a_tick_by_a_clock_that_was_set_back_plans_nothing() -> None:
    minutely = Planned(declare(Cron("* * * * *")), at("2026-01-05 10:00:02"))
    minutely.tick(at("2026-01-05 10:00:02"))

    assert minutely.look(at("2026-01-05 09:59:59")) is None


def test_a_place_in_the_index_that_says_otherwise_is_put_right() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 09:00:00"))
    right = daily.state
    daily.state = replace(right, next_at=at("2026-01-05 09:30:00"), due_at=at("2026-01-05 09:30:00"))

    assert daily.tick(at("2026-01-05 09:31:00")).after == right


def test_another_grace_moves_the_time_by_which_the_next_run_is_expected() -> None:
    daily = Planned(declare(Cron("0 8 * * *"), grace="15m"), at("2026-01-05 09:00:00"))
    daily.declared = declare(Cron("0 8 * * *"), grace="2h")

    state = daily.tick(at("2026-01-05 09:01:00")).after

    assert (state.grace, state.expect_by) == (2 * HOUR, at("2026-01-06 10:00:00"))


def test_every_second_of_an_odd_anchor_is_kept() -> None:
    odd = Planned(declare(Every("7m", anchor=at("2026-01-05 00:00:13"))), at("2026-01-05 00:00:00"))

    for minute in range(15):
        odd.tick(at("2026-01-05 00:00:05") + minute * MINUTE)

    assert [run.ref.id for run in odd.runs] == ["menu@2026-01-05T00:00:13Z", "menu@2026-01-05T00:07:13Z"]


# --- one-off jobs -----------------------------------------------------------------------------------------


def test_a_one_off_job_runs_once_and_leaves_the_index() -> None:
    once = Planned(declare(At(at("2026-03-01 12:00:00"))), at("2026-01-05 10:00:00"))
    assert once.state.due_at == at("2026-03-01 12:00:00")

    state = once.tick(at("2026-03-01 12:00:04")).after

    assert once.ran == ["01 12:00"]
    assert (state.next_at, state.due_at, state.expect_by) == (None, None, None)
    assert once.look(at("2027-03-01 12:00:04")) is None


def test_a_one_off_job_of_an_hour_ago_in_a_new_stack_runs_late() -> None:
    once = Planned(declare(At(at("2026-01-05 09:00:00"))), at("2026-01-05 10:00:00"))

    once.tick(at("2026-01-05 10:00:00"))

    assert once.ran == ["05 09:00"]


@pytest.mark.parametrize("instant", ["2025-06-01 12:00:00", "2019-06-01 12:00:00"])
def test_i17_a_one_off_job_of_last_year_in_a_new_stack_is_skipped_and_told(instant: str) -> None:
    now = at("2026-01-05 10:00:00")
    once = Planned(declare(At(at(instant))), now)

    (run,) = once.tick(now).runs

    assert (run.status, run.reason, run.notice) == (RunStatus.SKIPPED, Reason.LATE, Notice.PENDING)
    assert (run.due_at, run.ended_at, run.forget_at) == (now, now, now + RETENTION)
    assert run.expect_by is None
    assert once.state.due_at is None


def test_a_one_off_job_of_the_far_future_does_not_hold_back_what_replaces_it() -> None:
    once = Planned(declare(At(at("2030-01-01 00:00:00"))), at("2026-01-05 10:00:00"))
    once.declared = declare(Cron("* * * * *"))

    once.tick(at("2026-01-05 10:05:00"))
    once.tick(at("2026-01-05 10:06:00"))

    assert once.ran == ["05 10:05", "05 10:06"]


# --- the item of a job ------------------------------------------------------------------------------------


def test_a_job_is_created_with_its_place_in_the_index() -> None:
    now = at("2026-01-05 10:03:04")
    window = first_sight(declare(Cron("0 8 * * *"), grace="10m"), "jobs.menu", moment(now))

    assert window.before is None
    assert (window.runs, window.gaps) == ((), ())
    state = window.after
    assert (state.name, state.module, state.schedule) == ("menu", "jobs.menu", Cron("0 8 * * *").spec())
    assert state.due_at == state.next_at == at("2026-01-06 08:00:00")
    assert state.expect_by == at("2026-01-06 08:10:00")
    assert (state.held, state.paused, state.removed_at) == (None, None, None)
    assert state.began_at == state.planned_to == at("2026-01-05 10:02:00")


def test_a_job_that_is_due_at_first_sight_is_not_overdue_before_it_is_planned() -> None:
    """An old one-off is planned in the same tick; a watchdog in between must not find it missed."""
    now = at("2026-01-05 10:03:04")

    state = first_sight(declare(At(at("2025-01-05 10:00:00"))), "jobs.menu", moment(now)).after

    assert state.expect_by == now + state.grace


def test_a_lost_record_of_what_a_first_tick_planned_is_not_before_the_job_began() -> None:
    """The first window reaches back before the tick; that of a one-off, to its instant."""
    now = at("2026-01-05 10:00:04")
    for schedule in (Cron("0 10 * * *"), At(at("2025-01-05 10:00:00"))):
        state = first_sight(declare(schedule), "jobs.menu", moment(now)).after
        planned = state.next_at
        assert planned is not None
        assert planned <= now
        later = replace(state, planned_to=now)
        assert of_unplanned(planned, later, now) is Verdict.UNRECORDED
        assert of_unplanned(state.planned_to, later, now) is Verdict.NOT_BEGUN


def test_an_item_that_is_created_again_hands_out_tokens_above_all_before() -> None:
    now = at("2026-01-05 10:03:04")

    window = first_sight(declare(Cron("0 8 * * *")), "jobs.menu", moment(now))

    assert window.after.slots.fencing_token == int(now.timestamp() * 1000)


def test_a_job_that_is_importable_again_is_no_longer_held() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 09:00:00"))
    daily.state = replace(daily.state, held=Held.UNAVAILABLE)

    assert daily.tick(at("2026-01-05 09:01:00")).after.held is None


def test_the_same_state_and_time_always_give_the_same_window() -> None:
    daily = Planned(declare(Cron("0 8 * * *")), at("2026-01-05 07:00:00"))
    now = moment(at("2026-01-05 08:00:04"))

    assert plan(daily.declared, daily.state, now) == plan(daily.declared, daily.state, now)
