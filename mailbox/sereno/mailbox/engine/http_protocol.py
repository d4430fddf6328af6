"""HTTP/1.1 on one connection, with limits on what a client may send and on how long it may take."""

import asyncio
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Any

import orjson
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of request line and headers, and seconds in which the headers, then the body, have to be there.

    A client that is refused has some more time to read why: closing at once would throw away what it has not read.
    """

    header_bytes: int = 64 * 1024
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    linger_seconds: float = 2.0


class _Awaited(Enum):
    REQUEST = "request"
    HEADERS = "headers"
    BODY = "body"
    NOTHING = "nothing"


_DETAILS = {
    HTTPStatus.BAD_REQUEST: ("bad_input", "this is no HTTP request"),
    HTTPStatus.REQUEST_TIMEOUT: ("too_slow", "the request took too long to arrive"),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: (
        "too_large",
        "the request line and the headers are too long",
    ),
}


class LimitedProtocol(HttpToolsProtocol):
    """Answers 431 to headers that are too long and 408 to a request that does not come to its end."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: Limits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._awaited = _Awaited.REQUEST
        self._requests = 0
        self._header_bytes = 0
        self._refusal = HTTPStatus.BAD_REQUEST
        self._refused = False
        self._timer: asyncio.TimerHandle | None = None
        self._timed: tuple[int, _Awaited] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the client was refused already."""
        if self._refused:
            return
        super().data_received(data)
        if self._awaited is _Awaited.HEADERS:
            # A header without an end is none yet, so the parser has not told of it.
            self._header_bytes += len(data)
            if self._header_bytes > self._limits.header_bytes:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        self._watch()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._requests += 1
        self._header_bytes = 0
        self._awaited = _Awaited.HEADERS
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start the application, unless the headers came whole and are too long."""
        length = len(self.url) + sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)
        if length > self._limits.header_bytes:
            self._refusal = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise ValueError(_DETAILS[self._refusal][1])
        self._awaited = _Awaited.BODY
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        self._awaited = _Awaited.NOTHING
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What the base class calls when the parser fails."""
        del msg
        self._refuse(self._refusal)

    def _watch(self) -> None:
        """Set the timer of what is awaited now; a request that came whole never has one."""
        if self._refused or self._timed == (self._requests, self._awaited):
            return
        self._stop_timer()
        if self._awaited is _Awaited.NOTHING:
            return
        self._timed = (self._requests, self._awaited)
        seconds = self._limits.body_seconds if self._awaited is _Awaited.BODY else self._limits.header_seconds
        self._timer = self.loop.call_later(seconds, self._expire)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timed = None

    def _expire(self) -> None:
        if self._awaited is _Awaited.REQUEST:
            self.transport.close()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _refuse(self, status: HTTPStatus) -> None:
        self._refused = True
        self._stop_timer()
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering:
            # The application is told that the client is gone.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if answering and self.cycle.response_started:
            self.transport.close()
            return
        self.transport.write(_answer(status))
        self._timer = self.loop.call_later(self._limits.linger_seconds, self.transport.close)


def _answer(status: HTTPStatus) -> bytes:
    code, detail = _DETAILS[status]
    problem = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code}
    body = orjson.dumps({**problem, "detail": detail})
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
