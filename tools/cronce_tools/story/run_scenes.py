"""Scenes about runs: one that always fails, one whose worker is killed, one night of 25 hours."""

from __future__ import annotations

from cronce_tools.local.cloud import Call
from cronce_tools.local.stack import MINUTE
from cronce_tools.story.records import attempts_kept, run_at, runs_between
from cronce_tools.story.scene import Figure, promised, shown
from cronce_tools.story.world import World, at, outbox_key

MENU_SENDS = 1000
KILLED_AFTER = 600


def always_fails(world: World) -> list[Figure]:
    """A job raises at every attempt."""
    due = at(30, "14:10")
    world.play_until(due - 8 * MINUTE)
    before = len(world.stack.notices)
    world.play_each(due + 12 * MINUTE)
    run = run_at(world, "order-supplies", due)
    told = [subject for _, subject, _ in world.stack.notices[before:]]
    return [
        promised("attempts", run.attempt, 3),
        promised("records of attempts", attempts_kept(world, run), 3),
        promised("the run", f"{run.status}({run.reason})", "FAILED(error)"),
        promised("its error", run.error, "SupplierClosedError: the supplier closed for good"),
        shown("notices", told, kept=len(told) == 1 and "order-supplies" in told[0]),
        promised("alarm JobsFailed", world.alarm_states("JobsFailedAlarm"), ["ALARM"]),
    ]


def worker_killed(world: World) -> list[Figure]:
    """The worker is killed after 600 of 1,000 messages."""
    due = at(31, "10:00")
    world.play_until(due - MINUTE)
    first, sends = len(world.requests), 0

    def kill(call: Call) -> None:
        nonlocal sends
        if "/send/" in (outbox_key(call) or ""):
            sends += 1
            if sends == KILLED_AFTER + 1:
                world.stack.cloud.kill()

    with world.hook(kill):
        world.play(due)
        killed = run_at(world, "daily-menu", due)
        sent_before = len(world.sends_since(first))
        world.play_each(due + 8 * MINUTE)
    run = run_at(world, "daily-menu", due)
    sent = world.sends_since(first)
    effects = world.effects("message", run.ref.id)
    took = ((run.ended_at or world.now) - due).total_seconds()
    return [
        promised("the record right after the kill", killed.status, "RUNNING"),
        promised("messages sent by the killed worker", sent_before, KILLED_AFTER),
        promised(
            "the next worker's first message", sent[KILLED_AFTER].rsplit("/", 1)[1], f"{KILLED_AFTER + 1:04}"
        ),
        promised("the run", run.status, "SUCCEEDED"),
        promised("attempts", run.attempt, 2),
        promised("messages sent", len(effects), MENU_SENDS),
        promised("messages doubled", len(sent) - len(set(sent)), 0),
        shown("seconds from six o'clock to the end, the crash included", took, kept=took < 480),
    ]


def clocks_go_back(world: World) -> list[Figure]:
    """The night of 1 November in New York: 01:30 comes twice, and the day has 25 hours."""
    world.play_until(at(2, "05:00", month=11))
    night = runs_between(world, "night-close", at(1, "00:00", month=11), at(1, "23:59", month=11))
    menus = [run_at(world, "daily-menu", six) for six in (at(31, "10:00"), at(1, "11:00", month=11))]
    hours = runs_between(world, "inventory-sync", at(1, "04:00", month=11), at(2, "04:59", month=11))
    local = [run.scheduled_local.removeprefix("2026-11-01T") for run in night]
    return [
        promised("runs of the job at 01:30", local, ["01:30:00-04:00"]),
        promised(
            "06:00 menus before and after, local time",
            [run.scheduled_local[11:] for run in menus],
            ["06:00:00-04:00", "06:00:00-05:00"],
        ),
        promised("hourly runs in that day of 25 hours", len(hours), 25),
    ]
