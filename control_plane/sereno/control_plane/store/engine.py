"""SQLAlchemy over asyncpg for the control plane, with the session rules of `sereno.mailbox.engine.postgres`."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias, cast

import asyncpg
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from sereno.mailbox.engine.migrate import sqlalchemy_url
from sereno.mailbox.engine.postgres import COMMAND_TIMEOUT_SECONDS, CONNECT_TIMEOUT_SECONDS, SESSION, prepare

# asyncpg's classes take parameters for type checkers only.
AsyncpgConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class _Adapted(Protocol):
    def run_async(self, work: Callable[[AsyncpgConnection], Awaitable[None]]) -> None: ...


def open_engine(dsn: str, *, application_name: str, pool_size: int = 4) -> AsyncEngine:
    """An engine that connects at its first use; `jsonb` columns carry Python objects."""
    engine = create_async_engine(
        sqlalchemy_url(dsn),
        pool_size=pool_size,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args={
            "timeout": CONNECT_TIMEOUT_SECONDS,
            "command_timeout": COMMAND_TIMEOUT_SECONDS,
            "server_settings": {**SESSION, "application_name": application_name},
        },
    )
    # After the dialect's own listener, whose codec would hand JSON over as text.
    event.listen(engine.sync_engine, "connect", _on_connect)
    return engine


def _on_connect(connection: _Adapted, _record: object) -> None:
    connection.run_async(prepare)


async def driver(connection: AsyncConnection) -> AsyncpgConnection:
    """The asyncpg connection beneath, in the same transaction once that has run a statement."""
    raw = await connection.get_raw_connection()
    return cast("AsyncpgConnection", raw.driver_connection)
