"""`sereno push AGENT --url URL`: a worker that hands messages to an agent that has an HTTP address."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.commands.options import Agent, Data, Tenant, Token, Url, duration
from sereno.mailbox.commands.work import (
    Concurrency,
    Grace,
    Lease,
    Maximum,
    Once,
    grace_of,
    lane_settings,
    serve,
)
from sereno.mailbox.outbound import Addresses, Limits, Outbound, OutboundError
from sereno.mailbox.outbound.fetch import checked
from sereno.mailbox.push import Bearer, Push, Signature, Template
from sereno.mailbox.push.credentials import Credentials, resolve
from sereno.mailbox.worker import Worker

Target = Annotated[str, typer.Option("--url", metavar="URL", help="Where to POST each message.")]
Secret = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="REFERENCE",
        help="Sign as Standard Webhooks do; env:NAME or file:PATH of a whsec_ secret. Twice while one is replaced.",
    ),
]
BearerReference = Annotated[
    str | None,
    typer.Option("--bearer", metavar="REFERENCE", help="Send a bearer token instead; env:NAME or file:PATH."),
]
Body = Annotated[
    Path | None, typer.Option("--body", metavar="FILE", help="JSON template of the body; else everything.")
]
Callback = Annotated[
    str | None,
    typer.Option("--callback-url", metavar="URL", help="The execution plane as the agent reaches it."),
]
Open = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-network",
        metavar="NETWORK",
        help="Let the URL be in a network that is closed by default, such as 127.0.0.0/8 or 10.0.0.0/8.",
    ),
]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="How long the agent may take to answer.")
]
LONGEST_ANSWER = timedelta(hours=1)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("push")(push)


def push(
    *,
    agent: Agent,
    target: Target,
    secret: Secret = None,
    bearer: BearerReference = None,
    body: Body = None,
    callback: Callback = None,
    allow_network: Open = None,
    timeout: Timeout = "60s",
    once: Once = False,
    maximum: Maximum = None,
    concurrency: Concurrency = 1,
    lease: Lease = None,
    grace: Grace = "30s",
    tenant: Tenant = None,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Claim messages of AGENT and POST each to its URL; the answer or a callback ends the run."""
    address, ours = discover(execution_url=url, token=token, data=data).execution()
    outbound = Outbound(_addresses(allow_network or ()), Limits(time=_time(timeout)))
    handler = Push(
        _checked(target, "--url"),
        _checked(callback, "--callback-url") if callback else address,
        _credentials(secret or (), bearer),
        outbound,
        _template(body),
    )
    settings = lane_settings(agent, concurrency=concurrency, lease=lease)
    worker = Worker(address, ours, tenant=tenant, grace=grace_of(grace), max_messages=maximum, once=once)
    serve(worker, settings, handler, address, close=outbound.close)


def _credentials(secrets: list[str] | tuple[str, ...], bearer: str | None) -> Credentials:
    if bool(secrets) == bool(bearer):
        raise CommandError("--secret: expected it or --bearer: an agent must be able to tell who calls")
    try:
        return Bearer(resolve(bearer)) if bearer else Signature.of([resolve(one) for one in secrets])
    except ValueError as fault:
        raise CommandError(f"{'--bearer' if bearer else '--secret'}: {fault}") from fault


def _template(path: Path | None) -> Template:
    if path is None:
        return Template.default()
    try:
        return Template.parse(path.read_bytes())
    except OSError as fault:
        raise CommandError(f"--body: {path} cannot be read: {fault.strerror}") from fault
    except ValueError as fault:
        raise CommandError(f"--body: {fault}") from fault


def _addresses(networks: list[str] | tuple[str, ...]) -> Addresses:
    try:
        return Addresses.opening(networks)
    except ValueError as fault:
        raise CommandError(f"--allow-network: {fault}") from fault


def _checked(url: str, option: str) -> str:
    try:
        return checked(url).geturl()
    except OutboundError as fault:
        raise CommandError(f"{option}: {fault}") from fault


def _time(text: str) -> timedelta:
    time = duration("--timeout", text, least=timedelta(seconds=1)) or timedelta(0)
    if time > LONGEST_ANSWER:
        raise CommandError(f"--timeout: expected at most 1h, got {text}")
    return time
