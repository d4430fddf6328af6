"""How commands print: tables for people, JSON for programs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PIPED_WIDTH = 240
"""Columns of a table that no person looks at directly: wide enough that `grep` finds whole values."""
# What would move the cursor, ring, or turn the direction of reading: an outsider may have written it.
_COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def print_json(value: Any) -> None:
    """One JSON document on stdout, indented."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS, default=str).decode())


def print_line(value: Any) -> None:
    """One JSON document on one line of stdout."""
    typer.echo(orjson.dumps(value, default=str).decode())


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> None:
    """A table on stdout; `None` is shown as an empty cell, what has parts as JSON, nothing as markup."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        # The first column names the row: people copy it, so it is never broken.
        table.add_column(column, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(Text(plain(_text(cell))) for cell in row))
    console = Console()
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    console.print(table)


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool | Mapping | list | tuple):
        return orjson.dumps(cell, default=str).decode()
    return str(cell)


def plain(text: str) -> str:
    """The text with what a terminal would obey written out."""
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
