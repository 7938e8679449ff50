"""What the executor is handed: the event that `LambdaInvoker` sends."""

from __future__ import annotations

from collections.abc import Mapping

from cronce.aws.outline import outline
from cronce.core.errors import EventError
from cronce.core.records import RunRef


def read_event(event: object) -> RunRef:
    """The run that an executor is asked to execute.

    Raises:
        EventError: the event is not `{"run": "<run id>"}`.
    """
    if not isinstance(event, Mapping) or set(event) != {"run"}:
        raise EventError(f'the executor takes {{"run": "<run id>"}} and nothing else, not {outline(event)}')
    try:
        return RunRef.parse(event["run"])
    except ValueError as error:
        raise EventError(f'the executor takes {{"run": "<run id>"}}: {error}') from error
