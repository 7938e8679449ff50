"""`python -m tests.alarms`: plays all faults and writes the page's table anew."""

from __future__ import annotations

from tests.alarms.faults import FAULTS
from tests.alarms.outcome import outcome_of, row
from tests.alarms.page import write_rows
from tests.template.stack import Stack

if __name__ == "__main__":
    deployed = Stack.load().under()
    write_rows([row(outcome_of(fault, deployed)) for fault in FAULTS])
