"""The moves of a run, one by one.

Invariants:
- every move is one that the table of states knows;
- a run RUNNING has an owner and a claim, any other has neither, and the token stays;
- a claim never stands past the timeout, nor long past its invocation;
- a failed attempt is followed by another one until there are no more; a slice spends none;
- every end has its time and the time when it may be forgotten, and is in the index only if it must be told.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cronce.core import attempts, moves
from cronce.core.changes import SlotsChange, check_transition
from cronce.core.claim import CLAIM_TTL, TRUST_MARGIN, Invocation, claim_end, is_expired
from cronce.core.errors import RefusedError
from cronce.core.moves import Failure
from cronce.core.records import INLINE_LIMIT, RunRecord, RunRef, Slots
from cronce.core.run import Dispatch, DueKind, Notice, Reason, RunStatus, Trigger

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
KEPT = timedelta(days=400)
WORKER = Invocation(owner="me", deadline=NOW + 15 * MINUTE, request_id="request", log_stream="log")


def pending(**values: object) -> RunRecord:
    run = RunRecord(
        ref=RunRef("menu", NOW),
        status=RunStatus.PENDING,
        created_at=NOW,
        scheduled_local="2026-01-05T12:00:00+00:00",
        timeout=15 * MINUTE,
        max_attempts=3,
        dispatch=Dispatch.STREAM,
        due_at=NOW + 2 * MINUTE,
        expect_by=NOW + 15 * MINUTE,
        rev=1,
    )
    return replace(run, **values)  # type: ignore[arg-type]


def running(**values: object) -> RunRecord:
    return replace(moves.claimed(pending(), WORKER, 7, NOW), **values)  # type: ignore[arg-type]


def error(text: str = "ValueError: no", **values: object) -> Failure:
    return replace(Failure(reason=Reason.ERROR, text=text, delay=30 * SECOND), **values)  # type: ignore[arg-type]


ENDS = {
    "succeeded": moves.succeeded(running(), NOW, KEPT),
    "failed": moves.failed(running(), Reason.ERROR, "no", NOW, KEPT),
    "timed out": moves.timed_out(running(), NOW, KEPT),
    "cancelled while running": moves.cancelled(running(), NOW, KEPT),
    "cancelled before": moves.cancelled(pending(), NOW, KEPT),
    "late": moves.skipped(pending(), Reason.LATE, NOW, KEPT),
    "superseded": moves.skipped(pending(), Reason.SUPERSEDED, NOW, KEPT),
    "overlap": moves.skipped(pending(), Reason.OVERLAP, NOW, KEPT),
    "expired": moves.expired(pending(), NOW, KEPT),
}
OTHERS = {
    "claimed": (pending(), running()),
    "queued": (pending(), moves.queued(pending(), NOW)),
    "woken": (moves.queued(pending(), NOW), moves.woken(moves.queued(pending(), NOW), NOW, MINUTE)),
    "dispatched again": (pending(), moves.redispatched(pending(), NOW, accepted=True)),
    "next slice": (running(), moves.next_slice(running(), NOW)),
    "backoff": (running(), moves.attempt_failed(running(), error(), NOW, KEPT)),
    "lost": (running(), moves.lost(running(), NOW + 2 * MINUTE, MINUTE, KEPT)),
    "unknown job": (pending(), moves.job_unknown(pending(), "not there", NOW, KEPT)),
    "look again": (running(), moves.look_again(running(), NOW)),
}


@pytest.mark.parametrize("move", OTHERS)
def test_every_move_is_one_that_the_table_knows(move: str) -> None:
    check_transition(*OTHERS[move])


@pytest.mark.parametrize("end", ENDS)
def test_every_end_is_one_that_the_table_knows(end: str) -> None:
    after = ENDS[end]
    check_transition(running() if after.last_owner else pending(), after)


@pytest.mark.parametrize("end", ENDS)
def test_every_end_has_its_time_and_is_forgotten_after_the_retention(end: str) -> None:
    after = ENDS[end]
    assert (after.ended_at, after.forget_at) == (NOW, NOW + KEPT)
    assert (after.owner, after.claim_until, after.dispatch) == (None, None, None)


def test_what_must_be_told_is_in_the_index_at_once_and_nothing_else_is() -> None:
    told = {name for name, after in ENDS.items() if after.notice is Notice.PENDING}
    assert told == {"failed", "timed out", "late", "overlap", "expired"}
    for name, after in ENDS.items():
        assert (after.due_at, after.due_kind) == ((NOW, DueKind.NOTICE) if name in told else (None, None))


def test_an_end_keeps_owner_and_token_of_the_last_worker_for_the_record() -> None:
    after = moves.succeeded(running(), NOW + MINUTE, KEPT)
    assert (after.last_owner, after.fencing_token, after.executed) == ("me", 7, MINUTE)
    assert after.attempt_ended_at == NOW + MINUTE


def test_a_first_claim_begins_attempt_one_slice_one() -> None:
    run = running()
    assert (run.attempt, run.slice, run.started_at, run.attempt_started_at) == (1, 1, NOW, NOW)
    assert (run.owner, run.fencing_token, run.request_id, run.log_stream) == ("me", 7, "request", "log")
    assert run.claim_until == run.due_at == NOW + CLAIM_TTL
    assert (run.dispatch, run.dispatches) == (None, 0)


def test_the_next_slice_goes_on_with_the_same_attempt() -> None:
    handed = moves.next_slice(running(), NOW + MINUTE)
    assert (handed.status, handed.dispatch, handed.due_at) == (
        RunStatus.PENDING,
        Dispatch.STREAM,
        NOW + 3 * MINUTE,
    )
    again = moves.claimed(handed, WORKER, 8, NOW + 5 * MINUTE)
    assert (again.attempt, again.slice, again.executed) == (1, 2, MINUTE)
    assert (again.attempt_started_at, again.slice_started_at) == (NOW, NOW + 5 * MINUTE)


def test_a_failed_attempt_waits_and_the_next_claim_is_a_new_attempt() -> None:
    waiting = moves.attempt_failed(running(), error(), NOW + MINUTE, KEPT)
    assert (waiting.status, waiting.reason) == (RunStatus.WAITING, Reason.BACKOFF)
    assert waiting.due_at == NOW + MINUTE + 30 * SECOND
    assert (waiting.error, waiting.attempt_outcome) == ("ValueError: no", Reason.ERROR)
    again = moves.claimed(moves.to_dispatch(waiting, NOW), WORKER, 8, NOW + 2 * MINUTE)
    assert (again.attempt, again.slice, again.error, again.attempt_outcome) == (2, 1, None, None)
    assert again.started_at == NOW


def test_the_last_attempt_fails_the_run() -> None:
    failed = moves.attempt_failed(running(attempt=3), error(), NOW, KEPT)
    assert (failed.status, failed.reason, failed.error) == (RunStatus.FAILED, Reason.ERROR, "ValueError: no")


def test_a_permanent_failure_spends_no_further_attempt() -> None:
    failed = moves.attempt_failed(running(), error(permanent=True), NOW, KEPT)
    assert failed.status is RunStatus.FAILED


def test_a_run_that_shall_be_cancelled_gets_no_further_attempt() -> None:
    for after in (
        moves.attempt_failed(running(cancel_requested=True), error(), NOW, KEPT),
        moves.lost(running(cancel_requested=True), NOW + 2 * MINUTE, MINUTE, KEPT),
    ):
        assert (after.status, after.reason) == (RunStatus.CANCELLED, Reason.OPERATOR)


def test_the_claim_of_the_next_attempt_keeps_the_one_before() -> None:
    waiting = moves.attempt_failed(running(), error(), NOW + MINUTE, KEPT)
    kept = attempts.past_attempt(moves.to_dispatch(waiting, NOW + 2 * MINUTE))
    assert kept is not None
    assert (kept.number, kept.fencing_token, kept.outcome, kept.error) == (1, 7, "error", "ValueError: no")
    assert (kept.started_at, kept.ended_at) == (NOW, NOW + MINUTE)
    assert (kept.request_id, kept.log_stream) == ("request", "log")


def test_a_first_claim_and_a_next_slice_keep_no_attempt() -> None:
    assert attempts.past_attempt(pending()) is None
    assert attempts.past_attempt(moves.next_slice(running(), NOW)) is None


def test_a_long_error_is_kept_at_once_and_not_a_second_time() -> None:
    text = "é" * 3000
    waiting = moves.attempt_failed(running(), error(text), NOW, KEPT)
    kept = attempts.long_error(waiting, text)
    assert waiting.error == "é" * ((INLINE_LIMIT - 3) // 2) + "…"
    assert kept is not None
    assert kept.error == "é" * 2046 + "…"
    assert attempts.past_attempt(moves.to_dispatch(waiting, NOW)) is None
    assert attempts.long_error(moves.attempt_failed(running(), error(), NOW, KEPT), "ValueError: no") is None


def test_text_is_never_cut_within_a_character_and_bad_text_is_no_error() -> None:
    assert attempts.clipped("aéé", 4) == "a…"
    assert attempts.clipped("a\ud800", 10) == "a?"


@pytest.mark.parametrize("text", ["a" * 200, "é" * 100, "a" * 201, "é" * 101, "a" * 5000, "€" * 99])
def test_a_text_that_was_cut_says_so_and_no_other_does(text: str) -> None:
    cut = attempts.clipped(text, 200)
    size = len(text.encode())
    assert cut == text if size <= 200 else cut.endswith("…")
    assert len(cut.encode()) <= 200
    assert text.startswith(cut.removesuffix("…"))


def test_queued_is_not_expected_until_it_is_woken() -> None:
    waiting = moves.queued(pending(), NOW)
    assert (waiting.expect_by, waiting.due_at, waiting.dispatch) == (None, NOW + 10 * MINUTE, None)
    assert waiting.is_queued
    woken = moves.woken(waiting, NOW + MINUTE, 15 * MINUTE)
    assert (woken.status, woken.expect_by) == (RunStatus.PENDING, NOW + 16 * MINUTE)
    assert (woken.dispatch, woken.due_at) == (Dispatch.STREAM, NOW + 3 * MINUTE)
    by_hand = moves.woken(replace(waiting, trigger=Trigger.MANUAL), NOW, MINUTE)
    assert by_hand.expect_by is None


def test_i19_the_sweep_dispatches_again_after_2_4_8_16_30_30_minutes() -> None:
    run, pauses = pending(), []
    for _ in range(6):
        run = moves.redispatched(run, NOW, accepted=True)
        assert run.due_at is not None
        pauses.append(run.due_at - NOW)
    assert pauses == [MINUTE * number for number in (2, 4, 8, 16, 30, 30)]
    assert (run.dispatch, run.dispatches) == (Dispatch.SWEEP, 6)


def test_a_refused_dispatch_does_not_lengthen_the_pause() -> None:
    run = moves.redispatched(pending(dispatches=4), NOW, accepted=False)
    assert (run.dispatches, run.due_at) == (4, NOW + 2 * MINUTE)


def test_an_unknown_job_waits_a_quarter_of_an_hour_and_then_fails() -> None:
    waiting = moves.job_unknown(pending(), "job 'menu' is not in this deployment", NOW, KEPT)
    assert (waiting.status, waiting.reason, waiting.unknown_since) == (RunStatus.WAITING, Reason.BACKOFF, NOW)
    assert (waiting.due_at, waiting.attempt) == (NOW + MINUTE, 0)
    pending_again = moves.to_dispatch(waiting, NOW + 14 * MINUTE + 30 * SECOND)
    last = moves.job_unknown(pending_again, "not there", NOW + 14 * MINUTE + 30 * SECOND, KEPT)
    assert (last.due_at, last.unknown_since) == (NOW + 15 * MINUTE, NOW)
    early = moves.job_unknown(moves.to_dispatch(waiting, NOW), "x", NOW + 14 * MINUTE, KEPT)
    assert (early.status, early.due_at) == (RunStatus.WAITING, NOW + 15 * MINUTE)
    failed = moves.job_unknown(moves.to_dispatch(waiting, NOW), "still not", NOW + 15 * MINUTE, KEPT)
    assert (failed.status, failed.reason, failed.error) == (
        RunStatus.FAILED,
        Reason.UNKNOWN_JOB,
        "still not",
    )


def test_a_run_that_waits_for_its_job_says_so_and_the_next_claim_forgets_it() -> None:
    waiting = moves.job_unknown(pending(), "not there", NOW, KEPT)
    assert (waiting.error, waiting.error_kept) == ("not there", False)
    again = moves.claimed(moves.to_dispatch(waiting, NOW), WORKER, 9, NOW)
    assert (again.unknown_since, again.error, again.attempt) == (None, None, 1)


def test_a_run_that_is_queued_has_found_its_job_and_waits_anew_when_it_is_gone_again() -> None:
    waiting = moves.job_unknown(pending(), "not there", NOW, KEPT)
    queued = moves.queued(moves.to_dispatch(waiting, NOW), NOW + 16 * MINUTE)
    woken = moves.woken(queued, NOW + 60 * MINUTE, MINUTE)
    again = moves.job_unknown(woken, "gone again", NOW + 61 * MINUTE, KEPT)
    assert (again.status, again.reason) == (RunStatus.WAITING, Reason.BACKOFF)
    assert (again.unknown_since, again.due_at) == (NOW + 61 * MINUTE, NOW + 62 * MINUTE)


DISPLACING = {
    "unknown job": lambda run: moves.job_unknown(run, "not there", NOW, KEPT),
    "timed out before its claim": lambda run: moves.timed_out(run, NOW, KEPT),
    "expired": lambda run: moves.expired(run, NOW, KEPT),
}


@pytest.mark.parametrize("how", DISPLACING)
def test_the_last_attempts_error_is_kept_when_another_text_takes_its_place(how: str) -> None:
    tried = moves.to_dispatch(moves.attempt_failed(running(), error(), NOW, KEPT), NOW)
    after = DISPLACING[how](tried)
    kept = attempts.displaced_attempt(tried, after)
    assert kept is not None
    assert (kept.number, kept.error, kept.outcome) == (1, "ValueError: no", "error")
    assert after.error != "ValueError: no"
    # It is kept: a later claim must not put the other text in its place, nor a later wait.
    assert attempts.past_attempt(after) is None
    assert attempts.displaced_attempt(after, moves.failed(after, Reason.UNKNOWN_JOB, "x", NOW, KEPT)) is None


def test_a_lost_worker_costs_an_attempt_and_the_last_one_fails_the_run() -> None:
    waiting = moves.lost(running(), NOW + 2 * MINUTE, MINUTE, KEPT)
    assert (waiting.reason, waiting.due_at, waiting.slice) == (Reason.BACKOFF, NOW + 3 * MINUTE, 0)
    assert (waiting.executed, waiting.attempt_outcome) == (CLAIM_TTL, Reason.LOST)
    assert waiting.error is not None
    assert "worker lost" in waiting.error
    assert "2026-01-05 12:01:00Z" in waiting.error
    failed = moves.lost(running(attempt=3), NOW + 2 * MINUTE, MINUTE, KEPT)
    assert (failed.status, failed.reason) == (RunStatus.FAILED, Reason.LOST)


def test_a_change_of_slots_that_changes_nothing_is_none() -> None:
    with pytest.raises(RefusedError, match="leaves them as they were"):
        SlotsChange(before=Slots(queued=1), after=Slots(queued=1))


def test_p45_a_claim_that_reached_the_timeout_ends_the_run() -> None:
    run = running(timeout=5 * MINUTE, claim_until=NOW + 5 * MINUTE)
    failed = moves.lost(run, NOW + 6 * MINUTE, MINUTE, KEPT)
    assert (failed.status, failed.reason, failed.executed) == (RunStatus.FAILED, Reason.TIMEOUT, 5 * MINUTE)


def test_a_run_is_not_timed_out_because_nobody_looked_for_an_hour() -> None:
    waiting = moves.lost(running(), NOW + timedelta(hours=1), MINUTE, KEPT)
    assert (waiting.status, waiting.executed) == (RunStatus.WAITING, CLAIM_TTL)


def test_p45_a_claim_never_stands_past_the_timeout_nor_long_past_its_invocation() -> None:
    run = running(timeout=5 * MINUTE, executed=4 * MINUTE)
    assert claim_end(run, NOW + 30 * SECOND, WORKER.deadline) == NOW + MINUTE
    assert claim_end(running(), NOW + 50 * SECOND, NOW + MINUTE) == NOW + MINUTE + TRUST_MARGIN


def test_a_claim_is_taken_ten_seconds_after_its_end_or_when_its_end_cannot_be_believed() -> None:
    run = running()
    late = NOW + CLAIM_TTL + 10 * SECOND
    assert not is_expired(run, late - SECOND, late)
    assert is_expired(run, late, late)
    assert not is_expired(replace(run, claim_until=NOW + 2 * MINUTE), NOW, NOW)
    assert is_expired(replace(run, claim_until=NOW + 2 * MINUTE + SECOND), NOW, NOW)
    assert not is_expired(replace(run, claim_until=late + CLAIM_TTL), NOW - MINUTE, late)
