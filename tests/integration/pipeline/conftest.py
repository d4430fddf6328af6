"""A pipeline on real engines: subscriptions put in force by a signed manifest, events published like the gateway's."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nats.aio.client import Client

from sereno.envelope.encode import dumps_batch
from sereno.envelope.envelope import Envelope
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.manifest import store
from sereno.execution_plane.pipeline import Consumer
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.bus import INGRESS, connect, ingress_subject
from sereno.mailbox.engine.postgres import open_pool
from sereno.subscriptions import snapshot
from sereno.subscriptions.snapshot import AuditEnd, CatalogObject, Manifest
from tests.engines import Engines
from tests.passages import NOON, TENANT

FAR = datetime(2099, 1, 1, tzinfo=UTC)
_KEY = Ed25519PrivateKey.generate()


@dataclass(slots=True)
class Plane:
    """Pool, streams and catalog of one execution plane, with the verbs of the tests."""

    pool: AnyPool
    gateway: Client
    pipeline: Client
    catalog: Catalog
    version: int = 0

    async def in_force(
        self,
        *objects: CatalogObject,
        tenant: str = TENANT,
        valid_until: datetime = FAR,
        audit: AuditEnd | None = None,
    ) -> None:
        """Make exactly these the tenant's objects."""
        self.version += 1
        entries = {snapshot.key(item): snapshot.entry(item) for item in objects}
        manifest = Manifest(
            tenant=tenant,
            epoch=1,
            version=self.version,
            issued_at=NOON,
            valid_until=valid_until,
            root=snapshot.root(entries),
            entries=entries,
            audit=audit,
            key_id="tests",
        )
        blobs = [
            store.Blob(snapshot.key(item), snapshot.entry(item).sha256, snapshot.canonical(item), item)
            for item in objects
        ]
        async with self.pool.acquire() as conn, conn.transaction():
            await store.put(conn, manifest, snapshot.sign(manifest, _KEY, "tests"), blobs)
        await self.catalog.refresh(self.pool)

    def consumer(self) -> Consumer:
        """One replica of the pipeline over this plane."""
        return Consumer(self.pool, self.pipeline, self.catalog)

    async def publish(self, *envelopes: Envelope, tenant: str = TENANT) -> None:
        """One ingress message with these events."""
        await self.publish_bytes(dumps_batch(envelopes), tenant=tenant)

    async def publish_bytes(self, payload: bytes, *, tenant: str = TENANT) -> None:
        """One ingress message with exactly these bytes."""
        await self.gateway.jetstream().publish(ingress_subject(tenant), payload, stream=INGRESS)

    async def rows(self, query: str, *arguments: Any) -> Sequence[dict[str, Any]]:
        """What a query answers."""
        return [dict(row) for row in await self.pool.fetch(query, *arguments)]

    async def outcomes(self) -> list[tuple[str, str, str]]:
        """Event id, subscription and reason of every verdict, in order of receipt."""
        rows = await self.rows(
            "select r.envelope ->> 'id' as event, v.subscription, v.reason from execution.verdict v"
            " join execution.receipt r using (tenant_id, receiptid) order by r.receiptid, v.subscription"
        )
        return [(row["event"], row["subscription"], row["reason"]) for row in rows]

    async def count(self, table: str) -> int:
        """How many rows a table of ours holds."""
        counted: int = await self.pool.fetchval(f"select count(*) from {table}")
        return counted


@asynccontextmanager
async def open_plane(engines: Engines) -> AsyncIterator[Plane]:
    """A plane as the role and the NATS users that it has in production."""
    pool = await open_pool(engines.execution_dsn, application_name="tests", max_size=8)
    gateway = await connect(engines.nats, name="gateway", seed=engines.seed("gateway"))
    pipeline = await connect(engines.nats, name="pipeline", seed=engines.seed("pipeline"))
    try:
        yield Plane(pool, gateway, pipeline, Catalog())
    finally:
        await pipeline.close()
        await gateway.close()
        await pool.close()


@pytest.fixture
async def plane(engines: Engines) -> AsyncIterator[Plane]:
    async with open_plane(engines) as plane:
        yield plane
