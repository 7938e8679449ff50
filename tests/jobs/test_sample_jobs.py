"""The sample jobs, on the deployed handlers and tables, in memory.

* Each is resumable: wherever its worker dies, the next one goes on, and nothing is done outside steps.
* A day's menu goes to every subscriber once, under keys that name run, step and person.
* An invoice is charged at most once per billing period, whoever asks.
* A stale writer is refused at the row, and the newer level stays: alone, and in two runs that overlap.
* Doubles made before there were keys are found: all but the oldest charge of each renewal.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import boto3
import pytest

import outbox
from cronce import fenced_put
from cronce.testing import assert_resumable
from cronce_tools.local.stack import LocalStack, StartStack
from jobs import daily_menu, inventory_sync, renewal_invoices

SIX_IN_NEW_YORK = datetime(2026, 10, 30, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def stack(local_stack: StartStack) -> LocalStack:
    return local_stack(SIX_IN_NEW_YORK - 5 * MINUTE)


def items(kind: str) -> dict[str, dict[str, Any]]:
    found = boto3.resource("dynamodb").Table("outbox").scan()["Items"]
    return {str(item["pk"]): dict(item) for item in found if item.get("kind") == kind}


def test_the_menu_is_resumable(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_menu, "SUBSCRIBERS", 30)
    empty = partial(stack.empty, "OutboxTable")
    tried = assert_resumable(daily_menu.daily_menu, at=SIX_IN_NEW_YORK, setup=empty)
    assert 'crash_after="send:25"' in tried.places


def test_the_inventory_is_resumable(stack: LocalStack) -> None:
    empty = partial(stack.empty, "OutboxTable")
    assert_resumable(inventory_sync.inventory_sync, at=SIX_IN_NEW_YORK, setup=empty)


def test_the_invoices_are_resumable(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal_invoices, "INVOICES", 5)
    assert_resumable(renewal_invoices.renewal_invoices, setup=partial(stack.empty, "OutboxTable"))


def test_a_days_menu_goes_to_every_subscriber_once(
    stack: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daily_menu, "SUBSCRIBERS", 60)
    stack.play_at(SIX_IN_NEW_YORK - 5 * MINUTE, SIX_IN_NEW_YORK)
    run = "cronce-local/daily-menu@2026-10-30T10:00:00Z"
    assert sorted(items("message")) == [f"{run}/send/{number:04}" for number in range(1, 61)]
    assert list(items("day-done")) == [f"{run}/mark-day-done"]


def test_an_invoice_is_charged_once_per_period_whoever_asks(stack: LocalStack) -> None:
    (first, *_) = renewal_invoices.due_invoices("2026-11")
    (next_period, *_) = renewal_invoices.due_invoices("2026-12")
    receipts = [renewal_invoices.charge(invoice) for invoice in (first, first, next_period)]
    assert receipts == ["invoice-001-2026-11", "invoice-001-2026-11", "invoice-001-2026-12"]
    assert sorted(items("charge")) == sorted(set(receipts))


def test_doubles_are_all_but_the_oldest_charge_of_each_renewal() -> None:
    charges = [
        renewal_invoices.Charge("b", "001", "2026-09", "2026-09-01T08:31:02Z"),
        renewal_invoices.Charge("a", "001", "2026-09", "2026-09-01T08:30:01Z"),
        renewal_invoices.Charge("c", "001", "2026-10", "2026-10-01T08:30:01Z"),
        renewal_invoices.Charge("d", "002", "2026-09", "2026-09-01T08:30:02Z"),
    ]
    assert [charge.id for charge in renewal_invoices.doubles(charges)] == ["b"]


def test_a_stale_writer_is_refused_at_the_row(stack: LocalStack) -> None:
    inventory_sync.write_level(("sku-001", 12), 6, "11:00")
    with pytest.raises(outbox.StaleWriterError, match=r"stock#sku-001 carries a higher fencing token than 5"):
        inventory_sync.write_level(("sku-001", 99), 5, "10:00")
    row = boto3.resource("dynamodb").Table("outbox").get_item(Key={"pk": "stock#sku-001"})["Item"]
    assert (row["count"], row["fencing_token"]) == (12, 6)


def test_of_two_runs_that_overlap_the_stale_one_is_refused_at_the_row(
    stack: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker stands still after it has decided on a write; a second one writes all rows meanwhile."""
    stack.play_at(SIX_IN_NEW_YORK + 55 * MINUTE)
    tokens: list[int] = []

    def stand_still(item: dict[str, Any], token: int) -> dict[str, Any]:
        tokens.append(token)
        if len(tokens) == 1:
            stack.play_at(*(SIX_IN_NEW_YORK + minute * MINUTE for minute in (63, 64, 65)))
        return fenced_put(item, token)

    monkeypatch.setattr(outbox, "fenced_put", stand_still)
    stack.play_at(SIX_IN_NEW_YORK + 60 * MINUTE)

    (run,) = stack.runs("inventory-sync")
    stale, fresh = tokens[0], run.fencing_token
    assert (run.status, run.attempt, fresh) == ("SUCCEEDED", 2, stale + 1)
    assert tokens == [stale, *[fresh] * 20], (
        "the first worker was refused at its first row, and wrote no other"
    )
    rows = boto3.resource("dynamodb").Table("outbox").scan()["Items"]
    assert {row["fencing_token"] for row in rows if str(row["pk"]).startswith("stock#")} == {fresh}


def test_the_hours_levels_carry_the_token_of_their_run(stack: LocalStack) -> None:
    stack.play_at(SIX_IN_NEW_YORK + 55 * MINUTE, SIX_IN_NEW_YORK + 60 * MINUTE)
    rows = boto3.resource("dynamodb").Table("outbox").scan()["Items"]
    stock = [row for row in rows if str(row["pk"]).startswith("stock#")]
    assert len(stock) == 20
    (run,) = stack.runs("inventory-sync")
    assert {row["fencing_token"] for row in stock} == {run.fencing_token}
    assert {row["as_of"] for row in stock} == {"2026-10-30T11:00:00+00:00"}


def test_an_outbox_without_a_table_says_which_variable_is_missing() -> None:
    with pytest.raises(RuntimeError, match="OUTBOX_TABLE is not set"):
        outbox.table()
