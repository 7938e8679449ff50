"""Starts executors: one asynchronous invocation for each run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from cronce.aws.clients import FAILURES, told
from cronce.core.errors import DispatchError
from cronce.core.records import RunRef

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

ACCEPTED = 202
"""Lambda's answer to an asynchronous invocation that it has put into its queue."""


class LambdaInvoker:
    """`Invoker` on Lambda. One object serves many threads.

    Args:
        client: gives a client made by `cronce.aws.clients.bounded_client("lambda")`; asked when it is needed.
        executor: name or ARN of the executor, with its alias.
    """

    def __init__(self, client: Callable[[], LambdaClient], executor: str) -> None:
        self._client = client
        self._executor = executor

    def invoke(self, ref: RunRef) -> None:
        """Put `{"run": "<run id>"}` into the executor's queue.

        Accepted does not mean started, and a request whose answer was lost may have been accepted: the
        claim decides who runs, and the sweep asks again for a run that nobody claims.

        Raises:
            DispatchError: Lambda did not say that it accepted.
        """
        payload = json.dumps({"run": ref.id}).encode()
        try:
            answer = self._client().invoke(
                FunctionName=self._executor, InvocationType="Event", Payload=payload
            )
        except FAILURES as error:
            raise DispatchError(f"run {ref.id}: {self._executor} was not invoked: {told(error)}") from error
        status = answer["StatusCode"]
        if status != ACCEPTED:
            raise DispatchError(
                f"run {ref.id}: {self._executor} was not invoked: status {status} instead of {ACCEPTED}"
            )
