"""Gathers the evidence about one receipt or message in a constant number of queries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sereno.execution_plane.explain.evidence import Evidence, Incomplete, Row
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.subscriptions.snapshot import CatalogObject

_SQL = queries.load("sereno.execution_plane.explain", "gather.sql")


async def _rows(conn: AnyConnection, name: str, *arguments: Any) -> list[Row]:
    return [dict(row) for row in await conn.fetch(_SQL[name], *arguments)]


async def _row(conn: AnyConnection, name: str, *arguments: Any) -> Row | None:
    row = await conn.fetchrow(_SQL[name], *arguments)
    return None if row is None else dict(row)


async def of_receipt(conn: AnyConnection, tenant: str, receiptid: UUID, *, why_not: bool) -> Evidence | None:
    """The evidence about a receipt; with `why_not` also of the subscriptions that it did not concern."""
    receipt = await _row(conn, "receipt", tenant, receiptid)
    if receipt is None:
        return None
    verdicts = await _rows(conn, "verdicts_of_receipt", tenant, receiptid)
    in_force = await _in_force(conn, tenant, receipt["decided_at"]) if why_not else ()
    return await _gather(conn, receipt, verdicts, in_force)


async def of_message(conn: AnyConnection, tenant: str, message: UUID) -> Evidence:
    """The evidence about a stored message and the event that caused it."""
    verdicts = await _rows(conn, "verdicts_of_message", tenant, message)
    deciding = [verdict for verdict in verdicts if verdict["outcome"] in ("delivered", "merged")]
    if not deciding:
        raise Incomplete("the message is stored without the verdict that delivered it")
    receipt = await _row(conn, "receipt", tenant, deciding[0]["receiptid"])
    if receipt is None:
        raise Incomplete("the verdict is stored without its receipt")
    return await _gather(conn, receipt, deciding, (), message)


async def _gather(
    conn: AnyConnection,
    receipt: Row,
    verdicts: Sequence[Row],
    in_force: Sequence[CatalogObject],
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
        versions=await _versions(conn, tenant, verdicts),
        messages={message["id"]: message for message in messages},
        events=events,
        in_force=in_force,
        due_instant=await _row(conn, "due_instants", tenant, receiptid),
        quarantine=await _row(conn, "quarantine", tenant, receiptid),
    )


async def _versions(
    conn: AnyConnection, tenant: str, verdicts: Sequence[Row]
) -> dict[tuple[str, int], CatalogObject]:
    if not verdicts:
        return {}
    keys = [f"subscription/{verdict['subscription']}" for verdict in verdicts]
    numbers = [verdict["subscription_version"] for verdict in verdicts]
    latest = max(verdict["decided_at"] for verdict in verdicts)
    rows = await _rows(conn, "versions", tenant, keys, numbers, latest)
    objects = [CatalogObject.model_validate_json(row["canonical"]) for row in rows]
    return {(item.name, item.version): item for item in objects}


async def _in_force(conn: AnyConnection, tenant: str, at: datetime) -> list[CatalogObject]:
    rows = await _rows(conn, "in_force", tenant, at)
    return [CatalogObject.model_validate_json(row["canonical"]) for row in rows]
