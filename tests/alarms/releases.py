"""Modules of jobs that later releases of the quiet stack bring."""

WINDOWED = """
from cronce import Cron, job

@job("windowed", schedule=Cron("*/5 6-23 * * *", tz="Europe/Amsterdam"), grace="3m")
def windowed(run):
    run.step("look", str, run.id)
"""
"""By day only: it rests for six hours, far longer than its grace."""

OTHER_TIMES = """
from datetime import timedelta
from cronce import Cron, Every, job

@job("sync", schedule=Cron("30 * * * *"), grace="1m")
def sync(run):
    run.step("sync", str, run.id)

@job("survey", schedule=Every(timedelta(minutes=45)), catch_up="skip")
def survey(run):
    run.step("look", str, run.id)

@job("paper-round", schedule=Cron("20 */2 * * *", tz="America/New_York"), grace="5m", catch_up="all")
def paper_round(run):
    run.step("go", str, run.id)

@job("weekly", schedule=Cron("0 9 * * MON", tz="America/New_York"))
def weekly(run):
    run.step("count", str, run.id)
"""
"""The jobs of `often`, some at other times: what came due under the old times is not missed."""

NOTHING = '"""The jobs that were here are gone."""\n'
