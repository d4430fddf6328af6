"""The same tools over stdin and stdout: what a client says is passed on to the execution plane, and nothing is added."""

import asyncio
from importlib.metadata import version
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from sereno.execution_plane.agent_tools.door import PATH
from sereno.execution_plane.agent_tools.server import INSTRUCTIONS, NAME

SECONDS = 90.0
"""Longer than a claim may wait."""


def serve(url: str, token: str) -> None:
    """Until stdin ends."""
    asyncio.run(_serve(url, token))


async def _serve(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    # The environment's proxies are for the internet; the token must not reach one.
    async with (
        httpx2.AsyncClient(headers=headers, timeout=SECONDS, trust_env=False) as http,
        Client(streamable_http_client(url.rstrip("/") + PATH, http_client=http)) as plane,
        stdio_server() as (read, write),
    ):
        passing = _passing(plane)
        await passing.run(read, write, passing.create_initialization_options())


def _passing(plane: Client) -> Server[Any]:
    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return await plane.list_tools()

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await plane.call_tool(params.name, params.arguments or {})

    return Server(
        NAME,
        version=version("sereno"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
