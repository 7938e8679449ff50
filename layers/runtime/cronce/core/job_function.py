"""What `@job` may decorate, checked at the author's own line.

A function that takes no run fails at its first run, perhaps a month from now. An `async def` and a generator
are worse: called, they return at once and do nothing, and the run would count as a success.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from cronce.core.errors import DefinitionError

P = ParamSpec("P")
T = TypeVar("T")


def with_arguments(make: Callable[P, T]) -> Callable[P, T]:
    """Refuse `@job` without parentheses, whose one argument is the function, in words that help."""

    @functools.wraps(make)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        if len(args) == 1 and not kwargs and callable(args[0]):
            raise DefinitionError(
                f"@job takes a name and a schedule, not {_name_of(args[0])}: "
                'write @job("daily-menu", schedule=Cron("0 6 * * *"))'
            )
        return make(*args, **kwargs)

    return checked


def check_function(name: str, function: object) -> None:
    """Check that a call with the run does the job's work.

    Args:
        name: of the job.
        function: what `@job` decorates.

    Raises:
        DefinitionError: it cannot be called with a run, or would do nothing if it were.
    """
    if not callable(function):
        raise DefinitionError(f"job {name!r}: @job decorates a function that takes the run, not {function!r}")
    called = f"job {name!r}: {_name_of(function)}"
    forms = (function, getattr(function, "__call__", None))  # noqa: B004 - an object may be called as well
    if any(inspect.iscoroutinefunction(form) or inspect.isasyncgenfunction(form) for form in forms):
        raise DefinitionError(
            f"{called} is an `async def`, and nobody would await it: write an ordinary `def`"
        )
    if any(inspect.isgeneratorfunction(form) for form in forms):
        raise DefinitionError(
            f"{called} contains `yield`, so a call would not execute it: do each item with run.each(...)"
        )
    _check_arguments(called, function)


def _check_arguments(called: str, function: Callable[..., object]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin that does not say what it takes
    try:
        signature.bind(object())
    except TypeError as error:
        raise DefinitionError(
            f"{called}{signature} is called with one argument, the run: {error}; write def ...(run)"
        ) from None


def _name_of(function: object) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))
