"""`sereno approvals list|show|approve|deny|answer`: what waits for a person, in the catalog and in mailboxes."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from sereno.control_plane.commands import listing, stepping
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import (
    control,
)
from sereno.control_plane.commands.principals import MaybeWhy
from sereno.mailbox.cli.client import Client, segment
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

PATH = "/v1/approvals"
_MESSAGE = "msg_"
Which = Annotated[str, typer.Argument(metavar="ID", help="apr_… of a request, or msg_… of parked work.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    approvals_group = group(app, "approvals", "Approvals: what waits for a person.")
    approvals_group.command("list")(list_approvals)
    approvals_group.command("show")(show)
    approvals_group.command("approve")(approve)
    approvals_group.command("deny")(deny)
    approvals_group.command("answer")(answer)


@asks
def list_approvals(
    *,
    state: Annotated[
        str, typer.Option(help="pending, approved, denied, superseded, expired, or all.")
    ] = "pending",
    call: Call,
) -> None:
    """List what waits for a person: requests, and parked work with its question."""
    wanted = None if state == "all" else state
    asked = call.client.get(PATH, tenant=call.tenant, state=wanted)["items"]
    parked = list(_parked(call.found, call.tenant)) if state in {"pending", "all"} else []
    if call.json:
        print_json({"approvals": asked, "parked": parked})
        return
    rows = [
        [a["id"], a["state"], f"{a['kind']} {a['name']}", a["asked_by"], ", ".join(a["waits"])] for a in asked
    ]
    rows += [[m["id"], "parked", m["waiting_for"], f"agent:{m['agent']}", m["text"]] for m in parked]
    print_table(("id", "state", "what", "asked by", "why it waits"), rows)


def _parked(found: Discovery, tenant: str | None) -> Iterator[Mapping[str, Any]]:
    """Parked work with its question, where the execution plane is known and lets this token see it."""
    try:
        client = Client(*found.execution())
        boxes = client.get("/v1/mailboxes", tenant=tenant)["mailboxes"]
        notices = client.get("/v1/notices", tenant=tenant, limit="1000")["notices"]
    except CommandError:
        return
    told = {notice["data"].get("message"): notice for notice in notices if notice["kind"] == "waiting"}
    for box in boxes:
        path = f"/v1/mailboxes/{segment(box['agent'], 'AGENT')}/messages"
        for message in client.get(path, tenant=tenant, state="parked")["messages"]:
            notice = told.get(message["id"], {"text": None, "data": {}})
            waiting_for = notice["data"].get("waiting_for")
            yield {
                "id": message["id"],
                "agent": box["agent"],
                "waiting_for": waiting_for,
                "text": notice["text"],
            }


@asks
def show(
    identifier: Which,
    *,
    call: Call,
) -> None:
    """Show exactly what is asked for, by whom, why it waits, and its digest."""
    known = listing.one(call.client, PATH, identifier, call.tenant)
    if call.json:
        print_json(known)
    else:
        typer.echo(listing.as_yaml({key: value for key, value in known.items() if key != "document"}))


@asks
def approve(
    identifier: Which,
    *,
    digest: Annotated[
        str | None, typer.Option(help="Only if it still asks for this; what it asks for now, if not given.")
    ] = None,
    reason: MaybeWhy = None,
    call: Call,
) -> None:
    """Release a request, once; or say yes to parked work."""
    _word(
        call.found, identifier, "approve", {"reason": reason, "digest": digest}, call.tenant, json=call.json
    )


@asks
def deny(
    identifier: Which,
    *,
    reason: Annotated[
        str, typer.Option("--reason", help="Why; the asking side is told, and it is remembered.")
    ],
    digest: Annotated[
        str | None, typer.Option(help="Only if it still asks for this; what it asks for now, if not given.")
    ] = None,
    call: Call,
) -> None:
    """Refuse a request, which is remembered; or say no to parked work."""
    _word(call.found, identifier, "deny", {"reason": reason, "digest": digest}, call.tenant, json=call.json)


@asks
def answer(
    identifier: Annotated[str, typer.Argument(metavar="MESSAGE", help="msg_… of the parked work.")],
    text: Annotated[str, typer.Argument(metavar="ANSWER", help="What the agent is told, as data.")],
    *,
    reason: MaybeWhy = None,
    call: Call,
) -> None:
    """Answer the question of parked work; it goes on with the answer."""
    client = call.client
    _say(
        client,
        identifier,
        {"outcome": "answered", "answer": text, "reason": reason},
        call.tenant,
        json=call.json,
    )


def _word(
    found: Discovery, identifier: str, verb: str, body: dict[str, Any], tenant: str | None, *, json: bool
) -> None:
    client = control(found)
    if identifier.startswith(_MESSAGE):
        outcome = {"approve": "approved", "deny": "denied"}[verb]
        _say(client, identifier, {"outcome": outcome, "reason": body["reason"]}, tenant, json=json)
        return
    path = f"{PATH}/{segment(identifier, 'ID')}"
    if body["digest"] is None:
        body["digest"] = client.get(path, tenant=tenant)["digest"]
    done = client.post(f"{path}/{verb}", body, tenant=tenant)
    missing = done["quorum"] - len(done["approved_by"])
    more = f", {missing} more to come" if done["state"] == "pending" else ""
    stepping.told(found, done, f"{done['kind']} {done['name']} is {done['state']}{more}", json=json)


def _say(client: Client, message: str, body: Mapping[str, Any], tenant: str | None, *, json: bool) -> None:
    done = client.post(f"/v1/answers/{segment(message, 'MESSAGE')}", body, tenant=tenant)
    if json:
        print_json(done)
    else:
        typer.echo(f"{message} goes on: {done['outcome']}")
