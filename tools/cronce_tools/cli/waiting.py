"""Waiting for a run, and showing how it goes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from cronce.core.errors import StoreError
from cronce.core.records import RunRecord
from cronce.core.run_story import StepStory
from cronce_tools.cli.exits import UsageError
from cronce_tools.cli.stacks import Reached

LOOK_EVERY = 2.0
"""Seconds between two looks at a run: two reads, a millionth of a dollar."""


PATIENCE = 30
"""Looks in a row that may fail: a minute and more. The run goes on meanwhile, whoever looks."""


class Show(Protocol):
    """Shows how something goes."""

    def __call__(self, text: str, /) -> None:
        """Now it is so."""
        ...


def wait_for_end(stack: Reached, run: RunRecord) -> RunRecord:
    """Look at a run until it has ended.

    Raises:
        UsageError: its record is gone.
        StoreError: the stack does not answer any more, though asked again and again. The message says that
            the run goes on.
    """
    failures = 0
    with progress() as show:
        while not run.status.is_final:
            try:
                show(_how_it_goes(stack, run))
                stack.operator.clock.pause(LOOK_EVERY)
                run = _looked_at(stack, run)
                failures = 0
            except StoreError as error:
                failures += 1
                if failures == PATIENCE:
                    raise StoreError(f"{error}. The run goes on: cronce show {run.ref.id}") from error
                show(f"the stack does not answer, the run goes on: {error}")
                stack.operator.clock.pause(LOOK_EVERY)
    return run


def _looked_at(stack: Reached, run: RunRecord) -> RunRecord:
    found = stack.operator.inquiry.runs.get(run.ref)
    if found is None:
        raise UsageError(f"the record of {run.ref.id} is gone")
    return found


def _how_it_goes(stack: Reached, run: RunRecord) -> str:
    reason = f"({run.reason.value})" if run.reason else ""
    text = f"{run.status.value}{reason}, attempt {run.attempt} of {run.max_attempts}"
    story = stack.operator.inquiry.story(run.ref) if run.attempt else None
    return f"{text}, {_step(story.steps[-1])}" if story and story.steps else text


def _step(step: StepStory) -> str:
    return f"step {step.name}" + (f": {step.items} items done" if step.items else "")


@contextmanager
def progress() -> Iterator[Show]:
    """On a terminal a line that changes; elsewhere a line for each change."""
    if sys.stderr.isatty():
        from rich.console import Console  # noqa: PLC0415 - only who has a terminal pays for it
        from rich.text import Text  # noqa: PLC0415

        with Console(stderr=True).status("") as status:
            yield lambda text: status.update(Text(text))  # as it is: no markup, no emoji
        return
    last = ""

    def show(text: str) -> None:
        nonlocal last
        if text != last:
            print(text, file=sys.stderr)
            last = text

    yield show
