"""`sereno grants add|list|remove`, `sereno deny` and `sereno can`."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sereno.control_plane.commands import listing, stepping
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import (
    Why,
    control,
)
from sereno.control_plane.commands.principals import MaybeWhy
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

PATH = "/v1/grants"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("deny")(deny)
    app.command("can")(can)
    grants_group = group(app, "grants", "Grants: who may have which agent woken and which source observed.")
    grants_group.command("add")(add)
    grants_group.command("list")(list_grants)
    grants_group.command("remove")(remove)


@asks
def add(
    *,
    to: Annotated[str, typer.Option(help="Who gets it, such as user:marta.")],
    agent: Annotated[str | None, typer.Option(help="The agent that may be used and woken.")] = None,
    source: Annotated[
        str | None, typer.Option(help="The source that may be observed, such as webhook/zendesk or time.")
    ] = None,
    right: Annotated[
        list[str] | None, typer.Option("--right", help="use or wake alone; both, if not given.")
    ] = None,
    subscriptions: Annotated[int | None, typer.Option(help="How many subscriptions it is good for.")] = None,
    expires: Annotated[str | None, typer.Option(help="When it ends, such as 2027-01-01T00:00:00Z.")] = None,
    name: Annotated[str | None, typer.Option(help="Its name; its text names it, if not given.")] = None,
    reason: MaybeWhy = None,
    call: Call,
) -> None:
    """Let a principal use an agent and have it woken, or have a source observed."""
    named = agent if agent is None or agent.startswith("agent:") else f"agent:{agent}"
    body = {
        "name": name,
        "to": to,
        "agent": named,
        "source": source,
        "rights": right,
        "subscriptions": subscriptions,
        "expires": expires,
        "reason": reason,
    }
    _give(call.found, body, call.tenant, json=call.json)


@asks
def deny(
    pattern: Annotated[str, typer.Argument(help="Such as agent:triage, webhook/* or com.zendesk.*.")],
    *,
    recipient: Annotated[
        str | None, typer.Option(help="Only for this principal or agent; for everybody, if not given.")
    ] = None,
    reason: MaybeWhy = None,
    call: Call,
) -> None:
    """Forbid everything that fits a pattern, whatever was granted; `sereno grants remove` lifts it."""
    body = {"deny": pattern, "to": recipient, "reason": reason}
    _give(call.found, body, call.tenant, json=call.json)


def _give(found: Discovery, body: Mapping[str, Any], tenant: str | None, *, json: bool) -> None:
    answer = control(found).post(PATH, body, tenant=tenant)
    stepping.told(found, answer, f"{answer['name']}: {_meaning(answer['spec'])}", json=json)


def _meaning(spec: Mapping[str, Any]) -> str:
    if spec.get("deny"):
        return (
            f"nobody may have {spec['deny']}" if not spec.get("to") else f"no {spec['deny']} for {spec['to']}"
        )
    what = (
        f"{' and '.join(spec.get('rights', ()))} {spec['agent']}"
        if spec.get("agent")
        else f"observe {spec['source']}"
    )
    until = f" until {spec['expires']}" if spec.get("expires") else ""
    return f"{spec['to']} may {what}{until}"


@asks
def list_grants(
    *,
    call: Call,
) -> None:
    """List grants and standing prohibitions."""
    found = list(listing.every(call.client, PATH, call.tenant))
    if call.json:
        print_json(found)
        return
    print_table(("name", "means", "by"), ([g["name"], _meaning(g["spec"]), g["created_by"]] for g in found))


@asks
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `sereno grants list` shows it.")],
    *,
    reason: Why,
    call: Call,
) -> None:
    """Take a grant back, or lift a prohibition."""
    answer = stepping.step(call.found, PATH, name, "remove", call.tenant, reason)
    stepping.told(call.found, answer, f"{name} is removed", json=call.json)


@asks
def can(
    who: Annotated[str, typer.Argument(help="A principal such as user:marta.")],
    verb: Annotated[str, typer.Argument(metavar="VERB", help="The word wake.")],
    agent: Annotated[str, typer.Argument(help="An agent such as agent:triage.")],
    *,
    source: Annotated[
        str | None, typer.Option(help="Also whether it may have this observed, such as webhook/zendesk.")
    ] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="As it was then; now, if not given.")] = None,
    call: Call,
) -> None:
    """Say whether a principal may have an agent woken, by which rule, and what would allow it."""
    if verb != "wake":
        raise CommandError(f"expected: sereno can WHO wake AGENT; got {verb!r} instead of wake")
    client = call.client
    answer = client.get("/v1/can", tenant=call.tenant, who=who, agent=agent, source=source, as_of=as_of)
    if call.json:
        print_json(answer)
        return
    typer.echo(f"{'yes' if answer['allowed'] else 'no'}, by policy {answer['policy_version']}")
    columns = ("question", "answer", "rule", "what would allow it")
    rows = [
        [d["action"], "yes" if d["allowed"] else "no", d["rule"], d["command"]] for d in answer["decisions"]
    ]
    print_table(columns, rows)
