"""The commands that a notice names are the command's own.

* Each is copied as it stands and given: it finds the stack, the job, the run and the step, and does what the
  notice says.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import stack_with
from tests.cli.terminal import cronce

JOBS = """
from cronce import Cron, PermanentError, job

@job("menu", schedule=Cron("0 6 * * *", tz="America/New_York"), catch_up="skip")
def menu(run):
    run.step("build", int, 7)

@job("broken", schedule=Cron("0 10 * * *"))
def broken(run):
    run.step("fine", int, 1)
    raise PermanentError("no money left")

def transfer():
    raise ConnectionError("the bank did not answer")

@job("payout", schedule=Cron("0 10 * * *"))
def payout(run):
    run.once("transfer", transfer)

@job("refund", schedule=Cron("0 10 * * *"))
def refund(run):
    run.once("-transfer", transfer)
"""
ASKS = {"resolve", "cancel", "backfill"}
"""These ask whoever is there."""
UNDER_WAY = 1
"""The run goes on already: it was said before that the step was done."""


def commands(body: str) -> list[list[str]]:
    """What a notice names, split as a shell does it."""
    return [shlex.split(line)[1:] for line in body.splitlines() if line.startswith("  cronce ")]


def told(stack: LocalStack, job: str) -> list[list[str]]:
    (body,) = (body for _, subject, body in stack.notices if f" {job} " in subject)
    return commands(body)


@pytest.mark.parametrize(
    "job, named",
    [
        ("broken", ["show", "retry", "ack"]),
        ("payout", ["show", "resolve", "resolve", "ack"]),
        ("refund", ["show", "resolve", "resolve", "ack"]),
    ],
)
def test_the_commands_of_a_failed_runs_notice_do_what_they_say(
    tmp_path: Path, job: str, named: list[str]
) -> None:
    with stack_with(tmp_path, JOBS) as stack:
        stack.play(4)
        asked = told(stack, job)

        assert [command[0] for command in asked] == named
        given = [
            cronce(command[0], *(["--yes"] if command[0] in ASKS else []), *command[1:]) for command in asked
        ]
        assert [said.code for said in given] == [UNDER_WAY if "--redo" in command else 0 for command in asked]
