"""The scheduler's handler: one tick a minute."""

from cronce.bootstrap.process import LambdaContext
from cronce.bootstrap.scheduler import scheduler


def handler(_event: object, context: LambdaContext) -> dict[str, str]:
    """Plan what is due and sweep. "Now" is never taken from the event."""
    function = scheduler()
    with function.called(context) as invocation:
        report = function.part.tick(invocation)
        return {"tick": report.end.value if report else "out_of_time"}
