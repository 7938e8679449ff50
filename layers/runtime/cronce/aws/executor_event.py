"""What the executor is handed: the event that `LambdaInvoker` sends."""

from __future__ import annotations

from collections.abc import Mapping

from cronce.core.errors import EventError
from cronce.core.records import RunRef

SHOWN = 120
"""Characters of a wrong event that its error shows."""


def read_event(event: object) -> RunRef:
    """The run that an executor is asked to execute.

    Raises:
        EventError: the event is not `{"run": "<run id>"}`.
    """
    if not isinstance(event, Mapping) or set(event) != {"run"}:
        shown = repr(event)
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
        raise EventError(f'the executor takes {{"run": "<run id>"}} and nothing else, not {shown}')
    try:
        return RunRef.parse(event["run"])
    except ValueError as error:
        raise EventError(f'the executor takes {{"run": "<run id>"}}: {error}') from error
