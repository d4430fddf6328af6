"""`sereno mcp serve`: the tools of one agent, for a client that speaks MCP."""

from pathlib import Path
from typing import Annotated

import typer

from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group(app, "mcp", "MCP: Sereno for agents.").command("serve")(serve)


def serve(
    *,
    address: Annotated[
        bool, typer.Option("--address", help="Print where the execution plane serves it over HTTP, and end.")
    ] = False,
    execution_url: Annotated[str | None, typer.Option(help="URL of the execution plane")] = None,
    token: Annotated[str | None, typer.Option(help="the agent's token; better: SERENO_TOKEN")] = None,
    data: Annotated[Path | None, typer.Option(help="data folder of sereno up")] = None,
) -> None:
    """Serve an agent's tools over stdin and stdout: its subscriptions, requests, mailbox and explanations."""
    url, bearer = discover(execution_url=execution_url, token=token, data=data).execution()
    if address:
        typer.echo(f"{url.rstrip('/')}/mcp")
        return
    if bearer is None:
        raise CommandError("no token is known: set SERENO_TOKEN to that of an agent", Exit.REFUSED)
    # Says in a sentence what a client of MCP would show as a broken pipe.
    Client(url, bearer).get("/v1/manifest")
    from sereno.execution_plane.agent_tools import stdio  # noqa: PLC0415 - a second to load

    stdio.serve(url, bearer)
