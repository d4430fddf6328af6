"""`sereno notices`: what the platform told the owners."""

from typing import Annotated

import typer

from sereno.mailbox.commands.options import MAX_LIMIT, Data, Json, Tenant, Token, Url, client, print_rows


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("notices")(list_notices)


def list_notices(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MAX_LIMIT)] = 100,
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """List what a person should know, latest first."""
    answer = client(url, token, data).get("/v1/notices", tenant=tenant, limit=limit)
    print_rows(answer, "notices", ["last_at", "tenant", "cause", "count", "text"], json)
