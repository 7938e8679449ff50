"""AWS's semantics for the emulator, where its own differ. Runs inside the emulator's process only.

* Scheduled rules are looked at each second, so that `cron(* * * * ? *)` ticks at the full minute.
* Streams: `stream_mappings`. Alarms and depths of queues: `alarm_clock`.
* Metrics in the embedded format are taken from the logs of functions.
* An alias's own settings for asynchronous invocations hold (retries, age, on-failure queue); as it is, the
  emulator keeps them and does not look at them.
* Requests count as sent over TLS, which the policies of the topic and the queues ask for.
* Functions see their code and their layers, not the packages of the emulator's environment: `shared_code`.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cronce_tools.emulator.alarm_clock import AlarmClock
from cronce_tools.emulator.embedded_metrics import datapoints
from cronce_tools.emulator.parts import EmulatorChangedError, Parts
from cronce_tools.emulator.shared_code import shared_zipfile
from cronce_tools.emulator.stream_mappings import StreamMappings

__all__ = ["EmulatorChangedError", "install", "stop_with_parent"]

RULES_EVERY = 1
"""Seconds between two looks at the scheduled rules."""
INTERPRETER = "function-python"
"""Name of the command that executes functions, in the emulator's own folder for temporary files."""


def install() -> None:
    """Replace parts of the emulator; before it serves.

    Raises:
        EmulatorChangedError: the emulator is not the one that this was written for.
    """
    parts = Parts()
    lambda_svc, runtime = parts["lambda_svc"], parts["lambda_runtime"]
    parts["eventbridge"]._SCHEDULER_TICK_INTERVAL = RULES_EVERY
    lambda_svc._poll_dynamodb_streams = StreamMappings(parts).poll
    lambda_svc._emit_lambda_logs = _with_metrics(parts, lambda_svc._emit_lambda_logs)
    lambda_svc.invoke_async_with_retry = _with_alias_settings(parts, lambda_svc.invoke_async_with_retry)
    runtime._detect_runtime_binary = _without_packages(runtime._detect_runtime_binary)
    runtime.zipfile = shared_zipfile()
    policies = parts["iam_evaluator"]
    policies._resolve_condition_key = _as_over_tls(policies._resolve_condition_key)
    alarms, provisioners = AlarmClock(parts), parts["provisioners"]
    parts["cloudwatch"]._evaluate_alarm = lambda _alarm: None
    provisioners._cw_metric_alarm_record = alarms.remember_warm_up(provisioners._cw_metric_alarm_record)
    alarms.start()
    provisioners._RESOURCE_HANDLERS.setdefault("AWS::Logs::QueryDefinition", _taken_and_not_kept())


def stop_with_parent() -> None:
    """End the emulator when its standard input is closed: whoever started it is gone, however it went."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="cronce-parent", daemon=True).start()


def _taken_and_not_kept() -> dict[str, Callable[..., Any]]:
    """CloudFormation's part for a resource that the emulator does not know and nobody asks for there."""
    return {
        "create": lambda logical_id, _properties, stack: (f"{stack}-{logical_id}", {}),
        "update": lambda name, _before, _after, _stack: (name, {}),
        "delete": lambda _name, _properties: None,
    }


def _with_metrics(parts: Parts, original: Callable[..., None]) -> Callable[..., None]:
    """The writer of a function's log, which also publishes the metrics in it."""

    def emit(func: Any, request_id: str, log_text: str, *rest: Any, **named: Any) -> None:
        original(func, request_id, log_text, *rest, **named)
        for point in datapoints(log_text or ""):
            parts["cloudwatch"].record_metric(
                point.namespace, point.name, point.value, point.unit, point.dimensions
            )

    return emit


def _with_alias_settings(parts: Parts, original: Callable[..., None]) -> Callable[..., None]:
    """The asynchronous invocation, with the settings of the alias that was named."""

    def invoke(func: dict[str, Any], event: Any) -> None:
        config = func.get("config") or func
        base = parts["lambda_svc"]._functions.get(config["FunctionName"]) or {}
        _, _, qualifier = config["FunctionArn"].split(":function:", 1)[1].partition(":")
        settings = (base.get("event_invoke_configs") or {}).get(qualifier)
        original({**func, "event_invoke_config": settings} if settings else func, event)

    return invoke


def _as_over_tls(original: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """The values of condition keys, with every request taken as encrypted: it does not leave the machine."""

    def resolve(key: str, context: Any) -> Any:
        return "true" if key.lower() == "aws:securetransport" else original(key, context)

    return resolve


def _without_packages(original: Callable[[str], tuple[str, str]]) -> Callable[[str], tuple[str, str]]:
    """The choice of an interpreter: this one, without the packages that are installed for the emulator.

    The shell replaces itself by the interpreter, so that a function's process id is the one that the emulator
    knows and that a test kills.
    """
    command = Path(tempfile.gettempdir()) / INTERPRETER
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"

    def choose(runtime: str) -> tuple[str, str]:
        _, script = original(runtime)
        if runtime != own:
            raise RuntimeError(
                f"a function wants {runtime}, the emulator has {own}: "
                "build for that, or make .venv-emulator anew"
            )
        return str(command), script

    return choose
