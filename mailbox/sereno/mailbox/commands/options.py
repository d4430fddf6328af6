"""Options that the commands of the mailbox share."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.mailbox.cli.client import TIMEOUT_SECONDS, Client, segment
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.output import print_json, print_table
from sereno.subscriptions.duration import format_duration, parse_duration

Data = Annotated[Path | None, typer.Option("--data", help="Data folder of 'sereno up'.")]
Url = Annotated[str | None, typer.Option("--execution-url", help="Address of the execution plane.")]
Token = Annotated[str | None, typer.Option("--token", help="Bearer token; better: SERENO_TOKEN.")]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Tenant; else the token's.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Agent = Annotated[str, typer.Argument(metavar="AGENT", help="Whose mailbox.")]
Subscription = Annotated[str | None, typer.Option("--subscription", help="Only messages of this one.")]
DiedOf = Annotated[
    str | None, typer.Option("--died-of", help="Only what is dead for this reason, such as exhausted.")
]
OlderThan = Annotated[
    str | None, typer.Option("--older-than", metavar="DURATION", help="Only what was deposited longer ago.")
]

MAX_LIMIT = 1000


def client(
    url: str | None, token: str | None, data: Path | None, *, timeout: float = TIMEOUT_SECONDS
) -> Client:
    """A client of the execution plane. Raises `CommandError` when none is known."""
    address, bearer = discover(execution_url=url, token=token, data=data).execution()
    return Client(address, bearer, timeout=timeout)


def mailbox_path(agent: str) -> str:
    """Where the mailbox of an agent is, by its name with or without `agent:`."""
    return f"/v1/mailboxes/{segment(agent.removeprefix('agent:'), 'AGENT')}"


def duration(option: str, text: str | None, *, least: timedelta = timedelta(0)) -> timedelta | None:
    """The duration that an option names. Raises `CommandError`, also for a number without a unit."""
    if text is None:
        return None
    try:
        length = parse_duration(text)
    except ValueError as fault:
        raise CommandError(f"{option}: {fault}, got {text}") from fault
    if length < least:
        raise CommandError(f"{option}: expected at least {format_duration(least)}, got {text}")
    return length


def age(since: str | None, now: datetime) -> str | None:
    """How long ago a time of an answer was, for people: in its two largest units."""
    if since is None:
        return None
    passed = max(timedelta(0), now - datetime.fromisoformat(since))
    coarse = 60 if passed >= timedelta(hours=1) else 1
    return format_duration(timedelta(seconds=passed.total_seconds() // coarse * coarse))


def print_rows(answer: dict[str, Any], member: str, columns: list[str], json: bool) -> None:
    """One JSON document, or a table of these columns."""
    if json:
        print_json(answer)
    else:
        print_table(columns, [[row.get(column) for column in columns] for row in answer[member]])
