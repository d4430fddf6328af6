"""The publisher: makes the bucket say what the catalog says, and keeps doing so.

It is level-triggered: each round compares the versions the catalog calls for with what was published, so a lost hint,
a restart or an emptied bucket is repaired by the next round. Two publishers at once do no harm: the execution plane
takes no older manifest, and whoever finds an older one in the bucket publishes again.
"""

import asyncio
from dataclasses import dataclass, field

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.minting import utc_now
from sereno.control_plane.publishing.bucket import Bucket
from sereno.control_plane.publishing.build import Built, build
from sereno.control_plane.publishing.signing_key import SigningKey
from sereno.control_plane.recording import PLANE
from sereno.control_plane.store import heads, projection, suspensions
from sereno.control_plane.store.engine import driver
from sereno.control_plane.store.heads import Head
from sereno.control_plane.waiting import pause
from sereno.mailbox.audit import crossing
from sereno.mailbox.engine import faults
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger
from sereno.subscriptions import manifest_parts, snapshot
from sereno.subscriptions.snapshot import AuditEnd, Manifest

ROUND_SECONDS = 0.2
RENEW_SECONDS = 60.0
INSPECT_SECONDS = 5.0
TOMBSTONES = 1_000
"""How many deleted subscriptions of a tenant travel as deleted, the last ones."""


@dataclass(slots=True)
class _Published:
    """What this publisher last put there for a tenant; `stale` blobs were unnamed already at the last renewal."""

    head: Head
    renew_at: float
    inspect_at: float
    value: bytes
    blobs: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)


class Publisher:
    """Publishes the manifest of every tenant until stopped; engines that are away are waited for."""

    def __init__(self, engine: AsyncEngine, nats: Client, key: SigningKey) -> None:
        self._engine = engine
        self._bucket = Bucket(nats)
        self._key = key
        self._published: dict[str, _Published] = {}
        self._log = logger("publisher")

    async def run(self, stop: asyncio.Event) -> None:
        """Publish what is new each 0.2 s, and renew each manifest every 60 s."""
        while not stop.is_set():
            try:
                await self.round()
            except (*DATABASE_FAULTS, NatsError, JetStreamError, SQLAlchemyError) as fault:
                self._log.warning("publish_retry", error=str(fault) or type(fault).__name__)
                await pause(stop, 0.5)
            await pause(stop, ROUND_SECONDS)

    async def round(self) -> int:
        """Publish the manifests that are due; how many these were."""
        async with self._engine.connect() as connection:
            wanted = await heads.all_heads(connection)
        due = [head for head in wanted if await self._due(head)]
        for head in due:
            await self._publish(head)
        return len(due)

    async def _due(self, head: Head) -> bool:
        known = self._published.get(head.tenant)
        now = asyncio.get_running_loop().time()
        if known is None or known.head != head or now >= known.renew_at:
            return True
        if now < known.inspect_at:
            return False
        known.inspect_at = now + INSPECT_SECONDS
        if await self._intact(head, known.value):
            return False
        # Without it the bucket's blobs are not to be trusted either: all is looked at anew.
        del self._published[head.tenant]
        return True

    async def _intact(self, head: Head, value: bytes) -> bool:
        """Whether the bucket holds what this publisher put there, or what another put there that is as new."""
        written = await self._bucket.manifest(head.tenant)
        if written == value:
            return True
        whole = await self._bucket.whole(head.tenant, written) if written else None
        signed = snapshot.loads(whole) if isinstance(whole, bytes) else None
        if not isinstance(signed, snapshot.SignedManifest):
            return False
        manifest = snapshot.verify(signed, {self._key.id: self._key.private.public_key()})
        return isinstance(manifest, Manifest) and (manifest.epoch, manifest.version) >= (
            head.epoch,
            head.version,
        )

    async def _publish(self, head: Head) -> None:
        built = await self._read(head.tenant)
        written = manifest_parts.split(self._sign(built.manifest))
        wanted = {**built.blobs, **written.parts}
        known = self._published.get(head.tenant)
        now = asyncio.get_running_loop().time()
        renewing = known is None or now >= known.renew_at
        present = await self._bucket.blobs(head.tenant) if known is None or renewing else known.blobs
        missing = wanted.keys() - present
        await self._bucket.put_blobs(head.tenant, {sha256: wanted[sha256] for sha256 in missing})
        faults.point("publisher.before_manifest")
        await self._bucket.put_manifest(head.tenant, written.value)
        unnamed = present - wanted.keys()
        published = _Published(
            Head(head.tenant, built.manifest.epoch, built.manifest.version),
            now + RENEW_SECONDS if known is None or renewing else known.renew_at,
            now + INSPECT_SECONDS,
            written.value,
            set(present | missing),
            known.stale if known else set(),
        )
        if renewing:
            await self._sweep(published, unnamed)
        self._published[head.tenant] = published

    async def _sweep(self, published: _Published, unnamed: set[str]) -> None:
        """Remove what no manifest named at two renewals: nobody still works from one so old."""
        gone = unnamed & published.stale
        await self._bucket.purge_blobs(published.head.tenant, gone)
        published.blobs -= gone
        published.stale = unnamed - gone

    def _sign(self, manifest: Manifest) -> bytes:
        return snapshot.dumps(snapshot.sign(manifest, self._key.private, self._key.id))

    async def _read(self, tenant: str) -> Built:
        """The catalog of a tenant at one instant, tokens for every tenant included."""
        async with self._engine.connect() as plain:
            connection = await plain.execution_options(isolation_level="REPEATABLE READ")
            head = next(head for head in await heads.all_heads(connection) if head.tenant == tenant)
            items = await projection.travelling(connection, tenant)
            # An absent one would be taken for revoked. A count, not an age: one version always means one manifest.
            items += await projection.recently_deleted(connection, tenant, TOMBSTONES)
            lifts = await suspensions.lifts(connection, tenant)
            end = (await crossing.ends(await driver(connection), PLANE, tenant)).get(tenant)
        audit = None if end is None else AuditEnd(seq=end.seq, hash=end.hash.hex())
        return build(head, items, issued_at=utc_now(), key_id=self._key.id, lifts=lifts, audit=audit)
