"""The definitions of tools in the database, and what happens when a server's are others."""

from collections.abc import Sequence
from datetime import datetime

from sereno.execution_plane.listeners.mcp import telling
from sereno.execution_plane.listeners.mcp.away import StoppedError
from sereno.execution_plane.listeners.mcp.connections import Asked
from sereno.execution_plane.listeners.mcp.definitions import Definition, check
from sereno.execution_plane.listeners.mcp.extraction import UnreadableError, value_of
from sereno.execution_plane.listeners.mcp.sources import SQL, Connection
from sereno.execution_plane.platform_events import outgoing
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import outbox

FIRST_MET = "first met"
"""By whom a definition was pinned that nobody had pinned before."""
CHANGED = "definition_changed"
WRONG_ACCOUNT = "wrong_account"


async def expect_known(pool: AnyPool, session: Asked, now: datetime) -> None:
    """Raises `StoppedError`, when a definition is not what was pinned; the connector is stopped then."""
    connection = session.connection
    met = await session.tools()
    rows = await pool.fetch(SQL["pins"], *connection.key)
    pinned = {row["tool"]: row["pinned"] for row in rows}
    found = check(connection.spec, pinned, met)
    if found.fresh:
        await _pin(pool, connection, found.fresh, now)
    if found.changes:
        shown = [met[one.tool] for one in found.changes if one.tool in met]
        async with pool.acquire() as held, held.transaction():
            await _meet(held, connection, shown, {one.tool: one.pinned for one in found.changes}, now)
            await stop(held, connection, CHANGED, "; ".join(map(str, found.changes)), now)
        raise StoppedError(CHANGED, "; ".join(map(str, found.changes)))


async def expect_account(pool: AnyPool, session: Asked, now: datetime) -> None:
    """Raises `StoppedError`, when the server knows us as somebody else; the connector is stopped then."""
    connection = session.connection
    account = connection.spec.account
    if account is None:
        return
    answer = await session.call(account.tool, account.arguments)
    try:
        found = value_of(account.is_, answer.variables)
    except UnreadableError:
        found = None
    if str(found) == account.id:
        return
    why = f"its server knows us as another account than {account.id}, which is bound"
    async with pool.acquire() as held, held.transaction():
        await stop(held, connection, WRONG_ACCOUNT, why, now)
    raise StoppedError(WRONG_ACCOUNT, why)


async def stop(connection: AnyConnection, stopped: Connection, cause: str, why: str, now: datetime) -> None:
    """Stop a connector and tell of it, once; its conditions are due to be checked again."""
    if await connection.fetchval(SQL["stop"], *stopped.key, cause, now, why) is None:
        return
    rows = await connection.fetch(SQL["conditions_of"], *stopped.key)
    notice, event = telling.stopped(stopped, cause, why, [row["name"] for row in rows], now)
    await notices.record(connection, [notice])
    await outbox.append(connection, "execution", outgoing([event]))


async def _pin(
    pool: AnyPool, connection: Connection, definitions: Sequence[Definition], now: datetime
) -> None:
    await pool.execute(SQL["pin"], *connection.key, now, FIRST_MET, *_columns(definitions))


async def _meet(
    connection: AnyConnection,
    met: Connection,
    definitions: Sequence[Definition],
    expected: dict[str, str],
    now: datetime,
) -> None:
    hashes = [expected[one.tool] for one in definitions]
    await connection.execute(SQL["meet"], *met.key, now, FIRST_MET, *_columns(definitions), hashes)


def _columns(definitions: Sequence[Definition]) -> tuple[list[str], list[str], list[dict[str, object]]]:
    return (
        [one.tool for one in definitions],
        [one.sha256 for one in definitions],
        [dict(one.json) for one in definitions],
    )
