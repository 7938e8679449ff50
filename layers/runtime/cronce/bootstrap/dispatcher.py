"""What the dispatcher is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.aws.clients import bounded_client
from cronce.aws.invoker import LambdaInvoker
from cronce.aws.settings import dispatcher_settings
from cronce.bootstrap.process import Function, made
from cronce.engine.dispatcher import Dispatcher

if TYPE_CHECKING:
    from cronce.bootstrap.process import Process
    from cronce.core.ports import Telemetry


def dispatcher() -> Function[Dispatcher]:
    """The dispatcher of this process.

    Raises:
        SettingsError: an environment variable is missing or malformed.
    """
    return made(_make)


def dispatcher_of(process: Process, executor: str, telemetry: Telemetry) -> Dispatcher:
    """The part of the engine that starts executors.

    Args:
        process: whose session it uses.
        executor: name or ARN of the executor's function.
        telemetry: where it counts.
    """
    invoker = LambdaInvoker(bounded_client("lambda", session=process.session), executor)
    return Dispatcher(invoker=invoker, telemetry=telemetry)


def _make(process: Process) -> Function[Dispatcher]:
    settings = dispatcher_settings()
    telemetry = process.telemetry("dispatcher", settings.stack)
    part = dispatcher_of(process, settings.executor, telemetry)
    return Function(part=part, telemetry=telemetry, clock=process.clock)
