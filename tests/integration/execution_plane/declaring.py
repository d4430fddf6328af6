"""Stands in for the control plane at its only border: objects and signed manifests in the bucket."""

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nats.aio.client import Client

from sereno.execution_plane.manifest.bucket import blob_key, manifest_key
from sereno.mailbox.engine.bus import MANIFESTS
from sereno.subscriptions import manifest_parts
from sereno.subscriptions.snapshot import (
    CatalogObject,
    Manifest,
    canonical,
    dumps,
    entry,
    key,
    root,
    sha256,
    sign,
)

KEY_ID = "test-key"
ADMIN_TOKEN = "srn_" + "a" * 43
TENANT = "acme"


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def declare(
    kind: str, name: str, spec: dict[str, Any], *, tenant: str = TENANT, version: int = 1, **more: Any
) -> CatalogObject:
    """An object as the control plane would send it."""
    fields: dict[str, Any] = {"state": "active", "created_by": "user:admin", "updated_at": datetime.now(UTC)}
    identity = str(uuid5(NAMESPACE_URL, f"{tenant}/{kind}/{name}"))
    return CatalogObject.model_validate(
        fields
        | {"kind": kind, "tenant": tenant, "name": name, "id": identity, "version": version, "spec": spec}
        | more
    )


def endpoint(name: str, token: str, *, tenant: str = TENANT, **spec: Any) -> CatalogObject:
    declared = {"scheme": "github", "secrets": ["env:HOOK_SECRET"], "max_body": 65_536} | spec
    return declare("Endpoint", name, declared, tenant=tenant, token_sha256=token_hash(token))


def admin_token(tenant: str = TENANT) -> CatalogObject:
    spec = {"principal": "user:admin", "scopes": ["*"]}
    return declare("Token", "admin", spec, tenant=tenant, token_sha256=token_hash(ADMIN_TOKEN))


def subscription(name: str, source: dict[str, Any], **more: Any) -> CatalogObject:
    spec = {"owner": "user:marta", "agent": "agent:triage", "instruction": "Look.", "source": source}
    spec |= more.pop("spec", {})
    return declare("Subscription", name, spec, **more)


class Declarer:
    """Signs manifests with a key of its own and puts them where the execution plane looks."""

    def __init__(self, nats: Client, private_key: Ed25519PrivateKey | None = None) -> None:
        self._nats = nats
        self.private_key = private_key or Ed25519PrivateKey.generate()
        self.versions: dict[str, int] = {}

    def manifest(self, objects: Iterable[CatalogObject], *, tenant: str = TENANT, **changed: Any) -> Manifest:
        entries = {key(item): entry(item) for item in objects}
        now = datetime.now(UTC)
        fields: dict[str, Any] = {
            "tenant": tenant,
            "epoch": 1,
            "version": 1,
            "issued_at": now,
            "valid_until": now + timedelta(hours=24),
            "root": root(entries),
            "entries": entries,
            "key_id": KEY_ID,
        }
        return Manifest.model_validate(fields | changed)

    async def publish(self, *objects: CatalogObject, tenant: str = TENANT, **changed: Any) -> Manifest:
        """Make exactly these the tenant's objects, under the next version unless one is given."""
        self.versions[tenant] = changed.setdefault("version", self.versions.get(tenant, 0) + 1)
        for item in objects:
            await self.put(blob_key(tenant, sha256(canonical(item))), canonical(item))
        manifest = self.manifest(objects, tenant=tenant, **changed)
        written = manifest_parts.split(dumps(sign(manifest, self.private_key, KEY_ID)))
        for name, part in written.parts.items():
            await self.put(blob_key(tenant, name), part)
        await self.put(manifest_key(tenant), written.value)
        return manifest

    async def put(self, name: str, value: bytes) -> None:
        bucket = await self._nats.jetstream().key_value(MANIFESTS)
        await bucket.put(name, value)
