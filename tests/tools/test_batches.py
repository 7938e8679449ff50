"""What becomes of a stream's records, by Lambda's rules: one model for the local stack and for local AWS.

* P81: what a batch reports as failed comes again with all that lies behind the lowest; a batch that failed
  as a whole is halved; retries are bounded by number and by age.
"""

from __future__ import annotations

from typing import Any

import pytest

from cronce_tools.local.batches import NO_BOUND, Batches, Record, RetryRules

MAPPING = {
    "MaximumRetryAttempts": 4,
    "MaximumRecordAgeInSeconds": 3600,
    "BisectBatchOnFunctionError": True,
    "FunctionResponseTypes": ["ReportBatchItemFailures"],
}
NOW = 1_000_000.0


def records(*numbers: int) -> list[Record]:
    return [
        {"dynamodb": {"SequenceNumber": str(number), "ApproximateCreationDateTime": NOW}}
        for number in numbers
    ]


def numbers(batch: list[Record]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in batch]


def failures(*numbers: int) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": str(number)} for number in numbers]}


def play(batches: Batches, poison: set[int], at: float = NOW) -> tuple[list[list[int]], list[list[int]]]:
    """A function that fails on poison gets all batches: what it was given, and what was given up."""
    given, lost = [], []
    while batch := batches.take():
        given.append(numbers(batch))
        bad = [number for number in numbers(batch) if number in poison]
        given_up = batches.report(batch, failures(*bad), at)
        if given_up:
            lost.append(numbers(given_up.records))
    return given, lost


def test_a_mapping_says_nothing_means_for_ever_and_no_bisect() -> None:
    assert RetryRules.of({}) == RetryRules(attempts=NO_BOUND, max_age=NO_BOUND, bisect=False, partial=False)
    assert RetryRules.of(MAPPING) == RetryRules(attempts=4, max_age=3600, bisect=True, partial=True)


def test_p81_poison_is_given_up_alone_and_everything_else_is_delivered() -> None:
    batches = Batches(RetryRules.of(MAPPING))
    batches.add(records(1, 2, 3, 4, 5))
    given, lost = play(batches, {3})
    assert lost == [[3]]
    assert given[0] == [1, 2, 3, 4, 5]
    assert given.count([3]) == 5  # alone: once, and four retries
    assert given[-1] == [4, 5]
    assert not batches


def test_p81_what_lies_before_the_lowest_failure_does_not_come_again() -> None:
    batches = Batches(RetryRules.of(MAPPING))
    batches.add(records(1, 2, 3))
    given, _ = play(batches, {2, 3})
    assert [batch for batch in given if 1 in batch] == [[1, 2, 3]]


@pytest.mark.parametrize("answer", [None, "text", [1]])
def test_p81_an_answer_that_is_no_object_fails_the_whole_batch(answer: object) -> None:
    batches = Batches(RetryRules.of(MAPPING))
    batches.add(records(1, 2, 3, 4))
    batches.report(batches.take(), answer, NOW)
    assert [numbers(batches.take()), numbers(batches.take())] == [[1, 2], [3, 4]]


def test_an_unknown_sequence_number_fails_the_whole_batch() -> None:
    batches = Batches(RetryRules.of(MAPPING))
    batches.add(records(1, 2))
    batches.report(batches.take(), failures(7), NOW)
    assert numbers(batches.take()) == [1]


def test_without_partial_responses_a_report_is_not_looked_at() -> None:
    batches = Batches(RetryRules.of({**MAPPING, "FunctionResponseTypes": []}))
    batches.add(records(1))
    assert batches.report(batches.take(), failures(1), NOW) is None
    assert not batches


def test_a_record_that_is_too_old_is_given_up_at_its_next_failure() -> None:
    batches = Batches(RetryRules.of(MAPPING))
    batches.add(records(1))
    assert batches.report(batches.take(), None, NOW + 3600) is None
    given_up = batches.report(batches.take(), None, NOW + 3601)
    assert given_up is not None
    assert (numbers(given_up.records), given_up.condition) == ([1], "MaxRecordAgeExceeded")


def test_a_mapping_without_bounds_never_gives_up() -> None:
    batches = Batches(RetryRules.of({}))
    batches.add(records(1))
    for _ in range(100):
        assert batches.report(batches.take(), None, NOW + 10**9) is None
    assert numbers(batches.take()) == [1]
