"""The dispatcher's handler: starts an executor for each run that the stream says is due."""

from cronce.aws.stream import in_stream_order, read_batch
from cronce.bootstrap.dispatcher import dispatcher
from cronce.bootstrap.process import LambdaContext
from cronce.engine.metrics import DISPATCH_FAILURES

Answer = dict[str, list[dict[str, str]]]


def handler(event: object, context: LambdaContext) -> Answer:
    """Start executors; records that failed, or cannot be read, are reported one by one."""
    function = dispatcher()
    with function.called(context):
        batch = read_batch(event)
        for record in batch.malformed:
            function.telemetry.warn("record.malformed", record=record.sequence_number, problem=record.reason)
            function.telemetry.count(DISPATCH_FAILURES)
        failed = set(function.part.dispatch([(run.sequence_number, run.ref) for run in batch.runs]))
        failed |= {record.sequence_number for record in batch.malformed if record.sequence_number}
        return {"batchItemFailures": [{"itemIdentifier": number} for number in in_stream_order(failed)]}
