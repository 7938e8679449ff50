"""Values as DynamoDB's low-level attributes, and items as strict maps of them.

A `Form` says how one field of a record is stored and read back. What is `None`, false or empty is not stored,
where the form allows it. Reading is strict: an attribute that is missing although the form requires it, of
another type, or not of its form is an `UnreadableItemError` that names item and attribute. Nothing is
guessed: an item that was edited by hand is left to a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from cronce.core.errors import NewerItemError, RefusedError, UnreadableItemError
from cronce.core.instants import from_text, to_text
from cronce.core.values import dataclass

Attribute = dict[str, Any]
"""One value with its type tag: `{"S": "text"}`, `{"N": "1"}`, ..."""
Item = dict[str, Attribute]
"""An item, a key, or the values of an expression."""

SHAPE = 1
"""Version of the form in which items are stored. A new one takes two releases: first read, then written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """How one field is stored.

    Attributes:
        tag: DynamoDB's type: S, N, BOOL, SS, L, M.
        write: the field's value -> the attribute's.
        read: the attribute's value -> the field's; raises ValueError or TypeError if it is malformed.
        required: whether the attribute must be there.
        absent: what a missing attribute reads as, and what is not stored.
    """

    tag: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    required: bool = True
    absent: object = None

    def attribute(self, value: object) -> Attribute:
        """The value with its type tag.

        Raises:
            ValueError: there is none, or it would lose a part.
        """
        if value is None:
            raise ValueError("it is None")
        return {self.tag: self.write(value)}

    def value(self, attribute: object) -> Any:
        """The value of an attribute.

        Raises:
            ValueError: it is of another type or malformed.
        """
        if not isinstance(attribute, dict) or list(attribute) != [self.tag]:
            found = "/".join(attribute) if isinstance(attribute, dict) else type(attribute).__name__
            raise ValueError(f"its type is {found}, not {self.tag}")
        try:
            return self.read(attribute[self.tag])
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(str(error)) from error


Forms = Mapping[str, Form]
"""Forms by field, which is also the attribute's name."""


def optional(form: Form, absent: object = None) -> Form:
    """The form of a field that is not stored while it is `absent`."""
    return replace(form, required=False, absent=absent)


def member(enum: type[StrEnum]) -> Form:
    """The form of an enum's member."""
    return Form(tag="S", write=str, read=enum)


def whole(value: timedelta, unit: timedelta) -> int:
    """A duration in whole units.

    Raises:
        ValueError: it would lose its fraction.
    """
    number, rest = divmod(value, unit)
    if rest:
        raise ValueError(f"{value} is no whole number of {unit}")
    return number


def count(text: str) -> int:
    """A whole number of zero or more.

    Raises:
        ValueError: it is something else.
    """
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no whole number of zero or more")
    return int(text)


def _non_empty(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return str(text)


def _wall_time(text: str) -> datetime:
    read = datetime.fromisoformat(text)
    if read.tzinfo is not None:
        raise ValueError(f"a wall time has no zone: {text!r}")
    return read


TEXT = Form(tag="S", write=_non_empty, read=_non_empty)
FREE_TEXT = Form(tag="S", write=str, read=str)
COUNT = Form(tag="N", write=str, read=count)
SECONDS = Form(
    tag="N",
    write=lambda value: str(whole(value, timedelta(seconds=1))),
    read=lambda text: timedelta(seconds=count(text)),
)
MILLISECONDS = Form(
    tag="N",
    write=lambda value: str(value // timedelta(milliseconds=1)),
    read=lambda text: timedelta(milliseconds=count(text)),
)
INSTANT = Form(tag="S", write=to_text, read=from_text)
EPOCH = Form(
    tag="N",
    write=lambda value: str(int(value.timestamp())),
    read=lambda text: datetime.fromtimestamp(count(text), UTC),
)
WALL_TIME = Form(tag="S", write=lambda value: value.isoformat(timespec="milliseconds"), read=_wall_time)
FLAG = Form(tag="BOOL", write=bool, read=bool, required=False, absent=False)
TEXT_SET = Form(tag="SS", write=sorted, read=frozenset, required=False, absent=frozenset())
TEXTS = Form(
    tag="L",
    write=lambda texts: [FREE_TEXT.attribute(text) for text in texts],
    read=lambda values: tuple(FREE_TEXT.value(value) for value in values),
    required=False,
    absent=(),
)
TEXT_MAP = Form(
    tag="M",
    write=lambda texts: {name: FREE_TEXT.attribute(text) for name, text in texts.items()},
    read=lambda values: {name: FREE_TEXT.value(value) for name, value in values.items()},
)


def encode(forms: Forms, record: object) -> Item:
    """The attributes of a record: those fields that the forms name.

    Raises:
        RefusedError: a field holds what its form cannot store.
    """
    item: Item = {}
    for name, form in forms.items():
        value = getattr(record, name)
        if not form.required and value == form.absent:
            continue
        try:
            item[name] = form.attribute(value)
        except (ValueError, TypeError, AttributeError) as error:
            raise RefusedError(f"{type(record).__name__}.{name} cannot be stored: {error}") from error
    return item


def decode(forms: Forms, item: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, read strictly.

    Raises:
        NewerItemError: a later release wrote the item.
        UnreadableItemError: an attribute is missing or malformed.
    """
    check_shape(item)
    return {name: read_attribute(item, name, form) for name, form in forms.items()}


def read_map(forms: Forms, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a map within an item.

    Raises:
        ValueError: one of them is malformed, or is missing and may not be.
    """
    missing = next((name for name, form in forms.items() if form.required and name not in values), None)
    if missing:
        raise ValueError(f"{missing} is missing")
    return {name: form.value(values[name]) if name in values else form.absent for name, form in forms.items()}


def read_attribute(item: Mapping[str, Any], name: str, form: Form) -> Any:
    """One attribute, read strictly.

    Raises:
        UnreadableItemError: it is missing or malformed.
    """
    if name not in item:
        if form.required:
            raise unreadable(item, name, "is missing")
        return form.absent
    try:
        return form.value(item[name])
    except ValueError as error:
        raise unreadable(item, name, f"is malformed: {error}") from error


def check_shape(item: Mapping[str, Any]) -> None:
    """Refuse an item that this release cannot know.

    Raises:
        NewerItemError: a later release wrote it.
        UnreadableItemError: its shape is missing or malformed.
    """
    shape = read_attribute(item, "shape", COUNT)
    if shape > SHAPE:
        raise NewerItemError(
            f"item {place(item)} has shape {shape}, written by a newer release; this one reads up to {SHAPE}"
        )


def place(item: Mapping[str, Any]) -> str:
    """The key of an item, for messages."""
    return " / ".join(str(next(iter(item.get(part, {"S": "?"}).values()))) for part in ("pk", "sk"))


def unreadable(item: Mapping[str, Any], name: str, problem: str) -> UnreadableItemError:
    """The error that names item, attribute and problem."""
    return UnreadableItemError(f"item {place(item)} cannot be read: attribute `{name}` {problem}")
