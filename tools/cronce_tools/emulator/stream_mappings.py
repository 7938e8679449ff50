"""DynamoDB streams are handed to functions by Lambda's rules, with the mapping's own settings.

The emulator as it is loses what a function reports as failed, and tries a failing batch for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cronce_tools.emulator.parts import Parts
from cronce_tools.emulator.real_time import now
from cronce_tools.local.batches import Batches, RetryRules

PAUSE = 0.5
"""Seconds before a batch comes again; AWS waits longer, and doubles it."""

Mapping = dict[str, Any]


@dataclass
class _Shard:
    """Where a mapping is in its stream: what it has read and not got rid of."""

    batches: Batches
    not_before: float = 0.0


@dataclass
class StreamMappings:
    """All mappings of DynamoDB streams.

    Attributes:
        parts: of the emulator.
    """

    parts: Parts
    _shards: dict[str, _Shard] = field(default_factory=dict)

    def poll(self) -> bool:
        """Hand at most one batch of each mapping to its function. Returns whether there was any."""
        lambda_svc = self.parts["lambda_svc"]
        moved = False
        for account, region, mapping in lambda_svc._iter_all_esms():
            with scope(self.parts, account, region):
                moved |= self._serve(mapping)
        return moved

    def _serve(self, mapping: Mapping) -> bool:
        function, table = self._ends(mapping)
        if function is None or table is None or not mapping.get("Enabled", True):
            return False
        shard = self._shards.setdefault(mapping["UUID"], _Shard(Batches(RetryRules.of(mapping))))
        if shard.not_before > now():
            return False
        if not shard.batches and not self._read(mapping, table, shard):
            return False
        records = shard.batches.take()
        if records:
            self._hand_over(mapping, function, shard, records)
        return True

    def _ends(self, mapping: Mapping) -> tuple[Any, str | None]:
        """The function's record and the table's name; None where one is gone or is not ours."""
        lambda_svc, arn = self.parts["lambda_svc"], self.parts["arn"]
        source = mapping.get("EventSourceArn", "")
        try:
            spec = arn.parse_arn(source)
        except arn.ArnParseError:
            return None, None
        named = lambda_svc._dynamodb_stream_table_from_arn_spec(spec) if spec.service == "dynamodb" else None
        function, _ = lambda_svc._get_func_record_for_qualifier(
            mapping["FunctionName"], mapping.get("Qualifier")
        )
        table = self.parts["dynamodb"]._tables.get(named[0]) if named else None
        is_current = table is not None and table.get("LatestStreamArn") == source
        return function, named[0] if named and is_current else None

    def _read(self, mapping: Mapping, table: str, shard: _Shard) -> bool:
        """Read on in the stream. Returns whether there was anything; the filter may drop all of it."""
        lambda_svc, dynamodb = self.parts["lambda_svc"], self.parts["dynamodb"]
        positions, identity = lambda_svc._dynamodb_stream_positions, mapping["UUID"]
        horizon = dynamodb.stream_start_position(table)
        if identity not in positions:
            from_start = mapping.get("StartingPosition") == "TRIM_HORIZON"
            positions[identity] = horizon if from_start else dynamodb.stream_end_position(table)
        position = max(positions[identity], horizon)
        records = dynamodb.stream_records_since(table, position, mapping.get("BatchSize", 100))
        positions[identity] = position + len(records)
        passed = lambda_svc._apply_filter_criteria(records, mapping)
        if passed:
            shard.batches.add(passed)
        return bool(records)

    def _hand_over(self, mapping: Mapping, function: Any, shard: _Shard, records: list[Any]) -> None:
        lambda_svc = self.parts["lambda_svc"]
        result = lambda_svc._execute_function(function, {"Records": records})
        ended = now()
        given_up = shard.batches.report(records, None if result.get("error") else answer_of(result), ended)
        if given_up:
            lambda_svc._send_ddb_stream_failure_record(
                mapping, function, given_up.records, mapping["EventSourceArn"], result, given_up.condition
            )
        if shard.batches:
            shard.not_before = ended + PAUSE
        mapping["LastProcessingResult"] = "PROBLEM: Function call failed" if shard.batches else "OK"


def answer_of(result: dict[str, Any]) -> dict[str, Any]:
    """What a function returned, as an object; an empty one, which is a success, if it returned nothing."""
    body = result.get("body")
    if isinstance(body, str | bytes):
        try:
            body = json.loads(body)
        except ValueError:
            body = None
    return body if isinstance(body, dict) else {}


@contextmanager
def scope(parts: Parts, account: str, region: str) -> Iterator[None]:
    """Within the block the emulator works for one account and Region."""
    responses = parts["responses"]
    account_token = responses._request_account_id.set(account)
    region_token = responses._request_region.set(region)
    try:
        yield
    finally:
        responses._request_region.reset(region_token)
        responses._request_account_id.reset(account_token)
