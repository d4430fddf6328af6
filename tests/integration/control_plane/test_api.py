"""The HTTP face over a real catalog: who may ask, what is answered, and how a refusal reads."""

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno import schemas
from sereno.control_plane.api import create_app
from sereno.control_plane.api.body_limit import LARGEST_BODY
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.reports.inbox import Position, receive
from sereno.control_plane.store.engine import open_engine
from sereno.subscriptions.report import Activity, ActivityReport
from tests.control_documents import AGENT, ALL, several, subscription

TOKEN = "srn_" + "a" * 43
PROBES = {"/healthz", "/readyz", "/metrics"}


async def ready() -> dict[str, str | None]:
    return {"postgres": None}


@pytest.fixture
async def app(engine: AsyncEngine) -> FastAPI:
    await bootstrap(engine, hashlib.sha256(TOKEN.encode()).hexdigest())
    return create_app(engine, execution_url="http://hooks.example/", ready=ready)


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        yield client


@pytest.fixture
async def client(stranger: httpx.AsyncClient) -> httpx.AsyncClient:
    stranger.headers["Authorization"] = f"Bearer {TOKEN}"
    return stranger


async def applied(client: httpx.AsyncClient, documents: str = ALL, **options: Any) -> Any:
    answer = await client.post("/v1/apply", json={"documents": documents, **options})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_everything_but_the_probes_needs_a_token(app: FastAPI, stranger: httpx.AsyncClient) -> None:
    operations = [
        (
            method.upper(),
            path.replace("{name}", "x")
            .replace("{verb}", "resume")
            .replace("{identifier}", "x")
            .replace("{message}", "x"),
        )
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    ]
    published = schemas.read("control.openapi")["paths"]
    assert len(operations) == sum(map(len, published.values())) > len(PROBES)
    for method, path in [*operations, ("GET", "/openapi.json")]:
        answer = await stranger.request(
            method, path, json={"reason": "x", "documents": "x"} if method == "POST" else None
        )
        assert (answer.status_code == 401) == (path not in PROBES), (method, path, answer.status_code)


async def test_strangers_all_read_the_same(stranger: httpx.AsyncClient) -> None:
    bodies = set()
    for header in ("", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer " + "a" * 64):
        answer = await stranger.get("/v1/agents", headers={"Authorization": header})
        assert answer.status_code == 401, header
        assert answer.headers["content-type"] == "application/problem+json"
        bodies.add(answer.content)
    assert len(bodies) == 1


async def test_the_hash_of_a_token_is_no_token(stranger: httpx.AsyncClient) -> None:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    answer = await stranger.get("/v1/agents", headers={"Authorization": f"Bearer {digest}"})
    assert answer.status_code == 401


async def test_apply_answers_ids_versions_states_and_urls(client: httpx.AsyncClient) -> None:
    answer = await applied(client)
    brief = [
        (known["kind"], known["name"], known["version"], known["state"], known["change"])
        for known in answer["objects"]
    ]
    assert brief == [
        ("Agent", "triage", 1, "active", "created"),
        ("Endpoint", "zendesk", 1, "active", "created"),
        ("Subscription", "refund-watch", 1, "active", "created"),
    ]
    urls = [known["url"] for known in answer["objects"]]
    assert [urls[0], urls[2]] == [None, None]
    assert urls[1].startswith("http://hooks.example/in/")
    assert len(urls[1].rpartition("/")[2]) == 43
    shown = (await client.get("/v1/endpoints/zendesk")).json()
    assert shown["url"] == urls[1]
    again = await applied(client)
    assert {known["change"] for known in again["objects"]} == {"unchanged"}
    assert again["manifest"] == answer["manifest"]


async def test_a_dry_run_mints_nothing(client: httpx.AsyncClient) -> None:
    answer = await applied(client, dry_run=True)
    assert [(known["id"], known["url"]) for known in answer["objects"]] == [(None, None)] * 3
    assert (await client.get("/v1/subscriptions")).json() == {"items": [], "next": None}


async def test_faults_name_path_line_and_what_was_expected(client: httpx.AsyncClient) -> None:
    documents = several(AGENT.replace("exec", "email"), subscription().replace("user:marta", "nobody"))
    answer = await client.post("/v1/apply", json={"documents": documents})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "bad_input")
    assert [(fault["path"], fault["line"]) for fault in problem["faults"]] == [
        ("documents[0].spec.adapter", 4),
        ("documents[1].spec.owner", 10),
    ]


async def test_bad_requests_name_the_field(client: httpx.AsyncClient) -> None:
    for body, path in (
        ({"documents": ALL, "prune": "a=b=c"}, "prune"),
        ({"documents": ALL, "revive": True}, "reason"),
        ({"documents": ALL, "revive": True, "reason": "  "}, "reason"),
        ({"documents": ALL, "colour": "red"}, "body.colour"),
        ({}, "body.documents"),
        ({"documents": ""}, ""),
    ):
        answer = await client.post("/v1/apply", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_input")
        assert [fault["path"] for fault in answer.json()["faults"]] == [path]


async def test_a_version_conflict_tells_the_current_version(client: httpx.AsyncClient) -> None:
    await applied(client)
    answer = await client.post("/v1/apply", json={"documents": subscription(metadata=", version: 3")})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["current_version"]) == (409, "version_conflict", 1)


async def test_diff_shows_fields_and_nothing_when_they_agree(client: httpx.AsyncClient) -> None:
    await applied(client)
    assert (await client.post("/v1/diff", json={"documents": ALL})).json() == {"changes": []}
    edited = several(ALL.replace("Draft a reply.", "Say hello."))
    [change] = (await client.post("/v1/diff", json={"documents": edited})).json()["changes"]
    assert (change["name"], change["change"]) == ("refund-watch", "updated")
    assert change["fields"] == [
        {"path": "spec.instruction", "before": "Draft a reply.", "after": "Say hello."}
    ]
    await client.post("/v1/subscriptions/refund-watch/delete", json={"reason": "tests"})
    answer = await client.post("/v1/diff", json={"documents": ALL})
    assert (answer.status_code, answer.json()["code"]) == (409, "deleted")


@pytest.mark.req(69, 75)
async def test_every_step_has_actor_reason_and_moment_in_the_history(client: httpx.AsyncClient) -> None:
    await applied(client)
    for verb, state in (("pause", "paused"), ("resume", "active"), ("delete", "deleted")):
        answer = await client.post(f"/v1/subscriptions/refund-watch/{verb}", json={"reason": f"to {verb}"})
        assert (answer.status_code, answer.json()["state"]) == (200, state)
    events = (await client.get("/v1/subscriptions/refund-watch/history")).json()["events"]
    assert [(event["revision"], event["type"], event["actor"], event["reason"]) for event in events] == [
        (1, "subscription.created", "user:admin", None),
        (2, "subscription.paused", "user:admin", "to pause"),
        (3, "subscription.resumed", "user:admin", "to resume"),
        (4, "subscription.deleted", "user:admin", "to delete"),
    ]
    assert all(datetime.fromisoformat(event["recorded"]).tzinfo for event in events)
    assert (await client.get("/v1/subscriptions/refund-watch")).json()["state"] == "deleted"
    assert (await client.get("/v1/subscriptions")).json()["items"] == []


async def test_refused_steps_change_nothing(client: httpx.AsyncClient) -> None:
    await applied(client)
    for verb, body, status, code in (
        ("pause", {}, 422, "bad_input"),
        ("pause", {"reason": ""}, 422, "bad_input"),
        ("pause", {"reason": " "}, 422, "bad_input"),
        ("pause", {"reason": "a\0b"}, 422, "bad_input"),
        ("resume", {"reason": "x"}, 409, "not_allowed"),
    ):
        answer = await client.post(f"/v1/subscriptions/refund-watch/{verb}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert (await client.get("/v1/subscriptions/refund-watch")).json()["state"] == "active"


async def test_what_does_not_exist_is_404(client: httpx.AsyncClient) -> None:
    for path in (
        "agents/x",
        "endpoints/x",
        "subscriptions/x",
        "subscriptions/x/history",
        "subscriptions/a%2Fb",
    ):
        answer = await client.get(f"/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    answer = await client.post("/v1/subscriptions/x/pause", json={"reason": "x"})
    assert answer.status_code == 404


async def test_lists_page_by_name(client: httpx.AsyncClient) -> None:
    await applied(client, several(ALL, *(subscription(f"s{index}") for index in range(4))))
    names, after = [], None
    for _ in range(3):
        page = (
            await client.get("/v1/subscriptions", params={"limit": 2, **({"after": after} if after else {})})
        ).json()
        names.append([known["name"] for known in page["items"]])
        after = page["next"]
    assert names == [["refund-watch", "s0"], ["s1", "s2"], ["s3"]]
    assert after is None


async def test_a_subscription_shows_what_was_reported(client: httpx.AsyncClient, engine: AsyncEngine) -> None:
    await applied(client)
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    item = Activity(subscription="refund-watch", outcome="delivered", count=3, last_at=at)
    async with engine.begin() as connection:
        await receive(connection, {Position("execution", 1): ActivityReport(tenant="default", items=(item,))})
    shown = (await client.get("/v1/subscriptions/refund-watch")).json()["activity"]
    assert shown == {"last_delivered_at": "2026-11-30T12:00:00Z", "outcomes": {"delivered": 3}}


async def test_a_body_that_is_too_large_is_refused_before_anything_else(stranger: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(LARGEST_BODY // 1_000_000 + 2):
            yield b"x" * 1_000_000

    declared = await stranger.post("/v1/apply", content=b"x" * (LARGEST_BODY + 1))
    streamed = await stranger.post(
        "/v1/apply", content=endless(), headers={"Authorization": f"Bearer {TOKEN}"}
    )
    assert (declared.status_code, streamed.status_code) == (413, 413)


async def test_a_database_that_is_away_is_503_and_says_no_secret() -> None:
    engine = open_engine("postgresql://someone:hidden@127.0.0.1:9/none", application_name="tests")
    app = create_app(engine, execution_url="http://hooks.example", ready=ready)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        answer = await client.get("/v1/agents", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"
    assert "hidden" not in answer.text
    await engine.dispose()
