"""What a change of a subscription's standing does to its messages (contract §2): hold, unhold, withdraw."""

from collections.abc import Collection
from typing import Any

from sereno.mailbox import lines
from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries
from sereno.mailbox.principal import SYSTEM
from sereno.mailbox.scope import Scope
from sereno.mailbox.wake import Box

_SQL = queries.load("sereno.mailbox", "standing.sql")


async def hold(
    conn: AnyConnection,
    tenant: str,
    subscription: str,
    cause: str,
    *,
    cancel: bool = True,
    principal: str = SYSTEM.name,
) -> int:
    """Keep a subscription's messages, but claimable by nobody; answers how many were not held for this yet.

    With `cancel` (a pause) live holders are answered `cancelled` at their next renewal, without it (a
    suspension) they may finish. Causes add up; age does not count while one holds.
    """
    await conn.execute(_SQL["keep"], tenant, subscription, cause, cancel)
    return await _hold(conn, tenant, None, subscription, cause, cancel, principal, False, None)


async def unhold(
    conn: AnyConnection, tenant: str, subscription: str, cause: str, *, principal: str = SYSTEM.name
) -> set[Box]:
    """That cause is gone: what nothing else holds is claimable; answers the mailboxes to wake after the commit."""
    await conn.execute(_SQL["forget"], tenant, subscription, cause)
    rows = await conn.fetch(_SQL["unhold"], tenant, None, subscription, cause, principal)
    return {(row["tenant_id"], row["agent"]) for row in rows}


async def hold_scope(conn: AnyConnection, scope: Scope, principal: str, *, thoroughly: bool = False) -> int:
    """Do what a stop does to messages: live holders are told, and age stands still.

    The claim itself looks at the stop of everything or of a tenant, so of what rests there only messages whose
    age counts are touched, however large the backlog; under a narrow stop, or `thoroughly`, all of them are held.
    """
    return await _hold(
        conn,
        scope.tenant,
        scope.agent,
        scope.subscription,
        scope.cause,
        True,
        principal,
        not (scope.is_narrow or thoroughly),
        scope.source,
    )


async def _hold(conn: AnyConnection, *arguments: Any) -> int:
    """One statement: a second one of the same transaction would begin anew in the order of locks (mechanics 13)."""
    return _count(await conn.execute(_SQL["hold"], *arguments))


async def lock(conn: AnyConnection, subscriptions: Collection[tuple[str, str]]) -> None:
    """Take the messages of several subscriptions at once, in the one order of locks, before each is held or freed.

    Each is a tenant and a name.
    """
    if len(subscriptions) > 1:
        await conn.execute(_SQL["lock"], *map(list, zip(*subscriptions, strict=True)))


async def unhold_scope(conn: AnyConnection, scope: Scope, principal: str) -> set[Box]:
    """The stop is lifted; answers the mailboxes to wake after the commit."""
    rows = await conn.fetch(
        _SQL["unhold"], scope.tenant, scope.agent, scope.subscription, scope.cause, principal
    )
    return {(row["tenant_id"], row["agent"]) for row in rows}


async def withdraw(
    conn: AnyConnection,
    tenant: str,
    subscription: str,
    reason: str = "withdrawn",
    *,
    principal: str = SYSTEM.name,
) -> int:
    """End a subscription's messages: dead with this reason now, or when their holder next renews.

    Answers how many it concerned. An acknowledgement that comes before that renewal is still recorded.
    """
    await conn.execute(_SQL["forget"], tenant, subscription, None)
    rows = await conn.fetch(_SQL["withdraw"], tenant, subscription, reason, principal)
    await lines.promote(conn, rows)
    return len(rows)


def _count(status: str) -> int:
    return int(status.rpartition(" ")[2])
