"""Rows and values in the form in which statements take them: one array a column."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import orjson

from sereno.execution_plane.guards.lineage import Ancestor
from sereno.execution_plane.guards.recent import Recent
from sereno.mailbox.connection import AnyConnection

Row = tuple[Any, ...]


def columns(rows: Iterable[Row], width: int) -> list[list[Any]]:
    """Rows as one array a column, as `unnest` takes them."""
    turned = [list(column) for column in zip(*rows, strict=True)]
    return turned or [[] for _ in range(width)]


async def copy(conn: AnyConnection, table: str, names: Sequence[str], rows: Iterable[Row]) -> None:
    """Put new rows into a table of the plane: for many a fraction of the cost of a statement.

    Rows that are made while they are asked for are made while the database takes in those before them.
    """
    coming = iter(rows)
    first = next(coming, None)
    if first is not None:
        await conn.copy_records_to_table(
            table, schema_name="execution", columns=names, records=chain([first], coming)
        )


def as_bytes(value: object) -> bytes:
    """The value as JSON, as a column of it takes it."""
    # The UUIDs of the driver are of a kind of their own.
    return orjson.dumps(value, option=orjson.OPT_UTC_Z, default=str)


def as_json(value: object) -> str:
    """The value as a statement takes it inside an array."""
    # The driver would take a list inside an array for one more dimension.
    return as_bytes(value).decode()


def storable(text: str) -> str:
    """The text as PostgreSQL can keep it: it has no NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def as_array(recent: Recent | None) -> str | None:
    """What came lately as an array of the database in text: an array of arrays would be one of two dimensions."""
    if recent is None:
        return None
    return f"{{{','.join(map(str, (recent.window, recent.grain, *recent.moments)))}}}"


def recent_of(array: Sequence[int] | None) -> Recent | None:
    """What came lately, from such an array."""
    return None if array is None else Recent(array[0], array[1], tuple(array[2:]))


def ancestors_as_json(ancestors: Iterable[Ancestor]) -> str:
    """A lineage as pairs of message and agent."""
    return as_json([list(ancestor) for ancestor in ancestors])


def ancestors_of(pairs: Iterable[Sequence[str]]) -> tuple[Ancestor, ...]:
    """The lineage in such pairs."""
    return tuple(Ancestor(message, agent) for message, agent in pairs)
