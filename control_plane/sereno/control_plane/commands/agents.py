"""`sereno agent list|show|suspend|resume`."""

import typer

from sereno.control_plane.commands import in_force, listing
from sereno.control_plane.commands.flags import (
    ControlUrl,
    Data,
    ExecutionUrl,
    Json,
    Name,
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

PATH = "/v1/agents"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    agent_group = group(app, "agent", "Agents: who can be woken.")
    agent_group.command("list")(list_agents)
    agent_group.command("show")(show_agent)
    agent_group.command("suspend")(suspend)
    agent_group.command("resume")(resume)


def list_agents(
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List the declared agents."""
    found = list(listing.every(control(planes(control_url, None, token, data)), PATH, tenant))
    if json:
        print_json(found)
        return
    rows = ([a["name"], a["version"], a["state"], a["spec"]["adapter"], a["spec"]["owner"]] for a in found)
    print_table(("name", "version", "state", "adapter", "owner"), rows)


def show_agent(
    name: Name,
    *,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show one agent."""
    agent = listing.one(control(planes(control_url, None, token, data)), PATH, name, tenant)
    if json:
        print_json(agent)
    else:
        typer.echo(listing.as_yaml(agent))


def suspend(
    name: Name,
    *,
    reason: Why,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Let nothing wake an agent; who holds its work is told to stop."""
    _move(planes(control_url, execution_url, token, data), "suspend", name, tenant, reason, json=json)


def resume(
    name: Name,
    *,
    reason: Why,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Let a suspended agent be woken again."""
    _move(planes(control_url, execution_url, token, data), "resume", name, tenant, reason, json=json)


def _move(found: Discovery, verb: str, name: str, tenant: str | None, reason: str, *, json: bool) -> None:
    answer = control(found).post(f"{PATH}/{segment(name, 'NAME')}/{verb}", {"reason": reason}, tenant=tenant)
    behind = in_force.wait(found, {answer["tenant"]: answer["manifest"]})
    if json:
        print_json({**answer, "in_force": behind is None, "hint": behind})
        return
    typer.echo(f"{answer['name']} is {'suspended' if verb == 'suspend' else 'active'}")
    typer.echo(behind or "in force on the execution plane")
