"""Chaining what is done to the catalog: in the transaction that does it, or it is not done."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.catalog.event import RecordedEvent
from sereno.control_plane.catalog.refusal import Refusal
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


async def attempt(
    connection: AsyncConnection, tenant: str, at: datetime, actor: str, refusals: Sequence[Refusal]
) -> None:
    """Append that somebody tried what the catalog refused: by which codes in clear, the sentences as a commitment."""
    said = {"codes": [refusal.code for refusal in refusals]}
    about = {"messages": [refusal.message for refusal in refusals]}
    tried = Entry(at, actor, "catalog.refused", "apply", about, said)
    await connection.execute(
        text("select 1")
    )  # the driver's connection joins the transaction that this begins
    await ledger.append(await driver(connection), PLANE, tenant, [tried])


def entry(event: RecordedEvent) -> Entry:
    """What the chain says about an event: who did what to what and when; the rest only as a commitment."""
    about = {"version": event.version, "reason": event.reason, "data": dict(event.data)}
    return Entry(event.recorded, event.actor, event.type, event.stream, about)
