"""`sereno calendar preview`: when something is due around the entries of a calendar."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.execution_plane.preview.followed_calendar import show_followed
from sereno.execution_plane.preview.lines import answer_lines
from sereno.execution_plane.preview.schedule_preview import read_text
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_line, print_table
from sereno.subscriptions.recurrence.anchored import Fire, RefusedSeries
from sereno.subscriptions.recurrence.calendar_preview import preview_calendar
from sereno.subscriptions.recurrence.preview import written_instant
from sereno.subscriptions.recurrence.refusal import Refused
from sereno.subscriptions.recurrence.rule_instants import Start


def answer(question: Any) -> dict[str, Any]:
    """The answer to one question in JSON; Refused says why there is none."""
    found = preview_calendar(question)
    answered: dict[str, Any] = {"fires": [_fire(fire) for fire in found.fires]}
    if found.refused:
        answered["refused"] = [_refused(each) for each in found.refused]
    return answered


def _fire(fire: Fire) -> dict[str, Any]:
    recurrence_id = fire.recurrence_id
    return {
        "uid": fire.uid,
        "recurrence_id": None if recurrence_id is None else written_instant(recurrence_id, fire.of),
        "start": written_instant(fire.start, fire.of),
        "fire": written_instant(fire.fire, Start(fire.of.local, fire.of.zone, floating=fire.of.floating)),
    }


def _refused(each: RefusedSeries) -> dict[str, Any]:
    return {"uid": each.uid, "code": each.refusal.code, "message": str(each.refusal)}


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group(app, "calendar", "What is due around the entries of calendars.").command("preview")(
        preview_calendar_file
    )


def preview_calendar_file(
    *,
    ics: Annotated[Path | None, typer.Option(help="iCalendar file")] = None,
    subscription: Annotated[
        str | None, typer.Option(help="instead of a file: what this subscription follows, from the server")
    ] = None,
    anchor: Annotated[str, typer.Option(help="start, end or due")] = "start",
    offset: Annotated[str, typer.Option(help="before or after it, such as -10m")] = "0",
    zone: Annotated[str | None, typer.Option(help="where times without a zone are read")] = None,
    after: Annotated[str | None, typer.Option(help="from when on; now, if not given")] = None,
    before: Annotated[str | None, typer.Option(help="until when")] = None,
    count: Annotated[int, typer.Option(help="how many at most")] = 10,
    tenant: Annotated[str | None, typer.Option(help="of this tenant")] = None,
    execution_url: Annotated[str | None, typer.Option(help="URL of the execution plane")] = None,
    token: Annotated[str | None, typer.Option(help="bearer token")] = None,
    data: Annotated[Path | None, typer.Option(help="data folder of sereno up")] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON; without --ics, one question a line")] = False,
) -> None:
    """Show when something is due around the entries of a calendar; of a file, no server is needed."""
    if subscription is not None:
        if ics is not None:
            raise CommandError("expected one of --ics and --subscription")
        client = Client(*discover(execution_url=execution_url, token=token, data=data).execution())
        show_followed(client, subscription, tenant=tenant, after=after, limit=count, json=json)
        return
    if ics is None:
        if not json:
            raise CommandError("expected --ics FILE, or --json and one question a line")
        answer_lines(sys.stdin.buffer, sys.stdout.buffer, answer)
        return
    question = {
        "ics": read_text(ics),
        "anchor": anchor,
        "offset": offset,
        "tzid": zone,
        "after": after or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "before": before,
        "limit": count,
    }
    try:
        found = answer(question)
    except Refused as refused:
        raise CommandError(str(refused)) from None
    if json:
        print_line(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    if found["fires"]:
        rows = [(each["fire"], each["start"], each["uid"], each["recurrence_id"]) for each in found["fires"]]
        print_table(("fires", "start", "uid", "occurrence"), rows)
    else:
        typer.echo("Nothing is due in this window.")
    for each in found.get("refused", []):
        typer.echo(f"not read: {each['uid']}: {each['message']}", err=True)
