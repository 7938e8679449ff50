"""A job that does not end by itself, through the executor's handler.

Invariants:
- its timeout ends it, and its run;
- what the process had made is not used again: the interruption may have come within any call.
"""

from __future__ import annotations

from cronce.bootstrap.executor import executor
from tests.functions.deployed import DUE, Deployed

ENDLESS = """
from cronce import Cron, job

@job("endless", schedule=Cron("0 * * * *"), timeout="1s")
def endless(run):
    while True:
        pass
"""


def test_a_process_whose_job_was_interrupted_makes_everything_anew(stack: Deployed) -> None:
    stack.job("endless", ENDLESS)
    stack.tick()
    stack.tick(DUE)
    before = executor()

    assert [answer["outcome"] for answer in stack.settle()] == ["failed"]

    run = stack.run("endless@2026-03-08T10:00:00Z")
    assert (run["status"], run["reason"]) == ("FAILED", "timeout")
    assert executor() is not before
