"""The bucket in which the control plane leaves manifests and objects."""

import asyncio
from collections.abc import Mapping, Sequence

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from sereno.mailbox.engine import bus
from sereno.subscriptions import manifest_parts
from sereno.subscriptions.snapshot import Refusal

READ_TIMEOUT_SECONDS = 2.0
_PREFIX = "manifest."
_STREAM = f"KV_{bus.MANIFESTS}"
_SUBJECT = f"$KV.{bus.MANIFESTS}."
_AT_ONCE = 16


def manifest_key(tenant: str) -> str:
    """Where the signed manifest of a tenant lies."""
    return f"{_PREFIX}{bus.token(tenant)}"


def blob_key(tenant: str, sha256: str) -> str:
    """Where an object of a tenant lies, under the hash of its bytes."""
    return f"blob.{bus.token(tenant)}.{sha256}"


class Bucket:
    """Reads manifests and objects; raises what the NATS client raises, and `TimeoutError`."""

    def __init__(self, nats: Client) -> None:
        self._jetstream: JetStreamContext = nats.jetstream(timeout=READ_TIMEOUT_SECONDS)

    async def manifests(self) -> Mapping[str, bytes]:
        """What lies under the keys of the tenants' manifests, by key: each whole, or the list of its parts."""
        # The client's own listing of keys would read the head of every object in the bucket.
        info = await self._jetstream.stream_info(_STREAM, subjects_filter=f"{_SUBJECT}{_PREFIX}>")
        keys = [subject.removeprefix(_SUBJECT) for subject in info.state.subjects or {}]
        return await self._values(keys)

    async def whole(self, key: str, value: bytes) -> bytes | Refusal:
        """The signed manifest of which `value` lies under `key`, put together when it is in parts."""
        tenant = key.removeprefix(_PREFIX)
        by_key = {f"blob.{tenant}.{name}": name for name in manifest_parts.listed(value)}
        found = await self._values(list(by_key))
        return manifest_parts.join(value, {by_key[name]: part for name, part in found.items()})

    async def objects(self, tenant: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Those of the objects that are there, by hash."""
        by_key = {blob_key(tenant, sha256): sha256 for sha256 in hashes}
        values = await self._values(list(by_key))
        return {by_key[key]: value for key, value in values.items()}

    async def watch(self) -> KeyValue.KeyWatcher:
        """A watcher that tells when a manifest is written; a hint, since one may fall silent for good."""
        return await (await self._open()).watch(f"{_PREFIX}>", ignore_deletes=True)

    async def _open(self) -> KeyValue:
        return await self._jetstream.key_value(bus.MANIFESTS)

    async def _values(self, keys: Sequence[str]) -> dict[str, bytes]:
        if not keys:
            return {}
        bucket, turns = await self._open(), asyncio.Semaphore(_AT_ONCE)

        async def read(key: str) -> bytes | None:
            async with turns:
                try:
                    return (await bucket.get(key)).value
                except KeyNotFoundError:
                    return None

        values = await asyncio.gather(*(read(key) for key in keys))
        return {key: value for key, value in zip(keys, values, strict=True) if value is not None}
