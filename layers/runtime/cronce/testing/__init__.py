"""What jobs and the engine are tested with.

For authors of jobs: `run_job` executes a run in memory, `assert_resumable` kills its worker everywhere. The
rest is what these stand on, and what cronce's own tests use: a clock moved by hand, a store in memory.

Needs the standard library only. It ships with the layer, and no deployed function loads it.
"""

from cronce.testing.clock import ManualClock
from cronce.testing.effects import LoggedEvent, MemoryInvoker, MemoryNotifier, RecordingTelemetry
from cronce.testing.job_run import RunResult, run_job
from cronce.testing.keys import (
    LeaseItem,
    Marker,
    Unreadable,
    alert_key,
    gap_key,
    job_key,
    key_of,
    marker_key,
    named_lease_key,
    run_key,
)
from cronce.testing.memory import MemoryStore
from cronce.testing.renewal import ClockRenewal
from cronce.testing.resumable import Resumption, assert_resumable
from cronce.testing.watch import Call

__all__ = [
    "Call",
    "ClockRenewal",
    "LeaseItem",
    "LoggedEvent",
    "ManualClock",
    "Marker",
    "MemoryInvoker",
    "MemoryNotifier",
    "MemoryStore",
    "RecordingTelemetry",
    "Resumption",
    "RunResult",
    "Unreadable",
    "alert_key",
    "assert_resumable",
    "gap_key",
    "job_key",
    "key_of",
    "marker_key",
    "named_lease_key",
    "run_job",
    "run_key",
]
