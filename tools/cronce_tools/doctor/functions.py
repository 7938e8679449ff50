"""The functions: which version is called, on which runtime, and what becomes of asynchronous invocations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from cronce_tools.doctor.expected import Expected
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.place import Check, Place
from cronce_tools.doctor.settings import NONE, AsyncSettings, differences
from cronce_tools.doctor.values import Deployment, short
from cronce_tools.doctor.words import REMADE, difference

LIVE = "live"
UPDATE_ASYNC = "aws lambda update-function-event-invoke-config"
VERSION = "Version"
"""What SAM appends to a function's name, before a hash, for a version of it."""
DEPRECATED = {
    "python3.11": date(2027, 6, 30),
    "python3.12": date(2028, 10, 31),
    "python3.13": date(2029, 6, 30),
    "python3.14": date(2029, 6, 30),
}
"""From that day on AWS mends nothing any more in a runtime. (Lambda developer guide, "Lambda runtimes".)"""
SOON = timedelta(days=180)
"""Half a year: time enough to deploy on another runtime without haste."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionFacts:
    """A function as it is.

    Attributes:
        name: of the function.
        live: the version that the alias names; None: there is no alias.
        newest: the version that the last deployment published; None: not known.
        split: the alias sends a part of the calls to another version.
        runtime: of the version that is called.
        state: of that version, as Lambda says.
        today: the day of looking.
    """

    name: str
    live: str | None
    newest: str | None = None
    split: bool = False
    runtime: str = ""
    state: str = "Active"
    today: date


def look_at_functions(place: Place) -> dict[str, FunctionFacts]:
    """Ask Lambda for each function's alias, and for the settings of the version behind it."""
    return {function: _function(place, function) for function in place.expected.functions}


def _function(place: Place, function: str) -> FunctionFacts:
    name, today = place.deployment.name(function), place.now.date()
    alias = place.aws.find("lambda", "get_alias", FunctionName=name, Name=LIVE)
    if alias is None:
        return FunctionFacts(name=name, live=None, today=today)
    settings = place.aws.ask("lambda", "get_function_configuration", FunctionName=name, Qualifier=LIVE)
    return FunctionFacts(
        name=name,
        live=alias["FunctionVersion"],
        newest=newest(place.deployment, function),
        split=bool(alias.get("RoutingConfig", {}).get("AdditionalVersionWeights")),
        runtime=settings["Runtime"],
        state=settings.get("State", "Active"),
        today=today,
    )


def newest(deployment: Deployment, function: str) -> str | None:
    """The newest version of a function that the stack published."""
    found = [
        int(short(identity))
        for name, identity in deployment.names.items()
        if name.startswith(f"{function}{VERSION}") and short(identity).isdigit()
    ]
    return str(max(found)) if found else None


def judge_functions(_: Expected, facts: Mapping[str, FunctionFacts]) -> Iterator[Finding]:
    """The newest version is called, and nothing else, on a runtime that is looked after."""
    for logical_id, function in facts.items():
        if function.live is None:
            yield Finding(
                what=f"the function {function.name} or its alias `{LIVE}` is gone",
                why="rules, mapping and invocations name the alias",
                remedy=REMADE.format(logical_id),
            )
            continue
        yield from _of_alias(function, function.live)
        if function.state == "Failed":
            yield Finding(
                what=f"the function {function.name} cannot be invoked (state {function.state})",
                why="Lambda refuses every call of it",
                remedy=f"`aws lambda get-function-configuration --function-name {function.name} "
                f"--qualifier {LIVE}` says why",
            )
        yield from _of_runtime(function)


def _of_alias(function: FunctionFacts, live: str) -> Iterator[Finding]:
    update = f"aws lambda update-alias --function-name {function.name} --name {LIVE}"
    if function.newest is not None and live != function.newest:
        yield Finding(
            what=f"the alias `{LIVE}` of {function.name} names version {live}, "
            f"the last deployment published {function.newest}",
            why="other code runs than what was deployed",
            remedy=f"{update} --function-version {function.newest}",
        )
    if function.split:
        yield Finding(
            what=f"the alias `{LIVE}` of {function.name} sends a part of the calls to another version",
            why="two releases work on the same records by turns",
            remedy=f"{update} --routing-config AdditionalVersionWeights={{}}",
        )


def _of_runtime(function: FunctionFacts) -> Iterator[Finding]:
    end = DEPRECATED.get(function.runtime)
    if end is None or end > function.today + SOON:
        return
    over = end <= function.today
    yield Finding(
        what=f"the runtime {function.runtime} of {function.name} "
        f"{'is deprecated since' if over else 'will be deprecated on'} {end}",
        why="AWS mends nothing in it any more" if over else "from then on AWS mends nothing in it",
        remedy="deploy with a newer PythonRuntime: `make deploy` takes the newest Python that it finds",
        level=Level.WRONG if over else Level.HINT,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class AsyncFacts:
    """What Lambda does with asynchronous invocations of a function.

    Attributes:
        name: of the function.
        settings: as they are; None: there are none, so that Lambda's own apply.
    """

    name: str
    settings: AsyncSettings | None


def look_at_asyncs(place: Place) -> dict[str, AsyncFacts]:
    """Ask Lambda what it does with asynchronous invocations of the aliases."""
    return {function: _async(place, function) for function in place.expected.asyncs}


def _async(place: Place, function: str) -> AsyncFacts:
    name = place.deployment.name(function)
    found = place.aws.find("lambda", "get_function_event_invoke_config", FunctionName=name, Qualifier=LIVE)
    if found is None:
        return AsyncFacts(name=name, settings=None)
    destination = found.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
    return AsyncFacts(
        name=name,
        settings=AsyncSettings(
            retries=found.get("MaximumRetryAttempts", 2),
            event_age=found.get("MaximumEventAgeInSeconds", 21_600),
            failures_to=short(destination) or NONE,
        ),
    )


def judge_asyncs(expected: Expected, facts: Mapping[str, AsyncFacts]) -> Iterator[Finding]:
    """Compare them with the template."""
    for logical_id, function in facts.items():
        if function.settings is None:
            yield Finding(
                what=f"Lambda's own settings apply to asynchronous invocations of {function.name}",
                why="it would try each of them twice more, for up to six hours",
                remedy=REMADE.format(logical_id),
            )
            continue
        command = f"{UPDATE_ASYNC} --function-name {function.name} --qualifier {LIVE}"
        for each in differences(expected.asyncs[logical_id], function.settings):
            yield difference(f"asynchronous invocations of {function.name}", each, command, logical_id)


FUNCTIONS = Check(name="functions", look=look_at_functions, judge=judge_functions, why="they are what runs")
ASYNCS = Check(
    name="asynchronous calls",
    look=look_at_asyncs,
    judge=judge_asyncs,
    why="Lambda's retries come beside ours",
)
