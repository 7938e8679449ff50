"""What a run did, step by step.

Invariants:
- a step cannot have taken longer than the time since its worker's claim, or since the record before it;
- the chunks of an `each` are one step with the items that are done;
- a wait is not a duration, and what an operator resolved took no time of the run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cronce.core.records import AttemptRecord, RunRecord, RunRef, StepRecord, StepStatus
from cronce.core.run import RunStatus
from cronce.core.run_story import step_stories
from cronce.core.verdicts import CLAIM_OVER, claim_is_over

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
REF = RunRef("menu", NOON)
RUN = RunRecord(
    ref=REF,
    status=RunStatus.RUNNING,
    created_at=NOON,
    scheduled_local="",
    timeout=timedelta(minutes=15),
    max_attempts=3,
    attempt=1,
    started_at=NOON + 4 * SECOND,
    attempt_started_at=NOON + 4 * SECOND,
    slice_started_at=NOON + 4 * SECOND,
    claim_until=NOON + 64 * SECOND,
)


def step(name: str, after: int, **changes: Any) -> StepRecord:
    record = StepRecord(ref=REF, name=name, result="1", owner="a", fencing_token=1, at=NOON + after * SECOND)
    return replace(record, **changes)


def took(
    *records: StepRecord, run: RunRecord = RUN, attempts: tuple[AttemptRecord, ...] = ()
) -> dict[str, Any]:
    stories = step_stories(run, records, attempts)
    return {story.name: story.at_most and story.at_most // SECOND for story in stories}


def test_a_step_took_at_most_the_time_since_the_claim_or_the_step_before() -> None:
    assert took(step("build", 10), step("send", 25)) == {"build": 6, "send": 15}


def test_steps_stand_in_the_order_in_which_they_were_recorded() -> None:
    assert list(took(step("a", 30), step("b", 20))) == ["b", "a"]


def test_time_between_two_attempts_is_no_steps() -> None:
    past = AttemptRecord(
        ref=REF, number=1, fencing_token=1, started_at=NOON, ended_at=NOON + 20 * SECOND, outcome="error"
    )
    second = replace(
        RUN,
        attempt=2,
        attempt_started_at=NOON + 60 * SECOND,
        slice_started_at=NOON + 60 * SECOND,
        started_at=NOON,
    )
    assert took(step("a", 10), step("b", 65), run=second, attempts=(past,)) == {"a": 10, "b": 5}


def test_chunks_are_one_step_with_what_is_done() -> None:
    records = [step("send", 10 * number, chunk=25 * number) for number in (1, 2, 3)]
    (story,) = step_stories(RUN, records, ())
    assert (story.items, story.at, story.at_most) == (75, NOON + 30 * SECOND, 26 * SECOND)


def test_without_any_claim_nothing_is_known() -> None:
    bare = replace(RUN, started_at=None, attempt_started_at=None, slice_started_at=None)
    assert took(step("a", 10), run=bare) == {"a": None}


def test_a_wait_is_no_duration() -> None:
    until = NOON + timedelta(hours=1)
    (story,) = step_stories(RUN, [step("wait", 10, status=StepStatus.ASLEEP, until=until)], ())
    assert (story.at_most, story.until) == (None, until)


def test_what_an_operator_resolved_names_who_and_why() -> None:
    (story,) = step_stories(RUN, [step("pay", 10, owner="operator ann", why="the bank said so")], ())
    assert (story.by, story.why, story.at_most) == ("ann", "the bank said so", None)


def test_p47_a_claim_that_ran_out_long_ago_has_nobody_behind_it() -> None:
    assert RUN.claim_until is not None
    over = RUN.claim_until + CLAIM_OVER
    assert not claim_is_over(RUN, over)
    assert claim_is_over(RUN, over + SECOND)
    assert not claim_is_over(replace(RUN, status=RunStatus.WAITING), over + SECOND)
