"""The parts of the emulator that the adapter leans on, by name.

Most of them are private, so another version may lack them. Then nothing starts, and the message says what is
missing: an adapter that silently adds nothing would make tests pass that should fail.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

PACKAGE = "ministack"
VERSION = "1.5.33"
"""The version that the names below were read in."""

NAMES: dict[str, tuple[str, ...]] = {
    "ministack.app": ("main",),
    "ministack.core.arn": ("ArnParseError", "parse_arn"),
    "ministack.core.iam_evaluator": ("_resolve_condition_key",),
    "ministack.core.lambda_runtime": ("_detect_runtime_binary", "zipfile"),
    "ministack.core.responses": ("_request_account_id", "_request_region"),
    "ministack.services.cloudformation.provisioners": ("_RESOURCE_HANDLERS", "_cw_metric_alarm_record"),
    "ministack.services.cloudwatch": (
        "_alarms", "_calc_stats", "_dims_from_list", "_dims_key", "_dispatch_alarm_actions",
        "_evaluate_alarm", "_metrics", "_record_history", "record_metric",
    ),
    "ministack.services.dynamodb": (
        "_tables", "stream_end_position", "stream_records_since", "stream_start_position",
    ),
    "ministack.services.eventbridge": ("_SCHEDULER_TICK_INTERVAL",),
    "ministack.services.lambda_svc": (
        "_apply_filter_criteria", "_dynamodb_stream_positions", "_dynamodb_stream_table_from_arn_spec",
        "_emit_lambda_logs", "_execute_function", "_functions", "_get_func_record_for_qualifier",
        "_iter_all_esms", "_poll_dynamodb_streams", "_send_ddb_stream_failure_record",
        "invoke_async_with_retry",
    ),
    "ministack.services.sqs": ("_queues",),
}  # fmt: skip
"""Module -> what is used or replaced in it."""


class EmulatorChangedError(Exception):
    """The installed emulator is not the one that the adapter was written for."""


class Parts:
    """The emulator's modules, after every name was found in them.

    Raises:
        EmulatorChangedError: the package is missing, has another version, or lacks a name.
    """

    def __init__(self) -> None:
        _check_version()
        self._modules = {module: _import(module) for module in NAMES}
        missing = [
            f"{module}.{name}"
            for module, names in NAMES.items()
            for name in names
            if not hasattr(self._modules[module], name)
        ]
        if missing:
            raise EmulatorChangedError(
                f"{PACKAGE} {VERSION} has no {', '.join(missing)}: mend tools/cronce_tools/emulator"
            )

    def __getitem__(self, module: str) -> Any:
        """A module by the end of its name: `lambda_svc`."""
        (found,) = (each for name, each in self._modules.items() if name.rsplit(".", 1)[-1] == module)
        return found


def _check_version() -> None:
    try:
        installed = version(PACKAGE)
    except PackageNotFoundError:
        installed = "not installed"
    if installed != VERSION:
        raise EmulatorChangedError(
            f"{PACKAGE} is {installed}, the adapter was written for {VERSION}: install "
            "requirements/emulator.txt, or mend tools/cronce_tools/emulator and the version there"
        )


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EmulatorChangedError(f"{PACKAGE} {VERSION} has no {module}: {error}") from error
