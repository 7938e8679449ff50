"""Alert items."""

from __future__ import annotations

from uuid import uuid4

from cronce.aws.calls import Calls, Verdict
from cronce.aws.items_alert import alert_item, read_alert
from cronce.aws.keys import alert_key
from cronce.aws.run_changes import SEEN
from cronce.aws.writes import ABSENT, put
from cronce.core.alerts import Alert


class DynamoAlertStore:
    """`AlertStore` on the runs table.

    Args:
        calls: the client's calls.
        table: name of the runs table.
    """

    def __init__(self, calls: Calls, table: str) -> None:
        self._calls = calls
        self._table = table

    def get(self, scope: str) -> Alert | None:
        """The alert, strong; a closed one also after it has expired, so that `put` can follow it."""
        item = self._calls.get(f"read the alert of {scope}", self._table, alert_key(scope))
        return read_alert(item) if item else None

    def put(self, before: Alert | None, after: Alert) -> bool:
        """Write the alert.

        Condition: SEEN (`rev` is that of `before`), or ABSENT. Writes the whole item, rev one higher.
        A reply that was lost: two watchdogs may write equal alerts, so the item carries a mark of this very
        call.
        """
        operation = f"write the alert of {after.scope}"
        mark = {"S": uuid4().hex}
        item = {**alert_item(after, (before.rev if before else 0) + 1), "written_by": mark}
        if before is None:
            write = put(self._table, item, ABSENT)
        else:
            write = put(self._table, item, SEEN, {":seen": {"N": str(before.rev)}})
        answer = self._calls.settled(operation, lambda: self._calls.write(operation, write))
        return answer.verdict is Verdict.DONE or (answer.item or {}).get("written_by") == mark
