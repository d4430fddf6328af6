"""Commands of operators on the database of the mailbox: `rebuild mailbox` and `restore`."""

from typing import Annotated

import typer

from sereno.mailbox import epoch, rebuild
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.operating import Data, Json, Postgres, address, run
from sereno.mailbox.cli.output import print_json, print_table
from sereno.mailbox.engine.postgres import open_pool

REBUILD = "Derive again what is derived."
_APPLICATION = "sereno-repair"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group(app, "rebuild", REBUILD).command("mailbox")(rebuild_mailbox)
    app.command("restore")(restore)


def rebuild_mailbox(
    *,
    check: Annotated[bool, typer.Option("--check", help="Only compare; change nothing.")] = False,
    postgres: Postgres = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Fold where messages stand out of the log again beside what is in use, and put right what differs from it."""
    rebuilt = run(_rebuild(address(postgres, data), check=check))
    mended, differences = list(map(_shown, rebuilt.mended)), list(map(_shown, rebuilt.differences))
    if json:
        print_json({"mended": mended, "differences": differences})
    elif mended or differences:
        print_table(["table", "tenant", "id", "columns"], [list(r.values()) for r in differences or mended])
    if differences:
        raise CommandError(f"{len(differences)} rows differ from what the log tells", Exit.FAULT)
    if not json:
        typer.echo(
            f"{len(mended)} rows were put right; everything stands as the log tells"
            if mended
            else "Everything stands as the log tells"
        )


def _shown(one: rebuild.Difference) -> dict[str, object]:
    return {"table": one.table, "tenant": one.key[0], "id": str(one.key[1]), "columns": _columns(one)}


def restore(*, postgres: Postgres = None, data: Data = None, json: Json = False) -> None:
    """Say that this database was restored or promoted, so that no token of a lease is ever given out twice."""
    raised = run(_restore(address(postgres, data)))
    if json:
        print_json({"epoch": raised})
    else:
        typer.echo(
            f"The epoch of tokens is {raised}: no token that was given out before will be given again."
        )


def _columns(one: rebuild.Difference) -> list[str]:
    if one.before is None or one.after is None:
        return ["missing" if one.before is None else "unexpected"]
    return [name for name, value in one.after.items() if one.before.get(name) != value]


async def _rebuild(dsn: str, *, check: bool) -> rebuild.Rebuilt:
    async with await open_pool(dsn, application_name=_APPLICATION, max_size=1) as pool:
        return rebuild.Rebuilt([], await rebuild.compare(pool)) if check else await rebuild.rebuild(pool)


async def _restore(dsn: str) -> int:
    async with await open_pool(dsn, application_name=_APPLICATION, max_size=1) as pool:
        return await epoch.raise_epoch(pool)
