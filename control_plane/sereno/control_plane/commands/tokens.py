"""`sereno token issue|list|revoke`."""

from typing import Annotated

import typer

from sereno.control_plane.commands import in_force, listing
from sereno.control_plane.commands.flags import (
    ControlUrl,
    Data,
    ExecutionUrl,
    Json,
    Tenant,
    Token,
    Why,
    control,
    planes,
)
from sereno.control_plane.commands.principals import Who
from sereno.mailbox.cli.client import segment
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

PATH = "/v1/tokens"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    token_group = group(app, "token", "Tokens: by which principals show who they are.")
    token_group.command("issue")(issue)
    token_group.command("list")(list_tokens)
    token_group.command("revoke")(revoke)


def issue(
    principal: Who,
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", help="Narrow it to an action such as read, or to agent:NAME; may be repeated."
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it ends, such as 2027-01-01T00:00:00Z; never, if not given.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Where it is used, for people.")] = None,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Issue a token; its text is printed this once."""
    found = planes(control_url, execution_url, token, data)
    body = {"principal": principal, "scopes": scope or [], "expires": expires, "label": label}
    answer = control(found).post(PATH, body, tenant=tenant)
    behind = in_force.wait(found, {answer["tenant"]: answer["manifest"]})
    if json:
        print_json({**answer, "in_force": behind is None, "hint": behind})
        return
    typer.echo(answer["token"])
    typer.echo(f"shown this once; its id is {answer['id']}")


def list_tokens(
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List the valid tokens, without their text."""
    found = list(listing.every(control(planes(control_url, None, token, data)), PATH, tenant))
    if json:
        print_json(found)
        return
    columns = ("id", "principal", "scopes", "label", "expires", "last used")
    rows = (
        [
            t["id"],
            t["principal"],
            ", ".join(t["scopes"]),
            t["label"],
            listing.local(t["expires"]),
            listing.local(t["last_used_at"]),
        ]
        for t in found
    )
    print_table(columns, rows)


def revoke(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="As `sereno token list` shows it.")],
    *,
    reason: Why,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """End a token for good."""
    found = planes(control_url, execution_url, token, data)
    path = f"{PATH}/{segment(identifier, 'ID')}/revoke"
    answer = control(found).post(path, {"reason": reason}, tenant=tenant)
    behind = in_force.wait(found, {answer["tenant"]: answer["manifest"]})
    if json:
        print_json({**answer, "in_force": behind is None, "hint": behind})
        return
    typer.echo(f"token {identifier} is revoked")
    typer.echo(behind or "in force on the execution plane")
