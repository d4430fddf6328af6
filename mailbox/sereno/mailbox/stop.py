"""The stop in the data path: rows that claim and delivery read under a lock, with a barrier behind them."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from asyncpg import PostgresError

from sereno.mailbox import dead_letter, standing
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.principal import SYSTEM
from sereno.mailbox.scope import EVERYTHING, Scope
from sereno.mailbox.wake import Box

BARRIER_SECONDS = 5.0
DROPPED = "stopped"
"""Why messages are dead that a stop held and a person did not want delivered."""

__all__ = [
    "BARRIER_SECONDS",
    "EVERYTHING",
    "Choice",
    "Engaged",
    "Scope",
    "backlog",
    "engage",
    "in_force",
    "in_review",
    "release",
    "scopes",
    "settle",
    "waiting",
]

Choice = Literal["deliver", "drop", "review"]
"""What becomes of the backlog of a stop that ends."""

_SQL = queries.load("sereno.mailbox", "stop.sql")


@dataclass(frozen=True, slots=True)
class Beginning:
    """A stop that did not stand before, as its transaction wrote it."""

    id: UUID
    scope: str
    reason: str
    principal: str
    at: datetime


With = Callable[[AnyConnection, Beginning], Awaitable[None]]
"""Writes what is to be told of a stop, in the transaction of its row."""


@dataclass(frozen=True, slots=True)
class Engaged:
    """A stop that stands. `in_flight` names the transactions that the barrier did not see the end of: usually none."""

    scope: str
    in_flight: Sequence[dict[str, Any]] = ()
    began: Beginning | None = None


async def engage(
    pool: AnyPool,
    scope: str,
    *,
    reason: str,
    principal: str,
    identity: UUID | None = None,
    also: With | None = None,
    barrier_seconds: float = BARRIER_SECONDS,
) -> Engaged:
    """Stop a scope (see `Scope.parse`): once this returns with nothing in flight, nothing of it is claimed or
    delivered any more, and live holders are told at their next renewal. Raises ValueError naming the scope.

    The row is committed first, so that every later transaction sees it; then the barrier waits for the
    earlier ones (mechanics 24), and then what they left is held.
    """
    meant = Scope.parse(scope)
    async with pool.acquire() as conn:
        async with conn.transaction():
            row = await conn.fetchrow(_SQL["engage"], scope, reason, principal, identity)
            began = None if row is None else Beginning(row["id"], scope, reason, principal, row["engaged_at"])
            if began is not None and also is not None:
                await also(conn, began)
        in_flight: Sequence[dict[str, Any]] = ()
        try:
            async with conn.transaction():
                await conn.execute(f"set local lock_timeout = {int(barrier_seconds * 1000)}")
                await conn.execute(_SQL["barrier"])
        except PostgresError:
            in_flight = [dict(row) for row in await conn.fetch(_SQL["in_flight"])]
        async with conn.transaction():
            await standing.hold_scope(conn, meant, principal)
    return Engaged(scope, in_flight, began)


async def release(
    pool: AnyPool,
    scope: str,
    *,
    principal: str = SYSTEM.name,
    reason: str = "released",
    choice: Choice = "deliver",
    also: With | None = None,
) -> set[Box] | None:
    """Lift a stop: the mailboxes to wake that it held; None when there was none.

    What waits in mailboxes is delivered, dead with reason `stopped`, or stays held until the same scope is released
    once more. What was held on its way to a mailbox is the pipeline's; `also` tells it.
    """
    meant = Scope.parse(scope)
    if choice == "drop" and await pool.fetchval(_SQL["known"], scope):
        # While the stop stands, so that nobody waits for the end of it.
        async with pool.acquire() as conn, conn.transaction():
            await _drop(conn, meant, principal)
    async with pool.acquire() as conn, conn.transaction():
        if choice == "drop":
            # Deliveries that saw the stop have held by now, and the next ones see that it is over.
            await conn.execute(_SQL["alone"])
        row = await conn.fetchrow(_SQL["release"], scope)
        if row is None:
            return None
        if also is not None:
            await also(conn, Beginning(row["id"], scope, row["reason"], row["principal"], row["engaged_at"]))
        if choice == "review":
            await conn.execute(_SQL["review"], scope, row["id"], reason, principal)
            await standing.hold_scope(conn, meant, principal, thoroughly=True)
            return set()
        if choice == "drop":
            await _drop(conn, meant, principal)
        return await standing.unhold_scope(conn, meant, principal)


async def _drop(conn: AnyConnection, scope: Scope, principal: str) -> None:
    ready: dict[str, list[UUID]] = defaultdict(list)
    for row in await conn.fetch(_SQL["ready"], *_columns(scope)):
        ready[row["tenant_id"]].append(row["id"])
    for tenant, ids in sorted(ready.items()):
        await dead_letter.end_in(conn, tenant, ids, reason=DROPPED, principal=principal)


async def settle(pool: AnyPool) -> int:
    """Hold what came under a standing stop since, such as a claim that its barrier did not see the end of.

    Each stop in a transaction of its own. Answers how many messages.
    """
    held = 0
    for row in await pool.fetch(_SQL["standing"]):
        async with pool.acquire() as conn, conn.transaction():
            held += await standing.hold_scope(conn, Scope.parse(row["scope"]), row["principal"])
    return held


async def in_force(pool: AnyPool) -> list[dict[str, Any]]:
    """The stops that stand, with id, reason, principal and since when."""
    return [dict(row) for row in await pool.fetch(_SQL["standing"])]


async def in_review(pool: AnyPool) -> list[dict[str, Any]]:
    """The stops that ended and left their backlog for a person, with who ended them and why."""
    return [dict(row) for row in await pool.fetch(_SQL["reviews"])]


async def backlog(pool: AnyPool, scope: str) -> int:
    """How many messages would be claimable at once if this stop were lifted."""
    meant = Scope.parse(scope)
    count: int = await pool.fetchval(_SQL["backlog"], *_columns(meant), meant.cause)
    return count


async def waiting(pool: AnyPool, scope: Scope) -> Mapping[str, int]:
    """How many open messages of a scope there are, by state."""
    rows = await pool.fetch(_SQL["waiting"], *_columns(scope))
    return {row["state"]: row["count"] for row in rows}


async def scopes(conn: AnyConnection, tenants: Iterable[str]) -> list[Scope]:
    """What stands still in these tenants. The caller's transaction holds the stop's lock from here to its end."""
    return [Scope.parse(row["scope"]) for row in await conn.fetch(_SQL["scopes"], sorted(set(tenants)))]


def _columns(scope: Scope) -> tuple[str | None, ...]:
    return scope.tenant, scope.agent, scope.subscription, scope.source
