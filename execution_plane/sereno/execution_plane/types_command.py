"""`sereno types list`: the event types of the platform."""

from typing import Annotated

import typer

from sereno.envelope.types import CATALOGUE
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

Json = Annotated[bool, typer.Option("--json", help="print JSON")]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group(app, "types", "The event types that the platform itself emits.").command("list")(list_types)


def list_types(json: Json = False) -> None:
    """List the event types that the platform itself emits."""
    if json:
        print_json([{"name": t.name, "family": t.family, "description": t.description} for t in CATALOGUE])
    else:
        print_table(("type", "family", "description"), [(t.name, t.family, t.description) for t in CATALOGUE])
