"""The calls of DynamoDB that the stores use, with its errors in cronce's words.

A call ends in one of three ways: an answer; a verdict on a condition (`Verdict`), which is a value; a
`StoreError` that names the operation. Nothing of botocore is seen by whoever calls.

Two things that the SDK does not do are done here: a transaction or write that met another one under way
(TransactionConflict), or was throttled inside a transaction, is answered as `AGAIN` and can be sent again
with jitter (`settled`); keys that a batch left unprocessed are asked for again. Both are bounded.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.parsers import ResponseParserError

from cronce.aws.attributes import Item, place
from cronce.aws.errors import BrokenAnswerError
from cronce.aws.limits import BATCH_READ, check_transaction, check_write
from cronce.aws.writes import Kind, Write, names_in
from cronce.core.errors import RefusedError, StoreError
from cronce.core.ports import Clock
from cronce.core.values import dataclass

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TRIES = 5
"""Tries of what the store asks to send again."""
FIRST_PAUSE = 0.05
"""Upper end of the jitter before the second try, in seconds; it doubles."""
_CONFLICTS = frozenset(
    {"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"}
)
_THROTTLED = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})
_REFUSED = frozenset({"ValidationException", "ValidationError", "ItemCollectionSizeLimitExceeded"})


class Verdict(StrEnum):
    """What the store said to a conditional write."""

    DONE = "done"
    """Written."""
    FAILED = "failed"
    """The condition does not hold."""
    AGAIN = "again"
    """Nothing was judged: another write was under way, or there was no capacity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The store's answer to one write, or to one action of a transaction.

    Attributes:
        verdict: what became of it.
        item: after a write the item as asked for; after a failed condition the item as it stands (None: there
            is none).
        detail: the store's word for it, for messages.
    """

    verdict: Verdict
    item: Mapping[str, Any] | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """The store's answer to a transaction.

    Attributes:
        answers: one for each action, in order; a transaction is done if all of them are.
    """

    answers: tuple[Answer, ...]

    @property
    def done(self) -> bool:
        """Whether it was written."""
        return all(answer.verdict is Verdict.DONE for answer in self.answers)

    @property
    def verdict(self) -> Verdict:
        """Of the whole: a failed condition outranks a request to try again."""
        verdicts = {answer.verdict for answer in self.answers}
        return next(
            (verdict for verdict in (Verdict.FAILED, Verdict.AGAIN) if verdict in verdicts), Verdict.DONE
        )

    @property
    def detail(self) -> str:
        """The store's words."""
        return ", ".join(sorted({answer.detail for answer in self.answers if answer.detail}))


A = TypeVar("A", Answer, Settlement)


class Calls:
    """Thin wrappers around one low-level client.

    Args:
        client: made by `cronce.aws.dynamodb.make_client`.
        clock: pauses between two tries.
    """

    def __init__(self, client: DynamoDBClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def get(self, operation: str, table: str, key: Item) -> Mapping[str, Any] | None:
        """One item, strong."""
        answer = _called(operation, self._client.get_item, TableName=table, Key=key, ConsistentRead=True)
        item: Mapping[str, Any] | None = answer.get("Item")
        return item

    def get_many(self, operation: str, table: str, keys: Sequence[Item]) -> list[Mapping[str, Any]]:
        """Many items, strong, in any order; those that are not there are left out.

        Raises:
            StoreError: the store left keys unprocessed, again and again.
        """
        wanted = list({place(key): key for key in keys}.values())
        found: list[Mapping[str, Any]] = []
        tries = 0
        while wanted:
            batch, wanted = wanted[:BATCH_READ], wanted[BATCH_READ:]
            request = {table: {"Keys": batch, "ConsistentRead": True}}
            answer = _called(operation, self._client.batch_get_item, RequestItems=request)
            found += _part(operation, answer, "Responses").get(table, [])
            left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            tries = 0 if len(left) < len(batch) else tries + 1
            if tries == TRIES:
                raise StoreError(f"{operation}: the store left {len(left)} keys unprocessed {TRIES} times")
            if left:
                self._pause(tries)
                wanted = left + wanted
        return found

    def query(self, operation: str, arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The items of a query, page by page as they are taken."""
        asked = {**arguments, "ExpressionAttributeNames": names_in(arguments["KeyConditionExpression"])}
        while True:
            answer = _called(operation, self._client.query, **asked)
            yield from _part(operation, answer, "Items")
            if not answer.get("LastEvaluatedKey"):
                return
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def beginning_with(
        self, operation: str, table: str, pk: str, prefix: str, page: int | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Items of a partition whose sort key begins so, in order, strong, all pages of `page` items."""
        arguments = {
            "TableName": table,
            "KeyConditionExpression": "#pk = :pk AND begins_with(#sk, :prefix)",
            "ExpressionAttributeValues": {":pk": {"S": pk}, ":prefix": {"S": prefix}},
            "ConsistentRead": True,
        }
        return self.query(operation, {**arguments, "Limit": page} if page else arguments)

    def write(self, operation: str, write: Write, returning: str = "NONE") -> Answer:
        """One write. `returning` asks for the item: `ALL_NEW`, `UPDATED_NEW`."""
        check_write(operation, write)
        methods: dict[Kind, Callable[..., Any]] = {
            Kind.PUT: self._client.put_item,
            Kind.UPDATE: self._client.update_item,
            Kind.DELETE: self._client.delete_item,
        }
        try:
            answer = _called(operation, methods[write.kind], ReturnValues=returning, **write.arguments())
        except _JudgedError as error:
            return error.answers[0]
        return Answer(verdict=Verdict.DONE, item=answer.get("Attributes"))

    def transact(self, operation: str, writes: Sequence[Write]) -> Settlement:
        """All writes or none.

        The SDK adds a client request token, so that on DynamoDB its own retry of a transaction that was
        written is answered as success.
        """
        check_transaction(operation, writes)
        actions = [{write.kind.value: write.arguments()} for write in writes]
        try:
            _called(operation, self._client.transact_write_items, TransactItems=actions)
        except _JudgedError as error:
            return Settlement(answers=_for_each(operation, writes, error.answers))
        return Settlement(answers=tuple(Answer(verdict=Verdict.DONE) for _ in writes))

    def settled(self, operation: str, send: Callable[[], A]) -> A:
        """Send until the store judges.

        Raises:
            StoreError: it never did.
        """
        answer = send()
        for tries in range(TRIES - 1):
            if answer.verdict is not Verdict.AGAIN:
                return answer
            self._pause(tries)
            answer = send()
        if answer.verdict is Verdict.AGAIN:
            raise StoreError(f"{operation}: {answer.detail}, {TRIES} times")
        return answer

    def _pause(self, tries: int) -> None:
        self._clock.pause(random.uniform(0, FIRST_PAUSE * 2**tries))


class _JudgedError(StoreError):
    """A condition failed, or the store asks to be asked again: a value, once it has left `_called`."""

    def __init__(self, message: str, answers: tuple[Answer, ...]) -> None:
        super().__init__(message)
        self.answers = answers


def _called(operation: str, method: Callable[..., Any], **arguments: Any) -> Mapping[str, Any]:
    """Call the client.

    Raises:
        RefusedError: the request itself is at fault.
        StoreError: no answer, or one that is no verdict.
    """
    try:
        answer: Mapping[str, Any] = method(**arguments)
    except ClientError as error:
        raise _from_answer(operation, error) from error
    except ParamValidationError as error:
        raise RefusedError(f"{operation}: {error}") from error
    except (BotoCoreError, ResponseParserError, BrokenAnswerError) as error:
        raise StoreError(f"{operation}: {type(error).__name__}: {error}") from error
    return answer


def _part(operation: str, answer: Mapping[str, Any], name: str) -> Any:
    """What an answer must hold: without it nothing is known, which is not the same as nothing being there."""
    if name not in answer:
        raise StoreError(f"{operation}: the answer has no {name}")
    return answer[name]


def _for_each(operation: str, writes: Sequence[Write], answers: tuple[Answer, ...]) -> tuple[Answer, ...]:
    """One answer for each write of a transaction; a request to come again may be one for all."""
    if len(answers) == 1 and answers[0].verdict is Verdict.AGAIN:
        return answers * len(writes)
    if len(answers) != len(writes):
        raise StoreError(f"{operation}: {len(answers)} reasons for {len(writes)} writes")
    return answers


def _from_answer(operation: str, error: ClientError) -> StoreError:
    code = error.response["Error"]["Code"]
    message = f"{operation}: {code}: {error.response['Error'].get('Message', '')}"
    response: Mapping[str, Any] = error.response
    if code == "ConditionalCheckFailedException":
        failed = Answer(verdict=Verdict.FAILED, item=response.get("Item"), detail=code)
        return _JudgedError(message, (failed,))
    if code in _CONFLICTS:
        return _JudgedError(message, (Answer(verdict=Verdict.AGAIN, detail=code),))
    if code == "TransactionCanceledException":
        return _from_reasons(message, response.get("CancellationReasons") or [])
    return RefusedError(message) if code in _REFUSED else StoreError(message)


def _from_reasons(message: str, reasons: Sequence[Mapping[str, Any]]) -> StoreError:
    """A cancelled transaction: a verdict for each action, unless one of them is refused for good."""
    answers = []
    for reason in reasons:
        code = reason.get("Code") or "None"
        if code == "None":
            answers.append(Answer(verdict=Verdict.DONE))
        elif code == "ConditionalCheckFailed":
            answers.append(Answer(verdict=Verdict.FAILED, item=reason.get("Item"), detail=code))
        elif code in _CONFLICTS or code in _THROTTLED:
            answers.append(Answer(verdict=Verdict.AGAIN, detail=code))
        else:
            return RefusedError(f"{message} ({code}: {reason.get('Message', '')})")
    if all(answer.verdict is Verdict.DONE for answer in answers):
        return StoreError(f"{message} (cancelled for no reason that was given)")
    return _JudgedError(message, tuple(answers))
