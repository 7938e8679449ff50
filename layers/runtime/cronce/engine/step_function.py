"""The functions that authors hand to steps: which of them are given an idempotency key."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

KEY_PARAMETER = "idempotency_key"
"""A step function that has a parameter of this name is given its key."""


def takes_key(fn: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function has a parameter for the idempotency key that the call does not fill already."""
    try:
        signature = inspect.signature(fn)
        parameter = signature.parameters.get(KEY_PARAMETER)
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if parameter is None or parameter.kind not in named:
            return False
        return KEY_PARAMETER not in signature.bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return False  # a builtin without a signature, or arguments that do not fit: the call itself says so
