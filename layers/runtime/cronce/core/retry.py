"""When a failed attempt is tried again: exponential backoff with full jitter.

The delay before attempt n + 1 is drawn evenly from [0, min(cap, base * 2 ** (n - 1))]. Full jitter spreads
the retries of many runs that failed together
(https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
"""

from __future__ import annotations

from datetime import timedelta

from cronce.core.durations import Duration, duration
from cronce.core.errors import DefinitionError
from cronce.core.values import dataclass

ATTEMPTS_LIMIT = 100
"""More attempts than anybody watches; a typing error is likelier than an intention."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """How often and how soon a failed run is tried again.

    Args:
        attempts: tries in all, the first included; 1 = no retry.
        base: upper end of the first delay.
        cap: no delay is longer than this.
    """

    attempts: int = 3
    base: Duration = timedelta(seconds=30)
    cap: Duration = timedelta(minutes=15)

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int):
            raise DefinitionError(f"Retry(attempts=...) takes a whole number, not {self.attempts!r}")
        if not 1 <= self.attempts <= ATTEMPTS_LIMIT:
            raise DefinitionError(f"Retry(attempts=...) takes 1 to {ATTEMPTS_LIMIT}, not {self.attempts}")
        object.__setattr__(self, "base", duration("Retry(base=...)", self.base))
        object.__setattr__(self, "cap", duration("Retry(cap=...)", self.cap))

    def delay(self, failed_attempt: int, fraction: float) -> timedelta:
        """The pause after `failed_attempt` (1, 2, ...).

        Args:
            failed_attempt: number of the attempt that failed.
            fraction: the draw of the jitter, 0 <= fraction <= 1.
        """
        base, cap = duration("base", self.base), duration("cap", self.cap)
        doublings = min(failed_attempt - 1, 30)  # 2 ** 30 times any base is past every cap
        longest: timedelta = min(cap, base * 2**doublings)
        return longest * fraction


class RetryAfter(Exception):
    """Raise it in a job to fail this attempt and choose when the next one starts.

    Args:
        delay: from now until the next attempt: a `timedelta` or text such as "90s" or "2h"; at least zero.
        message: what is kept as the attempt's error.

    Raises:
        DefinitionError: the delay is neither, or negative.
    """

    def __init__(self, delay: Duration, message: str = "the job asked to be retried later") -> None:
        pause = delay if isinstance(delay, timedelta) else duration("RetryAfter(delay)", delay)
        if pause < timedelta(0):
            raise DefinitionError(f"RetryAfter takes a delay of zero or more, not {pause}")
        super().__init__(message)
        self.delay = pause
