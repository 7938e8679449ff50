"""Classes made by `cronce.core.values` are those that the standard library's decorator would have made.

Invariants:
- equality, hash, text, copies and refusals are the same, with the options that fields have;
- a frozen instance cannot be changed, and a class keeps the methods that it defines itself;
- every class with slots that ships is made so, for the sake of cold starts.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any

import pytest

from cronce.core import values

LAYER = Path(__file__).parents[2] / "layers/runtime/cronce"
DECORATORS = [values.dataclass, dataclasses.dataclass]
both = pytest.mark.parametrize("dataclass", DECORATORS, ids=["shared", "standard"])
Decorator = Callable[..., Callable[[type], Any]]


@values.dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    name: str
    tags: list[str] = field(default_factory=list)


def point(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Point:
        x: int
        secret: str = field(default="", repr=False)
        seen: int = field(default=0, compare=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

    return Point


@both
def test_instances_are_compared_by_their_fields_and_class(dataclass: Decorator) -> None:
    made, other = point(dataclass), point(dataclass)
    assert made(x=1, seen=1) == made(x=1, seen=2)
    assert made(x=1) != made(x=2)
    assert made(x=1) != made(x=1, secret="s")
    assert made(x=1) != other(x=1)
    assert {made(x=1, seen=1), made(x=1), made(x=2)} == {made(x=1), made(x=2)}


@both
def test_the_text_names_all_fields_but_those_that_are_hidden(dataclass: Decorator) -> None:
    text = repr(point(dataclass)(x=1, secret="s"))
    assert text.endswith("Point(x=1, seen=0)")
    assert "s='" not in text


@both
def test_a_frozen_instance_cannot_be_changed(dataclass: Decorator) -> None:
    made = point(dataclass)(x=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'seen'"):
        made.seen = 0
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x
    with pytest.raises((AttributeError, TypeError)):  # the latter by a mistake of Python 3.11
        made.other = 1
    assert made.x == 1


@both
def test_arguments_are_by_name_and_checked(dataclass: Decorator) -> None:
    made = point(dataclass)
    for arguments in ({}, {"x": 1, "z": 1}):
        with pytest.raises(TypeError):
            made(**arguments)
    with pytest.raises(TypeError):
        made(1)
    with pytest.raises(ValueError, match="x"):
        made(x=-1)


@both
def test_the_standard_librarys_functions_take_instances(dataclass: Decorator) -> None:
    made = point(dataclass)(x=1, secret="s")
    assert dataclasses.replace(made, x=2) == point_like(made, x=2)
    assert copy.copy(made) == copy.deepcopy(made) == made
    assert dataclasses.asdict(made) == {"x": 1, "secret": "s", "seen": 0}


def point_like(made: Any, **changes: object) -> Any:
    return type(made)(**{"x": made.x, "secret": made.secret, "seen": made.seen, **changes})


def test_an_instance_can_be_pickled() -> None:
    kept = Kept(name="n", tags=["t"])
    assert pickle.loads(pickle.dumps(kept)) == kept  # noqa: S301 - its own


@both
def test_what_can_be_changed_has_no_hash(dataclass: Decorator) -> None:
    @dataclass(kw_only=True, slots=True)
    class Tally:
        count: int = 0

    tally = Tally()
    tally.count += 1
    assert tally == Tally(count=1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally)


@both
def test_a_class_keeps_the_methods_that_it_has(dataclass: Decorator) -> None:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Named:
        name: str

        def __repr__(self) -> str:
            return self.name

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return 7

    assert (repr(Named(name="a")), hash(Named(name="a"))) == ("a", 7)
    assert Named(name="a") == Named(name="A")


@both
def test_a_class_without_fields_and_one_that_inherits(dataclass: Decorator) -> None:
    @dataclass(frozen=True, slots=True)
    class Mark:
        pass

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Wide(point(dataclass)):  # type: ignore[misc]
        y: int

    assert Mark() == Mark()
    assert hash(Mark()) == hash(Mark())
    assert Wide(x=1, y=2) == Wide(x=1, y=2) != Wide(x=2, y=2)
    assert repr(Wide(x=1, y=2)).endswith("Wide(x=1, seen=0, y=2)")


def uses_the_standard_librarys(path: Path) -> bool:
    """Whether a module makes a class with slots by the decorator of the standard library."""
    tree = ast.parse(path.read_text())
    standard = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and "dataclass" in {name.name for name in node.names}
        for node in tree.body
    )
    return standard and "slots=True" in path.read_text()


def test_what_ships_is_made_so() -> None:
    shipped = [path for path in LAYER.rglob("*.py") if "testing" not in path.relative_to(LAYER).parts]
    found = [path.name for path in shipped if uses_the_standard_librarys(path) and path.name != "values.py"]
    assert found == []
