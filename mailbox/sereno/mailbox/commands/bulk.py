"""`sereno mailbox dead|redrive`: end or revive many messages by a person's decision, counted before it is done."""

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Annotated

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

EVERY_SECONDS = 0.5
BULK_SECONDS = 3600.0

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
    task = _Task(
        client(url, token, data, timeout=BULK_SECONDS),
        f"{mailbox_path(agent)}/dead-letter",
        tenant,
        chosen,
        reason,
    )
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
    task = _Task(
        client(url, token, data, timeout=BULK_SECONDS),
        f"{mailbox_path(agent)}/redrive",
        tenant,
        chosen,
        reason,
    )
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

    def ask(self, *, preview: bool) -> int:
        """How many messages match, or, without `preview`, how many it was done to."""
        body = {"filter": self.chosen.body(), "reason": self.reason, "preview": preview}
        return int(self.api.post(self.path, body, tenant=self.tenant)["count"])


def _run(task: _Task, *, preview: bool, json: bool) -> None:
    matching = task.ask(preview=True)
    done = 0 if preview or not matching else _watched(task, matching)
    if json:
        print_json({"matching": matching, "done": done})
    else:
        typer.echo(f"{matching} messages match" if preview else f"{done} of {matching} messages")


def _watched(task: _Task, matching: int) -> int:
    """Do it, and meanwhile count on stderr what is left: the server works page by page, each a transaction."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    with ThreadPoolExecutor(1) as thread, progress as bar:
        doing = thread.submit(task.ask, preview=False)
        shown = bar.add_task(task.path.rpartition("/")[2], total=matching)
        while not wait({doing}, timeout=EVERY_SECONDS).done:
            bar.update(shown, completed=max(0, matching - task.ask(preview=True)))
        return doing.result()
