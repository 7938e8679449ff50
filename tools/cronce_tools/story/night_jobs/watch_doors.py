"""Go round the house and look at each door, every five minutes of half an hour at night."""

from __future__ import annotations

from cronce import Cron, Retry, Run, job
from outbox import deliver

DOORS = ("front", "back", "oven", "cellar", "flour store", "yard", "office", "till")


def look(door: str, *, idempotency_key: str) -> bool:
    """Look at a door and enter it into the watchman's book; true if this call entered it."""
    return deliver(idempotency_key, "door", {"door": door}).first


@job(
    "watch-doors",
    schedule=Cron("5-40/5 0 3 11 *"),
    retry=Retry(attempts=20, base="5s", cap="1m"),
    timeout="6h",
    overlap="queue",
    catch_up="all",
)
def watch_doors(run: Run) -> None:
    """Look at each door once a round."""
    run.step("start", str, run.scheduled_local)
    run.each("look", DOORS, look, key=lambda door: door.replace(" ", "-"), checkpoint_every=3)
    run.step("sign", str, run.scheduled_local)
