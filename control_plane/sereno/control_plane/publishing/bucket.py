"""The KV bucket of manifests: `manifest.<tenant>` and the objects it names, `blob.<tenant>.<sha256>`."""

import asyncio
from collections.abc import Collection, Iterable, Mapping

from nats.aio.client import Client
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from sereno.mailbox.engine.bus import MANIFESTS, PUBLISH_TIMEOUT_SECONDS, token
from sereno.subscriptions import manifest_parts
from sereno.subscriptions.snapshot import Refusal

_AT_ONCE = 64


def manifest_key(tenant: str) -> str:
    """Where the tenant's signed manifest lies."""
    return f"manifest.{token(tenant)}"


def blob_key(tenant: str, sha256: str) -> str:
    """Where the bytes with this hash lie; nothing is shared between tenants."""
    return f"blob.{token(tenant)}.{sha256}"


class Bucket:
    """Reads and writes the bucket; it is made by whoever installs, not here."""

    def __init__(self, nats: Client) -> None:
        self._jetstream = nats.jetstream(timeout=PUBLISH_TIMEOUT_SECONDS)

    async def _open(self) -> KeyValue:
        return await self._jetstream.key_value(MANIFESTS)

    async def manifest(self, tenant: str) -> bytes | None:
        """What lies under the key of the tenant's manifest, if anything."""
        return await self._value(manifest_key(tenant))

    async def whole(self, tenant: str, value: bytes) -> bytes | Refusal:
        """The signed manifest of which `value` lies under the key, put together when it is in parts."""
        found = {name: await self._value(blob_key(tenant, name)) for name in manifest_parts.listed(value)}
        parts = {name: part for name, part in found.items() if part is not None}
        return manifest_parts.join(value, parts)

    async def _value(self, key: str) -> bytes | None:
        try:
            return (await (await self._open()).get(key)).value
        except KeyNotFoundError:
            return None

    async def put_manifest(self, tenant: str, value: bytes) -> None:
        """Replace what lies under the key of the tenant's manifest."""
        await (await self._open()).put(manifest_key(tenant), value)

    async def put_blobs(self, tenant: str, blobs: Mapping[str, bytes]) -> None:
        """Write the blobs, a limited number at once."""
        store = await self._open()
        for part in _parts(sorted(blobs)):
            await asyncio.gather(*(store.put(blob_key(tenant, sha256), blobs[sha256]) for sha256 in part))

    async def blobs(self, tenant: str) -> set[str]:
        """The hashes of all blobs that lie there for the tenant."""
        watcher = await (await self._open()).watch(blob_key(tenant, "*"), ignore_deletes=True, meta_only=True)
        found = set()
        try:
            while (entry := await watcher.updates(timeout=PUBLISH_TIMEOUT_SECONDS)) is not None:  # type: ignore[no-untyped-call]
                found.add(entry.key.rpartition(".")[2])
        finally:
            await watcher.stop()  # type: ignore[no-untyped-call]
        return found

    async def purge_blobs(self, tenant: str, hashes: Collection[str]) -> None:
        """Remove blobs that no manifest names any longer."""
        store = await self._open()
        for part in _parts(sorted(hashes)):
            await asyncio.gather(*(store.purge(blob_key(tenant, sha256)) for sha256 in part))


def _parts(keys: list[str]) -> Iterable[list[str]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))
