"""The fast path: one invocation of the executor for each run that became PENDING.

Harmless when repeated: claims decide who executes a run. What cannot be dispatched is reported, so that
the stream delivers it again; and what is never delivered is found by the sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from cronce.core.errors import DispatchError
from cronce.core.ports import Invoker, Telemetry
from cronce.core.records import RunRef
from cronce.core.values import dataclass
from cronce.engine.metrics import DISPATCH_FAILURES

PARALLEL = 16
"""Invocations under way at once: a thousand runs of one minute start within seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dispatcher:
    """Asks for executors.

    Attributes:
        invoker: who starts them.
        telemetry: what failed is one line and one count each.
    """

    invoker: Invoker
    telemetry: Telemetry

    def dispatch(self, records: Sequence[tuple[str, RunRef]]) -> list[str]:
        """Ask for one invocation for each run.

        Args:
            records: sequence number of the stream's record, and the run.

        Returns:
            Sequence numbers of those that failed, in the order given.
        """
        refs = list(dict.fromkeys(ref for _, ref in records))
        if not refs:
            return []
        with ThreadPoolExecutor(max_workers=min(PARALLEL, len(refs)), thread_name_prefix="dispatch") as pool:
            accepted = dict(zip(refs, pool.map(self._invoke, refs), strict=True))
        return [sequence for sequence, ref in records if not accepted[ref]]

    def _invoke(self, ref: RunRef) -> bool:
        try:
            self.invoker.invoke(ref)
        except DispatchError as error:
            self.telemetry.warn("dispatch.failed", run=ref.id, problem=str(error))
            self.telemetry.count(DISPATCH_FAILURES)
            return False
        return True
