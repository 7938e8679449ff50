"""`assert_resumable`: a worker dies at every place, and a job that does not bear it is told what to change.

Invariants:
- a job of every kind of step passes, and its worker died at every boundary;
- P105: what a job does outside its steps is found when it is called anew with all steps cached;
- each thing that makes a job not resumable is found, with the step, the place and the remedy.
"""

from __future__ import annotations

import doctest
import itertools
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cronce import Cron, Job, Retry, Run, job, lease
from cronce.engine.step_log import StepLog
from cronce.testing import assert_resumable

SIX = datetime(2026, 10, 30, 6, tzinfo=UTC)


def declare(function: Callable[[Run], object], **options: Any) -> Job:
    return job("menu", **{"schedule": Cron("0 6 * * *"), **options})(function)


def problem(function: Callable[[Run], object], **options: Any) -> str:
    """What is said of a job that is not resumable."""
    with pytest.raises(AssertionError) as raised:
        assert_resumable(declare(function), **options)
    return str(raised.value)


def nothing(*_: object) -> None:
    """A step without an effect."""


class World:
    """What a bad job takes its answers from: something else each time."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.sent: list[str] = []

    def now(self) -> int:
        return next(self.numbers)


@pytest.fixture
def world() -> World:
    return World()


# --- good jobs --------------------------------------------------------------------------------------------


def all_kinds(run: Run) -> None:
    rows: list[str] = run.step("read", list, "abcdefg")
    run.each("write", rows, str.upper, key=str, checkpoint_every=3)
    run.sleep("a while", "2h")
    run.once("pay", nothing, run.local_date)
    run.step("mark", nothing, run.fencing_token)


def test_a_job_of_every_kind_of_step_is_resumable_and_died_at_every_boundary() -> None:
    tried = assert_resumable(declare(all_kinds), at=SIX)

    items = ["1", "3", "4", "6", "7"]
    assert [place for place in tried.places if "write:" in place] == [
        *('crash_before_recording="write:1"',),
        *('crash_before_recording="write:3"', 'crash_after="write:3"'),
        *('crash_before_recording="write:4"',),
        *('crash_before_recording="write:6"', 'crash_after="write:6"'),
        *('crash_before_recording="write:7"',),
    ]
    assert len(items) == 5
    assert [place for place in tried.places if "write:" not in place] == [
        'crash_before_recording="read"',
        'crash_after="read"',
        'crash_after="write"',
        'crash_after="a while"',
        'crash_before_recording="pay"',
        'crash_after="pay"',
        'crash_before_recording="mark"',
        'crash_after="mark"',
        "its end, everything being done",
    ]
    assert tried.undisturbed.steps["write"]["a"] == "A"


def test_a_job_with_items_at_once_and_without_values_is_resumable() -> None:
    def many(run: Run) -> None:
        run.each("send", range(40), str, key=str, checkpoint_every=10, concurrency=4, results=False)

    assert_resumable(declare(many))


def test_a_job_that_retries_by_itself_is_resumable_with_an_attempt_to_spare() -> None:
    refusals: list[bool] = []

    def call() -> str:
        if refusals:
            refusals.pop()
            raise ConnectionError("not now")
        return "done"

    def patient(run: Run) -> None:
        run.step("call", call)

    assert_resumable(declare(patient, retry=Retry(attempts=3)), setup=lambda: refusals.append(True))


def test_tokens_of_the_run_and_of_its_leases_may_differ_from_attempt_to_attempt() -> None:
    def exports(run: Run) -> None:
        with lease("warehouse", "10m") as held:
            run.step("read", nothing, {"token": run.fencing_token})
            run.each("write", ["a", "b"], nothing, [held.fencing_token, "row"], key=str)

    assert_resumable(declare(exports))
    assert "other arguments" in problem(lambda run: run.step("read", nothing, run.fencing_token + 100))


def test_a_manual_run_with_an_input_is_resumable() -> None:
    def asked(run: Run) -> None:
        run.step("note", str, run.input["day"])

    tried = assert_resumable(declare(asked), at=SIX, input={"day": "friday"})
    assert tried.undisturbed.run.trigger == "manual"


def test_a_job_of_very_many_steps_is_killed_at_so_many_places(monkeypatch: pytest.MonkeyPatch) -> None:
    def long(run: Run) -> None:
        for number in range(12):
            run.step(f"step {number}", nothing)

    assert len(assert_resumable(declare(long)).places) == 25
    monkeypatch.setattr("cronce.testing.resumable.MOST_PLACES", 10)
    tried = assert_resumable(declare(long))
    assert len(set(tried.places)) == 10
    assert tried.places[-1] == "its end, everything being done"


def test_each_life_begins_with_the_setup(world: World) -> None:
    def writes(run: Run) -> None:
        run.step("write", world.sent.append, run.id)
        run.step("count", lambda: len(set(world.sent)))

    tried = assert_resumable(declare(writes), setup=world.sent.clear)
    assert len(tried.places) == 5
    assert len(world.sent) == 1


# --- P105: effects outside steps --------------------------------------------------------------------------


def told(function: Callable[[Run], object], **options: Any) -> str:
    """What is said of a job with an effect outside its steps: the line that says so."""
    line = problem(function, **options).splitlines()[1]
    assert line.startswith("- tests/testing/test_assert_resumable.py:")
    assert "outside a step: every attempt and every invocation does it again. Do it in a step" in line
    return line.split(", in ")[1].split(" outside a step")[0]


def test_p105_an_effect_of_a_double_outside_a_step_is_found(world: World) -> None:
    def send(person: str) -> None:
        world.sent.append(person)

    def notifies(run: Run) -> None:
        run.step("build", nothing)
        send("ann")

    assert told(notifies, effects=[send]).endswith(".send")
    assert told(notifies, effects=[world.sent.append]) == "notifies calls list.append"
    assert_resumable(declare(notifies))  # nobody can know that filling this list is an effect


def test_p105_an_effect_in_the_items_or_keys_of_an_each_is_outside_a_step(world: World) -> None:
    def send(person: str) -> str:
        world.sent.append(person)
        return person

    def people() -> Iterator[str]:
        yield send("ann")

    assert "calls" in told(lambda run: run.each("send", people(), nothing, key=str), effects=[send])
    assert "calls" in told(lambda run: run.each("send", ["ann"], nothing, key=send), effects=[send])
    assert_resumable(declare(lambda run: run.each("send", ["ann"], send, key=str)), effects=[send])


def test_p105_methods_partials_and_objects_that_are_called_may_be_effects() -> None:
    class Mailer:
        def send(self) -> None:
            """It sends."""

        def __call__(self) -> None:
            """It sends."""

    mailer = Mailer()
    assert "Mailer.send" in told(lambda run: mailer.send(), effects=[mailer.send])
    assert "Mailer.send" in told(lambda run: mailer.send(), effects=[partial(mailer.send)])
    assert "Mailer object" in told(lambda run: mailer(), effects=[mailer])
    with pytest.raises(TypeError, match="effects and reads take functions, not 'mailer'"):
        assert_resumable(declare(nothing), effects=["mailer"])  # type: ignore[list-item]


def test_p105_connections_files_processes_and_databases_are_found_without_being_named(tmp_path: Path) -> None:
    file, table = tmp_path / "menu.txt", tmp_path / "menu.db"

    def connects(run: Run) -> None:
        with socket.socket(socket.AF_UNIX) as nobody, pytest.raises(OSError, match="No such file"):
            nobody.connect(str(tmp_path / "nobody"))

    def writes(run: Run) -> None:
        file.write_text("soup")

    def removes(run: Run) -> None:
        file.touch()
        file.unlink()

    assert "connects to" in told(connects)
    assert f"writes the file {str(file)!r}" in told(writes)
    assert "starts" in told(lambda run: subprocess.run(["true"], check=True))
    assert "opens the database" in told(lambda run: sqlite3.connect(table).close())
    assert "removes" in told(removes, reads=[Path.touch])


def test_p105_what_a_function_does_that_only_reads_is_no_effect(tmp_path: Path) -> None:
    file = tmp_path / "cache.txt"

    def people() -> list[str]:
        file.write_text("read today")
        return ["ann"]

    def reads(run: Run) -> None:
        run.each("send", people(), nothing, key=str)
        file.read_text()

    assert "writes the file" in told(reads)
    assert_resumable(declare(reads), reads=[people])


def test_p105_a_call_of_aws_that_only_reads_may_connect(tmp_path: Path) -> None:
    def _make_api_call(operation_name: str) -> None:  # what boto3 passes every call through
        with socket.socket(socket.AF_UNIX) as nobody, suppress(OSError):
            nobody.connect(str(tmp_path / operation_name))

    assert_resumable(declare(lambda run: _make_api_call("GetItem")))
    assert told(lambda run: _make_api_call("PutItem")) == "<lambda> calls AWS: PutItem"


def test_p105_within_a_step_everything_is_allowed(tmp_path: Path) -> None:
    def writes(run: Run) -> None:
        run.step("write", (tmp_path / "menu.txt").write_text, "soup")
        run.each("all", ["a", "b"], (tmp_path / "menu.txt").write_text, key=str, concurrency=2)

    assert_resumable(declare(writes))


def test_p105_only_the_job_is_watched_and_only_while_it_runs(tmp_path: Path) -> None:
    before = sys.getprofile()
    assert_resumable(declare(nothing), setup=(tmp_path / "reset.txt").touch)
    assert sys.getprofile() is before


# --- bad jobs ---------------------------------------------------------------------------------------------


def test_a_value_that_depends_on_the_time_is_found_and_may_be_allowed(world: World) -> None:
    def stamps(run: Run) -> None:
        run.step("stamp", world.now)

    said = problem(stamps)
    assert "step 'stamp': its value is not that of an undisturbed run. Compute it from the run" in said
    assert (
        'when its worker dies at crash_before_recording="stamp" (and at 2 more places): 3 instead of 1'
        in said
    )
    assert_resumable(declare(stamps), may_differ=["stamp"])


def test_a_value_that_tells_a_repeated_call_is_found(world: World) -> None:
    """The service knows the key already: what the step returns must not depend on that."""

    def charge(*, idempotency_key: str) -> bool:
        first = idempotency_key not in world.sent
        world.sent.append(idempotency_key)
        return first

    said = problem(lambda run: run.step("charge", charge), setup=world.sent.clear)
    assert "step 'charge': its value is not that of an undisturbed run" in said
    assert "let it not tell whether the call was a repeated one" in said
    assert said.endswith('dies at crash_before_recording="charge": False instead of True')


def test_a_name_that_changes_between_attempts_is_found() -> None:
    def renames(run: Run) -> None:
        run.step(f"send-{run.attempt}", nothing)

    said = problem(renames)
    assert "a step was recorded, and the resumed function does not ask for it" in said
    assert "A step must have the same name in every attempt" in said
    assert (
        "when its worker dies at crash_after=\"send-1\" (and at 1 more place): 'send-1' was recorded, "
        "asked for are ['send-2']" in said
    )
    assert "asks for other steps" in said


def test_an_argument_that_changes_between_attempts_is_found(world: World) -> None:
    def pays(run: Run) -> None:
        run.step("pay", nothing, {"id": str(uuid4()), "amount": 7})

    said = problem(pays)
    assert "step 'pay': its function is called with other arguments than in an undisturbed run" in said
    assert "may_differ=['pay']" in said
    assert_resumable(declare(pays), may_differ=["pay"])


def test_items_by_position_in_another_order_are_found(world: World) -> None:
    def shuffles(run: Run) -> None:
        people = ["ann", "bob", "cy"]
        run.each("send", people if world.now() % 2 else people[::-1], nothing)

    assert "step 'send': its function is called with other arguments" in problem(shuffles)


def test_keys_of_items_that_change_between_attempts_are_found() -> None:
    def sends(run: Run) -> None:
        run.each("send", ["ann", "bob"], nothing, key=lambda _: uuid4().hex)

    _, cause, _ = problem(sends).splitlines()  # what follows from it is not told beside it
    assert "step 'send': items that were recorded are not among those of the resumed function" in cause
    assert "Let `key` give an item the same key in every attempt" in cause


def test_a_name_that_is_drawn_anew_is_told_once_however_often_it_was_drawn() -> None:
    def sends(run: Run) -> None:
        run.step("first", nothing)
        run.step(f"send-{uuid4().hex}", nothing)

    said = problem(sends)
    assert said.count("A step must have the same name in every attempt") == 1


@pytest.mark.parametrize("kind", ["steps", "an each", "a sleep", "another error"])
def test_a_job_that_swallows_what_ends_its_worker_is_found(kind: str) -> None:
    def swallows(run: Run) -> None:
        try:
            if kind == "an each":
                run.each("send", ["ann", "bob"], nothing, key=str)
            elif kind == "a sleep":
                run.sleep("wait", "1h")
            else:
                run.step("first", nothing)
                run.step("second", nothing)
        except BaseException as error:
            if kind == "another error":
                raise RuntimeError("something went wrong") from error

    _, cause, _ = problem(swallows).splitlines()
    assert cause.startswith("- the job's function goes on when its worker is to stop: it swallows")
    assert "catch Exception instead" in cause


def test_a_job_that_cleans_up_and_lets_it_pass_is_resumable() -> None:
    def tidies(run: Run) -> None:
        try:
            run.step("first", nothing)
        except Exception:  # noqa: BLE001 - this is what a job may do
            run.log.info("it failed")
        finally:
            nothing()

    assert_resumable(declare(tidies))


def test_a_key_of_the_authors_own_that_changes_between_attempts_is_found() -> None:
    def pay(*, idempotency_key: str) -> None:
        """It pays."""

    def pays(run: Run) -> None:
        run.step("pay", pay, idempotency_key=uuid4().hex)

    assert "step 'pay' was interrupted and done again under another idempotency key" in problem(pays)


def test_a_step_that_does_not_bear_to_be_repeated_is_found(world: World) -> None:
    def insert(row: str) -> None:
        if row in world.sent:
            raise ValueError("duplicate row")
        world.sent.append(row)

    said = problem(lambda run: run.step("insert", insert, "menu"), setup=world.sent.clear)
    assert "the run ends FAILED(error) instead of SUCCEEDED" in said
    assert said.endswith('dies at crash_before_recording="insert": ValueError: duplicate row')


def test_steps_that_depend_on_the_attempt_are_found() -> None:
    def differs(run: Run) -> None:
        run.step("first", nothing)
        if run.attempt == 1:
            run.step("second", nothing)

    assert "does not ask for it" in problem(differs)


def test_a_job_that_does_not_come_to_the_same_place_twice_is_found(world: World) -> None:
    def wanders(run: Run) -> None:
        run.step("first" if world.now() == 1 else "other", nothing)

    assert "no worker came there" in problem(wanders)


def test_a_job_that_does_not_succeed_undisturbed_is_found() -> None:
    def fails(run: Run) -> None:
        raise RuntimeError("no soup")

    assert "undisturbed, its run ends FAILED(error): RuntimeError: no soup" in problem(fails)
    said = problem(lambda run: run.step("set", set, "ab"))
    assert "JSON cannot hold it (Object of type set is not JSON serializable). Make it succeed first" in said


def test_a_job_with_one_attempt_is_not_resumable() -> None:
    with pytest.raises(AssertionError, match=r"takes 1 of 1 attempts when nobody dies.*retry=Retry"):
        assert_resumable(declare(nothing, retry=Retry(attempts=1)))


@pytest.mark.parametrize(
    "options, said",
    [
        ({"at": "2026"}, "`at` takes a datetime, such as datetime(..., tzinfo=UTC), not '2026'"),
        ({"setup": 3}, "setup takes a function without arguments, not 3"),
        ({"effects": print}, "effects takes a list of functions, such as effects=[send], not <built-in"),
        ({"reads": "send"}, "reads takes a list of functions, such as reads=[send], not 'send'"),
    ],
    ids=["at", "setup", "effects", "reads"],
)
def test_an_argument_of_another_kind_is_refused_in_words(options: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as refused:
        assert_resumable(declare(nothing), **options)
    assert said in str(refused.value)


def test_names_of_steps_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match=r"its steps, which are \['a'\]; not \['b'\]"):
        assert_resumable(declare(lambda run: run.step("a", nothing)), may_differ=["b"])
    with pytest.raises(ValueError, match="takes a list of names"):
        assert_resumable(declare(lambda run: run.step("a", nothing)), may_differ="a")
    with pytest.raises(ValueError, match="takes a list of names"):
        assert_resumable(declare(lambda run: run.step("a", nothing)), may_differ=3)  # type: ignore[arg-type]


# --- a damaged engine -------------------------------------------------------------------------------------


def test_an_engine_that_repeats_what_is_recorded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepLog, "finished", lambda *_: None)
    said = problem(lambda run: run.step("build", nothing))
    assert "step 'build' was recorded, and its function was called again" in said
    assert "it is a defect of cronce" in said


def test_an_engine_that_repeats_an_at_most_once_step_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepLog, "start", lambda *_: None)
    said = problem(lambda run: run.once("pay", nothing))
    assert "an at-most-once step was interrupted, and no person was asked" in said
    assert said.endswith('dies at crash_before_recording="pay": it ended SUCCEEDED after 1 more calls')


def test_the_example_runs() -> None:
    assert doctest.testmod(sys.modules["cronce.testing.resumable"]) == doctest.TestResults(
        failed=0, attempted=3
    )
