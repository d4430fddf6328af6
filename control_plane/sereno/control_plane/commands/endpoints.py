"""`sereno webhook endpoint add|list|show|rotate|pause|resume`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from sereno.control_plane.commands import listing, stepping
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import (
    Name,
    Why,
)
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

PATH = "/v1/endpoints"
Reference = Annotated[
    list[str] | None,
    typer.Option("--secret", help="env:NAME or file:PATH on the execution plane; may be given twice."),
]
Seal = Annotated[
    Path | None,
    typer.Option("--seal", help="File with the secret itself, - for standard input; kept only sealed."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    webhook = group(app, "webhook", "Webhooks: where outside systems tell us what happened.")
    endpoint = group(webhook, "endpoint", "Endpoints: one URL a sender.")
    endpoint.command("add")(add_endpoint)
    endpoint.command("list")(list_endpoints)
    endpoint.command("show")(show_endpoint)
    endpoint.command("rotate")(rotate_endpoint)
    endpoint.command("pause")(pause_endpoint)
    endpoint.command("resume")(resume_endpoint)


@asks
def add_endpoint(
    name: Name,
    *,
    scheme: Annotated[str, typer.Option(help="How senders sign, such as github or standard.")],
    secret: Reference = None,
    seal: Seal = None,
    header: Annotated[str | None, typer.Option(help="hmac: the header that holds the signature.")] = None,
    prefix: Annotated[str | None, typer.Option(help="hmac: what stands before it.")] = None,
    encoding: Annotated[str | None, typer.Option(help="hmac: hex or base64.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="hmac: sha1, sha256, sha384 or sha512.")] = None,
    max_body: Annotated[str | None, typer.Option(help="Largest body, such as 64KiB.")] = None,
    rate: Annotated[str | None, typer.Option(help="Most requests, such as 600/min.")] = None,
    call: Call,
) -> None:
    """Add an endpoint and print its URL; without a secret one is made and shown this once."""
    options = {
        "scheme": scheme,
        "secrets": secret,
        "header": header,
        "prefix": prefix,
        "encoding": encoding,
        "algorithm": algorithm,
        "max_body": max_body,
        "rate": rate,
    }
    spec = {key: value for key, value in options.items() if value}
    body = {"name": name, "spec": spec, "secret": _secret(seal)}
    _answered(call.found, call.client.post(PATH, body, tenant=call.tenant), json=call.json)


@asks
def rotate_endpoint(
    name: Name,
    *,
    secret: Annotated[str | None, typer.Option(help="env:NAME or file:PATH of the new secret.")] = None,
    seal: Seal = None,
    finish: Annotated[bool, typer.Option("--finish", help="End the older of two secrets.")] = False,
    call: Call,
) -> None:
    """Put a new secret beside the one in use; later --finish ends the old one."""
    body = {"reference": secret, "secret": _secret(seal), "finish": finish}
    path = f"{PATH}/{quote(name, safe='')}/rotate"
    _answered(call.found, call.client.post(path, body, tenant=call.tenant), json=call.json)


@asks
def pause_endpoint(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Let an endpoint wake nobody for a while; what arrives is recorded and not kept."""
    _moved(call.found, "pause", name, call.tenant, reason, json=call.json)


@asks
def resume_endpoint(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Let a paused endpoint go on."""
    _moved(call.found, "resume", name, call.tenant, reason, json=call.json)


def _secret(path: Path | None) -> str | None:
    """The secret in a file, without the line break at its end."""
    if path is None:
        return None
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise CommandError(f"{path}: cannot be read as UTF-8 text: {fault}") from None
    return text.rstrip("\r\n")


def _answered(found: Discovery, answer: Mapping[str, Any], *, json: bool) -> None:
    made = answer["generated_secret"]
    stepping.told(
        found,
        answer,
        f"{answer['name']} (version {answer['version']}): {answer['url']}",
        f"secrets: {', '.join(answer['secrets'])}",
        *([] if made is None else [f"the new secret, shown this once: {made}"]),
        json=json,
    )


def _moved(found: Discovery, verb: str, name: str, tenant: str | None, reason: str, *, json: bool) -> None:
    answer = stepping.step(found, PATH, name, verb, tenant, reason)
    stepping.told(found, answer, stepping.state(answer), json=json)


@asks
def list_endpoints(
    *,
    call: Call,
) -> None:
    """List the declared endpoints with the URLs to which senders post."""
    found = list(listing.every(call.client, PATH, call.tenant))
    if call.json:
        print_json(found)
        return
    rows = ([e["name"], e["version"], e["state"], e["spec"]["scheme"], e["url"]] for e in found)
    print_table(("name", "version", "state", "scheme", "url"), rows)


@asks
def show_endpoint(
    name: Name,
    *,
    call: Call,
) -> None:
    """Show one endpoint and its URL."""
    listing.show(call.client, PATH, name, call.tenant, json=call.json)
