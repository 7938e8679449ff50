"""The executor's handler: claims one run and executes its job."""

from cronce.aws.executor_event import read_event
from cronce.bootstrap.executor import executor
from cronce.bootstrap.process import LambdaContext


def handler(event: object, context: LambdaContext) -> dict[str, str]:
    """Execute the run that the event names. What its job does is in the run's record, not in this answer."""
    function = executor()
    with function.called(context) as invocation:
        ref = read_event(event)
        execution = function.part.execute(ref, invocation)
        return {"run": ref.id, "outcome": execution.outcome.value}
