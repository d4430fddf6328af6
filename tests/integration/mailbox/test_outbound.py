"""Outbound calls against real servers: pinned addresses, no proxies, no redirects, bounds on size and time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from starlette.responses import RedirectResponse, Response, StreamingResponse

from sereno.mailbox.outbound import Addresses, AddressRefusedError, Limits, Outbound, UnansweredError
from tests.http_agents import Canned
from tests.serving import serving

LOOPBACK = Addresses.opening(["127.0.0.0/8"])


@contextlib.asynccontextmanager
async def outbound(
    addresses: Addresses = LOOPBACK, *, seconds: float = 10, size: int = 1000
) -> AsyncIterator[Outbound]:
    made = Outbound(addresses, Limits(size, timedelta(seconds=seconds)))
    yield made
    await made.close()


@pytest.fixture
async def agent() -> AsyncIterator[tuple[Canned, str]]:
    canned = Canned([Response("taken", 200)])
    async with serving(canned.app) as url:
        yield canned, url


async def test_the_loopback_is_closed_until_it_is_opened(agent: tuple[Canned, str]) -> None:
    canned, url = agent
    async with outbound(Addresses()) as closed:
        for target in (url, url.replace("127.0.0.1", "localhost")):
            with pytest.raises(AddressRefusedError, match=r"127\.0\.0\.0/8|::/96"):
                await closed.fetch("POST", target)
    assert canned.requests == []
    async with outbound() as opened:
        answer = await opened.fetch("POST", url + "/hook?a=b", body=b"{}", headers={"X-One": "1"})
    assert (answer.status, answer.body) == (200, b"taken")
    [(headers, body)] = canned.requests
    assert (headers["x-one"], body) == ("1", b"{}")


async def test_a_name_is_resolved_once_and_the_checked_address_is_the_one_connected_to(
    agent: tuple[Canned, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server that answers another address a moment later changes nothing."""
    canned, url = agent
    port = urlsplit(url).port
    loop = asyncio.get_running_loop()
    asked: list[str] = []

    async def rebinding(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "127.9.9.9"
        return [(0, 0, 0, "", (address, port))]

    monkeypatch.setattr(loop, "getaddrinfo", rebinding)
    async with outbound() as opened:
        await opened.fetch("GET", f"http://agent.example:{port}/")
    assert asked == ["agent.example"]
    assert canned.requests[0][0]["host"] == f"agent.example:{port}"


async def test_one_closed_address_among_several_refuses_the_name(
    agent: tuple[Canned, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def several(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (address, 80)) for address in ("93.184.215.14", "169.254.169.254")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", several)
    async with outbound() as opened:
        with pytest.raises(AddressRefusedError, match=r"169\.254\.169\.254"):
            await opened.fetch("GET", "http://agent.example/")


async def test_no_proxy_of_the_environment_is_used(
    agent: tuple[Canned, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with outbound() as opened:
        assert (await opened.fetch("GET", agent[1])).status == 200


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    canned = Canned([RedirectResponse("http://169.254.169.254/latest", 307)])
    async with serving(canned.app) as url, outbound() as opened:
        assert (await opened.fetch("POST", url)).status == 307
    assert len(canned.requests) == 1


async def test_a_large_answer_is_not_read_to_its_end() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b"x" * 1000
            await asyncio.sleep(0)

    canned = Canned([StreamingResponse(endless())])
    async with serving(canned.app) as url, outbound(size=5000) as opened:
        assert (await opened.fetch("GET", url)).body is None
    assert sent < 50_000_000


async def test_compression_is_not_asked_for_and_not_unpacked(agent: tuple[Canned, str]) -> None:
    canned, url = agent
    canned.answers = [Response(b"\x1f\x8b not really", headers={"content-encoding": "gzip"})]
    async with outbound() as opened:
        assert (await opened.fetch("GET", url)).body == b"\x1f\x8b not really"
    assert canned.requests[0][0]["accept-encoding"] == "identity"


async def test_an_answer_that_never_comes_ends_with_the_time() -> None:
    async with outbound(seconds=0.3) as opened:
        listening = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        with pytest.raises(UnansweredError, match="no answer in time") as late:
            await opened.fetch("POST", f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/")
        listening.close()
    assert late.value.sent


async def test_nobody_there_says_that_nothing_was_sent() -> None:
    async with outbound() as opened:
        with pytest.raises(UnansweredError, match="no connection") as refused:
            await opened.fetch("POST", "http://127.0.0.1:9/")
        assert not refused.value.sent
        with pytest.raises(UnansweredError, match=r"agent\.invalid does not resolve"):
            await opened.fetch("POST", "http://agent.invalid/")
