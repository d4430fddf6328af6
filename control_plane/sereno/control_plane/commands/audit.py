"""`sereno audit verify|export`: whether what was recorded is whole on both planes, and a copy to hold it against."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import orjson
import typer

from sereno.control_plane.commands.flags import ControlUrl, Data, ExecutionUrl, Json, Tenant, Token, planes
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import plain, print_json

PLANES = ("control", "execution")
Plane = Annotated[
    Literal["control", "execution"] | None,
    typer.Option("--plane", help="Only this plane's chain; both, if not given."),
]
_PAGE = 10_000


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    audit_group = group(
        app, "audit", "Audit: what was done, chained so that nothing of it changes unnoticed."
    )
    audit_group.command("verify")(verify_chain)
    audit_group.command("export")(export)


def verify_chain(
    *,
    file: Annotated[
        Path | None, typer.Option("--file", help="An export to walk instead; asks no server then.")
    ] = None,
    checkpoints: Annotated[
        list[Path] | None, typer.Option("--checkpoints", help="With --file: files of signed checkpoints.")
    ] = None,
    keys: Annotated[
        Path | None, typer.Option("--keys", help="With --checkpoints: the public keys by which they count.")
    ] = None,
    plane: Plane = None,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Walk the audit chains and name what was changed, removed or slipped in; exit 1 when something was."""
    if file is not None:
        from sereno.mailbox.audit.offline import walk  # noqa: PLC0415 - only an export takes the cryptography

        reports = walk(file, checkpoints or (), keys)
    elif checkpoints or keys:
        raise CommandError("--checkpoints and --keys need --file: without it the planes use their own")
    else:
        reports = _asked(_clients(planes(control_url, execution_url, token, data), plane), tenant)
    whole = all(report["whole"] for report in reports)
    if json:
        print_json(_together(reports))
    else:
        _tell(reports)
    if not whole:
        raise typer.Exit(Exit.FAULT)


def _clients(found: Discovery, plane: str | None) -> dict[str, Client]:
    wanted = PLANES if plane is None else (plane,)
    return {name: Client(*(found.control() if name == "control" else found.execution())) for name in wanted}


def _asked(clients: Mapping[str, Client], tenant: str | None) -> list[dict[str, Any]]:
    """Each plane walks its own chain, held against what stands of it in the other's."""
    held: dict[str, list[str]] = {name: [] for name in PLANES}
    for client in clients.values():
        for kept in client.get("/v1/audit/anchors", tenant=tenant)["items"]:
            held[kept["plane"]].append(f"{kept['seq']}:{kept['hash']}")
    return [
        client.get("/v1/audit/verify", tenant=tenant, held=held[name] or None)
        for name, client in clients.items()
    ]


def _together(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "whole": all(report["whole"] for report in reports),
        "records": sum(report["records"] for report in reports),
        "faults": [{"plane": report["plane"], **fault} for report in reports for fault in report["faults"]],
        "planes": list(reports),
    }


def _tell(reports: Iterable[Mapping[str, Any]]) -> None:
    for report in reports:
        whole = "whole" if report["whole"] else "BROKEN"
        kept = (
            f"held against {report['checkpoints']} checkpoints and {report['held']} ends in the other chain"
        )
        typer.echo(
            f"{report['plane']} plane: {whole}: {report['records']} records, the last is {report['seq']}; {kept}"
        )
        for fault in report["faults"]:
            typer.echo(f"  record {fault['seq']}: {fault['kind']}: {fault['message']}")


def export(
    *,
    to: Annotated[
        Path | None, typer.Option("--to", help="File to write; standard output, if not given.")
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="One line for people a record, instead of what can be verified.")
    ] = False,
    plane: Plane = None,
    tenant: Tenant = None,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Write the audit chains as JSON lines: each record as it was hashed, and the end of each chain after its last."""
    clients = _clients(planes(control_url, execution_url, token, data), plane)
    lines = (line for name, client in clients.items() for line in chain_lines(client, name, tenant))
    if to is None:
        _write(lines, sys.stdout.buffer, words=words)
        sys.stdout.flush()
        return
    with to.open("wb") as out:
        _write(lines, out, words=words)


def _write(lines: Iterable[dict[str, Any]], out: IO[bytes], *, words: bool) -> None:
    for line in lines:
        if not words:
            out.write(orjson.dumps(line) + b"\n")
        elif "canonical" in line:
            out.write(_in_words(line).encode() + b"\n")


def _in_words(record: Mapping[str, Any]) -> str:
    """`2026-11-30 12:00:00Z user:marta: subscription paused: subscription/refund-watch`."""
    kind = str(record["type"]).replace(".", " ").replace("_", " ")
    at = str(record["at"])[:19].replace("T", " ")
    return plain(f"{at}Z {record['plane']} #{record['seq']} {record['actor']}: {kind}: {record['subject']}")


def chain_lines(client: Client, plane: str, tenant: str | None) -> Iterator[dict[str, Any]]:
    """A plane's chain as an export writes it."""
    after: int | None = 0
    while after is not None:
        page = client.get("/v1/audit/records", tenant=tenant, after=str(after), limit=str(_PAGE))
        yield from ({"plane": plane, **item} for item in page["items"])
        after = page["next"]
        if after is None:
            yield {"plane": plane, "head": True, **page["head"]}
