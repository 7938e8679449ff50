"""The outside world of the sample jobs: a table that behaves as a good payment service does.

It honours idempotency keys: the second request under one key changes nothing and says so. Replace it by
your own services. What goes when the samples go stands in the README, "Delete the samples".
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import boto3
from boto3.dynamodb.conditions import Attr

from cronce import fenced_put

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table


class StaleWriterError(Exception):
    """A row was written meanwhile under a higher fencing token: this writer has been replaced."""


@dataclass(frozen=True)
class Receipt:
    """What the service answers.

    Attributes:
        key: the idempotency key of the request.
        first: whether this request took effect; false when an earlier one under the same key did.
    """

    key: str
    first: bool


@cache
def _table(name: str) -> Table:
    return boto3.resource("dynamodb").Table(name)


def table() -> Table:
    """The outbox table that the template makes (environment variable OUTBOX_TABLE)."""
    name = os.environ.get("OUTBOX_TABLE", "")
    if not name:
        raise RuntimeError("OUTBOX_TABLE is not set: it holds the name of the sample jobs' outbox table")
    return _table(name)


def deliver(key: str, kind: str, body: dict[str, str | int]) -> Receipt:
    """Take a request once per key.

    Args:
        key: the idempotency key; the same request repeated carries the same key.
        kind: `message`, `charge`, ...; kept with it.
        body: what is to be kept.
    """
    outbox = table()
    try:
        outbox.put_item(Item={"pk": key, "kind": kind, **body}, ConditionExpression=Attr("pk").not_exists())
    except outbox.meta.client.exceptions.ConditionalCheckFailedException:
        return Receipt(key, first=False)
    return Receipt(key, first=True)


def write_row(key: str, values: dict[str, str | int], fencing_token: int) -> None:
    """Write a row, unless somebody with a higher fencing token has written it.

    Raises:
        StaleWriterError: the row carries a higher token: this run lost its claim and another one went on.
    """
    rows = table()
    try:
        rows.put_item(**fenced_put({"pk": key, **values}, fencing_token))
    except rows.meta.client.exceptions.ConditionalCheckFailedException:
        raise StaleWriterError(f"{key} carries a higher fencing token than {fencing_token}") from None
