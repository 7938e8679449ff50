"""The life of an alert.

Invariants:
- it lists the newest fifty times, oldest first, and counts all; finding the same again changes nothing;
- of too many times those that were missed go first and failures last, the newest of each trouble never;
- a notice is owed from the write that opens or closes it until it is told, and to one publisher at a time;
- it opens again for new trouble only, silently within an hour of closing;
- it closes for the success of every listed time, or of a scheduled one later than all that is not good,
and never before its opening was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.core import alerting, ends, health
from cronce.core.alerting import ACKNOWLEDGED, FIRST_REMINDER, RECOVERED, REMOVED, REOPEN_WITHIN, SENDING
from cronce.core.alerts import SCHEDULER, TIMES_KEPT, Alert, Trouble, TroubledTime
from cronce.core.health import Finding
from cronce.core.records import RunRecord
from cronce.core.run import Reason, RunStatus, Trigger
from tests.contract.makers import JOB, MINUTE, NOW, failed, gap, pending, ref

TICK = timedelta(milliseconds=1)


def missed(minutes: int, job: str = JOB) -> Finding:
    at = NOW + minutes * MINUTE
    return Finding(
        time=TroubledTime(scheduled_at=at, trouble=Trouble.MISSED, detail="never planned", job=job)
    )


def failure(minutes: int) -> Finding:
    found = ends.end_to_tell(failed(ref(minutes)))
    assert found is not None
    return found


def late_gap(first: int, count: int) -> Finding:
    last = NOW + (first + count - 1) * MINUTE
    found = ends.gap_to_tell(replace(gap(first, count=count), last=last))
    assert found is not None
    return found


def changed(alert: Alert | None, findings: Sequence[Finding], minutes: float = 0) -> Alert:
    after = alerting.with_findings(alert, JOB, findings, NOW + minutes * MINUTE)
    assert after is not None
    return after


def opened(*findings: Finding) -> Alert:
    """An open alert that was told."""
    return alerting.told(changed(None, findings or [failure(0)]), NOW)


def closed(*findings: Finding) -> Alert:
    """A closed alert that was told."""
    return alerting.told(alerting.closed(opened(*findings), RECOVERED, NOW), NOW)


def minutes_of(alert: Alert) -> list[float]:
    return [(time.scheduled_at - NOW) / MINUTE for time in alert.times]


# --- listing ---


def test_without_findings_nothing_opens() -> None:
    assert alerting.with_findings(None, JOB, [], NOW) is None
    assert alerting.with_findings(closed(), JOB, [], NOW) == closed()


def test_it_keeps_the_newest_fifty_and_counts_all() -> None:
    alert = changed(None, [missed(minutes) for minutes in reversed(range(120))])

    assert minutes_of(alert) == list(range(70, 120))
    assert alert.count == 120


@given(st.lists(st.lists(st.integers(0, 90), max_size=30), max_size=12))
def test_what_is_found_again_and_again_is_counted_once(patrols: list[list[int]]) -> None:
    alert = opened(missed(0))
    for found in patrols:
        again = changed(alert, [missed(minutes) for minutes in found])
        assert changed(again, [missed(minutes) for minutes in found]) is again
        alert = again

    every = sorted({0, *(minutes for found in patrols for minutes in found)})
    assert minutes_of(alert) == every[-TIMES_KEPT:]
    assert len(alert.times) <= alert.count <= len(every)
    if len(every) <= TIMES_KEPT:
        assert alert.count == len(every)


def test_a_time_that_is_no_longer_listed_is_not_counted_again() -> None:
    alert = opened(*(missed(minutes) for minutes in range(80)))

    assert changed(alert, [missed(5)]) is alert
    assert changed(alert, [missed(5), missed(81)]).count == 81


def test_i47_of_many_jobs_late_at_one_instant_each_is_counted_once() -> None:
    late = [missed(minutes, job=f"job-{number:03}") for number in range(120) for minutes in (0, 60)]

    alert = opened(*late)

    assert (alert.count, len(alert.times)) == (240, TIMES_KEPT)
    assert changed(alert, late) is alert
    assert changed(alerting.closed(alert, RECOVERED, NOW), late).count == 240


def test_the_silence_itself_is_never_crowded_out() -> None:
    silences = [health.silence(NOW - minutes * MINUTE) for minutes in range(20)]

    alert = opened(*silences, *(missed(minutes) for minutes in range(80)))

    kept = [time for time in alert.times if time.trouble is Trouble.SILENT]
    assert [time.scheduled_at for time in kept] == [NOW - minutes * MINUTE for minutes in reversed(range(10))]
    assert len(alert.times) == TIMES_KEPT
    assert changed(alert, [silences[0], missed(5)]) is alert


def overlap(minutes: int) -> Finding:
    found = ends.end_to_tell(failed(ref(minutes), status=RunStatus.SKIPPED, reason=Reason.OVERLAP))
    assert found is not None
    return found


def test_an_old_run_that_fails_only_now_is_named_however_many_times_were_missed() -> None:
    late = [missed(minutes) for minutes in range(80)]

    alert = changed(opened(*late), [failure(-500), *late])

    assert minutes_of(alert) == [-500, *range(31, 80)]
    assert (alert.times[0].trouble, alert.count) == (Trouble.FAILED, 81)
    assert changed(alert, [*late, missed(-600)]) is alert, "what was cut is not counted again"


def test_the_run_that_hung_is_named_behind_all_that_were_skipped_for_it() -> None:
    alert = changed(opened(missed(0), *(overlap(minutes) for minutes in range(1, 80))), [failure(0)])

    assert minutes_of(alert) == [0, *range(31, 80)]
    assert alert.times[0].trouble is Trouble.FAILED


def test_the_newest_time_is_listed_though_fifty_have_failed() -> None:
    failures = [failure(minutes) for minutes in range(60)]

    alert = opened(*failures, missed(70), missed(71), overlap(72))

    assert minutes_of(alert) == [*range(12, 60), 71, 72]
    assert alert.count == 63
    assert changed(alert, [missed(70), missed(71)]) is alert


@given(
    st.permutations(range(90)).map(lambda minutes: minutes[: TIMES_KEPT - 2]),
    st.lists(st.integers(91, 180), unique=True, max_size=60),
    st.lists(st.integers(181, 300), unique=True, min_size=1, max_size=80),
)
def test_every_failure_that_there_is_room_for_is_named_in_whatever_order_it_is_found(
    failed_at: list[int], skipped_at: list[int], missed_at: list[int]
) -> None:
    late = [missed(minutes) for minutes in missed_at]
    alert = opened(*late)
    for found in [*map(overlap, skipped_at), *map(failure, failed_at)]:
        alert = changed(alert, [found, *late])

    named = {time.scheduled_at for time in alert.times if time.trouble is Trouble.FAILED}
    assert named == {NOW + minutes * MINUTE for minutes in failed_at}
    assert alert.times[-1].scheduled_at == NOW + max(missed_at) * MINUTE
    assert alert.count == len(failed_at) + len(skipped_at) + len(missed_at)
    assert len(alert.times) == min(alert.count, TIMES_KEPT)
    assert changed(alert, late) is alert


def test_a_time_keeps_its_place_when_its_trouble_changes() -> None:
    alert = changed(opened(missed(0), missed(1)), [failure(0)])

    assert [time.trouble for time in alert.times] == [Trouble.FAILED, Trouble.MISSED]
    assert alert.count == 2


def test_i45_a_gap_takes_the_place_of_the_times_in_it_that_were_missed() -> None:
    alert = changed(opened(*(missed(minutes) for minutes in range(5))), [late_gap(0, 10), missed(20)])

    assert minutes_of(alert) == [0, 20]
    assert alert.count == 11
    assert changed(alert, [late_gap(0, 10)]) is alert


def test_i45_a_gap_over_times_that_are_no_longer_listed_counts_them_once() -> None:
    missed_times = [missed(minutes) for minutes in range(80)]

    alert = changed(opened(*missed_times), [late_gap(0, 80)])

    assert (minutes_of(alert), alert.count) == ([0], 80)


@pytest.mark.parametrize("findings", [(failure(0), late_gap(0, 7)), (late_gap(0, 7), failure(0))])
def test_a_run_that_failed_is_named_though_a_gap_begins_with_its_time(findings: Sequence[Finding]) -> None:
    """Somebody backfilled the first time of a gap before the gap was told."""
    alert = changed(None, findings)
    assert [time.trouble for time in alert.times] == [Trouble.FAILED]
    assert alert.count == 7


def test_times_of_two_jobs_and_of_a_manual_run_at_one_instant_are_three() -> None:
    by_hand = replace(missed(0), time=replace(missed(0).time, suffix="a1"))

    assert opened(missed(0), missed(0, job="other"), by_hand).count == 3


def test_the_newest_time_of_a_job_is_that_of_an_open_alert() -> None:
    alert = opened(missed(3), missed(5), missed(9, job="other"))

    assert alerting.newest_of(alert, JOB) == NOW + 5 * MINUTE
    assert alerting.newest_of(alert, "third") is None
    assert alerting.newest_of(alerting.closed(alert, RECOVERED, NOW), JOB) is None
    assert alerting.newest_of(None, JOB) is None


# --- owing and telling ---


def test_an_alert_owes_its_opening_until_it_is_told() -> None:
    alert = changed(None, [failure(0)])
    assert alerting.owes_notice(alert, NOW)

    told = alerting.told(alerting.sending(alert, NOW), NOW + MINUTE)

    assert not alerting.owes_notice(told, NOW + timedelta(days=9))
    assert (told.notified_at, told.sending_until) == (NOW + MINUTE, None)
    assert told.due_at == NOW + MINUTE + FIRST_REMINDER, "an open alert stays in the index"


def test_an_open_alert_is_told_again_after_1_2_4_8_16_hours_and_then_at_least_daily() -> None:
    alert = alerting.told(changed(None, [failure(0)]), NOW)
    hours = []
    for _ in range(9):
        assert alert.due_at is not None
        assert not alerting.needs_reminder(alert, alert.due_at - TICK)
        assert alerting.needs_reminder(alert, alert.due_at)
        owed = alerting.reminding(alert)
        assert alerting.owes_notice(owed, alert.due_at)
        assert not alerting.needs_reminder(owed, alert.due_at), "it is owed already"
        hours.append((alert.due_at - NOW) / timedelta(hours=1))
        alert = alerting.told(owed, alert.due_at)
    assert (hours, alert.reminders) == ([1, 2, 4, 8, 16, 32, 56, 80, 104], 9)
    assert alerting.closed(alert, RECOVERED, NOW).due_at == NOW


def test_neither_a_closed_alert_nor_one_that_opened_silently_needs_a_reminder() -> None:
    later = NOW + timedelta(days=9)
    assert not alerting.needs_reminder(closed(), later)
    assert not alerting.needs_reminder(alerting.closed(opened(), RECOVERED, NOW), later)
    assert not alerting.needs_reminder(changed(closed(), [failure(5)], minutes=10), later), "it is told first"


def test_a_closed_alert_owes_its_end_and_then_leaves_the_index() -> None:
    alert = alerting.closed(opened(), RECOVERED, NOW)
    assert alerting.owes_notice(alert, NOW)
    assert alert.forget_at is not None
    assert alert.forget_at > NOW + timedelta(days=30), "no run stays unfinished for longer"

    assert alerting.told(alert, NOW).due_at is None


def test_i49_a_notice_is_published_by_one_at_a_time_and_again_when_that_one_is_gone() -> None:
    alert = alerting.sending(changed(None, [failure(0)]), NOW)

    assert not alerting.may_send(alert, NOW)
    assert not alerting.may_send(alert, NOW + SENDING - TICK)
    assert alerting.may_send(alert, NOW + SENDING)
    assert alerting.may_send(alerting.not_told(alert), NOW)
    assert timedelta(seconds=45) < SENDING < MINUTE, "longer than a patrol, over before the next one"


# --- opening again ---


def test_trouble_that_is_known_does_not_open_it_again() -> None:
    was = closed(missed(0), failure(1))

    for known in ([missed(0)], [failure(1)], [missed(1)]):
        assert changed(was, known, minutes=1) is was


def test_trouble_that_is_no_longer_listed_does_not_open_it_again() -> None:
    was = closed(*(missed(minutes) for minutes in range(80)))

    assert changed(was, [missed(5)], minutes=100) is was


def test_an_old_run_that_fails_only_now_is_new_trouble_however_much_is_listed() -> None:
    long_list = closed(*(missed(minutes) for minutes in range(80)))
    one_gap = closed(late_gap(0, 80))

    for was in (long_list, one_gap):
        assert changed(was, [failure(-500)], minutes=1).is_open
    assert minutes_of(changed(one_gap, [missed(-500)], minutes=1)) == [-500, 0]


def test_a_missed_run_that_fails_in_the_end_opens_it_again() -> None:
    again = changed(closed(missed(0)), [failure(0)], minutes=1)

    assert again.is_open
    assert again.count == 1


def test_a_run_that_fails_in_the_place_of_a_gap_opens_it_again() -> None:
    alert = closed(late_gap(0, 7))
    assert changed(alert, [late_gap(0, 7)], 5) == alert
    again = changed(alert, [failure(0)], 5)
    assert again.is_open
    assert [time.trouble for time in again.times] == [Trouble.FAILED]


def test_a_run_that_was_brought_back_and_failed_once_more_opens_it_again() -> None:
    def failure_at(minutes: int) -> Finding:
        found = ends.end_to_tell(failed(ref(0), ended_at=NOW + minutes * MINUTE))
        assert found is not None
        return found

    was = closed(failure_at(5))

    assert changed(was, [failure_at(5)], minutes=9) is was, "the end that it lists, found once more"
    again = changed(was, [failure_at(8)], minutes=9)
    assert (again.is_open, again.count) == (True, 1)


def test_new_trouble_within_the_hour_opens_it_silently_and_is_told_if_it_lasts() -> None:
    again = changed(closed(), [failure(5)], minutes=60)
    now = NOW + REOPEN_WITHIN

    assert again.is_open
    assert (again.since, again.count, again.forget_at, again.closed_because) == (NOW, 2, None, None)
    assert not alerting.owes_notice(again, now + FIRST_REMINDER - TICK)
    assert alerting.owes_notice(again, now + FIRST_REMINDER)
    over = alerting.closed(again, RECOVERED, now + MINUTE)
    assert not alerting.owes_notice(over, now + timedelta(days=9)), "nobody was told that it was open again"
    assert over.due_at is None


def test_new_trouble_after_the_hour_is_a_new_alert() -> None:
    was = closed()
    now = NOW + REOPEN_WITHIN + TICK

    again = alerting.with_findings(was, JOB, [failure(5)], now)

    assert again is not None
    assert (again.since, again.count, again.reminders, again.rev) == (now, 1, 0, was.rev)
    assert alerting.owes_notice(again, now)


def test_if_nobody_was_told_of_the_end_the_alert_was_open_all_the_time() -> None:
    untold = alerting.closed(opened(), RECOVERED, NOW)

    again = changed(untold, [failure(5)], minutes=300)

    assert (again.is_open, again.count, again.since) == (True, 2, NOW)
    assert not alerting.owes_notice(again, NOW + timedelta(days=9))


def test_if_somebody_may_have_been_told_of_the_end_it_is_opened_again() -> None:
    perhaps_told = alerting.sending(alerting.closed(opened(), RECOVERED, NOW), NOW)

    again = changed(perhaps_told, [failure(5)], minutes=1)

    assert alerting.owes_notice(again, NOW + MINUTE + FIRST_REMINDER)


# --- closing ---


def test_an_end_is_told_unless_nobody_can_have_been_told_of_the_opening() -> None:
    untold = changed(None, [failure(0)])
    assert alerting.closed(untold, ACKNOWLEDGED, NOW).due_at is None

    for known in (alerting.sending(untold, NOW), opened(), alerting.reminding(replace(opened(), due_at=NOW))):
        assert alerting.owes_notice(alerting.closed(known, ACKNOWLEDGED, NOW), NOW)


def test_an_alert_does_not_close_before_its_opening_was_told() -> None:
    assert not alerting.may_close(changed(None, [failure(0)]), NOW)
    assert alerting.may_close(opened(), NOW)
    assert not alerting.may_close(closed(), NOW)


def good(run: RunRecord, minutes: float = 30) -> RunRecord:
    return replace(run, status=RunStatus.SUCCEEDED, reason=None, notice=None, ended_at=NOW + minutes * MINUTE)


def settled(alert: Alert, listed: Sequence[RunRecord] = (), later: Sequence[RunRecord] = ()) -> bool:
    return alerting.is_settled(alert, {run.ref: run for run in listed}, later)


def test_it_is_settled_when_every_listed_time_has_succeeded() -> None:
    alert = opened(missed(0), missed(1))

    assert settled(alert, [good(pending(ref(0))), good(pending(ref(1)))])
    assert not settled(alert, [good(pending(ref(0)))])
    assert not settled(alert, [good(pending(ref(0))), pending(ref(1))])
    assert not settled(alert)


@pytest.mark.parametrize(
    "status, reason, is_good",
    [
        (RunStatus.CANCELLED, Reason.OPERATOR, True),
        (RunStatus.SKIPPED, Reason.EXCLUDED, True),
        (RunStatus.SKIPPED, Reason.SAME_LOCAL_TIME, True),
        (RunStatus.SKIPPED, Reason.SUPERSEDED, False),
        (RunStatus.SKIPPED, Reason.LATE, False),
        (RunStatus.FAILED, Reason.ERROR, False),
        (RunStatus.WAITING, Reason.BACKOFF, False),
    ],
)
def test_a_listed_time_that_was_not_meant_to_run_is_settled(
    status: RunStatus, reason: Reason, is_good: bool
) -> None:
    assert settled(opened(missed(0)), [pending(ref(0), status=status, reason=reason)]) is is_good


def test_it_is_settled_by_a_later_scheduled_success() -> None:
    alert = opened(failure(0), failure(5))

    assert settled(alert, [failed(ref(0)), failed(ref(5))], [good(pending(ref(6)))])
    assert not settled(alert, [failed(ref(0)), failed(ref(5))], [good(pending(ref(5)))])
    assert not settled(alert, [], [pending(ref(6))])
    assert not settled(alert, [], [good(pending(ref(6), trigger=Trigger.MANUAL))])
    assert not settled(alert, [], [good(pending(ref(6), trigger=Trigger.BACKFILL))])


def test_it_is_settled_by_a_success_later_than_all_that_is_not_good_though_listed_itself() -> None:
    alert = opened(missed(0), missed(5), missed(9))
    dropped = pending(ref(0), status=RunStatus.SKIPPED, reason=Reason.SUPERSEDED, ended_at=NOW)
    cancelled = pending(ref(9), status=RunStatus.CANCELLED, reason=Reason.OPERATOR)

    assert settled(alert, [dropped, good(pending(ref(5))), cancelled])
    assert settled(alert, [dropped, cancelled, good(pending(ref(5)))], [good(pending(ref(3)))])
    assert not settled(alert, [dropped, cancelled], [good(pending(ref(3)))]), "5 is not good"
    assert not settled(alert, [dropped, good(pending(ref(5)))]), "9 is not good"
    by_hand = good(pending(ref(5), trigger=Trigger.MANUAL))
    assert not settled(alert, [dropped, by_hand, cancelled]), "nobody scheduled it"


def test_a_success_from_before_the_failure_does_not_settle_it() -> None:
    alert = opened(failure(0))
    failure_of_a_backfill = failed(ref(0), ended_at=NOW + 60 * MINUTE, trigger=Trigger.BACKFILL)

    assert not settled(alert, [failure_of_a_backfill], [good(pending(ref(5)), minutes=59)])
    assert settled(alert, [failure_of_a_backfill], [good(pending(ref(5)), minutes=60)])


def test_i43_nothing_settles_a_failed_one_off() -> None:
    assert not settled(opened(failure(0)), [failed(ref(0))], [])


def test_a_manual_run_is_settled_by_its_own_success() -> None:
    by_hand = ref(0, suffix="a1")
    found = ends.end_to_tell(failed(by_hand))
    assert found is not None

    assert settled(opened(found), [good(pending(by_hand))])
    assert not settled(opened(found), [good(pending(ref(0)))])


def test_what_an_alert_lists_is_what_the_gauges_count() -> None:
    alert = opened(missed(0), failure(1))

    assert alerting.lists_any(alert, Trouble.MISSED)
    assert alerting.lists_any(alert, Trouble.LATE, Trouble.FAILED)
    assert not alerting.lists_any(alert, Trouble.LATE, Trouble.OVERLAP)
    assert not alerting.lists_any(opened(health.silence(NOW)), Trouble.MISSED, Trouble.FAILED)


def test_a_removed_job_and_the_schedulers_alert_close_like_any_other() -> None:
    for scope in (JOB, SCHEDULER):
        alert = alerting.closed(replace(opened(), scope=scope), REMOVED, NOW)
        assert (alert.closed_at, alert.closed_because, alert.scope) == (NOW, REMOVED, scope)
