"""A connection to a server: opened by one task that also ends it, and asked by any."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sereno.execution_plane.listeners.mcp import stdio, web
from sereno.execution_plane.listeners.mcp.answer import Answer
from sereno.execution_plane.listeners.mcp.away import SourceAwayError
from sereno.execution_plane.listeners.mcp.definitions import Definition
from sereno.execution_plane.listeners.mcp.sources import Connection
from sereno.mailbox.outbound import Addresses
from sereno.subscriptions.models.connector import HttpServer, StdioServer

START_SECONDS = 30.0
_CLOSE_SECONDS = 15.0
_MOST_PAGES = 50
_HIDDEN = "(hidden)"
_LEAST_HIDDEN = 4
_HINTS = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.ResourceUpdatedNotification,
)

Resolve = Callable[[str], bytes | None]
"""The secret behind a reference, or None."""
Hint = Callable[[], None]


class Session:
    """One open connection. After a fault it is of no more use: whoever asks next opens another."""

    def __init__(self, connection: Connection, resolve: Resolve, addresses: Addresses, hint: Hint) -> None:
        self.connection = connection
        self.broken = False
        self._resolve = resolve
        self._addresses = addresses
        self._hint = hint
        self._closing = asyncio.Event()
        self._client: Client | None = None
        self._children: list[stdio.Child] = []
        self._secrets: list[str] = []
        self._owner: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Raises `SourceAwayError` when there is nobody to connect to."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(ready))
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise SourceAwayError(f"it did not start within {START_SECONDS:.0f} s") from None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self) -> None:
        """End the connection, and a server that we started."""
        self.broken = True
        self._closing.set()
        if self._owner is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await asyncio.shield(self._owner)
            self._owner.cancel()
            await asyncio.gather(self._owner, return_exceptions=True)

    async def tools(self) -> Mapping[str, Definition]:
        """Every tool as its server defines it now, by name."""
        found: dict[str, Definition] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._asked(self._session().list_tools(params=_page(cursor)))
            for tool in page.tools:
                written = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                found[tool.name] = Definition(tool.name, written)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """What the tool answers. Raises `SourceAwayError`, also when the tool itself says that it failed."""
        result = await self._asked(self._session().call_tool(tool, dict(arguments)))
        text = "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))
        if result.is_error:
            raise SourceAwayError(f"the tool {tool} failed: {self._shown(text)}")
        return Answer(text, result.structured_content)

    async def _asked(self, question: Any) -> Any:
        seconds = self.connection.spec.limits.time.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                return await question
        except TimeoutError:
            self.broken = True
            for child in self._children:
                child.is_lost = True
            raise SourceAwayError(f"it did not answer within {seconds:g} s") from None
        except Exception as fault:  # noqa: BLE001 - whatever a server makes the SDK raise, it did not answer
            self.broken = True
            raise SourceAwayError(self._why(fault)) from None

    def _session(self) -> Any:
        if self._client is None or self.broken:
            raise SourceAwayError("the connection is closed")
        return self._client.session

    async def _own(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._connected() as client:
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                listening = asyncio.create_task(self._listen(client))
                await self._closing.wait()
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
        except Exception as fault:  # noqa: BLE001 - the same for a server that cannot be spoken to at all
            self.broken = True
            if not ready.done():
                ready.set_exception(SourceAwayError(self._why(fault)))

    def _connected(self) -> Client:
        limits, transport = self.connection.spec.limits, self.connection.spec.transport
        if transport.stdio is not None:
            streams = self._started(transport.stdio, limits.bytes)
        elif transport.http is not None:
            streams = self._opened(transport.http, limits.bytes, limits.time.total_seconds())
        else:
            raise AssertionError("a transport is one of two")
        return Client(
            streams,
            cache=None,
            read_timeout_seconds=limits.time.total_seconds(),
            message_handler=self._heard,
            client_info=types.Implementation(name="sereno", version="1"),
        )

    def _started(self, server: StdioServer, limit: int) -> Any:
        environment = {**server.environment, **self._credentials(server.credentials)}
        return stdio.started(server.command, environment, limit, self._children)

    def _opened(self, server: HttpServer, limit: int, seconds: float) -> Any:
        headers = self._credentials(server.credentials)
        return web.opened(str(server.url), headers, limit, seconds, self._addresses)

    def _credentials(self, references: Mapping[str, str]) -> dict[str, str]:
        found = {}
        for name, reference in references.items():
            secret = self._resolve(reference)
            if secret is None:
                raise SourceAwayError(f"the credential {name} refers to what is missing or blank")
            found[name] = secret.decode("utf-8", "surrogateescape")
        self._secrets = [text for text in found.values() if len(text) >= _LEAST_HIDDEN]
        return found

    async def _heard(self, message: Any) -> None:
        if isinstance(message, _HINTS):
            self._hint()

    async def _listen(self, client: Client) -> None:
        """What a server of the current specification says of changes, as hints; without it nothing is missed."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        with contextlib.suppress(Exception):
            async with client.listen(tools_list_changed=True, resources_list_changed=True) as changes:
                async for _ in changes:
                    self._hint()

    def _why(self, fault: BaseException) -> str:
        while isinstance(fault, BaseExceptionGroup):
            fault = fault.exceptions[0]
        if isinstance(fault, SourceAwayError):
            return str(fault)
        child = self._children[-1] if self._children else None
        if child is not None and child.fault is not None:
            return child.fault
        said = self._shown(str(fault) or type(fault).__name__)
        words = child.last_words.decode("utf-8", "replace").strip().splitlines() if child is not None else []
        return f"it does not answer: {said}" + (f" (it said: {self._shown(words[-1])})" if words else "")

    def _shown(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return " ".join(text.split())[:300]


def _page(cursor: str | None) -> types.PaginatedRequestParams | None:
    return None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
