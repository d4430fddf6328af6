"""Commands of the mailbox: `work`, `push`, `mailbox list|show|dead|redrive`, `notices`, and what repairs it."""

import typer

from sereno.mailbox import repair_commands
from sereno.mailbox.commands.bulk import dead, redrive
from sereno.mailbox.commands.lists import list_mailboxes, list_notices, show
from sereno.mailbox.commands.push import push
from sereno.mailbox.commands.work import work


def register(app: typer.Typer) -> None:
    """Add the mailbox's commands to the command line."""
    group = typer.Typer(name="mailbox", help="What stands in the mailboxes.", no_args_is_help=True)
    group.command("list")(list_mailboxes)
    group.command("show")(show)
    group.command("dead")(dead)
    group.command("redrive")(redrive)
    app.add_typer(group)
    app.command("notices")(list_notices)
    app.command("work")(work)
    app.command("push")(push)
    repair_commands.register(app)
