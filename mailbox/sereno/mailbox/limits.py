"""How many leases of an agent may be live at once: pre-made slot rows that claims take (mechanics 20)."""

from sereno.mailbox.connection import AnyConnection
from sereno.mailbox.engine import queries

MAX_CONCURRENCY = 10_000

_SQL = queries.load("sereno.mailbox", "limits.sql")


async def set_concurrency(conn: AnyConnection, tenant: str, agent: str, most: int | None) -> None:
    """Limit an agent to so many live leases (0: none, None: no limit), in the caller's transaction.

    Leases that are live already keep running and count. Raises ValueError naming the argument.
    """
    if most is not None and not 0 <= most <= MAX_CONCURRENCY:
        raise ValueError(f"concurrency: expected 0 to {MAX_CONCURRENCY}, got {most}")
    await conn.execute(_SQL["set_limit"], tenant, agent, most)
