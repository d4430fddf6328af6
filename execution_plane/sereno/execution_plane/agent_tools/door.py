"""`/mcp` of the gateway: whose token it is, then the SDK's transport, which is loaded when the first agent comes."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from sereno.execution_plane.agent_tools.planes import Asking, Planes, RefusedError
from sereno.execution_plane.catalog import Catalog
from sereno.mailbox.engine.problems import Problem, respond
from sereno.mailbox.principal import Principal

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
_AGENT = "agent:"
_UNKNOWN = Problem(401, "unauthenticated", "expected a valid token as 'Authorization: Bearer …'")
_NO_AGENT = Problem(
    403, "forbidden", "these tools are an agent's: show the token of one ('sereno token issue agent:NAME')"
)


class AgentDoor:
    """ASGI application over one server for all agents; each request shows its token, and nothing is remembered of it."""

    def __init__(self, catalog: Catalog, open_planes: Callable[[], Planes]) -> None:
        self._catalog = catalog
        self._open_planes = open_planes
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._manager: StreamableHTTPSessionManager | None = None
        self._planes: Planes | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop`, from when the first agent comes."""
        waits = [asyncio.ensure_future(self._wanted.wait()), asyncio.ensure_future(stop.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if stop.is_set():
            return
        self._manager = await asyncio.to_thread(self._load)
        self._planes = await asyncio.to_thread(self._open_planes)
        async with self._planes.control, self._planes.execution, self._manager.run():
            self._ready.set()
            await stop.wait()

    def _load(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415
        from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

        from sereno.execution_plane.agent_tools.server import server  # noqa: PLC0415

        made = server(self._of_call, self._catalog, version("sereno"))
        return StreamableHTTPSessionManager(
            made._lowlevel_server,  # noqa: SLF001 - the SDK has no other way to serve one path of an application
            json_response=True,
            stateless=True,
            # What a foreign page sends carries no token, whatever name it has for this host.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of an agent; another than an agent is refused before anything is loaded."""
        found = self._principal(Request(scope).headers.get("authorization", ""))
        if isinstance(found, Problem):
            await respond(found)(scope, receive, send)
            return
        self._wanted.set()
        await self._ready.wait()
        if self._manager is not None:
            await self._manager.handle_request(scope, receive, send)

    def _principal(self, header: str) -> Principal | Problem:
        known = self._catalog.principal(
            hashlib.sha256(_bearer(header).encode()).hexdigest(), datetime.now(UTC)
        )
        if known is None:
            return _UNKNOWN
        return known if known.name.startswith(_AGENT) else _NO_AGENT

    def _of_call(self, context: "Context[Any]") -> Asking:
        headers: Mapping[str, str] = context.headers or {}
        header = headers.get("authorization", "")
        found = self._principal(header)
        if isinstance(found, Problem) or self._planes is None:
            raise RefusedError(_UNKNOWN.detail)
        return Asking(self._planes, _bearer(header), found.name.removeprefix(_AGENT), found.home)


def _bearer(header: str) -> str:
    scheme, _, credential = header.partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""
