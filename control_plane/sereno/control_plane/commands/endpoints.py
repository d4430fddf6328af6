"""`sereno webhook endpoint list|show`."""

import typer

from sereno.control_plane.commands import listing
from sereno.control_plane.commands.flags import ControlUrl, Data, Json, Name, Tenant, Token, control, planes
from sereno.mailbox.cli.output import print_json, print_table
from sereno.subscriptions.models.metadata import DEFAULT_TENANT

PATH = "/v1/endpoints"


def add_to(group: typer.Typer) -> None:
    """Add the commands to their group."""
    group.command("list")(list_endpoints)
    group.command("show")(show_endpoint)


def list_endpoints(
    *,
    tenant: Tenant = DEFAULT_TENANT,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List the declared endpoints with the URLs to which senders post."""
    found = list(listing.every(control(planes(control_url, None, token, data)), PATH, tenant))
    if json:
        print_json(found)
        return
    rows = ([e["name"], e["version"], e["state"], e["spec"]["scheme"], e["url"]] for e in found)
    print_table(("name", "version", "state", "scheme", "url"), rows)


def show_endpoint(
    name: Name,
    *,
    tenant: Tenant = DEFAULT_TENANT,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show one endpoint and its URL."""
    endpoint = listing.one(control(planes(control_url, None, token, data)), PATH, name, tenant)
    if json:
        print_json(endpoint)
    else:
        typer.echo(listing.as_yaml(endpoint))
