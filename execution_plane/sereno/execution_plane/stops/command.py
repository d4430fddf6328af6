"""`sereno estop on|status|off`: the emergency stop."""

import asyncio
import getpass
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import Discovery, database_address, discover
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

PATH = "/v1/stops"
Held = Literal["deliver", "drop", "review"]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Only this tenant.")]
Agent = Annotated[str | None, typer.Option("--agent", help="Only this agent.")]
Subscription = Annotated[str | None, typer.Option("--subscription", help="Only this subscription.")]
Connector = Annotated[str | None, typer.Option("--connector", help="Only what comes through this connector.")]
Family = Annotated[
    str | None, typer.Option("--family", help="Only sources of this family, such as webhook or time.")
]
Why = Annotated[str, typer.Option("--reason", help="Why; it stays in the history.")]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
ControlUrl = Annotated[str | None, typer.Option("--control-url", help="URL of the control plane.")]
ExecutionUrl = Annotated[str | None, typer.Option("--execution-url", help="URL of the execution plane.")]
Token = Annotated[str | None, typer.Option("--token", help="Bearer token.")]
Data = Annotated[Path | None, typer.Option("--data", help="Data folder of sereno up.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    stop_group = group(app, "estop", "The emergency stop: nothing of its scope is delivered or claimed.")
    stop_group.command("on")(stop)
    stop_group.command("status")(status)
    stop_group.command("off")(release)


def stop(
    *,
    reason: Why,
    tenant: Tenant = None,
    agent: Agent = None,
    subscription: Subscription = None,
    connector: Connector = None,
    family: Family = None,
    direct: Annotated[
        bool, typer.Option("--direct", help="Without the control plane: it records the stop later.")
    ] = False,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Stop everything, or one tenant, agent, subscription, connector or family of sources."""
    found = discover(control_url=control_url, execution_url=execution_url, token=token, data=data)
    body = {**_named(agent, subscription, connector, family), "reason": _said(reason)}
    answer = _direct(found, body, tenant, data) if direct else _ordered(found, body, tenant)
    if json:
        print_json(answer)
    else:
        for one in answer["items"]:
            typer.echo(f"{_words(one['scope'])} is stopped" if one["confirmed"] else _unconfirmed(one))
        for transaction in answer["in_flight"]:
            typer.echo(f"still in flight: {transaction}", err=True)
    if not answer["confirmed"]:
        sentence = "the stop is not confirmed: the data path did not answer for all of it; it is ordered again until it does, or use --direct"
        raise CommandError(sentence, Exit.UNREACHABLE)


def _ordered(found: Discovery, body: Mapping[str, Any], tenant: str | None) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = Client(*found.control()).post(PATH, body, tenant=tenant)
    except CommandError as fault:
        if fault.exit_code is not Exit.UNREACHABLE:
            raise
        hint = f"{fault.message}; nothing is stopped: repeat with --direct, which needs no control plane"
        raise CommandError(hint, Exit.UNREACHABLE) from fault
    return answer


def _direct(
    found: Discovery, body: Mapping[str, Any], tenant: str | None, data: Path | None
) -> dict[str, Any]:
    """Through the execution plane's own endpoint; when that is away too, into its database."""
    try:
        answer = Client(*found.execution()).post(PATH, body, tenant=tenant)
    except CommandError as fault:
        dsn = database_address(data=data) if fault.exit_code is Exit.UNREACHABLE else None
        if dsn is None:
            raise
        answer = asyncio.run(_into_database(dsn, body, tenant))
    items = [{**one, "confirmed": True} for one in answer["stops"]]
    return {"confirmed": not answer["in_flight"], "items": items, "in_flight": answer["in_flight"]}


async def _into_database(dsn: str, body: Mapping[str, Any], tenant: str | None) -> dict[str, Any]:
    from uuid import uuid4  # noqa: PLC0415 - only the last resort needs a database

    from sereno.execution_plane.stops.carrying_out import engage  # noqa: PLC0415
    from sereno.mailbox.engine.postgres import open_pool  # noqa: PLC0415
    from sereno.mailbox.scope import Scope  # noqa: PLC0415
    from sereno.mailbox.stop_orders import Engage  # noqa: PLC0415
    from sereno.subscriptions.models.metadata import DEFAULT_TENANT  # noqa: PLC0415

    named = {key: value for key, value in body.items() if key != "reason"}
    try:
        scope = Scope.chosen(reach="*", home=DEFAULT_TENANT, tenant=tenant, **named)
    except ValueError as fault:
        raise CommandError(str(fault)) from fault
    by = f"os:{getpass.getuser()}"
    pool = await open_pool(dsn, application_name="sereno-estop", max_size=2)
    try:
        done = await engage(pool, Engage(scope=str(scope), id=uuid4(), reason=body["reason"], principal=by))
    finally:
        await pool.close()
    answer: dict[str, Any] = done.model_dump(mode="json")
    return answer


def status(
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show what stands still, by whom and why, and what waits for its end."""
    found = discover(control_url=control_url, execution_url=execution_url, token=token, data=data)
    answer = _standing(found, tenant)
    if json:
        print_json(answer)
        return
    if not answer["items"]:
        typer.echo("nothing is stopped" if answer["confirmed"] else "no stop is recorded")
    else:
        _table(answer)
    if not answer["confirmed"]:
        typer.echo("not confirmed: the data path did not answer for all of it", err=True)


def _standing(found: Discovery, tenant: str | None) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = Client(*found.control()).get(PATH, tenant=tenant)
    except CommandError as fault:
        if fault.exit_code is not Exit.UNREACHABLE:
            raise
        stops = Client(*found.execution()).get(PATH)["stops"]
        return {"confirmed": True, "items": [{**one, "confirmed": True} for one in stops], "in_flight": []}
    return answer


def release(
    *,
    reason: Why,
    tenant: Tenant = None,
    agent: Agent = None,
    subscription: Subscription = None,
    connector: Connector = None,
    family: Family = None,
    held: Annotated[
        Held | None,
        typer.Option(help="What becomes of what waited: delivered (default), dropped, or kept for review."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what waits.")] = False,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show what waits, then let it go on. What was kept for review goes on when this is said once more."""
    client = Client(*discover(control_url=control_url, token=token, data=data).control())
    body = {**_named(agent, subscription, connector, family), "reason": _said(reason)}
    shown = client.post(f"{PATH}/release", {**body, "preview": True}, tenant=tenant)
    if not json:
        _table(shown)
    if not dry_run:
        choice = held or _asked(json=json)
        client.post(f"{PATH}/release", {**body, "held": choice}, tenant=tenant)
        shown = {**shown, "held": choice}
    if json:
        print_json({**shown, "released": not dry_run})
    elif not dry_run:
        for one in shown["items"]:
            typer.echo(f"{_words(one['scope'])} goes on; what waited: {shown['held']}")


def _asked(*, json: bool) -> Held:
    """A person at a terminal is asked, a program is not."""
    if json or not sys.stdin.isatty():
        return "deliver"
    said = typer.prompt("deliver, drop or review what waits", default="deliver")
    for choice in ("deliver", "drop", "review"):
        if said == choice:
            return choice
    raise CommandError(f"expected deliver, drop or review, got {said}")


def _named(*names: str | None) -> dict[str, str]:
    kinds = ("agent", "subscription", "connector", "family")
    return {kind: name for kind, name in zip(kinds, names, strict=True) if name is not None}


def _said(reason: str) -> str:
    if not reason.strip():
        raise CommandError("--reason: expected why, got nothing")
    return reason


def _words(scope: str) -> str:
    return "everything" if scope == "*" else scope


def _unconfirmed(one: Mapping[str, Any]) -> str:
    return f"{_words(one['scope'])}: the stop is recorded, and not confirmed"


def _table(answer: Mapping[str, Any]) -> None:
    columns = (
        "scope",
        "state",
        "by",
        "since",
        "reason",
        "messages",
        "in hand",
        "parked",
        "events",
        "schedules",
    )
    rows = []
    for one in answer["items"]:
        waits = one["backlog"] or {}
        counts = [waits.get(name) for name in ("ready", "leased", "parked", "events", "schedules")]
        state = one["state"] if one["confirmed"] else "not confirmed"
        rows.append([_words(one["scope"]), state, one["by"], one["since"], one["reason"], *counts])
    print_table(columns, rows)
