"""Commands of the mailbox: `work`, `mailbox list|show`, `notices`."""

import asyncio
import shutil
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from sereno.mailbox import repair_commands
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError, Exit, of_status
from sereno.mailbox.cli.output import print_json, print_table
from sereno.mailbox.exec import Command, Rendering
from sereno.mailbox.worker import Worker, WorkerRefusedError, WorkerUnansweredError

Data = Annotated[Path | None, typer.Option("--data", help="Data folder of 'sereno up'.")]
Url = Annotated[str | None, typer.Option("--execution-url", help="Address of the execution plane.")]
Token = Annotated[str | None, typer.Option("--token", help="Bearer token; better: SERENO_TOKEN.")]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Tenant; else the token's.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
_MAX_CONCURRENCY = 1000


def register(app: typer.Typer) -> None:
    """Add the mailbox's commands to the command line."""
    group = typer.Typer(name="mailbox", help="What stands in the mailboxes.", no_args_is_help=True)
    group.command("list")(list_mailboxes)
    group.command("show")(show)
    app.add_typer(group)
    app.command("notices")(list_notices)
    app.command("work")(work)
    repair_commands.register(app)


def list_mailboxes(
    *,
    agent: Annotated[str | None, typer.Argument(help="List this agent's messages instead.")] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="ready, leased, parked, acked or dead.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 100,
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """List the mailboxes, or the messages of one with their holders."""
    client = _client(url, token, data)
    if agent is None:
        if state is not None:
            raise CommandError("--state: expected an AGENT whose messages to list")
        answer = client.get("/v1/mailboxes", tenant=tenant)
        columns = ["tenant", "agent", "ready", "waiting", "held", "leased", "parked", "dead"]
        _print(answer, "mailboxes", columns, json)
        return
    path = f"/v1/mailboxes/{_agent(agent)}/messages"
    answer = client.get(path, tenant=tenant, state=state, limit=limit)
    columns = ["id", "state", "reason", "attempts", "token", "holder", "leased_until", "deposited_at"]
    _print(answer, "messages", columns, json)


def show(
    *,
    message: Annotated[str, typer.Argument(help="msg_… or a UUID.")],
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show one message: what it says, who holds it, and every lease it had."""
    answer = _client(url, token, data).get(f"/v1/messages/{quote(message, safe='')}")
    if json:
        print_json(answer)
        return
    fields = [(key, value) for key, value in answer.items() if key != "history" and value is not None]
    print_table(["field", "value"], fields)
    columns = ["at", "kind", "token", "principal", "data"]
    print_table(columns, [[event[key] for key in columns] for event in answer["history"]], title="history")


def list_notices(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 100,
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """List what a person should know, latest first."""
    answer = _client(url, token, data).get("/v1/notices", tenant=tenant, limit=limit)
    _print(answer, "notices", ["last_at", "tenant", "cause", "count", "text"], json)


def work(
    *,
    agent: Annotated[str, typer.Argument(help="Whose mailbox to serve.")],
    command: Annotated[str, typer.Option("--exec", help="Command to run for each message.")],
    once: Annotated[bool, typer.Option("--once", help="End when nothing is ready.")] = False,
    maximum: Annotated[int | None, typer.Option("--max", min=1, help="End after so many messages.")] = None,
    render: Annotated[str, typer.Option("--render", help="What stdin holds: json or prompt.")] = "json",
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, max=_MAX_CONCURRENCY)] = 1,
    lease: Annotated[
        float | None, typer.Option("--lease", min=1, help="Seconds; else the message's.")
    ] = None,
    grace: Annotated[float, typer.Option("--grace", min=0, help="Seconds to finish after SIGTERM.")] = 30.0,
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Claim messages of AGENT and run a command for each; its exit code and stdout become the result."""
    address, bearer = discover(execution_url=url, token=token, data=data).execution()
    worker = Worker(address, bearer, tenant=tenant, grace_seconds=grace, max_messages=maximum, once=once)
    handler = _command(command, address, render)
    worker.agent(agent.removeprefix("agent:"), concurrency=concurrency, lease_seconds=lease)(handler)
    try:
        asyncio.run(worker.run())
    except WorkerRefusedError as refused:
        raise CommandError(str(refused), of_status(refused.status)) from refused
    except WorkerUnansweredError as fault:
        raise CommandError(f"{address}: {fault}", Exit.UNREACHABLE) from fault


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


def _client(url: str | None, token: str | None, data: Path | None) -> Client:
    return Client(*discover(execution_url=url, token=token, data=data).execution())


def _agent(name: str) -> str:
    return quote(name.removeprefix("agent:"), safe="")


def _print(answer: dict[str, Any], member: str, columns: list[str], json: bool) -> None:
    if json:
        print_json(answer)
    else:
        print_table(columns, [[row[column] for column in columns] for row in answer[member]])
