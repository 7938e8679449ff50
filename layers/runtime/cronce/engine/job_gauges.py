"""One gauge for each job, if the stack asked for it: 1 while the job's own alert is open, else 0.

What a silent scheduler has not planned stands in the scheduler's alert and is no trouble of the jobs: one
cause is not told as a hundred. Dense, so that an alarm on a job ends, and published for the jobs of the
registry alone: a job that is removed leaves no series that goes on. A patrol that could not look at
everything publishes no 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from cronce.core.values import dataclass
from cronce.engine.metrics import JOB_IN_TROUBLE

if TYPE_CHECKING:
    from cronce.core.alerts import Alert
    from cronce.core.ports import RegistryStore
    from cronce.engine.patrol_log import PatrolLog


@dataclass(frozen=True, kw_only=True, slots=True)
class JobGauges:
    """Publishes them.

    Attributes:
        registry: where the names of the jobs are.
        publish: writes a metric's values by job.
    """

    registry: RegistryStore
    publish: Callable[[str, Mapping[str, int]], None]

    def tell(self, log: PatrolLog, alerts: Iterable[Alert], spoiled: Collection[str]) -> None:
        """Publish the gauges of all jobs.

        If it cannot be done it is left out: the patrol has judged everything and is a complete one.

        Args:
            log: of the patrol.
            alerts: the open ones.
            spoiled: jobs whose open alert cannot be understood: they count as troubled.
        """
        troubled = {alert.scope for alert in alerts} | set(spoiled)
        with log.beside("the metrics of the jobs"):
            registry = self.registry.read()
            jobs = registry.jobs if registry else {}
            gauges = {name: int(name in troubled) for name in sorted(jobs)}
            known = {name: gauge for name, gauge in gauges.items() if gauge or not log.problems}
            self.publish(JOB_IN_TROUBLE, known)
