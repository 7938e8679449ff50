"""What a patrol found and did."""

from __future__ import annotations

from cronce.core.values import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PatrolReport:
    """What a patrol found and did.

    Attributes:
        complete: it looked at everything, and nothing went wrong.
        missed: open alerts with a missed or skipped time.
        failed: open alerts with a failed run.
        in_time: it told and marked everything that it had to.
        vouches: all of that, no notice was refused, and the scheduler completes its ticks: the stack is well,
            whatever its jobs are.
        opened: scopes of the alerts it opened, for the first time or again.
        closed: scopes of those it closed.
        told: ids of the notices it published.
        untold: scopes of the alerts whose notice is left to the next patrol.
        unreadable: items that could not be understood.
        problems: parts that could not be done.
    """

    complete: bool
    missed: int
    failed: int
    in_time: bool = True
    vouches: bool = False
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
