"""P77 and its kin: which records of the Runs table's stream reach the dispatcher.

Invariants:
- a run that becomes PENDING to be started from the stream does, whether it is new or was waiting;
- nothing else does: not the sweep's own writes, no other state, no other kind of item, no removal;
- the model of the filter used here refuses what it does not know, so it cannot pass by ignorance.
"""

import json
from typing import Any

import pytest

from cronce_tools.local.filters import Record, matches
from tests.template.stack import Stack

RUN = ("JOB#daily-menu", "RUN#2026-11-30T11:00:00Z")


@pytest.fixture(scope="module")
def pattern(stack: Stack) -> str:
    (only,) = stack.properties("DispatcherFunctionRuns")["FilterCriteria"]["Filters"]
    text: str = only["Pattern"]
    return text


def record(event: str, key: tuple[str, str], **attributes: str) -> Record:
    """A record as the stream has it: keys always, the new image unless the item was removed."""
    keys = {"pk": {"S": key[0]}, "sk": {"S": key[1]}}
    body: dict[str, Any] = {"Keys": keys, "SequenceNumber": "1", "StreamViewType": "NEW_IMAGE"}
    if event != "REMOVE":
        body["NewImage"] = {**keys, **{name: {"S": value} for name, value in attributes.items()}}
    return {"eventID": "1", "eventName": event, "eventSource": "aws:dynamodb", "dynamodb": body}


@pytest.mark.parametrize("event", ["INSERT", "MODIFY"])
def test_p77_a_run_that_becomes_pending_reaches_the_dispatcher(pattern: str, event: str) -> None:
    assert matches(pattern, record(event, RUN, status="PENDING", dispatch="stream", due_kind="pending"))


def test_p77_so_does_a_manual_run(pattern: str) -> None:
    key = ("JOB#daily-menu", "RUN#2026-11-30T11:00:00Z#4f1c")
    assert matches(pattern, record("INSERT", key, status="PENDING", dispatch="stream"))


def test_p77_the_sweeps_own_writes_do_not(pattern: str) -> None:
    assert not matches(pattern, record("MODIFY", RUN, status="PENDING", dispatch="sweep"))
    assert not matches(pattern, record("MODIFY", RUN, status="PENDING"))


@pytest.mark.parametrize(
    "status", ["RUNNING", "WAITING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "pending", ""]
)
def test_p79_no_other_state_of_a_run_does(pattern: str, status: str) -> None:
    assert not matches(pattern, record("MODIFY", RUN, status=status, dispatch="stream"))


OTHER_ITEMS = {
    "the lease": ("SCHEDULER", "LEASE"),
    "the registry": ("SCHEDULER", "REGISTRY"),
    "a job": ("JOB#daily-menu", "JOB"),
    "a gap": ("JOB#daily-menu", "GAP#2026-11-30T11:00:00Z#2026-11-30T11:09:00Z#late"),
    "a queue marker": ("JOB#daily-menu", "QUEUE#2026-11-30T11:00:00Z"),
    "an alert of a job": ("JOB#daily-menu", "ALERT"),
    "the alert of the scheduler": ("SCHEDULER", "ALERT"),
    "a job's own lease": ("LEASE#menu-printer", "LEASE"),
}


@pytest.mark.parametrize("item", OTHER_ITEMS)
def test_p77_no_other_item_does_not_even_one_that_looks_like_a_run(pattern: str, item: str) -> None:
    assert not matches(pattern, record("INSERT", OTHER_ITEMS[item]))
    assert not matches(pattern, record("MODIFY", OTHER_ITEMS[item], status="PENDING", dispatch="stream"))


def test_p78_no_removal_does_neither_by_ttl_nor_by_hand(pattern: str) -> None:
    removed = record("REMOVE", RUN)
    assert not matches(pattern, removed)
    by_ttl = {**removed, "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}}
    assert not matches(pattern, by_ttl)


def test_a_removal_with_an_image_would_not_either(pattern: str) -> None:
    pending = record("INSERT", RUN, status="PENDING", dispatch="stream")
    assert not matches(pattern, {**pending, "eventName": "REMOVE"})


@pytest.mark.parametrize(
    "entry", [{"numeric": [">", 1]}, {"suffix": "x"}, {"exists": "yes"}, {"prefix": "a", "x": 1}]
)
def test_the_model_refuses_what_it_does_not_know(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not understood"):
        matches(json.dumps({"eventName": [entry]}), {"eventName": "INSERT"})


def test_the_model_refuses_a_leaf_that_is_no_list() -> None:
    with pytest.raises(ValueError, match="is a list"):
        matches('{"eventName": "INSERT"}', {"eventName": "INSERT"})


@pytest.mark.parametrize(
    "pattern_text, value, accepted",
    [
        ('{"a": ["x"]}', "x", True),
        ('{"a": ["x", "y"]}', "y", True),
        ('{"a": ["x"]}', "z", False),
        ('{"a": ["1"]}', 1, False),
        ('{"a": [{"prefix": "RUN#"}]}', "RUN#1", True),
        ('{"a": [{"prefix": "RUN#"}]}', "run#1", False),
        ('{"a": [{"exists": true}]}', "x", True),
        ('{"a": [{"exists": false}]}', "x", False),
        ('{"b": [{"exists": false}]}', "x", True),
        ('{"b": ["x"]}', "x", False),
        ('{"a": [{"anything-but": ["x"]}]}', "x", False),
        ('{"a": [{"anything-but": ["x"]}]}', "y", True),
        ('{"a": {"b": ["x"]}}', "x", False),
    ],
)
def test_the_model_matches_as_lambda_documents(pattern_text: str, value: object, accepted: bool) -> None:
    assert matches(pattern_text, {"a": value}) is accepted
