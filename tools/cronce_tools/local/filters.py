"""Lambda's event filter patterns, as far as the template uses them.

A pattern is an object of the record's shape whose leaves are lists of accepted values: plain values, null,
{"exists": bool}, {"prefix": text}, {"anything-but": [...]}. A record matches a pattern when every key does,
and a set of patterns when any pattern does (AWS Lambda developer guide, "Control which events Lambda sends
to your function").
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

_ABSENT = object()


class FilterPatternError(ValueError):
    """A pattern that this module cannot evaluate."""


def matches_any(patterns: Iterable[str], record: Mapping[str, object]) -> bool:
    """Whether a record passes a set of patterns (JSON text); an empty set passes everything."""
    parsed = [json.loads(text) for text in patterns]
    return not parsed or any(_matches(pattern, record) for pattern in parsed)


def _matches(pattern: object, value: object) -> bool:
    if isinstance(pattern, dict):
        fields = value if isinstance(value, Mapping) else {}
        return all(_matches(wanted, fields.get(key, _ABSENT)) for key, wanted in pattern.items())
    if isinstance(pattern, list):
        return any(_accepts(rule, value) for rule in pattern)
    raise FilterPatternError(f"a pattern's leaves are lists, not {pattern!r}")


def _accepts(rule: object, value: object) -> bool:
    if not isinstance(rule, dict):
        return value is not _ABSENT and rule == value
    if len(rule) != 1:
        raise FilterPatternError(f"one rule at a time: {rule!r}")
    ((name, argument),) = rule.items()
    if name == "exists":
        return (value is not _ABSENT) is argument
    if name == "prefix":
        return isinstance(value, str) and value.startswith(argument)
    if name == "anything-but":
        refused = argument if isinstance(argument, list) else [argument]
        return value is not _ABSENT and value not in refused
    raise FilterPatternError(f"a rule that is not known here: {rule!r}")
