"""The rebuild of guard state: what the guards remember, folded again from receipts, verdicts, batches and reservations.

What was counted of a storm's running window is left out: it begins anew by itself as that window passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sereno.execution_plane.guards.dedup import BODY_KEY_WINDOW, KEY_WINDOW
from sereno.execution_plane.pipeline import store
from sereno.execution_plane.pipeline.delivery import Clock
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import queries

# As long as the largest log takes, with the decisions waiting.
_TIMEOUT_SECONDS = 3600.0
# Each kind of row, and whether its statements ask what time it is.
_TIMED: Mapping[str, bool] = {"dedup": True, "state": False, "budget": True, "batch": False}
_TABLES = {"state": "subscription_state"}
_SQL = queries.load("sereno.execution_plane.pipeline", "rebuilding.sql")


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of guard state that is not what the log tells: its columns, or that it is missing or unexpected."""

    table: str
    tenant: str
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What differed from the log and was put right, and what differs still: nothing."""

    mended: Sequence[Difference]
    differences: Sequence[Difference]


async def rebuild(pool: AnyPool, clock: Clock = store.database_clock) -> Rebuilt:
    """Make guard state what the log tells. Deciding waits until this is done."""
    async with pool.acquire() as conn, conn.transaction():
        at = await _fold(conn, clock)
        found = await _differences(conn, at)
        for kind in _TIMED if found else ():
            await _run(conn, f"mend_{kind}", *_time(kind, at))
        return Rebuilt(found, await _differences(conn, at) if found else [])


async def compare(pool: AnyPool, clock: Clock = store.database_clock) -> list[Difference]:
    """Where guard state is not what the log tells; nothing is changed."""
    async with pool.acquire() as conn, conn.transaction():
        return await _differences(conn, await _fold(conn, clock))


async def _fold(conn: AnyConnection, clock: Clock) -> datetime:
    await conn.execute("set local statement_timeout = 0")
    await _run(conn, "lock")
    at = await clock(conn)
    for kind in _TIMED:
        windows = (BODY_KEY_WINDOW, KEY_WINDOW) if kind == "dedup" else ()
        await _run(conn, f"told_{kind}", *_time(kind, at), *windows)
    return at


async def _differences(conn: AnyConnection, at: datetime) -> list[Difference]:
    return [
        Difference(_TABLES.get(kind, kind), row["tenant_id"], row["name"], tuple(row["columns"]))
        for kind in _TIMED
        for row in await conn.fetch(_SQL[f"differing_{kind}"], *_time(kind, at), timeout=_TIMEOUT_SECONDS)
    ]


def _time(kind: str, at: datetime) -> tuple[datetime, ...]:
    return (at,) if _TIMED[kind] else ()


async def _run(conn: AnyConnection, name: str, *arguments: Any) -> None:
    await conn.execute(_SQL[name], *arguments, timeout=_TIMEOUT_SECONDS)
