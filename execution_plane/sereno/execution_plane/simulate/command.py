"""`sereno simulate`: reads subscriptions and events from files and prints what would have happened."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Annotated

import orjson
import typer

from sereno.execution_plane.simulate.declared import Refused, declare
from sereno.execution_plane.simulate.lines import Line, LineFault, read
from sereno.execution_plane.simulate.summary import Summary, show_line
from sereno.execution_plane.simulate.world import Output, World
from sereno.mailbox.cli.exits import CommandError
from sereno.subscriptions import documents
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.inlining import inline_calendars
from sereno.subscriptions.models.metadata import DEFAULT_TENANT
from sereno.subscriptions.models.types import format_instant, parse_instant


def simulate(
    *,
    subscriptions: Annotated[Path, typer.Option(help="YAML with the subscriptions")],
    events: Annotated[Path, typer.Option(help="JSON lines: received envelopes and control lines")],
    from_: Annotated[str | None, typer.Option("--from", help="first instant of time subscriptions")] = None,
    to: Annotated[str | None, typer.Option(help="last instant of time subscriptions")] = None,
    all_: Annotated[bool, typer.Option("--all", help="also show pairs that do not match")] = False,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
) -> None:
    """Run subscriptions over events in virtual time, with the deciders that run live; no server is needed."""
    declared = _documents(subscriptions)
    outputs = _run(declared, events, _instant("--from", from_), _instant("--to", to), show_unmatched=all_)
    summary = Summary()
    try:
        for output in outputs:
            summary.add(output)
            if json:
                typer.echo(orjson.dumps(output, option=orjson.OPT_UTC_Z))
            else:
                show_line(output)
    except LineFault as fault:
        raise CommandError(f"{events}: {fault}") from None
    if not json:
        summary.show()


def _documents(path: Path) -> tuple[Document, ...]:
    found = documents.parse(_with_calendars(_bytes(path), path.parent))
    if isinstance(found, Faults):
        raise CommandError("\n".join(f"{path}: {fault}" for fault in found))
    return found


def _with_calendars(content: bytes, folder: Path) -> str | bytes:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        # The reader of documents names the byte.
        return content
    return inline_calendars(text, lambda name: _calendar(folder / name))


def _calendar(path: Path) -> str:
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError:
        raise CommandError(f"{path}: expected UTF-8 text") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as fault:
        raise CommandError(f"{path}: {fault.strerror or fault}") from None


def _instant(flag: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else parse_instant(text)
    except ValueError as fault:
        raise CommandError(f"{flag}: {fault}") from None


def _run(
    declared: tuple[Document, ...],
    events: Path,
    first: datetime | None,
    last: datetime | None,
    *,
    show_unmatched: bool,
) -> Iterator[Output]:
    lines = read(_bytes(events).splitlines(), tenant=_tenant(declared))
    head: list[tuple[int, Line]] = [line for line in (next(lines, None),) if line is not None]
    start = first or (head[0][1].at if head else last)
    if start is None:
        return
    if last is not None and last < start:
        raise CommandError(
            f"--to: expected an instant not earlier than {format_instant(start)}, the first one"
        )
    try:
        found = {(d.object.tenant, d.object.name): d for d in declare(declared, start)}
    except Refused as fault:
        raise CommandError(f"--subscriptions: {fault}") from None
    world = World(found, show_unmatched=show_unmatched)
    yield from world.run(chain(head, lines), last)


def _tenant(declared: tuple[Document, ...]) -> str:
    """The tenant of an event that names none: the only one of the subscriptions, else the default one."""
    tenants = {document.tenant for document in declared if document.kind == "Subscription"}
    return tenants.pop() if len(tenants) == 1 else DEFAULT_TENANT
