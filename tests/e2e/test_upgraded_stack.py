"""The previous release is deployed, this one over it, and then all of it is deleted.

* Runs that were under way go on, from where they were, in the code of the new release.
* No minute is lost or doubled. Tables stay the same ones.
* A delete keeps the tables, as the template says, and nothing else.
"""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

from cronce_tools.emulator.deployment import delete
from tests.e2e.driver import run_id, wait_for
from tests.e2e.stage import Stage, WallTimes

TABLES = ("RunsTable", "StepsTable", "OutboxTable")


def test_an_upgrade_keeps_the_tables_and_moves_the_alias(stage: Stage) -> None:
    upgrade = stage.upgraded.result(timeout=300)
    assert [upgrade.before[name] for name in TABLES] == [upgrade.after[name] for name in TABLES]
    versions = [
        upgrade.driver.client("lambda").list_versions_by_function(FunctionName=name)["Versions"]
        for name in [upgrade.after["ExecutorFunction"]]
    ]
    assert [version["Version"] for version in versions[0]] == ["$LATEST", "1", "2"]


def test_a_run_under_way_goes_on_in_the_new_release(stage: Stage) -> None:
    upgrade = stage.upgraded.result(timeout=300)
    run = upgrade.driver.ended(upgrade.slow, 240)
    effects = upgrade.driver.effects("slow", run_id(run))
    assert (run["status"], run["attempt"]) == ("SUCCEEDED", 1)
    assert Counter(effect["what"] for effect in effects) == {f"nap {number}": 1 for number in range(9)}
    assert {effect["version"] for effect in effects} == {"1", "2"}


def test_an_upgrade_loses_and_doubles_no_minute(stage: Stage) -> None:
    driver = stage.upgraded.result(timeout=300).driver
    wait_for("three minutes", lambda: len(driver.runs("minutely")) > 2, 240)
    runs = driver.runs("minutely")
    at = [datetime.fromisoformat(run["sk"].removeprefix("RUN#")) for run in runs]
    assert {later - earlier for earlier, later in pairwise(at)} == {timedelta(minutes=1)}
    assert driver.ended(runs[-1], 60)["status"] == "SUCCEEDED"
    per_run = Counter((effect["run"], effect["what"]) for effect in driver.effects("minutely"))
    assert set(per_run.values()) == {1}


def test_a_delete_keeps_the_tables(stage: Stage, times: WallTimes) -> None:
    upgrade = stage.upgraded.result(timeout=300)
    kept = len(upgrade.driver.runs("minutely"))
    started = time.perf_counter()
    delete(stage.project, upgrade.driver.stack.name, stage.endpoint)
    times.since(started, "sam delete")
    names = upgrade.driver.client("dynamodb").list_tables()["TableNames"]
    assert {upgrade.after[name] for name in TABLES} <= set(names)
    assert len(upgrade.driver.runs("minutely")) >= kept
    functions = upgrade.driver.client("lambda").list_functions()["Functions"]
    assert [each["FunctionName"] for each in functions if "cronce-upgraded" in each["FunctionName"]] == []
    queues = upgrade.driver.client("sqs").list_queues().get("QueueUrls", [])
    assert [url for url in queues if "cronce-upgraded" in url and not url.endswith("-probe")] == []
