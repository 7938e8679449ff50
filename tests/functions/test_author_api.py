"""What `from cronce import ...` gives to the author of a job.

Invariants:
- it is the author's API and nothing else, and importing it loads no AWS library;
- the example of its docstring runs.
"""

from __future__ import annotations

import doctest
import subprocess
import sys

import cronce
from tests.functions.deployed import ROOT

PROMISED = (
    "Cron Every At job Job Run Retry Overlap CatchUp DstGap DstRepeat PermanentError RetryAfter "
    "lease HeldLease LeaseHeldError LeaseLostError fenced_update fenced_put "
    "CronceError DefinitionError StepError StepUncertainError StopSignal ClaimLost OutOfTime Cancelled"
)


def test_everything_that_an_author_needs_is_there() -> None:
    for name in PROMISED.split():
        assert getattr(cronce, name).__name__ == name


def test_nothing_else_is_offered() -> None:
    assert sorted(cronce.__all__) == sorted(set(cronce.__all__))
    for name in cronce.__all__:
        assert getattr(cronce, name).__module__.startswith(
            ("cronce.core.", "cronce.engine.run_handle", "cronce.engine.named_lease")
        )


def test_importing_it_loads_no_aws_library_and_no_adapter() -> None:
    code = (
        "import sys, cronce\n"
        "roots = {'boto3', 'botocore', 's3transfer', 'aws_lambda_powertools', 'cronce.aws'}\n"
        "print([name for name in sys.modules if {name, name.split('.')[0]} & roots])"
    )
    environment = {"PYTHONPATH": str(ROOT / "layers" / "runtime"), "PYTHONTZPATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "[]"


def test_the_example_of_its_docstring_runs() -> None:
    assert doctest.testmod(cronce) == doctest.TestResults(failed=0, attempted=2)
