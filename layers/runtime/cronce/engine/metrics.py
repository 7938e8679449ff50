"""Names of all metrics, once. The template's alarms use the same names; a test compares them.

Each but the last has the one dimension `stack`, so two stacks in one account never meet. Custom metrics are
most of the bill of a quiet stack, so there are few, and what only a person reads is a field of a log line
instead.
"""

TICK_COMPLETED = "TickCompleted"
"""1 after a tick that planned and swept everything due. Its absence is the scheduler's alarm."""
PATROL_COMPLETED = "PatrolCompleted"
"""1 after a complete patrol. Its absence is the watchdog's alarm."""
JOBS_MISSED = "JobsMissed"
"""Gauge: open alerts with a missed or skipped time. Published every patrol, 0 when fine."""
JOBS_FAILED = "JobsFailed"
"""Gauge: open alerts with a failed run. Published every patrol, 0 when fine."""
JOBS_HELD = "JobsHeld"
"""Gauge of the scheduler: what cannot be planned (a module that does not import, a job that raises, an item
that cannot be read or written)."""
ITEMS_UNREADABLE = "ItemsUnreadable"
"""Stored items that could not be understood, or about which the store did not answer though asked again."""
DISPATCH_FAILURES = "DispatchFailures"
"""Invocations of the executor that were not accepted."""
STARTS_BY_SWEEP = "StartsBySweep"
"""Runs that nobody had claimed two minutes after they were to start, so that the sweep asked for an executor:
what the fast path (stream, dispatcher, asynchronous invocation) did not do, for whatever reason. A run counts
once each time that it becomes PENDING, however often the sweep asks: its alarm shall not come and go with the
requests."""
NOTICES_FAILED = "NoticesFailed"
"""Notices that could not be published."""
RUNS_SUCCEEDED = "RunsSucceeded"
"""Runs that ended SUCCEEDED."""
RUNS_FAILED = "RunsFailed"
"""Runs that ended FAILED."""
JOB_IN_TROUBLE = "JobInTrouble"
"""Gauge with the dimensions `stack` and `job`, published every patrol if the stack asked for it (JobMetrics):
1 while the job's own alert is open, 0 when fine."""
PINGS_FAILED = "PingsFailed"
"""Signals to services outside AWS that did not arrive. They alarm by themselves, so no alarm watches it."""
