"""What people are told.

Invariants:
- its first two lines say what happened to which job of which stack, when (in the job's zone and in UTC), how
  far it came, and which setting of time was broken;
- it names where to look and what to do for this trouble, as commands that a copy can be given to a shell;
- its id is the same however often it is published, and another for each notice of an alert;
- its subject names job, time and stack in one line that SNS takes, however long they are.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.core import alerting, health, notices
from cronce.core.acts import Act, What
from cronce.core.alerting import ACKNOWLEDGED, RECOVERED, REMOVED
from cronce.core.alerts import SCHEDULER, SUBJECT_LIMIT, Alert, Trouble, TroubledTime
from cronce.core.background import Background, NextTime
from cronce.core.jobstate import Gap, GapReason
from cronce.core.notices import in_words, notice_of
from cronce.core.records import RunRecord, RunRef, StepStatus
from cronce.core.run import Reason, RunStatus
from cronce.core.run_story import StepStory
from cronce.core.schedule import Cron
from tests.contract.makers import job_state, pending, running

AT = datetime(2026, 3, 9, 10, 0, tzinfo=UTC)
JOB = "daily-menu"
STACK = "shop-prod"
RUN = f"{JOB}@2026-03-09T10:00:00Z"
REF = RunRef(JOB, AT)
WALL = "2026-03-09 06:00 -0400 America/New_York (2026-03-09T10:00:00Z)"
STATE = job_state(schedule=Cron("0 6 * * *", tz="America/New_York").spec(), grace=timedelta(minutes=15))


def known(run: RunRecord | None = None, **more: Any) -> Background:
    """What is known beside an alert."""
    runs = {run.ref: run} if run else {}
    return Background(**{"stack": STACK, "jobs": {JOB: STATE}, "runs": runs, **more})


def ended(reason: Reason, status: RunStatus = RunStatus.FAILED, **values: Any) -> RunRecord:
    """The run of the alert, ended without success."""
    return pending(REF, status=status, reason=reason, dispatch=None, due_at=None, attempt=1, **values)


def step(name: str, status: StepStatus = StepStatus.DONE, items: int | None = None) -> StepStory:
    return StepStory(name=name, status=status, at=AT + timedelta(seconds=7), at_most=None, items=items)


def alert(trouble: Trouble = Trouble.MISSED, **values: object) -> Alert:
    time = TroubledTime(scheduled_at=AT, trouble=trouble, detail="what happened", job=JOB)
    given: dict[str, object] = {
        "scope": JOB,
        "since": AT,
        "times": (time,),
        "count": 1,
        "due_at": AT,
        **values,
    }
    return Alert(**given)  # type: ignore[arg-type]


def commands(body: str) -> list[str]:
    """The commands that a notice names, without the stack that all of them name."""
    found = [line.strip() for line in body.splitlines() if line.startswith("  cronce ")]
    assert all(line.count(f" --stack {STACK}") == 1 for line in found), "two stacks may stand in one account"
    return [line.removeprefix("cronce ").replace(f" --stack {STACK}", "") for line in found]


def hint(body: str) -> str:
    """What a notice says after its commands."""
    lines = body.splitlines()
    return lines[lines.index("Known already? This ends the reminders:") - 1]


# --- the first lines ---


@pytest.mark.parametrize("trouble", [trouble for trouble in Trouble if trouble is not Trouble.SILENT])
def test_the_first_lines_name_what_happened_job_stack_and_time(trouble: Trouble) -> None:
    notice = notice_of(alert(trouble), known())

    first, second, *_ = notice.body.splitlines()
    words = notices._WORDS[trouble]
    assert first == f"{words[0].upper()}{words[1:]}: {JOB} in {STACK}, {WALL}."
    assert second.startswith("What happened.")
    assert (notice.kind, notice.scope, notice.stack, notice.trouble) == ("opened", JOB, STACK, trouble.value)


def test_every_trouble_has_words() -> None:
    assert set(notices._WORDS) == set(Trouble)


@pytest.mark.parametrize(
    "trouble, run, words",
    [
        (Trouble.MISSED, None, " Setting broken: grace 15m."),
        (Trouble.MISSED, running(REF), " Setting broken: grace 15m."),
        (
            Trouble.FAILED,
            ended(Reason.TIMEOUT, timeout=timedelta(minutes=90)),
            " Setting broken: timeout 1h30m.",
        ),
        (Trouble.FAILED, ended(Reason.ERROR), ""),
        (Trouble.LATE, None, ""),
    ],
)
def test_a_notice_says_which_of_the_two_settings_of_time_was_broken(
    trouble: Trouble, run: RunRecord | None, words: str
) -> None:
    assert notice_of(alert(trouble), known(run)).body.splitlines()[1] == f"What happened.{words}"


def test_a_grace_that_is_not_known_is_named_without_its_length() -> None:
    notice = notice_of(alert(), known(running(REF), jobs={}))

    assert "Setting broken: grace." in notice.body
    assert f"{JOB} in {STACK}, 2026-03-09T10:00:00Z (UTC)." in notice.body


@pytest.mark.parametrize("background", [known(jobs={}), known(unread=True)], ids=["of the job", "of the run"])
def test_an_item_that_cannot_be_read_is_not_called_a_broken_setting(background: Background) -> None:
    assert "Setting broken" not in notice_of(alert(), background).body


def test_the_last_step_that_was_finished_is_named() -> None:
    steps = [step("build"), step("send", items=600), step("pay", StepStatus.STARTED)]

    body = notice_of(alert(), known(running(REF), steps=steps)).body

    assert body.splitlines()[2] == "Last step finished: send (600 items), 2026-03-09T10:00:07Z."


@pytest.mark.parametrize("dispatches, words", [(0, ""), (1, "once"), (12, "12 times")])
def test_how_often_an_executor_was_asked_for_is_told_from_the_runs_record(
    dispatches: int, words: str
) -> None:
    line = notice_of(alert(), known(pending(REF, dispatches=dispatches))).body.splitlines()[1]

    asked = f" The scheduler has asked {words} by now." if words else ""
    assert line == f"What happened.{asked} Setting broken: grace 15m."


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


def test_all_times_are_listed_and_what_is_no_longer_listed_is_counted() -> None:
    notice = notice_of(alert(count=84), known())

    assert notice.body.splitlines()[0].endswith(f", {WALL}, and 83 more.")
    assert "1 of 84 times, the newest, failures before others:" in notice.body
    assert f"- {WALL}: missed; what happened" in notice.body.splitlines()
    assert notice.subject == f"Missed: {JOB} 2026-03-09T10:00:00Z (+83) in {STACK}"


def test_a_run_started_by_hand_is_named_as_such() -> None:
    by_hand = replace(alert().times[0], suffix="a1")
    run = pending(RunRef(JOB, AT, "a1"))

    body = notice_of(alert(times=(by_hand,)), known(run)).body

    assert f"{WALL}, started by hand as a1." in body.splitlines()[0]
    assert f"show '{RUN}#a1'" in commands(body), "a shell must not read the rest as a comment"


# --- where to look, what to do ---

ASK, CLOSE = f"show {RUN}", f"ack {JOB}"
GAP = Gap(
    job=JOB,
    first=AT,
    last=AT + timedelta(days=2),
    count=3,
    reason=GapReason.LATE,
    created_at=AT,
)


ASK_TIME = f"did-run {JOB} 2026-03-09T10:00:00Z"
RETRY, BUSY = f"retry {RUN}", f"runs {JOB} --status running"
UNKNOWN = ("doctor` names items that cannot be read", [ASK_TIME, "doctor", CLOSE])
AT_WORK = ("was brought back since then and has not ended", [ASK, CLOSE])
GOOD = ("has succeeded since then", [ASK, CLOSE])


def waiting(reason: Reason, **values: Any) -> RunRecord:
    return pending(REF, status=RunStatus.WAITING, reason=reason, dispatch=None, **values)


@pytest.mark.parametrize(
    "trouble, background, words, named",
    [
        (Trouble.MISSED, known(), "What was never planned", [ASK_TIME, "doctor", CLOSE]),
        (Trouble.MISSED, known(unread=True), *UNKNOWN),
        (Trouble.MISSED, known(jobs={}), *UNKNOWN),
        (Trouble.MISSED, known(pending(REF)), "Once one does, the run starts", [ASK, "doctor", CLOSE]),
        (Trouble.MISSED, known(running(REF)), "Only if it hangs", [ASK, f"cancel {RUN}", CLOSE]),
        (Trouble.MISSED, known(pending(REF, attempt=1)), "waits for an executor", [ASK, "doctor", CLOSE]),
        (Trouble.MISSED, known(waiting(Reason.BACKOFF, attempt=1)), "next attempt starts", [ASK, CLOSE]),
        (
            Trouble.MISSED,
            known(waiting(Reason.BACKOFF, unknown_since=AT)),
            "No executor finds its job",
            [ASK, "list", CLOSE],
        ),
        (Trouble.MISSED, known(waiting(Reason.QUEUED)), "hold its places", [ASK, BUSY, CLOSE]),
        (Trouble.MISSED, known(waiting(Reason.SLEEP, attempt=1)), "It sleeps", [ASK, CLOSE]),
        (Trouble.MISSED, known(ended(Reason.ERROR, RunStatus.SUCCEEDED)), *GOOD),
        (Trouble.FAILED, known(ended(Reason.ERROR)), "at the step that failed", [ASK, RETRY, CLOSE]),
        (Trouble.FAILED, known(ended(Reason.LOST)), "Its worker died", [ASK, RETRY, CLOSE]),
        (Trouble.FAILED, known(ended(Reason.TIMEOUT)), "raise the job's timeout", [ASK, RETRY, CLOSE]),
        (Trouble.FAILED, known(ended(Reason.NO_PROGRESS)), "into smaller ones", [ASK, RETRY, CLOSE]),
        (Trouble.FAILED, known(ended(Reason.UNKNOWN_JOB)), "deploy it first", [ASK, "list", RETRY, CLOSE]),
        (Trouble.FAILED, known(ended(Reason.EXPIRED)), "is not brought back", [ASK, CLOSE]),
        (
            Trouble.FAILED,
            known(ended(Reason.STEP_UNCERTAIN), steps=[step("list"), step("-pay me", StepStatus.STARTED)]),
            "Find out whether it was done",
            [ASK, f"resolve {RUN} --done null -- '-pay me'", f"resolve {RUN} --redo -- '-pay me'", CLOSE],
        ),
        (
            Trouble.FAILED,
            known(ended(Reason.STEP_UNCERTAIN)),
            "Find out whether it was done",
            [ASK, f"resolve {RUN} --done null -- STEP", f"resolve {RUN} --redo -- STEP", CLOSE],
        ),
        (Trouble.FAILED, known(running(REF)), *AT_WORK),
        (Trouble.FAILED, known(waiting(Reason.BACKOFF, attempt=1)), *AT_WORK),
        (Trouble.FAILED, known(ended(Reason.ERROR, RunStatus.SUCCEEDED)), *GOOD),
        (
            Trouble.FAILED,
            known(ended(Reason.OPERATOR, RunStatus.CANCELLED)),
            "was cancelled since then",
            [ASK, CLOSE],
        ),
        (Trouble.FAILED, known(), *UNKNOWN),
        (Trouble.LATE, known(running(REF)), *AT_WORK),
        (Trouble.LATE, known(ended(Reason.ERROR)), "at the step that failed", [ASK, RETRY, CLOSE]),
        (Trouble.LATE, known(ended(Reason.ERROR, RunStatus.SUCCEEDED)), *GOOD),
        (
            Trouble.LATE,
            known(ended(Reason.LATE, RunStatus.SKIPPED)),
            "if the work is still wanted",
            [ASK, RETRY, CLOSE],
        ),
        (Trouble.LATE, known(unread=True), *UNKNOWN),
        (
            Trouble.CATCH_UP_LIMIT,
            known(gap=GAP),
            "if the work is still wanted",
            [
                ASK_TIME,
                f"backfill {JOB} --from 2026-03-09T10:00:00Z --to 2026-03-11T10:00:00Z --gaps",
                CLOSE,
            ],
        ),
        (
            Trouble.OVERLAP,
            known(ended(Reason.OVERLAP, RunStatus.SKIPPED)),
            "longer than its interval",
            [ASK, BUSY, RETRY, CLOSE],
        ),
        (Trouble.OVERLAP, known(running(REF)), *AT_WORK),
    ],
    ids=[
        "never planned",
        "cannot be read",
        "the job's item cannot be read",
        "never started",
        "not finished",
        "waits to go on",
        "between attempts",
        "its module is missing",
        "queued",
        "asleep",
        "succeeded meanwhile",
        "failed",
        "lost",
        "timeout",
        "no progress",
        "unknown job",
        "expired",
        "in doubt",
        "in doubt, step not known",
        "failed, retry at work",
        "failed, retry between attempts",
        "failed, succeeded since",
        "failed, cancelled since",
        "failed, record gone",
        "late, retry at work",
        "late, retry failed",
        "late, succeeded since",
        "late",
        "late, cannot be read",
        "gap",
        "overlap",
        "overlap, retry at work",
    ],
)
def test_what_is_advised_helps_with_this_trouble_as_its_run_is_by_now(
    trouble: Trouble, background: Background, words: str, named: list[str]
) -> None:
    body = notice_of(alert(trouble, reminders=1), background).body

    assert commands(body) == named
    assert words in hint(body)


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("status", RunStatus)
@pytest.mark.parametrize("trouble", [trouble for trouble in Trouble if trouble is not Trouble.SILENT])
def test_no_advice_disturbs_what_goes_on_or_has_come_right(
    trouble: Trouble, status: RunStatus, reason: Reason
) -> None:
    run = replace(ended(reason), status=status)

    asked = {line.split()[0] for line in commands(notice_of(alert(trouble), known(run)).body)}

    hangs = trouble is Trouble.MISSED and status is RunStatus.RUNNING
    over = status in {RunStatus.FAILED, RunStatus.SKIPPED}
    assert ("cancel" in asked) == hangs
    assert over or not asked & {"retry", "resolve", "backfill"}


def test_what_to_do_is_about_the_newest_time() -> None:
    older = replace(alert(Trouble.FAILED).times[0], scheduled_at=AT - timedelta(days=1))

    body = notice_of(alert(times=(older, *alert().times), count=2), known(pending(REF))).body

    assert commands(body) == [ASK, "doctor", CLOSE]


# --- closed, reminded, and the scheduler's ---


@pytest.mark.parametrize(
    "because, what, words",
    [
        (
            RECOVERED,
            "Recovered",
            "Every time listed here succeeded in the end, or a later scheduled run did.",
        ),
        (REMOVED, "Removed", "The job is no longer part of the deployment. Its records are kept."),
    ],
)
def test_a_closed_notice_says_why_and_what_it_was_about(because: str, what: str, words: str) -> None:
    notice = notice_of(alerting.closed(alert(notified_at=AT), because, AT), known())

    assert (notice.kind, notice.subject) == ("closed", f"{what}: {JOB} in {STACK}")
    assert notice.body.splitlines()[:2] == [
        f"{what}: {JOB} in {STACK}. {words}",
        f"It was about {WALL}: missed.",
    ]
    assert commands(notice.body) == []


@pytest.mark.parametrize(
    "why, words", [("we know", "ann has acknowledged it: we know."), ("", "ann has acknowledged it.")]
)
def test_a_notice_of_an_acknowledged_alert_says_who_and_why(why: str, words: str) -> None:
    act = Act(what=What.ACKNOWLEDGE, at=AT, by="ann", why=why)

    notice = notice_of(replace(alerting.closed(alert(notified_at=AT), ACKNOWLEDGED, AT), act=act), known())

    assert notice.subject == f"Acknowledged: {JOB} in {STACK}"
    assert words in notice.body


def test_a_silent_scheduler_names_its_last_tick_what_was_missed_and_what_comes_next() -> None:
    silent = replace(
        alert(),
        scope=SCHEDULER,
        times=(health.silence(AT + timedelta(milliseconds=500)).time, *alert().times),
        count=2,
    )
    later = [NextTime(job="other", at=AT + timedelta(hours=1)), NextTime(job=JOB, at=AT + timedelta(days=1))]

    notice = notice_of(silent, known(outlook=later))

    assert notice.subject == f"Scheduler silent since 2026-03-09T10:00:00Z in {STACK}"
    lines = notice.body.splitlines()
    assert lines[0] == f"Scheduler silent: in {STACK} no tick has completed since 2026-03-09T10:00:00Z."
    assert "- no tick completed since 2026-03-09T10:00:00.500Z" in lines
    assert f"- {JOB}, {WALL}: missed; what happened" in lines
    assert "- other, 2026-03-09T11:00:00Z (UTC)" in lines
    assert f"- {JOB}, 2026-03-10 06:00 -0400 America/New_York (2026-03-10T10:00:00Z)" in lines
    assert commands(notice.body) == ["doctor", "list"]


def test_a_scheduler_that_is_back_says_so_and_what_was_missed() -> None:
    notice = notice_of(alerting.closed(alert(scope=SCHEDULER, notified_at=AT), RECOVERED, AT), known())

    assert notice.subject == f"Recovered: the scheduler is back in {STACK}"
    assert f"- {JOB}, {WALL}: missed; what happened" in notice.body


def test_what_an_alert_tells_after_its_opening_is_a_reminder() -> None:
    notice = notice_of(alert(reminders=1), known())

    assert notice.kind == "reminder"
    assert notice.subject == f"Still missed: {JOB} 2026-03-09T10:00:00Z in {STACK}"
    assert notice.body.startswith(f"Still missed: {JOB} in {STACK}, {WALL}.\nWhat happened.")


# --- subject and id ---


@pytest.mark.parametrize("count", [1, 2, 100_000])
@pytest.mark.parametrize("job", ["menu", "j" * 63])
@pytest.mark.parametrize("stack", ["s", "stack-of-the-shop-in-production", "s" * 128])
@pytest.mark.parametrize("reminders", [0, 1])
def test_a_subject_fits_and_names_job_and_time_and_as_much_of_the_stack_as_has_room(
    count: int, job: str, stack: str, reminders: int
) -> None:
    given = alert(Trouble.LATE, scope=job, count=count, reminders=reminders)

    subject = notice_of(given, known(stack=stack)).subject

    assert len(subject) <= SUBJECT_LIMIT
    assert "\n" not in subject
    assert job[:50] in subject
    assert " 2026-03-09T10:00:00Z" in subject
    if len(job) + len(stack) < 40:
        assert subject.endswith(f" in {stack}")
    elif len(job) < 40:
        assert f" in {stack[:20]}" in subject


def test_i49_the_id_is_the_same_however_often_and_whenever_it_is_published() -> None:
    first = alert()
    again = replace(first, sending_until=AT, rev=7, count=9)

    assert (
        notice_of(first, known()).id
        == notice_of(again, known(jobs={})).id
        == f"{STACK}/daily-menu/2026-03-09T10:00:00.000Z/opened"
    )


def test_each_notice_of_an_alert_has_an_id_of_its_own() -> None:
    end = alerting.closed(alert(notified_at=AT), RECOVERED, AT + timedelta(minutes=5))
    later_end = replace(end, closed_at=AT + timedelta(minutes=9))
    all_of_them = [alert(), alert(reminders=1), alert(reminders=2), end, later_end, alert(scope="other")]
    ids = {notice_of(each, known()).id for each in all_of_them}

    assert len(ids | {notice_of(alert(), known(stack="shop-test")).id}) == len(all_of_them) + 1
