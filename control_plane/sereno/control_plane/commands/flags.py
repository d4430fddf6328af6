"""Flags that the commands of the catalog share."""

from pathlib import Path
from typing import Annotated

import typer

from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import Discovery, discover
from sereno.mailbox.cli.exits import CommandError

Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Tenant = Annotated[
    str | None, typer.Option("--tenant", help="Whose objects; the token's own tenant, if not given.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Its metadata.name.")]
Why = Annotated[str, typer.Option("--reason", help="Why; it stays in the history.")]
Files = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", help="File, folder of *.yaml, or - for standard input; default sereno.yaml."
    ),
]
Prune = Annotated[bool, typer.Option("--prune", help="With -l: delete what has the label and is in no file.")]
Label = Annotated[
    str | None, typer.Option("--label", "-l", metavar="KEY[=VALUE]", help="Which objects --prune may delete.")
]
ControlUrl = Annotated[str | None, typer.Option("--control-url", help="URL of the control plane.")]
ExecutionUrl = Annotated[str | None, typer.Option("--execution-url", help="URL of the execution plane.")]
Token = Annotated[str | None, typer.Option("--token", help="Bearer token.")]
Data = Annotated[Path | None, typer.Option("--data", help="Data folder of sereno up.")]


def planes(
    control_url: str | None, execution_url: str | None, token: str | None, data: Path | None
) -> Discovery:
    """Where the planes are, by flags, environment and discovery file."""
    return discover(control_url=control_url, execution_url=execution_url, token=token, data=data)


def control(found: Discovery) -> Client:
    """A client of the control plane. Raises `CommandError` when none is known."""
    return Client(*found.control())


def pruning(*, prune: bool, label: str | None) -> str | None:
    """The label to prune by; each of the two flags needs the other. Raises `CommandError`."""
    if prune != (label is not None):
        raise CommandError("--prune and -l LABEL need each other: nothing is ever deleted without both")
    return label
