"""`sereno rebuild catalog`."""

from typing import Annotated

import typer

from sereno.control_plane.rebuilding import Difference, rebuild
from sereno.control_plane.store.engine import open_engine
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.operating import Data, Json, Postgres, address, run
from sereno.mailbox.cli.output import print_json, print_table
from sereno.mailbox.repair_commands import REBUILD

_APPLICATION = "sereno-catalog"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group(app, "rebuild", REBUILD).command("catalog")(rebuild_catalog)


def rebuild_catalog(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Only compare; exit 1 when something differs.")
    ] = False,
    postgres: Postgres = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Derive the catalog from its events again, and show what was different: nothing."""
    found = run(_rebuild(address(postgres, data), check=check))
    shown = [
        {"tenant": d.address.tenant, "kind": d.address.kind, "name": d.address.name, "fields": list(d.fields)}
        for d in found
    ]
    if json:
        print_json({"differences": shown})
    else:
        if shown:
            rows = [(d["name"], d["kind"], d["tenant"], ", ".join(d["fields"])) for d in shown]
            print_table(("name", "kind", "tenant", "was different"), rows)
        done = "differ from their events" if check else "were derived anew"
        typer.echo("nothing was different" if not shown else f"{len(shown)} objects {done}")
    if check and shown:
        raise typer.Exit(Exit.FAULT)


async def _rebuild(dsn: str, *, check: bool) -> list[Difference]:
    engine = open_engine(dsn, application_name=_APPLICATION)
    try:
        return await rebuild(engine, check=check)
    finally:
        await engine.dispose()
