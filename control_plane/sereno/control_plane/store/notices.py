"""The notices of both planes in the database: one row a cause, told again when it asks a person anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import case, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from sereno.control_plane.store.tables import NOTICE

Inbox = Literal["notify", "question", "review"]
"""What a person does with it: know it, answer it, or decide about it."""
WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that a person should know; the same `cause` in a tenant is one notice."""

    tenant: str
    cause: str
    text: str
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1

    @property
    def kind(self) -> str:
        """The first word of the cause."""
        return self.cause.partition("/")[0]

    @property
    def inbox(self) -> Inbox:
        """Where a person finds it."""
        if self.kind == WAITING:
            return "question" if self.data.get("waiting_for") == "question" else "review"
        return "review" if self.kind == "approval" else "notify"


async def put(connection: AsyncConnection, notices: Sequence[Notice]) -> None:
    """Write notices in the caller's transaction. What waits for an answer is told each time, all else once."""
    for one in notices:
        row = {
            "tenant_id": one.tenant,
            "cause": one.cause,
            "kind": one.kind,
            "inbox": one.inbox,
            "text": one.text,
            "data": dict(one.data),
            "count": one.count,
            "first_at": one.at,
            "last_at": one.at,
            "told": 1,
            "told_at": one.at,
        }
        statement = insert(NOTICE).values(row)
        new, again = statement.excluded, NOTICE.c.kind == WAITING
        changed = {
            "text": new.text,
            "data": new.data,
            "count": new.count,
            "last_at": new.last_at,
            "told": NOTICE.c.told + case((again, 1), else_=0),
            "told_at": case((again, new.told_at), else_=NOTICE.c.told_at),
            "done_at": None,
        }
        await connection.execute(
            statement.on_conflict_do_update(
                index_elements=["tenant_id", "cause"], set_=changed, where=NOTICE.c.last_at <= new.last_at
            )
        )


async def done(connection: AsyncConnection, tenant: str, cause: str, at: datetime) -> None:
    """Note that nobody need act on it any more."""
    mine = (NOTICE.c.tenant_id == tenant) & (NOTICE.c.cause == cause)
    await connection.execute(update(NOTICE).where(mine, NOTICE.c.done_at.is_(None)).values(done_at=at))


async def listed(
    connection: AsyncConnection, tenant: str, *, inbox: Inbox | None, only_open: bool, limit: int
) -> list[dict[str, Any]]:
    """The notices of a tenant and those for all tenants, latest first."""
    statement = select(NOTICE).where(NOTICE.c.tenant_id.in_([tenant, "*"]))
    statement = statement.where(NOTICE.c.inbox == inbox) if inbox else statement
    statement = statement.where(NOTICE.c.done_at.is_(None)) if only_open else statement
    ordered = statement.order_by(NOTICE.c.last_at.desc(), NOTICE.c.cause).limit(limit)
    return [dict(row) for row in (await connection.execute(ordered)).mappings()]


async def one(connection: AsyncConnection, tenant: str, cause: str) -> dict[str, Any] | None:
    """One notice by its cause."""
    mine = (NOTICE.c.tenant_id == tenant) & (NOTICE.c.cause == cause)
    row = (await connection.execute(select(NOTICE).where(mine))).mappings().first()
    return dict(row) if row else None
