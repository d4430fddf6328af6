"""Endpoints added and operated one at a time, with secrets that only the execution plane can open."""

import hashlib
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from sereno.subscriptions.sealed import key_id, unseal

TOKEN = "srn_" + "a" * 43
KEY = X25519PrivateKey.generate()
KEYS = {key_id(KEY.public_key()): KEY}


async def ready() -> dict[str, str | None]:
    return {"postgres": None}


def client_of(engine: AsyncEngine, **more: Any) -> httpx.AsyncClient:
    app = create_app(engine, execution_url="http://hooks.example/", ready=ready, **more)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return httpx.AsyncClient(transport=transport, base_url="http://control", headers=headers)


async def secrets_of(engine: AsyncEngine, name: str) -> list[str]:
    query = text(
        "select spec -> 'secrets' from control.catalog_object where kind = 'Endpoint' and name = :name"
    )
    async with engine.connect() as connection:
        return list((await connection.execute(query, {"name": name})).scalar_one())


@pytest.mark.req(61)
async def test_an_endpoint_lives_with_a_secret_that_is_shown_once(engine: AsyncEngine) -> None:
    await bootstrap(engine, hashlib.sha256(TOKEN.encode()).hexdigest())
    async with client_of(engine, sealing_key=KEY.public_key()) as client:
        added = await client.post("/v1/endpoints", json={"name": "hub", "spec": {"scheme": "github"}})
        assert added.status_code == 201, added.text
        secret = added.json()["generated_secret"]
        assert added.json()["url"].startswith("http://hooks.example/in/")
        (reference,) = await secrets_of(engine, "hub")
        assert unseal(reference, KEYS, bound_to="default/hub") == secret.encode()
        assert unseal(reference, KEYS, bound_to="default/other") is None

        again = await client.post("/v1/endpoints", json={"name": "hub", "spec": {"scheme": "github"}})
        assert (again.status_code, again.json()["code"]) == (409, "already_exists")

        rotated = (await client.post("/v1/endpoints/hub/rotate", json={"secret": "theirs"})).json()
        assert rotated["generated_secret"] is None
        newest, older = await secrets_of(engine, "hub")
        assert unseal(newest, KEYS, bound_to="default/hub") == b"theirs"
        assert older == reference
        third = (await client.post("/v1/endpoints/hub/rotate", json={"reference": "env:HOOK"})).json()
        assert third["secrets"][0] == "env:HOOK"
        assert await secrets_of(engine, "hub") == ["env:HOOK", newest]
        finished = (await client.post("/v1/endpoints/hub/rotate", json={"finish": True})).json()
        assert (finished["secrets"], finished["version"]) == (["env:HOOK"], 4)

        for verb, state in (("pause", "paused"), ("resume", "active")):
            moved = await client.post(f"/v1/endpoints/hub/{verb}", json={"reason": "maintenance"})
            assert (moved.status_code, moved.json()["state"], moved.json()["version"]) == (200, state, 4)
        shown = (await client.get("/v1/endpoints/hub")).json()
        assert (shown["state"], shown["spec"]["secrets"]) == ("active", ["env:HOOK"])
        async with engine.connect() as connection:
            kept = (await connection.execute(text("select data::text from control.event"))).scalars().all()
        assert not any(secret in row or "theirs" in row for row in kept)


REFUSED: list[tuple[bool, str, dict[str, Any], int]] = [
    (True, "", {"name": "x", "spec": {"scheme": "stripe"}}, 422),
    (True, "", {"name": "x", "spec": {"scheme": "stripe"}, "secret": "  "}, 422),
    (True, "", {"name": "x", "spec": {"scheme": "github", "secrets": ["env:A"]}, "secret": "b"}, 422),
    (True, "", {"name": "x", "spec": {"scheme": "md5"}, "secret": "b"}, 422),
    (True, "", {"name": "No", "spec": {"scheme": "github"}}, 422),
    (False, "", {"name": "x", "spec": {"scheme": "github"}}, 409),
    (True, "/nobody/rotate", {}, 404),
    (True, "/nobody/pause", {"reason": "why"}, 404),
]


async def test_what_cannot_be_is_refused_and_changes_nothing(engine: AsyncEngine) -> None:
    await bootstrap(engine, hashlib.sha256(TOKEN.encode()).hexdigest())
    for sealing, path, body, status in REFUSED:
        async with client_of(engine, sealing_key=KEY.public_key() if sealing else None) as client:
            refused = await client.post(f"/v1/endpoints{path}", json=body)
            assert refused.status_code == status, (body, refused.text)
            assert refused.json()["detail"]
            assert (await client.get("/v1/endpoints")).json()["items"] == []
