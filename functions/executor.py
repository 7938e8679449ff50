"""The executor's handler: claims one run and executes its job."""

from cronce import bootstrap
from cronce.aws.executor_event import read_event


def handler(event: object, context: bootstrap.LambdaContext) -> dict[str, str]:
    """Execute the run that the event names. What its job does is in the run's record, not in this answer."""
    function = bootstrap.executor()
    with function.called(context) as invocation:
        ref = read_event(event)
        execution = function.part.execute(ref, invocation)
        return {"run": ref.id, "outcome": execution.outcome.value}
