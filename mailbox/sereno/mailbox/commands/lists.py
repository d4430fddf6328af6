"""`sereno mailbox list|show`: what stands in the mailboxes, how old it is, and who holds it."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from sereno.mailbox.cli.client import segment
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table
from sereno.mailbox.commands.bulk import dead, redrive
from sereno.mailbox.commands.options import (
    MAX_LIMIT,
    Data,
    DiedOf,
    Json,
    OlderThan,
    Subscription,
    Tenant,
    Token,
    Url,
    age,
    client,
    duration,
    mailbox_path,
    print_rows,
)
from sereno.subscriptions.duration import format_duration

_MAILBOXES = ["tenant", "agent", "ready", "waiting", "held", "leased", "parked", "dead", "oldest ready"]
_MESSAGES = [
    "id",
    "state",
    "reason",
    "age",
    "attempts",
    "token",
    "holder",
    "incarnation",
    "lease",
    "lease ends in",
    "subscription",
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    mailbox = group(app, "mailbox", "What stands in the mailboxes.")
    mailbox.command("list")(list_mailboxes)
    mailbox.command("show")(show)
    mailbox.command("dead")(dead)
    mailbox.command("redrive")(redrive)


def list_mailboxes(
    *,
    agent: Annotated[str | None, typer.Argument(help="List this agent's messages instead.")] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="ready, leased, parked, acked or dead.")
    ] = None,
    subscription: Subscription = None,
    died_of: DiedOf = None,
    holder: Annotated[
        str | None, typer.Option("--holder", help="Only what this principal or incarnation holds.")
    ] = None,
    older_than: OlderThan = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MAX_LIMIT)] = 100,
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """List the mailboxes, or the messages of one with their ages, holders and tokens."""
    least = duration("--older-than", older_than)
    filters = {
        "--state": state,
        "--subscription": subscription,
        "--died-of": died_of,
        "--holder": holder,
        "--older-than": older_than,
    }
    now = datetime.now(UTC)
    if died_of is not None and state not in {None, "dead"}:
        raise CommandError(f"--died-of: expected with it no --state but dead, got {state}")
    if holder is not None and (died_of is not None or state not in {None, "leased"}):
        raise CommandError("--holder: expected with it no --died-of and no --state but leased")
    if agent is None:
        if given := [option for option, value in filters.items() if value is not None]:
            raise CommandError(f"{given[0]}: expected an AGENT whose messages to list")
        answer = client(url, token, data).get("/v1/mailboxes", tenant=tenant)
        if not json:
            answer = {
                "mailboxes": [
                    _aged(row, "oldest ready", "oldest_ready_at", now) for row in answer["mailboxes"]
                ]
            }
        print_rows(answer, "mailboxes", _MAILBOXES, json)
        return
    answer = client(url, token, data).get(
        f"{mailbox_path(agent)}/messages",
        tenant=tenant,
        state=state,
        subscription=subscription,
        reason=died_of,
        holder=holder,
        older_than_seconds=None if least is None else least.total_seconds(),
        limit=limit,
    )
    if not json:
        answer = {"messages": [_for_people(row, now) for row in answer["messages"]]}
    print_rows(answer, "messages", _MESSAGES, json)


def _aged(row: Mapping[str, Any], column: str, since: str, now: datetime) -> dict[str, Any]:
    return {**row, column: age(row[since], now)}


def _for_people(row: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """With the holder only of what is held, and when its lease ends."""
    shown = _aged(row, "age", "deposited_at", now) | {"subscription": row["subscription"]["name"]}
    if row["state"] != "leased":
        return shown | {"holder": None, "incarnation": None, "token": None}
    shown |= {"lease": format_duration(timedelta(seconds=round(row["granted_seconds"])))}
    left = datetime.fromisoformat(row["leased_until"]) - now
    return shown | {"lease ends in": f"{max(0.0, left.total_seconds()):.0f}s"}


def show(
    *,
    message: Annotated[str, typer.Argument(help="msg_… or a UUID.")],
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show one message: what it says, who holds it, and every lease it had."""
    answer = client(url, token, data).get(f"/v1/messages/{segment(message, 'MESSAGE')}")
    if json:
        print_json(answer)
        return
    now = datetime.now(UTC)
    aged = answer | {"age": age(answer["deposited_at"], now)}
    fields = [(key, value) for key, value in aged.items() if key != "history" and value is not None]
    print_table(["field", "value"], fields)
    columns = ["at", "kind", "token", "principal", "data"]
    print_table(columns, [[event[key] for key in columns] for event in answer["history"]], title="history")
