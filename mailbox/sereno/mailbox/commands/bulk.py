"""`sereno mailbox dead|redrive`: end or revive many messages by a person's decision, counted before it is done."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.output import print_json
from sereno.mailbox.client import Selection
from sereno.mailbox.commands.options import (
    Agent,
    Data,
    DiedOf,
    Json,
    OlderThan,
    Subscription,
    Tenant,
    Token,
    Url,
    client,
    duration,
    mailbox_path,
)

STEP = 500
"""Messages in one request: each is one transaction, so what is done stays done when the command is stopped."""

Ids = Annotated[list[str] | None, typer.Option("--id", help="This message; may be given again.")]
Everything = Annotated[bool, typer.Option("--all", help="Every one of the mailbox, when no filter is given.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stands in the history of each message.")]
Preview = Annotated[bool, typer.Option("--preview", help="Only count.")]


def dead(
    *,
    agent: Agent,
    reason: Reason,
    subscription: Subscription = None,
    older_than: OlderThan = None,
    ids: Ids = None,
    everything: Everything = False,
    preview: Preview = False,
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Make open messages dead; who holds one is told at the next renewal."""
    chosen = Selection(subscription, None, duration("--older-than", older_than), ids or ())
    _expect_choice(chosen, everything)
    task = _Task(client(url, token, data), f"{mailbox_path(agent)}/dead-letter", tenant, chosen, reason)
    _run(task, preview=preview, json=json)


def redrive(
    *,
    agent: Agent,
    reason: Reason,
    subscription: Subscription = None,
    died_of: DiedOf = None,
    older_than: OlderThan = None,
    ids: Ids = None,
    everything: Everything = False,
    preview: Preview = False,
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Make dead messages ready again, with attempts and age counted anew."""
    chosen = Selection(subscription, died_of, duration("--older-than", older_than), ids or ())
    _expect_choice(chosen, everything)
    task = _Task(client(url, token, data), f"{mailbox_path(agent)}/redrive", tenant, chosen, reason)
    _run(task, preview=preview, json=json)


def _expect_choice(chosen: Selection, everything: bool) -> None:
    if not chosen.body() and not everything:
        raise CommandError("--all: expected it, or a filter: without one every message is meant")
    if chosen.body() and everything:
        raise CommandError("--all: expected no filter beside it")


@dataclass(frozen=True, slots=True)
class _Task:
    """One verb over many messages."""

    api: Client
    path: str
    tenant: str | None
    chosen: Selection
    reason: str

    def ask(self, **more: Any) -> int:
        body = {"filter": self.chosen.body(), "reason": self.reason, **more}
        return int(self.api.post(self.path, body, tenant=self.tenant)["count"])


def _run(task: _Task, *, preview: bool, json: bool) -> None:
    total = task.ask(preview=True)
    done = 0 if preview else _in_steps(task, total)
    if json:
        print_json({"matching": total, "done": done})
    else:
        typer.echo(f"{total} messages match" if preview else f"{done} of {total} messages")


def _in_steps(task: _Task, total: int) -> int:
    """Go on until none is left, or as many were done as matched: what arrives meanwhile is not meant."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    done = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task(task.path.rpartition("/")[2], total=total)
        while done < total:
            count = task.ask(preview=False, limit=min(STEP, total - done))
            if count == 0:
                break
            done += count
            bar.update(shown, completed=done)
    return done
