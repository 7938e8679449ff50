"""What `@job` decorates.

Invariants:
- what could not be called with a run, or would do nothing if it were, is refused where it is declared, in
  words that say what to write;
- nothing that can be called with a run is refused;
- a made job is noticed by who listens, and by nobody else.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from cronce.core.errors import DefinitionError
from cronce.core.job import Job, job
from cronce.core.made_jobs import made_jobs
from cronce.core.schedule import Cron

DAILY = Cron("0 6 * * *")
decorate: Callable[[Any], Job] = job("menu", schedule=DAILY)


def nothing() -> None: ...


def two(run: object, other: object) -> None: ...


def keyword(*, run: object) -> None: ...


async def asynchronous(run: object) -> None: ...


async def asynchronous_items(run: object) -> AsyncIterator[int]:
    yield 1


def items(run: object) -> Iterator[int]:
    yield 1


class Asynchronous:
    async def __call__(self, run: object) -> None: ...


REFUSED: dict[str, tuple[object, str]] = {
    "no argument": (nothing, r"job 'menu': nothing\(\) -> .*one argument, the run: too many positional"),
    "two arguments": (two, r"two\(.*missing a required argument: 'other'"),
    "a keyword only": (keyword, r"keyword\(.*one argument, the run"),
    "async def": (asynchronous, "job 'menu': asynchronous is an `async def`.*write an ordinary `def`"),
    "async generator": (asynchronous_items, "asynchronous_items is an `async def`"),
    "async def under a partial": (functools.partial(asynchronous), "is an `async def`"),
    "an object with an async call": (Asynchronous(), "is an `async def`"),
    "a generator": (items, r"items contains `yield`.*run\.each"),
    "a job": (decorate(print), "job 'menu': the function is job 'menu' already; a second schedule wants"),
    "no function": (5, "@job decorates a function that takes the run, not 5"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_run_cannot_call_is_refused_where_it_is_declared(what: str) -> None:
    function, words = REFUSED[what]
    with pytest.raises(DefinitionError, match=words):
        decorate(function)


def test_job_without_parentheses_says_what_it_takes() -> None:
    with pytest.raises(DefinitionError, match=r'two: write @job\("daily-menu", schedule=Cron\('):
        job(two)  # type: ignore[call-arg,arg-type]


class Callee:
    def __call__(self, run: object) -> None: ...

    def method(self, run: object) -> None: ...


TAKEN: list[Callable[..., object]] = [
    lambda run: None,
    lambda *runs, **more: None,
    lambda run, tries=3: None,
    functools.partial(two, other=1),
    Callee(),
    Callee().method,
    print,
    dict.fromkeys,
]


@pytest.mark.parametrize("function", TAKEN, ids=range(len(TAKEN)))
def test_whatever_can_be_called_with_a_run_is_taken(function: Callable[..., object]) -> None:
    assert decorate(function).function is function


def test_who_listens_hears_of_each_made_job_and_nobody_hears_of_the_others() -> None:
    decorate(print)
    with made_jobs() as made:
        first = decorate(print)
        with made_jobs() as inner:
            second = decorate(print)
        third = decorate(print)
    decorate(print)

    assert [id(each.job) for each in made] == [id(first), id(third)]
    assert [id(each.job) for each in inner] == [id(second)]
