"""Who really holds the slots of a job that finds them full.

A slot's run may have died, ended without freeing it, or been deleted. So whoever finds the slots full reads
those runs: one whose claim has expired is declared lost, as the sweep would; those that are final or gone are
dropped in the write that takes their place. A crash leaks no slot for longer than somebody waits for it.

Claims are judged by a clock that the store's own answer has just confirmed: one that was set an hour back
since the caller looked at it would take every live claim for one from the future.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from cronce.core.answers import Applied
from cronce.core.claim import is_expired
from cronce.core.errors import UnreadableItemError
from cronce.core.records import RunRecord, RunRef
from cronce.core.run import RunStatus
from cronce.core.slots import RunPolicy
from cronce.engine.ledger import Ledger


def holders(
    ledger: Ledger,
    held: Collection[str],
    policy: RunPolicy,
    now: datetime,
    agreed: Callable[[], datetime | None],
) -> frozenset[str] | None:
    """Look at the runs that are said to hold a slot.

    Args:
        ledger: where they are, and where a lost one is written.
        held: their ids.
        policy: of their job.
        now: to judge claims by, unless the runs turn out to have been read earlier.
        agreed: the instant to judge by at the store's last answer; None = own and store's clock differ.

    Returns:
        Those that need their slot. None: one was just declared lost, so the slots must be read again; or the
        clocks differ by now, and nobody is judged.
    """
    refs = {ref.id: ref for ref in map(_parsed, sorted(held)) if ref}
    found = ledger.runs.get_many(list(refs.values()))
    read_at = agreed()
    if read_at is None:
        return None
    now = min(now, read_at)
    lost = [
        ledger.lose(run, policy, now) is Applied.DONE
        for run in found.values()
        if run.status is RunStatus.RUNNING and is_expired(run, now, read_at)
    ]
    if any(lost):
        return None
    return frozenset(run_id for run_id, ref in refs.items() if _needs_it(ledger, ref, found.get(ref)))


def _needs_it(ledger: Ledger, ref: RunRef, run: RunRecord | None) -> bool:
    """Not when it is final, gone, or queued; yes when it only cannot be read just now."""
    try:
        run = run or ledger.runs.get(ref)
    except UnreadableItemError:
        return True
    return run is not None and not run.status.is_final and not run.is_queued


def _parsed(run_id: str) -> RunRef | None:
    """The run that a slot names; a slot that names none (edited by hand) belongs to nobody."""
    try:
        return RunRef.parse(run_id)
    except ValueError:
        return None
