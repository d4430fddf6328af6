"""The log of deliveries: gathered in memory and written a few times a second, beside the way of the events.

What is accepted is on the disk before this is; a delivery that a crash keeps from here is still found by its receipt.
"""

import asyncio
import contextlib
from collections import Counter, deque
from datetime import UTC, datetime, timedelta

import orjson

from sereno.execution_plane.deliveries.delivery import Delivery
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

EVERY_SECONDS = 0.2
MAX_WAITING = 20_000
MAX_BATCH = 2_000
# Whoever knows a URL can send rubbish without end; the first of each minute are enough to see it.
REFUSED_A_MINUTE = 60
KEPT = timedelta(days=30)
_FORGET_EVERY = timedelta(minutes=1)
SQL = queries.load("sereno.execution_plane.deliveries", "log.sql")
_log = logger("deliveries")


class DeliveryLog:
    """Takes deliveries at once and writes them later; when it is full, the rest is counted and left out."""

    def __init__(self, pool: AnyPool) -> None:
        self._pool = pool
        self._waiting: deque[bytes] = deque()
        self._minute: datetime | None = None
        self._refused: Counter[tuple[str, str]] = Counter()
        self._left_out = 0
        self._forgot = datetime.min.replace(tzinfo=UTC)

    def record(self, delivery: Delivery) -> None:
        """Keep this delivery, unless it belongs to nobody."""
        flood = self._is_flood(delivery)
        if not delivery.tenant:
            return
        if flood or len(self._waiting) >= MAX_WAITING:
            self._left_out += 1
            return
        self._waiting.append(orjson.dumps(tuple(delivery)))

    async def run(self, stop: asyncio.Event) -> None:
        """Write what is gathered until `stop`, and the rest after it."""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), EVERY_SECONDS)
            await self.flush()
            await self._forget(datetime.now(UTC))

    async def _forget(self, now: datetime) -> None:
        """Drop what is older than 30 days, a little each minute."""
        if now - self._forgot < _FORGET_EVERY:
            return
        self._forgot = now
        try:
            await self._pool.execute(SQL["forget"], now - KEPT)
        except DATABASE_FAULTS as fault:
            _log.warning("deliveries_wait", count=0, error=type(fault).__name__)

    async def flush(self) -> None:
        """Write what is gathered; while the database is away, it waits."""
        if self._left_out:
            _log.warning("deliveries_left_out", count=self._left_out)
            self._left_out = 0
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
            try:
                await self._pool.execute(SQL["write"], f"[{b','.join(batch).decode()}]")
            except DATABASE_FAULTS as fault:
                _log.warning("deliveries_wait", count=len(batch), error=type(fault).__name__)
                self._waiting.extendleft(reversed(batch))
                return

    def _is_flood(self, delivery: Delivery) -> bool:
        if delivery.verdict != "refused":
            return False
        minute = delivery.received.replace(second=0, microsecond=0)
        if minute != self._minute:
            self._minute = minute
            self._refused.clear()
        key = delivery.tenant, delivery.endpoint
        self._refused[key] += 1
        return self._refused[key] > REFUSED_A_MINUTE
