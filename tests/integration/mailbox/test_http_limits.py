"""What one client may send, and how long it may take: a slow or endless one gets a status and no more of the server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from sereno.mailbox.engine import http_server
from sereno.mailbox.engine.http_protocol import Limits

SHORT = Limits(header_bytes=1_000, header_seconds=0.2, body_seconds=0.2, linger_seconds=0.2)
PATIENT = Limits(header_bytes=1_000)
ENOUGH_SECONDS = 30.0


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(body)(scope, receive, send)


@contextlib.asynccontextmanager
async def connected(limits: Limits) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    bound, stop = http_server.bind("127.0.0.1", 0), asyncio.Event()
    serving = asyncio.create_task(http_server.serve(echo, bound, stop, limits=limits))
    reader, writer = await asyncio.open_connection(*bound.getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        stop.set()
        await serving


async def answer(limits: Limits, sent: bytes) -> bytes:
    """All that the server says on one connection until it closes it."""
    async with connected(limits) as (reader, writer), asyncio.timeout(ENOUGH_SECONDS):
        writer.write(sent)
        return await reader.read()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 2_000,
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 2_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 2_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: a\r\n" % number for number in range(200)) + b"\r\n",
    ],
)
async def test_headers_that_are_too_long_are_refused(sent: bytes) -> None:
    got = await answer(SHORT, sent)
    assert got.startswith(b"HTTP/1.1 431 ")
    assert got.endswith(b'"detail":"the request line and the headers are too long"}')


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: a",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
        # The first is answered, the second does not come to its end.
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nX-Slow: a",
    ],
)
async def test_a_request_that_does_not_come_to_its_end_is_given_up(sent: bytes) -> None:
    got = await answer(SHORT, sent)
    assert b"HTTP/1.1 408 Request Timeout" in got
    assert got.count(b"HTTP/1.1 200 ") == sent.count(b"\r\n\r\nGET")


async def test_drops_do_not_prolong_the_time() -> None:
    async with connected(SHORT) as (reader, writer), asyncio.timeout(ENOUGH_SECONDS):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        reading = asyncio.ensure_future(reader.read())
        while not reading.done():
            with contextlib.suppress(ConnectionError):
                writer.write(b"X-Drop: a\r\n")
            await asyncio.wait({reading}, timeout=0.05)
        assert reading.result().startswith(b"HTTP/1.1 408 ")


async def test_a_connection_without_a_request_is_closed() -> None:
    assert await answer(SHORT, b"") == b""


async def test_what_is_no_http_is_refused() -> None:
    assert (await answer(PATIENT, b"\x00\x01\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


async def test_requests_on_a_kept_connection_are_each_within_the_limits() -> None:
    def request(last: bool) -> bytes:
        close = b"Connection: close\r\n" if last else b""
        return b"POST / HTTP/1.1\r\nHost: x\r\n" + close + b"Content-Length: 600\r\n\r\n" + b"a" * 600

    sent: Callable[[int], bytes] = lambda count: b"".join(request(n == count - 1) for n in range(count))  # noqa: E731
    assert (await answer(PATIENT, sent(5))).count(b"HTTP/1.1 200 OK") == 5
