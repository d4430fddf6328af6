"""The two planes' chains hold each other: what this plane anchors of the other, and what it tells of its own."""

import asyncio
import contextlib
from datetime import UTC, datetime

from sereno.execution_plane.audit import PLANE
from sereno.execution_plane.catalog.catalog import Catalog
from sereno.mailbox.audit import checkpoint, crossing
from sereno.mailbox.audit.chain import Head
from sereno.mailbox.audit.checkpoint import Checkpoint
from sereno.mailbox.audit.checkpointing import EVERY_SECONDS, now
from sereno.mailbox.audit.keys import AuditKey
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import outbox
from sereno.mailbox.engine.bus import report_subject
from sereno.mailbox.engine.outbox import Outgoing
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions.report import AuditEndReport, dumps

OTHER = "control"
_log = logger("audit")


class Crossing:
    """Anchors the ends that manifests bring, and reports those of this plane, each once."""

    def __init__(self, pool: AnyPool, catalog: Catalog, key: AuditKey | None) -> None:
        self._pool = pool
        self._catalog = catalog
        self._key = key
        self._told: dict[str, Head] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Each minute until told to stop; while the database is away it is tried again."""
        while not stop.is_set():
            try:
                await self.anchor()
                await self.tell()
            except DATABASE_FAULTS as fault:
                _log.warning("crossing_retry", error=type(fault).__name__)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), EVERY_SECONDS)

    async def anchor(self) -> int:
        """Chain where the control plane's chains ended, by the manifests in force; how many were new."""
        async with self._pool.acquire() as conn:
            known = await crossing.anchored(conn, PLANE)
        new = 0
        for tenant in self._catalog.tenants:
            end = tenant.audit
            if end is None or end.seq <= known.get(tenant.tenant, Head()).seq:
                continue
            head = Head(end.seq, bytes.fromhex(end.hash))
            async with self._pool.acquire() as conn, conn.transaction():
                new += await crossing.anchor(
                    conn, PLANE, tenant.tenant, head, other=OTHER, at=datetime.now(UTC), key_id=tenant.key_id
                )
        return new

    async def tell(self) -> int:
        """Report the ends of this plane's chains that the other does not know; how many."""
        if self._key is None:
            return 0
        async with self._pool.acquire() as conn, conn.transaction():
            ends = await crossing.ends(conn, PLANE)
            new = {tenant: head for tenant, head in ends.items() if self._told.get(tenant) != head}
            await outbox.append(conn, PLANE, [self._report(*end, self._key) for end in new.items()])
        self._told |= new
        return len(new)

    def _report(self, tenant: str, head: Head, key: AuditKey) -> Outgoing:
        taken = Checkpoint(PLANE, now(), {tenant: head}, {})
        signed = checkpoint.sign(taken, key.private, key.id).decode()
        return Outgoing(
            report_subject(PLANE, tenant), tenant, dumps(AuditEndReport(tenant=tenant, signed=signed))
        )
