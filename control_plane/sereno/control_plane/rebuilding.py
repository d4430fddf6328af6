"""The catalog derived again from its events, and what of it was different: nothing, unless somebody changed a row."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import get_args

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sereno.control_plane.catalog.decider import fold
from sereno.control_plane.catalog.item import Address, Item, Kind
from sereno.control_plane.store import heads, projection
from sereno.control_plane.store.event_store import StreamId, read_streams
from sereno.control_plane.store.tables import CATALOG_OBJECT, EVENT

KINDS: dict[str, Kind] = {kind.lower(): kind for kind in get_args(Kind)}
_STREAMS_A_READ = 500


@dataclass(frozen=True, slots=True)
class Difference:
    """An object that was not as its events make it: which fields, or that it was missing or should not be."""

    address: Address
    fields: tuple[str, ...]


async def rebuild(engine: AsyncEngine, *, check: bool = False) -> list[Difference]:
    """Compare the catalog with its events and, unless told to `check` alone, put right what differs."""
    async with engine.connect() as connection:
        await heads.lock_all(connection)
        wanted = await _folded(connection)
        stored = {item.address: item for item in await projection.everything(connection)}
        found = [
            Difference(address, _differing(stored.get(address), wanted.get(address)))
            for address in sorted(stored.keys() | wanted.keys())
            if stored.get(address) != wanted.get(address)
        ]
        if found and not check:
            await _put_right(connection, [one.address for one in found], wanted)
            await heads.raise_versions(connection, {one.address.tenant for one in found})
            await connection.commit()
    return found


async def _folded(connection: AsyncConnection) -> dict[Address, Item]:
    rows = await connection.execute(select(EVENT.c.tenant_id, EVENT.c.stream).distinct())
    streams = [StreamId(tenant, stream) for tenant, stream in rows if stream.partition("/")[0] in KINDS]
    found: dict[Address, Item] = {}
    for start in range(0, len(streams), _STREAMS_A_READ):
        part = streams[start : start + _STREAMS_A_READ]
        for stream, events in (await read_streams(connection, part)).items():
            kind, _, name = stream.stream.partition("/")
            item = fold(Address(stream.tenant, KINDS[kind], name), events)
            if item is not None:
                found[item.address] = item
    return found


def _differing(stored: Item | None, wanted: Item | None) -> tuple[str, ...]:
    if stored is None or wanted is None:
        return ("missing",) if stored is None else ("without events",)
    return tuple(f.name for f in fields(Item) if getattr(stored, f.name) != getattr(wanted, f.name))


async def _put_right(
    connection: AsyncConnection, addresses: Sequence[Address], wanted: dict[Address, Item]
) -> None:
    for address in addresses:
        await connection.execute(
            delete(CATALOG_OBJECT).where(
                CATALOG_OBJECT.c.tenant_id == address.tenant,
                CATALOG_OBJECT.c.kind == address.kind,
                CATALOG_OBJECT.c.name == address.name,
            )
        )
    await projection.save(connection, [wanted[address] for address in addresses if address in wanted])
