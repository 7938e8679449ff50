"""What the dispatcher is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.aws.invoker import LambdaInvoker
from cronce.aws.settings import dispatcher_settings
from cronce.bootstrap.process import Function, made
from cronce.engine.dispatcher import Dispatcher

if TYPE_CHECKING:
    from cronce.bootstrap.process import Process


def dispatcher() -> Function[Dispatcher]:
    """The dispatcher of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
    """
    return made(_make)


def _make(process: Process) -> Function[Dispatcher]:
    settings = dispatcher_settings()
    telemetry = process.telemetry("dispatcher", settings.stack)
    client = process.client_when_needed("lambda")
    client()  # it is needed at every call
    part = Dispatcher(invoker=LambdaInvoker(client, settings.executor), telemetry=telemetry)
    return Function(part=part, telemetry=telemetry, clock=process.clock)
