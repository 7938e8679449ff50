"""The decorator of cronce's classes with fields: a dataclass with slots that is cheap to make.

The standard library's `dataclass` writes the text of up to seven methods for each class and compiles it
whenever a process starts. A function makes some seventy classes when it starts, and that was a third of what
its start cost beside AWS's own library. Here only `__init__` is written; the other methods are the same few
functions for all classes, which ask the class for its fields. Comparing and printing then take about a
microsecond longer, and a frozen instance takes a fifth of one longer for each field that it is given.

What a class does is the same. Type checkers see the decorator of the standard library, and `fields`,
`replace`, `copy` and `pickle` take its instances. Only, a class of one decorator cannot inherit from a
class of the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

T = TypeVar("T")

COMPARED = "_compared"
"""Attribute of a class: gives what its instances are compared by."""

_set = object.__setattr__


def _set_once(self: object, name: str, value: object) -> None:
    """Give a field its value, which `__init__` does; it never gets another one."""
    if hasattr(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    _set(self, name, value)


def _keep(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: object, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = getattr(self.__class__, COMPARED)
    return compared(self) == compared(other)


def _hash(self: object) -> int:
    return hash(getattr(self.__class__, COMPARED)(self))


def _text(self: Any) -> str:
    shown = [
        f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr
    ]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


_MUTABLE = {"__eq__": _equal, "__hash__": None, "__repr__": _text}
_FROZEN = {**_MUTABLE, "__hash__": _hash, "__setattr__": _set_once, "__delattr__": _keep}


def _dataclass(
    *, frozen: bool = False, kw_only: bool = False, slots: Literal[True]
) -> Callable[[type[T]], type[T]]:
    make = dataclasses.dataclass(kw_only=kw_only, slots=slots, repr=False, eq=False)

    def made(cls: type[T]) -> type[T]:
        for name, method in (_FROZEN if frozen else _MUTABLE).items():
            if vars(cls).get(name) is None:  # what a class says itself holds
                setattr(cls, name, method)
        result = make(cls)
        names = [field.name for field in dataclasses.fields(result) if field.compare]  # type: ignore[arg-type]
        setattr(result, COMPARED, attrgetter(*names) if names else _nothing)
        return result

    return made


def _nothing(_self: object) -> tuple[()]:
    return ()


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass

__all__ = ["dataclass"]
