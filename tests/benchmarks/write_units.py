"""Units of a run, a step and a quiet minute, counted on the deployed handlers. Nothing is timed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cronce.engine.run_handle import Run
from cronce_tools.local.stack import MINUTE
from tests.benchmarks.meter import Use
from tests.benchmarks.prices import READ_UNIT, WRITE_UNIT
from tests.benchmarks.subject import deployed, tick

STEPS = 5


def measured(steps: int, options: str = "") -> Mapping[str, Use]:
    """What one run of so many steps uses, by phase; `quiet tick` is a tick with nothing due.

    Args:
        steps: of the run.
        options: more arguments of its job, as text.
    """

    def body(run: Run) -> None:
        for number in range(steps):
            run.step(f"step-{number}", str, number)

    with deployed(body, options=options) as (stack, meter):
        meter.phase = "tick that plans it"
        tick(stack)
        meter.phase = "execution"
        stack.settle()
        meter.phase = "quiet tick"
        tick(stack)
        meter.phase = "quiet patrol"
        stack.invoke("watchdog", {})
    return meter.used


def at_most_once() -> float:
    """Write units of an at-most-once step."""
    with deployed(lambda run: run.once("pay", str)) as (stack, meter):
        tick(stack)
        meter.phase = "execution"
        stack.settle()
    return meter.used["execution"].writes


def asleep() -> float:
    """Write units of a run that sleeps once: lying down, being woken, and the second claim and end."""
    with deployed(lambda run: run.sleep("nap", "10m")) as (stack, meter):
        tick(stack)
        meter.phase = "sleep"
        stack.settle()
        stack.clock.advance(10 * MINUTE)
        tick(stack)
        stack.settle()
    return meter.used["sleep"].writes


@cache
def figures() -> dict[str, float]:
    """Units of a run without its steps and of one step; dollars of a million runs of five."""
    none, five = measured(0), measured(STEPS)
    unbounded = measured(0, ", concurrency=None")
    quiet = five["quiet tick"]
    plan, work = none["tick that plans it"] - quiet, none["execution"]
    work_alone = work.writes
    step = (five["execution"].writes - work.writes) / STEPS
    writes = plan.writes + work.writes + STEPS * step
    reads = plan.reads + five["execution"].reads
    return {
        "quiet tick": quiet.writes,
        "quiet tick reads": quiet.reads,
        "quiet patrol reads": five["quiet patrol"].reads,
        "plan": plan.writes,
        "claim and finish": work.writes,
        "run": plan.writes + work.writes,
        "without slots": unbounded["execution"].writes,
        "step": step,
        "once": at_most_once() - work_alone,
        "sleep": asleep() - work_alone - quiet.writes,
        "reads": reads,
        "five steps": writes,
        "dollars": (writes * WRITE_UNIT + reads * READ_UNIT) * 1_000_000,
    }


def main() -> None:
    """Print the table."""
    found = figures()
    print("write units (read units), by DynamoDB's published rules")
    print(f"  a tick with nothing due          {found['quiet tick']:6.1f} ({found['quiet tick reads']:.1f})")
    print(f"  a patrol with nothing due           0.0 ({found['quiet patrol reads']:.1f})")
    print(f"  a run: planned                   {found['plan']:6.1f}")
    print(f"  a run: claimed and finished      {found['claim and finish']:6.1f}")
    print(f"  the same, concurrency=None       {found['without slots']:6.1f}")
    print(f"  a step                           {found['step']:6.1f}")
    print(f"  an at-most-once step             {found['once']:6.1f}")
    print(f"  a sleep                          {found['sleep']:6.1f}")
    print(f"  a run of five steps              {found['five steps']:6.1f} ({found['reads']:.1f})")
    print(f"  a million runs of five steps    ${found['dollars']:6.2f}")
