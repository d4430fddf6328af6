"""Approvals in the database: their events, and one row each by which they are found."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane import recording
from sereno.control_plane.catalog.approval import Approval, evolve
from sereno.control_plane.catalog.event import NewEvent, record
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.store import event_store
from sereno.control_plane.store.event_store import Append, StreamId, read_streams
from sereno.control_plane.store.tables import APPROVAL


class ApprovalConflictError(Exception):
    """Another transaction moved the approval at the same time."""


async def write(
    connection: AsyncConnection,
    tenant: str,
    before: Approval | None,
    identifier: UUID,
    events: Sequence[NewEvent],
    *,
    actor: str,
    at: datetime,
) -> Approval:
    """Record events of one approval and its row; the approval after them. The tenant's lock is held."""
    stream, revision = f"approval/{identifier}", before.revision if before else 0
    append = Append(StreamId(tenant, stream), revision, tuple(events))
    if await event_store.append(connection, [append], actor=actor, recorded=at) is not None:
        raise ApprovalConflictError(f"approval {identifier} was changed by another at the same time")
    after = before
    recorded = record(
        events, tenant=tenant, stream=stream, revision=revision, actor=actor, reason=None, recorded=at
    )
    for event in recorded:
        after = evolve(after, tenant, event)
    if after is None:
        raise AssertionError("an approval begins with an event")
    await _save(connection, after, at)
    await recording.chain(connection, recorded)
    return after


async def _save(connection: AsyncConnection, approval: Approval, at: datetime) -> None:
    row = {
        "tenant_id": approval.subject.tenant,
        "id": approval.id,
        "subject_kind": approval.subject.kind,
        "subject_name": approval.subject.name,
        "digest": approval.digest,
        "asked_by": approval.asked_by,
        "state": approval.state,
        "expires_at": approval.expires,
        "updated_at": at,
    }
    statement = insert(APPROVAL).values(row)
    changed = {name: statement.excluded[name] for name in ("state", "updated_at")}
    await connection.execute(
        statement.on_conflict_do_update(index_elements=["tenant_id", "id"], set_=changed)
    )


async def one(connection: AsyncConnection, tenant: str, identifier: UUID) -> Approval | None:
    """An approval as its events made it."""
    found = await _folded(connection, tenant, [identifier])
    return found[0] if found else None


async def listed(
    connection: AsyncConnection, tenant: str, *, state: str | None, asked_by: str | None, limit: int
) -> list[Approval]:
    """The approvals of a tenant, newest first; an expired one is still stored as pending."""
    stored = "pending" if state == "expired" else state
    conditions = [APPROVAL.c.tenant_id == tenant]
    conditions += [APPROVAL.c.state == stored] if stored else []
    conditions += [APPROVAL.c.asked_by == asked_by] if asked_by else []
    statement = select(APPROVAL.c.id).where(*conditions).order_by(APPROVAL.c.id.desc()).limit(limit)
    ids = [identifier for (identifier,) in await connection.execute(statement)]
    return await _folded(connection, tenant, ids)


async def of_subject(connection: AsyncConnection, subject: Address, state: str) -> list[Approval]:
    """The approvals about one object that are stored in this state."""
    return await _found(
        connection,
        subject.tenant,
        APPROVAL.c.subject_kind == subject.kind,
        APPROVAL.c.subject_name == subject.name,
        APPROVAL.c.state == state,
    )


async def rejection(connection: AsyncConnection, tenant: str, asked_by: str, digest: str) -> Approval | None:
    """The last refusal of exactly this, asked for by the same principal."""
    found = await _found(
        connection,
        tenant,
        APPROVAL.c.asked_by == asked_by,
        APPROVAL.c.digest == digest,
        APPROVAL.c.state == "denied",
    )
    return found[0] if found else None


async def _found(
    connection: AsyncConnection, tenant: str, *conditions: ColumnElement[bool]
) -> list[Approval]:
    statement = select(APPROVAL.c.id).where(APPROVAL.c.tenant_id == tenant, *conditions)
    rows = await connection.execute(statement.order_by(APPROVAL.c.id.desc()))
    return await _folded(connection, tenant, [identifier for (identifier,) in rows])


async def _folded(connection: AsyncConnection, tenant: str, ids: Sequence[UUID]) -> list[Approval]:
    streams = {identifier: StreamId(tenant, f"approval/{identifier}") for identifier in ids}
    events = await read_streams(connection, list(streams.values()))
    found: list[Approval] = []
    for stream in streams.values():
        approval: Any = None
        for event in events[stream]:
            approval = evolve(approval, tenant, event)
        found += [approval] if approval is not None else []
    return found
