"""Every route of the execution plane, every role, own and foreign tenant; the routes are those of its description."""

import os
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.agent_events import AgentEvents
from sereno.execution_plane.api import Parts, create_app
from sereno.execution_plane.catalog import Catalog
from sereno.execution_plane.catalog.tenant import TenantCatalog, picture
from sereno.execution_plane.deliveries.log import DeliveryLog
from sereno.execution_plane.deliveries.redelivery import Redelivery
from sereno.execution_plane.gateway.admission import Admission
from sereno.execution_plane.gateway.group_commit import GroupCommit
from sereno.execution_plane.gateway.secrets import Secrets
from sereno.execution_plane.gateway.webhook import WebhookGateway
from sereno.mailbox.bearer import LeaseBearers
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from sereno.mailbox.engine.postgres import open_pool
from sereno.mailbox.message import Message, SubscriptionRef
from sereno.mailbox.verbs import Mailbox
from sereno.subscriptions.policy import text as policy_text
from sereno.subscriptions.policy.facts import SHIPPED
from sereno.subscriptions.snapshot import CatalogObject, Manifest, entry, key, root
from tests.engines import Engines
from tests.integration.execution_plane.declaring import declare, token_hash

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROLES = ("admin", "operator", "author", "approver", "auditor", "viewer")
WHO = (*ROLES, "agent", "lease")
PROBES = {"/healthz", "/readyz", "/metrics"}
CANARY = "canaryzz"
TENANTS = {"ours": "thing", "theirs": CANARY}
EVERYBODY, PEOPLE = set(WHO) - {"lease"}, set(ROLES)
OPERATORS = {"admin", "operator"}
WORKERS = OPERATORS | {"agent"}
# Who is let in. The verbs of leases let everybody in, and answer `unknown` to whoever does not hold the token.
MATRIX: Mapping[str, set[str]] = {
    "POST /v1/mailboxes/{agent}/claim": WORKERS,
    "POST /v1/leases/renew": set(WHO),
    "POST /v1/leases/ack": set(WHO),
    "POST /v1/leases/release": set(WHO),
    "POST /v1/leases/check": set(WHO),
    "POST /v1/leases/park": set(WHO),
    "POST /v1/leases/emit": set(WHO),
    "POST /v1/messages/{identifier}/resume": WORKERS,
    "POST /v1/mailboxes/{agent}/redrive": WORKERS,
    "POST /v1/mailboxes/{agent}/dead-letter": WORKERS,
    "GET /v1/mailboxes": EVERYBODY,
    "GET /v1/mailboxes/{agent}/messages": EVERYBODY,
    # Shows payload: to those who work with it.
    "GET /v1/messages/{identifier}": WORKERS,
    "GET /v1/notices": EVERYBODY,
    "GET /v1/explain/{identifier}": EVERYBODY,
    "GET /v1/deliveries": PEOPLE,
    "POST /v1/deliveries/{identifier}/redeliver": OPERATORS,
    "GET /v1/history": OPERATORS,
    "GET /v1/usage": PEOPLE,
    "GET /v1/data/{sensitivity}/{address}": set(),
    "POST /v1/schedule/preview": EVERYBODY,
    "POST /v1/calendar/preview": EVERYBODY,
    "GET /v1/calendars/{subscription}": OPERATORS,
    "GET /v1/manifest": EVERYBODY,
    "POST /v1/labels": OPERATORS,
    "GET /v1/subscriptions/{name}/quality": OPERATORS,
    "GET /v1/connectors": OPERATORS,
    "GET /v1/connectors/{name}": OPERATORS,
    "POST /v1/connectors/{name}/pin": OPERATORS,
    "POST /v1/connectors/{name}/reload": OPERATORS,
    "GET /v1/stops": EVERYBODY,
    "POST /v1/stops": OPERATORS,
    "GET /v1/audit/verify": {"admin", "auditor"},
    "GET /v1/audit/records": {"admin", "auditor"},
    "GET /v1/audit/anchors": {"admin", "auditor"},
}
BODIES: Mapping[str, Mapping[str, Any]] = {
    "claim": {"max": 1, "incarnation": "w"},
    "release": {"items": [{"token": 7, "reason": "x"}]},
    "park": {"items": [{"token": 7, "waiting_for": "approval"}]},
    "emit": {"items": [{"token": 7, "type": "com.acme.said"}]},
    "resume": {"answer": {"said": "x"}},
    "redrive": {"reason": "tests", "filter": {"ids": []}},
    "dead-letter": {"reason": "tests", "preview": True},
    "redeliver": {},
    "pin": {"reason": "tests"},
    "reload": {},
    "labels": {"event": f"msg_{'0' * 32}", "label": "right"},
    "stops": {"agent": "nobody", "reason": "tests"},
    "preview": {"dtstart": "2026-03-01T09:00:00", "tzid": "UTC", "rrule": "FREQ=DAILY", "limit": 1},
}


def token(tenant: str, who: str) -> str:
    return f"srn_{tenant}_{who}"


def objects(tenant: str) -> list[CatalogObject]:
    """What a manifest with policies says: the roles, an agent of its own, and a token for each."""
    name, policy = TENANTS[tenant], policy_text.default()
    people = {role: f"user:an-{role}" for role in ROLES} | {"agent": f"agent:{name}"}
    return [
        declare("Policy", SHIPPED, {"cedar": policy.policies, "schema": policy.schema}, tenant=tenant),
        declare("Agent", name, {"owner": "user:marta", "adapter": "pull"}, tenant=tenant),
        *(
            declare("Principal", people[role], {"kind": "human", "roles": [role]}, tenant=tenant)
            for role in ROLES
        ),
        *(
            declare(
                "Token",
                f"t-{who}",
                {"principal": principal},
                tenant=tenant,
                token_sha256=token_hash(token(tenant, who)),
            )
            for who, principal in people.items()
        ),
    ]


def known(tenant: str) -> TenantCatalog:
    found, now = objects(tenant), datetime.now(UTC)
    entries = {key(one): entry(one) for one in found}
    manifest = Manifest(
        tenant=tenant,
        epoch=1,
        version=1,
        issued_at=now,
        valid_until=now + timedelta(hours=24),
        root=root(entries),
        entries=entries,
        key_id="tests",
    )
    return picture(manifest, found)


class World:
    def __init__(self, app: FastAPI, client: httpx.AsyncClient, pool: AnyPool, bearers: LeaseBearers) -> None:
        self.app, self.client, self.pool, self.bearers = app, client, pool, bearers
        self.messages: dict[str, UUID] = {}

    async def furnish(self) -> None:
        for tenant, name in TENANTS.items():
            self.messages[tenant] = uuid4()
            envelope = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": f"{name} says"}
            message = Message(
                id=self.messages[tenant],
                tenant=tenant,
                agent=name,
                subscription=SubscriptionRef(name, 1),
                instruction=f"{name} does",
                envelopes=[envelope],
            )
            async with self.pool.acquire() as conn, conn.transaction():
                await deposit(conn, [message])

    def operations(self) -> list[tuple[str, str]]:
        return [
            (method.upper(), path)
            for path, methods in self.app.openapi()["paths"].items()
            if path not in PROBES and not path.startswith("/in/")
            for method in methods
        ]

    def bearer(self, tenant: str, who: str) -> str:
        return self.bearers.issue(123_456) if who == "lease" else token(tenant, who)

    async def ask(
        self, operation: tuple[str, str], who: str, of: str, about: str, *, named: bool = True
    ) -> httpx.Response:
        """One request with the token of a tenant about the things of another, or the same."""
        method, path = operation
        name = TENANTS[about]
        identifier = to_people("msg", self.messages[about])
        filled = path.format(
            agent=name,
            name=name,
            identifier=identifier,
            subscription=name,
            sensitivity="internal",
            address="0" * 64,
        )
        if "redeliver" in path:
            filled = filled.replace("msg_", "rcp_")
        body = BODIES.get(path.rsplit("/", 1)[1], {"items": [{"token": 7}]})
        return await self.client.request(
            method,
            filled,
            params={"tenant": about} if named else {},
            json=dict(body) if method == "POST" else None,
            headers={"Authorization": f"Bearer {self.bearer(of, who)}"},
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(module_engines: Engines) -> AsyncIterator[World]:
    pool = await open_pool(module_engines.execution_dsn, application_name="tests", max_size=4)
    catalog, bearers = Catalog([known(tenant) for tenant in TENANTS]), LeaseBearers(os.urandom(32))
    log = DeliveryLog(pool)

    async def publish(*_: Any) -> None:
        raise AssertionError("nothing here enters the ingress")

    async def ready() -> dict[str, str | None]:
        return {}

    commit = GroupCommit(publish)
    gateway = WebhookGateway(
        catalog, Admission(Secrets(), os.urandom), commit, lambda: datetime.now(UTC), record=log.record
    )
    redelivery = Redelivery(pool, commit, log, os.urandom, lambda: datetime.now(UTC))
    mailbox = Mailbox(pool, emitter=AgentEvents(os.urandom))
    app = create_app(Parts(mailbox, catalog, gateway, bearers, ready, redelivery))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://execution") as client:
        made = World(app, client, pool, bearers)
        await made.furnish()
        yield made
    await pool.close()


async def test_the_matrix_names_every_route(world: World) -> None:
    assert set(MATRIX) == {f"{method} {path}" for method, path in world.operations()}


@pytest.mark.parametrize("who", WHO)
async def test_every_route_lets_in_whom_its_row_says(world: World, who: str) -> None:
    for operation in world.operations():
        key_ = " ".join(operation)
        answer = await world.ask(operation, who, "ours", "ours")
        code = answer.json().get("code")
        # No guard delivered this message, and explain refuses to tell half a story to whoever may hear it.
        assert answer.status_code not in {401, 500, 503} or code == "incomplete", (key_, who, answer.text)
        # What one may not even know of does not exist.
        let_in = answer.status_code != 403 and not (answer.status_code == 404 and "messages/{" in key_)
        let_in = let_in and not ("explain" in key_ and answer.status_code == 404)
        if "data/" in key_:
            let_in = answer.is_success
        assert let_in == (who in MATRIX[key_]), (key_, who, answer.status_code, code)


@pytest.mark.parametrize("who", ["admin", "operator", "viewer", "agent", "lease"])
async def test_no_route_shows_or_touches_another_tenant(world: World, who: str) -> None:
    before = await world.pool.fetch(
        "select * from mailbox.event where tenant_id = 'theirs' order by position"
    )
    for operation in world.operations():
        for named in (True, False):
            answer = await world.ask(operation, who, "ours", "theirs", named=named)
            assert answer.status_code not in {401, 500, 503}, (operation, answer.text)
            # Whoever named it may read the name again, and nothing that stands beside it.
            assert f"{CANARY} says" not in answer.text, operation
            assert f"{CANARY} does" not in answer.text, operation
            assert CANARY not in answer.text or answer.status_code in {403, 404}, (operation, answer.text)
    assert (
        await world.pool.fetch("select * from mailbox.event where tenant_id = 'theirs' order by position")
        == before
    )
