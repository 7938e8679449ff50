"""What Lambda tells a handler of its invocation."""

from __future__ import annotations

from datetime import timedelta

from cronce.testing import ManualClock

REGION = "us-east-1"
TIMEOUTS = {"scheduler": 45, "dispatcher": 30, "executor": 900, "watchdog": 45}
"""Seconds, as the template's defaults; a test compares them."""


class LambdaContext:
    """What Lambda hands to a handler, its deadline on the virtual clock."""

    def __init__(self, function: str, request_id: str, clock: ManualClock) -> None:
        self.function_name = function
        self.aws_request_id = request_id
        self.invoked_function_arn = f"arn:aws:lambda:{REGION}:123456789012:function:{function}:live"
        self.memory_limit_in_mb = 512
        self.log_group_name = f"/aws/lambda/{function}"
        self.log_stream_name = f"{function}/{request_id}"
        self._clock = clock
        self._deadline = clock.now() + timedelta(seconds=TIMEOUTS[function])

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the invocation."""
        return max(0, int((self._deadline - self._clock.now()) / timedelta(milliseconds=1)))
