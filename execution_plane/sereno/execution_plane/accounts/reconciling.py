"""The reconciler: follows the log of the mailbox and settles what messages that ended had reserved.

Holders of leases never touch a budget (mechanics 13): they append to their log, and one reconciler at a time reads it. It
knows what it has settled by the usage log, so it may look at a moment as often as it likes; and it looks at the last minute
again from time to time, since what a long transaction wrote is older than what is there already when it commits.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from asyncpg import Record

from sereno.execution_plane.accounts import usage_log
from sereno.execution_plane.accounts.ends import events
from sereno.execution_plane.accounts.settling import End, Settled, reservation_of, settle
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.pipeline import guard_changes, guard_state
from sereno.execution_plane.pipeline.columns import columns
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.resolution import Changes
from sereno.execution_plane.platform_events import outgoing
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import outbox, queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import counter, logger

INTERVAL_SECONDS = 0.2
PAGE = 1_000
# Most transactions of holders last milliseconds; none lasts longer than the time-outs of its session.
OVERLAP = timedelta(seconds=1)
LONGEST = timedelta(seconds=75)
SWEEP_SECONDS = 10.0
SCHEMA = "execution"

_SQL = queries.load("sereno.execution_plane.accounts", "reconciling.sql")
_log = logger("reconciling")
_closed = counter("sereno.mailbox.closed")
_cost = counter("sereno.usage.cost")


class Reconciler:
    """Settles page by page. Any number may run: one at a time leads, and a killed one has changed all of a page or nothing."""

    def __init__(self, pool: AnyPool, directory: Directory) -> None:
        self._pool = pool
        self._directory = directory
        self._sweep_at = 0.0

    async def run(self) -> None:
        """Settle for ever; a round that fails is logged and tried again."""
        while True:
            try:
                while await self.round() == PAGE:
                    pass
            except DATABASE_FAULTS as fault:
                _log.warning("reconcile_retry", error=type(fault).__name__)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def round(self) -> int:
        """Settle one page; how many messages these were."""
        thorough = time.monotonic() >= self._sweep_at
        async with self._pool.acquire() as conn, conn.transaction():
            if not await conn.fetchval(_SQL["lead"]):
                return 0
            settled, done = await reconcile(conn, self._directory, LONGEST if thorough else OVERLAP)
        _measure(done)
        if thorough and settled < PAGE:
            self._sweep_at = time.monotonic() + SWEEP_SECONDS
        return settled


async def reconcile(
    conn: AnyConnection, directory: Directory, back: timedelta = LONGEST
) -> tuple[int, Settled]:
    """Settle one page in the caller's transaction, from so long before what was settled last; how many messages, and what
    followed.
    """
    [(since, now)] = await conn.fetch(_SQL["since"])
    rows = await conn.fetch(_SQL["closed"], since - back, PAGE)
    ends = [_end(row) for row in rows]
    done = await _settle(conn, ends, directory) if ends else Settled()
    await conn.execute(_SQL["advance"], now if len(rows) < PAGE else max(end.at for end in ends))
    return len(rows), done


async def _settle(conn: AnyConnection, ends: Sequence[End], directory: Directory) -> Settled:
    reserved = [end.reservation for end in ends if end.reservation is not None]
    accounts = {line.account for one in reserved for line in one.lines}
    ledger = Ledger(budgets=await guard_state.lock_budgets(conn, accounts))
    done = settle(ends, ledger)
    await guard_changes.write_budgets(conn, Changes(done.changes), ends[-1].at)
    closed = [
        (end.tenant, end.message, "acked" if end.dead_of is None else "dead", end.at)
        for end in ends
        if end.reservation is not None
    ]
    if closed:
        await conn.execute(_SQL["close_reservations"], *columns(closed, 4))
    await usage_log.write(conn, "wake", done.used)
    told = await events(conn, ends, directory.index)
    await outbox.append(conn, SCHEMA, outgoing(told))
    await notices.record(conn, done.notices)
    return done


def _measure(done: Settled) -> None:
    """Once it is committed. A run that reported several currencies is one message."""
    ended = {(used.tenant, used.reference): used.outcome for used in done.used}
    for (tenant, outcome), count in Counter(
        (tenant, outcome.partition(":")[0]) for (tenant, _), outcome in ended.items()
    ).items():
        _closed.add(count, {"tenant": tenant, "outcome": outcome})
    for used in done.used:
        if used.cost is not None:
            _cost.add(float(used.cost), {"tenant": used.tenant, "currency": used.currency})


def _end(row: Record) -> End:
    data = row["data"] or {}
    standing = row["lines"] is not None and row["closed"] is None
    return End(
        row["tenant_id"],
        row["message_id"],
        row["run_id"],
        row["at"],
        row["agent"],
        row["subscription"],
        None if row["kind"] == "acked" else row["detail"] or "unknown",
        data.get("usage") if isinstance(data.get("usage"), dict) else None,
        data.get("result"),
        row["attempts"],
        reservation_of(row["tenant_id"], row["message_id"], row["lines"], row["reported"])
        if standing
        else None,
    )
