"""The scheduler's handler: one tick a minute."""

from cronce import bootstrap


def handler(_event: object, context: bootstrap.LambdaContext) -> dict[str, str]:
    """Plan what is due and sweep. "Now" is never taken from the event."""
    function = bootstrap.scheduler()
    with function.called(context) as invocation:
        report = function.part.tick(invocation)
        return {"tick": report.end.value if report else "out_of_time"}
