"""The HTTP face: shapes of the contract, who reaches what, and refusals that name the field."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from sereno.mailbox.connection import AnyPool
from sereno.mailbox.deposit import deposit
from tests.mailbox_messages import message

WORKER = {"Authorization": "Bearer worker-token"}


@pytest.fixture
async def api(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, headers=WORKER, trust_env=False, timeout=30) as api:
        yield api


@pytest.fixture
async def claimed(pool: AnyPool, api: httpx.AsyncClient) -> dict[str, Any]:
    async with pool.acquire() as conn:
        await deposit(conn, [message(context={"on_behalf_of": "user:marta"})])
    answer = await api.post("/v1/mailboxes/triage/claim", json=CLAIM)
    assert answer.status_code == 200
    [got] = answer.json()["messages"]
    found: dict[str, Any] = got
    return found


CLAIM = {"max": 5, "lease_seconds": 30, "wait_seconds": 0, "incarnation": "w1"}


async def test_a_claim_answers_the_shape_of_the_contract(claimed: dict[str, Any]) -> None:
    assert set(claimed) >= {
        "id", "agent", "subscription", "instruction", "envelopes", "attempts", "priority", "serial_key",
        "lineage", "lease", "approved_actions", "denied_actions", "answers", "context",
    }  # fmt: skip
    assert claimed["id"].startswith("msg_")
    assert claimed["subscription"] == {"name": "refund-watch", "version": 3}
    assert set(claimed["lease"]) == {"token", "until", "hard_deadline", "seconds", "bearer"}
    assert claimed["lease"]["seconds"] == 30


async def test_verbs_answer_item_by_item(api: httpx.AsyncClient, claimed: dict[str, Any]) -> None:
    token = claimed["lease"]["token"]
    answer = await api.post("/v1/leases/renew", json={"items": [{"token": token}, {"token": 7}]})
    assert answer.status_code == 200
    first, second = answer.json()["items"]
    assert (first["token"], first["status"], first["state"]) == (token, "ok", "leased")
    assert first["until"] >= claimed["lease"]["until"]
    assert second == {"token": 7, "status": "unknown"}
    acked = await api.post("/v1/leases/ack", json={"items": [{"token": token, "result": {"a": 1}}]})
    assert acked.json() == {"items": [{"token": token, "status": "ok", "state": "acked"}]}


async def test_a_lease_bearer_reaches_its_lease_and_nothing_else(
    pool: AnyPool, api: httpx.AsyncClient, claimed: dict[str, Any]
) -> None:
    async with pool.acquire() as conn:
        await deposit(conn, [message()])
    [other] = (await api.post("/v1/mailboxes/triage/claim", json=CLAIM)).json()["messages"]
    bearer, token = claimed["lease"]["bearer"], claimed["lease"]["token"]
    assert bearer.startswith(f"srnl_{token}_")
    api.headers["Authorization"] = f"Bearer {bearer}"
    for path in (
        "/v1/mailboxes",
        "/v1/mailboxes/triage/messages",
        "/v1/notices",
        f"/v1/messages/{claimed['id']}",
    ):
        assert (await api.get(path)).status_code == 403
    assert (await api.post("/v1/mailboxes/triage/claim", json=CLAIM)).status_code == 403
    items = [{"token": other["lease"]["token"]}, {"token": token}]
    answer = await api.post("/v1/leases/check", json={"items": items})
    assert [item["status"] for item in answer.json()["items"]] == ["unknown", "ok"]
    renewed = await api.post("/v1/leases/renew", json={"items": [{"token": token}]})
    assert renewed.json()["items"][0]["status"] == "ok"
    by = await pool.fetchval("select principal from mailbox.event where kind = 'renewed'")
    assert by == "agent:triage"


@pytest.mark.parametrize(
    "bearer", ["", "Bearer", "Bearer wrong", "Basic worker-token", "Bearer srnl_1099511627777_" + "0" * 64]
)
async def test_strangers_are_refused(api: httpx.AsyncClient, bearer: str) -> None:
    api.headers["Authorization"] = bearer
    for path in ("/v1/leases/ack", "/v1/mailboxes/triage/claim"):
        answer = await api.post(path, json={"items": [{"token": 1}]} if "leases" in path else CLAIM)
        assert answer.status_code == 401
        assert answer.json()["code"] == "unauthenticated"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/mailboxes/triage/claim", CLAIM | {"lease_seconds": -1}, "body.lease_seconds"),
        ("/v1/mailboxes/triage/claim", CLAIM | {"max": 1001}, "body.max"),
        ("/v1/mailboxes/triage/claim", CLAIM | {"max": 0}, "body.max"),
        ("/v1/mailboxes/triage/claim", CLAIM | {"wait_seconds": 3600}, "body.wait_seconds"),
        ("/v1/mailboxes/triage/claim", CLAIM | {"colour": "red"}, "body.colour"),
        ("/v1/leases/ack", {"items": [{"token": 1, "result": "x" * 65_600}]}, "body.items.0.result"),
        ("/v1/leases/ack", {"items": [{"token": 1, "result": "a\0b"}]}, "body.items.0.result"),
        ("/v1/leases/ack", {"items": [{"token": "1"}]}, "body.items.0.token"),
        ("/v1/leases/ack", {"items": [{"token": -1}]}, "body.items.0.token"),
        ("/v1/leases/ack", {"items": []}, "body.items"),
        ("/v1/leases/renew", {"items": [{"token": n + 1} for n in range(1001)]}, "body.items"),
        ("/v1/leases/renew", {"items": [{"token": 1}, {"token": 1}]}, "body.items[1].token"),
        ("/v1/leases/release", {"items": [{"token": 1, "reason": "x", "retry_after": -1}]}, "body.items.0.retry_after"),
        ("/v1/leases/release", {"items": [{"token": 1}]}, "body.items.0.reason"),
        ("/v1/leases/release", {"items": [{"token": 1, "reason": "a\0b"}]}, "body.items.0.reason"),
        ("/v1/mailboxes/triage/claim", CLAIM | {"incarnation": "a\0b"}, "body.incarnation"),
    ],
)  # fmt: skip
async def test_a_refusal_names_the_field(
    api: httpx.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await api.post(path, json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "bad_input"
    assert [fault["path"] for fault in answer.json()["faults"]] == [field]


async def test_an_undeclared_agent_and_one_out_of_reach_are_refused(api: httpx.AsyncClient) -> None:
    unknown = await api.post("/v1/mailboxes/nobody/claim", json=CLAIM)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_agent")
    assert "nobody" in unknown.json()["detail"]
    foreign = await api.post("/v1/mailboxes/triage/claim?tenant=globex", json=CLAIM)
    assert foreign.status_code == 403
    api.headers["Authorization"] = "Bearer narrow-token"
    assert (await api.post("/v1/mailboxes/triage/claim", json=CLAIM)).status_code == 403


async def test_lists_show_what_stands_where(api: httpx.AsyncClient, claimed: dict[str, Any]) -> None:
    [box] = (await api.get("/v1/mailboxes")).json()["mailboxes"]
    assert (box["agent"], box["leased"], box["ready"]) == ("triage", 1, 0)
    [listed] = (await api.get("/v1/mailboxes/triage/messages", params={"state": "leased"})).json()["messages"]
    assert (listed["id"], listed["token"], listed["holder"]) == (
        claimed["id"],
        claimed["lease"]["token"],
        "agent:triage",
    )
    assert (await api.get("/v1/mailboxes/triage/messages", params={"state": "dead"})).json()["messages"] == []
    shown = (await api.get(f"/v1/messages/{claimed['id']}")).json()
    assert [event["kind"] for event in shown["history"]] == ["claimed"]
    assert shown["instruction"] == claimed["instruction"]
    assert (await api.get("/v1/messages/msg_" + "0" * 32)).status_code == 404
    assert (await api.get("/v1/messages/what")).json()["faults"][0]["path"] == "path.identifier"


async def test_a_death_is_a_notice(pool: AnyPool, api: httpx.AsyncClient, claimed: dict[str, Any]) -> None:
    items = [{"token": claimed["lease"]["token"], "reason": "rejected"}]
    answer = await api.post("/v1/leases/release", json={"items": items})
    assert answer.json()["items"][0]["state"] == "dead"
    [notice] = (await api.get("/v1/notices")).json()["notices"]
    assert (notice["cause"], notice["count"]) == ("dead/refund-watch/rejected", 1)
    assert claimed["id"] in notice["text"]
    foreign = await api.get("/v1/notices", params={"tenant": "globex"})
    assert foreign.status_code == 403
