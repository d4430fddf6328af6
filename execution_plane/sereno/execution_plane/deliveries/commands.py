"""`sereno webhook deliveries|redeliver`."""

from datetime import datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from sereno.execution_plane.preview.webhook_verify import verify
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
ExecutionUrl = Annotated[str | None, typer.Option(help="URL of the execution plane")]
Token = Annotated[str | None, typer.Option(help="bearer token")]
Data = Annotated[Path | None, typer.Option(help="data folder of sereno up")]
_COLUMNS = ("id", "received", "endpoint", "verdict", "status", "reason", "ms", "receipts")


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    webhook = group(app, "webhook", "Webhooks: where outside systems tell us what happened.")
    webhook.command("verify")(verify)
    webhook.command("deliveries")(deliveries)
    webhook.command("redeliver")(redeliver)


def deliveries(
    *,
    endpoint: Annotated[str | None, typer.Option(help="only this endpoint's")] = None,
    verdict: Annotated[str | None, typer.Option(help="only with this verdict, such as refused")] = None,
    before: Annotated[str | None, typer.Option(help="older than this delivery")] = None,
    limit: Annotated[int, typer.Option(help="how many at most")] = 20,
    tenant: Annotated[str | None, typer.Option(help="only this tenant")] = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show what came to the webhook endpoints, also what was refused and why."""
    url, bearer = discover(execution_url=execution_url, token=token, data=data).execution()
    query = {"endpoint": endpoint, "verdict": verdict, "before": before, "limit": limit, "tenant": tenant}
    found = Client(url, bearer).get("/v1/deliveries", **query)
    if json:
        print_json(found)
        return
    rows = (
        [
            one["id"],
            datetime.fromisoformat(one["received"]).astimezone().isoformat(sep=" ", timespec="seconds"),
            one["endpoint"],
            one["verdict"],
            one["status"],
            one["reason"],
            f"{one['latency_ms']:.1f}",
            " ".join(one["receipts"]),
        ]
        for one in found["items"]
    )
    print_table(_COLUMNS, rows)


def redeliver(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="dlv_… or rcp_…")],
    *,
    force: Annotated[bool, typer.Option("--force", help="also when it is a duplicate")] = False,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Deliver a stored event again under a new receipt; --force passes over the guard against duplicates."""
    url, bearer = discover(execution_url=execution_url, token=token, data=data).execution()
    path = f"/v1/deliveries/{quote(identifier, safe='')}/redeliver"
    done = Client(url, bearer).post(path, {"force": force})
    if json:
        print_json(done)
        return
    for one in done["receipts"]:
        typer.echo(f"{one['id']} repeats {one['of']}{' (forced)' if done['forced'] else ''}")
