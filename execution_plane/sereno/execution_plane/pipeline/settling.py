"""The settler: messages of suspended subscriptions that came back to be claimable since."""

import asyncio
import contextlib
from dataclasses import dataclass

from sereno.execution_plane.pipeline import guard_state
from sereno.execution_plane.pipeline.commit import PRINCIPAL, SUSPENDED
from sereno.mailbox import standing
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

INTERVAL_SECONDS = 1.0
PAGE = 100

_SQL = queries.load("sereno.execution_plane.pipeline", "settling.sql")
_log = logger("settling")


@dataclass(frozen=True, slots=True)
class Settler:
    """Looks for ever; level-triggered, so any number may run."""

    pool: AnyPool

    async def run(self, stopping: asyncio.Event) -> None:
        """Hold until told to stop; while the database is away it is tried again."""
        while not stopping.is_set():
            try:
                await self.look()
            except DATABASE_FAULTS as fault:
                _log.warning("settle_retry", error=type(fault).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), INTERVAL_SECONDS)

    async def look(self) -> int:
        """Hold what is claimable of each subscription that is suspended still; how many messages."""
        held = 0
        for row in await self.pool.fetch(_SQL["unheld"], PAGE):
            key = row["tenant_id"], row["subscription"]
            async with self.pool.acquire() as conn, conn.transaction():
                # Under its lock nobody lifts it meanwhile.
                await guard_state.lock_state(conn, {key})
                open_ones = await guard_state.suspensions(conn, {key})
                if any(one.subject is None for one in open_ones.get(key, ())):
                    held += await standing.hold(conn, *key, SUSPENDED, cancel=False, principal=PRINCIPAL)
        return held
