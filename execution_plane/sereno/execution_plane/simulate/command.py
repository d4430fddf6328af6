"""`sereno simulate`: reads subscriptions and events from files and prints what would have happened."""

import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated

import orjson
import typer

from sereno.execution_plane.simulate import history
from sereno.execution_plane.simulate.compare import Comparison, show_difference
from sereno.execution_plane.simulate.declared import Refused
from sereno.execution_plane.simulate.lines import LineFault
from sereno.execution_plane.simulate.rehearsal import TooEarly, rehearse, rehearse_lines
from sereno.execution_plane.simulate.said import Output
from sereno.execution_plane.simulate.summary import Summary, show_line
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError
from sereno.subscriptions import documents
from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.inlining import inline_calendars
from sereno.subscriptions.models.types import parse_instant
from sereno.subscriptions.reserves import without_reserve

# So many lines are written at once: people see them soon, and a long run is not slowed by its output.
_TOGETHER = 256


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("simulate")(simulate)


def simulate(
    *,
    subscriptions: Annotated[Path, typer.Option(help="YAML with the subscriptions")],
    events: Annotated[
        Path | None, typer.Option(help="JSON lines: received envelopes and control lines")
    ] = None,
    against_history: Annotated[
        bool,
        typer.Option(
            "--against-history", help="take what the execution plane received between --from and --to"
        ),
    ] = False,
    from_: Annotated[str | None, typer.Option("--from", help="first instant of time subscriptions")] = None,
    to: Annotated[str | None, typer.Option(help="last instant of time subscriptions")] = None,
    all_: Annotated[bool, typer.Option("--all", help="also show pairs that do not match")] = False,
    diff: Annotated[Path | None, typer.Option(help="another version: show what it changes")] = None,
    execution_url: Annotated[str | None, typer.Option(help="URL of the execution plane")] = None,
    token: Annotated[str | None, typer.Option(help="bearer token")] = None,
    data: Annotated[Path | None, typer.Option(help="data folder of sereno up")] = None,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
) -> None:
    """Run subscriptions over events in virtual time, with the deciders that run live.

    No server is needed, unless the events are those of its history.
    """
    first, last = _instant("--from", from_), _instant("--to", to)
    if (events is None) is not against_history:
        raise CommandError("expected either --events FILE or --against-history")
    versions = [_documents(path) for path in (subscriptions, diff) if path is not None]
    if events is None:
        url, bearer = discover(execution_url=execution_url, token=token, data=data).execution()
        tenants = {document.tenant for version in versions for document in version}
        past = history.read(Client(url, bearer), tenants, first, last)
        runs = [rehearse_lines(version, past, first, last, show_unmatched=all_) for version in versions]
    else:
        lines = _bytes(events).splitlines()
        runs = [rehearse(version, lines, first, last, show_unmatched=all_) for version in versions]
    try:
        with _no_collector():
            if len(runs) > 1:
                _show_difference(Comparison.of(*runs), json=json)
            else:
                _show(runs[0], json=json)
    except LineFault as fault:
        raise CommandError(f"{events or 'history'}: {fault}") from None
    except Refused as fault:
        raise CommandError(f"--subscriptions: {fault}") from None
    except TooEarly as fault:
        raise CommandError(f"--to: {fault}") from None


def _show(outputs: Iterator[Output], *, json: bool) -> None:
    if json:
        _print(outputs)
        return
    summary = Summary()
    for output in outputs:
        summary.add(output)
        show_line(output)
    summary.show()


def _show_difference(comparison: Comparison, *, json: bool) -> None:
    if json:
        _print(comparison.lines())
    else:
        show_difference(comparison)


@contextmanager
def _no_collector() -> Iterator[None]:
    """A simulation keeps what it makes and makes no cycles; looking for some took a quarter of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _print(outputs: Iterable[Output]) -> None:
    """Write each as a line of JSON; what was said before a bad line is written too."""
    lines: list[bytes] = []
    sys.stdout.flush()
    try:
        for output in outputs:
            lines.append(orjson.dumps(output, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE))
            if len(lines) == _TOGETHER:
                sys.stdout.buffer.write(b"".join(lines))
                lines.clear()
    finally:
        sys.stdout.buffer.write(b"".join(lines))
        sys.stdout.buffer.flush()


def _documents(path: Path) -> tuple[Document, ...]:
    found = documents.parse(_with_calendars(_bytes(path), path.parent), simulated=True)
    faults = list(found) if isinstance(found, Faults) else list(without_reserve(found, {}))
    if isinstance(found, Faults) or faults:
        raise CommandError("\n".join(f"{path}: {fault}" for fault in faults))
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
