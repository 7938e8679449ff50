"""`assert_resumable`: a job's worker is killed at every place, and what comes of it must be the same.

The run lives once undisturbed, and once for each place where its worker can die: behind every step and
before it is recorded, at items of an `each` (around its first checkpoints, in the middle, at the end), in a
sleep, and when everything is done but the end of the run is not recorded. After the last of these every step
is looked up, so whatever the job then does it does outside its steps.

Of each life it is asked:

* is a step or item that was recorded not done again?
* is one that was interrupted done again, under the same key and with the same arguments? And an at-most-once
  step not, so that a person is asked?
* does the resumed function ask for the same steps and items?
* does it end the same way, with the same values?
* does it do nothing outside its steps?

What a person would not call an effect is nobody's business: see `outside` for what is seen and what is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from cronce.core.job import Job
from cronce.core.run import RunStatus
from cronce.testing.job_run import RunResult, played
from cronce.testing.outside import Function, Outside, functions
from cronce.testing.resumed_life import Life, Problem, ending, error_of, problems_of
from cronce.testing.watch import Kind, Moment, Place, Watch

MOST_PLACES = 100
"""A job of very many steps is killed at so many places, evenly chosen: a test takes seconds, not minutes."""
AFTER_THE_STEPS = Place(Moment.RETURNED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumption:
    """What `assert_resumable` tried.

    Attributes:
        undisturbed: what came of the run when nobody died.
        places: where its worker died, as arguments of `run_job`.
    """

    undisturbed: RunResult
    places: tuple[str, ...]


def assert_resumable(  # noqa: PLR0913 - the author's API
    job: Job,
    /,
    *,
    at: datetime | None = None,
    input: object = None,  # noqa: A002 - as it is called in a run
    setup: Callable[[], object] = lambda: None,
    may_differ: Collection[str] = (),
    effects: Iterable[Function] = (),
    reads: Iterable[Function] = (),
) -> Resumption:
    """Kill a job's worker at every place, and assert that the run goes on as if nothing had happened.

    Args:
        job: what `@job` made.
        at: an occurrence of its schedule; the first one of 2026 by default. With an input, any instant.
        input: of a manual trigger, as JSON carries it; None: the run is a scheduled one.
        setup: called before each life: puts the job's surroundings (tables, doubles) back to their start.
        may_differ: steps whose value and arguments may rightly differ from life to life: a time, a receipt's
            number.
        effects: functions that must not be called outside a step.
        reads: functions that may be called outside a step, whatever they open or connect to.

    Returns:
        What was tried.

    Raises:
        AssertionError: the job is not resumable. The message says which step, where the worker died, and
            what to change.
        TypeError: an argument is not of its kind.
        ValueError: `at` is no occurrence, the input is not for a run, or `may_differ` names no step.

    Example:
        >>> from cronce import Cron, Run, job
        >>> @job("nightly", schedule=Cron("0 2 * * *"))
        ... def nightly(run: Run) -> None:
        ...     rows = run.step("read", list, "abc")
        ...     run.each("write", rows, str.upper, key=str)
        >>> len(assert_resumable(nightly).places)
        10
    """
    __tracebackhide__ = True  # pytest shows the author's line instead

    effects, reads = functions("effects", effects), functions("reads", reads)
    if not callable(setup):
        raise TypeError(f"job {job.name!r}: setup takes a function without arguments, not {setup!r}")

    def live(place: Place | None) -> Life:
        setup()
        watch = Watch(Outside(effects, reads), place, {})
        return Life(result=played(job, watch, at, input), watch=watch)

    undisturbed = live(None)
    _check_undisturbed(job, undisturbed.result)
    _check_names(job, may_differ, undisturbed)
    places = _chosen(list(_places(undisturbed)))
    problems: dict[str, list[tuple[Place, Problem]]] = defaultdict(list)
    for place in places:
        for problem in dict.fromkeys(problems_of(live(place), undisturbed, may_differ)):
            problems[problem.what].append((place, problem))
    if problems:
        raise AssertionError(_told(job, _causes(problems)))
    return Resumption(undisturbed=undisturbed.result, places=tuple(str(place) for place in places))


def _check_undisturbed(job: Job, result: RunResult) -> None:
    if result.status is not RunStatus.SUCCEEDED:
        raise AssertionError(
            f"job {job.name!r}: undisturbed, its run ends {ending(result)}: {error_of(result)}. Make it "
            "succeed first (run_job(...).raised has what it raised)"
        )
    if job.retry.attempts <= result.attempts:
        raise AssertionError(
            f"job {job.name!r}: its run takes {result.attempts} of {job.retry.attempts} attempts when nobody "
            "dies, so a worker that dies ends it as FAILED(lost). Give it more: retry=Retry(attempts=...)"
        )


def _check_names(job: Job, may_differ: object, undisturbed: Life) -> None:
    several = may_differ if isinstance(may_differ, Collection) and not isinstance(may_differ, str) else None
    if several is None or not set(undisturbed.asked.kinds).issuperset(several):
        known = list(undisturbed.asked.kinds)
        raise ValueError(
            f"job {job.name!r}: may_differ takes a list of names of its steps, which are {known}; "
            f"not {may_differ!r}"
        )


def _places(undisturbed: Life) -> Iterator[Place]:
    """All places of a run, in order."""
    for step, kind in undisturbed.asked.kinds.items():
        if kind is Kind.EACH:
            every = undisturbed.asked.every[step]
            for number in _items(len(undisturbed.result.calls.get(step, ())), every):
                yield Place(Moment.DONE, f"{step}:{number}")
                if number % every == 0:
                    yield Place(Moment.RECORDED, f"{step}:{number}")
        elif kind is not Kind.SLEEP:
            yield Place(Moment.DONE, step)
        yield Place(Moment.RECORDED, step)
    yield AFTER_THE_STEPS


def _items(number: int, every: int) -> list[int]:
    """The items to die at: around the first two checkpoints, in the middle, at the end."""
    looked_at = {1, every, every + 1, 2 * every, number // 2, number - 1, number}
    return sorted(item for item in looked_at if 1 <= item <= number)


def _chosen(places: list[Place]) -> list[Place]:
    """The places, or so many of them as are tried; the last one is always among them."""
    if len(places) <= MOST_PLACES:
        return places
    return [places[(number + 1) * len(places) // MOST_PLACES - 1] for number in range(MOST_PLACES)]


def _causes(problems: Mapping[str, list[tuple[Place, Problem]]]) -> Mapping[str, list[tuple[Place, Problem]]]:
    """The problems without those that follow from another one of the same step, which come last."""
    first = {what: cases for what, cases in problems.items() if not cases[0][1].follows}
    steps = {problem.step for cases in first.values() for _, problem in cases}
    rest = {what: cases for what, cases in problems.items() if what not in first}
    return first | {what: cases for what, cases in rest.items() if cases[0][1].step not in steps}


def _told(job: Job, problems: Mapping[str, list[tuple[Place, Problem]]]) -> str:
    """The message: each problem once, with the first place where it was seen."""
    lines = [f"job {job.name!r} is not resumable:"]
    for what, cases in problems.items():
        place, seen = cases[0][0], cases[0][1].seen
        others = len({case for case, _ in cases} - {place})
        more = f" (and at {others} more {'place' if others == 1 else 'places'})" if others else ""
        lines.append(f"- {what}\n  when its worker dies at {place}{more}" + (f": {seen}" if seen else ""))
    return "\n".join(lines)
