"""What a run was given stays out of logs, notices and error texts.

Invariants:
- a secret in a run's input is printed nowhere by cronce, whatever the job does wrong with it;
- the same holds for what steps return, and for values that are put where a function or a name belongs;
- a line in the log is bounded, however long the text of an exception is;
- the input reaches the job, and the key that its steps are given begins as the settings say.
"""

from __future__ import annotations

import json

import pytest

from cronce.engine.error_text import LEAST_MASKED, TEXT_LIMIT, TRACE_LIMIT, error_text, error_trace, masked
from tests.functions.deployed import DUE, RUNS, STEPS, Deployed

SECRET = 'hunter2-"quoted"-\\-ünique'
INPUT = json.dumps({"token": SECRET, "retries": [3, {"account": 98765432109}]})
JOB = """
from cronce import Cron, Retry, Run, job

@job("menu", schedule=Cron("0 * * * *"), retry=Retry(attempts=1))
def menu(run: Run) -> None:
    token = run.input["token"]
    {body}
"""

WRONG = {
    "says it": "raise ValueError(f'refused: {token}')",
    "quotes it": "raise ValueError(f'refused: {run.input!r}')",
    "has it as its argument": "raise KeyError(token)",
    "has two arguments": "raise ValueError('refused', run.input)",
    "as JSON": "import json; raise ValueError(json.dumps(run.input))",
    "led to another": "raise RuntimeError(1) from ValueError(token)",
    "as a number": "raise ValueError(run.input['retries'][1]['account'])",
    "instead of a function": "run.step('send', dict(token=token))",
    "as a name": "run.step(token + '/', str)",
    "as a result": "run.step('send', lambda: {token: object()})",
    "as an item's own key": "run.each('send', [run.input], str, key=lambda item: item)",
    "as the number between checkpoints": "run.each('send', [1], str, checkpoint_every=[token])",
    "makes the process end": "raise SystemExit(token)",
}


def everything_said(stack: Deployed) -> str:
    """Log lines, metrics and notices so far."""
    return repr([stack.lines, stack.metrics, stack.heard()]) + json.dumps([stack.lines], ensure_ascii=False)


def give(stack: Deployed, run_input: str) -> None:
    """Give the run that was planned an input, as a person's manual trigger does."""
    stack.dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": "JOB#menu"}, "sk": {"S": "RUN#2026-03-08T10:00:00Z"}},
        UpdateExpression="SET #input = :input",
        ExpressionAttributeNames={"#input": "input"},
        ExpressionAttributeValues={":input": {"S": run_input}},
    )


def planned(stack: Deployed, body: str) -> None:
    """A job with this body, and its run at DUE, planned and not started, with a secret input."""
    stack.job("menu", JOB.replace("{body}", body))
    stack.minutes(-1)
    stack.tick(DUE)
    give(stack, INPUT)


@pytest.mark.parametrize("how", WRONG)
def test_a_secret_input_is_never_printed(stack: Deployed, how: str) -> None:
    planned(stack, WRONG[how])
    stack.settle()
    stack.patrol(DUE)

    run = stack.run("menu@2026-03-08T10:00:00Z")
    assert (run["status"], run["reason"]) == ("FAILED", "error")
    assert len(stack.events("attempt.failed")) == 1
    said = everything_said(stack) + repr(stack.dynamodb.scan(TableName=STEPS)["Items"]) + run["error"]
    assert "attempt.failed" in said
    for part in ("hunter2", "98765432109", "nique"):
        assert part not in said


@pytest.mark.parametrize(
    "wrong",
    [
        "run.step('send', LOADED)",
        "run.step(LOADED, str)",
        "run.each('send', [LOADED], str, key=lambda item: item)",
        "run.each('send', [1], str, key=LOADED)",
        "run.each('send', [1], str, checkpoint_every=LOADED)",
        "run.step('send', lambda: {**LOADED, 'more': object()})",
    ],
)
def test_data_in_the_place_of_something_else_is_not_shown(stack: Deployed, wrong: str) -> None:
    planned(stack, f"{wrong}\n\nLOADED = {{'token': 'open' + 'sesame'}}")
    stack.settle()
    stack.patrol(DUE)

    assert stack.run("menu@2026-03-08T10:00:00Z")["reason"] == "error"
    assert "opensesame" not in everything_said(stack)


def test_a_long_one_reaches_the_job_and_is_printed_nowhere(stack: Deployed) -> None:
    stack.job(
        "menu", JOB.replace("{body}", "GIVEN.append(run.input)\n    raise ValueError(token)\n\nGIVEN = []")
    )
    stack.minutes(-1)
    stack.tick(DUE)
    given = {**json.loads(INPUT), "orders": [f"order-{number}" for number in range(1000)]}

    run = stack.operations().trigger("menu", json.dumps(given), by="ann", why="month's end")
    stack.settle()
    stack.patrol(DUE)

    assert stack.run(run.ref.id)["reason"] == "error"
    assert given in stack.module("menu").GIVEN
    said = everything_said(stack) + stack.run(run.ref.id)["error"] + repr(run)
    for part in ("hunter2", "98765432109", "nique", "order-999"):
        assert part not in said


def test_it_reaches_the_job_and_its_steps(stack: Deployed) -> None:
    planned(stack, "run.step('keep', GIVEN.append, run.input)\n\nGIVEN = []")
    stack.settle()

    assert stack.run("menu@2026-03-08T10:00:00Z")["status"] == "SUCCEEDED"
    assert [json.loads(INPUT)] == stack.module("menu").GIVEN
    assert "hunter2" not in everything_said(stack)


def test_a_poisoned_input_is_set_aside_and_stops_no_other_run(stack: Deployed) -> None:
    planned(stack, "GIVEN.append(run.input)\n\nGIVEN = []")
    stack.job("other", name="other")
    give(stack, "hunter2" * 1000)
    stack.redeploy()
    stack.settle()
    stack.minutes(60)

    assert stack.run("menu@2026-03-08T10:00:00Z")["status"] == "PENDING"
    assert stack.run("menu@2026-03-08T11:00:00Z")["status"] != "PENDING"
    assert stack.run("other@2026-03-08T11:00:00Z")["status"] == "SUCCEEDED"
    assert sum(stack.values("ItemsUnreadable")) >= 1
    assert "hunter2" not in everything_said(stack)


@pytest.mark.parametrize("prefix, begins", [("", "shop/"), ("old-shop", "old-shop/")])
def test_a_steps_key_begins_with_the_stacks_name_or_what_was_set_instead(
    stack: Deployed, monkeypatch: pytest.MonkeyPatch, prefix: str, begins: str
) -> None:
    monkeypatch.setenv("CRONCE_IDEMPOTENCY_PREFIX", prefix)
    keep = "KEYS = []\n\ndef keep(*, idempotency_key):\n    KEYS.append(idempotency_key)"
    planned(stack, f"run.step('keep', keep)\n\n{keep}")
    stack.settle()

    assert [f"{begins}menu@2026-03-08T10:00:00Z/keep"] == stack.module("menu").KEYS


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_an_error_that_cannot_say_what_it_says_is_named() -> None:
    assert error_text(UnprintableError()) == "UnprintableError: (it cannot be printed)"


def test_texts_of_errors_are_bounded() -> None:
    error = ValueError("x" * 1_000_000)
    assert len(error_text(error).encode()) <= TEXT_LIMIT
    assert len(error_trace(error).encode()) <= TRACE_LIMIT
    assert error_text(error).startswith("ValueError: xxx")


@pytest.mark.parametrize("value, stays", [("x" * (LEAST_MASKED - 1), True), ("x" * LEAST_MASKED, False)])
def test_a_text_too_short_to_be_a_secret_stays_readable(value: str, stays: bool) -> None:
    assert (value in masked(f"no {value} today", json.dumps([value]))) is stays
    assert masked(f"no {value} today", None) == f"no {value} today"
