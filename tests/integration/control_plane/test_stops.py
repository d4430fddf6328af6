"""The emergency stop over both planes: recorded by the one, carried out and confirmed by the other."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
from nats.aio.client import Client
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.reports.inbox import Position, receive
from sereno.control_plane.stop_keeping import StopKeeper
from sereno.control_plane.stop_orders import Orders
from sereno.envelope.stored import loads_batch
from sereno.envelope.types import ESTOP
from sereno.execution_plane.stops.carrying_out import engage
from sereno.execution_plane.stops.responder import Responder
from sereno.mailbox import notices, stop
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine import bus
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.stop_orders import Engage
from sereno.mailbox.verbs import Mailbox
from sereno.mailbox.wake import Wake
from sereno.subscriptions.report import StopReport, loads
from tests.control_documents import AGENT
from tests.engines import Engines
from tests.mailbox_messages import message
from tests.mailbox_moves import claim, put

ADMIN = "srn_" + "e" * 43
TENANT = "apiVersion: sereno/v1\nkind: Tenant\nmetadata: {name: acme}\nspec: {zone: UTC}\n"
REASON = {"reason": "drill"}


async def ready() -> dict[str, str | None]:
    return {}


class World(SimpleNamespace):
    """Both planes: the control plane's API, and the data path with whoever answers orders while it is `listening`."""

    client: httpx.AsyncClient
    engine: AsyncEngine
    pool: AnyPool
    orders: Orders
    pipeline: Client

    async def ask(self, method: str, path: str, body: Any = None, token: str = ADMIN, **params: str) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        return await self.client.request(method, f"/v1/{path}", json=body, headers=headers, params=params)

    async def post(self, path: str, body: Any, token: str = ADMIN, **params: str) -> Any:
        answer = await self.ask("POST", path, body, token, **params)
        assert answer.is_success, answer.text
        return answer.json()

    async def token(self, role: str, tenant: str = "acme") -> str:
        await self.post("principals", {"name": f"user:an-{role}", "roles": [role]}, tenant=tenant)
        issued = await self.post("tokens", {"principal": f"user:an-{role}"}, tenant=tenant)
        return str(issued["token"])

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        stopping = asyncio.Event()
        answering = asyncio.create_task(Responder(self.pool, self.pipeline, Wake(None)).run(stopping))
        await asyncio.sleep(0)
        await self.pipeline.flush()
        try:
            yield
        finally:
            stopping.set()
            await answering
            await self.pipeline.flush()


@pytest.fixture
async def world(engine: AsyncEngine, engines: Engines, nats: Client) -> AsyncIterator[World]:
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    orders = Orders(nats)
    app = create_app(engine, execution_url="http://hooks.example", ready=ready, orders=orders)
    pool = await open_pool(engines.execution_dsn, application_name="tests", max_size=8)
    pipeline = await bus.connect(engines.nats, name="tests", seed=engines.seed("pipeline"))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://control", timeout=60) as client:
        made = World(client=client, engine=engine, pool=pool, orders=orders, pipeline=pipeline)
        await made.post("apply", {"documents": TENANT})
        placed = AGENT.replace("metadata: {", "metadata: {tenant: acme, ")
        await made.post("apply", {"documents": placed})
        yield made
    await pipeline.close()
    await pool.close()


@pytest.mark.req(144)
async def test_a_stop_is_confirmed_by_the_data_path_and_lifted_by_a_person_alone(world: World) -> None:
    operator, admin = await world.token("operator"), await world.token("admin")
    await put(world.pool, message(), message())
    async with world.listening():
        answer = await world.post("stops", {"agent": "triage", **REASON}, operator)
        assert answer["confirmed"]
        [item] = answer["items"]
        assert (item["scope"], item["state"], item["by"]) == (
            "acme/agent/triage",
            "engaged",
            "user:an-operator",
        )
        assert item["backlog"]["ready"] == 2
        assert await claim(Mailbox(world.pool)) == []
        again = await world.post("stops", {"agent": "triage", **REASON}, operator)
        assert again["items"][0]["id"] == item["id"], "the same again is the same stop"
        refused = await world.ask("POST", "stops/release", {"agent": "triage", **REASON}, operator)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        shown = await world.post("stops/release", {"agent": "triage", "preview": True, **REASON}, admin)
        assert shown["items"][0]["backlog"]["ready"] == 2
        assert (await world.ask("GET", "stops", token=admin)).json()["confirmed"]
        await world.post("stops/release", {"agent": "triage", **REASON}, admin)
        assert len(await claim(Mailbox(world.pool))) == 2
        twice = await world.ask("POST", "stops/release", {"agent": "triage", **REASON}, admin)
        assert (twice.status_code, twice.json()["code"]) == (409, "not_stopped")
    async with world.engine.connect() as connection:
        rows = await connection.execute(
            text("select type, actor from control.event where stream like 'stop/%' order by position")
        )
        assert [tuple(row) for row in rows] == [
            ("stop.engaged", "user:an-operator"), ("stop.released", "user:an-admin"),
        ]  # fmt: skip


@pytest.mark.req(144)
async def test_a_stop_that_nobody_confirmed_says_so_and_is_ordered_again_until_somebody_does(
    world: World,
) -> None:
    answer = await world.post("stops", REASON)
    assert not answer["confirmed"]
    assert [(one["scope"], one["confirmed"]) for one in answer["items"]] == [("*", False)]
    assert await stop.in_force(world.pool) == []
    refused = await world.ask("POST", "stops/release", REASON)
    assert refused.status_code == 503
    listed = (await world.ask("GET", "stops")).json()
    assert [one["confirmed"] for one in listed["items"]] == [False]
    keeper = StopKeeper(world.engine, world.orders)
    assert not await keeper.look()
    async with world.listening():
        assert await keeper.look()
        assert [one["scope"] for one in await stop.in_force(world.pool)] == ["*"]
        assert (await world.ask("GET", "stops")).json()["confirmed"]
        await world.post("stops/release", {"held": "drop", **REASON})
        assert await keeper.look()
    assert await stop.in_force(world.pool) == []


async def test_what_the_data_path_stopped_by_itself_is_recorded_once(world: World) -> None:
    await engage(world.pool, Engage(scope="acme", id=uuid4(), reason="fire", principal="os:root"))
    payloads = await world.pool.fetch("select subject, payload from execution.outbox order by position")
    reports = [loads(row["payload"]) for row in payloads if row["subject"].startswith("sereno.reports.")]
    [told] = [one for one in reports if isinstance(one, StopReport)]
    for number in (1, 2):
        async with world.engine.begin() as connection:
            await receive(connection, {Position("execution", number): told})
    async with world.engine.connect() as connection:
        rows = await connection.execute(text("select actor from control.event where stream = 'stop/acme'"))
        assert [row.actor for row in rows] == ["os:root"]
    async with world.listening():
        await world.post("stops/release", REASON, tenant="acme")
    async with world.engine.begin() as connection:
        await receive(connection, {Position("execution", 3): told})
        rows = await connection.execute(text("select type from control.event where stream = 'stop/acme'"))
        assert [row.type for row in rows] == ["stop.engaged", "stop.released"], (
            "a late report revives nothing"
        )


async def test_each_tenant_hears_of_a_stop_once_and_people_are_told(world: World) -> None:
    await world.pool.execute(
        "insert into execution.manifest (tenant_id, epoch, version, signed)"
        " select t, 1, 1, '' from unnest(array['acme', 'globex']) t"
    )
    async with world.listening():
        for _ in range(2):
            await world.post("stops", REASON)
        await world.post("stops/release", REASON)
    events = [
        envelope
        for row in await world.pool.fetch(
            "select payload from execution.outbox where subject like 'sereno.ingress.%'"
        )
        for envelope in loads_batch(row["payload"])
    ]
    told = sorted((one.tenantid, one.type, cast("dict[str, str]", one.data)["state"]) for one in events)
    assert told == [(t, ESTOP, state) for t in ("acme", "globex") for state in ("engaged", "released")]
    async with world.pool.acquire() as conn:
        said = [one["text"] for one in await notices.listed(conn, "acme")]
    assert said == [
        "user:admin let everything go on (deliver): drill", "user:admin stopped everything: drill",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"agent": "nobody", **REASON}, 404, "agent: nobody is not declared in tenant acme"),
        ({"agent": "a", "family": "time", **REASON}, 422, "at most one"),
        ({"family": "smoke", **REASON}, 422, "expected a family"),
        ({"reason": "  "}, 422, "reason"),
        ({}, 422, "reason"),
    ],
)
async def test_a_slip_stops_nothing_and_says_what_was_expected(
    world: World, body: dict[str, str], status: int, detail: str
) -> None:
    answer = await world.ask("POST", "stops", body, tenant="acme")
    assert (answer.status_code, detail in answer.json()["detail"]) == (status, True), answer.text


async def test_a_token_of_one_tenant_stops_no_other_and_not_everything(world: World) -> None:
    operator = await world.token("operator")
    async with world.listening():
        assert (await world.post("stops", REASON, operator))["items"][0]["scope"] == "acme"
        foreign = await world.ask("POST", "stops", REASON, operator, tenant="globex")
        assert foreign.status_code == 403
        await world.post("stops", REASON)
        seen = (await world.ask("GET", "stops", token=operator)).json()["items"]
        assert [one["scope"] for one in seen] == ["*", "acme"]
