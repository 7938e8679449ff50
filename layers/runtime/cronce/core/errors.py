"""Everything cronce raises, grouped by who acts next.

* The author fixes code: `DefinitionError`, `StepError` and their children.
* The operator decides or repairs: `StepUncertainError`, `OperationRefusedError`, `JobNotFoundError`,
  `SettingsError`, `RefusedError`, `UnreadableItemError`.
* Lambda (or the sweep) tries again: `StoreError`, `DispatchError`, `NotifyError`.
* The service that was not told alarms by itself: `PingError`.
* Nobody: a `StopSignal` ends one worker's share of a run; the run itself goes on from its record.

A job says how its failure is to be taken with `PermanentError` and `RetryAfter`. `LeaseHeldError` and
`LeaseLostError` fail an attempt; the next one takes the lease anew. What it does at most once says with
`NotDone` that it did nothing.
"""

from __future__ import annotations


class CronceError(Exception):
    """Root of every error cronce raises for a caller to handle."""


class DefinitionError(CronceError):
    """A job definition is wrong: its name, schedule, duration or policy. Raised at the author's own line."""


class DuplicateJobError(DefinitionError):
    """Two modules declare a job of the same name."""


class EventError(CronceError):
    """An event handed to a handler is not of the form that the handler takes."""


class SettingsError(CronceError):
    """An environment variable is missing or malformed. The message names it and says what it takes."""


class JobNotFoundError(CronceError):
    """No job of that name is deployed or recorded."""


class OperationRefusedError(CronceError):
    """What an operator asked for does not apply, or not yet. The message says why, and what to do."""


class StepError(CronceError):
    """A step of a run was used wrongly. The message names the run and the step."""


class DuplicateStepError(StepError):
    """One run used the same step name, or the same item key within one `each`, twice."""


class StepResultTooLargeError(StepError):
    """A step returned more than may be stored with its idempotency item."""


class StepResultNotSerializableError(StepError):
    """A step returned something that JSON cannot carry, so a retry could not be given the same value."""


class StepUncertainError(StepError):
    """An at-most-once step was started and its outcome is unknown: a person has to say.

    Like a stop signal it is raised again at every later call, and swallowing it changes nothing.
    """


class StoreError(CronceError):
    """The store could not be reached, or refused for another reason than a lost race."""


class RefusedError(StoreError):
    """The store refuses this very request, or would: sending it again does not help."""


class UnreadableItemError(StoreError):
    """A stored item lacks an attribute or holds a malformed one: most likely it was edited by hand."""


class NewerItemError(UnreadableItemError):
    """A later release wrote the item in a shape unknown here: that release will look after it."""


class DispatchError(CronceError):
    """The executor could not be invoked for a run. The sweep dispatches the run again."""


class NotifyError(CronceError):
    """A notice could not be published. The next patrol publishes it again under the same id."""


class PingError(CronceError):
    """A service outside AWS could not be told. The message shows no URL; the service alarms by itself.

    Args:
        message: why.
        again: whether another try a moment later may do better.
    """

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


class PermanentError(Exception):
    """Raise it in a job to end the run as `FAILED(error)` at once, without further attempts."""


class LeaseLostError(CronceError):
    """A lease is no longer held, or no longer trusted: somebody else may be in the section."""


class NotDone(Exception):
    """Raise it in a function given to `run.once` to say: surely nothing has happened.

    The step may then be done again, and the failure is taken like any other. Any other exception means that
    the outcome is unknown.
    """


class StopSignal(BaseException):
    """Ends this worker's share of a run. Not an `Exception`: `except Exception` in a job does not swallow it.

    Once raised, every later call on the same `Run` raises it again.
    """


class ClaimLost(StopSignal):
    """This worker's claim is lost, or no longer trusted: whatever it does now, another may do as well."""


class OutOfTime(StopSignal):
    """The run's timeout has passed, or the invocation is about to end."""


class Cancelled(StopSignal):
    """An operator cancelled the run."""


class Asleep(StopSignal):
    """The run sleeps. It goes on, from its first line, in an invocation after the recorded instant."""
