"""`sereno export|import --dir`: a tenant as files: its catalog, the events it received, and its audit chains."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
import yaml

from sereno.control_plane.commands.audit import PLANES, chain_lines
from sereno.control_plane.commands.flags import (
    ControlUrl,
    Data,
    ExecutionUrl,
    Json,
    Tenant,
    Token,
    control,
    planes,
)
from sereno.mailbox.cli.client import Client, segment
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.output import print_json

CATALOG, LEFT_OUT, EVENTS, AUDIT, SUMMARY = (
    "catalog.yaml",
    "not-imported.yaml",
    "events.jsonl",
    "audit.jsonl",
    "export.json",
)
_GOES_ON = {"active", "paused"}
_EVENT_PAGE = 1_000
_REASON = "imported as it was exported"
Folder = Annotated[Path, typer.Option("--dir", help="The folder of the files.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("export")(export)
    app.command("import")(import_)


def export(
    *,
    folder: Folder,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Write a tenant into a folder: catalog as YAML, received events as CloudEvents, audit chains as JSON lines."""
    found = planes(control_url, execution_url, token, data)
    catalog, execution = control(found), Client(*found.execution())
    declared = catalog.get("/v1/documents", tenant=tenant)
    home = declared["tenant"]
    principals = [
        {key: one[key] for key in ("name", "roles", "about") if one.get(key) is not None}
        for one in catalog.get("/v1/principals", tenant=home)["items"]
        if one["tenant"] == home and one["state"] != "deleted"
    ]
    going = [item for item in declared["items"] if item["state"] in _GOES_ON]
    folder.mkdir(parents=True, exist_ok=True)
    _write_yaml(folder / CATALOG, going)
    _write_yaml(folder / LEFT_OUT, [item for item in declared["items"] if item not in going])
    events = _write_lines(folder / EVENTS, (one["envelope"] for one in _history(execution, home)))
    clients = {"control": catalog, "execution": execution}
    records = _write_lines(
        folder / AUDIT, (line for plane in PLANES for line in chain_lines(clients[plane], plane, home))
    )
    paused = [item["document"]["metadata"]["name"] for item in going if _is_paused(item)]
    summary = {"tenant": home, "principals": principals, "paused": paused}
    (folder / SUMMARY).write_bytes(orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n")
    said = {"dir": str(folder), "tenant": home, "objects": len(going), "events": events, "records": records}
    if json:
        print_json(said)
        return
    typer.echo(f"{folder}: tenant {home}: {len(going)} objects, {events} events, {records} lines of audit")


def _is_paused(item: Mapping[str, Any]) -> bool:
    return bool(item["state"] == "paused" and item["document"]["kind"] == "Subscription")


def _write_yaml(path: Path, items: Iterable[Mapping[str, Any]]) -> None:
    documents = [item["document"] for item in items]
    text = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True) if documents else ""
    path.write_text(text, encoding="utf-8")


def _write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with path.open("wb") as out:
        for line in lines:
            out.write(orjson.dumps(line) + b"\n")
            count += 1
    return count


def _history(execution: Client, tenant: str) -> Iterator[Mapping[str, Any]]:
    after = None
    while True:
        page = execution.get("/v1/history", tenant=tenant, after=after, limit=_EVENT_PAGE)
        yield from page["items"]
        after = page["next"]
        if after is None:
            return


def import_(
    *,
    folder: Folder,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would happen, change nothing.")
    ] = False,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Put an exported catalog in force; its events and audit chains are checked, and wake nobody again."""
    from sereno.envelope.decode import loads_envelope  # noqa: PLC0415 - only an import reads events
    from sereno.mailbox.audit.offline import walk  # noqa: PLC0415

    summary, text = _read_summary(folder), _read(folder / CATALOG).decode()
    broken = [fault for report in walk(folder / AUDIT, (), None) for fault in report["faults"]]
    if broken:
        fault = broken[0]
        raise CommandError(
            f"{folder / AUDIT}: record {fault['seq']}: {fault['kind']}: {fault['message']}", Exit.FAULT
        )
    events = 0
    for number, line in enumerate(_read(folder / EVENTS).splitlines(), 1):
        try:
            loads_envelope(orjson.loads(line))
        except (ValueError, KeyError, TypeError) as fault:
            raise CommandError(f"{folder / EVENTS}: line {number}: no event of an export: {fault}") from fault
        events += 1
    answer = _put(planes(control_url, None, token, data), summary, text, dry_run=dry_run)
    said = {**answer, "tenant": summary["tenant"], "events": events, "dry_run": dry_run}
    if json:
        print_json(said)
    else:
        _tell(said)


def _put(found: Discovery, summary: Mapping[str, Any], text: str, *, dry_run: bool) -> dict[str, Any]:
    """Everything, once nothing of it would be refused."""
    client, tenant = control(found), summary["tenant"]
    body = {"documents": text, "reason": _REASON}
    plan = client.post("/v1/apply", {**body, "dry_run": True})
    if not dry_run:
        known = {one["name"] for one in client.get("/v1/principals", tenant=tenant)["items"]}
        for principal in summary["principals"]:
            if principal["name"] not in known:
                client.post("/v1/principals", {**principal, "reason": _REASON}, tenant=tenant)
        plan = client.post("/v1/apply", body)
        for name in summary["paused"]:
            path = f"/v1/subscriptions/{segment(name, 'NAME')}"
            if client.get(path, tenant=tenant)["state"] == "active":
                client.post(f"{path}/pause", {"reason": _REASON}, tenant=tenant)
    changes = client.post("/v1/diff", {"documents": text})["changes"]
    changed = [one["name"] for one in plan["objects"] if one["change"] != "unchanged"]
    return {"changed": changed, "differences": changes}


def _tell(said: Mapping[str, Any]) -> None:
    would = "would change" if said["dry_run"] else "changed"
    typer.echo(
        f"tenant {said['tenant']}: {len(said['changed'])} objects {would}; {said['events']} events are whole"
    )
    if not said["dry_run"] and not said["differences"]:
        typer.echo("the catalog is as the export says")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as fault:
        raise CommandError(f"{path}: cannot be read: {fault.strerror}") from fault


def _read_summary(folder: Path) -> Mapping[str, Any]:
    path = folder / SUMMARY
    try:
        said = orjson.loads(_read(path))
        return {"tenant": said["tenant"], "principals": said["principals"], "paused": said["paused"]}
    except (ValueError, KeyError, TypeError) as fault:
        raise CommandError(f"{path}: expected what 'sereno export' writes: {fault}") from fault
