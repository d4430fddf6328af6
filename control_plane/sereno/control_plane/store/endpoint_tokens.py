"""The path tokens of endpoints in clear: kept here alone, so that a URL can be shown again."""

from collections.abc import Collection, Mapping

from sqlalchemy import ColumnElement, delete, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.item import Address
from sereno.control_plane.store.tables import ENDPOINT_TOKEN as TOKEN


async def keep(connection: AsyncConnection, tokens: Mapping[Address, str]) -> None:
    """Remember the tokens of new endpoints."""
    if tokens:
        rows = [{"tenant_id": a.tenant, "endpoint": a.name, "token": token} for a, token in tokens.items()]
        await connection.execute(insert(TOKEN).values(rows))


async def drop(connection: AsyncConnection, endpoints: Collection[Address]) -> None:
    """Forget the tokens of deleted endpoints."""
    if endpoints:
        await connection.execute(delete(TOKEN).where(_among(endpoints)))


async def of(connection: AsyncConnection, endpoints: Collection[Address]) -> dict[Address, str]:
    """The token of each endpoint that has one."""
    if not endpoints:
        return {}
    rows = await connection.execute(select(TOKEN).where(_among(endpoints)))
    return {Address(tenant, "Endpoint", endpoint): token for tenant, endpoint, token in rows}


def _among(endpoints: Collection[Address]) -> ColumnElement[bool]:
    pairs = [(address.tenant, address.name) for address in endpoints]
    return tuple_(TOKEN.c.tenant_id, TOKEN.c.endpoint).in_(pairs)
