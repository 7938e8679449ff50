"""What jobs and the engine are tested with: a clock moved by hand, a store in memory.

Needs the standard library only.
"""

from cronce.testing.clock import ManualClock
from cronce.testing.effects import LoggedEvent, MemoryInvoker, MemoryNotifier, RecordingTelemetry
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

__all__ = [
    "LeaseItem",
    "LoggedEvent",
    "ManualClock",
    "Marker",
    "MemoryInvoker",
    "MemoryNotifier",
    "MemoryStore",
    "RecordingTelemetry",
    "Unreadable",
    "alert_key",
    "gap_key",
    "job_key",
    "key_of",
    "marker_key",
    "named_lease_key",
    "run_key",
]
