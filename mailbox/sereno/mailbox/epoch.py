"""The epoch of tokens: raised when the database may have gone back in time, so that no token is given twice.

A token is (epoch << 40 | sequence). A restored dump or a promoted standby may stand before tokens that were
handed out already; with a higher epoch every new one is above them all, and theirs are unknown.
"""

from dataclasses import dataclass

from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.mailbox", "epoch.sql")


class TimelineChangedError(Exception):
    """The server is another one, or was promoted, since the epoch was last raised; the message is for a person."""


@dataclass(frozen=True, slots=True)
class Server:
    """What tells a database that went on from one that went back."""

    system_identifier: str
    timeline: int


async def server(conn: "AnyConnection | AnyPool") -> Server:
    """The server behind this connection."""
    row = await conn.fetchrow(_SQL["server"])
    if row is None:
        raise TimelineChangedError("PostgreSQL does not say which server it is")
    return Server(row["system_identifier"], row["timeline"])


async def raise_epoch(conn: "AnyConnection | AnyPool") -> int:
    """Make every later token larger than any before; answers the new epoch. What `sereno restore` calls."""
    now = await server(conn)
    epoch: int = await conn.fetchval(_SQL["raise"], now.system_identifier, now.timeline)
    return epoch


async def guard(pool: AnyPool) -> None:
    """Refuse to start on a server that changed under the same epoch. Raises `TimelineChangedError`."""
    now = await server(pool)
    await pool.execute(_SQL["remember"], now.system_identifier, now.timeline)
    known = await pool.fetchrow(_SQL["known"])
    if known is None or (known["system_identifier"], known["timeline"]) != (
        now.system_identifier,
        now.timeline,
    ):
        raise TimelineChangedError(
            "The database may have gone back in time: it is on another server or timeline than when its epoch of"
            " tokens was raised. Run 'sereno restore' to raise it, then start again."
        )
