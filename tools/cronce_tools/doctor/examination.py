"""One examination of a stack: every check is made, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from cronce.core.errors import CronceError, StoreError
from cronce_tools.cli.exits import UnreachableError
from cronce_tools.cli.stacks import Reached
from cronce_tools.doctor.aws import Aws, RefusedError, TooManyError, action_of, code_of, is_refusal
from cronce_tools.doctor.checks import CHECKS
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.place import AnyCheck, Place
from cronce_tools.doctor.release import releases
from cronce_tools.doctor.values import Deployment
from cronce_tools.local.template import TemplateError

POLICY = "attach the policy OperatorReadPolicyArn of the stack's outputs"
LOCALLY = ("`make deploy`", "`make local-update`")
"""What a remedy names, and what is said of the stack of `make local` in its place."""
UNKNOWN = frozenset(
    {"UnknownOperationException", "InvalidAction", "UnsupportedOperation", "NotImplemented", "501"}
)
"""How local AWS says that it does not know a call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What an examination came to.

    Attributes:
        checks: names of the checks that were made.
        findings: in the order of the checks.
    """

    checks: Sequence[str]
    findings: Sequence[Finding]

    @property
    def is_well(self) -> bool:
        """Whether there is nothing but hints."""
        return not any(each.level.counts for each in self.findings)


def place_of(stack: Reached, project: Path) -> Place:
    """Gather what all checks need.

    Raises:
        UnreachableError: the stack's resources may not be listed, or nobody says what is expected of it.
    """
    aws = Aws(client=stack.client)
    try:
        deployment = Deployment(
            stack=stack.name,
            parameters=stack.parameters,
            names={
                each["LogicalResourceId"]: each["PhysicalResourceId"]
                for page in aws.pages("cloudformation", "list_stack_resources", StackName=stack.name)
                for each in page["StackResourceSummaries"]
                if each.get("PhysicalResourceId") and not each["ResourceStatus"].startswith("DELETE_")
            },
        )
        both = releases(aws, deployment, project)
        expected = both.expected
    except RefusedError as error:
        raise UnreachableError(
            f"nothing can be looked at without the permission {error.action}: {POLICY}"
        ) from None
    except TemplateError as error:
        raise UnreachableError(str(error)) from None
    return Place(
        aws=aws,
        deployment=deployment,
        releases=both,
        expected=expected,
        operator=stack.operator,
        project=project,
        now=stack.operator.clock.now(),
        is_local=stack.is_local,
    )


def examine(
    place: Place, progress: Callable[[str], None] = lambda _: None, checks: Sequence[AnyCheck] = CHECKS
) -> Report:
    """Make all checks.

    Args:
        place: the stack.
        progress: told the name of each check as it begins.
        checks: which ones.
    """
    findings = []
    for check in checks:
        progress(check.name)
        findings += [
            replace(each, check=check.name, remedy=_remedy(each, place)) for each in _made(check, place)
        ]
    return Report(checks=[check.name for check in checks], findings=findings)


def _remedy(finding: Finding, place: Place) -> str:
    """What helps, as it is done there."""
    return finding.remedy.replace(*LOCALLY) if place.is_local else finding.remedy


def _made(check: AnyCheck, place: Place) -> Iterator[Finding]:
    if check.is_real_only and place.is_local:
        yield _unseen(check, "not known here: local AWS does nothing with it", "deploy to AWS", Level.HINT)
        return
    try:
        facts = check.look(place)
    except TooManyError as error:
        yield _unseen(check, f"not all was looked at: {error}", "look in the console", Level.HINT)
    except TemplateError as error:
        yield _unseen(check, f"not looked at: {error}", "look at the stack in CloudFormation")
    except (RefusedError, ClientError, BotoCoreError, CronceError) as error:
        yield _not_seen(check, error)
    else:
        yield from check.judge(place.expected, facts)


def _not_seen(check: AnyCheck, error: Exception) -> Finding:
    cause = error.__cause__ if isinstance(error, StoreError) else error
    if isinstance(cause, RefusedError):
        return _unseen(check, f"not looked at: needs permission {cause.action}", POLICY)
    if isinstance(cause, ClientError) and is_refusal(cause):
        return _unseen(check, f"not looked at: needs permission {action_of('dynamodb', cause)}", POLICY)
    if isinstance(cause, ClientError) and code_of(cause) in UNKNOWN:
        return _unseen(check, f"not known here: {error}", "deploy to AWS", Level.HINT)
    return _unseen(check, f"not looked at: {' '.join(str(error).split())}", "try again")


def _unseen(check: AnyCheck, text: str, remedy: str, level: Level = Level.NOT_LOOKED_AT) -> Finding:
    return Finding(what=text, why=check.why, remedy=remedy, level=level)
