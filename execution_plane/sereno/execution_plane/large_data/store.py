"""Large data in the database: kept before its envelope is published, read by who has the right to."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sereno.execution_plane.large_data.claim_check import Withheld
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import queries
from sereno.mailbox.principal import Principal

SQL = queries.load("sereno.execution_plane.large_data", "store.sql")
KEEP_SECONDS = 2.5


@dataclass(frozen=True, slots=True)
class Kept:
    """Stored data and its media type."""

    media_type: str
    data: bytes


async def keep(pool: AnyPool, withheld: Sequence[Withheld]) -> None:
    """Store what is not stored yet; once this returned it is on disk."""
    columns = zip(
        *((each.tenant, each.sensitivity, each.address, each.media_type, each.data) for each in withheld),
        strict=True,
    )
    await pool.execute(SQL["keep"], *(list(column) for column in columns), timeout=KEEP_SECONDS)


async def read(pool: AnyPool, tenants: Sequence[str], sensitivity: str, address: str) -> Kept | None:
    """What one of these tenants has under the address."""
    row = await pool.fetchrow(SQL["read"], list(tenants), sensitivity, address)
    return None if row is None else Kept(row["media_type"], row["data"])


async def readable_in(
    pool: AnyPool, caller: Principal, tenants: Sequence[str], reference: str, message: UUID | None
) -> Sequence[str]:
    """The tenants in which the caller may read this reference.

    Who is not bound to agents reads what their tenant has. Who is, reads what a named message of these agents carries;
    who shows the bearer of a lease, what the message of that live lease carries.
    """
    if caller.token is not None:
        found = await pool.fetchval(SQL["carried_by_lease"], caller.token, reference)
    elif caller.agents is None:
        return tenants
    else:
        agents = sorted(caller.agents)
        found = await pool.fetchval(SQL["carried_by_message"], list(tenants), message, agents, reference)
    return [] if found is None else [found]
