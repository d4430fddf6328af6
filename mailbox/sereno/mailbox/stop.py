"""The stop in the data path: rows that claim and delivery read under a lock, with a barrier behind them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from asyncpg import PostgresError

from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries

EVERYTHING = "*"
BARRIER_SECONDS = 5.0

_SQL = queries.load("sereno.mailbox", "stop.sql")


@dataclass(frozen=True, slots=True)
class Engaged:
    """A stop that stands. `in_flight` names the transactions that the barrier did not see the end of: usually none."""

    scope: str
    in_flight: Sequence[dict[str, Any]] = ()


async def engage(
    pool: AnyPool, scope: str, *, reason: str, principal: str, barrier_seconds: float = BARRIER_SECONDS
) -> Engaged:
    """Stop a tenant, or everything with `*`: once this returns with nothing in flight, no claim commits any more.

    The row is committed first, so that every later transaction sees it; then the barrier waits for the
    earlier ones (mechanics 24).
    """
    async with pool.acquire() as conn:
        await conn.execute(_SQL["engage"], scope, reason, principal)
        try:
            async with conn.transaction():
                await conn.execute(f"set local lock_timeout = {int(barrier_seconds * 1000)}")
                await conn.execute(_SQL["barrier"])
        except PostgresError:
            return Engaged(scope, [dict(row) for row in await conn.fetch(_SQL["in_flight"])])
    return Engaged(scope)


async def release(pool: AnyPool, scope: str) -> bool:
    """Lift a stop; False when there was none."""
    return str(await pool.execute(_SQL["release"], scope)) == "DELETE 1"


async def standing(pool: AnyPool) -> list[dict[str, Any]]:
    """The stops that stand, with reason, principal and since when."""
    return [dict(row) for row in await pool.fetch(_SQL["standing"])]


async def backlog(pool: AnyPool, scope: str) -> int:
    """How many messages would be claimable at once if this stop were lifted."""
    count: int = await pool.fetchval(_SQL["backlog"], None if scope == EVERYTHING else scope)
    return count


async def stopped(conn: AnyConnection, tenants: Iterable[str]) -> set[str]:
    """Which tenants stand still. The caller's transaction holds the stop's lock from here to its end."""
    return {row["t"] for row in await conn.fetch(_SQL["stopped"], sorted(set(tenants)))}
