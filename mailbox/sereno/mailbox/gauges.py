"""The gauges of mailboxes, of stops and of a plane's outbox."""

from collections.abc import Iterable

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.readings import MOST, Look, Reading, rows

_SQL = queries.load("sereno.mailbox", "gauges.sql")


def mailboxes(pool: AnyPool) -> Look:
    """Messages by state, the oldest of them, and the stops in force, in one statement."""

    async def look() -> Iterable[Reading]:
        return await rows(pool, _SQL["mailbox"], MOST)

    return look


def outbox(pool: AnyPool, plane: str) -> Look:
    """What waits to leave a plane."""
    sql = _SQL["outbox"].format(plane=plane)

    async def look() -> Iterable[Reading]:
        return await rows(pool, sql, MOST)

    return look
