"""What the simulation tells: a failing history, and the sums of many."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.simulation.scenario import Scenario
from tests.simulation.shrink import Shrunk, shrunk
from tests.simulation.world import World

LINES = 60
"""Lines of a timeline that a person reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one seed came to; goes from process to process.

    Attributes:
        seed: which.
        violation: in words; None = there was none.
        days: virtual.
        job_days: virtual, of all jobs.
        runs: that were planned.
        executions: of steps and items.
        notices: that were published.
        faults: by kind.
        commands: of operators, by what became of them.
    """

    seed: int
    violation: str | None
    days: float
    job_days: float
    runs: int
    executions: int
    notices: int
    faults: Counter[str]
    commands: Counter[str]

    @classmethod
    def of(cls, world: World) -> Outcome:
        """After the history of a world."""
        scenario = world.scenario
        return cls(
            seed=scenario.seed,
            violation=str(world.violation) if world.violation else None,
            days=scenario.days,
            job_days=scenario.days * len(scenario.jobs),
            runs=world.accounts.runs,
            executions=world.outside.executions,
            notices=world.alarms.notices,
            faults=world.faults.injected,
            commands=world.operators.outcomes,
        )


@dataclass(kw_only=True)
class Totals:
    """Sums over many seeds, in whatever order they come.

    Attributes:
        seconds: that have passed, on the wall's clock.
        last: the highest seed.
    """

    seeds: int = 0
    last: int = 0
    seconds: float = 0
    days: float = 0
    job_days: float = 0
    runs: int = 0
    executions: int = 0
    notices: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    failed: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome, seconds: float) -> None:
        """One more seed, so many seconds after the first began."""
        self.seeds += 1
        self.last = max(self.last, outcome.seed)
        self.seconds = seconds
        self.days += outcome.days
        self.job_days += outcome.job_days
        self.runs += outcome.runs
        self.executions += outcome.executions
        self.notices += outcome.notices
        self.faults.update(outcome.faults)
        self.commands.update(outcome.commands)
        if outcome.violation is not None:
            self.failed.append(outcome)

    def progress(self) -> str:
        """One line, while others are to come."""
        return (
            f"{self.seeds:,} seeds, {len(self.failed)} violations, {self.job_days:,.0f} job-days, "
            f"{sum(self.faults.values()):,} faults, {self.seconds:,.0f} s"
        )

    def text(self) -> str:
        """The sums, for people."""
        faults, commands = _listed(self.faults), _listed(self.commands)
        rate = self.job_days / self.seconds if self.seconds else 0.0
        return (
            f"{self.seeds:,} seeds, {self.days:,.0f} virtual days, {self.job_days:,.0f} job-days, "
            f"{self.runs:,} runs, {self.executions:,} steps and items executed, {self.notices:,} notices\n"
            f"{sum(self.faults.values()):,} faults: {faults}\n"
            f"{sum(self.commands.values()):,} commands: {commands}\n"
            f"{self.seconds:.0f} s, {rate:,.0f} job-days a second, {len(self.failed)} violations"
        )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()))


def failure(scenario: Scenario, *, shrink: bool = True) -> str:
    """A failing history for people: what is left of it after shrinking, and its timeline."""
    found = shrunk(scenario) if shrink else None
    smallest = found.scenario if found else scenario
    world = World(smallest, trace=True)
    violation = world.play()
    if violation is None:
        return f"seed {scenario.seed}: no invariant is violated"
    return "\n".join(
        [*_what_is_left(scenario, smallest, found), world.timeline.text(LINES, violation.job), f"{violation}"]
    )


def _what_is_left(whole: Scenario, smallest: Scenario, found: Shrunk | None) -> list[str]:
    """The scenario in a few lines."""
    lines = [f"seed {whole.seed}: {whole.days:.2f} days from {whole.start:%Y-%m-%d %H:%M}Z"]
    if found:
        lines.append(
            f"shrunk in {found.tries} tries: {len(smallest.jobs)} of {len(whole.jobs)} jobs, "
            f"{len(smallest.incidents)} of {len(whole.incidents)} incidents, {len(found.sites)} faults left"
        )
    for plan in smallest.jobs:
        for definition in plan.definitions:
            policies = ", ".join(f"{name}={_plain(value)}" for name, value in definition.policies.items())
            lines.append(f"  {plan.name}: {definition.schedule.describe()}; {policies}")
        lines.append(f"    {', '.join(f'{piece.name} {piece.seconds:g} s' for piece in plan.pieces)}")
    lines += [f"  {incident}" for incident in smallest.incidents]
    return lines


def _plain(value: object) -> str:
    if isinstance(value, frozenset):
        return str(sorted(map(str, value)))
    return str(value)
