"""What a person asks to have explained, and which stored thing that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from sereno.envelope.identifiers import PREFIXES, from_people, to_people, unix_millis
from sereno.execution_plane.explain.evidence import Row
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.engine.problems import Problem

EXPECTED = "rcp_…, msg_…, run_…, sus_…, NAME@INSTANT, or the id of an event"
CANDIDATES = 10
_SQL = queries.load("sereno.execution_plane.explain", "gather.sql")


@dataclass(frozen=True, slots=True)
class Found:
    """A stored receipt (`rcp`), message (`msg`) or suspension (`sus`) of a tenant."""

    tenant: str
    prefix: Literal["rcp", "msg", "sus"]
    identifier: UUID


async def find(conn: AnyConnection, tenants: Sequence[str], text: str) -> Found | None:
    """What `text` names among these tenants, if anything. Raises `Problem` when it is ambiguous or names nothing that can be."""
    if not text.strip():
        raise Problem(422, "bad_input", f"expected {EXPECTED}")
    found = await _by_our_identifier(conn, tenants, text)
    found = found or await _by_instant(conn, tenants, text)
    found = found or await _by_event_id(conn, tenants, text)
    prefix, separator, _ = text.partition("_")
    if found is None and separator and prefix in PREFIXES:
        _check(text)
    return found


def _check(text: str) -> None:
    try:
        from_people(text)
    except ValueError as fault:
        raise Problem(422, "bad_input", str(fault)) from fault


async def _by_our_identifier(conn: AnyConnection, tenants: Sequence[str], text: str) -> Found | None:
    try:
        prefix, identifier = from_people(text)
    except ValueError:
        return None
    for meant in (prefix,) if prefix else ("rcp", "msg", "sus"):
        if found := await _by_identifier(conn, tenants, meant, identifier):
            return found
    return None


async def _by_identifier(
    conn: AnyConnection, tenants: Sequence[str], prefix: str, identifier: UUID
) -> Found | None:
    if prefix == "run":
        # Most runs carry the id of their message.
        first = await _by_identifier(conn, tenants, "msg", identifier)
        return first or await _by_redrive(conn, tenants, identifier)
    if prefix == "rcp":
        tenant = await conn.fetchval(_SQL["tenants_of_receipt"], list(tenants), identifier)
        return None if tenant is None else Found(tenant, "rcp", identifier)
    if prefix == "msg":
        tenant = await conn.fetchval(_SQL["tenants_of_message"], list(tenants), identifier)
        return None if tenant is None else Found(tenant, "msg", identifier)
    if prefix == "sus":
        tenant = await conn.fetchval(_SQL["tenants_of_suspension"], list(tenants), identifier)
        return None if tenant is None else Found(tenant, "sus", identifier)
    return None


async def _by_redrive(conn: AnyConnection, tenants: Sequence[str], run: UUID) -> Found | None:
    began = unix_millis(run)
    if began is None:
        return None
    moment = datetime.fromtimestamp(began / 1000, UTC)
    row = await conn.fetchrow(_SQL["message_of_redrive"], list(tenants), run, moment)
    return None if row is None else Found(row["tenant_id"], "msg", row["message_id"])


async def _by_instant(conn: AnyConnection, tenants: Sequence[str], text: str) -> Found | None:
    """`NAME@INSTANT` is the signal of a subscription to time at one of its nominal instants."""
    name, _, written = text.rpartition("@")
    try:
        instant = datetime.fromisoformat(written)
    except ValueError:
        return None
    if not name or instant.tzinfo is None:
        return None
    rows = await conn.fetch(_SQL["instants_of_subscription"], list(tenants), name, instant, CANDIDATES)
    homes = sorted({row["tenant_id"] for row in rows})
    if len(homes) > 1:
        raise Problem(
            422, "ambiguous", f"{text} is one of several tenants: {', '.join(homes)}; name one with tenant"
        )
    if rows and rows[0]["receiptid"] is None:
        raise Problem(404, "not_emitted", f"{text} sent no signal: {rows[0]['outcome']}, {rows[0]['reason']}")
    return Found(rows[0]["tenant_id"], "rcp", rows[0]["receiptid"]) if rows else None


async def _by_event_id(conn: AnyConnection, tenants: Sequence[str], text: str) -> Found | None:
    rows = await conn.fetch(_SQL["receipts_of_event"], list(tenants), text, CANDIDATES + 1)
    if len(rows) > 1:
        raise _ambiguous(text, [dict(row) for row in rows])
    return Found(rows[0]["tenant_id"], "rcp", rows[0]["receiptid"]) if rows else None


def _ambiguous(text: str, rows: Sequence[Row]) -> Problem:
    candidates = [
        {
            "id": to_people("rcp", row["receiptid"]),
            "tenant": row["tenant_id"],
            "source": row["source"],
            "type": row["type"],
            "received": row["recordedtime"],
        }
        for row in rows[:CANDIDATES]
    ]
    shown = "; ".join(
        f"{one['id']} ({one['type']} from {one['source']}, {one['received']:%Y-%m-%dT%H:%M:%SZ})"
        for one in candidates
    )
    many = f"more than {CANDIDATES}" if len(rows) > CANDIDATES else str(len(rows))
    return Problem(
        422, "ambiguous", f"{many} receipts have the event id {text!r}: {shown}", candidates=candidates
    )
