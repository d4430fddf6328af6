"""`sereno explain`: why an agent woke, and why it did not."""

from pathlib import Path
from typing import Annotated

import typer

from sereno.execution_plane.explain.table import show
from sereno.mailbox.cli.client import Client, segment
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.output import print_json

Json = Annotated[bool, typer.Option("--json", help="print JSON")]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("explain")(explain)


def explain(
    identifier: Annotated[
        str, typer.Argument(metavar="ID", help="rcp_…, msg_…, run_…, sus_…, NAME@INSTANT or an event's id.")
    ],
    *,
    why_not: Annotated[bool, typer.Option("--why-not", help="also what it did not concern")] = False,
    subscription: Annotated[str | None, typer.Option(help="only this subscription")] = None,
    tenant: Annotated[str | None, typer.Option(help="only this tenant")] = None,
    execution_url: Annotated[str | None, typer.Option(help="URL of the execution plane")] = None,
    token: Annotated[str | None, typer.Option(help="bearer token")] = None,
    data: Annotated[Path | None, typer.Option(help="data folder of sereno up")] = None,
    json: Json = False,
) -> None:
    """Say why an agent woke and why it did not, from what was stored when it was decided."""
    url, bearer = discover(execution_url=execution_url, token=token, data=data).execution()
    answer = Client(url, bearer).get(
        f"/v1/explain/{segment(identifier, 'ID')}",
        why_not="true" if why_not else None,
        subscription=subscription,
        tenant=tenant,
    )
    if json:
        print_json(answer)
    else:
        show(answer)
