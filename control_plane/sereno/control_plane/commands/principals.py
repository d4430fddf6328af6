"""`sereno principal add|list|show|edit|suspend|resume|remove` and `sereno whoami`."""

from typing import Annotated

import typer

from sereno.control_plane.commands import listing, stepping
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import (
    Why,
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


@asks
def whoami(
    *,
    call: Call,
) -> None:
    """Say whose token this is, and what it may do."""
    known = call.client.get("/v1/whoami", tenant=call.tenant)
    if call.json:
        print_json(known)
        return
    where = "every tenant" if known["every_tenant"] else f"tenant {known['tenant']}"
    typer.echo(f"{known['principal']} in {where}; roles: {', '.join(known['roles']) or 'none'}")
    if known["scopes"]:
        typer.echo(f"this token only: {', '.join(known['scopes'])}")


@asks
def add(
    name: Who,
    *,
    role: Roles = None,
    about: About = None,
    reason: MaybeWhy = None,
    call: Call,
) -> None:
    """Declare a person, a service or a node, with roles."""
    client = call.client
    body = {"name": name, "roles": role or [], "about": about, "reason": reason}
    answer = client.post(PATH, body, tenant=call.tenant)
    if call.json:
        print_json(answer)
    else:
        typer.echo(
            f"{answer['name']} is declared in tenant {answer['tenant']}; give it a token: sereno token issue {name}"
        )


@asks
def edit(
    name: Who,
    *,
    role: Roles = None,
    about: About = None,
    reason: MaybeWhy = None,
    call: Call,
) -> None:
    """Give a principal these roles and no others."""
    body = {"roles": role or [], "about": about, "reason": reason}
    answer = call.client.post(f"{PATH}/{segment(name, 'PRINCIPAL')}/edit", body, tenant=call.tenant)
    stepping.told(
        call.found, answer, f"{name} has the roles {', '.join(role or []) or 'none'}", json=call.json
    )


@asks
def list_principals(
    *,
    call: Call,
) -> None:
    """List the declared principals; agents are listed by `sereno agent list`."""
    found = list(listing.every(call.client, PATH, call.tenant))
    if call.json:
        print_json(found)
        return
    rows = ([p["name"], p["spec"]["kind"], p["state"], ", ".join(p["spec"]["roles"])] for p in found)
    print_table(("name", "kind", "state", "roles"), rows)


@asks
def show(
    name: Who,
    *,
    call: Call,
) -> None:
    """Show one principal."""
    listing.show(call.client, PATH, name, call.tenant, json=call.json)


@asks
def suspend(
    name: Who,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Take away everything a principal may do, for a while; its subscriptions wake nobody meanwhile."""
    _move(call.found, name, "suspend", reason, call.tenant, json=call.json)


@asks
def resume(
    name: Who,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Let a suspended principal go on."""
    _move(call.found, name, "resume", reason, call.tenant, json=call.json)


@asks
def remove(
    name: Who,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Remove a principal for good; its history stays, and what it owned waits for another owner."""
    _move(call.found, name, "remove", reason, call.tenant, json=call.json)


def _move(found: Discovery, name: str, verb: str, reason: str, tenant: str | None, *, json: bool) -> None:
    answer = stepping.step(found, PATH, name, verb, tenant, reason)
    done = {"suspend": "suspended", "resume": "active", "remove": "removed"}[verb]
    stepping.told(found, answer, f"{name} is {done}", json=json)
    for left in answer["left_behind"] if not json else ():
        typer.echo(f"{left} wakes nobody now: sereno sub reassign {left} --owner PRINCIPAL --reason WHY")
