"""The gauges of guards, of sources and of manifests."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.listeners.accounting import UNDECIDED
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.readings import MOST, Look, Reading, rows

SQL = queries.load("sereno.execution_plane.gauges", "gauges.sql")


def guards(pool: AnyPool) -> Look:
    """What is held, suspended, collected, quarantined, and waits for a verdict."""

    async def look() -> Iterable[Reading]:
        return await rows(pool, SQL["guards"], MOST)

    return look


def sources(pool: AnyPool, unaccounted_after: timedelta = UNDECIDED) -> Look:
    """Schedules and calendars: what is to come, what is late, what has no end, which source is silent."""

    async def look() -> Iterable[Reading]:
        return await rows(pool, SQL["sources"], unaccounted_after, MOST)

    return look


def manifests(catalog: Catalog) -> Look:
    """How old the manifest of each tenant is, and how long it may still be worked from; asks nobody."""

    async def look() -> Iterable[Reading]:
        now = datetime.now(UTC)
        return [
            reading
            for known in catalog.tenants
            for reading in (
                Reading("sereno.manifest.age", (known.tenant,), max(0.0, _seconds(now - known.issued_at))),
                Reading("sereno.manifest.validity", (known.tenant,), _seconds(known.valid_until - now)),
            )
        ]

    return look


class Transactions:
    """For how long the oldest writing transaction has stood, from look to look: its age is for its own role to see."""

    def __init__(self, pool: AnyPool) -> None:
        self._pool = pool
        self._oldest = -1
        self._since = 0.0

    async def look(self) -> Iterable[Reading]:
        """See `Look`."""
        row = await self._pool.fetchrow(SQL["transactions"])
        if row is None:
            raise AssertionError("there is always a snapshot")
        now = asyncio.get_running_loop().time()
        if row["oldest"] != self._oldest or row["oldest"] == row["next"]:
            self._oldest, self._since = row["oldest"], now
        return [Reading("sereno.database.oldest_transaction", (), now - self._since)]


def _seconds(length: timedelta) -> float:
    return length.total_seconds()
