"""Group F of the public record on the live catalog: what people ended stays ended, and attempts leave a trace."""

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from tests.control_documents import AGENT, ENDPOINT, several, subscription

ADMIN = "srn_" + "b" * 43
CAPABLE = AGENT.replace("exec}", "exec, capabilities: [subscribe]}")
WISH = subscription("wish").replace("owner: user:marta", "owner: agent:triage")


async def ready() -> dict[str, str | None]:
    return {}


@pytest.fixture
async def client(engine: AsyncEngine) -> AsyncIterator[httpx.AsyncClient]:
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    app = create_app(engine, execution_url="http://hooks.example", ready=ready)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://control", headers=headers) as client:
        await post(client, "apply", {"documents": several(CAPABLE, ENDPOINT)})
        await post(client, "grants", {"to": "agent:triage", "source": "webhook/zendesk"})
        yield client


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any], **options: Any) -> Any:
    answer = await client.post(f"/v1/{path}", json=body, **options)
    assert answer.is_success, answer.text
    return answer.json()


async def agent(client: httpx.AsyncClient) -> dict[str, str]:
    token = (await post(client, "tokens", {"principal": "agent:triage"}))["token"]
    return {"Authorization": f"Bearer {token}"}


async def test_f3_a_stale_agent_cannot_recreate_what_a_person_deleted_and_the_attempt_is_in_the_audit(
    client: httpx.AsyncClient,
) -> None:
    as_agent = await agent(client)
    await post(client, "apply", {"documents": WISH}, headers=as_agent)
    [asked] = (await client.get("/v1/approvals", params={"state": "pending"})).json()["items"]
    await post(client, f"approvals/{asked['id']}/approve", {"digest": asked["digest"]})
    await post(client, "subscriptions/wish/delete", {"reason": "no longer wanted"})
    for documents in (WISH, WISH.replace("Draft a reply.", "Draft two.")):
        again = await client.post("/v1/apply", json={"documents": documents}, headers=as_agent)
        assert (again.status_code, again.json()["code"]) == (409, "deleted")
    assert (await client.get("/v1/subscriptions/wish")).json()["state"] == "deleted"
    records = (await client.get("/v1/audit/records")).json()["items"]
    tried = [one for one in records if one["type"] == "catalog.refused"]
    assert [(one["actor"], one["said"]) for one in tried] == [("agent:triage", {"codes": ["deleted"]})] * 2
    assert (await client.get("/v1/audit/verify")).json()["whole"]


async def test_f1_f2_f5_pausing_suspending_and_taking_back_is_seen_in_what_travels(
    client: httpx.AsyncClient,
) -> None:
    as_agent = await agent(client)
    await post(client, "apply", {"documents": subscription("watch")})
    await post(client, "subscriptions/watch/pause", {"reason": "tests"})
    edited = await post(client, "apply", {"documents": subscription("watch", instruction="Draft one more.")})
    assert edited["objects"][0]["state"] == "paused", "an edit wakes nothing that a person paused"
    await post(client, "agents/triage/suspend", {"reason": "tests"})
    can = (await client.get("/v1/can", params={"who": "agent:triage", "agent": "agent:triage"})).json()
    assert not can["allowed"]
    refused = await client.post("/v1/apply", json={"documents": WISH}, headers=as_agent)
    assert refused.status_code == 403, "a suspended agent asks for nothing"
