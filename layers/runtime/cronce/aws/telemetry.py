"""Log lines and metrics of one function: JSON lines on standard output that CloudWatch reads.

A line has its event's name as `message` and every field beside it. Metrics are added up and written once,
by `flush`, in CloudWatch's embedded format, with the one dimension `stack`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import IO, Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from cronce.core.instants import to_text
from cronce.core.records import RunRef

NAMESPACE = "cronce"
DIMENSION = "stack"
JOB_DIMENSION = "job"
CALLER = 3
"""Frames to skip (Powertools' and ours), so that a line's `location` is where the event happened."""

_TAKEN = frozenset(vars(logging.makeLogRecord({}))) | {
    # of logging, of its formatter, and arguments of its methods
    "message", "asctime", "exc_info", "stack_info", "stacklevel", "extra",
    # of Powertools
    "level", "location", "timestamp", "service", "sampling_rate", "exception", "exception_name",
    "stack_trace", "function_request_id", "xray_trace_id", "stack",
}  # fmt: skip
# Names that a field cannot have: logging refuses some of them with a KeyError, others would hide what
# Powertools writes.


class PowertoolsTelemetry:
    """`Telemetry` with Powertools Logger and Metrics. One object serves many threads.

    Args:
        service: the function: "scheduler", "dispatcher", "executor" or "watchdog".
        stack: name of the stack.
        stream: where lines go; standard output by default. Metrics always go to standard output.
    """

    def __init__(self, service: str, stack: str, *, stream: IO[str] | None = None) -> None:
        self._stack = stack
        self._logger = Logger(service=service, stream=stream, utc=True, use_rfc3339=True)
        self._logger.append_keys(stack=stack)
        self._lock = threading.Lock()
        self._sums: dict[str, float] = {}

    def begin(self, request_id: str) -> None:
        """Put the invocation's request id on every line from now on, and forget metrics of an earlier one."""
        self._logger.append_keys(function_request_id=request_id)
        with self._lock:
            self._sums = {}

    def event(self, name: str, **fields: object) -> None:
        """One line at level INFO."""
        self._logger.info(name, extra=_extra(fields), stacklevel=CALLER)

    def warn(self, name: str, **fields: object) -> None:
        """One line at level WARNING."""
        self._logger.warning(name, extra=_extra(fields), stacklevel=CALLER)

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a metric; it is written by `flush`, also if the sum is 0."""
        with self._lock:
            self._sums[metric] = self._sums.get(metric, 0) + value

    def flush(self) -> None:
        """Write the metrics counted since the last time, if there are any."""
        with self._lock:
            sums, self._sums = self._sums, {}
        if not sums:
            return
        _publish(sums, {DIMENSION: self._stack})

    def by_job(self, metric: str, values: Mapping[str, int]) -> None:
        """Write a metric's values now, each with the dimensions `stack` and `job`: a line of log each."""
        for job, value in values.items():
            dimensions = {DIMENSION: self._stack, JOB_DIMENSION: job}
            _publish({metric: value}, dimensions)


def _publish(values: Mapping[str, float], dimensions: dict[str, str]) -> None:
    """Write metrics. A new provider each time: it shares nothing with other functions of this process.

    The empty service keeps Powertools from adding a dimension of that name.
    """
    metrics = AmazonCloudWatchEMFProvider(namespace=NAMESPACE, service="", default_dimensions=dimensions)
    for name, value in values.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
    metrics.flush_metrics()


def _extra(fields: Mapping[str, object]) -> dict[str, Any]:
    return {f"{name}_" if name in _TAKEN else name: plain(value) for name, value in fields.items()}


def plain(value: object) -> object:
    """A field's value as a person reads it in JSON: instants as text, durations in seconds, run ids."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(part) for part in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return _plain_scalar(value)


def _plain_scalar(value: object) -> object:
    match value:
        case datetime() if value.tzinfo:
            return to_text(value)
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case RunRef():
            return value.id
        case BaseException():
            return f"{type(value).__name__}: {value}"
    return value
