"""Chaining what somebody is about to do: what cannot be recorded is not done."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sereno.mailbox.audit import ledger
from sereno.mailbox.audit.ledger import Entry
from sereno.mailbox.connection import AnyPool

Intent = Callable[[str, str, str, str, Mapping[str, Any]], Awaitable[None]]
"""Called with tenant, actor, type, subject and data; once it returns, the intent is on disk."""


def intents(pool: AnyPool, plane: str) -> Intent:
    """Records each intent in a transaction of its own, in the chain of this plane."""

    async def record(tenant: str, actor: str, kind: str, subject: str, about: Mapping[str, Any]) -> None:
        async with pool.acquire() as conn, conn.transaction():
            await ledger.append(conn, plane, tenant, [Entry(datetime.now(UTC), actor, kind, subject, about)])

    return record
