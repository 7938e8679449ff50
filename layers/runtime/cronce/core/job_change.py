"""One conditional write of a job by an operator, and what it is conditional on.

Everything of the job that is not its runs' affair (see `JobState`, without `slots`) must still be as it was
read: a tick that planned, held or adopted something meanwhile makes the operator's command look again, and an
operator who was first makes a tick's plan void (`JobWindow`).
"""

from __future__ import annotations

from dataclasses import replace

from cronce.core.acts import PastAct, displaced
from cronce.core.jobstate import Gap, JobState
from cronce.core.records import Slots
from cronce.core.values import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class JobChange:
    """What an operator makes of a job, in one transaction or not at all.

    Attributes:
        before: the job as read.
        after: the job as it shall be; its `slots` are left as they are stored.
        gaps: gaps to delete, each on the condition that it is as read.
    """

    before: JobState
    after: JobState
    gaps: tuple[Gap, ...] = ()

    @property
    def past_act(self) -> PastAct | None:
        """The operator's act that makes way for this one."""
        return displaced(f"JOB#{self.before.name}", self.before.act, self.after.act)

    def was_read(self, stored: JobState) -> bool:
        """Whether the stored job is the one that was read."""
        return _planning(stored) == _planning(self.before)

    def wrote(self, stored: JobState) -> bool:
        """Whether the stored job has this very change, whose reply was lost: nobody else has signed it so.

        A tick may have planned the job since.
        """
        if self.after.act is not None and self.after.act != self.before.act:
            return stored.act == self.after.act
        return _planning(stored) == _planning(self.after)


def _planning(state: JobState) -> JobState:
    """The job without what its runs share."""
    return replace(state, slots=Slots())
