"""A step that an operator resolves, in one transaction with its run.

Invariants:
- the step changes only if it still is the item that was read, and only together with its run;
- a worker that started it never takes the operator's word for its own write.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cronce.core.acts import Act, What
from cronce.core.answers import Applied
from cronce.core.changes import RunChange
from cronce.core.records import StepRecord, StepStatus
from cronce.core.resolution import Verdict, resolved
from cronce.core.run import Reason, RunStatus
from tests.contract.backends import Backend
from tests.contract.makers import MINUTE, NOW, failed, ref, running, step, stored

RUN = ref(0)
MINE = running(RUN)
FAILED = failed(RUN, reason=Reason.STEP_UNCERTAIN, rev=3)
STARTED = step(RUN, "charge", status=StepStatus.STARTED, result="null", until=NOW + 15 * MINUTE)
LATER = NOW + 30 * MINUTE
DONE = Verdict(
    done='"paid"',
    act=Act(what=What.RESOLVE, by="ann", why="it is on the statement", at=NOW + MINUTE),
)


def started(backend: Backend) -> RunChange:
    """A step that was started, its run as it is now, and the change that says: it was done."""
    backend.place(MINE)
    assert backend.steps.record(MINE, STARTED)
    backend.place(FAILED)
    return resolved(stored(backend, RUN), STARTED, DONE)


def redone(backend: Backend) -> RunChange:
    """The same, and the change that says: it was not done."""
    started(backend)
    return resolved(stored(backend, RUN), STARTED, replace(DONE, done=None, act=replace(DONE.act, at=LATER)))


def steps(backend: Backend) -> list[StepRecord]:
    return list(backend.steps.load(RUN))


def test_step_and_run_change_together(backend: Backend) -> None:
    change = started(backend)

    assert backend.runs.apply(change) is Applied.DONE

    (item,) = steps(backend)
    assert (item.status, item.result, item.until) == (StepStatus.DONE, '"paid"', None)
    assert (item.owner, item.why, item.at) == ("operator ann", "it is on the statement", NOW + MINUTE)
    run = stored(backend, RUN)
    assert (run.status, run.touched, run.forget_at, run.notice) == (RunStatus.PENDING, True, None, None)


def test_a_reply_that_was_lost_is_recognised(backend: Backend) -> None:
    change = started(backend)
    assert backend.runs.apply(change) is Applied.DONE

    assert backend.runs.apply(change) is Applied.DONE


def test_a_reply_that_was_lost_is_recognised_although_a_worker_is_at_the_step_again(
    backend: Backend,
) -> None:
    change = redone(backend)
    assert backend.runs.apply(change) is Applied.DONE
    claimed = replace(MINE, act=change.after.act, rev=change.after.rev + 1, fencing_token=9)
    again = replace(STARTED, fencing_token=9, until=NOW + 60 * MINUTE)
    backend.place(claimed)
    (free,) = steps(backend)
    assert backend.steps.record(claimed, again, free)

    assert backend.runs.apply(change) is Applied.DONE
    assert steps(backend) == [again]


def test_what_another_operator_says_at_the_same_moment_is_not_ones_own(backend: Backend) -> None:
    started(backend)
    mine = resolved(stored(backend, RUN), STARTED, replace(DONE, act=replace(DONE.act, at=LATER)))
    other = redone(backend)
    assert backend.runs.apply(other) is Applied.DONE

    assert backend.runs.apply(mine) is Applied.RUN_MOVED


@pytest.mark.parametrize("moved", [{"status": StepStatus.NOT_DONE, "until": None}, {"fencing_token": 9}])
def test_a_step_that_moved_meanwhile_changes_nothing(backend: Backend, moved: dict[str, Any]) -> None:
    change = started(backend)
    other = replace(STARTED, **moved)
    claimed = replace(MINE, fencing_token=other.fencing_token)
    backend.place(claimed)
    assert backend.steps.record(claimed, other, STARTED)
    backend.place(FAILED)

    assert backend.runs.apply(change) is Applied.STEP_MOVED
    assert steps(backend) == [other]
    assert stored(backend, RUN) == FAILED


def test_a_run_that_moved_meanwhile_keeps_its_step(backend: Backend) -> None:
    change = started(backend)
    backend.place(replace(FAILED, rev=4))

    assert backend.runs.apply(change) is Applied.RUN_MOVED
    assert steps(backend) == [STARTED]


def test_the_starter_does_not_take_the_operators_word_for_its_own_write(backend: Backend) -> None:
    """It has the owner and token that the step had; the operator's end of it has the operator's name."""
    assert backend.runs.apply(started(backend)) is Applied.DONE

    mine = replace(STARTED, status=StepStatus.DONE, result='"mine"', until=None)
    assert not backend.steps.record(MINE, mine, STARTED)
    assert steps(backend)[0].result == '"paid"'


def test_two_operators_who_do_the_same_to_the_run_are_told_apart_by_the_step(backend: Backend) -> None:
    mine = started(backend)
    theirs = resolved(stored(backend, RUN), STARTED, replace(DONE, done='"theirs"'))
    assert theirs.after == mine.after
    assert backend.runs.apply(theirs) is Applied.DONE

    assert backend.runs.apply(mine) is Applied.RUN_MOVED
    assert steps(backend)[0].result == '"theirs"'
