"""Scenes about the scheduler: two at once, one that is down, one that wakes up too late, a long outage."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import MINUTE, STACK
from cronce_tools.story.records import lease_token, run_at, runs_between
from cronce_tools.story.scene import Figure, promised, shown
from cronce_tools.story.world import World, at

MENU_SENDS = 1000
GRACE = 15 * MINUTE
FIRST, SECOND = "first scheduler", "second scheduler"


def two_schedulers(world: World) -> list[Figure]:
    """Each minute a second scheduler ticks within the first one's tick, each time at another call."""
    world.play_until(at(30, "08:49"))
    ends: list[str] = []
    for number in range(10):
        world.play(at(30, f"08:{50 + number}"), partial(_both, world, number, ends))
    runs = runs_between(world, "pulse", at(30, "08:50"), at(30, "08:59"))
    return [
        shown("ticks in ten minutes", len(ends), kept=len(ends) > 10),
        shown("of them sent away, the other one held the lease", ends.count("busy"), kept="busy" in ends),
        promised("runs made for ten scheduled times", len(runs), 10),
        promised("of them SUCCEEDED", sum(run.status == "SUCCEEDED" for run in runs), 10),
        promised("attempts in all", sum(run.attempt for run in runs), 10),
    ]


def _both(world: World, call_number: int, ends: list[str]) -> None:
    """Two ticks, the second one within the first one, before its call of that number."""
    seen = 0

    def interrupt(call: Call) -> None:
        nonlocal seen
        if call.process != FIRST:
            return
        seen += 1
        if seen == call_number + 1:
            ends.append(world.tick(SECOND)["tick"])

    with world.hook(interrupt):
        ends.append(world.tick(FIRST)["tick"])


def scheduler_down(world: World) -> list[Figure]:
    """The scheduler is down from one minute before 06:00 New York until three minutes after."""
    due = at(30, "10:00")
    world.play_until(due - 2 * MINUTE)
    world.scheduler_up = False
    world.play_each(due + 2 * MINUTE)
    meanwhile = runs_between(world, "daily-menu", due, due)
    world.scheduler_up = True
    world.play_each(due + 4 * MINUTE)
    run = run_at(world, "daily-menu", due)
    late = ((run.started_at or world.now) - due).total_seconds()
    sent = world.effects("message", run.ref.id)
    return [
        promised("records while the scheduler is down", len(meanwhile), 0),
        promised("the run, once it is back", run.status, "SUCCEEDED"),
        promised("attempts", run.attempt, 1),
        shown("seconds late", late, kept=180 <= late < 240),
        promised("messages sent", len(sent), MENU_SENDS),
    ]


def paused_scheduler(world: World) -> list[Figure]:
    """A scheduler stands still for 70 s before it writes its plan; another takes over; it wakes up."""
    due = at(30, "12:00")
    world.play_until(due - MINUTE)
    ends: list[str] = []
    before = lease_token(world)

    def pause(call: Call) -> None:
        if call.process == FIRST and call.operation == "TransactWriteItems" and not ends:
            world.stack.clock.advance(timedelta(seconds=70))
            ends.append(world.tick(SECOND)["tick"])

    def tick() -> None:
        with world.hook(pause):
            ends.append(world.tick(FIRST)["tick"])

    world.play(due, tick)
    runs = runs_between(world, "inventory-sync", due, due)
    return [
        promised("fencing tokens handed out", lease_token(world) - before, 2),
        promised("the second scheduler's tick", ends[0], "completed"),
        promised("the first one's, refused by the store", ends[1], "lease_lost"),
        promised("runs made for 12:00", len(runs), 1),
        promised("attempts in all", sum(run.attempt for run in runs), 1),
    ]


def long_outage(world: World) -> list[Figure]:
    """The scheduler is down for half an hour, twice the grace of an hourly job."""
    due = at(31, "16:00")
    world.play_until(due - 12 * MINUTE)
    world.play_each(due - 3 * MINUTE)
    before = len(world.stack.notices)
    world.scheduler_up = False
    world.play_each(due + 25 * MINUTE)
    during = _outage_figures(world, before)
    told = len(world.stack.notices)
    world.scheduler_up = True
    world.play_each(due + 36 * MINUTE)
    run = run_at(world, "inventory-sync", due)
    closed = [subject for _, subject, _ in world.stack.notices[told:]]
    return [
        *during,
        promised("the 16:00 run, after the outage", run.status, "SUCCEEDED"),
        promised("notices after it", closed, [f"Recovered: the scheduler is back in {STACK}"]),
        promised(
            "alarms that are off again",
            world.alarm_states("SchedulerSilentAlarm", "JobsMissedAlarm"),
            ["OK", "OK"],
        ),
    ]


def _outage_figures(world: World, before: int) -> list[Figure]:
    due = at(31, "16:00")
    alarms = {
        name: when
        for when, name, state in world.alarm_changes
        if state == "ALARM" and when > due - 3 * MINUTE
    }
    notices = world.stack.notices[before:]
    naming = [when for when, _, body in notices if "inventory-sync" in body and "16:00" in body]
    told = min(naming, default=None)
    silent, missed = alarms.get("SchedulerSilentAlarm"), alarms.get("JobsMissedAlarm")
    return [
        shown("alarm SchedulerSilent", _clock(silent), kept=silent is not None and silent < due + 5 * MINUTE),
        shown(
            "notice that names inventory-sync and 16:00",
            _clock(told),
            kept=told is not None and told <= due + GRACE + 3 * MINUTE,
        ),
        shown(
            "alarm JobsMissed", _clock(missed), kept=missed is not None and missed <= due + GRACE + 5 * MINUTE
        ),
        promised("notices during the outage", len(notices), 1),
    ]


def _clock(instant: object) -> str:
    return f"{instant:%H:%M}Z" if instant else "never"
