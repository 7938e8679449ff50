"""Commands that change something: `trigger`, `pause`, `resume`, `retry`, `cancel`, `resolve`, `ack`.

* Each says what it did, where, and keeps who did it and why.
* What cannot be taken back is asked before; where nobody can be asked it is refused unless `--yes` agrees.
* A command that does not apply is refused in one line, with exit code 1; one that names nothing, with 2.
* `--wait` says how the run goes, and its exit code says how it ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from cronce.core.records import RunRef
from cronce.core.run import RunStatus
from cronce_tools.cli import asking
from cronce_tools.local.cloud import Call
from cronce_tools.local.console import output_to
from cronce_tools.local.stack import LocalStack
from tests.cli.conftest import START, stack_with
from tests.cli.terminal import cronce

SIX = "2026-10-30T10:00:00Z"
HERE = "cronce-local (us-east-1)"
MINUTE = timedelta(minutes=1)

FALLIBLE = """
from cronce import Cron, PermanentError, job
BROKEN = [True]

@job("menu", schedule=Cron("0 6 * * *", tz="America/New_York"))
def menu(run):
    run.step("build", int, 7)
    run.step("order", int, (run.input or {}).get("plates", 1))

@job("broken", schedule=Cron("0 * * * *"))
def broken(run):
    run.step("fine", int, 1)
    if BROKEN.pop() if BROKEN else False:
        raise PermanentError("no money left")
    run.step("repaired", int, 2)

@job("payout", schedule=Cron("0 * * * *"))
def payout(run):
    run.once("pay", int, "no number")
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[LocalStack]:
    """At ten past ten everything has been tried; `broken` failed, and nobody knows about `payout`."""
    with stack_with(tmp_path, FALLIBLE) as running:
        running.play(minutes=2)
        yield running


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits at the terminal."""
    monkeypatch.setattr(asking, "somebody_is_there", lambda: True)


def status(stack: LocalStack, run: str) -> RunStatus:
    found = stack.store.runs.get(RunRef.parse(run))
    assert found is not None
    return found.status


@pytest.fixture
def work(shop: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a command waits the functions do what there is to do."""
    pause = shop.clock.pause

    def let_them_work(seconds: float) -> None:
        with output_to(shop.console):
            shop.settle()
        pause(seconds)

    monkeypatch.setattr(shop.clock, "pause", let_them_work)


def unanswered(shop: LocalStack, monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """Once the command waits, no item can be read for so many looks; then the functions do what there is."""
    seen = iter(range(looks + 1))

    def fail(call: Call) -> None:
        if call.operation in {"GetItem", "Query"}:
            raise ClientError({"Error": {"Code": "InternalServerError", "Message": "no"}}, call.operation)

    def pause(seconds: float) -> None:
        shop.clock.advance(timedelta(seconds=seconds))
        if next(seen) < looks:
            shop.cloud.hooks[:] = [fail]
            return
        shop.cloud.hooks.clear()
        with output_to(shop.console):
            shop.settle()

    monkeypatch.setattr(shop.clock, "pause", pause)


# --- jobs -------------------------------------------------------------------------------------------------


def test_a_pause_says_what_it_does_and_who_did_it_and_why_is_kept(shop: LocalStack) -> None:
    said = cronce("pause", "menu", "--reason", "the kitchen burns", "--by", "ann")

    assert said.code == 0
    assert said.lines == [
        f"paused menu in {HERE}: nothing is planned until it is resumed; runs that exist go on"
    ]
    state = shop.store.jobs.get("menu")
    assert state is not None
    assert state.paused is not None
    assert (state.paused.by, state.paused.why) == ("ann", "the kitchen burns")


def test_what_is_so_already_is_no_error(shop: LocalStack) -> None:
    cronce("pause", "menu", "--by", "ann")
    said = cronce("pause", "menu", "--by", "bob")
    assert (said.code, said.lines) == (
        0,
        [f"menu in {HERE} was paused already by ann since Fri 2026-10-30 10:00:04 UTC"],
    )
    assert said.err == ""
    assert cronce("resume", "menu").lines == [
        f"resumed menu in {HERE}: the next tick judges what came due meanwhile"
    ]
    said = cronce("resume", "menu")
    assert (said.code, said.lines) == (0, [f"menu in {HERE} was not paused"])


def test_where_nothing_changes_it_is_said_that_the_reason_is_not_kept(shop: LocalStack) -> None:
    unkept = "nothing has changed, so the reason that was given is not kept\n"
    cronce("pause", "menu", "--by", "ann", "--reason", "the kitchen burns")
    said = cronce("pause", "menu", "--reason", "and floods")
    assert said.lines[0].endswith("by ann since Fri 2026-10-30 10:00:04 UTC: the kitchen burns")
    assert said.err == unkept
    assert cronce("resume", "menu", "--reason", "dry").err == ""
    assert cronce("resume", "menu", "--reason", "dry").err == unkept
    assert cronce("ack", "menu", "--reason", "known").err == unkept
    run = cronce("trigger", "menu", "--json").json["run"]
    assert cronce("cancel", run, "--yes", "--reason", "enough").err == ""
    assert cronce("cancel", run, "--yes", "--reason", "enough").err == unkept


def test_the_caller_of_aws_is_who_does_it_unless_another_is_named(shop: LocalStack) -> None:
    document = cronce("pause", "menu", "--json").json
    assert document["paused"]["by"] == "moto"
    assert (document["job"], document["changed"]) == ("menu", True)
    assert cronce("pause", "menu", "--json").json["changed"] is False


def test_an_alert_is_closed_once(shop: LocalStack) -> None:
    said = cronce("ack", "broken", "--reason", "known", "--by", "ann")
    assert (said.code, said.lines) == (
        0,
        [f"closed the alert of broken in {HERE}: what it lists is not told again"],
    )
    alert = shop.store.alerts.get("broken")
    assert alert is not None
    assert alert.act is not None
    assert (alert.is_open, alert.act.by, alert.act.why) == (False, "ann", "known")
    said = cronce("ack", "broken")
    assert (said.code, said.lines) == (0, [f"nothing is open about broken in {HERE}"])
    assert cronce("ack", "broken", "--json").json["changed"] is False


# --- runs -------------------------------------------------------------------------------------------------


def test_a_triggered_run_has_its_input_and_starts_in_a_moment(shop: LocalStack) -> None:
    said = cronce("trigger", "menu", "--input", '{"plates": 3}', "--reason", "guests")
    shop.settle()

    assert said.code == 0
    (run,) = [run for run in shop.runs("menu") if run.ref.suffix]
    assert said.lines[0].startswith(
        f"{run.ref.id} in {HERE} starts in a moment; `cronce show '{run.ref.id}'`"
    )
    assert run.status is RunStatus.SUCCEEDED
    assert {step.name: step.result for step in shop.store.steps.load(run.ref)}["order"] == "3"
    assert run.act is not None
    assert (run.act.by, run.act.why) == ("moto", "guests")


def test_an_input_may_lie_in_a_file(shop: LocalStack, tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text('{"plates": 4}')
    assert cronce("trigger", "menu", "--input", f"@{file}").code == 0
    shop.settle()
    (run,) = [run for run in shop.runs("menu") if run.ref.suffix]
    assert {step.name: step.result for step in shop.store.steps.load(run.ref)}["order"] == "4"


@pytest.mark.usefixtures("work")
def test_who_waits_is_told_how_it_ends(shop: LocalStack) -> None:
    said = cronce("trigger", "menu", "--wait", "--json")
    assert said.code == 0
    assert said.json["status"] == "SUCCEEDED"
    assert "PENDING, attempt 0 of 3" in said.err


@pytest.mark.usefixtures("work")
def test_who_waits_for_a_failure_gets_a_no_and_the_error(shop: LocalStack) -> None:
    sys.modules["jobs.shop"].BROKEN.append(True)
    said = cronce("trigger", "broken", "--wait")
    assert said.code == 1
    assert said.lines[-1].endswith("FAILED(error): PermanentError: no money left")


@pytest.mark.usefixtures("work")
def test_a_run_that_was_made_and_failed_was_made_all_the_same(shop: LocalStack) -> None:
    sys.modules["jobs.shop"].BROKEN.append(True)
    said = cronce("trigger", "broken", "--wait", "--json")
    assert (said.code, said.json["changed"], said.json["status"]) == (1, True, "FAILED")


def test_a_retried_run_goes_on_where_it_failed(shop: LocalStack) -> None:
    said = cronce("retry", f"broken@{SIX}", "--reason", "money is back")
    assert said.code == 0
    assert said.lines[0].startswith(f"broken@{SIX} in {HERE} starts in a moment")
    shop.settle()
    assert status(shop, f"broken@{SIX}") is RunStatus.SUCCEEDED
    document = cronce("show", f"broken@{SIX}", "--json").json
    assert [step["step"] for step in document["steps"]] == ["fine", "repaired"]
    assert [(act["what"], act["why"]) for act in document["acts"]] == [("retry", "money is back")]


def test_who_waits_goes_on_waiting_while_the_store_does_not_answer(
    shop: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    unanswered(shop, monkeypatch, looks=12)
    said = cronce("trigger", "menu", "--wait", "--json")
    assert (said.code, said.json["status"]) == (0, "SUCCEEDED")
    assert "the stack does not answer, the run goes on: " in said.err


def test_who_waits_in_vain_is_told_that_the_run_goes_on(
    shop: LocalStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    unanswered(shop, monkeypatch, looks=10_000)
    said = cronce("trigger", "menu", "--wait")
    assert said.code == 3
    assert "The run goes on: cronce show menu@" in said.err.splitlines()[-1]


def test_a_run_that_waits_is_cancelled_at_once(shop: LocalStack) -> None:
    shop.stream.enabled = False
    cronce("retry", f"broken@{SIX}")
    said = cronce("cancel", f"broken@{SIX}", "--yes", "--reason", "not today")
    assert (said.code, said.lines) == (0, [f"cancelled broken@{SIX}"])
    assert status(shop, f"broken@{SIX}") is RunStatus.CANCELLED
    said = cronce("cancel", f"broken@{SIX}", "--yes")
    assert (said.code, said.lines) == (0, [f"broken@{SIX} was cancelled already"])


def test_a_running_run_is_asked_to_stop(shop: LocalStack) -> None:
    """Its worker was killed a moment ago, which nobody knows yet."""

    def kill(call: Call) -> None:
        if (
            call.process == "executor"
            and call.operation == "TransactWriteItems"
            and "STEP#" in str(call.parameters)
        ):
            shop.cloud.hooks.remove(kill)
            shop.cloud.kill()

    shop.cloud.hooks.append(kill)
    cronce("retry", f"broken@{SIX}")
    shop.settle()

    said = cronce("cancel", f"broken@{SIX}", "--yes")

    assert said.code == 0
    assert said.lines == [
        f"asked the worker of broken@{SIX} to stop at its next step; `cronce show 'broken@{SIX}'` tells when"
    ]


def test_a_step_in_doubt_is_resolved_with_its_value(shop: LocalStack) -> None:
    said = cronce("resolve", f"payout@{SIX}", "pay", "--done", "17", "--reason", "the bank said so", "--yes")
    shop.settle()
    assert (said.code, said.lines) == (0, [f"step 'pay' is taken as done; payout@{SIX} is PENDING"])
    assert status(shop, f"payout@{SIX}") is RunStatus.SUCCEEDED


def test_a_step_that_may_still_be_under_way_is_not_done_again_yet(shop: LocalStack) -> None:
    early = cronce("resolve", f"payout@{SIX}", "pay", "--redo", "--yes")
    assert early.code == 1
    assert "may still be under way" in early.complaint

    shop.clock.set(START + 20 * MINUTE)
    said = cronce("resolve", f"payout@{SIX}", "pay", "--redo", "--yes")
    assert (said.code, said.lines) == (0, [f"step 'pay' is done again; payout@{SIX} is PENDING"])


# --- asking -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [("cancel", f"broken@{SIX}"), ("resolve", f"payout@{SIX}", "pay", "--done", "1")],
    ids=["cancel", "resolve"],
)
def test_where_nobody_can_be_asked_it_is_refused(shop: LocalStack, command: tuple[str, ...]) -> None:
    shop.stream.enabled = False
    cronce("retry", f"broken@{SIX}")
    before = [shop.runs("broken"), shop.runs("payout")]
    answer = cronce(*command)
    assert answer.code == 2
    assert answer.complaint.endswith("nobody is there to be asked; --yes agrees beforehand")
    assert [shop.runs("broken"), shop.runs("payout")] == before


@pytest.mark.usefixtures("person")
def test_a_person_is_asked_and_may_say_no(shop: LocalStack) -> None:
    shop.stream.enabled = False
    cronce("retry", f"broken@{SIX}")
    said = cronce("cancel", f"broken@{SIX}", typed="n\n")
    assert said.code == 1
    assert f"this ends broken@{SIX} in {HERE}, which is PENDING. Go on? [y/N]" in said.out + said.err
    assert said.err.endswith("nothing was done\n")
    assert status(shop, f"broken@{SIX}") is RunStatus.PENDING
    assert cronce("cancel", f"broken@{SIX}", typed="y\n").code == 0
    assert status(shop, f"broken@{SIX}") is RunStatus.CANCELLED
