"""The commands of the execution plane: `simulate`, `explain`, `schedule`, `calendar`, `envelope`, `types list`, its repairs."""

from pathlib import Path
from typing import Annotated

import typer

from sereno.envelope.types import CATALOGUE
from sereno.execution_plane.deliveries.commands import deliveries, redeliver
from sereno.execution_plane.envelope_check import envelope
from sereno.execution_plane.explain.table import show
from sereno.execution_plane.preview.calendar_preview import calendar
from sereno.execution_plane.preview.schedule_preview import schedule
from sereno.execution_plane.preview.webhook_verify import verify
from sereno.execution_plane.schedule_commands import check_schedules, rebuild_schedules
from sereno.execution_plane.simulate.calibrate_command import calibrate_subscription
from sereno.execution_plane.simulate.command import simulate
from sereno.execution_plane.usage.command import usage
from sereno.mailbox.cli.client import Client, segment
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.output import print_json, print_table
from sereno.mailbox.repair_commands import rebuild_group

Json = Annotated[bool, typer.Option("--json", help="print JSON")]

types = typer.Typer(help="The event types that the platform itself emits.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this part to the `sereno` command."""
    app.command("simulate")(simulate)
    app.command("explain")(explain)
    app.command("usage")(usage)
    app.command("calibrate")(calibrate_subscription)
    schedule.command("check")(check_schedules)
    rebuild_group.command("schedules")(rebuild_schedules)
    app.add_typer(schedule, name="schedule")
    app.add_typer(calendar, name="calendar")
    app.add_typer(envelope, name="envelope")
    app.add_typer(types, name="types")
    webhook = _group(app, "webhook", "Webhooks: where outside systems tell us what happened.")
    webhook.command("verify")(verify)
    webhook.command("deliveries")(deliveries)
    webhook.command("redeliver")(redeliver)


def _group(app: typer.Typer, name: str, about: str) -> typer.Typer:
    """The group of this name; another part may have begun it."""
    for known in app.registered_groups:
        if known.name == name and known.typer_instance is not None:
            return known.typer_instance
    group = typer.Typer(help=about, no_args_is_help=True)
    app.add_typer(group, name=name)
    return group


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


@types.command("list")
def list_types(json: Json = False) -> None:
    """List the event types that the platform itself emits."""
    if json:
        print_json([{"name": t.name, "family": t.family, "description": t.description} for t in CATALOGUE])
    else:
        print_table(("type", "family", "description"), [(t.name, t.family, t.description) for t in CATALOGUE])
