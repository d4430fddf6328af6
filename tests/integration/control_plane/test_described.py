"""Whatever the control plane's description allows is answered as it says, and never by a fault."""

import asyncio
import hashlib

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from tests.control_documents import ALL
from tests.described import ask_as_described
from tests.serving import serving

ADMIN = "srn_" + "c" * 43


async def ready() -> dict[str, str | None]:
    return {}


@pytest.mark.timeout(600)
async def test_whatever_the_description_allows_is_answered_as_described(engine: AsyncEngine) -> None:
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    app = create_app(engine, execution_url="http://hooks.example", ready=ready)
    headers = {"authorization": f"Bearer {ADMIN}"}
    async with serving(app) as url, httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        assert (await client.post("/v1/apply", json={"documents": ALL})).is_success
        document = (await client.get("/openapi.json")).json()
        statuses = await asyncio.to_thread(ask_as_described, url, document, headers)
        assert {200, 404, 422} <= statuses.keys()
        assert (await client.get("/v1/agents/triage")).json()["state"] in {"active", "paused"}
