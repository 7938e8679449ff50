"""What operators make of a job: written on the condition of all that was read, or not at all.

Invariants:
- whatever of the job's planning moved since it was read refuses the change, and nothing of it is written;
- its slots, which claims move all the time, neither refuse it nor are touched by it;
- a tick that read the job before the change is refused, and one that reads after it is not;
- gaps go with the change, and only those that are as read;
- the act that makes way is kept, in the same transaction; a change whose reply was lost is recognised.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronce.core.acts import Act, What
from cronce.core.answers import Applied, DueEntry
from cronce.core.job_change import JobChange
from cronce.core.jobstate import Gap, GapReason, Held, JobState, Settled
from cronce.core.pausing import paused, resumed
from cronce.core.records import Slots
from cronce.core.run import DueKind, Notice
from cronce.testing import ManualClock
from tests.contract.backends import Backend
from tests.contract.makers import JOB, MINUTE, NOW, gap, grant_of, job_in, job_state, pending, ref, window

ACT = Act(what=What.PAUSE, at=NOW, by="ann", why="stock-taking")
LATER = Act(what=What.RESUME, at=NOW + MINUTE, by="bob", why="counted")
SLOTS = Slots(held=frozenset({ref(0).id}), queued=1, fencing_token=7)


def pause(before: JobState, act: Act = ACT) -> JobChange:
    after = paused(before, act)
    assert after is not None
    return JobChange(before=before, after=after)


def resume(before: JobState, act: Act = LATER) -> JobChange:
    after = resumed(before, act)
    assert after is not None
    return JobChange(before=before, after=after)


def due_jobs(backend: Backend, clock: ManualClock) -> list[DueEntry]:
    clock.advance(timedelta(seconds=2))
    return backend.index.due(DueKind.JOB, None, 10)


def test_a_pause_is_written_and_takes_the_job_out_of_the_index(backend: Backend, clock: ManualClock) -> None:
    backend.place(job_state())

    assert backend.jobs.change(pause(job_state())) is Applied.DONE

    state = job_in(backend)
    assert (state.paused, state.act) == (pause(job_state()).after.paused, ACT)
    assert due_jobs(backend, clock) == []


def test_a_resume_puts_it_back_at_once_and_the_pause_is_kept(backend: Backend, clock: ManualClock) -> None:
    backend.place(job_state())
    assert backend.jobs.change(pause(job_state())) is Applied.DONE

    assert backend.jobs.change(resume(job_in(backend))) is Applied.DONE

    state = job_in(backend)
    assert (state.paused, state.resumed_at, state.act) == (None, NOW + MINUTE, LATER)
    assert [entry.due_at for entry in due_jobs(backend, clock)] == [NOW + MINUTE]
    assert backend.steps.acts(f"JOB#{JOB}") == [ACT]


def test_displaced_acts_are_read_in_order_and_of_one_job_only(backend: Backend) -> None:
    backend.place(job_state(), job_state(f"{JOB}-2"))
    third = replace(ACT, at=NOW + 2 * MINUTE)
    fourth = replace(LATER, at=NOW + 3 * MINUTE)
    for change, act in ((pause, ACT), (resume, LATER), (pause, third), (resume, fourth)):
        assert backend.jobs.change(change(job_in(backend), act)) is Applied.DONE

    assert backend.steps.acts(f"JOB#{JOB}") == [ACT, LATER, third]
    assert backend.steps.acts(f"JOB#{JOB}-2") == []


@pytest.mark.parametrize(
    "moved",
    [
        {"planned_to": NOW + MINUTE},
        {"schedule_hash": "hash-2"},
        {"schedule": {"kind": "cron", "expression": "0 * * * *", "tz": "UTC"}},
        {"held": Held.BEHIND},
        {"removed_at": NOW},
        {"began_at": NOW},
        {"resumed_at": NOW},
        {"due_at": None},
        {"next_at": None},
        {"expect_by": NOW},
        {"grace": MINUTE},
        {"zone_data": None},
        {"module": "jobs.elsewhere"},
        {"planned_local": NOW.replace(tzinfo=None) + MINUTE},
        {"act": LATER},
        {"settled": (Settled(first=NOW, last=NOW),)},
    ],
)
def test_whatever_moved_since_it_was_read_refuses_the_change(backend: Backend, moved: dict[str, Any]) -> None:
    other = job_state(**moved)
    backend.place(other)

    assert backend.jobs.change(pause(job_state())) is Applied.JOB_MOVED
    assert job_in(backend) == other


def test_a_job_that_is_gone_is_not_created(backend: Backend) -> None:
    assert backend.jobs.change(pause(job_state())) is Applied.JOB_MOVED
    assert backend.jobs.get(JOB) is None


def test_slots_that_moved_meanwhile_stay_as_they_are_and_refuse_nothing(backend: Backend) -> None:
    backend.place(job_state(slots=SLOTS))

    assert backend.jobs.change(pause(job_state())) is Applied.DONE

    assert job_in(backend).slots == SLOTS


def test_of_two_operators_one_is_refused(backend: Backend) -> None:
    backend.place(job_state())
    mine, theirs = pause(job_state()), pause(job_state(), replace(ACT, by="bob"))

    assert [backend.jobs.change(change) for change in (mine, theirs)] == [Applied.DONE, Applied.JOB_MOVED]
    assert job_in(backend).act == ACT


@pytest.mark.parametrize("with_past_act", [False, True])
def test_a_change_whose_reply_was_lost_is_recognised(backend: Backend, with_past_act: bool) -> None:
    state = job_state(act=LATER) if with_past_act else job_state()
    backend.place(state)

    assert [backend.jobs.change(pause(state)) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert backend.steps.acts(f"JOB#{JOB}") == ([LATER] if with_past_act else [])


def test_i3_a_tick_that_read_the_job_before_the_pause_is_refused(backend: Backend) -> None:
    state = job_state(slots=SLOTS)
    backend.place(state)
    grant = grant_of(backend)
    assert backend.jobs.change(pause(state)) is Applied.DONE

    assert backend.plans.commit(grant, [window(state, pending(ref(1)))]).stale == {JOB}
    assert backend.runs.get(ref(1)) is None


def test_a_pause_judged_before_a_tick_planned_is_refused(backend: Backend) -> None:
    state = job_state()
    backend.place(state)
    assert backend.plans.commit(grant_of(backend), [window(state, pending(ref(1)))]).done

    assert backend.jobs.change(pause(state)) is Applied.JOB_MOVED
    assert job_in(backend).paused is None


def test_gaps_go_with_the_change(backend: Backend) -> None:
    kept, gone = gap(-30, reason=GapReason.PAUSED, notice=None), gap(-10)
    backend.place(job_state(), kept, gone)
    change = JobChange(before=job_state(), after=job_state(planned_to=NOW - 11 * MINUTE), gaps=(gone,))

    assert [backend.jobs.change(change) for _ in range(2)] == [Applied.DONE, Applied.DONE]
    assert backend.runs.gaps(JOB).records == [kept]
    assert job_in(backend).planned_to == NOW - 11 * MINUTE


@pytest.mark.parametrize("stored", [None, gap(-10, count=3), gap(-10, notice=Notice.TOLD)])
def test_a_gap_that_is_not_as_read_refuses_all_of_it(backend: Backend, stored: Gap | None) -> None:
    backend.place(job_state(), *([stored] if stored else []))
    change = JobChange(before=job_state(), after=job_state(planned_to=NOW - 11 * MINUTE), gaps=(gap(-10),))

    assert backend.jobs.change(change) is Applied.JOB_MOVED
    assert backend.runs.gaps(JOB).records == ([stored] if stored else [])
    assert job_in(backend) == job_state()
