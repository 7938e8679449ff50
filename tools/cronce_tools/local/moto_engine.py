"""moto, made fit for use as the local engine: one gate for all calls, dated by our clock, quicker to copy.

* moto is not thread-safe (conditional writes had several winners): every call passes one gate, which holds
  a lock.
* Its answers carry the host's time; here they carry the caller's, because cronce compares the two.
* It prepares for a cancelled transaction by copying the whole table, once per action, its stream's history
  included. One copy does; and records of a stream and scalar values never change, so it may share them.

It leans on private names of moto and botocore. Both are pinned; a name that is gone fails at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from datetime import datetime
from typing import Any

import moto.core.responses
from botocore.client import BaseClient
from moto import mock_aws
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import StreamShard, Table

Proceed = Callable[[], Any]
Gate = Callable[[BaseClient, str, dict[str, Any], Proceed], Any]
"""What every call passes: client, operation, parameters, and a way to make the call. It holds the lock."""

_CLIENT: Any = BaseClient
_DATES: Any = moto.core.responses
_SHARD: Any = StreamShard
_TABLE: Any = Table
_VALUE: Any = DynamoType


@contextmanager
def behind(gate: Gate) -> Iterator[None]:
    """Let every call of every client of this process pass a gate until the end of the block."""
    call = _CLIENT._make_api_call  # noqa: SLF001

    def gated(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        return gate(client, operation, parameters, lambda: call(client, operation, parameters))

    _CLIENT._make_api_call = gated  # noqa: SLF001
    try:
        yield
    finally:
        _CLIENT._make_api_call = call  # noqa: SLF001


@contextmanager
def moto_behind(gate: Gate, now: Callable[[], datetime]) -> Iterator[None]:
    """Replace AWS by moto for every client of this process until the end of the block.

    Args:
        gate: what every call passes.
        now: the time of answers, aware.
    """
    date = _DATES.utcnow
    copies: dict[int, Any] = {}

    def for_this_call(*call: Any) -> Any:
        copies.clear()
        *_, proceed = call
        return proceed()

    def copied_once(table: Any, memo: dict[int, Any]) -> Any:
        """All copies of a transaction are made before its first write, so they are equal."""
        if id(table) not in copies:
            copies[id(table)] = made = _TABLE.__new__(_TABLE)
            memo[id(table)] = made
            made.__dict__ = deepcopy(table.__dict__, memo)
        return copies[id(table)]

    value_copy = _VALUE.__deepcopy__

    def scalars_shared(value: Any, memo: dict[int, Any]) -> Any:
        return value_copy(value, memo) if isinstance(value.value, list | dict) else value

    with mock_aws(), behind(for_this_call), behind(gate):
        _DATES.utcnow = lambda: now().replace(tzinfo=None)
        _SHARD.__deepcopy__ = _sharing_records
        _TABLE.__deepcopy__ = copied_once
        _VALUE.__deepcopy__ = scalars_shared
        try:
            yield
        finally:
            _DATES.utcnow, _VALUE.__deepcopy__ = date, value_copy
            del _SHARD.__deepcopy__, _TABLE.__deepcopy__


def _sharing_records(shard: Any, memo: dict[int, Any]) -> Any:
    shared = copy(shard)
    memo[id(shard)] = shared
    shared.items = list(shard.items)
    shared.table = memo.get(id(shard.table), shard.table)
    return shared
