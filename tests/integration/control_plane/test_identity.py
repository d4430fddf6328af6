"""Principals and tokens, and what each may: every route, every role, own and foreign tenant."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.api import create_app
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.store.engine import open_engine
from tests.control_documents import AGENT, ENDPOINT, several, subscription
from tests.engines import Engines

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADMIN = "srn_" + "d" * 43
ROLES = ("admin", "operator", "author", "approver", "auditor", "viewer")
TENANT = "apiVersion: sereno/v1\nkind: Tenant\nmetadata: {name: NAME}\nspec: {zone: UTC}\n"
CANARY = "canaryzz"
PROBES = {"/healthz", "/readyz", "/metrics"}


async def ready() -> dict[str, str | None]:
    return {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(module_engines: Engines) -> AsyncIterator["World"]:
    """Two tenants with the same things in them, and a token for each role in the first."""
    engine = open_engine(module_engines.control_dsn, application_name="tests", pool_size=8)
    await bootstrap(engine, hashlib.sha256(ADMIN.encode()).hexdigest())
    app = create_app(engine, execution_url="http://hooks.example", ready=ready)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
        made = World(app, engine, client)
        for tenant in ("ours", "theirs"):
            await made.furnish(tenant)
        yield made
    await engine.dispose()


class World:
    def __init__(self, app: FastAPI, engine: AsyncEngine, client: httpx.AsyncClient) -> None:
        self.app, self.engine, self.client = app, engine, client
        self.tokens: dict[tuple[str, str], str] = {}
        self.ids: dict[str, str] = {}
        self.approvals: dict[str, str] = {}

    async def ask(self, method: str, path: str, token: str = ADMIN, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return await self.client.request(method, path, headers=headers, **options)

    async def post(self, path: str, body: Mapping[str, Any], token: str = ADMIN, **params: Any) -> Any:
        answer = await self.ask("POST", path, token, json=dict(body), params=params)
        assert answer.is_success, answer.text
        return answer.json()

    async def furnish(self, tenant: str) -> None:
        name = "thing" if tenant == "ours" else CANARY
        await self.post("/v1/apply", {"documents": TENANT.replace("NAME", tenant)})
        documents = several(
            AGENT.replace("triage", name), ENDPOINT.replace("zendesk", name),
            subscription(name, agent=name, endpoint=name, instruction=f"{name} says"),
        )  # fmt: skip
        placed = documents.replace("metadata: {", f"metadata: {{tenant: {tenant}, ")
        await self.post("/v1/apply", {"documents": placed})
        for role in ROLES:
            await self.post("/v1/principals", {"name": f"user:an-{role}", "roles": [role]}, tenant=tenant)
            issued = await self.post(
                "/v1/tokens", {"principal": f"user:an-{role}", "label": name}, tenant=tenant
            )
            self.tokens[tenant, role] = issued["token"]
        await self.ask_for_something(tenant, name)
        await self.post("/v1/principals", {"name": f"user:{name}"}, tenant=tenant)
        self.ids[name] = (await self.post("/v1/tokens", {"principal": f"user:{name}"}, tenant=tenant))["id"]
        await self.post(
            "/v1/grants", {"name": name, "to": f"user:{name}", "agent": f"agent:{name}"}, tenant=tenant
        )

    async def ask_for_something(self, tenant: str, name: str) -> None:
        """What an agent asked for, and nobody has answered."""
        asking = AGENT.replace("triage", f"{name}-agent").replace("exec}", "exec, capabilities: [subscribe]}")
        await self.post(
            "/v1/apply", {"documents": asking.replace("metadata: {", f"metadata: {{tenant: {tenant}, ")}
        )
        grant = {"to": f"agent:{name}-agent", "source": f"webhook/{name}"}
        await self.post("/v1/grants", grant, tenant=tenant)
        token = (await self.post("/v1/tokens", {"principal": grant["to"]}, tenant=tenant))["token"]
        wanted = subscription(f"{name}-wish", agent=f"{name}-agent", endpoint=name).replace(
            "user:marta", grant["to"]
        )
        await self.post("/v1/apply", {"documents": wanted}, token)
        found = await self.ask("GET", "/v1/approvals", params={"tenant": tenant})
        self.approvals[name] = found.json()["items"][0]["id"]
        self.tokens[tenant, "agent"] = token

    async def facts(self, tenant: str) -> list[Any]:
        async with self.engine.connect() as connection:
            rows = await connection.execute(
                text("select stream, version from control.event where tenant_id = :tenant order by 1, 2"),
                {"tenant": tenant},
            )
            return [tuple(row) for row in rows]


Operation = tuple[str, str, dict[str, Any]]


def operations(app: FastAPI) -> list[Operation]:
    return [
        (method.upper(), path, said)
        for path, methods in app.openapi()["paths"].items()
        if path not in PROBES
        for method, said in methods.items()
    ]


# What each operation takes: enough to be well formed, for one object that exists and may be changed again and again.
BODIES: Mapping[str, Mapping[str, Any]] = {
    "POST /v1/apply": {"documents": "DOCUMENT", "dry_run": True},
    "POST /v1/diff": {"documents": "DOCUMENT"},
    "POST /v1/endpoints": {"name": "new", "spec": {"scheme": "standard", "secrets": ["env:X"]}},
    "POST /v1/endpoints/{name}/rotate": {"reference": "env:NEXT"},
    "POST /v1/principals": {"name": "user:new"},
    "POST /v1/principals/{name}/edit": {"roles": []},
    "POST /v1/tokens": {"principal": "user:an-viewer"},
    "POST /v1/grants": {"deny": "mcp/never"},
    "POST /v1/approvals/{identifier}/approve": {"digest": "0" * 64},
    "POST /v1/approvals/{identifier}/deny": {"digest": "0" * 64, "reason": "x"},
    "POST /v1/answers/{message}": {"outcome": "approved"},
    "POST /v1/subscriptions/{name}/reassign": {"owner": "user:nobody", "reason": "x"},
    "POST /v1/subscriptions/{name}/test": {"criterion": "Is it urgent?"},
    "POST /v1/subscriptions/{name}/replay": {"criterion": "Is it urgent?"},
}
# The roles that may; whoever is not named may not. What only names a reason needs no body of its own above.
EVERYBODY, OPERATORS, ADMINS = set(ROLES), {"admin", "operator"}, {"admin"}
MATRIX: Mapping[str, set[str]] = {
    "POST /v1/apply": {"admin", "operator"},
    "POST /v1/diff": EVERYBODY,
    "POST /v1/subscriptions/{name}/pause": OPERATORS,
    "POST /v1/subscriptions/{name}/resume": OPERATORS,
    "POST /v1/subscriptions/{name}/delete": OPERATORS,
    "POST /v1/subscriptions/{name}/reassign": ADMINS,
    # It needs the right to its source, too.
    "POST /v1/subscriptions/{name}/test": ADMINS,
    "POST /v1/subscriptions/{name}/replay": ADMINS,
    "POST /v1/endpoints": OPERATORS,
    "POST /v1/endpoints/{name}/rotate": OPERATORS,
    "POST /v1/endpoints/{name}/pause": OPERATORS,
    "POST /v1/endpoints/{name}/resume": OPERATORS,
    "GET /v1/agents": EVERYBODY,
    "GET /v1/agents/{name}": EVERYBODY,
    "GET /v1/endpoints": EVERYBODY,
    "GET /v1/endpoints/{name}": EVERYBODY,
    "GET /v1/subscriptions": EVERYBODY,
    "GET /v1/subscriptions/{name}": EVERYBODY,
    "GET /v1/subscriptions/{name}/preview": EVERYBODY,
    "GET /v1/subscriptions/{name}/history": EVERYBODY,
    "GET /v1/whoami": EVERYBODY,
    "GET /v1/principals": EVERYBODY,
    "GET /v1/principals/{name}": EVERYBODY,
    "POST /v1/principals": ADMINS,
    "POST /v1/principals/{name}/edit": ADMINS,
    "POST /v1/principals/{name}/{verb}": ADMINS,
    "POST /v1/agents/{name}/suspend": OPERATORS,
    "POST /v1/agents/{name}/resume": OPERATORS,
    # Each sees and ends their own; others' tokens are an administrator's.
    "GET /v1/tokens": EVERYBODY,
    "POST /v1/tokens": {"admin", "viewer"},
    "POST /v1/tokens/{name}/revoke": ADMINS,
    "GET /v1/grants": EVERYBODY,
    # A prohibition is a stop; a grant is not.
    "POST /v1/grants": OPERATORS,
    "POST /v1/grants/{name}/remove": ADMINS,
    "GET /v1/audit/verify": {"admin", "auditor"},
    "GET /v1/audit/records": {"admin", "auditor"},
    "GET /v1/audit/anchors": {"admin", "auditor"},
    "GET /v1/documents": EVERYBODY,
    "GET /v1/connectors": EVERYBODY,
    "GET /v1/connectors/{name}": EVERYBODY,
    # None is declared here: that is what everybody is told.
    "POST /v1/connectors/{name}/pause": EVERYBODY,
    "POST /v1/connectors/{name}/resume": EVERYBODY,
    "GET /v1/approvals": EVERYBODY,
    "GET /v1/approvals/{identifier}": EVERYBODY,
    "POST /v1/approvals/{identifier}/approve": {"admin", "approver"},
    "POST /v1/approvals/{identifier}/deny": {"admin", "approver"},
    "POST /v1/answers/{message}": {"admin", "approver"},
    "GET /v1/stops": EVERYBODY,
    "GET /v1/notices": EVERYBODY,
    "POST /v1/stops": OPERATORS,
    "POST /v1/stops/release": ADMINS,
    "GET /v1/policy": EVERYBODY,
    "GET /v1/can": EVERYBODY,
}


def filled(world: World, path: str, name: str) -> str:
    meant = {"principals": f"user%3A{name}", "tokens": world.ids[name]}.get(path.split("/")[2], name)
    path = path.replace("{identifier}", world.approvals[name]).replace("{message}", f"msg_{'0' * 32}")
    return path.replace("{name}", meant).replace("{verb}", "suspend")


def body_of(key: str, name: str) -> dict[str, Any]:
    document = ENDPOINT.replace("zendesk", f"{name}-more")
    return {
        field: document if value == "DOCUMENT" else value
        for field, value in BODIES.get(key, {"reason": "tests"}).items()
    }


async def asked(world: World, operation: Operation, token: str, name: str, **params: Any) -> httpx.Response:
    method, path, _ = operation
    query = {"who": "user:thing", "agent": "agent:thing", **params} if path == "/v1/can" else params
    body = {"json": body_of(f"{method} {path}", name)} if method == "POST" else {}
    return await world.ask(method, filled(world, path, name), token, params=query, **body)


def test_the_matrix_names_every_route(world: World) -> None:
    assert set(MATRIX) == {f"{method} {path}" for method, path, _ in operations(world.app)}


@pytest.mark.parametrize("role", ROLES)
async def test_every_route_allows_what_its_row_says(world: World, role: str) -> None:
    standing = subscription("thing", agent="thing", endpoint="thing", instruction="thing says")
    placed = standing.replace("metadata: {", "metadata: {tenant: ours, ")
    await world.post("/v1/apply", {"documents": placed, "revive": True, "reason": "for the next role"})
    for operation in sorted(operations(world.app), key=lambda known: known[1].endswith("/delete")):
        key = f"{operation[0]} {operation[1]}"
        answer = await asked(world, operation, world.tokens["ours", role], "thing")
        allowed = answer.status_code != 403
        # The second rotation to one secret is refused as such.
        assert answer.status_code != 422 or key.endswith("/rotate"), (key, answer.text)
        assert allowed == (role in MATRIX[key]), (key, role, answer.text)
        assert answer.status_code not in {401, 500}, (key, answer.text)
        if not allowed:
            problem = answer.json()
            assert problem["code"] == "forbidden"
            assert problem["rule"], key
            assert problem["policy_version"] in problem["detail"]


@pytest.mark.parametrize("role", ["admin", "viewer"])
async def test_no_route_lets_a_tenant_see_or_touch_another(world: World, role: str) -> None:
    before = await world.facts("theirs")
    for operation in operations(world.app):
        for params in ({"tenant": "theirs"}, {}):
            answer = await asked(world, operation, world.tokens["ours", role], CANARY, **params)
            said = answer.text.replace(f"user:{CANARY}", "").replace(f"{CANARY}-more", "")
            if params and operation[1] not in {"/v1/apply", "/v1/diff"}:
                assert answer.status_code == 403, (operation[:2], answer.text)
            # Whoever named it may read the name again, and nothing that stands beside it.
            assert f"{CANARY} says" not in said, operation[:2]
            assert CANARY not in said or answer.status_code in {403, 404, 201}, (operation[:2], said)
        missing = await asked(world, operation, world.tokens["ours", role], CANARY, tenant="nowhere")
        if operation[1] not in {"/v1/apply", "/v1/diff"}:
            same = missing.text.replace("nowhere", "theirs")
            foreign = await asked(world, operation, world.tokens["ours", role], CANARY, tenant="theirs")
            assert (same, missing.status_code) == (foreign.text, foreign.status_code), operation[:2]
    placed = AGENT.replace("metadata: {", "metadata: {tenant: theirs, ")
    for verb in ("apply", "diff"):
        answer = await world.ask(
            "POST", f"/v1/{verb}", world.tokens["ours", role], json={"documents": placed}
        )
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert await world.facts("theirs") == before


async def test_documents_without_a_tenant_are_the_callers(world: World) -> None:
    token = world.tokens["ours", "operator"]
    done = await world.post("/v1/apply", {"documents": AGENT.replace("triage", "homely")}, token)
    assert [known["tenant"] for known in done["objects"]] == ["ours"]
    assert (await world.ask("GET", "/v1/agents/homely", world.tokens["theirs", "admin"])).status_code == 404


async def test_only_who_reaches_every_tenant_makes_a_new_one(world: World) -> None:
    body = {"documents": TENANT.replace("NAME", "another")}
    answer = await world.ask("POST", "/v1/apply", world.tokens["ours", "admin"], json=body)
    assert answer.status_code == 403


async def test_a_tokens_text_is_shown_once_and_stands_nowhere(world: World) -> None:
    issued = await world.post("/v1/tokens", {"principal": "user:an-viewer"}, tenant="ours")
    secret = issued["token"]
    assert secret.startswith("srn_")
    assert len(secret) == 47
    listed = await world.ask("GET", "/v1/tokens", params={"tenant": "ours"})
    assert issued["id"] in listed.text
    assert secret not in listed.text
    async with world.engine.connect() as connection:
        for table in ("event", "catalog_object", "outbox", "token_use"):
            rows = await connection.execute(text(f"select t::text from control.{table} t"))
            assert all(secret not in row for (row,) in rows), table


async def test_a_token_says_when_it_was_last_used_ends_and_can_be_revoked(world: World) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    issued = await world.post("/v1/tokens", {"principal": "user:an-viewer", "expires": soon}, tenant="ours")
    me = (await world.ask("GET", "/v1/whoami", issued["token"])).json()
    assert (me["principal"], me["tenant"], me["roles"]) == ("user:an-viewer", "ours", ["viewer"])
    listed = (await world.ask("GET", "/v1/tokens", params={"tenant": "ours"})).json()["items"]
    [entry] = [known for known in listed if known["id"] == issued["id"]]
    assert entry["last_used_at"] is not None
    await world.post(f"/v1/tokens/{issued['id']}/revoke", {"reason": "lost"}, tenant="ours")
    assert (await world.ask("GET", "/v1/whoami", issued["token"])).status_code == 401


async def test_an_expired_token_opens_nothing(world: World) -> None:
    issued = await world.post("/v1/tokens", {"principal": "user:an-viewer"}, tenant="ours")
    async with world.engine.begin() as connection:
        await connection.execute(
            text(
                'update control.catalog_object set spec = spec || \'{"expires": "2020-01-01T00:00:00Z"}\' where name = :id'
            ),
            {"id": issued["id"]},
        )
    assert (await world.ask("GET", "/v1/whoami", issued["token"])).status_code == 401
    past = {"principal": "user:an-viewer", "expires": "2020-01-01T00:00:00Z"}
    answer = await world.ask("POST", "/v1/tokens", json=past, params={"tenant": "ours"})
    assert [fault["path"] for fault in answer.json()["faults"]] == ["expires"]


async def test_a_token_narrows_its_principal_and_cannot_widen_itself(world: World) -> None:
    body = {"principal": "user:an-admin", "scopes": ["read"]}
    narrow = (await world.post("/v1/tokens", body, tenant="ours"))["token"]
    assert (await world.ask("GET", "/v1/agents", narrow)).status_code == 200
    for path, sent in (
        ("/v1/subscriptions/thing/pause", {"reason": "x"}),
        ("/v1/tokens", {"principal": "user:an-admin"}),
    ):
        answer = await world.ask("POST", path, narrow, json=sent)
        assert (answer.status_code, answer.json()["rule"]) == (403, "outside-token-scope")
    wrong = await world.ask("POST", "/v1/tokens", json={"principal": "user:an-admin", "scopes": ["fly"]})
    assert [fault["path"] for fault in wrong.json()["faults"]] == ["scopes[0]"]


async def test_a_removed_principal_is_nobody_and_its_name_stays_taken(world: World) -> None:
    await world.post("/v1/principals", {"name": "user:gone", "roles": ["admin"]}, tenant="ours")
    token = (await world.post("/v1/tokens", {"principal": "user:gone"}, tenant="ours"))["token"]
    await world.post("/v1/principals/user%3Agone/suspend", {"reason": "x"}, tenant="ours")
    assert (await world.ask("GET", "/v1/agents", token)).json()["rule"] == "principal-suspended"
    await world.post("/v1/principals/user%3Agone/resume", {"reason": "x"}, tenant="ours")
    assert (await world.ask("GET", "/v1/agents", token)).status_code == 200
    await world.post("/v1/principals/user%3Agone/remove", {"reason": "x"}, tenant="ours")
    assert (await world.ask("GET", "/v1/agents", token)).json()["rule"] == "unknown-principal"
    again = await world.ask("POST", "/v1/principals", json={"name": "user:gone"}, params={"tenant": "ours"})
    assert again.status_code == 409


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "marta"}, "name"),
        ({"name": "agent:x"}, "name"),
        ({"name": "user:x", "roles": ["king"]}, "roles"),
    ],
)
async def test_a_bad_principal_names_the_field(world: World, body: dict[str, Any], path: str) -> None:
    answer = await world.ask("POST", "/v1/principals", json=body, params={"tenant": "ours"})
    assert (answer.status_code, [fault["path"] for fault in answer.json()["faults"]]) == (422, [path])


async def test_an_author_needs_the_grants_and_is_told_which(world: World) -> None:
    token, theirs = world.tokens["ours", "author"], subscription("mine", agent="thing", endpoint="thing")
    document = {"documents": theirs.replace("user:marta", "user:an-author")}
    for command, grant in (
        ("sereno grants add --to user:an-author --agent agent:thing", {"agent": "agent:thing"}),
        ("sereno grants add --to user:an-author --source webhook/thing", {"source": "webhook/thing"}),
    ):
        refused = await world.ask("POST", "/v1/apply", token, json=document)
        assert refused.status_code == 403
        assert command in refused.json()["detail"]
        await world.post("/v1/grants", {"to": "user:an-author", **grant}, tenant="ours")
    [done] = (await world.post("/v1/apply", document, token))["objects"]
    assert (done["state"], done["change"]) == ("active", "created")
    asking = {"who": "user:an-author", "agent": "agent:thing", "source": "webhook/thing", "tenant": "ours"}
    assert (await world.ask("GET", "/v1/can", params=asking)).json()["allowed"]
    before = await world.ask("GET", "/v1/can", params={**asking, "as_of": "2020-01-01T00:00:00Z"})
    assert not before.json()["allowed"]
    named = {"documents": theirs.replace("name: mine", "name: others").replace("user:marta", "user:an-admin")}
    attributed = await world.ask("POST", "/v1/apply", token, json=named)
    assert "attribute a subscription to user:an-admin" in attributed.json()["detail"]


@pytest.mark.req(129)
async def test_a_grant_has_a_capacity(world: World) -> None:
    await world.post("/v1/principals", {"name": "user:few", "roles": ["author"]}, tenant="ours")
    token = (await world.post("/v1/tokens", {"principal": "user:few"}, tenant="ours"))["token"]
    await world.post(
        "/v1/grants", {"to": "user:few", "agent": "agent:thing", "subscriptions": 1}, tenant="ours"
    )
    await world.post("/v1/grants", {"to": "user:few", "source": "webhook/thing"}, tenant="ours")
    statuses = []
    for name in ("few-1", "few-1", "few-2"):
        text_of = subscription(name, agent="thing", endpoint="thing").replace("user:marta", "user:few")
        statuses.append(
            (await world.ask("POST", "/v1/apply", token, json={"documents": text_of})).status_code
        )
    assert statuses == [200, 200, 403]


async def test_nobody_in_a_tenant_makes_a_token_for_who_belongs_to_every_tenant(world: World) -> None:
    body = {"principal": "user:admin"}
    answer = await world.ask("POST", "/v1/tokens", world.tokens["ours", "admin"], json=body)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
