"""The client against a server that misbehaves: every call ends, in bounded time, in cronce's own words.

Invariants:
- a store that never answers ends a call, and so a tick, long before the function's own end;
- whatever comes instead of an answer is a `StoreError` that names the operation; half an answer is none;
- a repeated transaction carries the same token, so that the store can know it;
- the store's clock is read off every answer, errors included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from zlib import crc32

import pytest

from cronce.aws.dynamodb import ATTEMPTS, make_client
from cronce.aws.store import DynamoStore
from cronce.core.errors import StoreError
from cronce.core.jobstate import Registry
from cronce.core.lease import LEASE_TTL, Grant
from cronce.core.records import RunRef
from cronce.testing import ManualClock
from tests.support.canned_server import BREAK, SILENCE, CannedServer, Reply, canned_server, refusal
from tests.support.tables import definition

NOW = datetime(2026, 1, 5, 12, 0, 0, 250_000, tzinfo=UTC)
SHORT = 0.2
"""Seconds without an answer, in tests."""
SCHEDULER_TIMEOUT = 45
GRANT = Grant(owner="scheduler-1", fencing_token=7)
REGISTRY = Registry(jobs={}, zone_data="2026f", fingerprint="f")
TAKEN: dict[str, Any] = {
    "Attributes": {
        "shape": {"N": "1"},
        "owner": {"S": "scheduler-1"},
        "fencing_token": {"N": "7"},
        "lease_until": {"S": "2026-01-05T12:00:50.250Z"},
    }
}
NO_ITEM = Reply(body={})


@contextmanager
def store_of(server: CannedServer, attempts: int = 1, read_timeout: float = SHORT) -> Iterator[DynamoStore]:
    """The real stores on a real client, talking to the server."""
    client = make_client(
        connect_timeout=SHORT,
        read_timeout=read_timeout,
        attempts=attempts,
        endpoint_url=server.url,
        region_name="eu-west-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    try:
        yield DynamoStore(
            client,
            runs_table="runs",
            steps_table="steps",
            clock=ManualClock(NOW),
            retention=timedelta(days=400),
        )
    finally:
        client.close()


def test_p14_a_store_that_never_answers_fails_the_tick_and_the_next_tick_succeeds() -> None:
    with canned_server(SILENCE, SILENCE, Reply(body=TAKEN)) as server, store_of(server, attempts=2) as store:
        began = time.perf_counter()
        with pytest.raises(StoreError, match=r"take the lease: ReadTimeoutError"):
            store.lease.take("scheduler-1", NOW)

        assert time.perf_counter() - began < 2 * SHORT + 2, "two tries and one pause of at most a second"
        assert len(server.requests) == 2
        grant = store.lease.take("scheduler-1", NOW)
        assert grant is not None
        assert grant.fencing_token == 7


def test_p14_by_default_a_call_that_gets_no_answer_ends_long_before_the_tick() -> None:
    config: Any = make_client(region_name="eu-west-1").meta.config
    tries = config.retries["total_max_attempts"]
    pauses = sum(2**number for number in range(tries - 1))

    assert config.connect_timeout + config.read_timeout <= 5
    assert tries == ATTEMPTS
    worst = tries * (config.connect_timeout + config.read_timeout) + pauses
    assert 2 * worst < SCHEDULER_TIMEOUT < LEASE_TTL.total_seconds(), "the take, and whatever ends the tick"


def test_a_store_that_is_not_there_is_a_store_error() -> None:
    with canned_server(NO_ITEM) as server:
        gone = CannedServer([NO_ITEM], url=server.url)
    with store_of(gone) as store, pytest.raises(StoreError, match=r"read the lease: EndpointConnectionError"):
        store.lease.read()


@pytest.mark.parametrize(
    "reply, word",
    [
        pytest.param(BREAK, "ConnectionClosedError", id="connection broken off"),
        pytest.param(Reply(body={}, cut=100), "BrokenAnswerError: .* 2 bytes of 102", id="cut short"),
        pytest.param(Reply(text="", cut=100), "BrokenAnswerError: .* 0 bytes of 100", id="cut to nothing"),
        pytest.param(Reply(body={}, checksum=1), "BrokenAnswerError: .*checksum", id="wrong checksum"),
        pytest.param(Reply(text="<html>proxy</html>"), "BrokenAnswerError: .*no JSON", id="no JSON"),
        pytest.param(Reply(text=""), "BrokenAnswerError: .*no JSON", id="empty"),
        pytest.param(Reply(text="<html>", status=503), "503", id="error without JSON"),
        pytest.param(refusal("InternalServerError", 500), "InternalServerError", id="internal error"),
        pytest.param(
            refusal("ProvisionedThroughputExceededException"), "ProvisionedThroughputExceeded", id="throttled"
        ),
        pytest.param(refusal("ThrottlingException"), "ThrottlingException", id="request rate"),
        pytest.param(refusal("AccessDeniedException"), "AccessDeniedException", id="not allowed"),
        pytest.param(refusal("ResourceNotFoundException"), "ResourceNotFoundException", id="no such table"),
        pytest.param(refusal("UnrecognizedClientException"), "UnrecognizedClient", id="wrong keys"),
        pytest.param(refusal("ValidationException"), "ValidationException: as the test says", id="invalid"),
        pytest.param(refusal("InventedException"), "InventedException", id="unheard of"),
    ],
)
def test_whatever_comes_instead_of_an_answer_names_the_operation(reply: Reply, word: str) -> None:
    with canned_server(reply) as server, store_of(server) as store:
        with pytest.raises(StoreError, match=rf"^read the lease: .*{word}"):
            store.lease.read()
        with pytest.raises(StoreError, match=rf"^write the registry: .*{word}"):
            store.registry.write(GRANT, REGISTRY)


def test_an_error_that_passes_is_tried_again_and_never_seen() -> None:
    plan = (refusal("InternalServerError", 500), BREAK, NO_ITEM)
    with canned_server(*plan) as server, store_of(server, attempts=3) as store:
        assert store.lease.read() is None

        assert len(server.requests) == 3


def test_an_answer_with_the_right_checksum_is_taken() -> None:
    with canned_server(Reply(body={}, checksum=crc32(b"{}"))) as server, store_of(server) as store:
        assert store.lease.read() is None


def test_a_transaction_that_is_sent_again_carries_the_same_token_and_the_next_one_another() -> None:
    with canned_server(BREAK, NO_ITEM) as server, store_of(server, attempts=2) as store:
        assert store.registry.write(GRANT, REGISTRY)
        assert store.registry.write(GRANT, REGISTRY)

        first, again, other = (request["ClientRequestToken"] for request in server.requests)
        assert first == again != other


@pytest.mark.parametrize(
    "codes, problem",
    [
        ([], "no reason"),
        (["None", "None"], "no reason"),
        (["ConditionalCheckFailed"], "1 reasons for 2 writes"),
        (["ConditionalCheckFailed", "None", "None"], "3 reasons for 2 writes"),
    ],
)
def test_a_cancelled_transaction_that_does_not_say_why_is_a_store_error(
    codes: list[str], problem: str
) -> None:
    reasons = [{"Code": code} for code in codes]
    cancelled = refusal("TransactionCanceledException", CancellationReasons=reasons)
    with (
        canned_server(cancelled) as server,
        store_of(server) as store,
        pytest.raises(StoreError, match=problem),
    ):
        store.registry.write(GRANT, REGISTRY)


def test_a_transaction_that_is_still_under_way_is_sent_again() -> None:
    with (
        canned_server(refusal("TransactionInProgressException"), NO_ITEM) as server,
        store_of(server) as store,
    ):
        assert store.registry.write(GRANT, REGISTRY)
        assert len(server.requests) == 2


def test_an_answer_that_lacks_what_was_asked_for_does_not_read_as_nothing() -> None:
    with canned_server(NO_ITEM) as server, store_of(server) as store:
        with pytest.raises(StoreError, match=r"read steps of .*: the answer has no Items"):
            list(store.steps.load(RunRef("daily-menu", NOW.replace(microsecond=0))))
        with pytest.raises(StoreError, match="read jobs: the answer has no Responses"):
            store.jobs.get_many(["daily-menu"])


def test_nothing_is_sent_before_the_first_call() -> None:
    with canned_server(NO_ITEM) as server, store_of(server) as store:
        assert server.requests == []
        assert store.clock.skew() == timedelta(0)


@pytest.mark.parametrize(
    "date, skew",
    [
        ("Mon, 05 Jan 2026 12:00:00 GMT", timedelta(0)),
        ("Mon, 05 Jan 2026 12:00:10 GMT", timedelta(seconds=9.75)),
        ("Mon, 05 Jan 2026 11:59:59 GMT", timedelta(seconds=-0.25)),
        ("Mon, 05 Jan 2026 11:59:50 GMT", timedelta(seconds=-9.25)),
        ("Mon, 05 Jan 2026 13:00:00 GMT", timedelta(minutes=60) - timedelta(seconds=0.25)),
    ],
)
def test_the_skew_is_the_least_that_a_date_in_whole_seconds_allows(date: str, skew: timedelta) -> None:
    with canned_server(Reply(body={}, date=date)) as server, store_of(server) as store:
        store.lease.read()

        assert store.clock.skew() == skew


def test_the_skew_is_read_off_refusals_too() -> None:
    late = Reply(
        status=400,
        date="Mon, 05 Jan 2026 11:00:00 GMT",
        body={"__type": "x#ConditionalCheckFailedException", "message": ""},
    )
    with canned_server(late) as server, store_of(server) as store:
        assert store.lease.take("scheduler-1", NOW) is None

        assert store.clock.skew() < timedelta(minutes=-59)


@pytest.mark.parametrize("date", [None, "yesterday", "2026-01-05T12:00:00Z"])
def test_an_answer_without_a_readable_date_leaves_the_skew_as_it_was(date: str | None) -> None:
    known = Reply(body={}, date="Mon, 05 Jan 2026 12:00:10 GMT")
    with canned_server(known, Reply(body={}, date=date)) as server, store_of(server) as store:
        store.lease.read()
        store.lease.read()

        assert store.clock.skew() == timedelta(seconds=9.75)


def test_the_template_has_the_index_that_the_store_reads() -> None:
    (index,) = definition("RunsTable")["GlobalSecondaryIndexes"]

    assert index["IndexName"] == "due"
    assert [key["AttributeName"] for key in index["KeySchema"]] == ["due_kind", "due_at"]
    assert set(index["Projection"]["NonKeyAttributes"]) >= {"status", "expect_by", "notice"}
