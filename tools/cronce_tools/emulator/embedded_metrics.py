"""CloudWatch's embedded metric format: metrics that a function writes as lines of its log.

A line is a JSON object; `_aws.CloudWatchMetrics` says which of its fields are metrics and which sets of its
fields are their dimensions. (Amazon CloudWatch user guide, "Specification: Embedded metric format".)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MARK = '"_aws"'


@dataclass(frozen=True, kw_only=True)
class Datapoint:
    """One value of one metric with one set of dimensions."""

    namespace: str
    name: str
    value: float
    unit: str
    dimensions: dict[str, str]


def datapoints(log: str) -> Iterator[Datapoint]:
    """All metrics in the text of a log. Lines that are no metrics are passed over, as CloudWatch does."""
    for line in log.splitlines():
        if MARK in line:
            try:
                yield from _of_line(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def _of_line(line: dict[str, Any]) -> list[Datapoint]:
    return [
        Datapoint(
            namespace=directive["Namespace"],
            name=metric["Name"],
            value=float(value),
            unit=metric.get("Unit", "None"),
            dimensions={name: str(line[name]) for name in names},
        )
        for directive in line["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]
        for metric in directive["Metrics"]
        for value in _values(line[metric["Name"]])
    ]


def _values(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]
