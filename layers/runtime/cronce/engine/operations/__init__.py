"""What operators do: see `cronce.engine.operations.commands`."""

from cronce.engine.operations.backfilling import Filled
from cronce.engine.operations.commands import Operations
from cronce.engine.operations.desk import JobAnswer, RunAnswer

__all__ = ["Filled", "JobAnswer", "Operations", "RunAnswer"]
