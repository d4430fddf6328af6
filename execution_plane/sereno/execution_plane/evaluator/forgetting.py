"""Forgetting: records of calls are kept for a year, and a day suffices to count tests by."""

import asyncio
import contextlib
from datetime import timedelta

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

KEPT = timedelta(days=365)
"""How long it can be shown to whom what went."""
EVERY_SECONDS = 3600.0
PAGE = 5_000
_SQL = queries.load("sereno.execution_plane.evaluator", "forgetting.sql")
_log = logger("evaluator")


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
    total = 0
    for name in ("forget_egress", "forget_tests"):
        count = page
        while count >= page:
            count = await pool.fetchval(_SQL[name], kept, page)
            total += count
    return total
