"""A server on the web: connected to an address that was checked, each answer bounded."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from ipaddress import ip_address
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from sereno.execution_plane.listeners.mcp.away import SourceAwayError
from sereno.mailbox.outbound import Addresses, AddressRefusedError
from sereno.mailbox.outbound.addresses import unwrapped


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of an answer, up to a limit."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > self._limit:
                raise httpx2.ReadError(f"it answered with more than {self._limit:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Resolves a name once, checks every address, and connects to the one that was checked.

    What travels in the clear goes to networks that a person opened, and nowhere else.
    """

    def __init__(self, addresses: Addresses, limit: int) -> None:
        self._addresses = addresses
        self._limit = limit
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises `SourceAwayError` for an address that may not be reached."""
        address = await self._address(request.url)
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": request.url.host},
        )
        answer = await self._inner.handle_async_request(pinned)
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Bounded(answer.stream, self._limit),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Let go of what is open."""
        await self._inner.aclose()

    async def _address(self, url: httpx2.URL) -> str:
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise SourceAwayError(f"the name {url.host} does not resolve") from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            self._check(address, url.scheme)
        return min(addresses, key=lambda address: ":" in address)

    def _check(self, address: str, scheme: str) -> None:
        try:
            self._addresses.expect_allowed(address)
        except AddressRefusedError as fault:
            raise SourceAwayError(f"{fault} (SERENO_CONNECTOR_NETWORKS)") from None
        bare = unwrapped(ip_address(address.partition("%")[0]))
        if scheme == "http" and not any(bare in network for network in self._addresses.opened):
            raise SourceAwayError(
                "expected https: plain http is for networks that SERENO_CONNECTOR_NETWORKS opens"
            )


@contextlib.asynccontextmanager
async def opened(
    url: str, headers: Mapping[str, str], limit: int, seconds: float, addresses: Addresses
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server on the web."""
    async with (
        httpx2.AsyncClient(
            transport=CheckedTransport(addresses, limit),
            headers={"Accept-Encoding": "identity", **headers},
            timeout=httpx2.Timeout(seconds, read=None),
            follow_redirects=False,
            trust_env=False,
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams
