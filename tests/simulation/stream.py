"""The stream of the table of runs and its event source mapping, as the template configures it.

Two shards; a run's records are always in the same one, in order. A batch is delivered until it succeeds, is
given up after its retries, or is too old; the lowest failed record is where the next try begins; a batch that
ends in an error is halved. What is older than a day is gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

from cronce.core.records import RunRef
from tests.simulation.scenario import Happening

if TYPE_CHECKING:
    from tests.simulation.world import World

SHARDS = 2
BATCH = 100
TRIES = 5
"""The first one and four retries."""
RECORD_AGE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Record:
    """One record that passed the filter."""

    number: str
    ref: RunRef
    at: datetime


@dataclass
class Shard:
    """One shard and where its mapping is."""

    records: deque[Record] = field(default_factory=deque)
    busy: bool = False
    tries: int = 0
    size: int = BATCH


class Stream:
    """Both shards.

    Args:
        world: where.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._shards = [Shard() for _ in range(SHARDS)]
        self._number = 0

    @property
    def is_busy(self) -> bool:
        """Whether anything is on its way."""
        is_on = not self._world.is_on(Happening.MAPPING_OFF)
        return is_on and any(shard.records for shard in self._shards)

    def put(self, refs: Sequence[RunRef]) -> None:
        """Runs that became PENDING."""
        for ref in refs:
            self._number += 1
            shard = self._shards[crc32(ref.id.encode()) % SHARDS]
            shard.records.append(Record(f"{self._number:06d}", ref, self._world.hub.now))
            self._poll_soon(shard)

    def wake(self) -> None:
        """The mapping may be on again."""
        for shard in self._shards:
            self._poll_soon(shard)

    def _poll_soon(self, shard: Shard) -> None:
        if shard.busy or not shard.records or self._world.is_on(Happening.MAPPING_OFF):
            return
        shard.busy = True
        lag = self._world.scenario.mapping_lag
        if self._world.is_on(Happening.STREAM_LATE):
            lag += 400
        pause = lag if shard.tries == 0 else 2.0**shard.tries
        self._world.hub.at(self._world.hub.now + timedelta(seconds=pause), partial(self._poll, shard))

    def _poll(self, shard: Shard) -> None:
        world = self._world
        shard.busy = False
        oldest = world.hub.now - RECORD_AGE
        while shard.records and shard.records[0].at < oldest:
            shard.records.popleft()
            shard.tries, shard.size = 0, BATCH
            world.faults.injected["record given up"] += 1
        if not shard.records or world.is_on(Happening.MAPPING_OFF):
            return
        shard.busy = True
        batch = list(shard.records)[: shard.size]
        name = f"dispatch {batch[0].number}-{batch[-1].number} try {shard.tries + 1}"
        world.functions.dispatcher(name, batch, partial(self._done, shard, batch))

    def _done(self, shard: Shard, batch: list[Record], result: object) -> None:
        """The dispatcher's answer: the numbers that failed; None: it did not end well."""
        world = self._world
        shard.busy = False
        shard.tries += 1
        if isinstance(result, list):
            failed = set(result)
            done = next((n for n, record in enumerate(batch) if record.number in failed), len(batch))
        else:
            done = 0
            shard.size = max(1, len(batch) // 2)
        rate = 0.0 if world.is_calm else 0.01 + world.weather.fault
        if done == len(batch) and world.faults.happens(
            "batch doubled", f"{batch[0].number}/{shard.tries}", rate
        ):
            done = 0
        for _ in range(done):
            shard.records.popleft()
        if done == 0 and shard.tries >= TRIES:
            for _ in batch:
                shard.records.popleft()
            world.faults.injected["batch given up"] += 1
            done = len(batch)
        if done:
            shard.tries, shard.size = 0, BATCH
        self._poll_soon(shard)
