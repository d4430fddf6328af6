"""`sereno audit verify|export`: whether what was recorded is whole, and a copy to hold it against."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from sereno.control_plane.commands.flags import ControlUrl, Data, Json, Tenant, Token, control, planes
from sereno.mailbox.audit.chain import Head, Record, verify
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json

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
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Walk the audit chain and name what was changed, removed or slipped in; exit 1 when something was."""
    if file is not None:
        report = _walk(file)
    else:
        report = control(planes(control_url, None, token, data)).get("/v1/audit/verify", tenant=tenant)
    if json:
        print_json(report)
    else:
        whole = "whole" if report["whole"] else "BROKEN"
        typer.echo(f"{whole}: {report['records']} records, the last is {report['seq']}")
        for fault in report["faults"]:
            typer.echo(f"record {fault['seq']}: {fault['kind']}: {fault['message']}")
    if not report["whole"]:
        raise typer.Exit(Exit.FAULT)


def _walk(file: Path) -> dict[str, Any]:
    try:
        lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
        records = [_record(line) for line in lines if "canonical" in line]
        head = next(
            (Head(line["seq"], bytes.fromhex(line["hash"])) for line in lines if "head" in line), None
        )
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise CommandError(
            f"{file}: cannot be read as an export of 'sereno audit export': {fault}"
        ) from fault
    report = verify(records, head)
    return {
        "whole": not report.faults,
        "records": report.records,
        "seq": report.head.seq,
        "hash": report.head.hash.hex(),
        "faults": [{"kind": f.kind, "seq": f.seq, "message": f.message} for f in report.faults],
    }


def _record(line: Mapping[str, Any]) -> Record:
    content = str(line["canonical"]).encode()
    return Record(line["seq"], bytes.fromhex(line["prev"]), bytes.fromhex(line["hash"]), content)


def export(
    *,
    to: Annotated[
        Path | None, typer.Option("--to", help="File to write; standard output, if not given.")
    ] = None,
    tenant: Tenant = None,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Write the audit chain as JSON lines: each record as it was hashed, and the end of the chain last."""
    client = control(planes(control_url, None, token, data))
    if to is None:
        for line in _lines(client, tenant):
            sys.stdout.buffer.write(line + b"\n")
        sys.stdout.flush()
        return
    with to.open("wb") as out:
        for line in _lines(client, tenant):
            out.write(line + b"\n")


def _lines(client: Client, tenant: str | None) -> Iterator[bytes]:
    after: int | None = 0
    while after is not None:
        page = client.get("/v1/audit/records", tenant=tenant, after=str(after), limit=str(_PAGE))
        yield from (orjson.dumps(item) for item in page["items"])
        after = page["next"]
        if after is None:
            yield orjson.dumps({"head": True, **page["head"]})
