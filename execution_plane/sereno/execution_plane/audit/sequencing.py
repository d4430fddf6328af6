"""The sequencer: chains what the guards decided, in the order of its transactions and outside of them.

A delivery never waits for the chain. What is read is below the oldest open transaction (mechanics, 2), so a decision
that commits late is chained late, and none is left out.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.audit import PLANE
from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.ledger import Entry
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

INTERVAL_SECONDS = 1.0
PAGE = 2_000
RECORD = 200
"""How many decisions one record of the chain holds at most."""
ACTOR = "svc:guards"

_SQL = queries.load("sereno.execution_plane.audit", "sequencing.sql")
_log = logger("audit")


@dataclass(frozen=True, slots=True)
class Sequencer:
    """Chains for ever; any number may run, of which one works."""

    pool: AnyPool

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop; while the database is away it is tried again."""
        while not stop.is_set():
            try:
                while await self.sequence() == PAGE:
                    pass
            except DATABASE_FAULTS as fault:
                _log.warning("sequence_retry", error=type(fault).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), INTERVAL_SECONDS)

    async def sequence(self) -> int:
        """Chain one page of decisions; how many these were."""
        async with self.pool.acquire() as conn, conn.transaction():
            at = await conn.fetchrow(_SQL["cursor"])
            rows = [] if at is None else await conn.fetch(_SQL["decided"], *at, PAGE)
            if rows:
                last = rows[-1]
                await conn.execute(_SQL["advance"], last["xid"], last["receiptid"], last["subscription"])
            by_tenant: dict[str, list[Any]] = defaultdict(list)
            for row in rows:
                by_tenant[row["tenant_id"]].append(row)
            # In the order of their names: two writers of several chains never wait for each other.
            for tenant in sorted(by_tenant):
                await ledger.append(conn, PLANE, tenant, _entries(by_tenant[tenant]))
        return len(rows)


def _entries(rows: Sequence[Any]) -> list[Entry]:
    return [_entry(rows[start : start + RECORD]) for start in range(0, len(rows), RECORD)]


def _entry(rows: Sequence[Any]) -> Entry:
    decisions = [
        {
            "receipt": to_people("rcp", row["receiptid"]),
            "subscription": row["subscription"],
            "version": row["subscription_version"],
            "outcome": row["outcome"],
            "guard": row["guard"],
            "reason": row["reason"],
            **({"message": to_people("msg", row["message_id"])} if row["message_id"] else {}),
        }
        for row in rows
    ]
    at = max(row["decided_at"] for row in rows)
    return Entry(at, ACTOR, "guards.decided", f"decisions/{len(rows)}", said={"decisions": decisions})
