"""Gathers the evidence about one receipt or message in a constant number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from sereno.execution_plane.explain.evidence import NO_CHAIN, Chain, Evidence, Incomplete, Row
from sereno.execution_plane.explain.versions import Version, Versions
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

_SQL = queries.load("sereno.execution_plane.explain", "gather.sql")


async def _rows(conn: AnyConnection, name: str, *arguments: Any) -> list[Row]:
    return [dict(row) for row in await conn.fetch(_SQL[name], *arguments)]


async def _row(conn: AnyConnection, name: str, *arguments: Any) -> Row | None:
    row = await conn.fetchrow(_SQL[name], *arguments)
    return None if row is None else dict(row)


async def of_receipt(
    conn: AnyConnection, tenant: str, receiptid: UUID, *, why_not: bool, versions: Versions | None = None
) -> Evidence | None:
    """The evidence about a receipt; with `why_not` also of the subscriptions that it did not concern.

    `versions` are those that were read before.
    """
    versions = versions or Versions()
    receipt = await _row(conn, "receipt", tenant, receiptid)
    if receipt is None:
        return None
    verdicts = await _rows(conn, "verdicts_of_receipt", tenant, receiptid)
    in_force = await versions.in_force(conn, tenant, receipt["decided_at"]) if why_not else ()
    return await _gather(conn, versions, receipt, verdicts, in_force=in_force)


async def of_message(
    conn: AnyConnection, tenant: str, message: UUID, *, versions: Versions | None = None
) -> Evidence:
    """The evidence about a stored message and the event that caused it."""
    verdicts = await _rows(conn, "verdicts_of_message", tenant, message)
    deciding = [verdict for verdict in verdicts if verdict["outcome"] in ("delivered", "merged")]
    if not deciding:
        raise Incomplete("the message is stored without the verdict that delivered it")
    receipt = await _row(conn, "receipt", tenant, deciding[0]["receiptid"])
    if receipt is None:
        raise Incomplete("the verdict is stored without its receipt")
    return await _gather(conn, versions or Versions(), receipt, deciding, asked=message)


async def of_suspension(
    conn: AnyConnection, tenant: str, identifier: UUID, *, versions: Versions | None = None
) -> Evidence:
    """The evidence about a suspension and the event that tripped it."""
    row = await _row(conn, "suspension", tenant, identifier)
    if row is None:
        raise Incomplete("the suspension is not stored")
    # A batch that found no budget when it was due has tripped it with its last event.
    tripped = UUID(row["receiptid"])
    last = await conn.fetchval(_SQL["last_of_batch"], tenant, tripped)
    found = await of_receipt(conn, tenant, last or tripped, why_not=False, versions=versions)
    if found is None:
        raise Incomplete("the suspension is stored without the event that tripped it")
    return replace(found, suspension=row)


async def _gather(
    conn: AnyConnection,
    versions: Versions,
    receipt: Row,
    verdicts: Sequence[Row],
    *,
    in_force: Sequence[Version] = (),
    asked: UUID | None = None,
) -> Evidence:
    tenant, receiptid = receipt["tenant_id"], receipt["receiptid"]
    ids = [verdict["message_id"] for verdict in verdicts if verdict["message_id"] is not None]
    messages = await _rows(conn, "messages", tenant, ids) if ids else ()
    events: dict[UUID, list[Row]] = {}
    for event in await _rows(conn, "message_events", tenant, ids) if ids else ():
        events.setdefault(event["message_id"], []).append(event)
    return Evidence(
        receipt=receipt,
        verdicts=verdicts,
        asked=asked,
        versions=await versions.of_verdicts(conn, tenant, verdicts),
        messages={message["id"]: message for message in messages},
        events=events,
        in_force=in_force,
        filtered=await _filtered(conn, receipt) if in_force else {},
        due_instant=await _row(conn, "due_instants", tenant, receiptid),
        quarantine=await _row(conn, "quarantine", tenant, receiptid),
        chain=await _chain(conn, tenant, receipt["envelope"]),
    )


async def _filtered(conn: AnyConnection, receipt: Row) -> dict[str, int]:
    rows = await _rows(conn, "filtered", receipt["tenant_id"], receipt["recordedtime"])
    return {row["subscription"]: row["events"] for row in rows}


async def _chain(conn: AnyConnection, tenant: str, envelope: Mapping[str, Any]) -> Chain:
    """What led to an event of ours: most have no cause."""
    cause = _identifier(envelope.get("causationid"))
    if cause is None:
        return NO_CHAIN
    first = _identifier(envelope.get("correlationid"))
    known = [one for one in (first, cause) if one is not None]
    events = {one["receiptid"]: one for one in await _rows(conn, "events", tenant, known)}
    # A verdict is caused by its candidate, and that by a message or by nothing.
    candidate = events.get(cause)
    message = cause if candidate is None else _identifier(candidate["causationid"])
    ancestors = () if message is None else await _rows(conn, "ancestors", tenant, message)
    return Chain(None if first is None else events.get(first), ancestors, candidate)


def _identifier(text: str | None) -> UUID | None:
    try:
        return None if text is None else UUID(text)
    except ValueError:
        return None
