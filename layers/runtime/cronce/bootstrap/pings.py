"""What tells services outside AWS, if somebody asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.engine.pinging import Pings

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.bootstrap.process import Process
    from cronce.core.ports import Telemetry


def pings_of(
    process: Process, telemetry: Telemetry, parameter_of: Callable[[str], str], prefix: str = ""
) -> Pings:
    """Signals to services whose URLs are kept in SSM's Parameter Store.

    Args:
        process: whose clients are used, made when the first signal is sent.
        telemetry: hears of signals that failed.
        parameter_of: the name of the parameter that holds the URL of a job, or of the heartbeat.
        prefix: that of the stack's idempotency keys.
    """
    # Who pings nobody does not wait for what it takes to do so.
    from cronce.aws.ping_urls import READ_TIMEOUT, ParameterUrls  # noqa: PLC0415
    from cronce.aws.pinger import HttpPinger  # noqa: PLC0415

    client = process.client_when_needed("ssm", read_timeout=READ_TIMEOUT)
    urls = ParameterUrls(client, parameter_of, process.clock)
    return Pings(
        pinger=HttpPinger(urls.url, process.clock), clock=process.clock, telemetry=telemetry, prefix=prefix
    )
