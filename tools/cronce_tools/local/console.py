"""What handlers of the local stack print: log lines and metrics, as CloudWatch takes them from Lambda."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from typing_extensions import override

from cronce.testing import ManualClock
from cronce_tools.local.metrics import Metrics, Series


class Console(io.TextIOBase):
    """Takes what is printed: log lines are kept, metrics (EMF) recorded by the clock, the rest goes on.

    Args:
        clock: the virtual clock.
        metrics: where metrics are recorded.
    """

    def __init__(self, clock: ManualClock, metrics: Metrics) -> None:
        self._clock, self._metrics = clock, metrics
        self._begun = ""
        self.lines: list[dict[str, Any]] = []
        self.rest: TextIO | None = None
        """Where to print what a job or its test prints itself."""

    @override
    def writable(self) -> bool:
        """It takes text."""
        return True

    @override
    def write(self, text: str) -> int:
        """Take some text; whole lines are looked at."""
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            self._take(line)
        return len(text)

    def _take(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            if self.rest:
                self.rest.write(f"{line}\n")
            return
        if "_aws" not in entry:
            self.lines.append(entry)
            return
        for block in entry["_aws"]["CloudWatchMetrics"]:
            for names in block["Dimensions"]:
                dimensions = {name: entry[name] for name in names}
                for metric in block["Metrics"]:
                    series = Series.named(block["Namespace"], metric["Name"], dimensions)
                    self._record(series, entry[metric["Name"]])

    def _record(self, series: Series, values: float | list[float]) -> None:
        for value in values if isinstance(values, list) else [values]:
            self._metrics.record(series, self._clock.now(), float(value))


@contextmanager
def output_to(console: Console) -> Iterator[None]:
    """Hand everything that is printed to the console, until the end of the block."""
    before = sys.stdout
    console.rest, sys.stdout = before, console
    try:
        yield
    finally:
        sys.stdout = before
