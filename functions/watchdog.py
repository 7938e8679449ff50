"""The watchdog's handler: one patrol a minute."""

from cronce import bootstrap
from cronce.engine.watchdog import PATROL_MARGIN


def handler(_event: object, context: bootstrap.LambdaContext) -> dict[str, bool | int]:
    """Look for what is overdue or failed, and tell people."""
    function = bootstrap.watchdog()
    with function.called(context) as invocation:
        report = function.part.patrol(invocation.deadline - PATROL_MARGIN)
        return {"complete": report.complete, "missed": report.missed, "failed": report.failed}
