"""Jobs that are due each hour or so."""

from __future__ import annotations

from datetime import timedelta

from cronce import Cron, Every, Run, job


@job("sync", schedule=Cron("0 * * * *"), grace="1m")
def sync(run: Run) -> None:
    """With the shortest grace there is."""
    run.step("sync", str, run.id)


@job("survey", schedule=Every(timedelta(minutes=90)), catch_up="skip")
def survey(run: Run) -> None:
    """At no fixed time of the day."""
    run.step("look", str, run.id)


@job("paper-round", schedule=Cron("20 */2 * * *", tz="America/New_York"), grace="5m", catch_up="all")
def paper_round(run: Run) -> None:
    """It is paused for days, and catches up with all it may."""
    run.step("go", str, run.id)


@job("weekly", schedule=Cron("0 9 * * MON", tz="Europe/Amsterdam"))
def weekly(run: Run) -> None:
    """Once a week."""
    run.step("count", str, run.id)
