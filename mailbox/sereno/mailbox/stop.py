"""The stop in the data path: rows that claim and delivery read under a lock, with a barrier behind them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from asyncpg import PostgresError

from sereno.mailbox import standing
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.principal import SYSTEM
from sereno.mailbox.scope import EVERYTHING, Scope
from sereno.mailbox.wake import Box

BARRIER_SECONDS = 5.0

__all__ = [
    "BARRIER_SECONDS",
    "EVERYTHING",
    "Engaged",
    "Scope",
    "backlog",
    "engage",
    "in_force",
    "release",
    "scopes",
    "settle",
]

_SQL = queries.load("sereno.mailbox", "stop.sql")


@dataclass(frozen=True, slots=True)
class Engaged:
    """A stop that stands. `in_flight` names the transactions that the barrier did not see the end of: usually none."""

    scope: str
    in_flight: Sequence[dict[str, Any]] = ()


async def engage(
    pool: AnyPool, scope: str, *, reason: str, principal: str, barrier_seconds: float = BARRIER_SECONDS
) -> Engaged:
    """Stop a scope (see `Scope.parse`): once this returns with nothing in flight, nothing of it is claimed or
    delivered any more, and live holders are told at their next renewal. Raises ValueError naming the scope.

    The row is committed first, so that every later transaction sees it; then the barrier waits for the
    earlier ones (mechanics 24), and then what they left is held.
    """
    meant = Scope.parse(scope)
    async with pool.acquire() as conn:
        await conn.execute(_SQL["engage"], scope, reason, principal)
        in_flight: Sequence[dict[str, Any]] = ()
        try:
            async with conn.transaction():
                await conn.execute(f"set local lock_timeout = {int(barrier_seconds * 1000)}")
                await conn.execute(_SQL["barrier"])
        except PostgresError:
            in_flight = [dict(row) for row in await conn.fetch(_SQL["in_flight"])]
        async with conn.transaction():
            await standing.hold_scope(conn, meant, principal)
    return Engaged(scope, in_flight)


async def release(pool: AnyPool, scope: str, *, principal: str = SYSTEM.name) -> set[Box] | None:
    """Lift a stop: the mailboxes to wake that it held; None when there was none.

    What was held on its way to a mailbox is delivered by the pipeline.
    """
    meant = Scope.parse(scope)
    async with pool.acquire() as conn, conn.transaction():
        if await conn.execute(_SQL["release"], scope) != "DELETE 1":
            return None
        return await standing.unhold_scope(conn, meant, principal)


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
    """The stops that stand, with reason, principal and since when."""
    return [dict(row) for row in await pool.fetch(_SQL["standing"])]


async def backlog(pool: AnyPool, scope: str) -> int:
    """How many messages would be claimable at once if this stop were lifted."""
    meant = Scope.parse(scope)
    count: int = await pool.fetchval(
        _SQL["backlog"], meant.tenant, meant.agent, meant.subscription, meant.cause
    )
    return count


async def scopes(conn: AnyConnection, tenants: Iterable[str]) -> list[Scope]:
    """What stands still in these tenants. The caller's transaction holds the stop's lock from here to its end."""
    return [Scope.parse(row["scope"]) for row in await conn.fetch(_SQL["scopes"], sorted(set(tenants)))]
