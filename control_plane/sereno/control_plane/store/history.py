"""What rights rested on at an instant that has passed, folded from the events until then."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.decider import fold
from sereno.control_plane.catalog.item import Address, Item, Kind
from sereno.control_plane.catalog.token import EVERY_TENANT
from sereno.control_plane.store.event_store import StreamId, read_streams
from sereno.control_plane.store.tables import EVENT
from sereno.subscriptions.policy.facts import Facts, facts_of

_KINDS: dict[str, Kind] = {"principal": "Principal", "agent": "Agent", "grant": "Grant", "policy": "Policy"}


async def facts(connection: AsyncConnection, tenant: str, at: datetime) -> Facts:
    """The facts of a tenant as they were. The shipped policies are today's: they change with a release."""
    own = await _items(connection, tenant, at)
    everywhere = await _items(connection, EVERY_TENANT, at)
    return facts_of([*own, *(item for item in everywhere if item.kind == "Principal")])


async def _items(connection: AsyncConnection, tenant: str, at: datetime) -> list[Item]:
    statement = (
        select(EVENT.c.stream)
        .where(EVENT.c.tenant_id == tenant, EVENT.c.recorded <= at)
        .where(EVENT.c.stream.regexp_match(f"^({'|'.join(_KINDS)})/"))
        .distinct()
    )
    streams = [StreamId(tenant, stream) for (stream,) in await connection.execute(statement)]
    events = await read_streams(connection, streams)
    found = [
        fold(_address(stream), [event for event in events[stream] if event.recorded <= at])
        for stream in streams
    ]
    return [item for item in found if item is not None]


def _address(stream: StreamId) -> Address:
    kind, _, name = stream.stream.partition("/")
    return Address(stream.tenant, _KINDS[kind], name)
