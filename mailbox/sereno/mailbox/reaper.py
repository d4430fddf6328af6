"""The reaper: ends leases that ran out and work that grew too old, whoever held it and whatever for."""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from asyncpg import PostgresError, Record

from sereno.mailbox import dead_letter, lines, notices, parking, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries, telemetry
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.wake import Wake

INTERVAL_SECONDS = 0.25
PAGE = 500
SETTLE_SECONDS = 2.0
PRINCIPAL = "system:reaper"

_SQL = queries.load("sereno.mailbox", "reaper.sql")
_REAPED = telemetry.counter("sereno.mailbox.reaped")
_LOST = telemetry.counter("sereno.mailbox.fence_losses")
_EVER = datetime(1, 1, 1, tzinfo=UTC)
# Leases end about now; further back is only what a sweep missed, and the dead rows of a long transaction.
_LOOK_BACK = timedelta(minutes=2)
_SWEEP_SHARE = 0.05
_log = telemetry.logger("reaper")


class Reaper:
    """Looks at what is overdue now, page by page; what it keeps between rounds only spares work, so any number may run."""

    def __init__(
        self,
        pool: AnyPool,
        *,
        wake: Wake | None = None,
        interval_seconds: float = INTERVAL_SECONDS,
        page: int = PAGE,
    ) -> None:
        self._pool = pool
        self._wake = wake or Wake(None)
        self._interval = interval_seconds
        self._page = page
        self._from: datetime = _EVER
        self._sweep_at = 0.0
        self._settle_at = 0.0

    async def run(self) -> None:
        """Sweep for ever; a sweep that fails is logged and the next one starts from the beginning."""
        while True:
            try:
                await self.sweep()
            except DATABASE_FAULTS as fault:
                _log.warning("sweep_failed", error=type(fault).__name__)
            await asyncio.sleep(self._interval)

    async def sweep(self) -> int:
        """End everything that is overdue at this moment; answers how many."""
        ended = await self._leases() + await self._sweep("overdue_ages", (_EVER, UUID(int=0)))
        await parking.sweep(self._pool, self._wake, self._page)
        await self._lines()
        await self._stops()
        return ended

    async def _stops(self) -> None:
        """What came under a standing stop after it was engaged."""
        if time.monotonic() < self._settle_at:
            return
        self._settle_at = time.monotonic() + SETTLE_SECONDS
        await stop.settle(self._pool)

    async def _leases(self) -> int:
        """From a little before the last round's place; from the beginning as long as that takes little of the time."""
        began = time.monotonic()
        thorough = began >= self._sweep_at
        if thorough:
            self._from = _EVER
        now: datetime = await self._pool.fetchval("select clock_timestamp()")
        ended = await self._sweep("overdue_leases", (self._from, -1))
        self._from = now - _LOOK_BACK
        if thorough:
            self._sweep_at = time.monotonic() + (time.monotonic() - began) / _SWEEP_SHARE
        return ended

    async def _lines(self) -> None:
        """Lines of serial keys whose next could not step forward when their head was closed."""
        rows = await self._pool.fetch(_SQL["stalled_lines"], self._page)
        if rows:
            async with self._pool.acquire() as conn, conn.transaction():
                await lines.promote(conn, rows)
            await self._wake.publish({(row["tenant_id"], row["agent"]) for row in rows})

    async def _sweep(self, name: str, after: tuple[datetime, object]) -> int:
        reaped = 0
        while rows := await self._pool.fetch(_SQL[name], *after, self._page):
            reaped += await self._reap(rows)
            after = (rows[-1]["at"], rows[-1]["place"])
            if len(rows) < self._page:
                break
        return reaped

    async def _reap(self, rows: Sequence[Record]) -> int:
        try:
            return await self._end(rows)
        except PostgresError as fault:
            if len(rows) == 1:
                _log.error("row_not_reaped", message=str(rows[0]["id"]), error=str(fault))
                return 0
        # One bad row must not keep its page: halve until it stands alone.
        middle = len(rows) // 2
        return await self._reap(rows[:middle]) + await self._reap(rows[middle:])

    async def _end(self, rows: Sequence[Record]) -> int:
        tenants, ids = [row["tenant_id"] for row in rows], [row["id"] for row in rows]
        async with self._pool.acquire() as conn, conn.transaction():
            ended = await conn.fetch(_SQL["reap"], tenants, ids, PRINCIPAL)
            await lines.promote(conn, ended)
            await notices.record(conn, dead_letter.notices(map(dict, ended)))
        for row in ended:
            _REAPED.add(1, {"state": row["state"]})
            _LOST.add(int(row["lost"]), {"reason": "expired"})
        await self._wake.publish(
            {(row["tenant_id"], row["agent"]) for row in ended if row["state"] == "ready"}
        )
        return len(ended)
