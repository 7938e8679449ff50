"""What people are told.

Invariants:
- a notice names job and time, in the job's zone and in UTC, what happened, and where to look;
- its id is the same however often it is published, and another for each notice of an alert;
- its subject is one line of at most a hundred characters.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronce.core import alerting, health, notices
from cronce.core.acts import Act, What
from cronce.core.alerting import ACKNOWLEDGED, RECOVERED, REMOVED
from cronce.core.alerts import SCHEDULER, Alert, Trouble, TroubledTime
from cronce.core.notices import NextTime, in_words, notice_of

AT = datetime(2026, 3, 9, 10, 0, tzinfo=UTC)
JOB = "daily-menu"
ZONES = {JOB: "America/New_York"}
WALL = "2026-03-09 06:00 -0400 America/New_York (2026-03-09T10:00:00Z)"


def alert(trouble: Trouble = Trouble.MISSED, **values: object) -> Alert:
    time = TroubledTime(scheduled_at=AT, trouble=trouble, detail="what happened", job=JOB)
    known: dict[str, object] = {
        "scope": JOB,
        "since": AT,
        "times": (time,),
        "count": 1,
        "due_at": AT,
        **values,
    }
    return Alert(**known)  # type: ignore[arg-type]


@pytest.mark.parametrize("trouble", [trouble for trouble in Trouble if trouble is not Trouble.SILENT])
def test_an_opened_notice_names_job_and_time_what_happened_and_where_to_look(trouble: Trouble) -> None:
    notice = notice_of(alert(trouble), ZONES)

    assert (notice.kind, notice.scope) == ("opened", JOB)
    assert notice.subject.endswith(f" 2026-03-09T10:00:00Z: {JOB}")
    assert JOB in notice.body
    assert f"- {WALL}: {notices._WORDS[trouble]}; what happened" in notice.body.splitlines()
    assert f"- {notices._LOOK[trouble]}" in notice.body.splitlines()


def test_every_trouble_has_words_and_a_place_to_look() -> None:
    assert set(notices._WORDS) == set(notices._LOOK) == set(Trouble)


def test_where_to_look_is_said_once_for_each_trouble() -> None:
    times = tuple(replace(alert().times[0], scheduled_at=AT + timedelta(minutes=n)) for n in range(3))

    body = notice_of(alert(times=times, count=3), ZONES).body

    assert body.count(notices._LOOK[Trouble.MISSED]) == 1


@pytest.mark.parametrize(
    "at, zone, words",
    [
        (AT, "America/New_York", WALL),
        (AT, "UTC", "2026-03-09T10:00:00Z (UTC)"),
        (AT, None, "2026-03-09T10:00:00Z (UTC)"),
        (AT, "Mars/Olympus", "2026-03-09T10:00:00Z (UTC)"),
        (
            datetime(2026, 11, 1, 5, 30, tzinfo=UTC),
            "America/New_York",
            "2026-11-01 01:30 -0400 America/New_York (2026-11-01T05:30:00Z)",
        ),
        (
            datetime(2026, 11, 1, 6, 30, tzinfo=UTC),
            "America/New_York",
            "2026-11-01 01:30 -0500 America/New_York (2026-11-01T06:30:00Z)",
        ),
        (
            AT + timedelta(seconds=7),
            "Asia/Kathmandu",
            "2026-03-09 15:45:07 +0545 Asia/Kathmandu (2026-03-09T10:00:07Z)",
        ),
        (AT + timedelta(milliseconds=7), "UTC", "2026-03-09T10:00:00Z (UTC)"),
    ],
)
def test_p58_an_instant_is_said_in_the_jobs_zone_and_in_utc(
    at: datetime, zone: str | None, words: str
) -> None:
    assert in_words(at, zone) == words


def test_what_is_no_longer_listed_is_counted() -> None:
    notice = notice_of(alert(count=84), ZONES)

    assert "1 of 84 times, the newest, failures before others:" in notice.body
    assert notice.subject == f"Missed 2026-03-09T10:00:00Z (+83): {JOB}"


def test_a_run_started_by_hand_is_named_as_such() -> None:
    by_hand = replace(alert().times[0], suffix="a1")

    assert (
        f"- {WALL}, started by hand as a1: missed; what happened"
        in notice_of(alert(times=(by_hand,)), ZONES).body
    )


@pytest.mark.parametrize("count", [1, 2, 100_000])
def test_a_subject_is_one_line_of_at_most_a_hundred_characters(count: int) -> None:
    subject = notice_of(alert(scope="j" * 63, count=count), {}).subject

    assert len(subject) <= 100
    assert "\n" not in subject


@pytest.mark.parametrize(
    "because, subject, words",
    [
        (
            RECOVERED,
            f"Recovered: {JOB}",
            "Every time listed here succeeded in the end, or a later scheduled run did.",
        ),
        (REMOVED, f"Removed: {JOB}", "no longer part of the deployment"),
    ],
)
def test_a_closed_notice_says_why_and_lists_the_times(because: str, subject: str, words: str) -> None:
    notice = notice_of(alerting.closed(alert(notified_at=AT), because, AT), ZONES)

    assert (notice.kind, notice.subject) == ("closed", subject)
    assert words in notice.body
    assert WALL in notice.body
    assert "What to look at" not in notice.body


@pytest.mark.parametrize(
    "why, words", [("we know", "ann has acknowledged it: we know."), ("", "ann has acknowledged it.")]
)
def test_a_notice_of_an_acknowledged_alert_says_who_and_why(why: str, words: str) -> None:
    act = Act(what=What.ACKNOWLEDGE, at=AT, by="ann", why=why)

    notice = notice_of(replace(alerting.closed(alert(notified_at=AT), ACKNOWLEDGED, AT), act=act), ZONES)

    assert notice.subject == f"Acknowledged: {JOB}"
    assert words in notice.body


def test_a_silent_scheduler_names_its_last_tick_what_was_missed_and_what_comes_next() -> None:
    silent = replace(
        alert(),
        scope=SCHEDULER,
        times=(health.silence(AT + timedelta(milliseconds=500)).time, *alert().times),
        count=2,
    )
    later = [NextTime(job="other", at=AT + timedelta(hours=1)), NextTime(job=JOB, at=AT + timedelta(days=1))]

    notice = notice_of(silent, ZONES, later)

    assert notice.subject == "Scheduler silent since 2026-03-09T10:00:00Z"
    lines = notice.body.splitlines()
    assert "- no tick completed since 2026-03-09T10:00:00.500Z" in lines
    assert f"- {JOB}, {WALL}: missed; what happened" in lines
    assert "- other, 2026-03-09T11:00:00Z (UTC)" in lines
    assert f"- {JOB}, 2026-03-10 06:00 -0400 America/New_York (2026-03-10T10:00:00Z)" in lines


def test_a_scheduler_that_is_back_says_so_and_what_was_missed() -> None:
    notice = notice_of(alerting.closed(alert(scope=SCHEDULER, notified_at=AT), RECOVERED, AT), ZONES)

    assert notice.subject == "Recovered: the scheduler is back"
    assert f"- {JOB}, {WALL}: missed; what happened" in notice.body


def test_i49_the_id_is_the_same_however_often_and_whenever_it_is_published() -> None:
    first = alert()
    again = replace(first, sending_until=AT, rev=7, count=9)

    assert (
        notice_of(first, ZONES).id == notice_of(again, {}).id == "daily-menu/2026-03-09T10:00:00.000Z/opened"
    )


def test_each_notice_of_an_alert_has_an_id_of_its_own() -> None:
    end = alerting.closed(alert(notified_at=AT), RECOVERED, AT + timedelta(minutes=5))
    later_end = replace(end, closed_at=AT + timedelta(minutes=9))
    all_of_them = [alert(), alert(reminders=1), alert(reminders=2), end, later_end, alert(scope="other")]

    assert len({notice_of(each, ZONES).id for each in all_of_them}) == len(all_of_them)


def test_what_an_alert_tells_after_its_opening_is_a_reminder_with_its_times() -> None:
    notice = notice_of(alert(reminders=1), ZONES)

    assert notice.kind == "reminder"
    assert notice.subject == f"Reminder: Missed 2026-03-09T10:00:00Z: {JOB}"
    assert f"Job {JOB} still needs somebody to look at it." in notice.body
    assert f"- {WALL}: missed; what happened" in notice.body
    assert len(notice_of(alert(reminders=1, scope="j" * 63, count=100_000), {}).subject) <= 100
