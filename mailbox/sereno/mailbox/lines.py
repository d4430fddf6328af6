"""Lines of serial keys: when a head is closed, the next steps forward in the same transaction (mechanics 22)."""

from collections.abc import Iterable

from asyncpg import Record

from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.mailbox", "verbs.sql")


async def promote(conn: AnyConnection, closed: Iterable[Record]) -> None:
    """Let the next of each line forward; rows have `tenant_id`, `agent`, `serial_key` (None: closed no head)."""
    keys = sorted(
        {(row["tenant_id"], row["agent"], row["serial_key"]) for row in closed if row.get("serial_key")}
    )
    if keys:
        await conn.execute(_SQL["promote"], *map(list, zip(*keys, strict=True)))
