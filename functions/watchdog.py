"""The watchdog's handler: one patrol a minute."""

from cronce.bootstrap.process import LambdaContext
from cronce.bootstrap.watchdog import watchdog


def handler(_event: object, context: LambdaContext) -> dict[str, bool | int]:
    """Look for what is overdue or failed, and tell people."""
    function = watchdog()
    with function.called(context) as invocation:
        report = function.part.patrol(invocation.deadline)
        return {"complete": report.complete, "missed": report.missed, "failed": report.failed}
