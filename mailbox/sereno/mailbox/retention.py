"""Days of the log and of messages: made ahead, and dropped once nothing that lives depends on them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import orjson
from asyncpg import Record

from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries, telemetry
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.lease import Terms, carry
from sereno.mailbox.lease.stored import terms_of, work_of

AHEAD_DAYS = 3
KEPT_DAYS = 30
INTERVAL_SECONDS = 3600.0
PRINCIPAL = "system:retention"

_SQL = queries.load("sereno.mailbox", "retention.sql")
_CARRIED = ("holder", "incarnation", "place", "answered", "closed_at")
_log = telemetry.logger("retention")


@dataclass(frozen=True, slots=True)
class Retention:
    """Keeps days ahead and drops those older than `kept_days`; any number may run."""

    pool: AnyPool
    kept_days: int = KEPT_DAYS
    interval_seconds: float = INTERVAL_SECONDS

    async def run(self) -> None:
        """Look for ever; a round that fails is logged and tried again."""
        while True:
            try:
                await self.round()
            except DATABASE_FAULTS as fault:
                _log.warning("retention_failed", error=type(fault).__name__)
            await asyncio.sleep(self.interval_seconds)

    async def round(self) -> list[date]:
        """Make the days ahead, drop the old ones; answers what was dropped."""
        await create_days(self.pool)
        days = [row["day"] for row in await self.pool.fetch(_SQL["droppable_days"], self.kept_days)]
        return [day for day in days if await drop(self.pool, day)]


async def create_days(pool: AnyPool, ahead: int = AHEAD_DAYS) -> int:
    """Make the partitions of today and so many days ahead; answers how many were missing."""
    made: int = await pool.fetchval(_SQL["create_days"], ahead)
    return made


async def drop(pool: AnyPool, day: date) -> bool:
    """Carry what still lives into today's log, then drop that day; all or nothing.

    Raises `asyncpg.PostgresError` with SQLSTATE SR002 when the database refuses.
    """
    async with pool.acquire() as conn, conn.transaction():
        await _carry(conn, day)
        dropped: bool = await conn.fetchval(_SQL["drop_day"], day)
        return dropped


async def _carry(conn: AnyConnection, day: date) -> None:
    rows = await conn.fetch(_SQL["live_streams"], day) + await conn.fetch(_SQL["dead_streams"], day)
    if rows:
        columns = zip(*(_columns(row) for row in rows), strict=True)
        await conn.execute(_SQL["carry"], *map(list, columns), PRINCIPAL)


def _columns(row: Record) -> Sequence[Any]:
    # A redriven message keeps its attempts; what the message fixed stands in the message.
    terms: Terms = terms_of({**row, "max_attempts": row["terms_attempts"]})
    work = replace(work_of(dict(row), terms), reason=row["reason"])
    state = carry.dumps(work) | {"row": {name: row[name] for name in _CARRIED}, "parked": row["parked"]}
    data = orjson.dumps(state).decode()
    return (
        row["tenant_id"],
        row["id"],
        row["run_id"],
        row["agent"],
        row["token"],
        row["on_behalf_of"],
        data,
    )
