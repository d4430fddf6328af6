"""`sereno agent list|show`."""

import typer

from sereno.control_plane.commands import listing
from sereno.control_plane.commands.flags import ControlUrl, Data, Json, Name, Tenant, Token, control, planes
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table
from sereno.subscriptions.models.metadata import DEFAULT_TENANT

PATH = "/v1/agents"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    agent = group(app, "agent", "Agents: who can be woken.")
    agent.command("list")(list_agents)
    agent.command("show")(show_agent)


def list_agents(
    *,
    tenant: Tenant = DEFAULT_TENANT,
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
    tenant: Tenant = DEFAULT_TENANT,
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
