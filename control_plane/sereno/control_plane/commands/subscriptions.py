"""`sereno sub list|show|preview|test|history|pause|resume|reassign|delete`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from sereno.control_plane.commands import listing, stepping, testing
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import (
    Name,
    Why,
)
from sereno.mailbox.cli.client import segment
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

PATH = "/v1/subscriptions"
Held = Literal["deliver", "drop", "review"]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    sub_group = group(app, "sub", "Subscriptions: what wakes whom, and within which limits.")
    sub_group.command("list")(list_subscriptions)
    sub_group.command("show")(show_subscription)
    sub_group.command("preview")(preview)
    testing.register(sub_group)
    sub_group.command("history")(show_history)
    sub_group.command("pause")(pause)
    sub_group.command("resume")(resume)
    sub_group.command("reassign")(reassign)
    sub_group.command("delete")(delete)


@asks
def list_subscriptions(
    *,
    call: Call,
) -> None:
    """List the subscriptions and when each was delivered last."""
    found = list(listing.every(call.client, PATH, call.tenant))
    if call.json:
        print_json(found)
        return
    columns = ("name", "version", "state", "agent", "source", "delivered", "last delivered")
    print_table(columns, map(_row, found))


def _row(known: Mapping[str, Any]) -> list[Any]:
    spec, activity = known["spec"], known["activity"]
    return [
        known["name"],
        known["version"],
        _state(known),
        spec["agent"],
        "/".join(spec["source"]),
        activity["outcomes"].get("delivered", 0),
        listing.local(activity["last_delivered_at"]),
    ]


def _state(known: Mapping[str, Any]) -> str:
    """As it acts: an open suspension stands in the way of an active one."""
    open_ones = [one for one in known["suspensions"] if one["lifted_at"] is None and one["subject"] is None]
    return "suspended" if open_ones and known["state"] == "active" else str(known["state"])


@asks
def show_subscription(
    name: Name,
    *,
    call: Call,
) -> None:
    """Show one subscription and what became of the events that matched it."""
    listing.show(call.client, PATH, name, call.tenant, json=call.json)


@asks
def preview(
    name: Name,
    *,
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many times.")] = 10,
    after: Annotated[str | None, typer.Option(help="From when on; now, if not given.")] = None,
    call: Call,
) -> None:
    """Show when a subscription fires next, in its zone and in UTC, and why not when it does not."""
    client = call.client
    path = f"{PATH}/{segment(name, 'NAME')}/preview"
    found = client.get(path, tenant=call.tenant, count=str(count), after=after)
    if call.json:
        print_json(found)
        return
    rows = [(each["local"], each["instant"], each["policy"]) for each in found["times"]]
    if rows:
        print_table((f"on the clock of {found['zone']}", "as an instant", "shaped by"), rows)
    if found["note"]:
        typer.echo(found["note"])


@asks
def show_history(
    name: Name,
    *,
    call: Call,
) -> None:
    """Show each step of a subscription's life: by whom, when and why."""
    client = call.client
    events = listing.one(client, PATH, name, call.tenant, "history")["events"]
    if call.json:
        print_json(events)
        return
    rows = (
        [e["revision"], listing.local(e["recorded"]), e["type"], e["data"]["after"], e["actor"], e["reason"]]
        for e in events
    )
    print_table(("step", "when", "event", "state", "by", "reason"), rows)


@asks
def pause(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Stop a subscription for a while; what arrives meanwhile is recorded and not kept."""
    _move(call.found, "pause", name, call.tenant, reason, json=call.json)


@asks
def resume(
    name: Name,
    *,
    reason: Why,
    held: Annotated[
        Held | None, typer.Option(help="What becomes of what was held; a storm's is kept for review.")
    ] = None,
    call: Call,
) -> None:
    """Let a paused or suspended subscription go on."""
    more = {} if held is None else {"held": held}
    _move(call.found, "resume", name, call.tenant, reason, json=call.json, **more)


@asks
def reassign(
    name: Name,
    *,
    owner: Annotated[str, typer.Option(help="Who answers for it from now on, such as user:marta.")],
    reason: Why,
    call: Call,
) -> None:
    """Let another answer for a subscription: it uses that principal's rights from now on."""
    answer = stepping.step(call.found, PATH, name, "reassign", call.tenant, reason, owner=owner)
    stepping.told(
        call.found, answer, f"{name} belongs to {owner} (version {answer['version']})", json=call.json
    )


@asks
def delete(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """End a subscription; its history stays, and its name yields only to `apply --revive`."""
    _move(call.found, "delete", name, call.tenant, reason, json=call.json)


def _move(
    found: Discovery, verb: str, name: str, tenant: str | None, reason: str, *, json: bool, **more: str
) -> None:
    answer = stepping.step(found, PATH, name, verb, tenant, reason, **more)
    lifted = [f"lifted {suspension}" for suspension in answer.get("lifted", ())]
    stepping.told(found, answer, stepping.state(answer), *lifted, json=json)
