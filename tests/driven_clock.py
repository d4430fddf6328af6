"""Listeners and pipeline on a clock that the test drives: from the instant that is due to the message."""

import os
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from sereno.execution_plane.listeners import ledger, rebuild
from sereno.execution_plane.listeners.time_listener import TimeListener
from sereno.execution_plane.pipeline.arrival import Arrival, Payload, read
from sereno.execution_plane.pipeline.delivery import deliver
from sereno.execution_plane.pipeline.directory import Directory
from sereno.mailbox.engine.bus import ingress_subject, token
from tests.integration.pipeline.conftest import Plane
from tests.passages import TENANT, declared

DAY = datetime(2026, 11, 30, tzinfo=UTC)


class Clock:
    """Listeners on a clock that the test drives, and the pipeline behind them."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self._directory = Directory(plane.catalog)
        self._relayed = 0

    def listener(self) -> TimeListener:
        return TimeListener(self.plane.pool, os.urandom)

    async def look(self, listener: TimeListener, now: datetime) -> None:
        """Let a listener do all that is to be done at this time."""
        while await listener.observe(now):
            pass

    async def decide(self) -> None:
        """Let the pipeline decide what the listeners wrote since."""
        rows = await self.plane.pool.fetch(
            "select position, payload from execution.outbox where subject = $1 and position > $2 order by position",
            ingress_subject(TENANT),
            self._relayed,
        )
        for row in rows:
            self._relayed = row["position"]
            payload = Payload(token(TENANT), row["position"], row["payload"])
            arrivals = [one for one in read(payload, self._directory.index) if isinstance(one, Arrival)]
            assert arrivals
            async with self.plane.pool.acquire() as conn, conn.transaction():
                await deliver(conn, arrivals, self._directory.policy_valid_until())

    async def messages(self) -> list[datetime]:
        """The nominal instants of all messages, as often as there are messages."""
        rows = await self.plane.pool.fetch("select envelopes from mailbox.message")
        return sorted(datetime.fromisoformat(one["time"]) for row in rows for one in row["envelopes"])

    async def history(self) -> list[tuple[datetime, str | None, str | None, int]]:
        rows = await self.plane.pool.fetch(
            "select instant, outcome, reason, skipped from execution.due_instant order by instant, subscription"
        )
        return [tuple(row) for row in rows]

    async def accounted(self) -> Counter[str]:
        """How the instants ended; fails when one is not accounted for."""
        report = await ledger.check(self.plane.pool)
        # The schedules of these tests lie in another year than the database's clock.
        found = [each for each in report.found if each.finding.kind != "overdue"]
        assert not found
        assert await rebuild.rebuild(self.plane.pool) == []
        return report.ends


def timed(name: str, misfire: str = "latest", *, since: datetime = DAY, **more: Any) -> Any:
    fields = {key: more.pop(key) for key in ("version", "state") if key in more}
    return declared(name, updated_at=since, source={"time": more}, misfire=misfire, **fields)
