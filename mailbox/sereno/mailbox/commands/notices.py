"""`sereno notices`: what the platform told people, and what waits for them."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.commands.options import MAX_LIMIT, Data, Json, Tenant, Token, Url, client, print_rows

Inbox = Literal["notify", "question", "review"]
_COLUMNS = ["last_at", "tenant", "inbox", "cause", "count", "text"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("notices")(list_notices)


def list_notices(
    *,
    inbox: Annotated[
        Inbox | None,
        typer.Option(help="Only what a person should know (notify), answer (question) or decide (review)."),
    ] = None,
    only_open: Annotated[bool, typer.Option("--open", help="Only what is not done.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MAX_LIMIT)] = 100,
    tenant: Tenant = None,
    url: Url = None,
    control_url: Annotated[
        str | None, typer.Option("--control-url", help="Address of the control plane.")
    ] = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """List what a person should know, answer or decide about, latest first."""
    known = _of_control(
        control_url, token, data, tenant=tenant, inbox=inbox, only_open=only_open, limit=limit
    )
    if inbox is None and not only_open:
        found = client(url, token, data).get("/v1/notices", tenant=tenant, limit=limit)["notices"]
        known = _merged(known or [], found)[:limit]
    elif known is None:
        raise CommandError("the inbox is kept by the control plane, which does not answer", Exit.UNREACHABLE)
    print_rows({"notices": known}, "notices", _COLUMNS, json)


def _of_control(
    url: str | None, token: str | None, data: Any, *, only_open: bool, **query: Any
) -> list[dict[str, Any]] | None:
    """What the control plane keeps; None while it is away, or where this token may not read there."""
    found = discover(control_url=url, token=token, data=data)
    if found.control_url is None:
        return None
    try:
        answer = Client(*found.control()).get("/v1/notices", open="true" if only_open else None, **query)
    except CommandError as fault:
        if fault.exit_code in {Exit.UNREACHABLE, Exit.REFUSED}:
            return None
        raise
    notices: list[dict[str, Any]] = answer["notices"]
    return notices


def _merged(known: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both, one row a cause: the execution plane's is the newer, the control plane's says what it is for."""
    rows = {(one["tenant"], one["cause"]): one for one in known}
    for one in found:
        key = one["tenant"], one["cause"]
        rows[key] = {**rows.get(key, {}), **one}
    return sorted(rows.values(), key=_latest, reverse=True)


def _latest(row: Mapping[str, Any]) -> str:
    return str(row["last_at"])
