"""One outbound request: resolved once, every address checked, connected to the checked one, bounded in size and time."""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import SplitResult, urlsplit

import httpx

from sereno.mailbox.outbound.addresses import Addresses, AddressRefusedError

_PORTS = {"http": 80, "https": 443}


class OutboundError(Exception):
    """The request is one that must not be made, now or later; a sentence that says why."""


class UnansweredError(Exception):
    """The other side did not answer, or not as HTTP does; trying again later is right. `sent` when it may have got it."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of an answer is read, and how long the whole may take."""

    max_bytes: int = 65_536
    time: timedelta = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came; `body` is None when it was larger than the limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None


class Outbound:
    """Makes requests within `addresses` and `limits`; follows no redirect, uses no proxy, unpacks nothing.

    A redirect is an answer like another: who sends a body signed for one address must not send it on to a
    second one that the first chose.
    """

    def __init__(self, addresses: Addresses, limits: Limits) -> None:
        self._addresses = addresses
        self._limits = limits
        # A kept connection was checked for one name; another name at the same address must not travel on it.
        self._http = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            timeout=limits.time.total_seconds(),
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def fetch(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        """Raises `OutboundError` or `AddressRefusedError` before anything is sent, `UnansweredError` after."""
        parts = checked(url)
        began = False
        try:
            async with asyncio.timeout(self._limits.time.total_seconds()):
                address = await self._resolve(parts)
                request = self._request(method, parts, address, headers or {}, body)
                began = True
                return await self._send(request)
        except TimeoutError as fault:
            raise UnansweredError("no answer in time", sent=began) from fault
        except (httpx.ConnectError, httpx.ConnectTimeout) as fault:
            raise UnansweredError(f"no connection: {type(fault).__name__}", sent=False) from fault
        except httpx.HTTPError as fault:
            raise UnansweredError(f"no answer: {type(fault).__name__}", sent=True) from fault

    async def _resolve(self, parts: SplitResult) -> str:
        """The one address to connect to. One bad address among several refuses the name as a whole."""
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as fault:
            raise UnansweredError(f"the name {host} does not resolve", sent=False) from fault
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            self._addresses.expect_allowed(address)
        # IPv4 first: a name with both is often reachable by one alone, and that is the one.
        return min(addresses, key=lambda address: ":" in address)

    def _request(
        self, method: str, parts: SplitResult, address: str, headers: Mapping[str, str], body: bytes
    ) -> httpx.Request:
        host = parts.netloc.rpartition("@")[2]
        literal = f"[{address}]" if ":" in address else address
        pinned = parts._replace(netloc=f"{literal}:{parts.port or _PORTS[parts.scheme]}", fragment="")
        return self._http.build_request(
            method,
            pinned.geturl(),
            # What is not asked for compressed cannot unpack to more than was read.
            headers={"Accept-Encoding": "identity", **headers, "Host": host},
            content=body,
            extensions={"sni_hostname": parts.hostname or ""},
        )

    async def _send(self, request: httpx.Request) -> Answer:
        response = await self._http.send(request, stream=True)
        try:
            kept = bytearray()
            async for chunk in response.aiter_raw():
                kept += chunk
                if len(kept) > self._limits.max_bytes:
                    return Answer(response.status_code, response.headers, None)
            return Answer(response.status_code, response.headers, bytes(kept))
        finally:
            await response.aclose()


def checked(url: str) -> SplitResult:
    """The parts of a URL that may be fetched. Raises `OutboundError` for another scheme, no host, or a password in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as fault:
        raise OutboundError(f"expected a URL: {fault}") from fault
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise OutboundError(f"expected a URL such as https://agent.example/hooks, got {url}")
    if "@" in parts.netloc:
        raise OutboundError("expected a URL without a user or password in it")
    return parts


__all__ = [
    "AddressRefusedError",
    "Answer",
    "Limits",
    "Outbound",
    "OutboundError",
    "UnansweredError",
    "checked",
]
