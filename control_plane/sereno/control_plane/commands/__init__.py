"""The commands of the control plane: declaring, comparing, and looking at what is declared."""

import typer

from sereno.control_plane.commands import (
    agents,
    approvals,
    audit,
    endpoints,
    grants,
    policies,
    principals,
    subscriptions,
    tokens,
)
from sereno.control_plane.commands.apply import apply
from sereno.control_plane.commands.diff import diff


def register(app: typer.Typer) -> None:
    """Add the commands of this part to the `sereno` command."""
    app.command("apply")(apply)
    app.command("diff")(diff)
    app.command("whoami")(principals.whoami)
    app.command("deny")(grants.deny)
    app.command("can")(grants.can)
    principals.add_to(_group(app, "principal", "Principals: people, services and nodes, with their roles."))
    tokens.add_to(_group(app, "token", "Tokens: by which principals show who they are."))
    grants.add_to(_group(app, "grants", "Grants: who may have which agent woken and which source observed."))
    policies.add_to(_group(app, "policy", "Policies: the rules that decide."))
    approvals.add_to(_group(app, "approvals", "Approvals: what waits for a person."))
    audit.add_to(
        _group(app, "audit", "Audit: what was done, chained so that nothing of it changes unnoticed.")
    )
    agents.add_to(_group(app, "agent", "Agents: who can be woken."))
    subscriptions.add_to(_group(app, "sub", "Subscriptions: what wakes whom, and within which limits."))
    webhook = _group(app, "webhook", "Webhooks: where outside systems tell us what happened.")
    endpoints.add_to(_group(webhook, "endpoint", "Endpoints: one URL a sender."))


def _group(app: typer.Typer, name: str, about: str) -> typer.Typer:
    """The group of this name; another part may have begun it."""
    for known in app.registered_groups:
        if known.name == name and known.typer_instance is not None:
            return known.typer_instance
    group = typer.Typer(help=about, no_args_is_help=True)
    app.add_typer(group, name=name)
    return group
