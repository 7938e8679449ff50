"""A deployed stack as the command reaches it: what CloudFormation says of it, and its stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session

from cronce.aws.settings import RETENTION_DAYS, StoreSettings
from cronce.bootstrap.operator import Access, Operator, operator
from cronce.core.errors import JobNotFoundError
from cronce.core.job import Job
from cronce.core.jobstate import JobState
from cronce_tools.cli.exits import UnreachableError
from cronce_tools.cli.murmur import Murmur
from cronce_tools.cli.stack_choice import Target

NEEDED = ("RunsTableName", "StepsTableName")
"""Outputs that tell a stack of cronce from others."""
PATIENCE = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 3})
OWNER = "test"
"""Key and secret of local AWS's owner."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """A stack that can be asked.

    Attributes:
        name: of the stack.
        region: where it is.
        is_local: it is the one of `make local`.
        outputs: of the template, by name.
        parameters: of the template, by name.
        session: of botocore, as its clients are made.
        endpoint_url: of local AWS.
        operator: its commands.
        job_of: the code of a job, as far as it is here.
    """

    name: str
    region: str
    is_local: bool
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    session: Session
    endpoint_url: str | None
    operator: Operator
    job_of: Callable[[str], Job | None]

    def job(self, name: str) -> JobState:
        """One job, also one that is gone from the deployment.

        Raises:
            JobNotFoundError: it is not known; if its code is here, the message says when it will be.
        """
        try:
            return self.operator.inquiry.job(name)
        except JobNotFoundError as error:
            if self.job_of(name) is None:
                raise
            raise JobNotFoundError(
                f"no tick of {self.place} has seen job {name!r} yet, which the working copy declares: "
                "if it is deployed, wait for the next full minute"
            ) from error

    @property
    def retention(self) -> timedelta:
        """How long records are kept."""
        return retention_of(self.parameters)

    @property
    def place(self) -> str:
        """The stack and where it is, for people."""
        return f"{self.name} ({'local AWS' if self.is_local else self.region})"

    def client(self, service: str) -> Any:
        """A client of the stack's account and Region."""
        return self.session.create_client(service, endpoint_url=self.endpoint_url, config=PATIENCE)


def retention_of(parameters: Mapping[str, str]) -> timedelta:
    """How long records are kept, by the template's parameters."""
    return timedelta(days=int(parameters.get("RetentionDays") or RETENTION_DAYS))


def reach(target: Target, job_of: Callable[[str], Job | None]) -> Reached:
    """Find a stack.

    Args:
        target: which one.
        job_of: the code of a job, as far as it is there.

    Raises:
        UnreachableError: there is no such stack, or it is not one of cronce.
        BotoCoreError: no credentials, no Region, no answer.
        ClientError: AWS refused.
    """
    session, endpoint = _session(target), target.endpoint
    url = endpoint.url if endpoint else None
    client = session.create_client("cloudformation", endpoint_url=url, config=PATIENCE)
    region = str(client.meta.region_name)
    described = _described(client, target.stack, region)
    outputs = {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", ())}
    parameters = {
        each["ParameterKey"]: each.get("ParameterValue", "") for each in described.get("Parameters", ())
    }
    if not all(outputs.get(name) for name in NEEDED):
        raise UnreachableError(
            f"the stack {target.stack} in {region} ({described.get('StackStatus', 'no state')}) has no "
            f"output {NEEDED[0]}: it is not one of cronce, or its deployment failed"
        )
    store = StoreSettings(
        runs_table=outputs["RunsTableName"],
        steps_table=outputs["StepsTableName"],
        retention=retention_of(parameters),
    )
    return Reached(
        name=target.stack,
        region=region,
        is_local=endpoint is not None,
        outputs=outputs,
        parameters=parameters,
        session=session,
        endpoint_url=url,
        operator=operator(
            Access(session=session, endpoint_url=url, store=store, telemetry=Murmur(), job_of=job_of)
        ),
        job_of=job_of,
    )


def _session(target: Target) -> Session:
    """A session with the Region and credentials that the target asks for."""
    session = Session(profile=target.profile)
    if target.region:
        session.set_config_variable("region", target.region)
    if target.guessed and session.get_config_variable("region") is None:
        raise UnreachableError(
            f"which stack? `make local` does not run, and nothing says in which Region {target.stack} is: "
            "start it, or give --stack or --env with --region"
        )
    if target.endpoint:
        session.set_credentials(OWNER, OWNER)
    return session


def _described(client: Any, stack: str, region: str) -> Mapping[str, Any]:
    try:
        answer = client.describe_stacks(StackName=stack)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "ValidationError":
            raise UnreachableError(
                f"there is no stack {stack} in {region}: give --stack, --env or --region"
            ) from None
        raise
    found: Mapping[str, Any] = answer["Stacks"][0]
    return found
