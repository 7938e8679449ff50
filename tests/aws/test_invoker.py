"""Invocations of the executor.

Invariants:
- one request per run, asynchronous, to the alias that the settings name;
- whatever keeps Lambda from accepting is a `DispatchError` that names run and cause;
- a Lambda that never answers costs bounded time.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.stub import Stubber

from cronce.aws import clients
from cronce.aws.clients import bounded_client
from cronce.aws.invoker import LambdaInvoker
from cronce.core.errors import DispatchError
from cronce.core.records import RunRef
from tests.aws.silence import silent_endpoint

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

EXECUTOR = "arn:aws:lambda:eu-central-1:123456789012:function:shop-Executor-1:live"
RUN = RunRef("daily-menu", datetime(2026, 3, 8, 11, tzinfo=UTC), "a1b2")
REQUEST = {
    "FunctionName": EXECUTOR,
    "InvocationType": "Event",
    "Payload": json.dumps({"run": "daily-menu@2026-03-08T11:00:00Z#a1b2"}).encode(),
}
KEYS: dict[str, Any] = {
    "aws_access_key_id": "testing",
    "aws_secret_access_key": "testing",
    "region_name": "eu-central-1",
}


@pytest.fixture
def client() -> LambdaClient:
    made: LambdaClient = bounded_client("lambda", **KEYS)
    return made


@pytest.fixture
def stub(client: LambdaClient) -> Iterator[Stubber]:
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def accepted(status: int = 202) -> dict[str, Any]:
    """Lambda's answer."""
    return {"StatusCode": status, "Payload": io.BytesIO(b"")}


def test_a_run_is_one_asynchronous_invocation_with_its_id(client: LambdaClient, stub: Stubber) -> None:
    stub.add_response("invoke", accepted(), REQUEST)

    LambdaInvoker(lambda: client, EXECUTOR).invoke(RUN)

    stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    "code, status",
    [("TooManyRequestsException", 429), ("ResourceNotFoundException", 404), ("AccessDeniedException", 403)],
)
def test_a_refused_request_names_run_and_cause(
    client: LambdaClient, stub: Stubber, code: str, status: int
) -> None:
    stub.add_client_error("invoke", code, "not today", http_status_code=status, expected_params=REQUEST)

    with pytest.raises(DispatchError) as raised:
        LambdaInvoker(lambda: client, EXECUTOR).invoke(RUN)

    assert all(part in str(raised.value) for part in (RUN.id, EXECUTOR, code, "not today"))


def test_an_answer_that_is_no_acceptance_is_not_taken_for_one(client: LambdaClient, stub: Stubber) -> None:
    stub.add_response("invoke", accepted(200), REQUEST)

    with pytest.raises(DispatchError, match="status 200 instead of 202"):
        LambdaInvoker(lambda: client, EXECUTOR).invoke(RUN)


def test_p14_a_lambda_that_never_answers_fails_in_bounded_time() -> None:
    with silent_endpoint() as url:
        client = bounded_client(
            "lambda", connect_timeout=0.05, read_timeout=0.05, attempts=1, endpoint_url=url, **KEYS
        )

        with pytest.raises(DispatchError, match="ReadTimeoutError"):
            LambdaInvoker(lambda: client, EXECUTOR).invoke(RUN)


def test_a_lambda_that_cannot_be_reached_is_a_dispatch_error() -> None:
    with silent_endpoint() as url:
        closed = url
    client = bounded_client("lambda", attempts=1, endpoint_url=closed, **KEYS)

    with pytest.raises(DispatchError, match="EndpointConnectionError"):
        LambdaInvoker(lambda: client, EXECUTOR).invoke(RUN)


@pytest.mark.parametrize("service", ["lambda", "sns"])
def test_p14_clients_wait_at_most_five_seconds_and_try_twice(service: str) -> None:
    config = bounded_client(service, **KEYS).meta.config

    assert config.connect_timeout + config.read_timeout <= 5
    assert config.retries == {"mode": "standard", "total_max_attempts": clients.ATTEMPTS}
    assert config.max_pool_connections == clients.CONNECTIONS
