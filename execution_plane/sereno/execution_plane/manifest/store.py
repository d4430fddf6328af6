"""The trusted manifest and its objects in the database: taken over in one transaction, or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.subscriptions.snapshot import (
    CatalogObject,
    Entry,
    Manifest,
    Refusal,
    SignedManifest,
    dumps,
    loads,
)

_SQL = queries.load("sereno.execution_plane.manifest", "store.sql")


@dataclass(frozen=True, slots=True)
class Blob:
    """An object and the canonical bytes whose hash the manifest names."""

    key: str
    sha256: str
    canonical: bytes
    object: CatalogObject


async def lock(connection: AnyConnection, tenant: str) -> None:
    """Let only one process at a time take over manifests of the tenant, until the transaction ends."""
    await connection.execute(_SQL["lock"], tenant)


async def current(connection: AnyConnection, tenant: str) -> Manifest | None:
    """The manifest that is in force."""
    signed = await connection.fetchval(_SQL["current"], tenant)
    if signed is None:
        return None
    stored = loads(signed)
    if isinstance(stored, Refusal):
        raise TypeError(f"the stored manifest of {tenant} cannot be read: {stored.message}")
    return Manifest.model_validate_json(stored.payload)


async def known(connection: AnyConnection, tenant: str, entries: Mapping[str, Entry]) -> Mapping[str, bytes]:
    """The canonical bytes, by key, of those entries that this plane has worked from before."""
    rows = await connection.fetch(
        _SQL["known_versions"],
        tenant,
        list(entries),
        [entry.version for entry in entries.values()],
        [entry.sha256 for entry in entries.values()],
    )
    return {row["key"]: row["canonical"] for row in rows}


async def objects(connection: AnyConnection, tenant: str) -> Sequence[CatalogObject]:
    """The objects in force."""
    rows = await connection.fetch(_SQL["objects"], tenant)
    return [CatalogObject.model_validate(row["object"]) for row in rows]


async def put(
    connection: AnyConnection, manifest: Manifest, signed: SignedManifest, blobs: Sequence[Blob]
) -> None:
    """Put the manifest and exactly these objects in force, in the caller's transaction."""
    tenant = manifest.tenant
    columns = (
        [blob.key for blob in blobs],
        [blob.object.version for blob in blobs],
        [blob.sha256 for blob in blobs],
    )
    await connection.execute(_SQL["put_manifest"], tenant, manifest.epoch, manifest.version, dumps(signed))
    await connection.execute(_SQL["keep_versions"], tenant, *columns, [blob.canonical for blob in blobs])
    await connection.execute(
        _SQL["put_objects"], tenant, *columns, [orjson.loads(blob.canonical) for blob in blobs]
    )
    await connection.execute(_SQL["remove_absent"], tenant, columns[0])
