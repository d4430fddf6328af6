"""Forgetting large data: nothing refers to it any more but the records of what happened, which say where it was."""

import asyncio
import contextlib
from datetime import timedelta

from sereno.execution_plane.large_data.store import SQL
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

KEPT = timedelta(days=30)
"""How long data is kept after it last came; while an open message, an open batch or a held event carries it, longer."""
EVERY_SECONDS = 3600.0
PAGE = 1_000
_log = logger("large_data")


async def run(pool: AnyPool, stop: asyncio.Event) -> None:
    """Forget every hour until `stop`; a round that fails is logged and tried again."""
    while not stop.is_set():
        try:
            await forget(pool)
        except DATABASE_FAULTS as fault:
            _log.warning("forgetting_failed", error=type(fault).__name__)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), EVERY_SECONDS)


async def forget(pool: AnyPool, *, kept: timedelta = KEPT, page: int = PAGE) -> int:
    """Delete all that is due, one page a transaction; how many rows these were."""
    total, seen, after = 0, page, ("", "", "")
    while seen >= page:
        (row,) = await pool.fetch(SQL["forget"], kept, page, *after)
        total, seen = total + row["gone"], row["seen"]
        after = (row["tenant_id"], row["sensitivity"], row["address"])
    return total
