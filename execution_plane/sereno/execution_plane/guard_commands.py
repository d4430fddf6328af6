"""The command of operators on guard state: `rebuild guards`."""

from typing import Annotated

import typer

from sereno.execution_plane.pipeline import rebuilding
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.operating import Data, Json, Postgres, address, run
from sereno.mailbox.cli.output import print_json, print_table
from sereno.mailbox.engine.postgres import open_pool


def rebuild_guards(
    *,
    check: Annotated[bool, typer.Option("--check", help="Only compare; change nothing.")] = False,
    postgres: Postgres = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Fold what the guards remember out of their decisions again, and put right what differs from it.

    Deciding waits meanwhile.
    """
    rebuilt = run(_rebuild(address(postgres, data), check=check))
    mended, differences = list(map(_shown, rebuilt.mended)), list(map(_shown, rebuilt.differences))
    if json:
        print_json({"mended": mended, "differences": differences})
    elif mended or differences:
        print_table(
            ["table", "tenant", "name", "columns"], [list(row.values()) for row in differences or mended]
        )
    if differences:
        raise CommandError(f"{len(differences)} rows differ from what the log tells", Exit.FAULT)
    if not json:
        put_right = f"{len(mended)} rows were put right; " if mended else ""
        typer.echo(f"{put_right}the guards remember what the log tells")


def _shown(one: rebuilding.Difference) -> dict[str, object]:
    return {"table": one.table, "tenant": one.tenant, "name": one.name, "columns": list(one.columns)}


async def _rebuild(dsn: str, *, check: bool) -> rebuilding.Rebuilt:
    async with await open_pool(dsn, application_name="sereno-guards", max_size=1) as pool:
        if check:
            return rebuilding.Rebuilt([], await rebuilding.compare(pool))
        return await rebuilding.rebuild(pool)
