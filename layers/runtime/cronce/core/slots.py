"""The arithmetic of a job's slots and queue. Each result is written by compare-and-set against what was read.

A slot belongs to a run from its first claim (or wake-up) until it is final: through backoff, sleep and
slices. So a slot lives and dies with its run: the run's own end frees it, and who finds the slots full
drops those of ended runs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from cronce.core.retry import Retry
from cronce.core.values import dataclass

if TYPE_CHECKING:
    from cronce.core.job import Job
    from cronce.core.records import Slots


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPolicy:
    """What whoever moves a run must know of its job's code.

    Attributes:
        concurrency: slots of the job; None = it has none, and no queue.
        retry: when a failed attempt is tried again.
    """

    concurrency: int | None
    retry: Retry

    @classmethod
    def of(cls, job: Job | None) -> RunPolicy:
        """The policy of a job; of one that is not known here the narrowest: nothing runs beside it."""
        return cls(concurrency=job.concurrency, retry=job.retry) if job else UNKNOWN


UNKNOWN = RunPolicy(concurrency=1, retry=Retry())


def has_free(held: Collection[str], policy: RunPolicy) -> bool:
    """Whether a slot is free for a queued run."""
    return policy.concurrency is None or len(held) < policy.concurrency


def has_place(held: Collection[str], run_id: str, policy: RunPolicy) -> bool:
    """Whether a run may start: it holds a slot already, or one is free."""
    return run_id in held or has_free(held, policy)


def taken(slots: Slots, held: Collection[str], run_id: str) -> Slots:
    """After a claim: the run holds a slot, and has the next token.

    Args:
        slots: as read.
        held: who of those still holds one; the others are dropped.
        run_id: who claims.
    """
    return replace(slots, held=frozenset({*held, run_id}), fencing_token=slots.fencing_token + 1)


def enqueued(slots: Slots, held: Collection[str]) -> Slots:
    """After a run that found no place put its marker."""
    return replace(slots, held=frozenset(held), queued=slots.queued + 1)


def handed_over(slots: Slots, held: Collection[str]) -> Slots:
    """After the first queued run was woken.

    Args:
        slots: as read.
        held: who holds a slot from now on, the woken run included.
    """
    return replace(slots, held=frozenset(held), queued=max(slots.queued - 1, 0))


def left(slots: Slots, run_id: str, *, was_queued: bool) -> Slots:
    """After a run ended: its slot is free, and its marker gone if it had one."""
    queued = max(slots.queued - 1, 0) if was_queued else slots.queued
    return replace(slots, held=slots.held - {run_id}, queued=queued)
