"""How commands print: tables for people, JSON for programs."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

_PIPED_WIDTH = 240
"""Columns of a table that no person looks at directly: wide enough that `grep` finds whole values."""


def print_json(value: Any) -> None:
    """One JSON document on stdout, indented."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS, default=str).decode())


def print_line(value: Any) -> None:
    """One JSON document on one line of stdout."""
    typer.echo(orjson.dumps(value, default=str).decode())


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> None:
    """A table on stdout; `None` is shown as an empty cell."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        # The first column names the row: people copy it, so it is never broken.
        table.add_column(column, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    console.print(table)
