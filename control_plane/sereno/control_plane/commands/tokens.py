"""`sereno token issue|list|revoke`."""

from typing import Annotated

import typer

from sereno.control_plane.commands import in_force, listing, stepping
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import (
    Why,
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


@asks
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
    call: Call,
) -> None:
    """Issue a token; its text is printed this once."""
    body = {"principal": principal, "scopes": scope or [], "expires": expires, "label": label}
    answer = call.client.post(PATH, body, tenant=call.tenant)
    behind = in_force.wait(call.found, {answer["tenant"]: answer["manifest"]})
    if call.json:
        print_json({**answer, "in_force": behind is None, "hint": behind})
        return
    typer.echo(answer["token"])
    typer.echo(f"shown this once; its id is {answer['id']}")


@asks
def list_tokens(
    *,
    call: Call,
) -> None:
    """List the valid tokens, without their text."""
    found = list(listing.every(call.client, PATH, call.tenant))
    if call.json:
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


@asks
def revoke(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="As `sereno token list` shows it.")],
    *,
    reason: Why,
    call: Call,
) -> None:
    """End a token for good."""
    path = f"{PATH}/{segment(identifier, 'ID')}/revoke"
    answer = call.client.post(path, {"reason": reason}, tenant=call.tenant)
    stepping.told(call.found, answer, f"token {identifier} is revoked", json=call.json)
