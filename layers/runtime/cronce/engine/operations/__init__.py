"""What operators do: see `cronce.engine.operations.commands`."""

from cronce.engine.operations.backfilling import Filled
from cronce.engine.operations.commands import Operations
from cronce.engine.operations.desk import JobAnswer, RunAnswer
from cronce.engine.operations.on_jobs import Rewound

__all__ = ["Filled", "JobAnswer", "Operations", "Rewound", "RunAnswer"]
