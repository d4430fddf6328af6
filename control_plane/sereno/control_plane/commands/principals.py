"""`sereno principal add|list|show|edit|suspend|resume|remove` and `sereno whoami`."""

from typing import Annotated, Any

import typer

from sereno.control_plane.commands import in_force, listing
from sereno.control_plane.commands.flags import (
    ControlUrl,
    Data,
    ExecutionUrl,
    Json,
    Tenant,
    Token,
    Why,
    control,
    planes,
)
from sereno.mailbox.cli.client import segment
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

PATH = "/v1/principals"
Who = Annotated[
    str, typer.Argument(metavar="PRINCIPAL", help="Such as user:marta, service:crm, node:edge-1.")
]
Roles = Annotated[
    list[str] | None,
    typer.Option("--role", help="admin, operator, author, approver, auditor or viewer; may be repeated."),
]
About = Annotated[str | None, typer.Option("--about", help="Who it is, for people.")]
MaybeWhy = Annotated[str | None, typer.Option("--reason", help="Why; it stays in the history.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("whoami")(whoami)
    principal_group = group(app, "principal", "Principals: people, services and nodes, with their roles.")
    principal_group.command("add")(add)
    principal_group.command("list")(list_principals)
    principal_group.command("show")(show)
    principal_group.command("edit")(edit)
    principal_group.command("suspend")(suspend)
    principal_group.command("resume")(resume)
    principal_group.command("remove")(remove)


def whoami(
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Say whose token this is, and what it may do."""
    known = control(planes(control_url, None, token, data)).get("/v1/whoami", tenant=tenant)
    if json:
        print_json(known)
        return
    where = "every tenant" if known["every_tenant"] else f"tenant {known['tenant']}"
    typer.echo(f"{known['principal']} in {where}; roles: {', '.join(known['roles']) or 'none'}")
    if known["scopes"]:
        typer.echo(f"this token only: {', '.join(known['scopes'])}")


def add(
    name: Who,
    *,
    role: Roles = None,
    about: About = None,
    reason: MaybeWhy = None,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Declare a person, a service or a node, with roles."""
    client = control(planes(control_url, None, token, data))
    body = {"name": name, "roles": role or [], "about": about, "reason": reason}
    answer = client.post(PATH, body, tenant=tenant)
    if json:
        print_json(answer)
    else:
        typer.echo(
            f"{answer['name']} is declared in tenant {answer['tenant']}; give it a token: sereno token issue {name}"
        )


def edit(
    name: Who,
    *,
    role: Roles = None,
    about: About = None,
    reason: MaybeWhy = None,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Give a principal these roles and no others."""
    found = planes(control_url, execution_url, token, data)
    body = {"roles": role or [], "about": about, "reason": reason}
    answer = control(found).post(f"{PATH}/{segment(name, 'PRINCIPAL')}/edit", body, tenant=tenant)
    _told(found, answer, f"{name} has the roles {', '.join(role or []) or 'none'}", json=json)


def list_principals(
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List the declared principals; agents are listed by `sereno agent list`."""
    found = list(listing.every(control(planes(control_url, None, token, data)), PATH, tenant))
    if json:
        print_json(found)
        return
    rows = ([p["name"], p["spec"]["kind"], p["state"], ", ".join(p["spec"]["roles"])] for p in found)
    print_table(("name", "kind", "state", "roles"), rows)


def show(
    name: Who,
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show one principal."""
    known = listing.one(control(planes(control_url, None, token, data)), PATH, name, tenant)
    if json:
        print_json(known)
    else:
        typer.echo(listing.as_yaml(known))


def suspend(
    name: Who,
    *,
    reason: Why,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Take away everything a principal may do, for a while; its subscriptions wake nobody meanwhile."""
    _move(planes(control_url, execution_url, token, data), name, "suspend", reason, tenant, json=json)


def resume(
    name: Who,
    *,
    reason: Why,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Let a suspended principal go on."""
    _move(planes(control_url, execution_url, token, data), name, "resume", reason, tenant, json=json)


def remove(
    name: Who,
    *,
    reason: Why,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Remove a principal for good; its history stays, and what it owned waits for another owner."""
    _move(planes(control_url, execution_url, token, data), name, "remove", reason, tenant, json=json)


def _move(found: Discovery, name: str, verb: str, reason: str, tenant: str | None, *, json: bool) -> None:
    path = f"{PATH}/{segment(name, 'PRINCIPAL')}/{verb}"
    answer = control(found).post(path, {"reason": reason}, tenant=tenant)
    done = {"suspend": "suspended", "resume": "active", "remove": "removed"}[verb]
    _told(found, answer, f"{name} is {done}", json=json)
    for left in answer["left_behind"] if not json else ():
        typer.echo(f"{left} wakes nobody now: sereno sub reassign {left} --owner PRINCIPAL --reason WHY")


def _told(found: Discovery, answer: Any, sentence: str, *, json: bool) -> None:
    behind = in_force.wait(found, {answer["tenant"]: answer["manifest"]})
    if json:
        print_json({**answer, "in_force": behind is None, "hint": behind})
        return
    typer.echo(sentence)
    typer.echo(behind or "in force on the execution plane")
