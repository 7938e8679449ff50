"""The watchdog of an invocation: a patrol, and the heartbeat after one that vouches for the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.core.values import dataclass
from cronce.engine.watchdog import PATROL_MARGIN, Watchdog

if TYPE_CHECKING:
    from datetime import datetime

    from cronce.engine.patrol_report import PatrolReport
    from cronce.engine.pinging import Pings


@dataclass(frozen=True, kw_only=True, slots=True)
class VouchingWatchdog:
    """Patrols, and tells a service outside AWS that all is well.

    Attributes:
        watchdog: looks after all jobs.
        pings: tells the service; None: there is none.
    """

    watchdog: Watchdog
    pings: Pings | None

    def patrol(self, deadline: datetime) -> PatrolReport:
        """Patrol once. The heartbeat comes last, and only if the patrol vouches for the stack.

        Args:
            deadline: when the invocation ends.
        """
        report = self.watchdog.patrol(deadline - PATROL_MARGIN)
        if self.pings and report.vouches:
            self.pings.beat(deadline)
        return report
