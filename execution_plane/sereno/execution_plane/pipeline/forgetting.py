"""Forgetting: what no event can ask for any more is deleted, a limited number of rows at a time."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries, telemetry
from sereno.mailbox.engine.postgres import DATABASE_FAULTS

INTERVAL_SECONDS = 60.0
PAGE = 5_000
# A window ends by the clock of the receipt: what an outage held back is decided later, and must still find its key.
GRACE = timedelta(days=7)
# Longer than any period of a budget, and longer than messages are kept.
CLOSED = timedelta(days=62)

_SQL = queries.load("sereno.execution_plane.pipeline", "forgetting.sql")
_log = telemetry.logger("forgetting")


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Deletes windows that ended, counts that count no more, and what closed long ago; any number may run."""

    pool: AnyPool
    page: int = PAGE
    grace: timedelta = GRACE
    closed: timedelta = CLOSED

    async def run(self) -> None:
        """Look for ever; a round that fails is logged and tried again."""
        while True:
            try:
                await self.round()
            except DATABASE_FAULTS as fault:
                _log.warning("forgetting_failed", error=type(fault).__name__)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def round(self) -> int:
        """Delete all that is due, one page a transaction; how many rows these were."""
        total = 0
        for name, kept in (
            ("forget_occurrences", self.grace),
            ("forget_expired_bodies", self.grace),
            ("forget_subjects", timedelta()),
            ("forget_reservations", self.closed),
            ("forget_batches", self.closed),
            ("forget_filtered", self.closed),
        ):
            count = self.page
            while count >= self.page:
                count = await self.pool.fetchval(_SQL[name], kept, self.page)
                total += count
        return total
