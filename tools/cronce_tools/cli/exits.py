"""How the command ends: its exit codes, and what is said of an error in one line.

Nobody ever sees a traceback, unless they ask for it with CRONCE_TRACEBACK=1.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.exceptions import ClientError


class Exit(IntEnum):
    """Exit codes. They are part of the command's contract: docs/operations.md lists them."""

    YES = 0
    """Done; yes; all is well."""
    NO = 1
    """Refused; no; something is wrong."""
    USAGE = 2
    """It cannot be asked so: a wrong option, date or name; no such job or run."""
    UNREACHABLE = 3
    """The stack cannot be asked: not found, no credentials, no permission, no answer."""
    BUG = 4
    """The command itself failed."""
    STOPPED = 130
    """Ctrl-C."""


class UsageError(Exception):
    """What was asked makes no sense, or names what is not there. The message is one line."""


class UnreachableError(Exception):
    """The stack cannot be asked. The message is one line, and says what helps."""


EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
INVALID = frozenset(
    {
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
    }
)
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
TRACEBACK = "CRONCE_TRACEBACK"
"""Variable that asks for the traceback."""
POLICIES = "the policies OperatorReadPolicyArn and OperatorWritePolicyArn in the stack's outputs allow it"
LOG_IN = "log in (`aws sso login`, `aws configure`) or set AWS_PROFILE"


def explained(error: Exception) -> tuple[Exit, str]:
    """Exit code and one line for an error."""
    code, text = _explained(error)
    return code, " ".join(text.split())


def _explained(error: Exception) -> tuple[Exit, str]:
    if isinstance(error, UnreachableError):
        return Exit.UNREACHABLE, str(error)
    if isinstance(error, UsageError):
        return Exit.USAGE, str(error)
    from cronce.core import errors  # noqa: PLC0415 - who is well pays nothing for what may go wrong

    if isinstance(error, errors.JobNotFoundError | errors.DefinitionError):
        return Exit.USAGE, str(error)
    cause = error.__cause__ if isinstance(error, errors.StoreError) else error
    if type(cause).__module__.startswith("botocore."):
        return Exit.UNREACHABLE, _of_aws(cause, str(error))
    if isinstance(error, errors.StoreError):
        return Exit.UNREACHABLE, str(error)
    if isinstance(error, errors.CronceError):
        return Exit.NO, str(error)
    return Exit.BUG, f"a mistake in this command: {type(error).__name__}: {error} ({TRACEBACK}=1 shows where)"


def _of_aws(error: BaseException | None, text: str) -> str:
    """What AWS said, or that it said nothing, in words that help."""
    from botocore import exceptions  # noqa: PLC0415 - it is loaded already, or nothing came of it

    if isinstance(error, exceptions.ClientError):
        return _of_answer(error, text)
    if isinstance(
        error,
        exceptions.NoCredentialsError
        | exceptions.PartialCredentialsError
        | exceptions.CredentialRetrievalError,
    ):
        return f"no AWS credentials: {LOG_IN} ({error})"
    if isinstance(error, exceptions.NoRegionError):
        return "no Region: give --region, or set AWS_DEFAULT_REGION"
    if isinstance(error, exceptions.ProfileNotFound | exceptions.ConfigParseError):
        return str(error)
    if isinstance(error, exceptions.SSOError | exceptions.TokenRetrievalError):
        return f"the login has expired: {LOG_IN} ({error})"
    if isinstance(error, exceptions.HTTPClientError | exceptions.ConnectionError):
        return f"AWS does not answer: {error}"
    return f"AWS cannot be asked: {text}"


def _of_answer(error: ClientError, text: str) -> str:
    answer = error.response.get("Error", {})
    code, message = answer.get("Code", ""), answer.get("Message", "")
    if code in EXPIRED:
        return f"the AWS credentials have expired: {LOG_IN}"
    if code in INVALID:
        return f"AWS does not accept these credentials: {LOG_IN} ({message})"
    if code in DENIED:
        return f"access denied: {message} ({POLICIES})"
    if code == "ResourceNotFoundException":
        return f"a table of the stack is gone: {text}"
    return f"AWS refused: {text}"
