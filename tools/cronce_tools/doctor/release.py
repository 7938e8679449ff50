"""Whether the stack was deployed from the template of the working copy.

If not, that is said once, and everything else is compared with the template that was deployed: what differs
from that one was changed by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from cronce_tools.doctor.aws import Aws, RefusedError
from cronce_tools.doctor.expected import Expected, expected_of
from cronce_tools.doctor.finding import Finding, Level
from cronce_tools.doctor.values import Deployment
from cronce_tools.local.template import Template, TemplateError


@dataclass(frozen=True, kw_only=True, slots=True)
class Releases:
    """What both templates make of a stack.

    Attributes:
        here: by that of the working copy; None: it cannot be read, or asks for what the stack has not.
        deployed: by the one that was deployed; None: likewise, or it was not looked at.
        problem_here: why there is none.
        problem_deployed: why there is none.
        permission: what is missing to look at the deployed one.
    """

    here: Expected | None = None
    deployed: Expected | None = None
    problem_here: str = ""
    problem_deployed: str = ""
    permission: str = ""

    @property
    def expected(self) -> Expected:
        """What is expected of the stack.

        Raises:
            TemplateError: neither template says.
        """
        found = self.deployed or self.here
        if found is None:
            raise TemplateError(
                f"nobody says what is expected of the stack. Here: {self.problem_here}. "
                f"Deployed: {self.problem_deployed or f'needs permission {self.permission}'}"
            )
        return found


def releases(aws: Aws, deployment: Deployment, project: Path) -> Releases:
    """Read both templates."""
    permission = ""

    def deployed() -> Template:
        answer = aws.ask(
            "cloudformation", "get_template", StackName=deployment.stack, TemplateStage="Original"
        )
        body = answer["TemplateBody"]
        return Template.parse(body if isinstance(body, str) else json.dumps(body), "the deployed template")

    here, problem_here = _expected(lambda: Template.load(project / "template.yaml"), deployment)
    there: Expected | None = None
    problem_there = ""
    try:
        there, problem_there = _expected(deployed, deployment)
    except RefusedError as error:
        permission = error.action
    except (ClientError, BotoCoreError) as error:
        problem_there = str(error)
    return Releases(
        here=here,
        deployed=there,
        problem_here=problem_here,
        problem_deployed=problem_there,
        permission=permission,
    )


def _expected(load: Callable[[], Template], deployment: Deployment) -> tuple[Expected | None, str]:
    try:
        return expected_of(load(), deployment), ""
    except TemplateError as error:
        return None, str(error)


def judge_release(_: Expected, facts: Releases) -> Iterator[Finding]:
    """Say once that the stack is of another release, or that nobody could look."""
    if facts.permission or facts.problem_deployed:
        yield Finding(
            what="the deployed template was not looked at: "
            + (f"needs permission {facts.permission}" if facts.permission else facts.problem_deployed),
            why="what is said below to be changed may only be of another release",
            remedy="attach the policy OperatorReadPolicyArn of the stack's outputs",
            level=Level.NOT_LOOKED_AT,
        )
    elif facts.here is None:
        yield _another(facts.problem_here)
    elif facts.deployed is not None and (parts := facts.deployed.differs(facts.here)):
        yield _another(", ".join(parts))


def _another(difference: str) -> Finding:
    return Finding(
        what=f"the stack was deployed from another template than the one here ({difference})",
        why="everything else is compared with the template that was deployed",
        remedy="check out the release that is deployed, or deploy this one: `make deploy`",
        level=Level.HINT,
    )
