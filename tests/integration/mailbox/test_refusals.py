"""What makes no sense is refused with a code and the name of the field, over HTTP, in the SDK and on the command line."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.client import MailboxClient, MailboxRefusedError, Selection
from sereno.mailbox.commands.bulk import dead, redrive
from sereno.mailbox.commands.lists import list_mailboxes, show
from sereno.mailbox.commands.work import work
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.lease_items import AckItem, EmitItem, ParkItem, ReleaseItem
from sereno.mailbox.verbs import Mailbox
from tests.mailbox_messages import message
from tests.mailbox_moves import ack, claim_one, put

CLAIM: dict[str, Any] = {"max": 1, "lease_seconds": 60, "wait_seconds": 0, "incarnation": "w"}
BULK: dict[str, Any] = {"filter": {}, "reason": "x"}


@pytest.fixture
async def api(url: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": "Bearer admin-token"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=30) as api:
        yield api


FIELDS: list[tuple[str, Any, str]] = [
    ("/mailboxes/triage/claim", CLAIM | {"lease_seconds": 0}, "body.lease_seconds"),
    ("/mailboxes/triage/claim", CLAIM | {"lease_seconds": "60"}, "body.lease_seconds"),
    ("/mailboxes/triage/claim", CLAIM | {"lease_seconds": True}, "body.lease_seconds"),
    ("/mailboxes/triage/claim", CLAIM | {"lease_seconds": 1e308}, "body.lease_seconds"),
    ("/mailboxes/triage/claim", CLAIM | {"max": 10**30}, "body.max"),
    ("/mailboxes/triage/claim", CLAIM | {"max": 1.5}, "body.max"),
    ("/mailboxes/triage/claim", CLAIM | {"wait_seconds": -1}, "body.wait_seconds"),
    ("/mailboxes/triage/claim", CLAIM | {"incarnation": "x" * 201}, "body.incarnation"),
    ("/mailboxes/triage/claim", [], "body"),
    ("/leases/ack", {"items": [{"token": 1 << 63}]}, "body.items.0.token"),
    ("/leases/ack", {"items": [{"token": 1.0}]}, "body.items.0.token"),
    ("/leases/ack", {"items": [{"token": True}]}, "body.items.0.token"),
    ("/leases/ack", {"items": [{}]}, "body.items.0.token"),
    ("/leases/ack", {"items": [{"token": 1, "usage": {"n": "x" * 65_600}}]}, "body.items.0.usage"),
    ("/leases/ack", {"items": [{"token": 1, "usage": 3}]}, "body.items.0.usage"),
    ("/leases/ack", {}, "body.items"),
    ("/leases/ack", {"items": "all"}, "body.items"),
    ("/leases/renew", {"items": [{"token": 1, "progress": "x" * 65_600}]}, "body.items.0.progress"),
    ("/leases/release", {"items": [{"token": 1, "reason": "x" * 501}]}, "body.items.0.reason"),
    ("/leases/release", {"items": [{"token": 1, "reason": "x", "retry_after": "1"}]}, "body.items.0.retry_after"),
    ("/leases/release", {"items": [{"token": 1, "reason": "x", "retry_after": 1e9}]}, "body.items.0.retry_after"),
    ("/leases/check", {"items": [{"token": 1, "result": 1}]}, "body.items.0.result"),
    ("/leases/park", {"items": [{"token": 1, "waiting_for": "weather"}]}, "body.items.0.waiting_for"),
    ("/leases/park", {"items": [{"token": 1, "waiting_for": "question"}]}, "body.items[0].question"),
    ("/leases/park", {"items": [{"token": 1, "waiting_for": "dependency", "dependency": "x"}]}, "items.0.dependency"),
    ("/leases/park", {"items": [{"token": 1, "waiting_for": "approval", "deadline": "soon"}]}, "body.items.0.deadline"),
    ("/leases/park", {"items": [{"token": 1, "waiting_for": "approval", "deadline": "2030-01-01T00:00:00"}]}, "body.items.0.deadline"),
    ("/leases/emit", {"items": [{"token": 1, "type": ""}]}, "body.items.0.type"),
    ("/leases/emit", {"items": [{"token": 1, "type": "sereno.platform.run.finished"}]}, "body.items[0].type"),
    ("/leases/emit", {"items": [{"token": 1, "type": "x", "data": "x" * 65_600}]}, "body.items.0.data"),
    ("/mailboxes/triage/redrive", BULK | {"reason": ""}, "body.reason"),
    ("/mailboxes/triage/redrive", BULK | {"reason": "  "}, "body.reason"),
    ("/mailboxes/triage/redrive", BULK | {"filter": {"older_than_seconds": -1}}, "body.filter.older_than_seconds"),
    ("/mailboxes/triage/redrive", BULK | {"filter": {"ids": ["nothing"]}}, "body.filter.ids"),
    ("/mailboxes/triage/dead-letter", BULK | {"filter": {"colour": "red"}}, "body.filter.colour"),
    ("/mailboxes/triage/dead-letter", {"filter": {}}, "body.reason"),
]  # fmt: skip


@pytest.mark.req(383)
async def test_a_refusal_names_the_field(api: httpx.AsyncClient) -> None:
    for path, body, field in FIELDS:
        answer = await api.post(f"/v1{path}", json=body, params={"tenant": "acme"})
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_input"), (path, body, answer.text)
        assert [fault["path"] for fault in answer.json()["faults"]] == [field], (path, body)
        assert all(fault["message"] for fault in answer.json()["faults"])


async def test_what_is_no_json_is_refused(api: httpx.AsyncClient) -> None:
    for content in (b"", b"nope", b"{", b"\xff", b'{"items": [}', b"null"):
        headers = {"content-type": "application/json"}
        answer = await api.post("/v1/leases/ack", content=content, headers=headers)
        assert answer.status_code in {400, 422}, content
        assert answer.json()["code"] == "bad_input"


async def test_whatever_stands_in_an_address_is_no_fault_of_ours(api: httpx.AsyncClient) -> None:
    for method, path in (
        ("GET", "/v1/mailboxes?tenant=a%00b"),
        ("GET", "/v1/notices?tenant=a%00b"),
        ("GET", "/v1/mailboxes/triage/messages?tenant=a%00b"),
        ("GET", "/v1/mailboxes/a%00b/messages"),
        ("GET", "/v1/messages/a%00b"),
        ("GET", "/v1/messages/rcp_00000000000000000000000000"),
        ("POST", "/v1/mailboxes/a%00b/claim"),
        ("POST", "/v1/mailboxes/triage/claim?tenant=a%00b"),
        ("POST", "/v1/messages/a%00b/resume"),
    ):
        body = {"answer": {}} if path.endswith("resume") else CLAIM
        answer = await api.request(method, path, json=body if method == "POST" else None)
        assert answer.status_code in {404, 422}, (path, answer.text)
        assert answer.json()["code"] in {"bad_input", "unknown_agent", "not_found"}


async def test_illegal_moves_are_refused_by_what_they_are(
    pool: AnyPool, mailbox: Mailbox, api: httpx.AsyncClient
) -> None:
    await put(pool, message())
    got = await claim_one(mailbox)
    path = f"/v1/messages/{got.id}/resume"
    answer = await api.post(path, json={"answer": {"ok": True}})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_parked")
    assert "is leased, not parked" in answer.json()["detail"]
    await ack(mailbox, got)
    assert "is acked, not parked" in (await api.post(path, json={"answer": {}})).json()["detail"]
    count = await api.post("/v1/mailboxes/triage/redrive", params={"tenant": "acme"}, json=BULK)
    assert count.json() == {"count": 0}
    for verb, more in {"renew": {}, "ack": {}, "release": {"reason": "x"}, "check": {}}.items():
        items = [{"token": got.lease.token, **more}]
        [item] = (await api.post(f"/v1/leases/{verb}", json={"items": items})).json()["items"]
        assert (item["status"], item["state"]) == ("stale", "acked"), verb


async def test_the_sdk_says_which_field(url: str) -> None:
    client = MailboxClient(url, "worker-token")
    calls = [
        (client.claim("triage", max=0), "body.max"),
        (client.claim("triage", lease=timedelta(seconds=-1)), "body.lease_seconds"),
        (client.claim("nobody"), "nobody"),
        (client.ack([AckItem(1, "x" * 70_000)]), "body.items.0.result"),
        (client.ack([AckItem(-1)]), "body.items.0.token"),
        (client.ack([]), "body.items"),
        (client.release([ReleaseItem(1, "")]), "body.items.0.reason"),
        (client.park([ParkItem(1, "question")]), "body.items[0].question"),
        (client.emit([EmitItem(1, "sereno.x")]), "body.items[0].type"),
        (client.redrive("triage", Selection(), ""), "body.reason"),
        (client.resume("what", {}), "path.identifier"),
    ]
    try:
        for call, field in calls:
            with pytest.raises(MailboxRefusedError, match=field.replace("[", r"\[")) as refused:
                await call
            assert refused.value.status in {404, 422}
    finally:
        await client.close()


COMMANDS: list[tuple[Callable[..., None], dict[str, Any], str]] = [
    (work, {"agent": "triage", "command": "true", "lease": "-5s"}, "--lease: expected"),
    (list_mailboxes, {"agent": "nobody"}, "agent: nobody is not declared"),
    (list_mailboxes, {"agent": "triage", "state": "asleep"}, "query.state: "),
    (show, {"message": "what"}, "path.identifier: "),
    (redrive, {"agent": "triage", "reason": " ", "everything": True}, "body.reason: "),
    (redrive, {"agent": "triage", "reason": "x", "ids": ["what"]}, "body.filter.ids: "),
    (dead, {"agent": "nobody", "reason": "x", "everything": True}, "agent: nobody is not declared"),
]


async def test_the_command_line_says_which_field(url: str) -> None:
    for command, options, sentence in COMMANDS:
        with pytest.raises(CommandError, match=rf"^{sentence}") as refused:
            await asyncio.to_thread(functools.partial(command, **options, url=url, token="worker-token"))
        assert refused.value.exit_code == Exit.BAD_INPUT
        assert len(str(refused.value).splitlines()) == 1
