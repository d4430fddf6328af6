"""`sereno envelope check`: what the strict decoder makes of a message; no server is needed."""

import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from sereno.envelope import check
from sereno.envelope.decode import decode_http, decode_nats
from sereno.execution_plane.preview.lines import answer_lines
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_line, print_table

STDIN = "-"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group(app, "envelope", "What is an acceptable CloudEvent, and what is not.").command("check")(
        check_message
    )


def check_message(
    file: Annotated[
        Path | None, typer.Argument(help="the body; - reads it from stdin", show_default=False)
    ] = None,
    *,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="a header such as 'Content-Type: text/plain'")
    ] = None,
    nats: Annotated[bool, typer.Option("--nats", help="read it as a NATS message, not as HTTP")] = False,
    json: Annotated[bool, typer.Option("--json", help="JSON; without FILE, one message a line")] = False,
) -> None:
    """Decode a message as strictly as the gateway does, and show its events or why it is refused."""
    if file is None:
        if not json:
            raise CommandError("expected FILE, or --json and one message a line")
        answer_lines(sys.stdin.buffer, sys.stdout.buffer, check.answer)
        return
    headers, body = [_header(line) for line in header or []], _read(file)
    decoded = (decode_nats if nats else decode_http)(headers, body)
    found = check.check(headers, decoded, body)
    if json:
        print_line(found)
    elif found["accepted"]:
        _show(found)
    else:
        raise CommandError(f"refused, {found['error']['code']}: {found['error']['message']}")


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise CommandError(f"--header: expected 'Name: value', not {line!r}")
    return name.strip(), value


def _read(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == STDIN else file.read_bytes()
    except OSError as fault:
        raise CommandError(f"{file}: cannot be read: {fault.strerror}") from None


def _show(found: dict[str, Any]) -> None:
    typer.echo(f"accepted, {found['mode']} mode, {len(found['events'])} event(s)")
    for event in found["events"]:
        rows = (
            (name, value if isinstance(value, str) else orjson.dumps(value).decode())
            for name, value in event.items()
        )
        print_table(("attribute", "value"), rows)
