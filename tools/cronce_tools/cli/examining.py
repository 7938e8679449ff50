"""`cronce doctor`: the deployed stack against what is expected of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cronce_tools.cli import json_form
from cronce_tools.cli.call import Call
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.output import BAD, GOOD, QUIET, WAITS, Json, Output, counted
from cronce_tools.doctor.examination import Report, examine, place_of
from cronce_tools.doctor.finding import Finding, Level

STYLES = {Level.WRONG: BAD, Level.NOT_LOOKED_AT: WAITS, Level.HINT: QUIET}
WORDS = {Level.WRONG: "wrong", Level.NOT_LOOKED_AT: "not looked at", Level.HINT: "hint"}


def examine_stack(call: Call) -> int:
    """Make all checks and tell what was found.

    Returns:
        The exit code: 1 if something is wrong or was not looked at.
    """
    stack = call.reach()
    with _progress() as progress:
        progress("its resources and its template")
        place = place_of(stack, call.project)
        report = examine(place, progress)
    if call.output.as_json:
        findings = [_json(each) for each in report.findings]
        document = {**json_form.head(stack, place.now), "checks": list(report.checks), "findings": findings}
        call.output.document(document)
    else:
        _show(call.output, report, stack.place)
    return Exit.YES if report.is_well else Exit.NO


def _show(output: Output, report: Report, place: str) -> None:
    for each in report.findings:
        output.line(f"{WORDS[each.level]}: {each.check}: {each.what}", STYLES[each.level])
        output.line(f"    why: {each.why}")
        output.line(f"    remedy: {each.remedy}")
    found = sum(each.level.counts for each in report.findings)
    hints = len(report.findings) - found
    said = counted(found, "finding") if found else "nothing is wrong"
    more = f", {counted(hints, 'hint')}" if hints else ""
    output.line(f"{place}: {len(report.checks)} checks, {said}{more}", BAD if found else GOOD)


def _json(finding: Finding) -> Json:
    return {
        "check": finding.check,
        "level": finding.level.value,
        "what": finding.what,
        "why": finding.why,
        "remedy": finding.remedy,
    }


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Says on a terminal what is looked at, and leaves nothing of it there."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - only who has a terminal pays for it

    with Console(stderr=True).status("looking ...") as status:
        yield lambda what: status.update(f"looking at {what} ...")
