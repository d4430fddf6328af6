"""`sereno agent list|show|suspend|resume`."""

import typer

from sereno.control_plane.commands import listing, stepping
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import (
    Name,
    Why,
)
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


@asks
def list_agents(
    *,
    call: Call,
) -> None:
    """List the declared agents."""
    found = list(listing.every(call.client, PATH, call.tenant))
    if call.json:
        print_json(found)
        return
    rows = ([a["name"], a["version"], a["state"], a["spec"]["adapter"], a["spec"]["owner"]] for a in found)
    print_table(("name", "version", "state", "adapter", "owner"), rows)


@asks
def show_agent(
    name: Name,
    *,
    call: Call,
) -> None:
    """Show one agent."""
    listing.show(call.client, PATH, name, call.tenant, json=call.json)


@asks
def suspend(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Let nothing wake an agent; who holds its work is told to stop."""
    _move(call.found, "suspend", name, call.tenant, reason, json=call.json)


@asks
def resume(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Let a suspended agent be woken again."""
    _move(call.found, "resume", name, call.tenant, reason, json=call.json)


def _move(found: Discovery, verb: str, name: str, tenant: str | None, reason: str, *, json: bool) -> None:
    answer = stepping.step(found, PATH, name, verb, tenant, reason)
    done = "suspended" if verb == "suspend" else "active"
    stepping.told(found, answer, f"{answer['name']} is {done}", json=json)
