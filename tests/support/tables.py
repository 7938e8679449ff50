"""The two tables as the template defines them, so that tests run on the real keys and the real index."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from cronce_tools.local.template import Template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_OF_A_TABLE = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")
"""Properties that every local engine knows; the others are asserted on the template itself."""


@cache
def definition(logical_id: str) -> dict[str, Any]:
    """What CreateTable needs of a table of the template."""
    properties = Template.load().properties(logical_id)
    return {name: properties[name] for name in _OF_A_TABLE if name in properties}


def create_tables(client: DynamoDBClient, runs: str, steps: str) -> None:
    """Create both tables under the given names."""
    client.create_table(TableName=runs, **definition("RunsTable"))
    client.create_table(TableName=steps, **definition("StepsTable"))
