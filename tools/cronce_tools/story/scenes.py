"""The scenes, in the order in which they are played."""

from __future__ import annotations

from datetime import timedelta

from cronce.core.run import RunStatus
from cronce_tools.local.cloud import Call
from cronce_tools.story.billing import three_copies_bypassed, three_copies_with_claims
from cronce_tools.story.records import attempts_of, lease_token, run_at, runs_between
from cronce_tools.story.scene import Figure, Scene, promised, shown
from cronce_tools.story.world import MINUTE, World, at, outbox_key

MENU_SENDS = 1000
KILLED_AFTER = 600


def two_schedulers(world: World) -> list[Figure]:
    """Each minute a second scheduler ticks in the middle of the first one's tick, each time at another call."""
    world.play_until(at(30, "08:49"))
    ends: list[str] = []

    def both(call_number: int) -> None:
        seen = 0

        def interrupt(call: Call) -> None:
            nonlocal seen
            if call.process != "scheduler-a":
                return
            if seen == call_number:
                ends.append(world.tick("scheduler-b")["tick"])
            seen += 1

        with world.hook(interrupt):
            ends.append(world.tick("scheduler-a")["tick"])

    for number in range(10):
        world.play(at(30, f"08:{50 + number}"), lambda number=number: both(number))
    runs = runs_between(world, "pulse", at(30, "08:50"), at(30, "08:59"))
    return [
        shown("ticks in ten minutes", len(ends), kept=len(ends) > 10),
        shown("of them sent away, the other one held the lease", ends.count("busy"), kept="busy" in ends),
        promised("runs made for ten scheduled times", len(runs), 10),
        promised("of them SUCCEEDED", sum(run.status is RunStatus.SUCCEEDED for run in runs), 10),
        promised("attempts in all", sum(run.attempt for run in runs), 10),
    ]


def scheduler_down(world: World) -> list[Figure]:
    """The scheduler is down from one minute before 06:00 New York until three minutes after."""
    due = at(30, "10:00")
    world.play_until(due - 2 * MINUTE)
    world.scheduler_up = False
    world.play_each(due + 2 * MINUTE)
    missing = run_at(world, "daily-menu", due)
    world.scheduler_up = True
    world.play_each(due + 4 * MINUTE)
    run = run_at(world, "daily-menu", due)
    late = (run.started_at - due).total_seconds() if run and run.started_at else None
    sent = [key for key in world.effects("message") if "daily-menu@2026-10-30" in key]
    return [
        promised("record while the scheduler is down", missing, None),
        promised("the run, two minutes after the scheduler is back", run.status if run else None, "SUCCEEDED"),
        shown("fired late by", f"{late} s", kept=late is not None and 180 <= late < 240),
        promised("messages sent", len(sent), MENU_SENDS),
    ]


def paused_scheduler(world: World) -> list[Figure]:
    """A scheduler stands still for 70 s just before it writes its plan; another one takes over; it wakes up."""
    due = at(30, "12:00")
    world.play_until(due - MINUTE)
    ends: list[str] = []

    def pause(call: Call) -> None:
        if call.process == "old" and call.operation == "TransactWriteItems" and not ends:
            world.stack.clock.advance(timedelta(seconds=70))
            ends.append(world.tick("new")["tick"])

    before = lease_token(world)

    def tick() -> None:
        with world.hook(pause):
            ends.append(world.tick("old")["tick"])

    world.play(due, tick)
    runs = runs_between(world, "inventory-sync", due, due)
    return [
        promised("fencing tokens handed out", lease_token(world) - before, 2),
        promised("the new scheduler's tick", ends[0], "completed"),
        promised("the old scheduler's tick, refused by the store", ends[1], "lease_lost"),
        promised("runs made for 12:00", len(runs), 1),
    ]


def always_fails(world: World) -> list[Figure]:
    """A job raises at every attempt."""
    due = at(30, "14:10")
    world.play_until(due - 8 * MINUTE)
    heard = len(world.stack.notices)
    world.play_each(due + 12 * MINUTE)
    run = run_at(world, "order-supplies", due)
    told = [subject for _, subject, _ in world.stack.notices[heard:] if "order-supplies" in subject]
    alarm = [state for _, name, state in world.alarm_changes if name == "JobsFailedAlarm"]
    kept = len(attempts_of(world, run)) + 1 if run else 0
    return [
        promised("attempts", run.attempt if run else 0, 3),
        promised("records of attempts", kept, 3),
        promised("the run", f"{run.status}({run.reason})" if run else None, "FAILED(error)"),
        shown("its error", run.error if run else None, kept=bool(run and "closed for good" in (run.error or ""))),
        shown("notice", told[0] if told else None, kept=len(told) == 1),
        promised("alarm JobsFailed", alarm[-1:], ["ALARM"]),
    ]


def worker_killed(world: World) -> list[Figure]:
    """The worker is killed after 600 of 1,000 messages."""
    due = at(31, "10:00")
    world.play_until(due - MINUTE)
    first = len(world.requests)
    sent = 0

    def kill(call: Call) -> None:
        nonlocal sent
        if "/send/" in (outbox_key(call) or ""):
            if sent == KILLED_AFTER:
                sent += 1
                world.stack.cloud.kill()
            sent += 1

    with world.hook(kill):
        world.play(due)
        killed = run_at(world, "daily-menu", due)
        before = [request.key for request in world.requests[first:] if "/send/" in request.key]
        world.play_each(due + 8 * MINUTE)
    run = run_at(world, "daily-menu", due)
    keys = [request.key for request in world.requests[first:] if "/send/" in request.key]
    effects = [key for key in world.effects("message") if "daily-menu@2026-10-31" in key]
    took = (run.ended_at - due).total_seconds() if run and run.ended_at else None
    return [
        promised("the record right after the kill", killed.status if killed else None, "RUNNING"),
        promised("messages sent by the killed worker", len(before), KILLED_AFTER),
        promised("first message of the next worker", keys[KILLED_AFTER].rsplit("/", 1)[1], "0601"),
        promised("the run", run.status if run else None, "SUCCEEDED"),
        promised("attempts", run.attempt if run else 0, 2),
        promised("messages sent", len(effects), MENU_SENDS),
        promised("messages doubled", len(keys) - len(set(keys)), 0),
        shown("from six o'clock to the last message, the crash included", f"{took} s", kept=took is not None),
    ]


def long_outage(world: World) -> list[Figure]:
    """The scheduler is down for half an hour, twice the grace of an hourly job."""
    due = at(31, "16:00")
    world.play_until(due - 12 * MINUTE)
    world.play_each(due - 3 * MINUTE)
    changes, heard = len(world.alarm_changes), len(world.stack.notices)
    world.scheduler_up = False
    world.play_each(due + 25 * MINUTE)
    down = [(when, name) for when, name, state in world.alarm_changes[changes:] if state == "ALARM"]
    told = [(when, f"{subject}\n{body}") for when, subject, body in world.stack.notices[heard:]]
    naming = [when for when, text in told if "inventory-sync" in text and "16:00" in text]
    world.scheduler_up = True
    world.play_each(due + 36 * MINUTE)
    run = run_at(world, "inventory-sync", due)
    names = {name: when for when, name in down}
    closed = [subject for _, subject, _ in world.stack.notices[heard + len(told) :]]
    open_alarms = {name for when, name, state in world.alarm_changes if state == "ALARM"} - {
        name for name, state in _last_states(world).items() if state == "OK"
    }
    silent = names.get("SchedulerSilentAlarm")
    return [
        shown("alarm SchedulerSilent", silent and f"{silent:%H:%M}Z", kept=bool(silent and silent < due + 7 * MINUTE)),
        shown(
            "notice that names inventory-sync and 16:00",
            f"{naming[0]:%H:%M}Z" if naming else None,
            kept=bool(naming) and naming[0] <= due + 18 * MINUTE,
        ),
        shown("notices during the outage", len(told), kept=1 <= len(told) <= 2),
        shown("alarm JobsMissed", f"{names['JobsMissedAlarm']:%H:%M}Z" if "JobsMissedAlarm" in names else None),
        promised("the 16:00 run, after the outage", run.status if run else None, "SUCCEEDED"),
        shown("notices after it", "; ".join(closed), kept=bool(closed)),
        promised("alarms still on, but for the failed job's", open_alarms - {"JobsFailedAlarm"}, set()),
    ]


def _last_states(world: World) -> dict[str, str]:
    return {name: state for _, name, state in world.alarm_changes}


def clocks_go_back(world: World) -> list[Figure]:
    """The night of 1 November in New York: 01:30 comes twice, and the day has 25 hours."""
    world.play_until(at(2, "05:00", month=11))
    night = runs_between(world, "night-close", at(1, "00:00", month=11), at(1, "23:59", month=11))
    menus = [
        run_at(world, "daily-menu", instant) for instant in (at(31, "10:00"), at(1, "11:00", month=11))
    ]
    hours = runs_between(world, "inventory-sync", at(1, "04:00", month=11), at(2, "04:59", month=11))
    return [
        promised("runs of the job at 01:30", [run.scheduled_local for run in night], ["2026-11-01T01:30:00-04:00"]),
        promised(
            "06:00 menus on both sides, local time",
            [run.scheduled_local[11:] if run else None for run in menus],
            ["06:00:00-04:00", "06:00:00-05:00"],
        ),
        promised("hourly runs in that day of 25 hours", len(hours), 25),
    ]


SCENES = (
    Scene("Two schedulers tick at the same time for ten minutes", two_schedulers),
    Scene("The scheduler is down from a minute before a due time until three minutes after", scheduler_down),
    Scene("A paused scheduler wakes up after another one took over", paused_scheduler),
    Scene("A job that always fails", always_fails),
    Scene("A worker is killed after 600 of 1,000 messages", worker_killed),
    Scene("An outage longer than the grace", long_outage),
    Scene("Three copies of the billing job start in the same second, with claims", three_copies_with_claims),
    Scene("The same three copies, claims bypassed", three_copies_bypassed),
    Scene("A night in which the clocks go back", clocks_go_back),
)
