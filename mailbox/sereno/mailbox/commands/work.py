"""`sereno work AGENT --exec COMMAND`, and what every worker on the command line shares."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated

import typer

from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError, Exit, of_status
from sereno.mailbox.client import MailboxRefusedError, MailboxUnansweredError
from sereno.mailbox.commands.options import Agent, Data, Tenant, Token, Url, duration
from sereno.mailbox.engine import tracing
from sereno.mailbox.exec import Command, Rendering
from sereno.mailbox.worker import Handler, Worker
from sereno.mailbox.worker.lane import MAX_CONCURRENCY, MAX_PREFETCH, LaneSettings

Once = Annotated[bool, typer.Option("--once", help="End when nothing is ready.")]
Maximum = Annotated[int | None, typer.Option("--max", min=1, help="End after so many messages.")]
Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency",
        envvar="SERENO_WORK_CONCURRENCY",
        min=1,
        max=MAX_CONCURRENCY,
        help="Messages at once.",
    ),
]
Prefetch = Annotated[
    int,
    typer.Option(
        "--prefetch",
        envvar="SERENO_WORK_PREFETCH",
        min=0,
        max=MAX_PREFETCH,
        help="Messages more that wait here, leased.",
    ),
]
Lease = Annotated[
    str | None,
    typer.Option(
        "--lease", envvar="SERENO_WORK_LEASE", metavar="DURATION", help="Such as 60s; else the message's."
    ),
]
Grace = Annotated[
    str,
    typer.Option(
        "--grace", envvar="SERENO_WORK_GRACE", metavar="DURATION", help="Time to finish after SIGTERM."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("work")(work)


def work(
    *,
    agent: Agent,
    command: Annotated[str, typer.Option("--exec", help="Command to run for each message.")],
    once: Once = False,
    maximum: Maximum = None,
    render: Annotated[str, typer.Option("--render", help="What stdin holds: json or prompt.")] = "json",
    concurrency: Concurrency = 1,
    prefetch: Prefetch = 0,
    lease: Lease = None,
    grace: Grace = "30s",
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Claim messages of AGENT and run a command for each; its exit code and stdout become the result."""
    address, bearer = discover(execution_url=url, token=token, data=data).execution()
    worker = Worker(address, bearer, tenant=tenant, grace=grace_of(grace), max_messages=maximum, once=once)
    settings = lane_settings(agent, concurrency=concurrency, prefetch=prefetch, lease=lease)
    serve(worker, settings, _command(command, address, render), address)


def serve(
    worker: Worker,
    settings: LaneSettings,
    handler: Handler,
    address: str,
    *,
    close: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run a worker with one handler to its end, then `close`; its spans go where the environment says. Raises `CommandError`."""

    async def run() -> None:
        try:
            await worker.run()
        finally:
            if close is not None:
                await close()

    worker.add(settings, handler)
    try:
        tracing.start("worker")
    except ValueError as fault:
        raise CommandError(str(fault)) from fault
    try:
        asyncio.run(run())
    except MailboxRefusedError as refused:
        raise CommandError(str(refused), of_status(refused.status)) from refused
    except MailboxUnansweredError as fault:
        raise CommandError(f"{address}: {fault}", Exit.UNREACHABLE) from fault
    finally:
        tracing.stop()


def lane_settings(agent: str, *, concurrency: int, prefetch: int = 0, lease: str | None) -> LaneSettings:
    """What the options say. Raises `CommandError`."""
    try:
        return LaneSettings(agent, concurrency, prefetch, duration("--lease", lease))
    except ValueError as fault:
        raise CommandError(f"--{fault}") from fault


def grace_of(text: str) -> timedelta:
    """What `--grace` says. Raises `CommandError`."""
    return duration("--grace", text) or timedelta(0)


def _command(line: str, address: str, render: str) -> Command:
    rendering: dict[str, Rendering] = {"json": "json", "prompt": "prompt"}
    if render not in rendering:
        raise CommandError(f"--render: expected json or prompt, got {render}")
    try:
        command = Command.parse(line, address, rendering[render])
    except ValueError as fault:
        raise CommandError(f"--exec: {fault}") from fault
    if shutil.which(command.arguments[0]) is None:
        raise CommandError(f"--exec: there is no command {command.arguments[0]}")
    return command
