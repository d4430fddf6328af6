"""The version of each tenant's manifest: it rises with each change of the catalog, and its lock orders changes."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.store.tables import MANIFEST_HEAD as HEAD

FIRST_EPOCH = 1


@dataclass(frozen=True, slots=True)
class Head:
    """The manifest that the catalog now calls for. The epoch rises when a database was restored."""

    tenant: str
    epoch: int
    version: int


async def lock(connection: AsyncConnection, tenants: Collection[str]) -> None:
    """Let no other transaction change these tenants' catalogs until this one ends; in one order, so never deadlocked."""
    ordered = sorted(tenants)
    rows = [{"tenant_id": tenant, "epoch": FIRST_EPOCH, "version": 0} for tenant in ordered]
    await connection.execute(insert(HEAD).values(rows).on_conflict_do_nothing())
    await connection.execute(
        select(HEAD.c.tenant_id)
        .where(HEAD.c.tenant_id.in_(ordered))
        .order_by(HEAD.c.tenant_id)
        .with_for_update()
    )


async def lock_all(connection: AsyncConnection) -> list[str]:
    """The same for every tenant there is; their names."""
    rows = await connection.execute(select(HEAD.c.tenant_id).order_by(HEAD.c.tenant_id).with_for_update())
    return [tenant for (tenant,) in rows]


async def raise_versions(connection: AsyncConnection, tenants: Collection[str]) -> dict[str, int]:
    """Call for a new manifest of these tenants, in the transaction of the change; their new versions."""
    statement = (
        update(HEAD)
        .where(HEAD.c.tenant_id.in_(tenants))
        .values(version=HEAD.c.version + 1)
        .returning(HEAD.c.tenant_id, HEAD.c.version)
    )
    return {row.tenant_id: row.version for row in await connection.execute(statement)}


async def versions(connection: AsyncConnection, tenants: Collection[str]) -> dict[str, int]:
    """The current version of each of these tenants' manifests."""
    statement = select(HEAD.c.tenant_id, HEAD.c.version).where(HEAD.c.tenant_id.in_(tenants))
    return {row.tenant_id: row.version for row in await connection.execute(statement)}


async def all_heads(connection: AsyncConnection) -> list[Head]:
    """What the publisher has to bring about."""
    statement = select(HEAD).where(HEAD.c.version > 0).order_by(HEAD.c.tenant_id)
    return [Head(*row) for row in await connection.execute(statement)]
