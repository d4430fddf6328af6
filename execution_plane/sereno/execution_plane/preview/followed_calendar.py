"""`sereno calendar preview --subscription`: what is to come of a calendar that is followed."""

from collections.abc import Mapping
from typing import Any

import typer

from sereno.mailbox.cli.client import Client, segment
from sereno.mailbox.cli.output import print_json, print_table


def show_followed(
    client: Client, subscription: str, *, tenant: str | None, after: str | None, limit: int, json: bool
) -> None:
    """Ask the execution plane and show it."""
    path = f"/v1/calendars/{segment(subscription, '--subscription')}"
    found = client.get(path, tenant=tenant, after=after, limit=limit)
    if json:
        print_json(found)
        return
    rows = [_row(each) for each in found["instants"]]
    if rows:
        print_table(("wakes", "start", "was", "what", "state", "reason"), rows)
    else:
        typer.echo("Nothing is to come, as far as the calendar is known.")
    if found["fault"]:
        typer.echo(f"not read {found['failures']} times: {found['fault']}", err=True)


def _row(each: Mapping[str, Any]) -> list[str | None]:
    what = each["summary"] or each["uid"]
    return [each["fire"], each["start"], each["previous_start"], what, each["state"], each["reason"]]
