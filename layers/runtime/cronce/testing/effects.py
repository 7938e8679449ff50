"""What the engine does to the outside world, kept in lists: invocations, notices, log lines, metrics."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from cronce.core.alerts import NoticeText
from cronce.core.errors import DispatchError, NotifyError
from cronce.core.records import RunRef


class MemoryInvoker:
    """Remembers which runs an executor was asked for.

    Attributes:
        refs: every accepted request, in order, repeated ones included.
        refused: requests that failed.
        failures: so many of the next requests fail.
        down: every request fails while this is true.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.refs: list[RunRef] = []
        self.refused: list[RunRef] = []
        self.failures = 0
        self.down = False

    def invoke(self, ref: RunRef) -> None:
        """Accept the request, unless told to fail.

        Raises:
            DispatchError: it was told to fail.
        """
        with self._lock:
            if self.down or self.failures > 0:
                self.failures = max(0, self.failures - 1)
                self.refused.append(ref)
                raise DispatchError(f"run {ref.id}: the executor could not be invoked")
            self.refs.append(ref)

    def drain(self) -> list[RunRef]:
        """The requests since the last call, taken out of the list."""
        with self._lock:
            drained, self.refs = self.refs, []
            return drained


class MemoryNotifier:
    """Remembers what people were told.

    Attributes:
        notices: every accepted notice, in order.
        refused: notices that failed.
        failures: so many of the next notices fail.
        down: every notice fails while this is true.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.notices: list[NoticeText] = []
        self.refused: list[NoticeText] = []
        self.failures = 0
        self.down = False

    def publish(self, notice: NoticeText) -> None:
        """Accept the notice, unless told to fail.

        Raises:
            NotifyError: it was told to fail.
        """
        with self._lock:
            if self.down or self.failures > 0:
                self.failures = max(0, self.failures - 1)
                self.refused.append(notice)
                raise NotifyError(f"notice {notice.id}: it could not be published")
            self.notices.append(notice)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedEvent:
    """One log line: its event name, its fields, and whether it is a warning."""

    name: str
    fields: dict[str, object] = field(default_factory=dict)
    warning: bool = False


class RecordingTelemetry:
    """Remembers log lines and adds up metrics.

    Attributes:
        events: every line, in order.
        metrics: sum by metric name; a metric that was counted as 0 is present with 0.
        flushed: the metrics as they were at the latest `flush`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.events: list[LoggedEvent] = []
        self.metrics: dict[str, float] = {}
        self.flushed: dict[str, float] = {}

    def event(self, name: str, **fields: object) -> None:
        """Remember a line."""
        self._log(LoggedEvent(name=name, fields=fields))

    def warn(self, name: str, **fields: object) -> None:
        """Remember a line that somebody should look at."""
        self._log(LoggedEvent(name=name, fields=fields, warning=True))

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a metric."""
        with self._lock:
            self.metrics[metric] = self.metrics.get(metric, 0) + value

    def flush(self) -> None:
        """Remember what is published from now on, whatever happens."""
        with self._lock:
            self.flushed = dict(self.metrics)

    def named(self, name: str) -> list[LoggedEvent]:
        """The lines of one event name."""
        with self._lock:
            return [line for line in self.events if line.name == name]

    @property
    def warnings(self) -> list[LoggedEvent]:
        """The lines that somebody should look at."""
        with self._lock:
            return [line for line in self.events if line.warning]

    def _log(self, line: LoggedEvent) -> None:
        with self._lock:
            self.events.append(line)
