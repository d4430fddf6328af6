"""Requests to calendar servers: outbound fetches, each redirect checked like the first address (at most three)."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from sereno.execution_plane.listeners.calendar.sources.look import SourceAwayError
from sereno.mailbox.outbound import (
    Addresses,
    AddressRefusedError,
    Answer,
    Limits,
    Outbound,
    OutboundError,
    UnansweredError,
)
from sereno.mailbox.outbound.addresses import unwrapped
from sereno.subscriptions.models.source import CalendarSource, Credentials

MAX_REDIRECTS = 3
_MOVED = frozenset({301, 302, 303, 307, 308})
_AGENT = "sereno-calendar/1"

Resolve = Callable[[str], bytes | None]
"""The secret behind a reference, or None."""


@dataclass(frozen=True, slots=True)
class _OpenedOnly(Addresses):
    """What travels in the clear goes to networks that a person opened, and nowhere else."""

    def expect_allowed(self, text: str) -> None:
        address = unwrapped(ip_address(text.partition("%")[0]))
        if not any(address in network for network in self.opened):
            raise AddressRefusedError("expected https: plain http is for networks that were opened")


class CalendarHttp:
    """Asks calendar servers; a password goes to the host that it was declared for, never on with a redirect."""

    def __init__(self, addresses: Addresses, limits: Limits, resolve: Resolve) -> None:
        self._secure = Outbound(addresses, limits)
        self._plain = Outbound(_OpenedOnly(addresses.opened), limits)
        self._resolve = resolve

    async def close(self) -> None:
        """Let go of what is open."""
        await self._secure.close()
        await self._plain.close()

    async def ask(
        self,
        method: str,
        url: str,
        source: CalendarSource,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        """The answer behind at most three redirects. Raises `SourceAwayError`."""
        declared = _origin(address_of(source))
        for _ in range(MAX_REDIRECTS + 1):
            own = self._credentials(source.credentials) if _origin(url) == declared else {}
            answer = await self._fetch(method, url, {"User-Agent": _AGENT, **(headers or {}), **own}, body)
            target = answer.headers.get("location")
            if answer.status not in _MOVED or not target:
                return answer
            following = urljoin(url, target)
            if urlsplit(url).scheme == "https" and urlsplit(following).scheme != "https":
                raise SourceAwayError("the server sends on to an address without https")
            url = following
        raise SourceAwayError(f"the server sends on more than {MAX_REDIRECTS} times")

    async def _fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        outbound = self._plain if urlsplit(url).scheme == "http" else self._secure
        try:
            return await outbound.fetch(method, url, headers=headers, body=body)
        except AddressRefusedError as fault:
            raise SourceAwayError(str(fault)) from None
        except OutboundError:
            # Its sentence may quote the address, and a private one is a secret.
            raise SourceAwayError("the server sends on to what is no address of a calendar") from None
        except UnansweredError as fault:
            raise SourceAwayError(str(fault)) from None

    def _credentials(self, credentials: Credentials | None) -> dict[str, str]:
        if credentials is None:
            return {}
        password = self._resolve(credentials.password)
        if password is None:
            raise SourceAwayError("the password that credentials refer to is missing or blank")
        pair = credentials.username.encode() + b":" + password
        return {"Authorization": "Basic " + base64.b64encode(pair).decode()}


def address_of(source: CalendarSource) -> str:
    """Where a source of the web lies."""
    url = str(source.url or source.caldav)
    return "https" + url.removeprefix("webcal") if url.startswith("webcal:") else url


def body_of(answer: Answer, expected: int) -> bytes:
    """The body of an answer with the expected status. Raises `SourceAwayError`."""
    if answer.status in (401, 403):
        raise SourceAwayError(f"the server answered {answer.status}: it does not know these credentials")
    if answer.status != expected:
        raise SourceAwayError(f"the server answered {answer.status}")
    if answer.body is None:
        raise SourceAwayError("the answer is larger than is read of a calendar")
    return answer.body


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
