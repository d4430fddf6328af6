"""The probes of a process without an API."""

from collections.abc import Mapping

import httpx
import pytest

from sereno.mailbox.engine import probes


def client(checks: Mapping[str, str | None]) -> httpx.AsyncClient:
    async def ready() -> Mapping[str, str | None]:
        return checks

    return httpx.AsyncClient(transport=httpx.ASGITransport(probes.app(ready)), base_url="http://process")


async def test_a_process_that_can_work_says_so() -> None:
    async with client({"postgres": None}) as http:
        assert (await http.get("/healthz")).json() == {"status": "ok"}
        answer = await http.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "checks": {"postgres": "ok"}}


async def test_a_process_without_an_engine_runs_and_is_not_ready() -> None:
    async with client({"postgres": None, "nats": "NATS is not connected"}) as http:
        assert (await http.get("/healthz")).status_code == 200
        answer = await http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"postgres": "ok", "nats": "NATS is not connected"}


async def test_metrics_are_in_the_format_of_prometheus() -> None:
    async with client({}) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert "# TYPE python_info gauge" in answer.text


@pytest.mark.parametrize("path", ["/", "/metrics/more"])
async def test_nothing_else_is_there(path: str) -> None:
    async with client({}) as http:
        assert (await http.get(path)).status_code == 404
