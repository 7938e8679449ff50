"""All checks, in the order in which they are made and told."""

from __future__ import annotations

from cronce_tools.doctor import (
    alarms,
    concurrency,
    functions,
    ledger,
    mapping,
    queues,
    release,
    rules,
    runs,
    tables,
)
from cronce_tools.doctor.place import AnyCheck, Check

CHECKS: tuple[AnyCheck, ...] = (
    Check(
        name="release",
        look=lambda place: place.releases,
        judge=release.judge_release,
        why="all else is compared with it",
    ),
    ledger.LEASE,
    rules.RULES,
    rules.TRIGGERS,
    rules.SCHEDULES,
    functions.FUNCTIONS,
    functions.ASYNCS,
    mapping.CHECK,
    concurrency.LIMIT,
    concurrency.RESERVED,
    concurrency.THROTTLES,
    alarms.ALARMS,
    alarms.TOPIC_CHECK,
    queues.CHECK,
    runs.JOBS,
    runs.RUNS,
    ledger.ZONES,
    ledger.JOBS_HERE,
    tables.TABLES,
    tables.EXPIRY,
    tables.BACKUPS,
    tables.LOGS,
)
