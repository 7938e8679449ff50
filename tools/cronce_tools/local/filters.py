"""Lambda's event filter patterns, as far as the template uses them.

A pattern is an object of the shape of the record. Its leaves are lists; a leaf matches if the record has
the field and one entry of the list accepts its value: the value itself, {"prefix": text}, {"exists": true
or false}, {"anything-but": [values]}. Any other entry is an error here, so a pattern that this model does
not understand never passes anything. (AWS Lambda developer guide, "Control which events Lambda sends to your
function".)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]

MISSING = object()


def matches(pattern_text: str, record: Record) -> bool:
    """Whether a record passes a filter, given as it stands in the template."""
    return _object_matches(json.loads(pattern_text), record)


def matches_any(pattern_texts: Iterable[str], record: Record) -> bool:
    """Whether a record passes a set of filters: any of them; an empty set passes everything."""
    patterns = list(pattern_texts)
    return not patterns or any(matches(pattern, record) for pattern in patterns)


def _object_matches(pattern: dict[str, Any], value: object) -> bool:
    fields = value if isinstance(value, dict) else {}
    return all(_field_matches(part, fields.get(name, MISSING)) for name, part in pattern.items())


def _field_matches(part: object, value: object) -> bool:
    match part:
        case dict():
            return _object_matches(part, value)
        case list():
            return any(_entry_accepts(entry, value) for entry in part)
    raise ValueError(f"a leaf of a filter is a list: {part!r}")


def _entry_accepts(entry: object, value: object) -> bool:
    if isinstance(entry, dict) and len(entry) != 1:
        raise ValueError(f"not understood in a filter: {entry!r}")
    match entry:
        case {"exists": bool(wanted)}:
            return (value is not MISSING) == wanted
        case {"prefix": str(prefix)}:
            return isinstance(value, str) and value.startswith(prefix)
        case {"anything-but": list(values)}:
            return value is not MISSING and value not in values
        case str() | int() | float() | bool() | None:
            return value is not MISSING and type(value) is type(entry) and value == entry
    raise ValueError(f"not understood in a filter: {entry!r}")
