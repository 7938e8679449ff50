"""The `cronce` command: its global options and its commands.

What a command does is loaded only when it is called, so that `cronce --help` comes at once.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cronce_tools.cli.call import PROJECT, Call, Choice
from cronce_tools.cli.commands import author, examine, operate, read
from cronce_tools.cli.exits import Exit
from cronce_tools.cli.group import Commands
from cronce_tools.cli.output import Output

HELP = """Ask and operate a stack of cronce, and look after its jobs.

Which stack: --stack, --env or --local; else CRONCE_STACK; else the stack of `make local` if it runs; else the
section dev of samconfig.toml. Options that stand here may stand anywhere.

Exit codes: 0 yes or done, 1 no or refused, 2 wrong use, 3 the stack cannot be asked, 4 a mistake in this
command.
"""

app = typer.Typer(
    cls=Commands,
    help=HELP,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: in a pipe too, and in a third of the time
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.callback()
def everywhere(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    *,
    stack: Annotated[str | None, typer.Option(metavar="NAME", help="The stack, by its name.")] = None,
    env: Annotated[
        str | None, typer.Option(metavar="ENV", help="The stack of a section of samconfig.toml.")
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="The stack of `make local`.")] = False,
    region: Annotated[str | None, typer.Option(metavar="REGION", help="Where the stack is.")] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="A profile of the AWS configuration.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")] = False,
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who does it, if not the caller of AWS.")
    ] = None,
    project: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="The working copy, if not the one of this command.", show_default=False
        ),
    ] = PROJECT,
) -> None:
    """What every command knows."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(Exit.USAGE)
    context.obj = Call(
        choice=Choice(
            stack=stack, env=env, local=local, region=region, profile=profile, environment=dict(os.environ)
        ),
        project=project.resolve(),
        by=by,
        output=Output(as_json=as_json),
    )


read.add_to(app)
operate.add_to(app)
examine.add_to(app)
author.add_to(app)
