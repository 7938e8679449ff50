"""Plays histories and says what it found: `python -m tests.simulation --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from random import SystemRandom
from time import perf_counter

from cronce.core import values
from tests.simulation.lottery import drawn
from tests.simulation.processes import side_by_side
from tests.simulation.report import Outcome, Totals, failure
from tests.simulation.world import World

FRESH = 1 << 40
"""Fresh seeds begin at a random number below this."""
TELL_EVERY = 60
"""Seconds between two lines of progress."""
SHOWN = 3
"""Failing histories that are shrunk and shown; of the others the seed is named."""


def main() -> int:
    """Play; returns the exit status."""
    asked = _arguments()
    thaw()
    if asked.seed is not None:
        print(failure(drawn(asked.seed), shrink=not asked.whole))
        return int(played(asked.seed).violation is not None)
    first = asked.first if asked.first is not None else SystemRandom().randrange(FRESH)
    print(
        f"seeds from {first} on"
        + (f", {asked.seeds} of them" if asked.seeds else f", for {asked.seconds} s"),
        flush=True,
    )
    totals = Totals()
    try:
        _add_up(totals, _outcomes(first, asked))
    finally:  # also what comes before an interruption counts
        print(totals.text(), flush=True)
    if totals.seeds:
        again = f"FIRST={first} SEEDS={totals.last - first + 1}"
        print(f"again: make simulate {again}; one of them: make simulate SEED=<seed>", flush=True)
    for outcome in totals.failed[:SHOWN]:
        print("\n" + failure(drawn(outcome.seed)), flush=True)
    return int(bool(totals.failed))


def _add_up(totals: Totals, outcomes: Iterator[Outcome]) -> None:
    """Sum, and say how it goes: a failing seed at once, the sums now and then."""
    began = told = perf_counter()
    for outcome in outcomes:
        now = perf_counter()
        totals.add(outcome, now - began)
        if outcome.violation is not None:
            print(f"seed {outcome.seed}: {outcome.violation}", flush=True)
        if now - told >= TELL_EVERY:
            told = now
            print(totals.progress(), flush=True)


def thaw() -> None:
    """Let records be made without asking for each field whether it has a value already.

    That takes a sixth of the time of a long run. Nothing gives a field of a record another value: the same
    histories are played in the tests with records that refuse it.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith("cronce.")]
    for kind in {value for module in modules for value in vars(module).values() if isinstance(value, type)}:
        if vars(kind).get("__setattr__") is values._set_once:
            del kind.__setattr__


def played(seed: int) -> Outcome:
    """What the history of a seed came to."""
    world = World(drawn(seed))
    world.play()
    return Outcome.of(world)


def _outcomes(first: int, asked: argparse.Namespace) -> Iterator[Outcome]:
    """The outcomes of all seeds; of those of one process in their order."""
    shares = [partial(_share, first, asked, number) for number in range(asked.processes)]
    return shares[0]() if asked.processes == 1 else side_by_side(shares)


def _share(first: int, asked: argparse.Namespace, number: int) -> Iterator[Outcome]:
    """The outcomes of one process's seeds: every so manieth, until there are no more or the time is over."""
    began = perf_counter()
    seeds = range(first, first + asked.seeds) if asked.seeds else count(first)
    for seed in islice(seeds, number, None, asked.processes):
        yield played(seed)
        if asked.seconds and perf_counter() - began > asked.seconds:
            return


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Plays random histories.")
    parser.add_argument(
        "--seed", type=int, help="play this one, shrink it if it fails, and show its timeline"
    )
    parser.add_argument("--whole", action="store_true", help="with --seed: do not shrink it")
    parser.add_argument("--first", type=int, help="the first of many seeds; a fresh one by default")
    parser.add_argument("--seeds", type=int, default=0, help="how many; 0 = until the time is over")
    parser.add_argument("--seconds", type=int, default=0, help="stop after so many seconds")
    parser.add_argument("--processes", type=int, default=1, help="how many to use; 1 by default")
    asked = parser.parse_args()
    if asked.processes < 1 or asked.seeds < 0 or asked.seconds < 0:
        parser.error("--processes takes 1 or more, --seeds and --seconds 0 or more")
    if asked.seed is None and not asked.seeds and not asked.seconds:
        parser.error("say --seed, --seeds or --seconds")
    return asked


if __name__ == "__main__":
    sys.exit(main())
