"""How many jobs the registry takes: they are one item, and an item has a size.

Invariants:
- 4,000 jobs with names of ordinary length are written, which is what the documentation promises;
- more than fit are refused before anything is sent, with the item's key and its size.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from cronce.aws.items_job import registry_item
from cronce.aws.limits import ITEM_BYTES, check_write, item_bytes
from cronce.aws.writes import put
from cronce.core.errors import RefusedError
from cronce.core.jobstate import Registry, RegistryEntry
from cronce.core.schedule import Cron, schedule_hash

README = Path(__file__).parents[2] / "README.md"


def registry(jobs: int) -> Registry:
    """Jobs as people name them."""
    entry = RegistryEntry(
        module="jobs.billing", schedule_hash=schedule_hash(Cron("0 6 * * *")), grace=timedelta(minutes=15)
    )
    names = [f"invoices-{number:05}" for number in range(jobs)]
    return Registry(jobs=dict.fromkeys(names, entry), zone_data="2026f", fingerprint="f" * 32)


def test_the_registry_takes_as_many_jobs_as_the_documentation_says() -> None:
    (said,) = re.findall(r"A stack takes about ([\d,]+) jobs", README.read_text())
    jobs = int(said.replace(",", ""))

    assert item_bytes(registry_item(registry(jobs))) <= ITEM_BYTES
    check_write("write the registry", put("runs", registry_item(registry(jobs))))


def test_a_registry_that_is_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(RefusedError, match=r"SCHEDULER / REGISTRY takes \d+ bytes; an item takes 409600"):
        check_write("write the registry", put("runs", registry_item(registry(6_000))))
