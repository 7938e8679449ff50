"""A deployed stack does what is promised, with real processes, roles that are enforced, and real time.

* The rule ticks, the scheduler plans, the stream starts, the executor runs: with the roles of the template.
* A worker that is killed is replaced: finished steps are not repeated, the interrupted one keeps its key.
* A run that never comes back ends at its timeout; one longer than an invocation goes on in the next.
* Duplicates (ticks, executor events) run nothing twice. Poison goes to its queue and blocks nothing.
* A missed run is told by its job's name and its time, a failed one with its error; both raise their alarm.
"""

from __future__ import annotations

from collections import Counter

from tests.e2e.driver import SWEEP, Driver, Item, delay, run_id, seconds, wait_for
from tests.e2e.stage import POISON, POISON_BEFORE_RUNS, Stage, WallTimes

FIRST_RUN = 90.0
"""Seconds: the next minute, and cold starts on a slow machine."""


def done(driver: Driver, run: Item) -> Counter[str]:
    """What a run did, and how often."""
    return Counter(effect["what"] for effect in driver.effects(run["pk"].removeprefix("JOB#"), run_id(run)))


def poisoned(driver: Driver, sort_key: str) -> tuple[str, int]:
    """The sequence number of a poison record, and how often the dispatcher was given it."""
    told = driver.lines("DispatcherLogGroupName", "record.malformed")
    numbers = [line["record"] for line in told if sort_key.removeprefix("RUN#") in line["problem"]]
    assert len(set(numbers)) == 1, told
    return numbers[0], len(numbers)


def given_up(driver: Driver, stage: Stage) -> dict[str, Item]:
    """The messages of the dispatcher's queue, by sequence number, once both poison records are there."""
    stage.redelivered.result(timeout=180)

    def look() -> dict[str, Item] | None:
        driver.given_up += driver.taken("DispatchFailureQueueUrl")
        found = {each["DDBStreamBatchInfo"]["startSequenceNumber"]: each for each in driver.given_up}
        return found if len(found) > 1 else None

    return wait_for("two messages", look, 60)


def test_nothing_is_left_out_of_the_template_that_is_deployed(main: Driver) -> None:
    assert main.stack.left_out == ()


def test_the_rule_fires_and_a_run_executes_in_a_real_process(
    stage: Stage, main: Driver, times: WallTimes
) -> None:
    run = main.first_run("minutely", status="SUCCEEDED", seconds=FIRST_RUN)
    times.seconds["deployed -> first run has succeeded"] = seconds(run["ended_at"]) - stage.deployed_at
    assert done(main, run) == {"first": 1, "second": 1, "third": 1}
    assert len({effect["process"] for effect in main.effects("minutely", run_id(run))}) == 1
    assert run["attempt"] == 1
    assert delay(run) < SWEEP  # the stream started it


def test_a_job_may_not_do_what_its_policy_does_not_allow(main: Driver) -> None:
    run = main.first_run("forbidden", status="FAILED", seconds=FIRST_RUN)
    assert "(AccessDeniedException) when calling the DeleteItem operation" in run["error"]


def test_a_run_that_never_comes_back_ends_at_its_timeout(main: Driver) -> None:
    run = main.first_run("hanging", status="FAILED", seconds=FIRST_RUN)
    assert run["reason"] == "timeout"
    assert 5000 <= run["executed"] < 15000
    other = main.first_run("minutely", status="SUCCEEDED", seconds=FIRST_RUN)
    assert other["sk"] == run["sk"]  # it was due at the same time and did not wait


def test_a_poison_record_goes_to_its_queue_and_does_not_block(stage: Stage, main: Driver) -> None:
    messages = given_up(main, stage)
    number, told = poisoned(main, POISON)
    assert told == 5  # once, and four retries
    message = messages[number]
    assert message["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert message["DDBStreamBatchInfo"]["batchSize"] == 1
    assert delay(main.runs("minutely")[0]) < SWEEP  # what came behind it was started from the stream


def test_what_lies_behind_a_poison_record_is_delivered_again_and_runs_once(
    stage: Stage, main: Driver
) -> None:
    run = main.ended(stage.redelivered.result(timeout=180).behind, 60)
    number, told = poisoned(main, POISON_BEFORE_RUNS)
    assert given_up(main, stage)[number]["DDBStreamBatchInfo"]["batchSize"] == 1
    assert told > 5  # first together with the runs behind it, then in halves of that batch, then alone
    assert run["status"] == "SUCCEEDED"

    def repeated() -> list[Item]:
        refused = main.lines("ExecutorLogGroupName", "run.not_pending")
        return [line for line in refused if line["run"] == run_id(run)]

    wait_for("a second delivery of the run", repeated, 60)
    assert done(main, run) == {"first": 1, "second": 1, "third": 1}


def held_it(completed: Item, refused: Item) -> bool:
    """Whether a tick can be the one because of which another one was refused the lease.

    It is of the same minute and another invocation, and was not over yet.
    """
    others = completed["function_request_id"] != refused["function_request_id"]
    begun = seconds(completed["now"]) // 60 == seconds(refused["timestamp"]) // 60
    return others and begun and seconds(refused["timestamp"]) <= seconds(completed["timestamp"])


def test_ticks_at_the_same_moment_run_nothing_twice(stage: Stage, main: Driver) -> None:
    ends = [answer["tick"] for answer in stage.ticks.result(timeout=240)]
    assert set(ends) <= {"completed", "busy"}
    refused = main.lines("SchedulerLogGroupName", "tick.busy")
    completed = main.lines("SchedulerLogGroupName", "tick.completed")
    assert refused, completed
    overlapped = [each for each in refused if any(held_it(tick, each) for tick in completed)]
    assert overlapped, (refused, completed)  # of others the holder's tick may not have completed
    assert len({tick["fencing_token"] for tick in completed}) == len(completed)
    run = main.ended(main.first_run("minutely", status="SUCCEEDED", seconds=FIRST_RUN), FIRST_RUN)
    assert run["attempt"] == 1
    per_run = Counter((effect["run"], effect["what"]) for effect in main.effects("minutely"))
    assert set(per_run.values()) == {1}


def test_a_repeated_event_runs_nothing_twice(main: Driver) -> None:
    run = main.first_run("minutely", status="SUCCEEDED", seconds=FIRST_RUN)
    answer = main.invoke("ExecutorAlias", {"run": run_id(run)})
    assert answer["run"] == run_id(run)
    assert answer["outcome"] != "succeeded"
    assert done(main, run) == {"first": 1, "second": 1, "third": 1}


def test_a_failed_run_is_told_with_its_error_and_raises_the_alarm(main: Driver) -> None:
    run = main.first_run("forbidden", status="FAILED", seconds=FIRST_RUN)
    notice = main.message(
        "the notice", lambda message: "Failed: forbidden" in message.get("Subject", ""), 150
    )
    assert run["sk"].removeprefix("RUN#") in notice["Message"]
    assert "(AccessDeniedException) when calling the DeleteItem operation" in notice["Message"]
    commands = [line for line in notice["Message"].splitlines() if "cronce retry" in line]
    assert all(main.stack.name in line for line in commands)
    assert commands
    main.alarm("JobsFailedAlarm", 120)


def test_a_missed_run_is_told_by_name_and_time(main: Driver) -> None:
    run = wait_for("the first run of slow", lambda: main.runs("slow"), FIRST_RUN)[0]
    notice = main.message("the notice", lambda message: "slow" in message.get("Subject", ""), 150)
    assert notice["MessageAttributes"]["scope"]["Value"] == "slow"
    assert run["sk"].removeprefix("RUN#") in notice["Message"]
    assert "Setting broken: grace 1m" in notice["Message"]
    main.alarm("JobsMissedAlarm", 120)


def test_a_killed_worker_is_replaced_and_its_run_goes_on_where_it_stopped(
    stage: Stage, main: Driver, times: WallTimes
) -> None:
    kill = stage.killed.result(timeout=150)
    job, _, at = kill.effect["run"].partition("@")
    run = main.ended(main.run(job, f"RUN#{at}"), 240)
    resumed = seconds(run["attempt_started_at"])
    times.seconds["worker killed -> its run goes on"] = resumed - kill.at
    effects = main.effects("killed", kill.effect["run"])
    assert (run["status"], run["attempt"]) == ("SUCCEEDED", 2)
    assert Counter((effect["what"], effect["attempt"]) for effect in effects) == {
        ("before", 1): 1,
        ("during", 1): 1,
        ("during", 2): 1,
        ("after", 2): 1,
    }
    assert len({effect["process"] for effect in effects}) == 2
    assert len({effect["key"] for effect in effects if effect["what"] == "during"}) == 1
    first, second = sorted({effect["fencing_token"] for effect in effects})
    assert first < second


def test_an_invocation_that_died_is_in_the_executors_queue(stage: Stage, main: Driver) -> None:
    kill = stage.killed.result(timeout=150)
    messages = wait_for("the message", lambda: main.taken("ExecutorFailureQueueUrl"), 60)
    assert [message["requestPayload"] for message in messages] == [{"run": kill.effect["run"]}]


def test_a_run_longer_than_an_invocation_goes_on_in_the_next_one(main: Driver) -> None:
    run = main.ended(main.runs("slow")[0], 240)
    assert (run["status"], run["attempt"]) == ("SUCCEEDED", 1)
    assert run["slice"] > 1
    assert run["executed"] > 60_000  # milliseconds; PARAMETERS gives an invocation 60 s
    assert done(main, run) == {f"nap {number}": 1 for number in range(9)}
