"""A flood of messages and eight workers that claim, act and acknowledge while the stop falls again and again."""

import asyncio
import contextlib
import os
from dataclasses import dataclass
from datetime import datetime

from sereno.execution_plane.agent_events import AgentEvents
from sereno.mailbox import stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.lease_items import AckItem, EmitItem, Status
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.waiting import until

WORKERS = 8
SCOPES = ("*", "acme", "acme/agent/triage", "acme/subscription/refund-watch", "acme/family/webhook")
# By the commit time of the transaction that wrote the row, not by a clock that was read before.
LATE = """
select count(*) from mailbox.event
where kind in ('claimed', 'emitted') and pg_xact_commit_timestamp(xmin) > $1 and pg_xact_commit_timestamp(xmin) <= $2
"""
COUNT = "select count(*) from mailbox.event where kind = $1"


@dataclass(slots=True)
class Flood:
    """What happened; `late` counts claims and effects that were committed after a stop had returned."""

    stops: int = 0
    claimed: int = 0
    emitted: int = 0
    late: int = 0
    rounds: int = 0

    @property
    def sentence(self) -> str:
        """All of it."""
        return (
            f"{self.stops} stops beside {WORKERS} workers: {self.claimed} claims and {self.emitted} effects,"
            f" {self.late} of them after a stop had returned"
        )


async def flood(pool: AnyPool, *, stops: int) -> Flood:
    """Engage and release so many stops, each while work goes on; the database's clock is the judge."""
    found, stopping = Flood(), asyncio.Event()
    tasks = [asyncio.create_task(_work(pool, stopping, found)) for _ in range(WORKERS)]
    tasks.append(asyncio.create_task(_pour(pool, stopping)))
    try:
        for number in range(stops):
            await _stop_once(pool, SCOPES[number % len(SCOPES)], found)
    finally:
        stopping.set()
        await asyncio.gather(*tasks)
    found.claimed = await pool.fetchval(COUNT, "claimed")
    found.emitted = await pool.fetchval(COUNT, "emitted")
    return found


async def _stop_once(pool: AnyPool, scope: str, found: Flood) -> None:
    before = await pool.fetchval(COUNT, "emitted")

    async def busy() -> bool:
        return bool(await pool.fetchval(COUNT, "emitted") > before)

    await until(busy)
    engaged = await stop.engage(pool, scope, reason="drill", principal="user:marta")
    assert not engaged.in_flight
    since: datetime = await pool.fetchval("select clock_timestamp()")
    asked = found.rounds + 3 * WORKERS
    await until(lambda: found.rounds >= asked)
    until_then: datetime = await pool.fetchval("select clock_timestamp()")
    found.late += await pool.fetchval(LATE, since, until_then)
    found.stops += 1
    await stop.release(pool, scope)


async def _pour(pool: AnyPool, stopping: asyncio.Event) -> None:
    """Keep the mailbox full, as deliveries would; these are decided by guards, which look at the stop themselves."""
    while not stopping.is_set():
        async with pool.acquire() as conn, conn.transaction():
            scopes = await stop.scopes(conn, ["acme"])
            covered = any(one.covers("acme", "triage", "refund-watch", "webhook/shop") for one in scopes)
            if not covered:
                await deposit(conn, [message(context={"source": "webhook/shop"}) for _ in range(20)])
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), 0.01)


async def _work(pool: AnyPool, stopping: asyncio.Event, found: Flood) -> None:
    mailbox = Mailbox(pool, emitter=AgentEvents(os.urandom))
    while not stopping.is_set():
        found.rounds += 1
        claimed = await mailbox.claim("acme", "triage", max=2, incarnation="w")
        for one in claimed:
            token = one.lease.token
            [allowed] = await mailbox.check([token])
            if allowed.status is Status.OK:
                await mailbox.emit([EmitItem(token, "com.acme.done")])
            await mailbox.ack([AckItem(token)])
