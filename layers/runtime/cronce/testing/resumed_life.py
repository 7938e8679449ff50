"""What may be wrong with a run whose worker died, beside the same run undisturbed, and what to change."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from cronce.core.run import Reason, RunStatus
from cronce.testing.job_run import RunResult
from cronce.testing.watch import OPAQUE, Asked, Call, Kind, Moment, Watch, Work

SHOWN = 80
"""Characters of a value that a message shows."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong.

    Attributes:
        what: what it is and what to change; the same at every place where the worker died.
        seen: what it came to here.
        step: whose it is, if it is one step's.
        follows: it may follow from another problem of that step, and is not told beside one.
    """

    what: str
    seen: str = ""
    step: str = ""
    follows: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """What came of a run, and how it came to that."""

    result: RunResult
    watch: Watch

    @property
    def asked(self) -> Asked:
        """What the last call of the job's function asked for."""
        return self.watch.asked


def problems_of(life: Life, undisturbed: Life, may_differ: Collection[str]) -> Iterator[Problem]:
    """What is wrong with the life of a run whose worker died.

    Args:
        life: of that run.
        undisturbed: what it is compared with.
        may_differ: steps whose values and arguments are not compared.
    """
    crash = life.watch.crash
    if crash is None:
        yield Problem("no worker came there: the job does not ask for the same steps each time it begins")
        return
    if life.watch.swallowed:
        yield Problem(
            "the job's function goes on when its worker is to stop: it swallows the exception that says so "
            "(`except BaseException`, a bare `except:`, or `return` in a `finally`). Let it pass: catch "
            "Exception instead"
        )
        return  # what else differs follows from that
    before, after = life.watch.calls[: crash.calls], life.watch.calls[crash.calls :]
    yield from _done_twice(after, crash.recorded)
    yield from _outside(life)
    if _is_uncertain(life, undisturbed):
        yield from _not_left_alone(life, after)
        return
    forgotten = list(_forgotten(life, crash.recorded))
    yield from forgotten
    yield from _ends(life, undisturbed)
    if forgotten or life.result.status is not RunStatus.SUCCEEDED:
        return  # what else differs follows from that
    yield from _not_repeated([call for call in before if call.work not in crash.recorded], after)
    yield from _other_arguments(life, undisturbed, may_differ)
    yield from _other_values(life, undisturbed, may_differ)


def _done_twice(after: list[Call], recorded: frozenset[Work]) -> Iterator[Problem]:
    for call in after:
        if call.work in recorded:
            yield Problem(
                f"step {call.step!r} was recorded, and its function was called again. That must never "
                "happen, whatever the job does: it is a defect of cronce"
            )


def _outside(life: Life) -> Iterator[Problem]:
    for place, what in life.result.outside.items():
        yield Problem(
            f"{place} {what} outside a step: every attempt and every invocation does it again. Do it in a "
            "step (run.step(...)); if it only reads, name the function in reads=[...]"
        )


def _is_uncertain(life: Life, undisturbed: Life) -> bool:
    """Whether the worker died within an at-most-once step."""
    place = life.watch.place
    if place is None or place.moment is not Moment.DONE:
        return False
    return undisturbed.asked.kinds.get(place.step) is Kind.ONCE


def _not_left_alone(life: Life, after: list[Call]) -> Iterator[Problem]:
    if after or life.result.reason is not Reason.STEP_UNCERTAIN:
        yield Problem(
            "an at-most-once step was interrupted, and no person was asked: the run must end "
            "FAILED(step_uncertain) and call nothing. That must never happen, whatever the job does: it is a "
            "defect of cronce",
            f"it ended {ending(life.result)} after {len(after)} more calls",
        )


def _forgotten(life: Life, recorded: frozenset[Work]) -> Iterator[Problem]:
    """Steps and items that were recorded, and that the resumed function does not ask for."""
    asked = life.asked
    for step in sorted({step for step, _ in recorded} - set(asked.kinds)):
        yield Problem(
            "a step was recorded, and the resumed function does not ask for it. A step must have the same "
            "name in every attempt: keep times, attempts and random numbers out of it",
            f"{step!r} was recorded, asked for are {list(asked.kinds)}",
            step=step,
        )
    for step in asked.kinds:
        items = {item for name, item in recorded if name == step and item is not None}
        lost = sorted(items.difference(asked.items.get(step, ())))
        if lost:
            yield Problem(
                f"step {step!r}: items that were recorded are not among those of the resumed function, so "
                "the same work may be done again under another key. Let `key` give an item the same key in "
                "every attempt, and the items be the same ones",
                f"{_short(lost[0])} was recorded, asked for are {_short(list(asked.items.get(step, ())))}",
                step=step,
            )


def _ends(life: Life, undisturbed: Life) -> Iterator[Problem]:
    if life.result.status is not undisturbed.result.status:
        yield Problem(
            f"the run ends {ending(life.result)} instead of {ending(undisturbed.result)}. The resumed "
            "function goes another way, or a step does not bear to be done again",
            error_of(life.result),
        )
    elif set(life.asked.kinds) != set(undisturbed.asked.kinds):
        yield Problem(
            "the resumed function asks for other steps. Decide which steps there are by values of earlier "
            "steps, not by the time or the attempt",
            f"{list(life.asked.kinds)} instead of {list(undisturbed.asked.kinds)}",
        )


def _not_repeated(interrupted: list[Call], after: list[Call]) -> Iterator[Problem]:
    again = {call.work: call for call in after}
    for call in interrupted:
        repeated = again.get(call.work)
        if repeated is None:
            yield Problem(
                f"step {call.step!r} was interrupted, and the resumed function does not do it again. Ask for "
                "the same step in every attempt, and give an item of an `each` the same key",
                f"what was interrupted is {_short(call.idempotency_key)}",
                step=call.step,
                follows=True,
            )
        elif repeated.idempotency_key != call.idempotency_key:
            yield Problem(
                f"step {call.step!r} was interrupted and done again under another idempotency key, so the "
                "receiving service takes it for new. Take the key that the function is handed (a parameter "
                "named idempotency_key), or make one of the run and the item alone",
                f"{_short(call.idempotency_key)}, then {_short(repeated.idempotency_key)}",
            )


def _other_arguments(life: Life, undisturbed: Life, may_differ: Collection[str]) -> Iterator[Problem]:
    expected = {call.work: call for call in undisturbed.watch.calls}
    for call in life.watch.calls:
        known = expected.get(call.work)
        if call.step in may_differ or known is None or _is_same(call.arguments, known.arguments, call, known):
            continue
        yield Problem(
            f"step {call.step!r}: its function is called with other arguments than in an undisturbed run. "
            "What a step works on must be the same in every attempt: take it from the run (scheduled_at, "
            "local_date, input) or from an earlier step; if it may rightly differ, say so: "
            f"may_differ=[{call.step!r}]",
            _differing(call, known),
            step=call.step,
            follows=True,
        )


def _other_values(life: Life, undisturbed: Life, may_differ: Collection[str]) -> Iterator[Problem]:
    for step, kind in undisturbed.asked.kinds.items():
        here, there = life.result.steps.get(step), undisturbed.result.steps.get(step)
        if kind is Kind.SLEEP or step in may_differ or here == there:
            continue  # a sleep begins when the run comes to it
        yield Problem(
            f"step {step!r}: its value is not that of an undisturbed run. Compute it from the run "
            "(scheduled_at, not the present; input) and from earlier steps, and let it not tell whether the "
            f"call was a repeated one; if it may rightly differ, say so: may_differ=[{step!r}]",
            f"{_short(here)} instead of {_short(there)}",
            step=step,
            follows=True,
        )


def _is_same(one: Any, other: Any, call: Call, known: Call) -> bool:
    """Whether two arguments are the same; a fencing token differs from attempt to attempt, as it should."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(_is_same(here, there, call, known) for here, there in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return all(_is_same(one[key], other[key], call, known) for key in one)
    if one == other or OPAQUE in (one, other):
        return True
    tokens = isinstance(one, int) and one in call.fencing_tokens
    return tokens and isinstance(other, int) and other in known.fencing_tokens


def _differing(call: Call, known: Call) -> str:
    """The first arguments that differ."""
    (here, named), (there, known_named) = call.arguments, known.arguments
    pairs = [*zip(here, there, strict=False), *((named[key], known_named.get(key)) for key in named)]
    for one, other in pairs:
        if not _is_same(one, other, call, known):
            return f"{_short(one)} instead of {_short(other)}"
    return f"{len(here) + len(named)} of them instead of {len(there) + len(known_named)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def ending(result: RunResult) -> str:
    """How a run ended, in one word."""
    return f"{result.status}({result.reason})" if result.reason else str(result.status)


def error_of(result: RunResult) -> str:
    """What a run failed of, whole: what is kept of it is short."""
    if result.reason is Reason.ERROR and result.raised:
        return f"{type(result.raised[-1]).__name__}: {result.raised[-1]}"
    return str(result.error)
