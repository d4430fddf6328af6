"""Chaining what is done to the catalog: in the transaction that does it, or it is not done."""

from collections import defaultdict
from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.event import RecordedEvent
from sereno.control_plane.store.engine import driver
from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.ledger import Entry

PLANE = "control"


async def chain(connection: AsyncConnection, events: Iterable[RecordedEvent]) -> None:
    """Append the events to the chains of their tenants, in one order, so that two writers never wait for each other."""
    by_tenant: dict[str, list[Entry]] = defaultdict(list)
    for event in events:
        by_tenant[event.tenant].append(entry(event))
    raw = await driver(connection)
    for tenant in sorted(by_tenant):
        await ledger.append(raw, PLANE, tenant, by_tenant[tenant])


def entry(event: RecordedEvent) -> Entry:
    """What the chain says about an event: who did what to what and when; the rest only as a commitment."""
    about = {"version": event.version, "reason": event.reason, "data": dict(event.data)}
    return Entry(event.recorded, event.actor, event.type, event.stream, about)
