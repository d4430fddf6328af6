"""The open connections of a process: one a connector, replaced without a gap when it is to be connected anew."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from sereno.execution_plane.listeners.mcp.answer import Answer
from sereno.execution_plane.listeners.mcp.definitions import Definition
from sereno.execution_plane.listeners.mcp.sources import Connection
from sereno.mailbox.outbound import Addresses

Key = tuple[str, str]


class Asked(Protocol):
    """A connection that can be asked. Both verbs raise `SourceAwayError`."""

    connection: Connection
    broken: bool

    async def tools(self) -> Mapping[str, Definition]:
        """Every tool as its server defines it now, by name."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """What a tool answers."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


Open = Callable[[Connection, Callable[[], None]], Awaitable[Asked]]
"""Opens a connection; the second argument is called when its server says that something changed."""
Check = Callable[[Asked], Awaitable[None]]
"""Raises when the server is not what it should be."""


class Connections:
    """Opens connections as they are needed; a new one is checked before it takes the place of the old."""

    def __init__(self, opening: Open, check: Check, hint: Callable[[Key], None]) -> None:
        self._open = opening
        self._check = check
        self._hint = hint
        self._current: dict[Key, Asked] = {}
        self._locks: dict[Key, asyncio.Lock] = {}
        self._users: dict[int, int] = {}

    @contextlib.asynccontextmanager
    async def use(self, connection: Connection) -> AsyncIterator[Asked]:
        """The connection to a connector's server, which stays open for whoever uses it."""
        session = await self.current(connection)
        self._users[id(session)] = self._users.get(id(session), 0) + 1
        try:
            yield session
        finally:
            self._users[id(session)] -= 1
            if not self._users[id(session)]:
                del self._users[id(session)]
                if session.broken or self._current.get(connection.key) is not session:
                    await self._end(connection.key, session)

    async def current(self, connection: Connection) -> Asked:
        """The open connection, opened anew when it broke, or its connector says so."""
        async with self._locks.setdefault(connection.key, asyncio.Lock()):
            before = self._current.get(connection.key)
            if before is not None and not before.broken and _is_current(before.connection, connection):
                return before
            session = await self._opened(connection)
            self._current[connection.key] = session
        if before is not None and id(before) not in self._users:
            await before.close()
        return session

    async def keep(self, wanted: set[Key]) -> None:
        """End what nobody wants any more and nobody uses."""
        for key, session in list(self._current.items()):
            if key not in wanted and id(session) not in self._users:
                await self._end(key, session)

    async def close(self) -> None:
        """End all."""
        sessions = list(self._current.values())
        self._current.clear()
        await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)

    async def _opened(self, connection: Connection) -> Asked:
        session = await self._open(connection, lambda: self._hint(connection.key))
        try:
            await self._check(session)
        except BaseException:
            await session.close()
            raise
        return session

    async def _end(self, key: Key, session: Asked) -> None:
        if self._current.get(key) is session:
            del self._current[key]
        await session.close()


def _is_current(opened: Connection, wanted: Connection) -> bool:
    """Whether it was opened by this text or a later wish; a turn that was claimed before a wish is content with after."""
    return opened.reload >= wanted.reload and (
        opened.sha256 == wanted.sha256 or opened.reload > wanted.reload
    )


def opening(resolve: Callable[[str], bytes | None], addresses: Addresses) -> Open:
    """Opens real connections. The SDK is loaded with the first: it costs a process seconds and megabytes."""

    async def opened(connection: Connection, hint: Callable[[], None]) -> Asked:
        module = await asyncio.to_thread(import_module, "sereno.execution_plane.listeners.mcp.session")
        session: Any = module.Session(connection, resolve, addresses, hint)
        await session.open()
        found: Asked = session
        return found

    return opened
