"""Commands of operators on schedules: `rebuild schedules` and `schedule check`."""

from typing import Annotated

import typer

from sereno.execution_plane.guard_commands import rebuild_guards
from sereno.execution_plane.listeners import ledger, rebuild
from sereno.execution_plane.preview.schedule_preview import preview_schedule
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.operating import Data, Json, Postgres, address, run
from sereno.mailbox.cli.output import print_json, print_table
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.repair_commands import REBUILD

_APPLICATION = "sereno-schedules"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    schedule = group(app, "schedule", "When schedules fire, and whether they did.")
    schedule.command("preview")(preview_schedule)
    schedule.command("check")(check_schedules)
    rebuilds = group(app, "rebuild", REBUILD)
    rebuilds.command("schedules")(rebuild_schedules)
    rebuilds.command("guards")(rebuild_guards)


def rebuild_schedules(*, postgres: Postgres = None, data: Data = None, json: Json = False) -> None:
    """Derive all schedules from the subscriptions and the history, and show what was different: nothing."""
    found = run(_rebuild(address(postgres, data)))
    shown = [{"tenant": d.tenant, "subscription": d.subscription, "columns": list(d.columns)} for d in found]
    if json:
        print_json({"differences": shown})
        return
    rows = [(each["tenant"], each["subscription"], ", ".join(each["columns"])) for each in shown]
    print_table(("tenant", "subscription", "was different"), rows)
    typer.echo("nothing was different" if not found else f"{len(found)} schedules were derived anew")


def check_schedules(
    *,
    tenant: Annotated[str | None, typer.Option(help="only this tenant")] = None,
    postgres: Postgres = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Prove that every instant that was due is accounted for, once; exit 1 and name each that is not."""
    report = run(_check(address(postgres, data), tenant))
    shown = [
        {
            "tenant": each.tenant,
            "subscription": each.subscription,
            "kind": each.finding.kind,
            "instant": f"{each.finding.instant:%Y-%m-%dT%H:%M:%SZ}",
            "message": each.finding.message,
        }
        for each in report.found
    ]
    if json:
        counts = {
            "schedules": report.schedules,
            "calendars": report.calendars,
            "instants": report.instants,
            "ends": dict(report.ends),
        }
        print_json({**counts, "findings": shown})
    else:
        print_table(
            ("tenant", "subscription", "what", "instant", "why"), [list(row.values()) for row in shown]
        )
        ends = ", ".join(f"{count} {end}" for end, count in report.ends.most_common())
        watched = f"{report.schedules} schedules, {report.calendars} calendars"
        typer.echo(f"{watched}, {report.instants} instants{': ' if ends else ''}{ends}")
    if shown:
        raise CommandError(f"{len(shown)} instants are not accounted for", Exit.FAULT)


async def _rebuild(dsn: str) -> list[rebuild.Difference]:
    async with await open_pool(dsn, application_name=_APPLICATION, max_size=1) as pool:
        return await rebuild.rebuild(pool)


async def _check(dsn: str, tenant: str | None) -> ledger.Report:
    async with await open_pool(dsn, application_name=_APPLICATION, max_size=1) as pool:
        return await ledger.check(pool, tenant)
