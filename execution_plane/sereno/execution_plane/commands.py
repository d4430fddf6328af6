"""The commands of the execution plane: `simulate`, `explain`, `schedule`, `calendar`, `envelope`, `types list`."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from sereno.envelope.types import CATALOGUE
from sereno.execution_plane.envelope_check import envelope
from sereno.execution_plane.explain.table import show
from sereno.execution_plane.preview.calendar_preview import calendar
from sereno.execution_plane.preview.schedule_preview import schedule
from sereno.execution_plane.simulate.command import simulate
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.output import print_json, print_table

Json = Annotated[bool, typer.Option("--json", help="print JSON")]

types = typer.Typer(help="The event types that the platform itself emits.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this part to the `sereno` command."""
    app.command("simulate")(simulate)
    app.command("explain")(explain)
    app.add_typer(schedule, name="schedule")
    app.add_typer(calendar, name="calendar")
    app.add_typer(envelope, name="envelope")
    app.add_typer(types, name="types")


def explain(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="rcp_… or msg_…")],
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
        f"/v1/explain/{quote(identifier, safe='')}",
        why_not="true" if why_not else None,
        subscription=subscription,
        tenant=tenant,
    )
    if json:
        print_json(answer)
    else:
        show(answer)


@types.command("list")
def list_types(json: Json = False) -> None:
    """List the event types that the platform itself emits."""
    if json:
        print_json([{"name": t.name, "family": t.family, "description": t.description} for t in CATALOGUE])
    else:
        print_table(("type", "family", "description"), [(t.name, t.family, t.description) for t in CATALOGUE])
