"""Every error of an API is a problem document with a stable code."""

from collections.abc import Mapping

import asyncpg
import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from sereno.mailbox.engine import problem_details, problems


class Order(BaseModel):
    amount: int


def _app() -> FastAPI:
    app = FastAPI()
    problems.install(app)

    async def ready() -> Mapping[str, str | None]:
        return {"postgres": None, "nats": "does not answer"}

    problems.install_probes(app, ready)

    @app.get("/refused")
    async def refused() -> None:
        raise problems.Problem(409, "version_conflict", "the current version is 3", current=3)

    @app.get("/fault")
    async def fault() -> None:
        raise RuntimeError("password=hunter2")

    @app.get("/away")
    async def away() -> None:
        raise ConnectionResetError

    @app.get("/dead-connection")
    async def dead_connection() -> None:
        raise asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")

    @app.get("/nul")
    async def nul() -> None:
        raise asyncpg.CharacterNotInRepertoireError('invalid byte sequence for encoding "UTF8": 0x00')

    @app.post("/orders")
    async def order(order: Order) -> int:
        return order.amount

    return app


@pytest.fixture
async def api() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(_app(), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://api")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/refused", 409, "version_conflict"),
        ("/fault", 500, "fault"),
        ("/away", 503, "unavailable"),
        ("/dead-connection", 503, "unavailable"),
        ("/nul", 422, "bad_input"),
        ("/no", 404, "not_found"),
    ],
)
async def test_an_error_is_a_problem(api: httpx.AsyncClient, path: str, status: int, code: str) -> None:
    answer = await api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == problem_details.MEDIA_TYPE
    assert "hunter2" not in answer.text


async def test_members_travel_with_the_problem(api: httpx.AsyncClient) -> None:
    assert (await api.get("/refused")).json()["current"] == 3


async def test_bad_input_names_the_field(api: httpx.AsyncClient) -> None:
    problem = (await api.post("/orders", json={"amount": "much"})).json()
    assert problem["code"] == "bad_input"
    assert problem["faults"][0]["path"] == "body.amount"


async def test_readiness_names_what_is_away(api: httpx.AsyncClient) -> None:
    answer = await api.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"postgres": "ok", "nats": "does not answer"}


async def test_metrics_are_prometheus_text(api: httpx.AsyncClient) -> None:
    assert "text/plain" in (await api.get("/metrics")).headers["content-type"]
