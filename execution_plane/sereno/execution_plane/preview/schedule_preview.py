"""`sereno schedule preview`: when a schedule fires."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.execution_plane.preview.lines import answer_lines
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.output import print_line, print_table
from sereno.subscriptions.recurrence.preview import Firing, preview
from sereno.subscriptions.recurrence.refusal import Refused

_SHAPED = {"gap": "moved: the clock skips this time", "overlap": "the clock shows this time twice", None: ""}


def answer(question: Any) -> dict[str, Any]:
    """The answer to one question in JSON; Refused says why there is none."""
    return {"instants": [firing.text for firing in preview(question)]}


def preview_schedule(
    *,
    rrule: Annotated[list[str] | None, typer.Option(help="recurrence rule, such as FREQ=DAILY")] = None,
    dtstart: Annotated[str | None, typer.Option(help="local time of the first occurrence")] = None,
    zone: Annotated[str | None, typer.Option(help="time zone, such as Europe/Madrid")] = None,
    rdate: Annotated[list[str] | None, typer.Option(help="a time added")] = None,
    exdate: Annotated[list[str] | None, typer.Option(help="a time left out")] = None,
    gap: Annotated[str | None, typer.Option(help="shift or skip a time that the clock skips")] = None,
    overlap: Annotated[str | None, typer.Option(help="first, second or both of a time shown twice")] = None,
    cron: Annotated[str | None, typer.Option(help="cron line of five fields")] = None,
    ics: Annotated[Path | None, typer.Option(help="iCalendar file with one series")] = None,
    after: Annotated[str | None, typer.Option(help="from when on; now, if not given")] = None,
    before: Annotated[str | None, typer.Option(help="until when")] = None,
    count: Annotated[int, typer.Option(help="how many at most")] = 10,
    json: Annotated[
        bool, typer.Option("--json", help="JSON; without a schedule, one question a line")
    ] = False,
) -> None:
    """Show when a schedule fires, in its zone and in UTC; no server is needed."""
    schedules = {
        "rrule": rrule,
        "dtstart": dtstart,
        "cron": cron,
        "ics": ics,
        "rdate": rdate,
        "exdate": exdate,
    }
    if json and not any(schedules.values()):
        answer_lines(sys.stdin.buffer, sys.stdout.buffer, answer)
        return
    question = {
        **schedules,
        "ics": read_text(ics),
        "tzid": zone,
        "gap": gap,
        "overlap": overlap,
        "after": after or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "before": before,
        "limit": count,
    }
    try:
        found = preview(question)
    except Refused as refused:
        raise CommandError(str(refused)) from None
    if json:
        print_line({"instants": [firing.text for firing in found]})
    else:
        _show(found, zone)


def read_text(path: Path | None) -> str | None:
    """The text of a file; CommandError when it cannot be read."""
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise CommandError(f"{path}: cannot be read as UTF-8 text: {fault}") from None


def _show(found: tuple[Firing, ...], zone: str | None) -> None:
    if not found:
        typer.echo("It does not fire in this window.")
        return
    rows = [(firing.local, firing.text, _SHAPED[firing.shaped]) for firing in found]
    print_table((f"on the clock of {zone}" if zone else "on its clock", "as an instant", ""), rows)
