"""The items of an `each`, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from cronce.core import steps
from cronce.core.errors import DuplicateStepError

if TYPE_CHECKING:
    from cronce.engine.checkpoints import Checkpoints
    from cronce.engine.held_claim import HeldClaim

I = TypeVar("I")  # noqa: E741 - an item


def keyed(
    run_id: str, name: str, items: Iterable[I], key: Callable[[I], object] | None
) -> Iterator[tuple[str, I]]:
    """The items with their keys, each key once.

    Raises:
        DuplicateStepError: two items have one key.
        StepError: a key is malformed.
    """
    seen: set[str] = set()
    for position, item in enumerate(items):
        item_key = steps.item_key(run_id, name, key(item) if key else position)
        if item_key in seen:
            raise DuplicateStepError(
                f"run {run_id}: step {name!r}: two items have the key {item_key!r}; "
                "a key tells an item from all others"
            )
        seen.add(item_key)
        yield item_key, item


def in_turn(
    claim: HeldClaim,
    checkpoints: Checkpoints,
    items: Iterator[tuple[str, I]],
    work: Callable[[str, I], object],
) -> list[Any]:
    """Do what is not done yet, and give all values in order of the items.

    Args:
        claim: asked before each item.
        checkpoints: what is done, and where it is recorded.
        items: with their keys.
        work: does one.
    """
    results: list[Any] = []
    with checkpoints.flushed():
        for key, item in items:
            if key in checkpoints.recorded:
                results.append(checkpoints.recorded[key])
                continue
            claim.check()
            text = steps.to_json(claim.record.ref.id, f"{checkpoints.name}/{key}", work(key, item))
            results.append(checkpoints.add(key, text))
    return results
