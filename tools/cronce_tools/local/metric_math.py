"""The part of CloudWatch's metric math that alarms of a template use.

Names of other metrics, numbers, `+ - * /`, `SUM MAX MIN AVG` of a list or of `METRICS()`, and
`FILL(x, number)`. Between two metrics a period in which one of them has no point has none; the functions over
a list take the points that are there. (Amazon CloudWatch User Guide, "Using math expressions with CloudWatch
metrics".)
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from cronce_tools.local.metrics import Points

Value = Points | float | list[Points]

_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_OVER_LISTS: dict[str, Callable[[list[float]], float]] = {
    "SUM": sum,
    "MAX": max,
    "MIN": min,
    "AVG": lambda values: sum(values) / len(values),
}


class MathError(ValueError):
    """An expression has something that is not modelled here."""


def evaluate(expression: str, metrics: Mapping[str, Points]) -> Points:
    """The points of an expression.

    Args:
        expression: as it stands in an alarm.
        metrics: the points of the alarm's metrics, by id; all of the same number of periods.

    Raises:
        MathError: it is not one that is modelled here.
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        raise MathError(f"{expression}: {error.msg}") from None
    value = _value(tree.body, metrics)
    if not _is_points(value):
        raise MathError(f"{expression}: it gives {value!r}, not one series")
    return value


def _value(node: ast.expr, metrics: Mapping[str, Points]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in metrics:
            return metrics[name]
        case ast.List(elts=elements):
            return [_points(_value(element, metrics)) for element in elements]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _between(_OPERATIONS[type(op)], _value(left, metrics), _value(right, metrics))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _call(name, arguments, metrics)
    raise MathError(f"{ast.unparse(node)} is not modelled")


def _call(name: str, arguments: Sequence[ast.expr], metrics: Mapping[str, Points]) -> Value:
    values = [_value(argument, metrics) for argument in arguments]
    match name, values:
        case "METRICS", []:
            return list(metrics.values())
        case "FILL", [filled, float() as number]:
            whole: Points = [number if point is None else point for point in _points(filled)]
            return whole
        case (("SUM" | "MAX" | "MIN" | "AVG"), [list() as several]) if not _is_points(several):
            return _over(_OVER_LISTS[name], several)
    raise MathError(f"{name} with {len(values)} arguments is not modelled")


def _over(function: Callable[[list[float]], float], several: Sequence[object]) -> Points:
    rows = zip(*(_points(series) for series in several), strict=True)
    there = ([point for point in row if point is not None] for row in rows)
    return [function(row) if row else None for row in there]


def _between(operation: Callable[[float, float], float], left: Value, right: Value) -> Value:
    if isinstance(left, float) and isinstance(right, float):
        return operation(left, right)
    length = len(left) if not isinstance(left, float) else len(_points(right))
    pairs = zip(_repeated(left, length), _repeated(right, length), strict=True)
    between: Points = [None if a is None or b is None else operation(a, b) for a, b in pairs]
    return between


def _repeated(value: Value, length: int) -> Points:
    return [value] * length if isinstance(value, float) else _points(value)


def _is_points(value: object) -> TypeGuard[Points]:
    """Whether it is one series, not a number or several of them."""
    return isinstance(value, list) and not any(isinstance(each, list) for each in value)


def _points(value: object) -> Points:
    if not _is_points(value):
        raise MathError(f"{value!r} is not one series")
    return value
