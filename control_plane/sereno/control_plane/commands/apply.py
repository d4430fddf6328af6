"""`sereno apply`."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sereno.control_plane.commands import files, in_force
from sereno.control_plane.commands.flags import (
    ControlUrl,
    Data,
    ExecutionUrl,
    Files,
    Json,
    Label,
    Prune,
    Token,
    planes,
    pruning,
)
from sereno.mailbox.cli.client import Client, ProblemError
from sereno.mailbox.cli.output import print_json, print_table

ANSWERED_WITHIN_SECONDS = 160.0
"""Labelled events are judged again before an edited criterion goes live."""
_COLUMNS = ("kind", "tenant", "name", "id", "version", "state", "change")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(apply)


def apply(
    file: Files = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, change nothing.")
    ] = False,
    prune: Prune = False,
    label: Label = None,
    revive: Annotated[
        bool, typer.Option("--revive", help="Take deleted names again; needs --reason.")
    ] = False,
    without_replay: Annotated[
        bool,
        typer.Option(
            "--without-replay",
            help="Do not judge labelled events again before an edited criterion goes live.",
        ),
    ] = False,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; it stays in the history.")] = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Make the catalog be as the files say: all of it in one transaction, or nothing."""
    selected = pruning(prune=prune, label=label)
    found = planes(control_url, execution_url, token, data)
    read = files.read(file)
    body = {
        "documents": read.text,
        "dry_run": dry_run,
        "prune": selected,
        "revive": revive,
        "without_replay": without_replay,
        "reason": reason,
    }
    try:
        answer = Client(*found.control(), timeout=ANSWERED_WITHIN_SECONDS).post("/v1/apply", body)
    except ProblemError as refusal:
        raise read.explained(refusal) from refusal
    behind = None if dry_run else in_force.wait(found, answer["manifest"])
    if json:
        print_json({**answer, "in_force": None if dry_run else behind is None, "hint": behind})
        return
    _show(answer, dry_run=dry_run)
    if not dry_run:
        typer.echo(behind or "in force on the execution plane")


def _show(answer: Mapping[str, Any], *, dry_run: bool) -> None:
    objects = answer["objects"]
    print_table(_COLUMNS, ([known[column] for column in _COLUMNS] for known in objects))
    for known in objects:
        if known["url"]:
            typer.echo(f"{known['name']}: {known['url']}")
    if dry_run:
        typer.echo("nothing was changed (--dry-run)")
