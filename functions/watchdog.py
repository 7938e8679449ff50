"""The watchdog's handler: one patrol a minute."""

from cronce import bootstrap


def handler(_event: object, context: bootstrap.LambdaContext) -> dict[str, bool | int]:
    """Look for what is overdue or failed, and tell people."""
    function = bootstrap.watchdog()
    with function.called(context):
        report = function.part.patrol()
        return {"complete": report.complete, "missed": report.missed, "failed": report.failed}
