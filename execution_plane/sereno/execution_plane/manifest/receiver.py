"""The receiver: takes over newer manifests, refuses forged and older ones, and never needs the control plane to be up.

It is level-triggered: the bucket is read again each second. The watch only shortens the wait, and one that stays
silent for five seconds is made anew, since after a restart of NATS a watcher may never speak again.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nats.aio.client import Client
from nats.errors import Error as NatsError

from sereno.execution_plane.catalog.catalog import Catalog
from sereno.execution_plane.manifest import store
from sereno.execution_plane.manifest.bucket import Bucket, manifest_key
from sereno.execution_plane.manifest.change import Change, Judged, changes
from sereno.execution_plane.manifest.effects import apply, limit
from sereno.execution_plane.manifest.store import Blob
from sereno.execution_plane.pipeline.lifting import lift
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import counter, logger
from sereno.mailbox.wake import Wake
from sereno.subscriptions.snapshot import (
    Entry,
    Manifest,
    Refusal,
    SignedManifest,
    is_newer,
    loads,
    read_object,
    verify,
)

REREAD_SECONDS = 1.0
SILENT_SECONDS = 5.0
# Every process of this plane reads the catalog again each second.
SETTLE_ROUNDS = 4
_AWAY = (*DATABASE_FAULTS, NatsError)
_refused = counter("sereno.manifest.refused")
_log = logger("manifest")


class Receiver:
    """Keeps this plane's catalog as new as the newest manifest that a trusted key signed."""

    def __init__(
        self,
        pool: AnyPool,
        nats: Client,
        trusted: Mapping[str, Ed25519PublicKey],
        catalog: Catalog,
        wake: Wake | None = None,
    ) -> None:
        self._pool = pool
        self._bucket = Bucket(nats)
        self._trusted = trusted
        self._catalog = catalog
        self._wake = wake or Wake(None)
        self._settling: dict[tuple[str, str], tuple[Change, int]] = {}
        self._hint = asyncio.Event()
        self._seen: dict[str, bytes] = {}
        self._incomplete: dict[str, bytes] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Receive until `stop`; whatever is away is logged and tried again."""
        watching = asyncio.create_task(self._watch())
        try:
            while not stop.is_set():
                try:
                    await self.receive()
                except _AWAY as fault:
                    _log.warning("manifest_retry", error=str(fault) or type(fault).__name__)
                await self._pause(stop)
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching

    async def receive(self) -> None:
        """Look once at the manifest of every tenant and bring the catalog in memory up to date."""
        try:
            for key, written in (await self._bucket.manifests()).items():
                if self._seen.get(key) != written:
                    await self._consider(key, written)
        finally:
            # Another process of this plane may have stored a newer one, also while NATS is away.
            await self._catalog.refresh(self._pool)
        await self._settle()

    async def _settle(self) -> None:
        """Hold or end also what was deposited by a pipeline that had not read the newest catalog yet."""
        due, self._settling = self._settling, {}
        again = [change for change, _ in due.values() if change.settles]
        if again:
            async with self._pool.acquire() as connection, connection.transaction():
                await apply(connection, again)
        left = {name: (change, rounds - 1) for name, (change, rounds) in due.items() if rounds > 1}
        self._settling = left | self._settling

    async def _consider(self, key: str, written: bytes) -> None:
        whole = await self._bucket.whole(key, written)
        if isinstance(whole, Refusal):
            self._note_incomplete(key, written, whole)
            return
        signed = loads(whole)
        if isinstance(signed, Refusal):
            self._refuse(key, written, signed)
            return
        manifest = verify(signed, self._trusted)
        if isinstance(manifest, Manifest) and manifest_key(manifest.tenant) != key:
            manifest = Refusal("wrong_tenant", f"it is the manifest of the tenant {manifest.tenant!r}")
        if isinstance(manifest, Refusal):
            self._refuse(key, written, manifest)
            return
        missing = await self._take_over(key, manifest, signed)
        if missing is None:
            self._seen[key] = written
        else:
            self._note_incomplete(key, written, missing)

    def _note_incomplete(self, key: str, written: bytes, missing: Refusal) -> None:
        """It may become complete, so it is looked at again; it is told once."""
        if self._incomplete.get(key) != written:
            self._incomplete[key] = written
            _refused.add(1, {"reason": missing.code})
            _log.error("manifest_incomplete", key=key, reason=missing.code, error=missing.message)

    def _refuse(self, key: str, written: bytes, refusal: Refusal) -> None:
        self._seen[key] = written
        _refused.add(1, {"reason": refusal.code})
        _log.error("manifest_refused", key=key, reason=refusal.code, error=refusal.message)

    async def _take_over(self, key: str, manifest: Manifest, signed: SignedManifest) -> Refusal | None:
        """Put the manifest in force unless it is not newer; the refusal says which object is missing or false."""
        async with self._pool.acquire() as connection, connection.transaction():
            await store.lock(connection, manifest.tenant)
            current = await store.current(connection, manifest.tenant)
            if current is not None and not is_newer(manifest, current):
                self._note_not_newer(key, manifest, current)
                return None
            blobs = await self._blobs(connection, manifest)
            if isinstance(blobs, Refusal):
                return blobs
            before = await store.objects(connection, manifest.tenant)
            await store.put(connection, manifest, signed, blobs)
            judged = Judged(current.issued_at if current else None, manifest.issued_at)
            changed = changes(manifest.tenant, before, [blob.object for blob in blobs], judged=judged)
            boxes = await apply(connection, changed)
            await limit(connection, [blob.object for blob in blobs])
            boxes |= await lift(connection, manifest.tenant, manifest.lifts)
        await self._wake.publish(boxes)
        self._settling |= {(c.tenant, c.subscription): (c, SETTLE_ROUNDS) for c in changed}
        _log.info("manifest_in_force", tenant=manifest.tenant, epoch=manifest.epoch, version=manifest.version)
        return None

    def _note_not_newer(self, key: str, manifest: Manifest, current: Manifest) -> None:
        given, in_force = (manifest.epoch, manifest.version), (current.epoch, current.version)
        if given == in_force and manifest.root == current.root:
            return
        reason = "older" if given < in_force else "conflicting"
        _refused.add(1, {"reason": reason})
        _log.error("manifest_refused", key=key, reason=reason, given=given, in_force=in_force)

    async def _blobs(self, connection: AnyConnection, manifest: Manifest) -> Sequence[Blob] | Refusal:
        """Every object of the manifest with its hash checked, or what is wrong with the first that fails."""
        have = dict(await store.known(connection, manifest.tenant, manifest.entries))
        wanted = {key: entry.sha256 for key, entry in manifest.entries.items() if key not in have}
        fetched = await self._bucket.objects(manifest.tenant, list(wanted.values()))
        have |= {key: fetched[sha256] for key, sha256 in wanted.items() if sha256 in fetched}
        blobs = []
        for key, entry in manifest.entries.items():
            blob = _blob(manifest.tenant, key, entry, have.get(key))
            if isinstance(blob, Refusal):
                return blob
            blobs.append(blob)
        return blobs

    async def _watch(self) -> None:
        while True:
            try:
                watcher = await self._bucket.watch()
                try:
                    while True:
                        await watcher.updates(timeout=SILENT_SECONDS)  # type: ignore[no-untyped-call]
                        self._hint.set()
                finally:
                    await watcher.stop()  # type: ignore[no-untyped-call]
            except _AWAY:
                await asyncio.sleep(0.1)

    async def _pause(self, stop: asyncio.Event) -> None:
        waits = [asyncio.create_task(stop.wait()), asyncio.create_task(self._hint.wait())]
        await asyncio.wait(waits, timeout=REREAD_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        self._hint.clear()


def _blob(tenant: str, key: str, entry: Entry, canonical: bytes | None) -> Blob | Refusal:
    if canonical is None:
        return Refusal("bad_hash", f"the object {key} is not in the bucket")
    found = read_object(canonical, entry)
    if isinstance(found, Refusal):
        return found
    if found.tenant != tenant or f"{found.kind.lower()}/{found.name}" != key:
        return Refusal(
            "wrong_tenant", f"the object under {key} is {found.kind} {found.name} of {found.tenant}"
        )
    return Blob(key, entry.sha256, canonical, found)
