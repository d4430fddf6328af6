"""`sereno diff`."""

from collections.abc import Mapping
from typing import Any

import orjson
import typer

from sereno.control_plane.commands import files
from sereno.control_plane.commands.flags import (
    ControlUrl,
    Data,
    Files,
    Json,
    Label,
    Prune,
    Token,
    control,
    planes,
    pruning,
)
from sereno.mailbox.cli.client import ProblemError
from sereno.mailbox.cli.output import print_json

DRIFT = 1


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(diff)


def diff(
    file: Files = None,
    *,
    prune: Prune = False,
    label: Label = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show where the catalog differs from the files; exit 1 when it does."""
    selected = pruning(prune=prune, label=label)
    read = files.read(file)
    try:
        client = control(planes(control_url, None, token, data))
        answer = client.post("/v1/diff", {"documents": read.text, "prune": selected})
    except ProblemError as refusal:
        raise read.explained(refusal) from refusal
    if json:
        print_json(answer)
    else:
        _show(answer["changes"])
    if answer["changes"]:
        raise typer.Exit(DRIFT)


def _show(changes: list[Mapping[str, Any]]) -> None:
    if not changes:
        typer.echo("the catalog is as the files say")
    for change in changes:
        typer.echo(
            f"{change['kind']} {change['name']} (tenant {change['tenant']}) would be {change['change']}"
        )
        for field in change["fields"]:
            typer.echo(f"  {field['path']}: {_value(field['before'])} -> {_value(field['after'])}")


def _value(value: Any) -> str:
    return "absent" if value is None else orjson.dumps(value).decode()
